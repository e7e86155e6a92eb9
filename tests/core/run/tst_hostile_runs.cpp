// SPDX-License-Identifier: Apache-2.0
// Models that a run must refuse, and data that it must not look for where a kernel library would.
#include "run/ort_api.h"
#include "run/run_job.h"
#include "support/model_builder.h"

#include <QFile>
#include <QTemporaryDir>
#include <QtTest/QTest>

using namespace shardwright;
using namespace shardwright::test;

namespace {

RunOutcome run(const RunRequest& request) {
    return runJob(request, [](const RunEvent&) {});
}

QString failureOf(const RunOutcome& outcome) {
    const auto* failure = std::get_if<RunFailure>(&outcome);
    return failure ? QString::fromStdString(failure->message) : QString();
}

/// Writes 16 floats of that value; in the folder above, as bait, if asked for.
void writeFloats(const QString& path, float value) {
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly));
    for (int i = 0; i < 16; ++i)
        file.write(reinterpret_cast<const char*>(&value), sizeof value);
}

onnx::TensorProto externalTensor(const std::string& location) {
    onnx::TensorProto tensor;
    tensor.set_name("c");
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.add_dims(4);
    tensor.add_dims(4);
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    auto* entry = tensor.add_external_data();
    entry->set_key("location");
    entry->set_value(location);
    return tensor;
}

/// A branch of an If, an attribute of a Constant, or a function that reads external data.
ModelBuilder modelThatReads(const QString& where, const std::string& location) {
    const onnx::TensorProto tensor = externalTensor(location);
    ModelBuilder builder;
    builder.input("x", {4, 4}).weight("w", {4, 4});
    builder.op("MatMul", {"x", "w"}, {"h"}, "mm");
    if (where == "branch") {
        ModelBuilder branch;
        branch.initializer(tensor).op("Add", {"h", "c"}, {"s"}).output("s", {4, 4});
        builder.input("b", {}, onnx::TensorProto::BOOL);
        builder.op("If", {"b"}, {"y"}, "if",
                   {{"then_branch", branch.graph()}, {"else_branch", branch.graph()}});
    } else if (where == "constant in a branch") {
        ModelBuilder branch;
        branch.op("Constant", {}, {"c"}, "const", {{"value", tensor}});
        branch.op("Add", {"h", "c"}, {"s"}).output("s", {4, 4});
        builder.input("b", {}, onnx::TensorProto::BOOL);
        builder.op("If", {"b"}, {"y"}, "if",
                   {{"then_branch", branch.graph()}, {"else_branch", branch.graph()}});
    } else if (where == "function") {
        ModelBuilder body;
        body.input("a", {4, 4}).op("Constant", {}, {"c"}, "const", {{"value", tensor}});
        body.op("Add", {"a", "c"}, {"s"}).output("s", {4, 4});
        builder.opset("m", 1).function("m", "f", body);
        builder.op("f", {"h"}, {"y"}, "call", {}, "m");
    } else {
        builder.op("Constant", {}, {"c"}, "const", {{"value", tensor}});
        builder.op("Add", {"h", "c"}, {"y"}, "add");
    }
    return builder.output("y", {4, 4});
}

}  // namespace

class TstHostileRuns : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() {
        if (!OrtRuntime::find())
            QSKIP("needs ONNX Runtime, which is not there");
    }

    void moreDevicesThanThreadsAreRefused() {
        ModelBuilder builder;
        builder.irVersion(11).configuration("c", 1'000'000).input("x", {4});
        RunRequest request;
        request.modelBytes = builder.op("Relu", {"x"}, {"y"}).output("y", {4}).bytes();
        const RunOutcome outcome = run(request);
        QVERIFY2(failureOf(outcome).contains("1000000 devices"), qPrintable(failureOf(outcome)));
        QCOMPARE(exitCode(outcome), 2);
    }

    void functionsThatDoubleAreRefused() {
        ModelBuilder builder;
        builder.opset("m", 1).input("x", {4});
        for (int i = 0; i < 40; ++i) {
            const std::string before = i == 0 ? "Relu" : "f" + std::to_string(i - 1);
            ModelBuilder body;
            body.opset("m", 1).input("a", {4});
            body.op(before, {"a"}, {"b"}, {}, {}, i == 0 ? "" : "m");
            body.op(before, {"b"}, {"c"}, {}, {}, i == 0 ? "" : "m").output("c", {4});
            builder.function("m", "f" + std::to_string(i), body);
        }
        RunRequest request;
        request.modelBytes =
            builder.op("f39", {"x"}, {"y"}, "call", {}, "m").output("y", {4}).bytes();
        QVERIFY2(failureOf(run(request)).contains("10 million nodes"),
                 qPrintable(failureOf(run(request))));
    }

    void dataOutsideOfTheFileIsReadInsideOfBodiesToo_data() {
        QTest::addColumn<QString>("where");
        for (const char* where : {"branch", "constant in a branch", "function", "constant"})
            QTest::newRow(where) << where;
    }
    void dataOutsideOfTheFileIsReadInsideOfBodiesToo() {
        QFETCH(QString, where);
        QTemporaryDir folder;
        writeFloats(folder.filePath("c.data"), 1.5F);
        RunRequest request;
        request.modelBytes = modelThatReads(where, "c.data").bytes();
        request.modelPath = folder.filePath("model.onnx").toStdString();
        request.verify = VerifyMode::All;
        const RunOutcome outcome = run(request);
        QVERIFY2(failureOf(outcome).isEmpty(), qPrintable(failureOf(outcome)));
        QCOMPARE(std::get<RunReport>(outcome).verified, std::optional(true));
    }

    void dataOutsideOfTheFolderIsReadNowhere_data() {
        dataOutsideOfTheFileIsReadInsideOfBodiesToo_data();
    }
    void dataOutsideOfTheFolderIsReadNowhere() {
        QFETCH(QString, where);
        QTemporaryDir above;
        writeFloats(above.filePath("secret"), 1.5F);
        QVERIFY(QDir(above.path()).mkdir("model"));
        RunRequest request;
        request.modelBytes = modelThatReads(where, "../secret").bytes();
        request.modelPath = above.filePath("model/model.onnx").toStdString();
        QVERIFY2(failureOf(run(request)).contains("leads out of the model's folder"),
                 qPrintable(failureOf(run(request))));
    }
};

QTEST_GUILESS_MAIN(TstHostileRuns)
#include "tst_hostile_runs.moc"
