// SPDX-License-Identifier: Apache-2.0
// What the checker costs on generated transformers of 1k, 10k and 100k nodes, tensor parallel on
// two devices. Prints a line a size; run it from a release build.
#include "check/analysis.h"
#include "check/assign.h"
#include "sharding/edit.h"
#include "sharding/shard_text.h"
#include "support/generated_transformer.h"

#include <QFile>
#include <QTest>

#include <ctime>

using namespace shardwright;
using namespace shardwright::test;

namespace {

double residentMegabytes() {
    QFile file("/proc/self/statm");
    if (!file.open(QIODevice::ReadOnly))
        return 0;
    return file.readAll().split(' ').value(1).toDouble() * 4096 / 1e6;
}

/// Milliseconds of processor time since the start: what other programs do does not count.
double now() {
    return static_cast<double>(std::clock()) * 1e3 / CLOCKS_PER_SEC;
}

/// Milliseconds that `work` takes.
template <class Work>
double timed(const Work& work) {
    const double start = now();
    work();
    return now() - start;
}

}  // namespace

class BenchCheck : public QObject {
    Q_OBJECT
private slots:
    void completionAndCheck_data() {
        QTest::addColumn<int>("nodes");
        for (const int nodes : {1000, 10'000, 100'000})
            QTest::addRow("%d nodes", nodes) << nodes;
    }
    void completionAndCheck() {
        QFETCH(int, nodes);
        TransformerSizes sizes;
        sizes.layers = nodes / transformerNodesPerLayer();
        sizes.external = true;
        Document document = transformer(sizes).document();
        const double before = residentMegabytes();
        std::shared_ptr<const ShapeTable> shapes;
        const double shapesMs = timed([&] { shapes = ShapeTable::build(document.model, {}); });
        {
            LayoutPool pool;
            AnnotateRequest request;
            request.mesh = "tp=2";
            request.shards = megatronShards("tp");
            auto outcome = annotate(document, *shapes, request, pool);
            QVERIFY(outcome);
            apply(document.annotations, outcome->edit);
        }
        const double loaded = residentMegabytes();
        std::shared_ptr<const RuleTable> rules;
        const double rulesMs = timed([&] { rules = RuleTable::build(document.model, shapes); });
        Analyser analyser;
        AnalysisOptions options;
        std::shared_ptr<const Analysis> analysis;
        const auto analyse = [&] { analysis = analyser.run(document, options).value(); };
        const double firstMs = timed(analyse);
        // Another mesh of the same devices: all is decoded, completed and checked anew.
        apply(document.annotations,
              editConfiguration(document, "default", Mesh{{{"tp", 2}, {"one", 1}}}));
        const double fullMs = timed(analyse);
        const double memory = residentMegabytes() - loaded;
        QCOMPARE(analysis->count(Severity::Error), 0);
        QCOMPARE(static_cast<int>(analysis->communication.entries.size()), 2 * sizes.layers);

        // An edit whose cone is one layer: the normalised input of the MLP in the last layer.
        const NodeId node =
            nodeNamed(document.graph(),
                      "model/layers." + std::to_string(sizes.layers - 1) + "/mlp/gate_proj/MatMul");
        const TensorSlot slot{node, false, 0};
        auto edit = assignReplicated(document, *analysis, {&slot, 1});
        QVERIFY(edit);
        apply(document.annotations, *edit);
        const double editMs = timed(analyse);
        // One that reaches the whole graph: its only input, split.
        const TensorSlot ids{nodeNamed(document.graph(), "model/embed/Gather"), false, 1};
        edit = assignAxes(document, *analysis, {&ids, 1}, 0, {0});
        QVERIFY(edit);
        apply(document.annotations, *edit);
        const double wholeMs = timed(analyse);
        // The same taken back, and done again, while somebody looks at a few nodes: in pieces.
        std::vector<NodeId> seen;
        const auto inLayer = [&](int layer) {
            seen.clear();
            const std::string scope = "model/layers." + std::to_string(layer) + "/";
            for (const NodeId id : document.graph().main().nodes)
                if (seen.size() < 40 && document.graph().node(id).proto->name().starts_with(scope))
                    seen.push_back(id);
        };
        const auto inPieces = [&] {
            const double start = now();
            double first = 0;
            const auto done = [&](const auto&) { first = now() - start; };
            analysis = analyser.run(document, options, {}, {seen, done}).value();
            return std::pair(first, now() - start);
        };
        inLayer(sizes.layers / 4);
        apply(document.annotations, removeSpecs(document, *analysis, {&ids, 1}));
        const auto [earlyMs, earlyAllMs] = inPieces();
        inLayer(sizes.layers - 1);
        edit = assignAxes(document, *analysis, {&ids, 1}, 0, {0});
        QVERIFY(edit);
        apply(document.annotations, *edit);
        const auto [lateMs, lateAllMs] = inPieces();
        qInfo("%d nodes: shapes %.0f ms (%.0f MB), rules %.0f ms, first check with both %.0f ms; "
              "completion and check %.1f ms; after an edit %.2f ms, after one that reaches %zu "
              "nodes %.1f ms; %.0f MB above the model",
              static_cast<int>(document.graph().nodes.size()), shapesMs, loaded - before, rulesMs,
              firstMs, fullMs, editMs, analysis->meaning.redone.size(), wholeMs, memory);
        qInfo("    in pieces: %zu nodes in view after a quarter of the graph in %.1f ms, all in "
              "%.1f ms (%.2f of the full run); at its end in %.1f ms, all in %.1f ms (%.2f)",
              seen.size(), earlyMs, earlyAllMs, earlyAllMs / fullMs, lateMs, lateAllMs,
              lateAllMs / fullMs);
    }
};

QTEST_GUILESS_MAIN(BenchCheck)
#include "bench_check.moc"
