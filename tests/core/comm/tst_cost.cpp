// SPDX-License-Identifier: Apache-2.0
#include "comm/cost.h"

#include <QtTest>

using namespace shardwright;

namespace {

constexpr double kUs = 1e-6;

HardwareProfile profileOf(double latencyUs, double bandwidth) {
    HardwareProfile profile;
    profile.links.push_back({"wire", {}, 0, latencyUs * kUs, bandwidth, {}});
    return profile;
}

Mesh meshOf(const char* text) {
    return Mesh::parse(text).value();
}

Layout onAxis(const Mesh& mesh, const std::vector<std::int64_t>& shape, int dim, int axis) {
    MeshSharding sharding;
    sharding.dims.resize(shape.size());
    if (dim >= 0)
        sharding.dims[static_cast<std::size_t>(dim)] = {
            {shape[static_cast<std::size_t>(dim)], {axis}}};
    return encode(mesh, sharding, shape).value();
}

GroupOperation operation(CollectiveKind kind, int devices, std::int64_t bytes) {
    GroupOperation group;
    group.kind = kind;
    group.bytes = bytes;
    for (int device = 0; device < devices; ++device)
        group.devices.push_back(device);
    return group;
}

}  // namespace

class TstCost : public QObject {
    Q_OBJECT
private slots:
    void collectivesCostWhatTheFormulasSay_data();
    void collectivesCostWhatTheFormulasSay();
    void anAllReduceTakesTheSmallerOfRingAndTree();
    void theTextShowsTheFormulaAndItsNumbers();
    void aMoveCostsTheBusiestDevice();
    void aReshardCostsItsSlowestGroup();
    void oneDeviceCostsNothing();
};

void TstCost::collectivesCostWhatTheFormulasSay_data() {
    QTest::addColumn<int>("kind");
    QTest::addColumn<double>("us");
    // 4 devices, 80000 bytes, a = 1 us, B = 1 GB/s: 80 us for all of it.
    const auto row = [](const char* name, CollectiveKind kind, double us) {
        QTest::newRow(name) << static_cast<int>(kind) << us;
    };
    row("all-reduce", CollectiveKind::AllReduce, 2 * 3 + 2 * 0.75 * 80);
    row("all-gather", CollectiveKind::AllGather, 3 + 0.75 * 80);
    row("reduce-scatter", CollectiveKind::ReduceScatter, 3 + 0.75 * 80);
    row("all-to-all", CollectiveKind::AllToAll, 3 + 0.75 * 20);
    row("reduce", CollectiveKind::Reduce, 2 + 80);
    row("broadcast", CollectiveKind::Broadcast, 2 + 80);
}

void TstCost::collectivesCostWhatTheFormulasSay() {
    QFETCH(int, kind);
    QFETCH(double, us);
    const CollectiveCost cost = costOf(profileOf(1, 1e9), meshOf("x=4"),
                                       operation(static_cast<CollectiveKind>(kind), 4, 80000), 32);
    QCOMPARE(cost.seconds / kUs, us);
}

void TstCost::anAllReduceTakesTheSmallerOfRingAndTree() {
    const HardwareProfile profile = profileOf(1, 1e9);
    const Mesh mesh = meshOf("x=8");
    const auto small = costOf(profile, mesh, operation(CollectiveKind::AllReduce, 8, 8), 32);
    QCOMPARE(small.formula.algorithm, std::string("tree"));
    QCOMPARE(small.seconds / kUs, 6 + 0.016);
    const auto large = costOf(profile, mesh, operation(CollectiveKind::AllReduce, 8, 800000), 32);
    QCOMPARE(large.formula.algorithm, std::string("ring"));
    QCOMPARE(large.seconds / kUs, 14.0 + 1400);
}

void TstCost::theTextShowsTheFormulaAndItsNumbers() {
    const auto cost = costOf(profileOf(3.4, 450e9), meshOf("x=4"),
                             operation(CollectiveKind::AllReduce, 4, 32768000), 32);
    QCOMPARE(cost.text(), std::string("ring: 2(n-1)a + 2(n-1)/n S/B = 6 x 3.4 us + 49152000 B / "
                                      "450 GB/s, n = 4, S = 32768000 B, wire"));
}

void TstCost::aMoveCostsTheBusiestDevice() {
    const Mesh mesh = meshOf("pp=2,tp=2");
    // From the first stage's two devices to the second's: each sends its half to one other.
    const std::vector<std::int64_t> shape{4, 250};
    const auto half = [&](std::vector<int> devices) {
        MeshSharding sharding;
        sharding.dims = {{{4, {1}}}, {}};
        return encode(mesh, sharding, shape, devices).value();
    };
    const ReshardPlan plan =
        planReshard(piecesOf(half({0, 1})), ReduceKind::None, half({2, 3}), mesh, 32);
    QVERIFY(!plan.free());
    const CollectiveCost cost = costOf(profileOf(1, 1e9), mesh, plan, 32);
    QCOMPARE(cost.seconds / kUs, 1 + 2.0);
    QCOMPARE(cost.formula.text, std::string("m a + V/B"));
}

void TstCost::aReshardCostsItsSlowestGroup() {
    const Mesh mesh = meshOf("dp=2,tp=2");
    HardwareProfile profile = profileOf(1, 1e9);
    // Devices 0 and 1 are near each other; 2 and 3 are not blocks of their own.
    profile.links.insert(profile.links.begin(), {"near", {"tp"}, 0, 0.5 * kUs, 2e9, {}});
    const std::vector<std::int64_t> shape{4, 250};
    const ReshardPlan along = planReshard(piecesOf(onAxis(mesh, shape, 0, 1)), ReduceKind::None,
                                          onAxis(mesh, shape, -1, 1), mesh, 32);
    QCOMPARE(along.kind, CollectiveKind::AllGather);
    QCOMPARE(costOf(profile, mesh, along, 32).seconds / kUs, 0.5 + 1.0);
    const ReshardPlan across = planReshard(piecesOf(onAxis(mesh, shape, 0, 0)), ReduceKind::None,
                                           onAxis(mesh, shape, -1, 0), mesh, 32);
    QCOMPARE(costOf(profile, mesh, across, 32).seconds / kUs, 1 + 2.0);
    QCOMPARE(costOf(profile, mesh, across, 32).link.name, std::string("wire"));
}

void TstCost::oneDeviceCostsNothing() {
    QVERIFY(formulasOf(CollectiveKind::AllReduce, 1, 100).empty());
    QCOMPARE(costOf(profileOf(1, 1e9), meshOf("x=2"), ReshardPlan{}, 32).seconds, 0.0);
    QCOMPARE(costOf(profileOf(1, 1e9), meshOf("x=2"), ReshardPlan{}, 32).text(),
             std::string("nothing moves"));
}

QTEST_APPLESS_MAIN(TstCost)
#include "tst_cost.moc"
