// SPDX-License-Identifier: Apache-2.0
// check --format sarif: what the schema of SARIF 2.1.0 requires, and what says where.
#include "cli_process.h"

#include "support/model_builder.h"

#include <QFileInfo>
#include <QJsonArray>
#include <QTemporaryDir>
#include <QtTest>
#include <QUrl>

using namespace shardwright::test;

class TstCliSarif : public QObject {
    Q_OBJECT
private slots:
    /// A Softmax over an axis that is split: an error with a fix, at a node in a scope.
    void initTestCase() {
        const auto document = ModelBuilder{}
                                  .input("x", {8, 6})
                                  .op("Relu", {"x"}, {"r"}, "block/relu")
                                  .op("Softmax", {"r"}, {"y"}, "block/attention/soft max")
                                  .output("y", {8, 6})
                                  .document();
        m_plain = m_folder.filePath("plain model.onnx");
        m_wrong = m_folder.filePath("wrong.onnx");
        QVERIFY(document.save(m_plain.toStdString()));
        runCli({"annotate", m_plain, "--mesh", "tp=2", "--shard", "x:1=tp", "-o", m_wrong});
        QVERIFY(QFileInfo::exists(m_wrong));
    }

    void theLogHasWhatTheSchemaRequires() {
        const QJsonObject log = sarif(m_wrong, 1);
        QCOMPARE(log["version"].toString(), QString("2.1.0"));
        QVERIFY(log["$schema"].toString().endsWith("sarif-schema-2.1.0.json"));
        QCOMPARE(log["runs"].toArray().size(), 1);
        const QJsonObject driver = run(log)["tool"].toObject()["driver"].toObject();
        QCOMPARE(driver["name"].toString(), QString("shardwright"));
        const QJsonArray rules = driver["rules"].toArray();
        QVERIFY(rules.size() > 40);
        QSet<QString> ids;
        for (const QJsonValue& value : rules) {
            const QJsonObject rule = value.toObject();
            const QString id = rule["id"].toString();
            QVERIFY(!id.isEmpty() && !ids.contains(id));
            ids.insert(id);
            const QUrl page(rule["helpUri"].toString(), QUrl::StrictMode);
            QVERIFY2(page.isValid() && page.isLocalFile() && QFileInfo::exists(page.toLocalFile()),
                     qPrintable(id + ": " + rule["helpUri"].toString()));
            for (const char* text : {"shortDescription", "fullDescription", "help"})
                QVERIFY(!rule[text].toObject()["text"].toString().isEmpty());
        }
        const QStringList levels{"none", "note", "warning", "error"};
        for (const QJsonValue& value : results(log)) {
            const QJsonObject result = value.toObject();
            QVERIFY(!result["message"].toObject()["text"].toString().isEmpty());
            QVERIFY(levels.contains(result["level"].toString()));
            QCOMPARE(rules[result["ruleIndex"].toInt(-1)].toObject()["id"], result["ruleId"]);
        }
    }

    void aResultNamesTheFileAndTheNode() {
        const QJsonObject log = sarif(m_wrong, 1);
        QVERIFY(!results(log).isEmpty());
        const QJsonObject first = results(log)[0].toObject();
        QCOMPARE(first["ruleId"].toString(), QString("SW302"));
        QCOMPARE(first["level"].toString(), QString("error"));
        const QJsonObject location = first["locations"].toArray()[0].toObject();
        const QUrl uri(location["physicalLocation"]
                           .toObject()["artifactLocation"]
                           .toObject()["uri"]
                           .toString(),
                       QUrl::StrictMode);
        QCOMPARE(uri.toLocalFile(), m_wrong);
        QCOMPARE(
            run(log)["artifacts"].toArray()[0].toObject()["location"].toObject()["uri"].toString(),
            uri.toString(QUrl::FullyEncoded));
        const QJsonArray places = location["logicalLocations"].toArray();
        QCOMPARE(places.size(), 2);
        QCOMPARE(places[0].toObject()["fullyQualifiedName"].toString(),
                 QString("block/attention/soft max"));
        QCOMPARE(places[0].toObject()["properties"].toObject()["index"].toInt(-1), 1);
        QCOMPARE(places[1].toObject()["name"].toString(), QString("r"));
        QVERIFY(!first["properties"].toObject()["fixes"].toArray().isEmpty());
    }

    void itSaysAsMuchAsTheJson() {
        const QJsonArray diagnostics =
            runCli({"check", m_wrong, "--profile", "strict", "--format", "json"})
                .json()["diagnostics"]
                .toArray();
        const QJsonArray found = results(sarif(m_wrong, 1, {"--profile", "strict"}));
        QCOMPARE(found.size(), diagnostics.size());
        for (int i = 0; i < found.size(); ++i) {
            const QJsonObject d = diagnostics[i].toObject(), r = found[i].toObject();
            QCOMPARE(r["ruleId"], d["code"]);
            QCOMPARE(r["message"].toObject()["text"], d["message"]);
            const QString severity = d["severity"].toString();
            const QString level = severity == "error"         ? "error"
                                  : severity == "warning"     ? "warning"
                                  : severity == "unsupported" ? "warning"
                                                              : "note";
            QCOMPARE(r["level"].toString(), level);
        }
    }

    void aModelWithoutProblemsHasNoResults() {
        const QJsonObject log = sarif(m_plain, 0);
        QVERIFY(run(log).contains("results"));
        QVERIFY(results(log).isEmpty());
    }

    void otherCommandsDoNotTakeTheFormat() {
        QCOMPARE(runCli({"infer", m_plain, "--format", "sarif"}).exitCode, 2);
    }

private:
    static QJsonObject sarif(const QString& model, int exitCode, const QStringList& more = {}) {
        const CliResult result = runCli(QStringList{"check", model, "--format", "sarif"} + more);
        if (result.exitCode != exitCode)
            qWarning("exit code %d: %s", result.exitCode, qPrintable(result.err));
        return result.exitCode == exitCode ? result.json() : QJsonObject();
    }
    static QJsonObject run(const QJsonObject& log) { return log["runs"].toArray()[0].toObject(); }
    static QJsonArray results(const QJsonObject& log) { return run(log)["results"].toArray(); }

    QTemporaryDir m_folder;
    QString m_plain, m_wrong;
};

QTEST_GUILESS_MAIN(TstCliSarif)
#include "tst_cli_sarif.moc"
