// SPDX-License-Identifier: Apache-2.0
// `rule`: the table of operators, and one operator on given shapes and layouts.
#include "cli_process.h"

#include <QJsonArray>
#include <QTemporaryFile>
#include <QtTest>

using namespace shardwright::test;

namespace {

QJsonObject ruleOf(const QStringList& arguments) {
    const CliResult result =
        runCli(QStringList{"rule"} + arguments + QStringList{"--format", "json"});
    return result.json();
}

QJsonObject factorNamed(const QJsonObject& rule, const QString& name) {
    for (const QJsonValue& factor : rule["factors"].toArray())
        if (factor.toObject()["factor"].toString() == name)
            return factor.toObject();
    return {};
}

}  // namespace

class TstCliRule : public QObject {
    Q_OBJECT
private slots:
    void theListHasARowForEveryOperator();
    void anOperatorIsExplainedOnItsExample();
    void anOperatorIsExplainedOnGivenShapes();
    void elementsCanBeGiven();
    void layoutsInferLayoutsAndCollectives();
    void anImpossibleLayoutIsAnError();
    void shapesThatDoNotFitAreSaid();
    void theSizeThatDoesNotFitIsNamed_data();
    void theSizeThatDoesNotFitIsNamed();
    void whatDependsOnTheDataIsNoMisfit();
    void aRuleOfOnesOwnSaysWhatItMisses_data();
    void aRuleOfOnesOwnSaysWhatItMisses();
    void theHeadIsPrintedOnce();
    void theTextSaysTheSame();
    void badUsageExitsWithTwo_data();
    void badUsageExitsWithTwo();
};

void TstCliRule::theListHasARowForEveryOperator() {
    const CliResult result = runCli({"rule", "--list", "--format", "json"});
    QCOMPARE(result.exitCode, 0);
    const QJsonArray rows = result.json()["operators"].toArray();
    QVERIFY(rows.size() > 200);
    QJsonObject conv;
    for (const QJsonValue& value : rows) {
        const QJsonObject row = value.toObject();
        for (const char* key : {"operator", "domain", "since_version", "deprecated", "family",
                                "profile", "profile_reason", "example", "rule", "shardable",
                                "blocked", "data_dependent", "proven"})
            QVERIFY2(row.contains(key), qPrintable(row["operator"].toString() + " lacks " + key));
        for (const QJsonValue& factor : row["blocked"].toArray())
            QVERIFY2(!factor.toObject()["reason"].toString().isEmpty(),
                     qPrintable(row["operator"].toString()));
        if (row["operator"] == "Conv" && row["domain"] == "ai.onnx")
            conv = row;
    }
    QCOMPARE(conv["since_version"].toInt(), 22);
    QCOMPARE(conv["family"].toString(), "convolution");
    QCOMPARE(conv["profile"].toString(), "extended");
    QCOMPARE(conv["profile_reason"].toString(), "proposal 0007 lists Conv as unsupported");
    QStringList shardable;
    for (const QJsonValue& factor : conv["shardable"].toArray())
        shardable << factor.toObject()["factor"].toString();
    shardable.sort();
    QCOMPARE(shardable, (QStringList{"c", "g", "h", "n", "o", "w"}));
}

void TstCliRule::anOperatorIsExplainedOnItsExample() {
    const QJsonObject rule = ruleOf({"MatMul"});
    QCOMPARE(rule["rule"].toString(), "b0 m k+, k+ n -> b0 m n");
    const QJsonObject k = factorNamed(rule, "k");
    QCOMPARE(k["kind"].toString(), "reduction");
    QCOMPARE(k["reduce"].toString(), "sum");
    QCOMPARE(k["shardable"].toBool(), true);
    QCOMPARE(k["dimensions"].toArray(),
             (QJsonArray{QJsonObject{{"tensor", "#in0"}, {"dimension", 2}},
                         QJsonObject{{"tensor", "#in1"}, {"dimension", 0}}}));
}

void TstCliRule::anOperatorIsExplainedOnGivenShapes() {
    const QJsonObject rule = ruleOf({"Conv", "--shape", "2,8,8,8", "--shape", "float[8,1,3,3]",
                                     "--attr", "group=8", "--attr", "pads=1,1,1,1"});
    QCOMPARE(rule["rule"].toString(), "n g h~ w~, g 1 kh^ kw^ -> n g h~ w~");
    QCOMPARE(factorNamed(rule, "h")["reason"].toString(),
             "windows of 3, 1 apart, read neighbours, and padding is added at its ends");
    QCOMPARE(rule["outputs"].toArray()[0].toObject()["shape"].toArray(), (QJsonArray{2, 8, 8, 8}));
    // By an older definition of the operator.
    QCOMPARE(ruleOf({"Softmax", "--shape", "2,3,4", "--opset", "12"})["rule"].toString(),
             "d0 d1^ d2^ -> d0 d1^ d2^");
    QCOMPARE(ruleOf({"Softmax", "--shape", "2,3,4"})["rule"].toString(), "d0 d1 d2^ -> d0 d1 d2^");
}

void TstCliRule::elementsCanBeGiven() {
    QCOMPARE(
        ruleOf({"Reshape", "--shape", "2,6,64", "--shape", "int64[4]=2,6,4,16"})["rule"].toString(),
        "a b (c d), shape^ -> a b c d");
    QCOMPARE(ruleOf({"CumSum", "--shape", "4,6", "--shape", "int64=1"})["rule"].toString(),
             "d0 d1^, . -> d0 d1^");
    QCOMPARE(
        ruleOf({"Split", "--shape", "4,6", "--attr", "num_outputs=2", "--attr", "axis=1"})["rule"]
            .toString(),
        "d0 (part^ a) -> d0 a, d0 a");
}

void TstCliRule::layoutsInferLayoutsAndCollectives() {
    const QJsonObject rule = ruleOf({"MatMul", "--shape", "4,8", "--shape", "8,6", "--mesh", "tp=2",
                                     "--shard", "in0:1=tp", "--shard", "in1:0=tp"});
    QCOMPARE(rule["mesh"].toString(), "tp=2");
    QCOMPARE(rule["tensors"].toArray().size(), 3);
    const QJsonArray collectives = rule["collectives"].toArray();
    QCOMPARE(collectives.size(), 1);
    QCOMPARE(collectives[0].toObject()["kind"].toString(), "all-reduce");
    QCOMPARE(rule["total_bytes"].toInt(), 4 * 6 * 4);
    QVERIFY(ruleOf({"MatMul"})["collectives"].toArray().isEmpty());
}

void TstCliRule::anImpossibleLayoutIsAnError() {
    const CliResult result = runCli({"rule", "Softmax", "--shape", "4,6", "--mesh", "tp=2",
                                     "--shard", "in0:1=tp", "--format", "json"});
    QCOMPARE(result.exitCode, 1);
    const QJsonArray diagnostics = result.json()["diagnostics"].toArray();
    bool said = false;
    for (const QJsonValue& d : diagnostics)
        said = said || (d.toObject()["severity"] == "error" &&
                        d.toObject()["message"].toString().contains("normalised along it"));
    QVERIFY2(said, result.out.constData());
}

void TstCliRule::shapesThatDoNotFitAreSaid() {
    const CliResult result =
        runCli({"rule", "MatMul", "--shape", "4,8", "--shape", "7,6", "--format", "json"});
    QCOMPARE(result.exitCode, 1);
    QCOMPARE(result.json()["known"].toBool(), false);
    const QJsonArray complaints = result.json()["complaints"].toArray();
    QCOMPARE(complaints.size(), 2);
    QVERIFY(complaints[0].toString().contains("Incompatible dimensions"));
    QCOMPARE(complaints[1].toString(),
             "MatMul: dimension 0 of #in1 is 7, with 8 it would fit (#in0 "
             "[4, 8], #in1 [7, 6])");
}

void TstCliRule::theSizeThatDoesNotFitIsNamed_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QString>("said");
    const auto row = [](const char* name, const QString& arguments, const QString& said) {
        QTest::newRow(name) << arguments.split(' ') << said;
    };
    row("broadcast", "Add --shape 4,8 --shape 3,8",
        "Add: dimension 0 of #in1 is 3, with 4 it would fit (#in0 [4, 8], #in1 [3, 8])");
    row("channels", "Conv --shape 2,8,16,16 --shape 8,3,3,3",
        "Conv: dimension 1 of #in1 is 3, with 8 it would fit");
    row("scale", "LayerNormalization --shape 4,8 --shape 7",
        "LayerNormalization: dimension 0 of #in1 is 7, with 8 it would fit");
    row("bias", "Gemm --shape 4,8 --shape 8,6 --shape 5",
        "Gemm: dimension 0 of #in2 is 5, with 6 it would fit");
    row("contrib", "com.microsoft::FusedMatMul --shape 4,8 --shape 7,6",
        "com.microsoft::FusedMatMul: dimension 0 of #in1 is 7, with 8 it would fit");
    row("equation", "Einsum --shape 4,8 --shape 7,6 --attr equation=ij,jk->ik",
        "Einsum: dimension 0 of #in1 is 7, with 8 it would fit");
    row("too few", "Gather --shape 4", "Gather has 2 inputs, 1 is given");
    row("too many", "Relu --shape 4 --shape 5", "Relu has 1 input, 2 are given");
    row("outputs", "Relu --shape 4 --outputs 3", "Relu has 1 output, 3 are given");
    row("elements", "Reshape --shape 4,6 --shape int64[2]=5,5",
        "Reshape does not fit #in0 [4, 6], #in1 [2]");
}

void TstCliRule::theSizeThatDoesNotFitIsNamed() {
    QFETCH(QStringList, arguments);
    QFETCH(QString, said);
    const CliResult text = runCli(QStringList{"rule"} + arguments);
    QCOMPARE(text.exitCode, 1);
    QVERIFY2(text.out.contains(said.toUtf8()), text.out.constData());
    const CliResult json =
        runCli(QStringList{"rule"} + arguments + QStringList{"--format", "json"});
    QCOMPARE(json.exitCode, 1);
    QVERIFY(json.json()["complaints"].toArray().last().toString().contains(said));
}

void TstCliRule::whatDependsOnTheDataIsNoMisfit() {
    QCOMPARE(runCli({"rule", "NonZero", "--shape", "4,6"}).exitCode, 0);
}

void TstCliRule::aRuleOfOnesOwnSaysWhatItMisses_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QString>("said");
    const auto row = [](const char* name, const QString& arguments, const QString& said) {
        QTest::newRow(name) << arguments.split(' ') << said;
    };
    row("attribute", "com.example::Heads --shape 2,8 --output-shape 2,8",
        "com.example::Heads: h: the node has no attribute num_heads");
    row("its type", "com.example::Heads --shape 2,8 --output-shape 2,8 --attr num_heads=x",
        "h: the attribute num_heads of the node is no size");
    row("multiple", "com.example::Heads --shape 2,8 --output-shape 2,8 --attr num_heads=3",
        "dimension 1 of #in0, `(h d)`, is 8, no multiple of 3");
    row("output", "com.example::Heads --shape 2,8 --attr num_heads=2",
        "the shape of #out0 is not known; give it with --output-shape");
    row("size", "com.example::Scale --shape 4,8 --shape 7 --output-shape 4,8",
        "dimension 0 of #in1, `c`, is 7, elsewhere it is 8");
    row("many", "com.example::Scale --shape 4,8 --shape 8 --output-shape 5,8",
        "dimension 0 of #out0 (`b..`) is 5, elsewhere it is 4");
    row("rank", "com.example::Scale --shape 4,8 --shape 8,8 --output-shape 4,8",
        "#in1 has 2 dimensions, the rule 1");
    row("inputs", "com.example::Heads --shape 2,8 --shape 2 --output-shape 2,8",
        "the node has 2 inputs, the rule 1");
    row("unsolved", "com.example::Product --shape 8 --output-shape 8",
        "the size of `a` does not follow from the shapes");
    row("several", "com.example::Two --shape 4 --output-shape 5",
        "rule of line 4: dimension 0 of #out0, `a`, is 5, elsewhere it is 4; rule of line 5: #in0 "
        "has 1 dimension, the rule 2");
}

void TstCliRule::aRuleOfOnesOwnSaysWhatItMisses() {
    QFETCH(QStringList, arguments);
    QFETCH(QString, said);
    QTemporaryFile rules;
    QVERIFY(rules.open());
    rules.write("com.example::Heads: b (h d) -> b (h d) where h = num_heads;\n"
                "com.example::Scale: b.. c, c -> b.. c;\n"
                "com.example::Product: (a b) -> (a b);\n"
                "com.example::Two: a -> a;\n"
                "com.example::Two: a b -> a b;\n");
    rules.close();
    const QStringList call = QStringList{"rule", "--rules", rules.fileName()} + arguments;
    const CliResult text = runCli(call);
    QCOMPARE(text.exitCode, 1);
    QVERIFY2(text.out.contains(said.toUtf8()), text.out.constData());
    QVERIFY2(!text.out.contains("-> .\n"), text.out.constData());
    const CliResult json = runCli(call + QStringList{"--format", "json"});
    QCOMPARE(json.exitCode, 1);
    QVERIFY2(json.json()["complaints"].toArray().last().toString().contains(said),
             json.out.constData());
    QCOMPARE(json.json()["rule"].isNull(), said.contains("--output-shape"));
}

void TstCliRule::theHeadIsPrintedOnce() {
    const CliResult result = runCli({"rule", "MatMul", "--shape", "4,8", "--shape", "8,6", "--mesh",
                                     "tp=2", "--shard", "in0:1=tp", "--shard", "in1:0=tp"});
    QCOMPARE(result.exitCode, 0);
    QCOMPARE(result.out.count("mesh tp=2"), 1);
    QVERIFY2(result.out.contains("1 collective in 1 group, 96 bytes"), result.out.constData());
    QVERIFY(result.out.contains("0 errors, 0 warnings"));
}

void TstCliRule::theTextSaysTheSame() {
    const CliResult result = runCli({"rule", "MatMul", "--shape", "4,8", "--shape", "8,6"});
    QCOMPARE(result.exitCode, 0);
    QVERIFY2(result.out.contains("m k+, k+ n -> m n"), result.out.constData());
    QVERIFY(result.out.contains("reduction (sum)"));
    QVERIFY(result.out.contains("profile strict"));
    const CliResult list = runCli({"rule", "--list"});
    QCOMPARE(list.exitCode, 0);
    QVERIFY(list.out.contains("each row is normalised over all keys"));
}

void TstCliRule::badUsageExitsWithTwo_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QString>("said");
    QTest::newRow("nothing") << QStringList{} << "--list";
    QTest::newRow("no such operator") << QStringList{"Matmull"} << "no operator";
    QTest::newRow("near") << QStringList{"matmul"} << "MatMul";
    QTest::newRow("a type") << QStringList{"Relu", "--shape", "flaot[4]"} << "flaot[4]";
    QTest::newRow("elements") << QStringList{"Relu", "--shape", "int64[2]=1,2,3"}
                              << "int64[2]=1,2,3";
    QTest::newRow("huge") << QStringList{"Relu", "--shape", "int64[9999999999]=1"}
                          << "int64[9999999999]=1";
    QTest::newRow("beyond all numbers")
        << QStringList{"Relu", "--shape", "99999999999999999999"} << "99999999999999999999";
    QTest::newRow("a folder of rules") << QStringList{"--list", "--rules", "/"} << "cannot be read";
    QTest::newRow("negative") << QStringList{"Relu", "--shape", "float[-3]"} << "float[-3]";
    QTest::newRow("an attribute") << QStringList{"Relu", "--shape", "4", "--attr", "axis"}
                                  << "axis";
    QTest::newRow("its type") << QStringList{"Softmax", "--shape", "4", "--attr", "axis=x"}
                              << "INT";
    QTest::newRow("an axis") << QStringList{"Relu", "--shape", "4",      "--mesh",
                                            "a=2",  "--shard", "in0:0=b"}
                             << "b";
}

void TstCliRule::badUsageExitsWithTwo() {
    QFETCH(QStringList, arguments);
    QFETCH(QString, said);
    const CliResult result = runCli(QStringList{"rule"} + arguments);
    QCOMPARE(result.exitCode, 2);
    QVERIFY2(result.err.contains(said), qPrintable(result.err));
}

QTEST_GUILESS_MAIN(TstCliRule)
#include "tst_cli_rule.moc"
