// SPDX-License-Identifier: Apache-2.0
#include "check/find.h"

#include "sharding/shard_text.h"
#include "support/model_builder.h"

#include <QTest>

using namespace shardwright;
using namespace shardwright::test;

class TstFind : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() {
        Document document = ModelBuilder{}
                                .input("x", {8, 64})
                                .weight("w1", {64, 256})
                                .op("MatMul", {"x", "w1"}, {"h"}, "/layers.0/fc/MatMul")
                                .op("Softmax", {"h"}, {"s"}, "/layers.0/Softmax", {{"axis", 1}})
                                .op("Relu", {"s"}, {"y"}, "/layers.1/Relu")
                                .output("y", {8, 256})
                                .document();
        apply(document.annotations, editConfiguration(document, "c", {{{"tp", 2}}}));
        AnnotateRequest request;
        request.shards = {"w1:1=tp"};
        request.stages = {"Relu!*=1"};
        LayoutPool pool;
        const auto shapes = ShapeTable::build(document.model, {});
        const auto outcome = annotate(document, *shapes, request, pool);
        if (!outcome)
            QFAIL(outcome.error().text().c_str());
        apply(document.annotations, outcome->edit);
        auto analysis = m_analyser.run(document, {});
        QVERIFY(analysis);
        m_analysis = *analysis;
    }
    void searches_data() {
        QTest::addColumn<QString>("query");
        QTest::addColumn<QString>("found");
        QTest::newRow("operator") << "op:matmul"
                                  << "MatMul";
        QTest::newRow("a word in a name") << "fc"
                                          << "MatMul";
        QTest::newRow("a word in an operator") << "SOFTMAX"
                                               << "Softmax";
        QTest::newRow("scope") << "scope:layers.0"
                               << "MatMul Softmax";
        QTest::newRow("two words, both") << "layers.0 softmax"
                                         << "Softmax";
        QTest::newRow("tensor") << "tensor:w1"
                                << "MatMul";
        QTest::newRow("shape") << "shape:64x256"
                               << "MatMul";
        QTest::newRow("shape with commas") << "\"shape:[64, 256]\""
                                           << "MatMul";
        QTest::newRow("attribute") << "attr:axis=1"
                                   << "Softmax";
        QTest::newRow("attribute name") << "attr:axis"
                                        << "Softmax";
        QTest::newRow("mesh axis") << "axis:tp op:MatMul"
                                   << "MatMul";
        QTest::newRow("stage") << "stage:1"
                               << "Relu";
        QTest::newRow("no stage") << "stage:none"
                                  << "MatMul Softmax";
        QTest::newRow("glob") << "name:*/fc/*"
                              << "MatMul";
        QTest::newRow("nothing") << "op:Conv"
                                 << "";
        QTest::newRow("empty") << "  "
                               << "";
        QTest::newRow("a key without text finds all that have one") << "op:"
                                                                    << "MatMul Softmax Relu";
    }
    void searches() {
        QFETCH(QString, query);
        QFETCH(QString, found);
        QStringList names;
        for (const NodeId node : findNodes(*m_analysis, query.toStdString())) {
            const std::string_view op = m_analysis->graph().opType(node);
            names << QString::fromUtf8(op.data(), static_cast<qsizetype>(op.size()));
        }
        QCOMPARE(names.join(u' '), found);
    }
    void diagnosticsAreFoundByCodeAndSeverity() {
        for (const Diagnostic& diagnostic : m_analysis->diagnostics) {
            if (!diagnostic.node)
                continue;
            const auto byCode = findNodes(*m_analysis, "diag:" + diagnostic.code);
            QVERIFY(std::ranges::find(byCode, diagnostic.node) != byCode.end());
            const auto bySeverity =
                findNodes(*m_analysis, "diag:" + severityName(diagnostic.severity));
            QVERIFY(std::ranges::find(bySeverity, diagnostic.node) != bySeverity.end());
        }
    }

private:
    Analyser m_analyser;
    std::shared_ptr<const Analysis> m_analysis;
};

QTEST_GUILESS_MAIN(TstFind)
#include "tst_find.moc"
