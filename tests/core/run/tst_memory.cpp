// SPDX-License-Identifier: Apache-2.0
#include "run/memory.h"

#include "../plan/plan_case.h"

using namespace shardwright;
using namespace shardwright::test;

/// What a run is predicted to need.
class TstMemory : public QObject {
    Q_OBJECT

    static std::shared_ptr<const Plan> planOf(const ModelBuilder& model, const char* mesh,
                                              const char* shard) {
        const auto plan = lower(*PlanCase(model, mesh).shard(shard).analyse());
        if (!plan)
            qFatal("%s", plan.error().text().c_str());
        return *plan;
    }
    static ModelBuilder product() {
        return ModelBuilder(17)
            .input("x", {8, 64})
            .weight("w", {64, 128})
            .op("MatMul", {"x", "w"}, {"y"}, "mm")
            .output("y", {8, 128});
    }
    static ModelBuilder convolution() {
        return ModelBuilder(17)
            .input("x", {2, 32, 8, 8})
            .weight("w", {32, 32, 3, 3})
            .op("Conv", {"x", "w"}, {"y"}, "conv", {{"pads", {1, 1, 1, 1}}})
            .output("y", {2, 32, 8, 8});
    }

private slots:
    void sharedWeightsCountAsTheyAreAndPacked() {
        const std::int64_t w = 64 * 128 * 4;
        const auto plan = planOf(product(), "dp=2", "x:0=dp");
        const MemoryNeed shared = predictMemory(*plan, true), own = predictMemory(*plan, false);
        QCOMPARE(shared.shared, 2 * w);
        // Both devices load at once, each with a copy.
        QCOMPARE(shared.loading, 2 * w);
        QCOMPARE(own.shared, std::int64_t{0});
        // What was read, and what is packed of it.
        QCOMPARE(own.loading, 4 * w);
        QCOMPARE(own.devices[0] - shared.devices[0], w);
    }

    void weightsOfConvolutionsAreLaidOutAnew() {
        const std::int64_t w = 32 * 32 * 9 * 4;
        const auto plan = planOf(convolution(), "dp=2", "x:0=dp");
        const MemoryNeed shared = predictMemory(*plan, true), own = predictMemory(*plan, false);
        QCOMPARE(shared.shared, w);
        QCOMPARE(shared.loading, 4 * w);
        QCOMPARE(own.loading, 8 * w);
        // Each session has its own, shared or not.
        QCOMPARE(own.devices[0], shared.devices[0]);
    }
};

QTEST_GUILESS_MAIN(TstMemory)
#include "tst_memory.moc"
