// SPDX-License-Identifier: Apache-2.0
#include "model/weights_in_file.h"

#include "model/tensor_bytes.h"
#include "support/model_builder.h"

#include <QTemporaryDir>
#include <QtTest>

#include <filesystem>

using namespace shardwright;
using namespace shardwright::test;

namespace {

ModelBuilder model() {
    return ModelBuilder(17)
        .input("x", {4, 200})
        .weight("large", {200, 200})
        .weight("small", {200, 3})
        .op("MatMul", {"x", "large"}, {"h"}, "first")
        .op("MatMul", {"h", "small"}, {"y"}, "second")
        .output("y", {4, 3})
        .metadata("key", "value");
}

}  // namespace

class TstWeightsInFile : public QObject {
    Q_OBJECT

private slots:
    void largeWeightsStayInTheFile() {
        const std::string bytes = model().bytes();
        write("m.onnx", bytes);
        const auto loaded = loadWithoutWeights(path("m.onnx"));
        QVERIFY(loaded);
        QVERIFY((*loaded)->bytes().size() < 20'000);
        onnx::ModelProto proto = (*loaded)->proto();
        const onnx::TensorProto large = proto.graph().initializer(0);
        QCOMPARE(large.data_location(), onnx::TensorProto::EXTERNAL);
        QVERIFY(!large.has_raw_data());
        const auto elements = tensorBytes(large, (*loaded)->path().parent_path());
        const onnx::ModelProto expected = model().build();
        QVERIFY(elements);
        QVERIFY(*elements == expected.graph().initializer(0).raw_data());
        // Nothing else differs.
        *proto.mutable_graph()->mutable_initializer(0) = expected.graph().initializer(0);
        QCOMPARE(proto.SerializeAsString(), expected.SerializeAsString());
    }

    void whatCannotBeReadInPiecesIsLoadedWhole() {
        const std::string bytes = model().bytes();
        write("m.onnx", bytes);
        // External data may not have two names.
        std::filesystem::create_hard_link(path("m.onnx"), path("second.onnx"));
        QVERIFY(!withoutWeights(path("m.onnx")));
        const auto loaded = loadWithoutWeights(path("m.onnx"));
        QVERIFY(loaded);
        QVERIFY((*loaded)->bytes() == bytes);
        write("text.onnx", "ir_version: 8 graph { name: \"g\" }");
        QVERIFY(!withoutWeights(path("text.onnx")));
        QVERIFY(loadWithoutWeights(path("text.onnx")));
    }

    void brokenFilesGiveTheErrorsOfTheWholeFile() {
        const std::string bytes = model().bytes();
        for (const std::size_t size : {0UL, 1UL, 7UL, 50UL, bytes.size() / 2, bytes.size() - 1}) {
            write("cut.onnx", bytes.substr(0, size));
            QVERIFY2(!withoutWeights(path("cut.onnx")), qPrintable(QString::number(size)));
            QVERIFY(!loadWithoutWeights(path("cut.onnx")));
        }
        QVERIFY(!loadWithoutWeights(path("missing.onnx")));
        QVERIFY(!loadWithoutWeights(m_dir.path().toStdString()));
    }

private:
    std::filesystem::path path(const char* name) const {
        return m_dir.filePath(name).toStdString();
    }
    void write(const char* name, const std::string& bytes) const {
        QFile file(m_dir.filePath(name));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(QByteArray::fromStdString(bytes));
    }
    QTemporaryDir m_dir;
};

QTEST_GUILESS_MAIN(TstWeightsInFile)
#include "tst_weights_in_file.moc"
