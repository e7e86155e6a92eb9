// SPDX-License-Identifier: Apache-2.0
#include "model/shapes.h"
#include "plan/weights.h"
#include "support/model_builder.h"

#include <QTemporaryDir>
#include <QtTest>

#include <cstring>
#include <numeric>

using namespace shardwright;
using namespace shardwright::test;
using T = onnx::TensorProto;

namespace {

/// Elements 0, 1, 2, ... as bytes.
onnx::TensorProto counted(const std::vector<std::int64_t>& dims) {
    onnx::TensorProto tensor;
    tensor.set_name("w");
    tensor.set_data_type(T::UINT8);
    std::int64_t count = 1;
    for (const std::int64_t dim : dims) {
        tensor.add_dims(dim);
        count *= dim;
    }
    std::string bytes(static_cast<std::size_t>(count), '\0');
    std::iota(bytes.begin(), bytes.end(), '\0');
    tensor.set_raw_data(bytes);
    return tensor;
}

Weight piece(const onnx::TensorProto& tensor, const Box& box) {
    Weight weight{&tensor, box, tensor.data_type(), {}, 0, 1};
    for (const IndexSet& set : box.dims)
        weight.dims.push_back(set.count());
    weight.bytes = storageBytes(tensor.data_type(), box.count());
    return weight;
}

/// The bytes, or the error.
QByteArray read(const Weight& weight, const QString& folder = {}) {
    QByteArray bytes(static_cast<int>(weight.bytes), '\x55');
    const auto done =
        readWeight(weight, folder.toStdString(), reinterpret_cast<std::byte*>(bytes.data()));
    return done ? bytes : QByteArray::fromStdString(done.error().text());
}

QByteArray bytes(std::initializer_list<int> values) {
    QByteArray result;
    for (const int value : values)
        result.append(static_cast<char>(value));
    return result;
}

}  // namespace

class TstWeights : public QObject {
    Q_OBJECT

private slots:
    void columnsAndIntervals() {
        const onnx::TensorProto w = counted({3, 4});
        QCOMPARE(read(piece(w, {{{0, 3}, {1, 3}}})), bytes({1, 2, 5, 6, 9, 10}));
        const IndexSet ends({{0, 1}, {3, 4}});
        QCOMPARE(read(piece(w, {{{1, 3}, ends}})), bytes({4, 7, 8, 11}));
        QCOMPARE(read(piece(w, Box::whole({3, 4}))), QByteArray::fromStdString(w.raw_data()));
    }

    void typedFieldsAreReadLikeRawData() {
        onnx::TensorProto w = intTensor("w", {2, 3}, {1, 2, 3, 4, 5, 6});
        const std::int64_t expected[] = {2, 3, 5, 6};
        QCOMPARE(read(piece(w, {{{0, 2}, {1, 3}}})),
                 QByteArray(reinterpret_cast<const char*>(expected), sizeof expected));
    }

    /// Rows of three 4-bit elements, so that every second row begins inside of a byte.
    void elementsBelowAByteAreCutAnywhere() {
        onnx::TensorProto w;
        w.set_data_type(T::UINT4);
        w.add_dims(3);
        w.add_dims(3);
        w.set_raw_data(bytes({0x21, 0x43, 0x65, 0x87, 0x09}).toStdString());
        QCOMPARE(read(piece(w, {{{0, 3}, {0, 1}}})), bytes({0x41, 0x07}));
        QCOMPARE(read(piece(w, {{{1, 2}, {0, 3}}})), bytes({0x54, 0x06}));
        QCOMPARE(read(piece(w, {{{1, 3}, {1, 3}}})), bytes({0x65, 0x98}));
        QCOMPARE(read(piece(w, Box::whole({3, 3}))), QByteArray::fromStdString(w.raw_data()));
    }

    /// In little and in large pieces, in a file where something else comes first.
    void externalDataIsReadInPieces_data() {
        QTest::addColumn<int>("columns");
        QTest::addColumn<int>("from");
        QTest::addColumn<int>("to");
        QTest::newRow("little pieces") << 40 << 3 << 17;
        QTest::newRow("large pieces") << 9000 << 1000 << 8500;
        QTest::newRow("whole") << 100 << 0 << 100;
        QTest::newRow("few of many") << 70000 << 69999 << 70000;
    }
    void externalDataIsReadInPieces() {
        QFETCH(int, columns);
        QFETCH(int, from);
        QFETCH(int, to);
        constexpr int rows = 50;
        QTemporaryDir dir;
        QFile file(dir.filePath("data"));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(QByteArray(77, '\x7f'));
        QByteArray all, expected;
        for (int row = 0; row < rows; ++row)
            for (int column = 0; column < columns; ++column) {
                all.append(static_cast<char>(row * 31 + column * 7));
                if (column >= from && column < to)
                    expected.append(all.back());
            }
        file.write(all);
        file.close();
        const auto model = ModelBuilder{}.externalWeight("w", {rows, columns}, "data", 77).build();
        onnx::TensorProto w = model.graph().initializer(0);
        w.set_data_type(T::UINT8);
        w.mutable_external_data()->Clear();
        for (const auto& [key, value] : {std::pair("location", "data"), {"offset", "77"}}) {
            auto* entry = w.add_external_data();
            entry->set_key(key);
            entry->set_value(value);
        }
        const Weight weight = piece(w, {{{0, rows}, {from, to}}});
        QVERIFY(read(weight, dir.path()) == expected);
        QVERIFY(QFile::resize(dir.filePath("data"), 100));
        QVERIFY(read(weight, dir.path()).contains("data"));
    }

    void dataThatIsTooShortIsAnError() {
        onnx::TensorProto w = counted({3, 4});
        w.mutable_raw_data()->resize(11);
        QVERIFY(read(piece(w, {{{0, 1}, {0, 2}}})).contains("11 bytes"));
    }
};

QTEST_GUILESS_MAIN(TstWeights)
#include "tst_weights.moc"
