// SPDX-License-Identifier: Apache-2.0
#include "plan_case.h"

using namespace shardwright;
using namespace shardwright::test;

/// Layouts of a two-layer perceptron: which shards a device computes, which collectives join them.
class TstPlanLayouts : public QObject {
    Q_OBJECT

    static ModelBuilder mlp(int hidden = 12, int inner = 8) {
        return ModelBuilder()
            .input("x", {6, inner})
            .weight("w1", {inner, hidden})
            .weight("b1", {hidden})
            .weight("w2", {hidden, 10})
            .op("MatMul", {"x", "w1"}, {"h"}, "mm1")
            .op("Add", {"h", "b1"}, {"s"}, "add")
            .op("Relu", {"s"}, {"r"}, "relu")
            .op("MatMul", {"r", "w2"}, {"y"}, "mm2")
            .output("y", {6, 10});
    }
    static PlanCase megatron(const std::string& mesh, int hidden = 12) {
        return PlanCase(mlp(hidden), mesh)
            .shard("w1@mm1:1=tp")
            .shard("b1@add:0=tp")
            .shard("w2@mm2:0=tp");
    }

private slots:
    void columnThenRowIsOneAllReduce() {
        PlanCase c = megatron("tp=2");
        VERIFY_PLAN(c, "1 all-reduce");
        QCOMPARE(c.plan().phases, 1);
        QCOMPARE(c.plan().devices[0].segments.size(), std::size_t{1});
    }
    void tenOverFourIsUneven() {
        PlanCase c = megatron("tp=4", 10);
        VERIFY_PLAN(c, "1 all-reduce");
    }
    void fiveOverFourLeavesOneDeviceWithoutWork() {
        PlanCase c = megatron("tp=4", 5);
        QCOMPARE(QString::fromStdString(c.verify()), QString());
        QVERIFY(c.plan().devices[3].segments.empty());
    }
    void twoByTwo() {
        PlanCase c = megatron("dp=2,tp=2").shard("x@mm1:0=dp");
        VERIFY_PLAN(c, "2 all-reduce");
    }
    void outputSpecMakesItAReduceScatter() {
        PlanCase c = megatron("tp=2").shard("y@mm2:0=tp");
        VERIFY_PLAN(c, "1 reduce-scatter");
    }
    void unevenReduceScatter() {
        PlanCase c = megatron("tp=4").shard("y@mm2:0=tp");
        VERIFY_PLAN(c, "1 reduce-scatter");
    }
    void outputOnOneDeviceMakesItAReduce() {
        PlanCase c = megatron("tp=2").layout("y", "mm2", -1, {{1}});
        VERIFY_PLAN(c, "1 reduce");
    }
    void inputSpecGathers() {
        PlanCase c(mlp(), "tp=2");
        c.shard("w1@mm1:1=tp")
            .shard("b1@add:0=tp")
            .shard("r@mm2:replicated")
            .shard("w2@mm2:replicated");
        VERIFY_PLAN(c, "1 all-gather");
        QCOMPARE(c.plan().phases, 2);
    }
    void inputSpecOfAnotherDimensionIsAnAllToAll() {
        PlanCase c(mlp(), "tp=2");
        c.shard("w1@mm1:1=tp").shard("b1@add:0=tp").shard("r@mm2:0=tp").shard("w2@mm2:replicated");
        VERIFY_PLAN(c, "1 all-to-all");
    }
    void batchSplitWithWholeWeights() {
        PlanCase c(mlp(), "dp=4");
        c.shard("x@mm1:0=dp");
        VERIFY_PLAN(c, "");
        QVERIFY(c.plan().devices[3].segments.empty());  // 6 over 4: 2, 2, 2, none.
    }
    void aDeviceListedTwiceHoldsBothShards() {
        PlanCase c(mlp(), "d=2");
        c.layout("x", "mm1", 0, {{0}, {1}, {0}, {1}});
        VERIFY_PLAN(c, "");
    }
    void groupsReplicateShards() {
        PlanCase c(mlp(), "d=4");
        c.layout("x", "mm1", 0, {{0, 1}, {2, 3}});
        VERIFY_PLAN(c, "");
    }
    void severalTermsOnOneDevice() {
        PlanCase c(mlp(), "d=2");
        c.layout("x", "mm1", 1, {{0}, {1}, {1}, {0}}).layout("w1", "mm1", 0, {{0}, {1}, {1}, {0}});
        VERIFY_PLAN(c, "1 all-reduce");
    }
    void everyTermCountsOnceWhereDevicesOverlap() {
        PlanCase c(mlp(), "d=3");
        c.layout("x", "mm1", 1, {{0, 1}, {1, 2}}).layout("w1", "mm1", 0, {{0, 1}, {1, 2}});
        QCOMPARE(QString::fromStdString(c.verify()), QString());
    }
    void stridedShards() {
        PlanCase c(mlp(), "tp=2");
        c.shard("w1@mm1:1=3*tp").shard("b1@add:0=3*tp").shard("w2@mm2:0=3*tp");
        VERIFY_PLAN(c, "1 all-reduce");
    }
    void wholeWeightIsCutToTheShardOfTheData() {
        PlanCase c(mlp(), "tp=2");
        c.shard("w1@mm1:1=tp");  // b1 is everywhere, and each device adds its part.
        VERIFY_PLAN(c, "1 all-reduce");
        const auto& tensors = c.plan().devices[1].tensors;
        QVERIFY(std::none_of(tensors.begin(), tensors.end(),
                             [](const LocalTensor& t) { return t.name == "b1"; }));
    }
    void oneReshardForSeveralConsumers() {
        PlanCase c(ModelBuilder()
                       .input("x", {4, 8})
                       .op("Relu", {"x"}, {"a"}, "first")
                       .op("Exp", {"a"}, {"b"}, "second")
                       .op("Tanh", {"a"}, {"c"}, "third")
                       .output("b", {4, 8})
                       .output("c", {4, 8}),
                   "d=2");
        c.shard("x@first:0=d").shard("a@second:1=d").shard("a@third:1=d");
        VERIFY_PLAN(c, "1 all-to-all");
    }
};

QTEST_GUILESS_MAIN(TstPlanLayouts)
#include "tst_plan_layouts.moc"
