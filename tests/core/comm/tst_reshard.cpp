// SPDX-License-Identifier: Apache-2.0
#include "comm/reshard.h"

#include <QtTest>

#include <map>
#include <random>
#include <set>

using namespace shardwright;

namespace {

Layout onMesh(const Mesh& mesh, const std::vector<std::int64_t>& shape,
              const std::vector<std::vector<int>>& axes) {
    MeshSharding sharding;
    for (std::size_t d = 0; d < shape.size(); ++d) {
        sharding.dims.emplace_back();
        if (!axes[d].empty())
            sharding.dims.back().push_back({shape[d], axes[d]});
    }
    auto layout = encode(mesh, sharding, shape);
    return layout ? *layout : Layout::replicated(shape, {});
}

Mesh meshOf(const char* text) {
    return Mesh::parse(text).value();
}

ReshardPlan plan(const Layout& from, const Layout& to, const Mesh& mesh) {
    return planReshard(piecesOf(from), ReduceKind::None, to, mesh, 32);
}

/// Row-major numbers of the elements of a box.
std::vector<std::int64_t> elements(const Box& box, const std::vector<std::int64_t>& shape) {
    std::vector<std::int64_t> result{0};
    for (std::size_t d = 0; d < shape.size(); ++d) {
        std::vector<std::int64_t> next;
        for (const std::int64_t base : result)
            for (const auto& interval : box.dims[d].intervals())
                for (std::int64_t i = interval.begin; i < interval.end; ++i)
                    next.push_back(base * shape[d] + i);
        result = std::move(next);
    }
    return result;
}

std::set<std::int64_t> heldBy(const Layout& layout, DeviceId device) {
    std::set<std::int64_t> held;
    for (std::int64_t shard = 0; shard < layout.shardCount(); ++shard) {
        const DeviceGroup& group = layout.groups()[static_cast<std::size_t>(shard)];
        if (std::find(group.begin(), group.end(), device) != group.end())
            for (const std::int64_t e : elements(layout.shardBox(shard), layout.shape()))
                held.insert(e);
    }
    return held;
}

Layout randomLayout(std::mt19937& random, const std::vector<std::int64_t>& shape, int devices) {
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    std::vector<std::vector<Component>> dims;
    std::int64_t shards = 1;
    for (const std::int64_t size : shape) {
        std::vector<Component> components;
        if (size % 2 == 0 && below(3) == 0) {
            components = {{2, 1 + below(2)}, {size / 2, 1 + below(3)}};
        } else {
            components = {{size, 1 + below(4)}};
        }
        for (const Component& c : components)
            shards *= c.shards;
        dims.push_back(components);
    }
    std::vector<DeviceGroup> groups;
    for (std::int64_t s = 0; s < shards; ++s) {
        std::set<int> group{below(devices)};
        if (below(3) == 0)
            group.insert(below(devices));
        groups.emplace_back(group.begin(), group.end());
    }
    return Layout(shape, dims, groups);
}

}  // namespace

class TstReshard : public QObject {
    Q_OBJECT
private slots:
    void namesTheCollective_data();
    void namesTheCollective();
    void anAllReduceOverOneAxisHasAGroupPerCoordinateOfTheOthers();
    void aDeviceWithAnEmptyShareTakesPartInTheSum();
    void aDeviceWithoutAnyShareDoesNot();
    void everyRandomReshardPutsTheRightElementsInTheRightPlace();
    void everyTermOfARandomReductionCountsOnce();
};

void TstReshard::namesTheCollective_data() {
    QTest::addColumn<QString>("mesh");
    QTest::addColumn<QList<QList<int>>>("from");
    QTest::addColumn<QList<QList<int>>>("to");
    QTest::addColumn<int>("kind");
    QTest::addColumn<int>("groups");
    QTest::addColumn<int>("bytes");
    using K = CollectiveKind;
    const auto row = [](const char* name, const char* mesh, QList<QList<int>> from,
                        QList<QList<int>> to, K kind, int groups, int bytes) {
        QTest::newRow(name) << QString(mesh) << from << to << static_cast<int>(kind) << groups
                            << bytes;
    };
    // Shape [8, 12], 4 bytes an element: 384 bytes.
    row("same", "tp=2", {{0}, {}}, {{0}, {}}, K::Slice, 0, 0);
    row("cut of a whole copy", "tp=2", {{}, {}}, {{0}, {}}, K::Slice, 0, 0);
    row("gather", "tp=2", {{0}, {}}, {{}, {}}, K::AllGather, 1, 384);
    row("gather of blocks that do not divide", "tp=5", {{0}, {}}, {{}, {}}, K::AllGather, 1, 384);
    row("gather over one axis of two", "dp=2,tp=2", {{0}, {1}}, {{0}, {}}, K::AllGather, 2, 192);
    row("gather over both", "dp=2,tp=2", {{0}, {1}}, {{}, {}}, K::AllGather, 1, 384);
    row("gather of the minor axis of a dimension", "dp=2,tp=2", {{0, 1}, {}}, {{0}, {}},
        K::AllGather, 2, 192);
    row("other dimension", "tp=2", {{0}, {}}, {{}, {0}}, K::AllToAll, 1, 384);
    row("other dimension, one axis of two", "dp=2,tp=2", {{0}, {1}}, {{0, 1}, {}}, K::AllToAll, 2,
        192);
    row("other order of axes", "dp=2,tp=2", {{0, 1}, {}}, {{1, 0}, {}}, K::Permute, 1, 192);
}

void TstReshard::namesTheCollective() {
    QFETCH(QString, mesh);
    QFETCH(QList<QList<int>>, from);
    QFETCH(QList<QList<int>>, to);
    QFETCH(int, kind);
    QFETCH(int, groups);
    QFETCH(int, bytes);
    const auto axes = [](const QList<QList<int>>& lists) {
        std::vector<std::vector<int>> result;
        for (const QList<int>& list : lists)
            result.emplace_back(list.begin(), list.end());
        return result;
    };
    const Mesh m = meshOf(mesh.toUtf8().constData());
    const ReshardPlan p = plan(onMesh(m, {8, 12}, axes(from)), onMesh(m, {8, 12}, axes(to)), m);
    QCOMPARE(QString::fromStdString(collectiveName(p.kind)),
             QString::fromStdString(collectiveName(static_cast<CollectiveKind>(kind))));
    QCOMPARE(p.groups.size(), static_cast<std::size_t>(groups));
    for (const GroupOperation& group : p.groups)
        QCOMPARE(group.bytes, bytes);
}

void TstReshard::anAllReduceOverOneAxisHasAGroupPerCoordinateOfTheOthers() {
    const Mesh mesh = meshOf("dp=2,tp=2");
    const Layout target = onMesh(mesh, {8, 12}, {{0}, {}});
    const Layout half = onMesh(mesh, {8, 12}, {{0}, {}});
    std::vector<SourcePiece> pieces;
    for (int dp = 0; dp < 2; ++dp)
        for (int tp = 0; tp < 2; ++tp)
            pieces.push_back({half.shardBox(dp), tp, {dp * 2 + tp}});
    const ReshardPlan p = planReshard(pieces, ReduceKind::Sum, target, mesh, 32);
    QCOMPARE(p.kind, CollectiveKind::AllReduce);
    QCOMPARE(p.groups.size(), 2u);
    QCOMPARE(p.groups[0].devices, (DeviceGroup{0, 1}));
    QCOMPARE(p.groups[0].bytes, 192);
    QCOMPARE(p.axes, (std::vector<int>{1}));
    QCOMPARE(p.bytesSentMax(32), 192);
    QCOMPARE(p.bytesSentTotal(32), 4 * 192);
}

void TstReshard::aDeviceWithAnEmptyShareTakesPartInTheSum() {
    // 5 over 4 in blocks of 2: the last device has nothing.
    const Mesh mesh = meshOf("tp=4");
    const Box all = Box::whole({6, 10});
    std::vector<SourcePiece> pieces;
    for (int device = 0; device < 4; ++device)
        pieces.push_back({all, device, {device}, device == 3});
    const ReshardPlan whole =
        planReshard(pieces, ReduceKind::Sum, onMesh(mesh, {6, 10}, {{}, {}}), mesh, 32);
    QCOMPARE(collectiveName(whole.kind), "all-reduce");
    QCOMPARE(whole.groups.size(), 1u);
    QCOMPARE(whole.groups[0].devices, (DeviceGroup{0, 1, 2, 3}));
    QCOMPARE(whole.groups[0].bytes, 240);
    QCOMPARE(whole.axes, (std::vector<int>{0}));
    const ReshardPlan scattered =
        planReshard(pieces, ReduceKind::Sum, onMesh(mesh, {6, 10}, {{}, {0}}), mesh, 32);
    QCOMPARE(collectiveName(scattered.kind), "reduce-scatter");
    QCOMPARE(scattered.groups[0].bytes, 240);
}

void TstReshard::aDeviceWithoutAnyShareDoesNot() {
    const Box all = Box::whole({6, 10});
    const std::vector<SourcePiece> pieces{{all, 0, {0}, false}, {all, 1, {1}, false}};
    const ReshardPlan p = planReshard(pieces, ReduceKind::Sum,
                                      Layout::replicated({6, 10}, {0, 1, 2}), meshOf("tp=3"), 32);
    QCOMPARE(collectiveName(p.kind), "region");
}

void TstReshard::everyRandomReshardPutsTheRightElementsInTheRightPlace() {
    std::mt19937 random(7);
    for (int round = 0; round < 500; ++round) {
        const std::vector<std::int64_t> shape =
            round % 3 == 0 ? std::vector<std::int64_t>{6, 5} : std::vector<std::int64_t>{4, 7, 2};
        const Layout from = randomLayout(random, shape, 4), to = randomLayout(random, shape, 4);
        const ReshardPlan p = plan(from, to, meshOf("a=2,b=2"));
        std::map<DeviceId, std::multiset<std::int64_t>> arrived;
        std::int64_t moved = 0;
        std::int64_t named = 0;
        const auto take = [&](const Part& part) {
            const auto held = heldBy(from, part.from);
            for (const std::int64_t e : elements(part.box, shape)) {
                QVERIFY2(held.count(e), "a sender does not hold what it sends");
                arrived[part.to].insert(e);
            }
            moved += part.from != part.to ? part.box.count() : 0;
        };
        for (const Part& part : p.local) {
            QCOMPARE(part.from, part.to);
            take(part);
        }
        for (const GroupOperation& group : p.groups) {
            named += group.bytes;
            for (const Part& part : group.parts)
                take(part);
        }
        for (DeviceId device = 0; device < 4; ++device) {
            const auto wanted = heldBy(to, device);
            QVERIFY(arrived[device] == std::multiset<std::int64_t>(wanted.begin(), wanted.end()));
        }
        if (p.kind == CollectiveKind::Region || p.kind == CollectiveKind::Send ||
            p.kind == CollectiveKind::Permute)
            QCOMPARE(named, moved * 4);
        QCOMPARE(p.free(), moved == 0);
    }
}

void TstReshard::everyTermOfARandomReductionCountsOnce() {
    std::mt19937 random(11);
    const std::vector<std::int64_t> shape{6, 4};
    for (int round = 0; round < 300; ++round) {
        const Layout to = randomLayout(random, shape, 4);
        std::vector<SourcePiece> pieces;
        const int terms = 2 + static_cast<int>(random() % 3);
        for (int term = 0; term < terms; ++term)
            for (SourcePiece piece : piecesOf(randomLayout(random, shape, 4))) {
                piece.term = term;
                pieces.push_back(std::move(piece));
            }
        const ReshardPlan p = planReshard(pieces, ReduceKind::Sum, to, meshOf("a=4"), 32);
        std::map<std::pair<DeviceId, std::int64_t>, std::multiset<int>> counted;
        const auto take = [&](const Part& part) {
            for (const std::int64_t e : elements(part.box, shape))
                counted[{part.to, e}].insert(part.term);
        };
        for (const Part& part : p.local)
            take(part);
        for (const GroupOperation& group : p.groups)
            for (const Part& part : group.parts)
                take(part);
        std::multiset<int> all;
        for (int term = 0; term < terms; ++term)
            all.insert(term);
        for (DeviceId device = 0; device < 4; ++device)
            for (const std::int64_t e : heldBy(to, device))
                QVERIFY((counted[{device, e}] == all));
    }
}

QTEST_GUILESS_MAIN(TstReshard)
#include "tst_reshard.moc"
