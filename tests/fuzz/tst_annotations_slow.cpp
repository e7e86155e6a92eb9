// SPDX-License-Identifier: Apache-2.0
// Any text as a file of annotations.
#include "support/fuzz_run.h"
#include "support/fuzz_seeds.h"

#include <QFile>
#include <QtTest/QTest>

#include <algorithm>

using namespace shardwright::test;

namespace {

/// `'` stands for `"`.
std::string file(const std::string& mesh, const std::string& members) {
    std::string text = "{'format':'shardwright-annotations','version':1,'configuration':'c',"
                       "'mesh':'" +
                       mesh + "'," + members + "}";
    std::replace(text.begin(), text.end(), '\'', '"');
    return text;
}

std::vector<std::string> annotationTexts() {
    return {file("tp=2", "'stage_devices':[],'stages':[],'shards':['#in1@MatMul!*/up:1=tp',"
                         "'#in1@MatMul!*/down:0=tp','x:replicated']"),
            file("dp=2,tp=2", "'stage_devices':['0=0-1','1=2,3'],'stages':['*/layers.0/*=0',"
                              "'*/layers.1/*=1'],'shards':['*:0=2/dp*4,-1=dp*tp']"),
            file("a=3",
                 "'specs':[{'tensor':'#out0','node':'Relu!*','dims':[[{'size':8,'shards':2}],"
                 "[]],'groups':[[0,1],[2]]}]"),
            file("pp=2", "'shards':['w?@*:1=pp']")};
}

}  // namespace

class TstAnnotations : public QObject {
    Q_OBJECT

    FuzzRun m_fuzz{"annotations"};

private slots:
    void initTestCase() {
        if (const QString reason = whyNoFuzzers(); !reason.isEmpty())
            QSKIP(qPrintable(reason));
    }

    void nothingIsFound() {
        QVERIFY(writeSeeds(m_fuzz.seeds(), annotationTexts()) > 3);
        QFile dictionary(m_fuzz.dictionary());
        QVERIFY(dictionary.open(QIODevice::WriteOnly));
        for (const char* word : {"configuration", "mesh",        "stage_devices",
                                 "stages",        "shards",      "specs",
                                 "tensor",        "node",        "dims",
                                 "groups",        "size",        "#in0@",
                                 "#in1@",         "#out0@",      "MatMul!",
                                 "dp=2,tp=2",     ":replicated", ":0=tp",
                                 ":-1=dp*tp",     "8/tp",        "w1",
                                 "*/up"})
            dictionary.write(QByteArray("\"") + word + "\"\n");
        dictionary.close();
        const QString found = m_fuzz.run(10, 30000, {"-max_len=4096"});
        QVERIFY2(found.isEmpty(), qPrintable(found));
    }
};

QTEST_GUILESS_MAIN(TstAnnotations)
#include "tst_annotations_slow.moc"
