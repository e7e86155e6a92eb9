// SPDX-License-Identifier: Apache-2.0
// SW312: inputs that are split over different axes meet on some of their devices only.
#include "core/plan/plan_case.h"

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

    void anInputOnFewerDevicesIsMeantSo() {
        const auto onOne =
            PlanCase(twoProducts(), "tp=2").layout("w1", "mm1", -1, {DeviceGroup{0}}).analyse();
        QVERIFY(idle(*onOne).empty());
    }
};

QTEST_GUILESS_MAIN(TstIdleDevices)
#include "tst_idle_devices.moc"
