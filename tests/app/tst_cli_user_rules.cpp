// SPDX-License-Identifier: Apache-2.0
// --rules: rules of the user's own in every command that looks at layouts.
#include "cli_process.h"

#include "support/model_builder.h"

#include <QFile>
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
