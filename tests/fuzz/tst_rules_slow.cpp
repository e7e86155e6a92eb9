// SPDX-License-Identifier: Apache-2.0
// Any text as a file of rules.
#include "support/fuzz_run.h"
#include "support/fuzz_seeds.h"

#include <QFile>
#include <QtTest/QTest>

using namespace shardwright::test;

namespace {

std::vector<std::string> ruleTexts() {
    return {"com.example::Scale: b.. c, c -> b.. c;",
            "# attention\ncom.example::Attention: b s (h d^), b t^ (h d^), b t^ (h d^) -> b "
            "s (h d^)\n  where h = num_heads, d = \"each score is a sum along it\";",
            "MatMul: m k+, k+ n -> m n; MatMul: b m k+, k+ n -> b m n where n = 4;",
            "x-y.z::Op: (shape), _, . -> b c+max d~, 1 where d = \"a \\\"window\\\"\", b = 2;",
            "Sum: a k+prod, a l+min, a m+and, a n+or -> a;"};
}

}  // namespace

class TstRules : public QObject {
    Q_OBJECT

    FuzzRun m_fuzz{"rules"};

private slots:
    void initTestCase() {
        if (const QString reason = whyNoFuzzers(); !reason.isEmpty())
            QSKIP(qPrintable(reason));
    }

    void nothingIsFound() {
        QVERIFY(writeSeeds(m_fuzz.seeds(), ruleTexts()) > 3);
        QFile dictionary(m_fuzz.dictionary());
        QVERIFY(dictionary.open(QIODevice::WriteOnly));
        for (const char* word : {"where ", "once ", "(shape)", "->", "..", "::", "k+max", "k+min",
                                 "k+prod", "k+and", "k+or", "^", "~", "_", " = "})
            dictionary.write(QByteArray("\"") + word + "\"\n");
        dictionary.close();
        const QString found = m_fuzz.run(10, 40000, {"-max_len=2048"});
        QVERIFY2(found.isEmpty(), qPrintable(found));
    }
};

QTEST_GUILESS_MAIN(TstRules)
#include "tst_rules_slow.moc"
