// SPDX-License-Identifier: Apache-2.0
// What propagation costs on generated transformers of 1k, 10k and 100k nodes with one column weight
// a layer annotated, and what an edit costs beside a full run. Prints a line a size; run it from a
// release build.
#include "propagation_fixture.h"
#include "support/generated_transformer.h"

#include <QElapsedTimer>
#include <QTest>

using namespace shardwright;
using namespace shardwright::test;

class BenchPropagation : public QObject {
    Q_OBJECT
private slots:
    void fullRunAndEdit_data() {
        QTest::addColumn<int>("nodes");
        for (const int nodes : {1000, 10'000, 100'000})
            QTest::addRow("%d nodes", nodes) << nodes;
    }
    void fullRunAndEdit() {
        QFETCH(int, nodes);
        TransformerSizes sizes;
        sizes.layers = nodes / transformerNodesPerLayer();
        sizes.external = true;
        PropagationCase c(transformer(sizes).model(), "dp=2,tp=2");
        int weights = 0;
        NodeId last;
        for (const NodeId id : c.graph().main().nodes) {
            const NodeInfo& node = c.graph().node(id);
            const bool column = c.graph().opType(id) == "MatMul" && node.inputs.size() == 2 &&
                                !c.graph().value(node.inputs[1]).producer && ++weights % 7 == 1;
            if (!column)
                continue;
            const ValueId weight = node.inputs[1];
            const auto& shape = c.shapes->of(weight).dims;
            c.put(
                id, c.graph().value(weight).name,
                *AxisSpace(c.configuration.mesh).toLayout(c.sharding(", tp", shape.size()), shape));
            last = id;
        }
        QElapsedTimer timer;
        timer.start();
        Propagator p(c.input(), c.options);
        const double prepareMs = static_cast<double>(timer.nsecsElapsed()) / 1e6;
        timer.restart();
        p.run(c.annotations);
        const double runMs = static_cast<double>(timer.nsecsElapsed()) / 1e6;
        const std::size_t full = p.evaluations();
        const auto name = c.graph().value(c.graph().node(last).inputs[1]).name;
        c.remove(last, name);
        timer.restart();
        p.update(c.annotations, std::vector{last});
        const double updateMs = static_cast<double>(timer.nsecsElapsed()) / 1e6;
        qInfo(
            "%zu nodes: prepare %.1f ms, propagate %.1f ms (%zu nodes looked at, %.2f us a node), "
            "edit of the last weight %.2f ms (%zu looked at)",
            c.graph().main().nodes.size(), prepareMs, runMs, full,
            runMs * 1000 / static_cast<double>(c.graph().main().nodes.size()), updateMs,
            p.evaluations());
        QVERIFY(runMs + prepareMs < 20'000);
    }
};

QTEST_GUILESS_MAIN(BenchPropagation)
#include "bench_propagation.moc"
