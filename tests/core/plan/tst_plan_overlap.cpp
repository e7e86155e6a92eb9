// SPDX-License-Identifier: Apache-2.0
// What a phase's exchanges do not wait for runs beside them.
#include "plan_case.h"

using namespace shardwright;
using namespace shardwright::test;

namespace {

/// A product that is split over its reduced dimension, and a branch that has nothing to do with it
/// until both are added.
ModelBuilder branches(std::int64_t rows, std::int64_t inner) {
    return std::move(ModelBuilder{}
                         .input("x", {rows, inner})
                         .weight("w", {inner, 256})
                         .weight("v", {inner, 256})
                         .op("MatMul", {"x", "w"}, {"p"}, "split")
                         .op("MatMul", {"x", "v"}, {"q"}, "branch")
                         .op("Tanh", {"q"}, {"t"}, "tanh")
                         .op("Add", {"p", "t"}, {"y"}, "join")
                         .output("y", {rows, 256}));
}

std::vector<std::string> besideNodes(const Plan& plan, const GraphIndex& graph) {
    std::vector<std::string> names;
    for (const Segment& segment : plan.devices[0].segments)
        if (segment.besideExchanges)
            for (const NodeId node : segment.nodes)
                names.push_back(graph.node(node).proto->name());
    return names;
}

}  // namespace

class TstPlanOverlap : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() {
        if (!ortRuntime())
            QSKIP("needs ONNX Runtime, which is not there");
    }

    void aBranchThatIsBusyEnoughRunsBesideTheAllReduce() {
        PlanCase c(branches(256, 1024), "tp=2");
        c.shard("w@split:0=tp");
        QCOMPARE(c.verify(), std::string());
        QCOMPARE(c.collectives(), std::string("1 all-reduce"));
        QCOMPARE(besideNodes(c.plan(), c.analyse()->graph()),
                 (std::vector<std::string>{"branch", "tanh"}));
        QCOMPARE(c.plan().devices[0].segments.size(), std::size_t(3));
    }

    /// A device that is done with one exchange of a phase must not write over what another still
    /// reads of it, nor read what another has yet to write.
    void severalExchangesOfAPhaseDoNotDisturbEachOther() {
        ModelBuilder model;
        model.input("x", {64, 96, 64});
        for (int i = 0; i < 4; ++i) {
            const std::string n = std::to_string(i);
            model.weight("w" + n, {64, 64})
                .op("MatMul", {"x", "w" + n}, {"a" + n}, "A" + n)
                .op("Relu", {"a" + n}, {"y" + n}, "R" + n)
                .output("y" + n, {64, 96, 64});
        }
        for (const std::string mesh : {"tp=2", "tp=4"}) {
            PlanCase c(model, mesh);
            // A reduce-scatter, an all-reduce, two all-gathers.
            c.shard("w0@A0:0=tp").shard("a0@A0:2=tp").shard("w1@A1:0=tp");
            for (const std::string n : {"2", "3"})
                c.shard("w" + n + "@A" + n + ":1=tp").shard("a" + n + "@R" + n + ":replicated");
            for (int round = 0; round < 10; ++round)
                QCOMPARE(c.verify(), std::string());
            QCOMPARE(c.collectives(), std::string("1 all-reduce, 1 reduce-scatter, 2 all-gather"));
        }
    }

    void aSmallBranchOrExchangeIsNotWorthASegment() {
        // The work is large, the all-reduce has 2 rows of 1 KB; then the other way round.
        for (const auto& [rows, inner] : {std::pair{2, 2048}, std::pair{128, 8}}) {
            PlanCase c(branches(rows, inner), "tp=2");
            c.shard("w@split:0=tp");
            QCOMPARE(c.verify(), std::string());
            QCOMPARE(besideNodes(c.plan(), c.analyse()->graph()), std::vector<std::string>());
        }
    }
};

QTEST_GUILESS_MAIN(TstPlanOverlap)
#include "tst_plan_overlap.moc"
