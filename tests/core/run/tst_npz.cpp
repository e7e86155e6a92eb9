// SPDX-License-Identifier: Apache-2.0
#include "run/element_types.h"
#include "run/npz.h"

#include <QTemporaryDir>
#include <QTest>

#include <zlib.h>

#include <cstring>
#include <fstream>

using namespace shardwright;
using T = onnx::TensorProto;

namespace {

std::string npy(const std::string& dict, const std::string& data, int version = 1) {
    std::string file("\x93NUMPY", 6);
    file += static_cast<char>(version);
    file += '\0';
    const std::size_t length = dict.size();
    for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
        file += static_cast<char>(length >> (8 * i));
    return file + dict + data;
}

template <class E>
std::string bytesOf(std::initializer_list<E> values) {
    std::string bytes;
    for (const E value : values)
        bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    return bytes;
}

std::string le(std::uint64_t value, int bytes) {
    std::string out;
    for (int i = 0; i < bytes; ++i)
        out += static_cast<char>(value >> (8 * i));
    return out;
}

std::string deflated(const std::string& data) {
    z_stream stream{};
    deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
    std::string out(data.size() + 1000, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
    stream.avail_in = static_cast<uInt>(data.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    deflate(&stream, Z_FINISH);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
}

struct Zip {
    std::string file, directory;
    int entries = 0;

    /// zip64: sizes and offset in the extra field, as numpy does for large arrays.
    Zip& add(const std::string& name, const std::string& data, bool deflate = false,
             bool zip64 = false, int flags = 0, std::int64_t claimed = -1) {
        const std::string packed = deflate ? deflated(data) : data;
        const std::uint64_t size = claimed < 0 ? data.size() : static_cast<std::uint64_t>(claimed),
                            offset = file.size();
        const std::string crc = le(
            crc32(0, reinterpret_cast<const Bytef*>(data.data()), static_cast<uInt>(data.size())),
            4);
        const std::string extra =
            zip64 ? le(1, 2) + le(24, 2) + le(size, 8) + le(packed.size(), 8) + le(offset, 8) : "";
        const auto field = [&](std::uint64_t value) {
            return zip64 ? le(0xffffffff, 4) : le(value, 4);
        };
        const std::string common = le(20, 2) + le(static_cast<std::uint64_t>(flags), 2) +
                                   le(deflate ? 8 : 0, 2) + le(0, 4) + crc + field(packed.size()) +
                                   field(size) + le(name.size(), 2);
        file += le(0x04034b50, 4) + common + le(0, 2) + name + packed;
        directory += le(0x02014b50, 4) + le(20, 2) + common + le(extra.size(), 2) + le(0, 2) +
                     le(0, 2) + le(0, 2) + le(0, 4) + field(offset) + name + extra;
        ++entries;
        return *this;
    }
    std::string bytes() const {
        return file + directory + le(0x06054b50, 4) + le(0, 4) +
               le(static_cast<std::uint64_t>(entries), 2) +
               le(static_cast<std::uint64_t>(entries), 2) + le(directory.size(), 4) +
               le(file.size(), 4) + le(0, 2);
    }
};

const std::string kFloats = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n",
                                bytesOf({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}));

}  // namespace

class TstNpz : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;
    std::filesystem::path write(const std::string& bytes) {
        const std::filesystem::path path = m_folder.filePath("a.npz").toStdString();
        std::ofstream(path, std::ios::binary) << bytes;
        return path;
    }

private slots:
    void storedAndDeflatedArraysAreRead() {
        const std::string big(100'000, 'x');
        const auto npz = NpzFile::open(write(
            Zip()
                .add("x.npy", kFloats)
                .add("big.npy",
                     npy("{'descr': '|u1', 'fortran_order': False, 'shape': (100000,), }", big),
                     true)
                .add("wide.npy", kFloats, true, true)
                .add("notes.txt", "ignored")
                .bytes()));
        QVERIFY2(npz, npz ? "" : npz.error().text().c_str());
        QCOMPARE(npz->arrays().size(), std::size_t(3));
        QCOMPARE(npz->arrays()[0].name, std::string("x"));
        QCOMPARE(npz->arrays()[0].header.dims, (std::vector<std::int64_t>{2, 3}));
        QCOMPARE(npz->arrays()[0].header.elementType(T::FLOAT), int(T::FLOAT));
        for (const std::size_t i : {0, 2}) {
            const auto floats = npz->read(i, T::FLOAT);
            QVERIFY(floats);
            QCOMPARE(reinterpret_cast<const float*>(floats->data())[4], 5.f);
        }
        const auto chars = npz->read(1, T::UINT8);
        QVERIFY(chars);
        QCOMPARE(std::memcmp(chars->data(), big.data(), big.size()), 0);
    }

    void headersOfAllVersionsAndTypes_data() {
        QTest::addColumn<QString>("descr");
        QTest::addColumn<int>("wanted");
        QTest::addColumn<int>("type");
        QTest::newRow("f4") << "<f4" << 0 << int(T::FLOAT);
        QTest::newRow("f8") << "<f8" << 0 << int(T::DOUBLE);
        QTest::newRow("f2") << "<f2" << 0 << int(T::FLOAT16);
        QTest::newRow("b1") << "|b1" << 0 << int(T::BOOL);
        QTest::newRow("i1") << "|i1" << 0 << int(T::INT8);
        QTest::newRow("i2") << "<i2" << 0 << int(T::INT16);
        QTest::newRow("i4") << "<i4" << 0 << int(T::INT32);
        QTest::newRow("i8") << "<i8" << 0 << int(T::INT64);
        QTest::newRow("u2") << "<u2" << 0 << int(T::UINT16);
        QTest::newRow("u4") << "<u4" << 0 << int(T::UINT32);
        QTest::newRow("u8") << "<u8" << 0 << int(T::UINT64);
        QTest::newRow("c8") << "<c8" << 0 << int(T::COMPLEX64);
        QTest::newRow("raw bytes as bfloat16") << "|V2" << int(T::BFLOAT16) << int(T::BFLOAT16);
        QTest::newRow("raw bytes are not float16") << "|V2" << int(T::FLOAT16) << 0;
        QTest::newRow("raw byte as float8") << "|V1" << int(T::FLOAT8E5M2) << int(T::FLOAT8E5M2);
    }
    void headersOfAllVersionsAndTypes() {
        QFETCH(QString, descr);
        QFETCH(int, wanted);
        QFETCH(int, type);
        for (const int version : {1, 2, 3}) {
            const auto header =
                parseNpyHeader(npy("{'descr': '" + descr.toStdString() +
                                       "', 'fortran_order': False, 'shape': (), }          \n",
                                   "", version));
            QVERIFY2(header, header ? "" : header.error().text().c_str());
            QCOMPARE(header->elementType(wanted), type);
            QVERIFY(header->dims.empty());
        }
    }

    void columnMajorAndBigEndianAreTurned() {
        const auto header =
            parseNpyHeader(npy("{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }", ""));
        QVERIFY(header);
        // Columns [0 1 2], [10 11 12] as big-endian 16-bit numbers.
        std::string data;
        for (const int v : {0, 10, 1, 11, 2, 12})
            data += {static_cast<char>(0), static_cast<char>(v)};
        const auto tensor = npyElements(*header, data, T::INT16);
        QVERIFY(tensor);
        const auto* values = reinterpret_cast<const std::int16_t*>(tensor->data());
        QCOMPARE((std::vector<std::int16_t>(values, values + 6)),
                 (std::vector<std::int16_t>{0, 1, 2, 10, 11, 12}));
    }

    void brokenFilesAreRefused_data() {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("message");
        const auto row = [](const char* name, const std::string& bytes, const char* message) {
            QTest::newRow(name) << QByteArray(bytes.data(), static_cast<int>(bytes.size()))
                                << message;
        };
        const std::string good = Zip().add("x.npy", kFloats, true).bytes();
        row("empty", "", "not an .npz file");
        row("text", "hello world, this is not a zip file at all", "not an .npz file");
        row("cut off", good.substr(0, good.size() - 30), "not an .npz file");
        row("directory elsewhere", good.substr(60), "directory");
        row("not an array", Zip().add("x.npy", "just text and more text").bytes(),
            "not a NumPy array");
        row("objects",
            Zip()
                .add("x.npy", npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "x"))
                .bytes(),
            "dtype '|O'");
        row("text elements",
            Zip()
                .add("x.npy", npy("{'descr': '<U8', 'fortran_order': False, 'shape': (1,), }", "x"))
                .bytes(),
            "should have 32 bytes, but has 1");
        row("text elements of no length",
            Zip()
                .add("x.npy", npy("{'descr': '<U0', 'fortran_order': False, 'shape': (1,), }", ""))
                .bytes(),
            "dtype '<U0'");
        row("dates",
            Zip()
                .add("x.npy", npy("{'descr': '<M8[D]', 'fortran_order': False, 'shape': (1,), }",
                                  "12345678"))
                .bytes(),
            "dtype '<M8[D]'");
        row("records",
            Zip()
                .add("x.npy",
                     npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "x"))
                .bytes(),
            "with fields");
        row("negative size",
            Zip()
                .add("x.npy",
                     npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", "x"))
                .bytes(),
            "cannot be read");
        row("huge shape",
            Zip()
                .add("x.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': "
                                  "(9223372036854775807, 9223372036854775807), }",
                                  "x"))
                .bytes(),
            "too large");
        row("too few elements",
            Zip()
                .add("x.npy",
                     npy("{'descr': '<f4', 'fortran_order': False, 'shape': (5,), }", "abcd"))
                .bytes(),
            "should have 20 bytes, but has 4");
        row("endless header",
            Zip().add("x.npy", std::string("\x93NUMPY\x02\x00\xff\xff\xff\x7f", 12) + "{").bytes(),
            "cut off or too long");
        row("encrypted", Zip().add("x.npy", kFloats, false, false, 1).bytes(), "encrypted");
        row("twice", Zip().add("x.npy", kFloats).add("x.npy", kFloats).bytes(), "occurs twice");
    }
    void brokenFilesAreRefused() {
        QFETCH(QByteArray, bytes);
        QFETCH(QString, message);
        const auto npz = NpzFile::open(write(bytes.toStdString()));
        QVERIFY(!npz);
        const QString text = QString::fromStdString(npz.error().text());
        QVERIFY2(text.contains(message), qPrintable(text));
    }

    void damagedDataIsFound() {
        std::string bytes = Zip().add("x.npy", kFloats).bytes();
        bytes[bytes.find("NUMPY") + 90] ^= 1;
        const auto npz = NpzFile::open(write(bytes));
        QVERIFY(npz);
        QVERIFY(!npz->read(0, T::FLOAT));
    }

    void noPrefixOrFlippedByteCrashes() {
        const std::string good =
            Zip().add("x.npy", kFloats, true).add("y.npy", kFloats, false, true).bytes();
        for (std::size_t i = 0; i < good.size(); ++i) {
            (void)NpzFile::open(write(good.substr(0, i)));
            std::string flipped = good;
            flipped[i] = static_cast<char>(~flipped[i]);
            auto npz = NpzFile::open(write(flipped));
            for (std::size_t k = 0; npz && k < npz->arrays().size(); ++k)
                (void)npz->read(k, T::FLOAT);
        }
    }

    void whatIsWrittenIsRead() {
        auto tensor = Buffer::host(T::BFLOAT16, {2, 1});
        reinterpret_cast<BFloat16*>(tensor->data())[0] = toBFloat16(1.5f);
        reinterpret_cast<BFloat16*>(tensor->data())[1] = toBFloat16(-2.f);
        const auto file = npyFile(*tensor);
        QVERIFY(file);
        const auto header = parseNpyHeader(*file);
        QVERIFY(header);
        QCOMPARE(header->headerBytes % 64, std::size_t(0));
        QCOMPARE(header->dims, (std::vector<std::int64_t>{2, 1}));
        const auto back =
            npyElements(*header, std::string_view(*file).substr(header->headerBytes), T::FLOAT);
        QVERIFY(back);
        QCOMPARE(reinterpret_cast<const float*>(back->data())[1], -2.f);
    }
};

QTEST_GUILESS_MAIN(TstNpz)
#include "tst_npz.moc"
