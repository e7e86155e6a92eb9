// SPDX-License-Identifier: Apache-2.0
// What docs/command-line.md shows can be typed as it is.
#include "cli_process.h"

#include "support/model_builder.h"

#include <QFile>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QtTest>

using namespace shardwright::test;

namespace {

QString page() {
    QFile file(qEnvironmentVariable("SHARDWRIGHT_SOURCE") + "/docs/command-line.md");
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

/// The code in the first column of the rows of tables that begins with `start`.
QStringList rowsThatBegin(const QString& start) {
    static const QRegularExpression row("^\\| `([^`]+)` \\|", QRegularExpression::MultilineOption);
    QStringList found;
    for (auto it = row.globalMatch(page()); it.hasNext();) {
        const QString code = it.next().captured(1);
        if (code.startsWith(start) && !code.endsWith(" OP"))
            found << code;
    }
    return found;
}

/// As a shell does, of words and words in single quotes.
QStringList wordsOf(const QString& command) {
    static const QRegularExpression word("'([^']*)'|(\\S+)");
    QStringList words;
    for (auto it = word.globalMatch(command); it.hasNext();) {
        const auto match = it.next();
        words << (match.capturedStart(2) < 0 ? match.captured(1) : match.captured(2));
    }
    return words;
}

}  // namespace

class TstCliDocumentation : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() {
        QVERIFY(!page().isEmpty());
        QFile rules(m_folder.filePath("FILE"));
        QVERIFY(rules.open(QIODevice::WriteOnly));
        rules.write("com.example::Foo: n d -> n d;\n");
        const auto document = ModelBuilder{}
                                  .input("x", {8, 16})
                                  .weight("w1", {16, 96})
                                  .weight("w2", {96, 64})
                                  .weight("w3", {64, 32})
                                  .input("w", {2, 4, 1024})
                                  .op("MatMul", {"x", "w1"}, {"qkv"}, "/layers.0/query/MatMul")
                                  .op("Relu", {"qkv"}, {"a"}, "/layers.0/act/Relu")
                                  .op("MatMul", {"a", "w2"}, {"b"}, "mm2")
                                  .op("MatMul", {"b", "w3"}, {"y"}, "out")
                                  .op("Relu", {"w"}, {"z"}, "heads")
                                  .output("y", {8, 32})
                                  .output("z", {2, 4, 1024})
                                  .document();
        QVERIFY(document.save(m_folder.filePath("model.onnx").toStdString()));
    }

    void theRulesOfThePageAreRead() {
        QFile page(qEnvironmentVariable("SHARDWRIGHT_SOURCE") + "/docs/user-rules.md");
        QVERIFY(page.open(QIODevice::ReadOnly));
        static const QRegularExpression block("\n\n((?:(?:    .*)?\n)+)\n\\S");
        QFile rules(m_folder.filePath("page.txt"));
        QVERIFY(rules.open(QIODevice::WriteOnly));
        rules.write(block.match(QString::fromUtf8(page.readAll())).captured(1).toUtf8());
        rules.close();
        const CliResult result = runCli({"rule", "--list", "--rules", rules.fileName()});
        QVERIFY2(result.exitCode == 0, qPrintable(result.err));
        QVERIFY(result.out.contains("com.example::Attention"));
    }

    void commandsAboutRulesRun_data() { rows("rule "); }
    void commandsAboutRulesRun() {
        QFETCH(QString, code);
        QStringList words = wordsOf(code);
        words.replaceInStrings(QRegularExpression("^FILE$"), m_folder.filePath("FILE"));
        const CliResult result = runCli(words);
        QVERIFY2(result.exitCode == 0, qPrintable(code + ": " + result.err + result.out));
        const CliResult json = runCli(words + QStringList{"--format", "json"});
        QCOMPARE(json.exitCode, 0);
        QVERIFY(code == "rule --list" || json.json()["known"].toBool());
    }

    void annotationsAreTaken_data() { rows("--s"); }
    void annotationsAreTaken() {
        QFETCH(QString, code);
        const CliResult result =
            runCli(QStringList{"annotate", m_folder.filePath("model.onnx"), "--mesh", "dp=2,tp=2",
                               "-o", m_folder.filePath("out.onnx")} +
                   wordsOf(code));
        QVERIFY2(result.exitCode == 0, qPrintable(code + ": " + result.err));
    }

    void optionsOfTheSummaryExist() {
        static const QRegularExpression block("\n\n((?:    .*\n)+)"), option("--[a-z-]+");
        const QString summary = block.match(page()).captured(1);
        QVERIFY(!summary.isEmpty());
        QStringList command;
        int options = 0;
        for (const QString& line : summary.split('\n', Qt::SkipEmptyParts)) {
            QStringList words = line.split(' ', Qt::SkipEmptyParts);
            if (words.front() == "shardwright-cli")
                command = words.mid(1, words[1] == "annotations" ? 2 : 1);
            const QString help = runCli(command + QStringList{"--help"}).out;
            for (auto it = option.globalMatch(line); it.hasNext(); ++options) {
                const QString name = it.next().captured();
                QVERIFY2(help.contains(name), qPrintable(command.join(' ') + " has no " + name));
            }
        }
        QVERIFY(options > 50);
    }

    /// The other way round.
    void theSummaryHasAllOptions() {
        static const QRegularExpression block("\n\n((?:    .*\n)+)"),
            option("^  +(?:-\\w,)?(--[a-z][a-z-]+)", QRegularExpression::MultilineOption),
            analysis("\n    ANALYSIS = (.*)\n");
        const QString shared = analysis.match(page()).captured(1);
        QVERIFY(shared.contains("--rules"));
        QMap<QString, QString> said;
        QString command;
        for (QString line : block.match(page()).captured(1).split('\n', Qt::SkipEmptyParts)) {
            const QStringList words = line.split(' ', Qt::SkipEmptyParts);
            if (words.front() == "shardwright-cli")
                command = words.mid(1, words[1] == "annotations" ? 2 : 1).join(' ');
            said[command] += line.replace("[ANALYSIS]", shared) + ' ';
        }
        QVERIFY(said.size() > 12);
        for (auto it = said.cbegin(); it != said.cend(); ++it) {
            const QString help = runCli(it.key().split(' ') + QStringList{"--help"}).out;
            for (auto found = option.globalMatch(help); found.hasNext();) {
                const QString name = found.next().captured(1);
                QVERIFY2(name == "--help" || name == "--output" || it.value().contains(name),
                         qPrintable(it.key() + ": " + name));
            }
        }
    }

private:
    static void rows(const QString& start) {
        QTest::addColumn<QString>("code");
        for (const QString& code : rowsThatBegin(start))
            QTest::newRow(qPrintable(code)) << code;
    }

    QTemporaryDir m_folder;
};

QTEST_GUILESS_MAIN(TstCliDocumentation)
#include "tst_cli_documentation.moc"
