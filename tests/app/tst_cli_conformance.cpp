// SPDX-License-Identifier: Apache-2.0
#include "cli_process.h"

#include <QJsonArray>
#include <QTemporaryDir>
#include <QtTest>

using namespace shardwright::test;

class TstCliConformance : public QObject {
    Q_OBJECT
private slots:
    void passingCasesEndWithZero() {
        const CliResult result = runCli({"conformance", write(gather("\"x\""))});
        QCOMPARE(result.exitCode, 0);
        QCOMPARE(result.out, QByteArray("1 passed, 0 failed\n"));
    }

    void aFailingCaseIsNamedWithBothSides() {
        const CliResult result = runCli({"conformance", write(gather("\"y\""))});
        QCOMPARE(result.exitCode, 1);
        QVERIFY(result.out.startsWith("failed one\n"));
        QVERIFY(result.out.contains("expected [[\"all_gather\",[[\"y\"]]]]"));
        QVERIFY(result.out.contains("found    [[\"all_gather\",[[\"x\"]]]]"));
        QVERIFY(result.out.endsWith("0 passed, 1 failed\n"));
    }

    void jsonHasEveryCase() {
        const CliResult result =
            runCli({"conformance", write(gather("\"y\"")), "--format", "json"});
        QCOMPARE(result.exitCode, 1);
        const QJsonObject json = result.json();
        QCOMPARE(json["format"].toString(), QString("shardy"));
        QCOMPARE(json["passed"].toInt(), 0);
        QCOMPARE(json["failed"].toInt(), 1);
        QCOMPARE(json["skipped"].toInt(), 0);
        const QJsonObject one = json["cases"].toArray().at(0).toObject();
        QCOMPARE(one["id"].toString(), QString("one"));
        QCOMPARE(one["status"].toString(), QString("failed"));
        QVERIFY(one["expected"].isArray() && one["found"].isArray());
    }

    void unreadableFilesEndWithTwo() {
        QCOMPARE(runCli({"conformance", m_dir.filePath("missing.json")}).exitCode, 2);
        QCOMPARE(runCli({"conformance", write("no JSON")}).exitCode, 2);
        const CliResult other =
            runCli({"conformance", write("{\"format\": \"other\", \"cases\": []}")});
        QCOMPARE(other.exitCode, 2);
        QVERIFY(other.err.contains("paddle-spmd"));
    }

private:
    static QByteArray gather(const QByteArray& axis) {
        return R"({"format": "shardy", "cases": [{"id": "one", "kind": "reshard", "mesh": {"x": 2, "y": 2},
            "shape": [4], "from": [["x"]], "to": [[]], "expected_collectives": [["all_gather", [[)" +
               axis + "]]]]}]}";
    }
    QString write(const QByteArray& text) {
        QFile file(m_dir.filePath("cases.json"));
        if (!file.open(QIODevice::WriteOnly))
            return {};
        file.write(text);
        return file.fileName();
    }
    QTemporaryDir m_dir;
};

QTEST_GUILESS_MAIN(TstCliConformance)
#include "tst_cli_conformance.moc"
