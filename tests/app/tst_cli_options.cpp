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
                                  .input("x", {"batch", 6})
                                  .op("Relu", {"x"}, {"y"}, "relu")
                                  .output("y", {"batch", 6})
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
            row("check MODEL --bind batch=" + QString(size), "--bind");
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
        // Dimensions that the model does not have.
        for (const char* command :
             {"check MODEL", "infer MODEL", "infer MODEL --mode propagate", "comm MODEL",
              "run MODEL", "plan MODEL -o p", "fix MODEL -o p", "render MODEL -o p.svg",
              "annotate MODEL -o p --mesh tp=2", "annotations export MODEL -o p"}) {
            row(command + QString(" --bind batch=3 --bind bach=2"),
                "--bind: no dimension of the model is called 'bach'; did you mean 'batch'?");
            row(command + QString(" --bind nothing=2"),
                "no dimension of the model is called 'nothing'; there are 'batch'");
        }
        row("check MODEL --bind batch=3 --bind batch=2", "`batch` is bound to 3 and to 2");
        // Words of a list.
        row("check MODEL --profile foo", "--profile: expected strict or extended, found `foo`\n");
        row("check MODEL --profile 1", "--profile: expected strict or extended, found `1`\n");
        row("check MODEL --profile strct", "found `strct`; did you mean 'strict'?");
        row("info MODEL --format 0", "--format: expected text or json, found `0`");
        row("check MODEL --format jsn", "expected text, json or sarif, found `jsn`; did you mean");
        row("comm MODEL --format sarif", "expected text, json or csv, found `sarif`");
        row("infer MODEL --mode propagte", "found `propagte`; did you mean 'propagate'?");
        row("infer MODEL --mode propagate --policy padle", "did you mean 'paddle'?");
        row("infer MODEL --mode propagate --direction 2", "expected both, forward or reverse");
        row("run MODEL --backend gpu", "expected cpu or cuda, found `gpu`; did you mean 'cpu'?");
        row("run MODEL --transport tcp", "expected threads, mpi or nccl, found `tcp`");
        row("run MODEL --verify=everything", "expected outputs or all, found `everything`");
        row("check MODEL --fail-on warnings", "found `warnings`; did you mean 'warning'?");
        row("check MODEL --fail-on unsupported", "--fail-on: is for --profile strict only");
        // Nodes, tensors, codes.
        row("info MODEL --nodes rel", "--nodes: no node matches 'rel'; did you mean 'relu'?");
        row("info MODEL --nodes el*", "A pattern matches the whole name: '*el*' would match");
        row("annotate MODEL -o p --stage el*=0", "'*el*' would match");
        row("annotate MODEL -o p --shard x@el*:0=tp", "'*el*' would match");
        row("fix MODEL -o p --node rel", "--node: no node matches 'rel'; did you mean 'relu'?");
        row("fix MODEL -o p --node relu", "no diagnostic with such a fix; no diagnostic has a fix");
        row("fix MODEL -o p --code SW3001", "there is no diagnostic of the code SW3001; did you");
        row("run MODEL --observe xx", "there is no tensor `xx` to observe; did you mean");
        for (const char* shard : {"w:0=tp", "in7:0=tp"})
            row("rule MatMul --shape 4,8 --shape 8,6 --mesh tp=2 --shard " + QString(shard),
                "'; there are in0, in1, out0");
    }
    void whatMeansNothingIsRefused() {
        QFETCH(QStringList, arguments);
        QFETCH(QString, said);
        const CliResult result = runCli(arguments);
        QCOMPARE(result.exitCode, 2);
        if (result.err.contains("built without drawing"))
            QSKIP("built without drawing");
        QVERIFY2(result.err.contains(said), qPrintable(result.err));
    }

    void helpShowsWordsOnly() {
        for (const QStringList& command : {QStringList{"info"},
                                           {"check"},
                                           {"fix"},
                                           {"infer"},
                                           {"comm"},
                                           {"annotate"},
                                           {"annotations", "export"},
                                           {"annotations", "apply"},
                                           {"run"},
                                           {"plan"},
                                           {"rule"},
                                           {"calibrate"},
                                           {"render"},
                                           {"conformance"}}) {
            const QString help = runCli(command + QStringList{"--help"}).out;
            QVERIFY2(!help.contains("->") && !help.contains("ENUM"), qPrintable(help));
        }
        const QString help = runCli({"check", "--help"}).out;
        QVERIFY2(help.contains("--profile strict|extended"), qPrintable(help));
        QVERIFY2(help.contains("--format text|json|sarif"), qPrintable(help));
    }

    /// What other declared types are called counts as well.
    void aSymbolInsideIsADimension() {
        const auto document = ModelBuilder{}
                                  .input("x", {"batch", 6})
                                  .op("NonZero", {"x"}, {"y"}, "nonzero")
                                  .output("y", {2, "found"}, 7)
                                  .document();
        const QString model = m_folder.filePath("inside.onnx");
        QVERIFY(document.save(model.toStdString()));
        const CliResult result = runCli({"check", model, "--bind", "found=3"});
        QVERIFY2(result.exitCode == 0, qPrintable(result.err));
    }

private:
    QTemporaryDir m_folder;
    QString m_model;
};

QTEST_GUILESS_MAIN(TstCliOptions)
#include "tst_cli_options.moc"
