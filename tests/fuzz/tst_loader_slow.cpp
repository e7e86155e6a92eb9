// SPDX-License-Identifier: Apache-2.0
// Any bytes as a model file.
#include "support/fuzz_run.h"
#include "support/fuzz_seeds.h"

#include <QtTest/QTest>

using namespace shardwright::test;

class TstLoader : public QObject {
    Q_OBJECT

    FuzzRun m_fuzz{"loader"};

private slots:
    void initTestCase() {
        if (const QString reason = whyNoFuzzers(); !reason.isEmpty())
            QSKIP(qPrintable(reason));
    }

    void nothingIsFound() {
        QVERIFY(writeSeedModels(m_fuzz.seeds(), 24) > 3);
        const QString found = m_fuzz.run(25, 800, {"-max_len=32768"});
        QVERIFY2(found.isEmpty(), qPrintable(found));
    }

    /// From bytes to a document and back; shapes and rules are another matter.
    void mostOfTheLoaderIsRun() {
        const auto lines = m_fuzz.coverage(
            {"model/model.cpp", "model/model_parser", "model/document", "model/file_bytes",
             "model/external_data", "model/annotation", "model/graph", "model/scope"});
        QVERIFY(lines.size() >= 10);
        QVERIFY(percent(lines) >= 70);
    }
};

QTEST_GUILESS_MAIN(TstLoader)
#include "tst_loader_slow.moc"
