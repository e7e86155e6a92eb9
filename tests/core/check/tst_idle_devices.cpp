// SPDX-License-Identifier: Apache-2.0
// SW312: inputs that are split over different axes meet on some of their devices only.
#include "core/plan/plan_case.h"
#include "support/analysed.h"

#include <QtTest>

using namespace shardwright;
using namespace shardwright::test;

namespace {

ModelBuilder twoProducts() {
    ModelBuilder model;
    model.input("x", {8, 16}).weight("w1", {16, 12}).weight("w2", {12, 16});
    model.op("MatMul", {"x", "w1"}, {"h"}, "mm1").op("MatMul", {"h", "w2"}, {"y"}, "mm2");
    model.output("y", {8, 16});
    return model;
}

std::vector<std::string> idle(const Analysis& analysis) {
    std::vector<std::string> found;
    for (const Diagnostic& diagnostic : analysis.diagnostics)
        if (diagnostic.code == "SW312")
            found.push_back(diagnostic.message);
    return found;
}

/// A line for each fix: its title, or what it leaves unmended.
std::vector<std::string> fixesTried(const Analysis& analysis) {
    std::vector<std::string> lines;
    for (const Diagnostic& diagnostic : analysis.diagnostics) {
        if (diagnostic.code != "SW312")
            continue;
        for (const Fix& fix : diagnostic.fixes) {
            Document document = analysis.document;
            apply(document.annotations, fix.edit);
            const auto mended = analysed(document);
            lines.push_back(fix.title + errorsOf(*mended));
            for (const std::string& message : idle(*mended))
                lines.back() += message;
        }
    }
    return lines;
}

}  // namespace

class TstIdleDevices : public QObject {
    Q_OBJECT
private slots:
    void inputsOverDifferentAxesLeaveDevicesIdle() {
        const auto found = idle(*PlanCase(twoProducts(), "tp=2,dp=2")
                                     .shard("w1@mm1:1=tp")
                                     .shard("w2@mm2:0=dp")
                                     .analyse());
        QCOMPARE(found.size(), std::size_t{1});
        QCOMPARE(found[0],
                 std::string("MatMul `mm2`: what a part of the result needs is together on devices "
                             "0, 3 only; devices 1, 2 compute nothing here"));
    }

    void inputsOverTheSameAxisLeaveNone() {
        QVERIFY(idle(*PlanCase(twoProducts(), "tp=2,dp=2")
                          .shard("w1@mm1:1=tp")
                          .shard("w2@mm2:0=tp")
                          .analyse())
                    .empty());
        QVERIFY(idle(*PlanCase(twoProducts(), "tp=2,dp=2")
                          .shard("x@mm1:0=dp")
                          .shard("w1@mm1:1=tp")
                          .shard("w2@mm2:0=tp")
                          .analyse())
                    .empty());
    }

    void aSliceOfAFewBlocksLeavesTheOthersIdle() {
        ModelBuilder model;
        model.input("x", {8, 16}).ints("from", {0}).ints("to", {8}).ints("axis", {1});
        model.op("Slice", {"x", "from", "to", "axis"}, {"y"}, "half").output("y", {8, 8});
        const auto found = idle(*PlanCase(model, "tp=4").shard("x:1=tp").analyse());
        QCOMPARE(found.size(), std::size_t{1});
        QVERIFY2(found[0].find("on devices 0, 1 only; devices 2, 3") != std::string::npos,
                 found[0].c_str());
    }

    void eachFixLetsAllDevicesCompute() {
        using Lines = std::vector<std::string>;
        const auto products = PlanCase(twoProducts(), "tp=2,dp=2")
                                  .shard("w1@mm1:1=tp")
                                  .shard("w2@mm2:0=dp")
                                  .analyse();
        QCOMPARE(fixesTried(*products), Lines({"Keep `w2` whole at `mm2` (1024 bytes)",
                                               "Gather `h` at `mm2` (1792 bytes)"}));
        ModelBuilder model;
        model.input("x", {8, 16}).ints("from", {0}).ints("to", {8}).ints("axis", {1});
        model.op("Slice", {"x", "from", "to", "axis"}, {"y"}, "half").output("y", {8, 8});
        const auto slice = PlanCase(model, "dp=2,tp=2").shard("x:0=dp,1=tp").analyse();
        QCOMPARE(fixesTried(*slice), Lines({"Keep `x` along dimension 1 whole at `half` (free)",
                                            "Keep `x` whole at `half` (free)"}));
    }

    void whereTheResultIsWantedDoesNotSayWhoComputes() {
        QVERIFY(idle(*PlanCase(twoProducts(), "tp=2")
                          .shard("w1@mm1:1=tp")
                          .shard("w2@mm2:0=tp")
                          .layout("y", "mm2", -1, {DeviceGroup{0}})
                          .analyse())
                    .empty());
        QCOMPARE(idle(*PlanCase(twoProducts(), "tp=2,dp=2")
                           .shard("w1@mm1:1=tp")
                           .shard("w2@mm2:0=dp")
                           .shard("y@mm2:replicated")
                           .analyse())
                     .size(),
                 std::size_t{1});
    }

    void anInputOnFewerDevicesIsMeantSo() {
        const auto onOne =
            PlanCase(twoProducts(), "tp=2").layout("w1", "mm1", -1, {DeviceGroup{0}}).analyse();
        QVERIFY(idle(*onOne).empty());
    }
};

QTEST_GUILESS_MAIN(TstIdleDevices)
#include "tst_idle_devices.moc"
