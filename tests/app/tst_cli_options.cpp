// SPDX-License-Identifier: Apache-2.0
// Words that mean nothing are refused: no option goes unnoticed, and no number is taken for
// another.
#include "cli_process.h"

#include "support/model_builder.h"

#include <QTemporaryDir>
#include <QtTest>

using namespace shardwright::test;

class TstCliOptions : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() {
        const auto document = ModelBuilder{}
                                  .input("x", {"b", 6})
                                  .op("Relu", {"x"}, {"y"}, "relu")
                                  .output("y", {"b", 6})
                                  .document();
        m_model = m_folder.filePath("model.onnx");
        QVERIFY(document.save(m_model.toStdString()));
        QCOMPARE(runCli({"annotate", m_model, "--mesh", "tp=2", "--shard", "x:0=tp", "-o", m_model})
                     .exitCode,
                 0);
    }

    void whatMeansNothingIsRefused_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<QString>("said");
        const auto row = [&](const QString& arguments, const QString& said) {
            QStringList words = arguments.split(' ');
            words.replaceInStrings("MODEL", m_model);
            QTest::newRow(qPrintable(arguments)) << words << said;
        };
        row("chek MODEL", "there is no command `chek`; did you mean 'check'?");
        row("annotations exprt MODEL", "there is no command `exprt`; did you mean 'export'?");
        row("frobnicate", "there is no command `frobnicate`; there are annotate, annotations,");
        row("rule --list --shape 4", "--shape excludes --list");
        row("rule --list --mesh tp=2", "--mesh excludes --list");
        row("rule Relu --list", "OP excludes --list");
        row("infer MODEL --policy paddle", "--policy: is for --mode propagate only");
        row("infer MODEL --direction both", "--direction: is for --mode propagate only");
        row("infer MODEL --priority tp=1", "--priority: is for --mode propagate only");
        row("infer MODEL --hardware h", "--hardware: is for --mode propagate only");
        row("infer MODEL -o out", "--output: is for --mode propagate only");
        row("run MODEL --mpi-options x", "--mpi-options: is for --transport mpi only");
        for (const char* limit : {"0", "-1", "nan", "inf", "1e400", "1e9", "x", "1s"})
            row("run MODEL --time-limit " + QString(limit),
                "--time-limit: expected a number from 0.001 to 1e+06, found `" + QString(limit));
        for (const char* number : {"-1", "1.5", "nan", "99999999999999999999", "0x"}) {
            const QString found = ", found `" + QString(number);
            row("run MODEL --seed " + QString(number),
                "--seed: expected a whole number from 0 to 18446744073709551615" + found);
            row("run MODEL --repeat " + QString(number),
                "--repeat: expected a whole number from 1 to 100000" + found);
            row("run MODEL --warm-up " + QString(number),
                "--warm-up: expected a whole number from 0 to 100000" + found);
            row("plan MODEL -o p --most-inside " + QString(number),
                "--most-inside: expected a whole number from 0 to 9223372036854775807" + found);
            row("calibrate --devices " + QString(number),
                "--devices: expected a whole number from 2 to 256" + found);
            row("rule Relu --opset " + QString(number),
                "--opset: expected a whole number from 1 to 1048576" + found);
            row("rule Relu --outputs " + QString(number),
                "--outputs: expected a whole number from 1 to 1024" + found);
        }
        for (const char* size : {"0", "-1", "1.5", "nan", "99999999999999999999", ""}) {
            row("check MODEL --bind b=" + QString(size), "--bind");
            row("annotate MODEL -o p --mesh tp=" + QString(size), "tp=" + QString(size));
            row("annotate MODEL -o p --shard x:1=3*" + QString(size) + "/tp", "x:1=3*");
            if (QString(size) != "0")
                row("annotate MODEL -o p --stage relu=0 --stage-devices 0=" + QString(size), "0=");
        }
        for (const char* number : {"-1", "1.5", "nan", "99999999999999999999", ""}) {
            row("annotate MODEL -o p --stage relu=" + QString(number), "relu=" + QString(number));
            row("infer MODEL --mode propagate --priority tp=" + QString(number), "--priority");
        }
        row("infer MODEL --mode propagate --priority tp=1 --priority tp=2", "--priority");
    }
    void whatMeansNothingIsRefused() {
        QFETCH(QStringList, arguments);
        QFETCH(QString, said);
        const CliResult result = runCli(arguments);
        QCOMPARE(result.exitCode, 2);
        QVERIFY2(result.err.contains(said), qPrintable(result.err));
    }

private:
    QTemporaryDir m_folder;
    QString m_model;
};

QTEST_GUILESS_MAIN(TstCliOptions)
#include "tst_cli_options.moc"
