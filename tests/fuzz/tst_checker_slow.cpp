// SPDX-License-Identifier: Apache-2.0
// The checker on any annotated model, and after an edit.
#include "support/fuzz_run.h"
#include "support/fuzz_seeds.h"

#include <QtTest/QTest>

using namespace shardwright::test;

class TstChecker : public QObject {
    Q_OBJECT

    FuzzRun m_fuzz{"checker"};

private slots:
    void initTestCase() {
        if (const QString reason = whyNoFuzzers(); !reason.isEmpty())
            QSKIP(qPrintable(reason));
    }

    void nothingIsFound() {
        QVERIFY(writeSeedModels(m_fuzz.seeds(), 12) > 3);
        const QString found = m_fuzz.run(30, 700, {"-max_len=16384"});
        QVERIFY2(found.isEmpty(), qPrintable(found));
    }
};

QTEST_GUILESS_MAIN(TstChecker)
#include "tst_checker_slow.moc"
