// SPDX-License-Identifier: Apache-2.0
// Any annotations of any model.
#include "support/fuzz_run.h"
#include "support/fuzz_seeds.h"

#include <QtTest/QTest>

using namespace shardwright::test;

class TstCodec : public QObject {
    Q_OBJECT

    FuzzRun m_fuzz{"codec"};

private slots:
    void initTestCase() {
        if (const QString reason = whyNoFuzzers(); !reason.isEmpty())
            QSKIP(qPrintable(reason));
    }

    void nothingIsFound() {
        QVERIFY(writeSeedModels(m_fuzz.seeds(), 12) > 3);
        const QString found = m_fuzz.run(25, 1000, {"-max_len=16384"});
        QVERIFY2(found.isEmpty(), qPrintable(found));
    }

    /// ONNX messages to configurations, meshes and layouts, and back; edits of them. Not the texts
    /// of the command line.
    void mostOfTheCodecIsRun() {
        const auto lines = m_fuzz.coverage(
            {"sharding/annotation_reader", "sharding/codec", "sharding/configuration_edit",
             "sharding/declarations", "sharding/edit", "sharding/encode_spec", "sharding/index_set",
             "sharding/layout", "sharding/mesh", "sharding/spec_", "sharding/stage_checks"});
        QVERIFY(lines.size() >= 15);
        QVERIFY(percent(lines) >= 70);
    }
};

QTEST_GUILESS_MAIN(TstCodec)
#include "tst_codec_slow.moc"
