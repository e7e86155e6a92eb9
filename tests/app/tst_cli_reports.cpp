// SPDX-License-Identifier: Apache-2.0
// What reports count, where they end, and that they say each thing once.
#include "cli_process.h"

#include "support/model_builder.h"

#include <QFile>
#include <QJsonArray>
#include <QTemporaryDir>
#include <QtTest>

using namespace shardwright::test;

class TstCliReports : public QObject {
    Q_OBJECT
private slots:
    void unsupportedNodesAreCounted();
    void whatFailsACheckCanBeChosen();
    void reasonsAreSaidOnce();
    void aReportThatEndsAtErrorsSaysSo();
    void aNodeBetweenStagesIsToldToHaveOne();
    void collectivesAreCountedInGroupsToo();
    void strippingSaysThatTheVersionStays();
    void rulesSayWhereTheyWerePut();
    void aScopeInTheNameIsPrintedOnce();
    void numbersAgreeWithTheirNouns();
    void aPictureThatIsTooLargeNamesWhatThereIs();

private:
    QString file(const char* name) const { return m_folder.filePath(name); }
    /// x [8, 6] -> Transpose -> Relu, split over tp.
    QString transposed() {
        return annotated(ModelBuilder{}
                             .input("x", {8, 6})
                             .op("Transpose", {"x"}, {"t"}, "transpose")
                             .op("Relu", {"t"}, {"y"}, "relu")
                             .output("y", {6, 8}),
                         {"--mesh", "tp=2", "--shard", "x:0=tp"});
    }
    QString annotated(const ModelBuilder& builder, const QStringList& options) {
        const QString model = file("model.onnx");
        if (!builder.document().save(model.toStdString()))
            return {};
        const CliResult result = runCli(QStringList{"annotate", model, "-o", model} + options);
        return result.exitCode == 0 ? model : QString();
    }
    QTemporaryDir m_folder;
};

void TstCliReports::unsupportedNodesAreCounted() {
    const QString model = transposed();
    const CliResult strict = runCli({"check", model, "--profile", "strict"});
    QCOMPARE(strict.exitCode, 0);
    const auto said = strict.out.count("SW307");
    QVERIFY(said > 0);
    QVERIFY2(strict.out.trimmed().endsWith("0 errors, 0 warnings, " + QByteArray::number(said) +
                                           " unsupported"),
             strict.out.constData());
    const QJsonObject json =
        runCli({"check", model, "--profile", "strict", "--format", "json"}).json();
    QCOMPARE(json["unsupported"].toInt(), static_cast<int>(said));
    QVERIFY(runCli({"check", model}).out.trimmed().endsWith("0 errors, 0 warnings"));
}

void TstCliReports::whatFailsACheckCanBeChosen() {
    const QString model = transposed();
    const QStringList strict{"check", model, "--profile", "strict"};
    QCOMPARE(runCli(strict + QStringList{"--fail-on", "error"}).exitCode, 0);
    QCOMPARE(runCli(strict + QStringList{"--fail-on", "warning"}).exitCode, 0);
    for (const char* format : {"text", "json", "sarif"})
        QCOMPARE(
            runCli(strict + QStringList{"--fail-on", "unsupported", "--format", format}).exitCode,
            1);
    QCOMPARE(runCli(strict + QStringList{"--fail-on", "warning,unsupported"}).exitCode, 1);
    const QString custom = annotated(ModelBuilder{}
                                         .opset("com.example", 1)
                                         .input("x", {8, 6})
                                         .op("Relu", {"x"}, {"a"}, "relu")
                                         .op("Foo", {"a"}, {"y"}, "foo", {}, "com.example")
                                         .output("y", {8, 6}),
                                     {"--mesh", "tp=2", "--shard", "x:replicated"});
    QVERIFY(runCli({"check", custom}).out.contains("1 warning"));
    QCOMPARE(runCli({"check", custom}).exitCode, 0);
    QCOMPARE(runCli({"check", custom, "--fail-on", "warning"}).exitCode, 1);
}

void TstCliReports::reasonsAreSaidOnce() {
    const CliResult strict = runCli({"check", transposed(), "--profile", "strict"});
    QVERIFY2(strict.out.contains("Transpose `transpose`: proposal 0007"), strict.out.constData());
    QVERIFY(!strict.out.contains("not covered by proposal 0007"));
    const QString custom = annotated(ModelBuilder{}
                                         .opset("com.example", 1)
                                         .input("x", {8, 6})
                                         .op("Relu", {"x"}, {"a"}, "relu")
                                         .op("Foo", {"a"}, {"y"}, "foo", {}, "com.example")
                                         .output("y", {8, 6}),
                                     {"--mesh", "tp=2", "--shard", "x:replicated"});
    const CliResult check = runCli({"check", custom});
    QVERIFY2(check.out.contains("Foo `foo`: it runs whole: no rule for com.example::Foo"),
             check.out.constData());
    QCOMPARE(check.out.count("no rule"), 1);
}

void TstCliReports::aReportThatEndsAtErrorsSaysSo() {
    const ModelBuilder builder = ModelBuilder{}
                                     .input("x", {8, 6})
                                     .op("Softmax", {"x"}, {"a"}, "first")
                                     .op("Softmax", {"a"}, {"y"}, "second")
                                     .output("y", {8, 6});
    const QString model = file("errors.onnx");
    QVERIFY(builder.document().save(model.toStdString()));
    const CliResult written =
        runCli({"annotate", model, "-o", model, "--mesh", "tp=2", "--shard", "x:1=tp"});
    QCOMPARE(written.exitCode, 0);
    QVERIFY2(written.err.contains("the result has 1 error"), qPrintable(written.err));
    const CliResult check = runCli({"check", model});
    QCOMPARE(check.exitCode, 1);
    QVERIFY2(check.out.contains("more may be found once they are mended"), check.out.constData());
    QVERIFY(runCli({"check", model, "--format", "json"}).json()["incomplete"].toBool());
    const CliResult comm = runCli({"comm", model});
    QVERIFY2(comm.out.contains("the list ends at 1 error (see check)"), comm.out.constData());
    const QJsonObject json = runCli({"comm", model, "--format", "json"}).json();
    QVERIFY(json["incomplete"].toBool());
    QCOMPARE(json["errors"].toInt(), 1);

    const QString whole = transposed();
    QVERIFY(!runCli({"check", whole}).out.contains("mended"));
    QCOMPARE(runCli({"check", whole, "--format", "json"}).json()["incomplete"], QJsonValue(false));
    QVERIFY(!runCli({"comm", whole}).out.contains("the list ends"));
    QCOMPARE(runCli({"comm", whole, "--format", "json"}).json()["incomplete"], QJsonValue(false));
}

void TstCliReports::aNodeBetweenStagesIsToldToHaveOne() {
    const QString model = annotated(ModelBuilder{}
                                        .input("x", {8, 6})
                                        .op("Relu", {"x"}, {"a"}, "left")
                                        .op("Neg", {"a"}, {"b"}, "right")
                                        .op("Identity", {"a"}, {"a2"}, "bare")
                                        .op("Add", {"a2", "b"}, {"y"}, "between")
                                        .output("y", {8, 6}),
                                    {"--mesh", "tp=2", "--stage", "left=0", "--stage", "right=1",
                                     "--stage-devices", "0=0", "--stage-devices", "1=1"});
    const CliResult check = runCli({"check", model});
    QCOMPARE(check.exitCode, 1);
    QVERIFY2(check.out.contains("SW301") &&
                 check.out.contains("The node has no stage; before it are `left` of stage 0, "
                                    "`right` of stage 1: give it the stage where it is to run"),
             check.out.constData());
    QVERIFY(runCli({"annotate", model, "-o", model, "--stage", "between=1"}).exitCode == 0);
    const CliResult mended = runCli({"check", model});
    QVERIFY2(mended.exitCode == 0, mended.out.constData());
}

void TstCliReports::collectivesAreCountedInGroupsToo() {
    const QString model =
        annotated(ModelBuilder{}
                      .input("x", {4, 8})
                      .weight("w", {8, 6})
                      .op("MatMul", {"x", "w"}, {"y"})
                      .output("y", {4, 6}),
                  {"--mesh", "dp=2,tp=2", "--shard", "x:0=dp,1=tp", "--shard", "w:0=tp"});
    const CliResult comm = runCli({"comm", model});
    QVERIFY2(comm.out.contains("1 collective in 2 groups, 96 bytes in total"),
             comm.out.constData());
    const CliResult run = runCli({"run", model});
    QVERIFY2(run.out.contains("all-reduce: 2 groups, 96 bytes\n"), run.out.constData());
}

void TstCliReports::strippingSaysThatTheVersionStays() {
    const QString model = transposed(), bare = file("bare.onnx");
    const CliResult strip = runCli({"strip", model, "-o", bare});
    QCOMPARE(strip.exitCode, 0);
    QVERIFY2(strip.err.contains("the IR version stays 11"), qPrintable(strip.err));
    // Nothing was there to be taken away.
    QCOMPARE(runCli({"strip", bare, "-o", file("again.onnx")}).err, QString());
}

void TstCliReports::rulesSayWhereTheyWerePut() {
    const QString model = transposed(), rules = file("rules.json");
    QCOMPARE(runCli({"annotations", "export", model, "-o", rules}).exitCode, 0);
    const CliResult apply =
        runCli({"annotations", "apply", model, rules, "-o", file("applied.onnx")});
    QCOMPARE(apply.exitCode, 0);
    QVERIFY2(apply.out.contains(": 1 place\n"), apply.out.constData());
}

void TstCliReports::aScopeInTheNameIsPrintedOnce() {
    const QString model = file("scopes.onnx");
    QVERIFY(ModelBuilder{}
                .input("x", {4})
                .op("Relu", {"x"}, {"a"}, "/m/layers.0/act/Relu")
                .op("Relu", {"a"}, {"y"}, "/m/layers.0/act/Relu_1")
                .output("y", {4})
                .document()
                .save(model.toStdString()));
    const CliResult info = runCli({"info", model, "--nodes", "*"});
    QVERIFY2(info.out.contains("Relu /m/layers.0/act/Relu\n"), info.out.constData());
}

void TstCliReports::numbersAgreeWithTheirNouns() {
    const CliResult plan = runCli({"plan", transposed(), "-o", file("plan")});
    QCOMPARE(plan.exitCode, 0);
    QVERIFY2(plan.out.contains(": 2 models in 1 phase, 0 exchanges\n"), plan.out.constData());
}

void TstCliReports::aPictureThatIsTooLargeNamesWhatThereIs() {
    ModelBuilder builder;
    builder.input("t0", {4});
    for (int i = 0; i < 400; ++i)
        builder.op("Relu", {"t" + std::to_string(i)}, {"t" + std::to_string(i + 1)});
    const QString model = file("long.onnx");
    QVERIFY(builder.output("t400", {4}).document().save(model.toStdString()));
    const CliResult png = runCli({"render", model, "-o", file("long.png")});
    QCOMPARE(png.exitCode, 2);
    if (png.err.contains("without drawing"))
        QSKIP("built without drawing");
    QVERIFY2(png.err.contains("SVG and PDF have no such limit") && !png.err.contains("scale"),
             qPrintable(png.err));
}

QTEST_GUILESS_MAIN(TstCliReports)
#include "tst_cli_reports.moc"
