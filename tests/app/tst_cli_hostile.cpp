// SPDX-License-Identifier: Apache-2.0
// What the command line prints of files that mean harm.
#include "cli_process.h"
#include "support/model_builder.h"

#include <QFile>
#include <QJsonArray>
#include <QTemporaryDir>
#include <QtTest/QTest>

using namespace shardwright::test;

namespace {

/// A Softmax along the dimension that is split: an error with that name in it, and fixes.
std::string wrongModel(const std::string& name) {
    onnx::NodeDeviceConfigurationProto annotation;
    annotation.set_configuration_id("c");
    auto* spec = annotation.add_sharding_spec();
    spec->set_tensor_name(name);
    spec->add_device(0);
    spec->add_device(1);
    auto* dim = spec->add_sharded_dim();
    dim->set_axis(1);
    dim->add_simple_sharding()->set_num_shards(2);
    ModelBuilder builder;
    builder.irVersion(11).configuration("c", 2).input(name, {4, 4});
    builder.op("Softmax", {name}, {"y"}, name, {{"axis", 1}}).annotate(annotation);
    return builder.output("y", {4, 4}).bytes();
}

bool isPlain(const QByteArray& text) {
    return std::none_of(text.begin(), text.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return (byte < 0x20 && c != '\n') || byte == 0x7F;
    });
}

}  // namespace

class TstCliHostile : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;

    QString write(const std::string& bytes) {
        const QString path = m_folder.filePath("model.onnx");
        QFile file(path);
        if (file.open(QIODevice::WriteOnly))
            file.write(bytes.data(), static_cast<qint64>(bytes.size()));
        return path;
    }

private slots:
    void namesCannotCommandTheTerminal_data() {
        QTest::addColumn<QByteArray>("name");
        QTest::newRow("escape") << QByteArray("\x1b[2Jx");
        QTest::newRow("carriage return") << QByteArray("a\rSW999");
        QTest::newRow("NUL") << QByteArray("a\0b", 3);
        QTest::newRow("no UTF-8") << QByteArray("a\xFF");
    }
    void namesCannotCommandTheTerminal() {
        QFETCH(QByteArray, name);
        const QString path = write(wrongModel(name.toStdString()));
        for (const char* command : {"check", "infer", "comm", "run", "info"}) {
            const CliResult result = runCli({command, path});
            QVERIFY2(isPlain(result.out), command);
            QVERIFY2(isPlain(result.err.toUtf8()), command);
            QVERIFY2(QString::fromUtf8(result.out).toUtf8() == result.out, command);
        }
    }

    void aNameCannotForgeALine() {
        const QString path = write(wrongModel("a\nSW999 error: forged"));
        for (const char* command : {"check", "infer", "run"}) {
            const CliResult result = runCli({command, path});
            for (const QByteArray& line : (result.out + result.err.toUtf8()).split('\n'))
                QVERIFY2(!line.startsWith("SW999"), command);
        }
    }

    void aRefusedRunPrintsJsonWithTheWordsOfTheCheck() {
        const QString path = write(wrongModel("x"));
        const CliResult checked = runCli({"check", path, "--format", "json"});
        const CliResult ran = runCli({"run", path, "--verify", "--format", "json"});
        QCOMPARE(ran.exitCode, 1);
        const QJsonObject failure = ran.json()["failure"].toObject();
        QCOMPARE(failure["kind"].toString(), QString("model"));
        QCOMPARE(failure["message"].toString(),
                 checked.json()["diagnostics"].toArray()[0].toObject()["message"].toString());
        QVERIFY(ran.json()["verified"].isNull());
        QVERIFY(ran.json()["executed"].isObject());
    }

    void oneOfSeveralConfigurationsMustBeSaid() {
        ModelBuilder builder;
        builder.irVersion(11).configuration("a", 2).configuration("b", 3).input("x", {4});
        builder.op("Relu", {"x"}, {"y"}, "r").output("y", {4});
        const QString path = write(builder.bytes());
        for (const char* command : {"check", "infer", "comm", "run"}) {
            const CliResult asked = runCli({command, path});
            QCOMPARE(asked.exitCode, 2);
            QVERIFY2(asked.err.contains("'a', 'b'"), qPrintable(asked.err));
            QCOMPARE(runCli({command, path, "--config", "b"}).exitCode, 0);
        }
        const QString withDefault = write(builder.configuration("default", 2).bytes());
        QCOMPARE(runCli({"check", withDefault}).exitCode, 0);
    }

    void aBindingOfNoDimensionIsToldOf() {
        ModelBuilder builder;
        builder.input("x", {"batch", 4}).op("Relu", {"x"}, {"y"}, "r").output("y", {"batch", 4});
        const QString path = write(builder.bytes());
        const CliResult right = runCli({"check", path, "--bind", "batch=3"});
        QVERIFY2(right.err.isEmpty(), qPrintable(right.err));
        const CliResult wrong = runCli({"check", path, "--bind", "bach=3"});
        QCOMPARE(wrong.exitCode, 2);
        QVERIFY2(wrong.err.contains("'bach'; did you mean 'batch'?"), qPrintable(wrong.err));
    }

    /// Strings are in no buffer; what lies between kernels is not compared.
    void stringsInsideOfTheModelDoNotHinderARun() {
        ModelBuilder builder;
        builder.input("x", {4, 4});
        builder.op("Cast", {"x"}, {"s"}, "print", {{"to", int{onnx::TensorProto::STRING}}});
        builder.op("Cast", {"s"}, {"y"}, "parse", {{"to", int{onnx::TensorProto::FLOAT}}});
        const QString path = write(builder.output("y", {4, 4}).bytes());
        const CliResult ran = runCli({"run", path, "--verify=all", "--format", "json"});
        QVERIFY2(ran.exitCode == 0, qPrintable(ran.err));
        QVERIFY(ran.json()["verified"].toBool());
    }

    void whatCannotBeReadIsNamedByARun() {
        const QString path = write("no model");
        const CliResult ran = runCli({"run", path, "--format", "json"});
        QCOMPARE(ran.exitCode, 2);
        QVERIFY(ran.out.isEmpty());
        QVERIFY2(ran.err.contains(path), qPrintable(ran.err));
    }
};

QTEST_GUILESS_MAIN(TstCliHostile)
#include "tst_cli_hostile.moc"
