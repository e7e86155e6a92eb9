// SPDX-License-Identifier: Apache-2.0
// --rules: rules of the user's own in every command that looks at layouts.
#include "cli_process.h"

#include "support/model_builder.h"

#include <QFile>
#include <QJsonArray>
#include <QTemporaryDir>
#include <QtTest>

using namespace shardwright::test;

class TstCliUserRules : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() {
        const auto known = ModelBuilder{}
                               .input("x", {8, 6})
                               .op("Relu", {"x"}, {"y"}, "relu")
                               .output("y", {8, 6})
                               .document();
        QVERIFY(known.save(path("known.onnx").toStdString()));
        const auto custom = ModelBuilder{}
                                .opset("com.example", 1)
                                .input("x", {8, 6})
                                .op("Foo", {"x"}, {"y"}, "foo", {}, "com.example")
                                .output("y", {8, 6})
                                .document();
        QVERIFY(custom.save(path("custom.onnx").toStdString()));
        for (const char* name : {"known", "custom"}) {
            const QString model = path(QString(name) + ".onnx");
            const CliResult result = runCli({"annotate", model, "--mesh", "tp=2", "--shard",
                                             "x:1=tp", "-o", path(QString(name) + "_1.onnx")});
            QVERIFY(result.exitCode == 0 || result.exitCode == 1);
        }
        write("whole.txt", "Relu: n d^ -> n d^ where d = \"it hurts\";\n");
        write("custom.txt", "com.example::Foo: n d -> n d;\n");
        write("wrong.txt", "# one\nRelu: n d -> n;\n");
    }

    void aRuleReplacesTheStandardOne() {
        QCOMPARE(runCli({"check", path("known_1.onnx")}).exitCode, 0);
        for (const char* command : {"check", "infer", "comm", "run"}) {
            const CliResult result = runCli(
                {command, path("known_1.onnx"), "--rules", path("whole.txt"), "--format", "json"});
            QVERIFY2(result.exitCode == 1, command);
        }
        const CliResult check =
            runCli({"check", path("known_1.onnx"), "--rules", path("whole.txt")});
        QVERIFY2(check.out.contains("must be whole: it hurts"), check.out.constData());
        const CliResult run = runCli({"run", path("known_1.onnx"), "--verify"});
        QVERIFY2(run.exitCode == 0, qPrintable(run.err));
    }

    void aRuleMakesACustomOperatorKnown() {
        const CliResult without = runCli({"check", path("custom_1.onnx")});
        QCOMPARE(without.exitCode, 1);
        QVERIFY(without.out.contains("no rule for com.example::Foo"));
        const CliResult with =
            runCli({"check", path("custom_1.onnx"), "--rules", path("custom.txt")});
        QVERIFY2(with.exitCode == 0, with.out.constData());
    }

    /// Not what is inside decides, right or wrong; and the call runs as it is.
    void aRuleOfAFunctionIsItsRule() {
        ModelBuilder body;
        body.input("x", {}).op("Softmax", {"x"}, {"y"}, "soft").output("y", {});
        const auto model = ModelBuilder{}
                               .opset("com.example", 1)
                               .function("com.example", "Soft", body)
                               .input("x", {8, 6})
                               .op("Soft", {"x"}, {"y"}, "call", {}, "com.example")
                               .output("y", {8, 6})
                               .document();
        QVERIFY(model.save(path("function.onnx").toStdString()));
        for (const char* dim : {"0", "1"})
            runCli({"annotate", path("function.onnx"), "--mesh", "tp=2", "--shard",
                    QString("x:%1=tp").arg(dim), "-o", path(QString("function_%1.onnx").arg(dim))});
        write("rows.txt", "com.example::Soft: r c^ -> r c^ where c = \"it is normalised\";\n");
        write("wrong_rows.txt", "com.example::Soft: r c -> r c;\n");
        QCOMPARE(runCli({"check", path("function_1.onnx")}).exitCode, 1);
        QVERIFY(runCli({"check", path("function_1.onnx"), "--rules", path("rows.txt")})
                    .out.contains("must be whole: it is normalised"));
        const CliResult right =
            runCli({"run", path("function_0.onnx"), "--rules", path("rows.txt"), "--verify=all"});
        QVERIFY2(right.exitCode == 0, qPrintable(right.out + right.err));
        const QStringList wrong{"--rules", path("wrong_rows.txt")};
        QCOMPARE(runCli(QStringList{"check", path("function_1.onnx")} + wrong).exitCode, 0);
        const CliResult run =
            runCli(QStringList{"run", path("function_1.onnx"), "--verify"} + wrong);
        QCOMPARE(run.exitCode, 1);
        QVERIFY2(run.out.contains("NOT verified"), qPrintable(run.out + run.err));
    }

    void theRuleCommandReadsThem() {
        const QStringList own{"--rules", path("whole.txt")};
        const CliResult known = runCli(QStringList{"rule", "Relu", "--shape", "4,6"} + own);
        QCOMPARE(known.exitCode, 0);
        QVERIFY2(known.out.contains("n d^ -> n d^") && known.out.contains("it hurts"),
                 known.out.constData());
        QVERIFY(!runCli({"rule", "Relu", "--shape", "4,6"}).out.contains("it hurts"));

        const QStringList foo{"rule",           "com.example::Foo",
                              "--shape",        "4,6",
                              "--output-shape", "4,6",
                              "--mesh",         "tp=2",
                              "--shard",        "in0:0=tp",
                              "--format",       "json"};
        QCOMPARE(runCli(foo).exitCode, 1);
        const CliResult custom = runCli(foo + QStringList{"--rules", path("custom.txt")});
        QVERIFY2(custom.exitCode == 0, qPrintable(custom.err + custom.out));
        QCOMPARE(custom.json()["rule"].toString(), QString("n d -> n d"));
        QCOMPARE(custom.json()["family"].toString(), QString("user"));
        // Its name alone is enough, as of other operators that only one domain has.
        QCOMPARE(runCli({"rule", "Foo", "--shape", "4,6", "--output-shape", "4,6", "--rules",
                         path("custom.txt")})
                     .exitCode,
                 0);
        QCOMPARE(runCli({"rule", "Foo", "--rules", path("wrong.txt")}).exitCode, 2);
        const CliResult badShape =
            runCli({"rule", "Relu", "--shape", "4,6", "--output-shape", "4,-6"});
        QCOMPARE(badShape.exitCode, 2);
        QVERIFY2(badShape.err.contains("--output-shape"), qPrintable(badShape.err));
    }

    void theTableHasThem() {
        const auto rowOf = [&](const QString& op, const QStringList& more) {
            const QJsonObject json =
                runCli(QStringList{"rule", "--list", "--format", "json"} + more).json();
            for (const QJsonValue& row : json["operators"].toArray())
                if (row.toObject()["operator"].toString() == op)
                    return row.toObject();
            return QJsonObject();
        };
        QVERIFY(rowOf("Foo", {}).isEmpty());
        const QJsonObject foo = rowOf("Foo", {"--rules", path("custom.txt")});
        QCOMPARE(foo["domain"].toString(), QString("com.example"));
        QCOMPARE(foo["rule"].toString(), QString("n d -> n d"));
        QCOMPARE(foo["proven"].toBool(true), false);
        QCOMPARE(foo["proven_reason"].toString(), QString("it is a rule of your own"));
        const QJsonObject relu = rowOf("Relu", {"--rules", path("whole.txt")});
        QCOMPARE(relu["family"].toString(), QString("user"));
        QCOMPARE(relu["proven"].toBool(true), false);
        QCOMPARE(rowOf("Relu", {})["proven"].toBool(false), true);
    }

    void errorsNameFileLineAndColumn() {
        for (const char* command : {"check", "infer", "comm", "run"}) {
            const CliResult result =
                runCli({command, path("known.onnx"), "--rules", path("wrong.txt")});
            QCOMPARE(result.exitCode, 2);
            QVERIFY2(result.err.contains("wrong.txt:2:9: `d` is in no output"),
                     qPrintable(result.err));
        }
        const CliResult missing =
            runCli({"check", path("known.onnx"), "--rules", path("none.txt")});
        QCOMPARE(missing.exitCode, 2);
        QVERIFY2(missing.err.contains("none.txt: cannot be read"), qPrintable(missing.err));
    }

private:
    QString path(const QString& name) const { return m_folder.filePath(name); }
    void write(const QString& name, const char* text) const {
        QFile file(path(name));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(text);
    }

    QTemporaryDir m_folder;
};

QTEST_GUILESS_MAIN(TstCliUserRules)
#include "tst_cli_user_rules.moc"
