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
