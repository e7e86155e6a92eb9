// SPDX-License-Identifier: Apache-2.0
#include "model/external_data.h"
#include "model/shapes.h"
#include "model/tensor_bytes.h"
#include "support/model_builder.h"

#include <QtTest>

#include <fstream>

using namespace shardwright;
using namespace shardwright::test;
namespace fs = std::filesystem;
using T = onnx::TensorProto;
using Verdict = ExternalEntry::Verdict;

namespace {

void write(const fs::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

onnx::TensorProto external(const std::string& location, const std::string& offset = {},
                           const std::string& length = {}) {
    onnx::TensorProto tensor;
    tensor.set_name("w");
    tensor.set_data_type(T::FLOAT);
    tensor.add_dims(2);
    tensor.add_dims(2);
    tensor.set_data_location(T::EXTERNAL);
    for (const auto& [key, value] : {std::pair<std::string, std::string>{"location", location},
                                     {"offset", offset},
                                     {"length", length}}) {
        if (value.empty())
            continue;
        auto* entry = tensor.add_external_data();
        entry->set_key(key);
        entry->set_value(value);
    }
    return tensor;
}

onnx::TensorProto tensor(int type, std::vector<std::int64_t> dims) {
    onnx::TensorProto proto;
    proto.set_name("t");
    proto.set_data_type(type);
    proto.mutable_dims()->Add(dims.begin(), dims.end());
    return proto;
}

QByteArray hex(const Result<std::string>& result) {
    return result ? QByteArray::fromStdString(*result).toHex()
                  : QByteArray::fromStdString("error: " + result.error().text());
}

}  // namespace

class TstExternalData : public QObject {
    Q_OBJECT

private slots:
    void init() {
        m_folder = std::make_unique<QTemporaryDir>();
        m_root = fs::path(m_folder->path().toStdString()) / "model";
        fs::create_directory(m_root);
        write(m_root / "w.bin", "0123456789abcdef....");
        write(m_root.parent_path() / "secret.bin", std::string(64, 's'));
    }

    void readsARangeOfAFile() {
        QCOMPARE(*tensorBytes(external("w.bin"), m_root), std::string("0123456789abcdef"));
        QCOMPARE(*tensorBytes(external("w.bin", "4"), m_root), std::string("456789abcdef...."));
        QCOMPARE(*tensorBytes(external("w.bin", "4", "16"), m_root),
                 std::string("456789abcdef...."));
        const auto mapped = mapExternal(external("w.bin", "3"), m_root);
        QVERIFY(mapped);
        QCOMPARE(mapped->bytes(), std::string_view("3456789abcdef..."));
    }

    void judgesEntries_data() {
        QTest::addColumn<QString>("location");
        QTest::addColumn<QString>("offset");
        QTest::addColumn<QString>("length");
        QTest::addColumn<int>("verdict");
        const auto row = [](const char* name, const QString& location, const char* offset,
                            const char* length, Verdict verdict) {
            QTest::newRow(name) << location << offset << length << int(verdict);
        };
        row("ok", "w.bin", "", "", Verdict::Ok);
        row("in a subfolder", "sub/../w.bin", "", "", Verdict::Outside);
        row("missing", "none.bin", "", "", Verdict::Missing);
        row("no location", "", "", "", Verdict::NoLocation);
        row("parent", "../secret.bin", "", "", Verdict::Outside);
        row("absolute", "/etc/passwd", "", "", Verdict::Outside);
        row("link out", "link.bin", "", "", Verdict::Outside);
        row("link inside", "inner.bin", "", "", Verdict::Ok);
        row("folder link out", "up/secret.bin", "", "", Verdict::Outside);
        row("hard link", "hard.bin", "", "", Verdict::Outside);
        row("folder", "sub", "", "", Verdict::Outside);
        row("the folder itself", ".", "", "", Verdict::Outside);
        row("offset behind the end", "w.bin", "100", "", Verdict::OutOfRange);
        row("range over the end", "w.bin", "5", "", Verdict::OutOfRange);
        row("huge offset", "w.bin", "9223372036854775807", "", Verdict::OutOfRange);
        row("offset too large for a number", "w.bin", "99999999999999999999", "",
            Verdict::OutOfRange);
        row("negative offset", "w.bin", "-1", "", Verdict::OutOfRange);
        row("offset with a unit", "w.bin", "4k", "", Verdict::OutOfRange);
        row("length of another size", "w.bin", "0", "12", Verdict::OutOfRange);
    }

    void judgesEntries() {
        QFETCH(QString, location);
        QFETCH(QString, offset);
        QFETCH(QString, length);
        QFETCH(int, verdict);
        fs::create_symlink("../secret.bin", m_root / "link.bin");
        fs::create_symlink("w.bin", m_root / "inner.bin");
        fs::create_symlink("..", m_root / "up");
        fs::create_hard_link(m_root.parent_path() / "secret.bin", m_root / "hard.bin");
        fs::create_directory(m_root / "sub");
        const auto proto =
            external(location.toStdString(), offset.toStdString(), length.toStdString());
        const ExternalEntry entry = checkExternalData(proto, m_root);
        QCOMPARE(int(entry.verdict), verdict);
        QCOMPARE(entry.reason.empty(), verdict == int(Verdict::Ok));
        QCOMPARE(bool(tensorBytes(proto, m_root)), verdict == int(Verdict::Ok));
        QCOMPARE(bool(mapExternal(proto, m_root)), verdict == int(Verdict::Ok));
    }

    void aRepeatedKeyIsRefused() {
        auto proto = external("w.bin");
        auto* again = proto.add_external_data();
        again->set_key("location");
        again->set_value("../secret.bin");
        QCOMPARE(checkExternalData(proto, m_root).verdict, Verdict::RepeatedKey);
        QVERIFY(!tensorBytes(proto, m_root));
    }

    void aNameWithANulByteIsRefused() {
        const auto proto = external(std::string("w.bin\0.png", 10));
        QCOMPARE(checkExternalData(proto, m_root).verdict, Verdict::Outside);
    }

    void aModelThatWasNeverSavedHasNoFolder() {
        QCOMPARE(checkExternalData(external("w.bin"), {}).verdict, Verdict::Missing);
    }

    void namesOutsideAsciiAreFound() {
        write(m_root / "вес 図\xff.bin", std::string(16, 'x'));
        QVERIFY(tensorBytes(external("вес 図\xff.bin"), m_root));
        fs::remove(m_root / "вес 図\xff.bin");  // QTemporaryDir cannot.
    }

    void listsTensorsOfAllGraphs() {
        const auto body = ModelBuilder{}
                              .externalWeight("inner", {2, 2}, "w.bin")
                              .op("Constant", {}, {"c"}, "", {{"value", external("none.bin")}})
                              .op("Add", {"inner", "c"}, {"t"})
                              .output("t")
                              .graph();
        const auto model =
            ModelBuilder{}
                .input("b", {}, T::BOOL)
                .externalWeight("outer", {2, 2}, "w.bin", 4, 16)
                .op("If", {"b"}, {"y"}, "if", {{"then_branch", body}, {"else_branch", body}})
                .output("y")
                .build();
        const auto listed = listExternalData(model);
        QCOMPARE(listed.size(), std::size_t(5));
        QCOMPARE(listed[0].offset, 4);
        QCOMPARE(listed[0].length, 16);
        QCOMPARE(listed[0].verdict, Verdict::NotChecked);
        QCOMPARE(listed[1].graph, GraphId(1));
        const auto checked = checkExternalData(model, m_root);
        QCOMPARE(checked.size(), std::size_t(5));
        QCOMPARE(checked[0].verdict, Verdict::Ok);
        QCOMPARE(checked[2].verdict, Verdict::Missing);
    }

    void openingReadsNoExternalData() {
        // No such files at all, and more than would fit.
        ModelBuilder builder;
        builder.input("x", {4});
        for (int i = 0; i < 600; ++i)
            builder.externalWeight("w" + std::to_string(i), {1 << 20, 1 << 20},
                                   "none" + std::to_string(i), 0, std::int64_t(4) << 40);
        const auto model = builder.op("Relu", {"x"}, {"y"}).output("y").model();
        QCOMPARE(listExternalData(model->proto()).size(), std::size_t(600));
        QVERIFY(ShapeTable::build(model, {})->of(valueNamed(model->graph(), "w599")).concrete());
    }

    void typedFieldsGiveLittleEndianBytes() {
        auto floats = tensor(T::FLOAT, {2});
        floats.add_float_data(1.0f);
        floats.add_float_data(-2.0f);
        QCOMPARE(hex(tensorBytes(floats, {})), QByteArray("0000803f000000c0"));
        auto doubles = tensor(T::DOUBLE, {1});
        doubles.add_double_data(1.0);
        QCOMPARE(hex(tensorBytes(doubles, {})), QByteArray("000000000000f03f"));
        auto longs = tensor(T::INT64, {});
        longs.add_int64_data(-2);
        QCOMPARE(hex(tensorBytes(longs, {})), QByteArray("feffffffffffffff"));
        auto ints = tensor(T::INT32, {2});
        ints.add_int32_data(258);
        ints.add_int32_data(-1);
        QCOMPARE(hex(tensorBytes(ints, {})), QByteArray("02010000ffffffff"));
        auto unsignedLongs = tensor(T::UINT64, {1});
        unsignedLongs.add_uint64_data(~0ull);
        QCOMPARE(hex(tensorBytes(unsignedLongs, {})), QByteArray("ffffffffffffffff"));
        auto unsignedInts = tensor(T::UINT32, {1});
        unsignedInts.add_uint64_data(0x01020304);
        QCOMPARE(hex(tensorBytes(unsignedInts, {})), QByteArray("04030201"));
        auto complexes = tensor(T::COMPLEX64, {1});
        complexes.add_float_data(1.0f);
        complexes.add_float_data(0.0f);
        QCOMPARE(hex(tensorBytes(complexes, {})), QByteArray("0000803f00000000"));
    }

    void smallTypesAreInInt32Data_data() {
        QTest::addColumn<int>("type");
        QTest::addColumn<QList<int>>("entries");
        QTest::addColumn<int>("count");
        QTest::addColumn<QByteArray>("bytes");
        QTest::newRow("INT8") << int(T::INT8) << QList<int>{-1, 2} << 2 << QByteArray("ff02");
        QTest::newRow("UINT8") << int(T::UINT8) << QList<int>{255, 2} << 2 << QByteArray("ff02");
        QTest::newRow("BOOL") << int(T::BOOL) << QList<int>{1, 0} << 2 << QByteArray("0100");
        QTest::newRow("INT16") << int(T::INT16) << QList<int>{-2} << 1 << QByteArray("feff");
        QTest::newRow("UINT16") << int(T::UINT16) << QList<int>{513} << 1 << QByteArray("0102");
        QTest::newRow("FLOAT16") << int(T::FLOAT16) << QList<int>{0x3c00} << 1
                                 << QByteArray("003c");
        QTest::newRow("BFLOAT16") << int(T::BFLOAT16) << QList<int>{0x3f80} << 1
                                  << QByteArray("803f");
        QTest::newRow("FLOAT8E4M3FN")
            << int(T::FLOAT8E4M3FN) << QList<int>{0x38} << 1 << QByteArray("38");
        QTest::newRow("FLOAT8E8M0")
            << int(T::FLOAT8E8M0) << QList<int>{0x7f} << 1 << QByteArray("7f");
        QTest::newRow("INT4, odd count")
            << int(T::INT4) << QList<int>{0x21, 0x03} << 3 << QByteArray("2103");
        QTest::newRow("UINT4") << int(T::UINT4) << QList<int>{0xfe} << 2 << QByteArray("fe");
        QTest::newRow("FLOAT4E2M1")
            << int(T::FLOAT4E2M1) << QList<int>{0x71} << 2 << QByteArray("71");
        QTest::newRow("INT2, five")
            << int(T::INT2) << QList<int>{0xe4, 0x01} << 5 << QByteArray("e401");
        QTest::newRow("UINT2") << int(T::UINT2) << QList<int>{0xe4} << 4 << QByteArray("e4");
        QTest::newRow("FLOAT6E2M3")
            << int(T::FLOAT6E2M3) << QList<int>{1, 2, 3, 4, 5} << 5 << QByteArray("81301005");
    }

    void smallTypesAreInInt32Data() {
        QFETCH(int, type);
        QFETCH(QList<int>, entries);
        QFETCH(int, count);
        QFETCH(QByteArray, bytes);
        auto proto = tensor(type, {count});
        for (const int entry : entries)
            proto.add_int32_data(entry);
        QCOMPARE(hex(tensorBytes(proto, {})), bytes);
        QCOMPARE(storageBytes(type, count), bytes.size() / 2);
        auto raw = tensor(type, {count});
        raw.set_raw_data(QByteArray::fromHex(bytes).toStdString());
        QCOMPARE(hex(tensorBytes(raw, {})), bytes);
        proto.add_int32_data(0);
        QVERIFY(!tensorBytes(proto, {}));
    }

    void sizesThatDoNotFitAreErrors() {
        auto raw = tensor(T::FLOAT, {2, 2});
        raw.set_raw_data("too short");
        QVERIFY(hex(tensorBytes(raw, {}))
                    .contains("its raw_data has 9 bytes; its dims and type need 16"));
        QVERIFY(hex(tensorBytes(tensor(T::FLOAT, {3}), {}))
                    .contains("its float_data has 0 entries; its dims need 3"));
        QVERIFY(hex(tensorBytes(tensor(T::FLOAT, {-1}), {})).contains("negative dimension"));
        QVERIFY(
            hex(tensorBytes(tensor(T::FLOAT, {std::int64_t(1) << 40, std::int64_t(1) << 40}), {}))
                .contains("more elements than fit"));
        QVERIFY(hex(tensorBytes(tensor(T::INT8, {std::int64_t(1) << 58}), {}))
                    .contains("has 0 entries"));
        QCOMPARE(hex(tensorBytes(
                     tensor(T::FLOAT, {0, std::int64_t(1) << 62, std::int64_t(1) << 62}), {})),
                 QByteArray());
    }

    void typesWithoutBytesAreErrors() {
        QVERIFY(hex(tensorBytes(tensor(T::STRING, {1}), {})).contains("tensor of strings"));
        QVERIFY(hex(tensorBytes(tensor(99, {1}), {})).contains("unknown element type 99"));
        QVERIFY(hex(tensorBytes(tensor(T::UNDEFINED, {1}), {})).contains("unknown element type 0"));
        QCOMPARE(elementTypeName(99), std::string("type 99"));
        QCOMPARE(elementTypeName(T::FLOAT8E8M0), std::string("FLOAT8E8M0"));
    }

private:
    std::unique_ptr<QTemporaryDir> m_folder;
    fs::path m_root;
};

QTEST_GUILESS_MAIN(TstExternalData)
#include "tst_external_data.moc"
