// SPDX-License-Identifier: Apache-2.0
#include "sharding/layout.h"

#include <QtTest/QTest>

#include <map>
#include <random>
#include <set>

using namespace shardwright;

namespace {

using Groups = std::vector<DeviceGroup>;
using Dims = std::vector<std::vector<Component>>;
/// The meaning, by brute force: for each device (also one that holds nothing) its elements, by flat
/// number.
using ElementMap = std::map<DeviceId, std::set<std::int64_t>>;

struct Parts {
    std::vector<std::int64_t> shape;
    Dims dims;
    Groups groups;

    Layout layout() const { return Layout(shape, dims, groups); }
};

/// The shard of an element, straight from the definition.
std::size_t shardOf(const Parts& parts, std::vector<std::int64_t> index) {
    std::int64_t shard = 0;
    for (std::size_t d = 0; d < parts.shape.size(); ++d) {
        std::vector<Component> dim = parts.dims[d];
        if (dim.empty())
            dim.push_back({parts.shape[d], 1});
        std::int64_t below = parts.shape[d];
        for (const Component& component : dim) {
            below /= component.size;
            const std::int64_t x = index[d] / below % component.size;
            shard = shard * component.shards + x / component.block();
        }
    }
    return static_cast<std::size_t>(shard);
}

ElementMap elementMap(const Parts& parts) {
    ElementMap map;
    for (const DeviceGroup& group : parts.groups) {
        for (const DeviceId device : group)
            map[device];
    }
    std::int64_t count = 1;
    for (const std::int64_t size : parts.shape)
        count *= size;
    for (std::int64_t element = 0; element < count; ++element) {
        std::vector<std::int64_t> index(parts.shape.size());
        std::int64_t rest = element;
        for (std::size_t d = parts.shape.size(); d-- > 0;) {
            index[d] = rest % parts.shape[d];
            rest /= parts.shape[d];
        }
        for (const DeviceId device : parts.groups[shardOf(parts, index)])
            map[device].insert(element);
    }
    return map;
}

Parts partsOf(const Layout& layout) {
    return {layout.shape(), layout.dims(), layout.groups()};
}

/// All elements of boxes, by flat number; fails on overlaps.
std::multiset<std::int64_t> elementsOf(const std::vector<Box>& boxes,
                                       const std::vector<std::int64_t>& shape) {
    std::multiset<std::int64_t> result;
    for (const Box& box : boxes) {
        std::vector<std::int64_t> flat{0};
        for (std::size_t d = 0; d < shape.size(); ++d) {
            std::vector<std::int64_t> next;
            for (const std::int64_t outer : flat) {
                for (const IndexSet::Interval& interval : box.dims[d].intervals()) {
                    for (std::int64_t i = interval.begin; i < interval.end; ++i)
                        next.push_back(outer * shape[d] + i);
                }
            }
            flat = std::move(next);
        }
        result.insert(flat.begin(), flat.end());
    }
    return result;
}

class RandomParts {
public:
    explicit RandomParts(unsigned seed) : m_random(seed) {}

    int below(int n) { return static_cast<int>(m_random() % static_cast<unsigned>(n)); }

    Parts next(const std::vector<std::int64_t>& shape, int devices) {
        Parts parts{shape, {}, {}};
        std::size_t shards = 1;
        for (const std::int64_t size : shape) {
            auto& dim = parts.dims.emplace_back();
            if (size == 0) {
                dim.push_back({0, 1 + below(3)});
                shards *= static_cast<std::size_t>(dim.back().shards);
                continue;
            }
            std::int64_t rest = size;
            while (rest > 1 && dim.size() < 3) {
                const std::int64_t part = dim.size() == 2 || below(2) == 0 ? rest : divisor(rest);
                std::int64_t count = below(3) == 0 ? 1 : 1 + below(4);
                if (below(4) == 0 && part <= 6)
                    count = part;
                dim.push_back({part, shards * static_cast<std::size_t>(count) > 64 ? 1 : count});
                shards *= static_cast<std::size_t>(dim.back().shards);
                rest /= part;
            }
            if (dim.empty() && below(3) == 0) {
                dim.push_back({1, 1 + below(2)});
                shards *= static_cast<std::size_t>(dim.back().shards);
            }
        }
        const int kind = below(4);
        const int period = 1 + below(6);
        for (std::size_t shard = 0; shard < shards; ++shard) {
            DeviceGroup group;
            const int s = static_cast<int>(shard);
            if (kind == 0)
                group = {s % devices};
            else if (kind == 1)
                group = {s / period % devices};
            else if (kind == 2)
                group = {s % period % devices};
            else
                for (int n = 1 + below(2); n-- > 0;)
                    group.push_back(below(devices));
            parts.groups.push_back(group);
        }
        return parts;
    }

private:
    std::mt19937 m_random;
    std::int64_t divisor(std::int64_t n) {
        std::vector<std::int64_t> all;
        for (std::int64_t i = 2; i <= n; ++i) {
            if (n % i == 0)
                all.push_back(i);
        }
        return all[static_cast<std::size_t>(below(static_cast<int>(all.size())))];
    }
};

Layout line(std::int64_t size, std::vector<Component> components, Groups groups) {
    return Layout({size}, {std::move(components)}, std::move(groups));
}

}  // namespace

class TstLayout : public QObject {
    Q_OBJECT

private slots:
    void indexSetsNormaliseAndCombine();
    void aScalarIsOneShard();
    void sixShardsOnTwoDevicesAreTwoShards();
    void aComponentAlongWhichNothingVariesIsNotSplit();
    void aFullSplitAndAnInnerSplitMerge();
    void anUnsplitInnerPartMergesWhereTheBlocksCoincide();
    void repeatedDevicesBecomeAnInnerPart();
    void theDeviceOfAnEmptyShardTakesPart();
    void anEmptyShardOfABusyDeviceGoes();
    void aTensorWithoutElementsIsWhole();
    void groupsAreSorted();
    void shardsAreNumberedRowMajor();
    void aDeviceWithAProductOfShardsHoldsOneBox();
    void aDeviceWithADiagonalHoldsTwoBoxes();
    void layoutsCompareEqualExactlyWhenTheirMapsDo_data();
    void layoutsCompareEqualExactlyWhenTheirMapsDo();
    void holdingsAreTheMap();
    void restrictingAndMovingFollowTheMap();
    void equalLayoutsOfAPoolAreOnePointer();
    void canonicalFormIsStable();
    void hugeDimensionsAreCheap();
};

void TstLayout::indexSetsNormaliseAndCombine() {
    const IndexSet set({{5, 7}, {0, 2}, {2, 3}, {9, 9}});
    QCOMPARE(set.intervals().size(), std::size_t(2));
    QVERIFY((set.intervals()[0] == IndexSet::Interval{0, 3}));
    QCOMPARE(set.count(), std::int64_t(5));
    QVERIFY(set.contains(IndexSet(1, 3)));
    QVERIFY(!set.contains(IndexSet(2, 6)));
    QVERIFY(set.contains(IndexSet()));
    QVERIFY(set.intersect(IndexSet(2, 6)) == IndexSet({{2, 3}, {5, 6}}));
    QVERIFY(set.unite(IndexSet(3, 5)) == IndexSet(0, 7));
    QVERIFY(IndexSet(3, 3).empty());
    QCOMPARE(Box::whole({}).count(), std::int64_t(1));
    QVERIFY(!Box::whole({}).empty());
    QVERIFY(Box::whole({2, 0}).empty());
    QVERIFY(Box::whole({4, 4}).contains(Box{{IndexSet(1, 2), IndexSet(0, 4)}}));
}

void TstLayout::aScalarIsOneShard() {
    const Layout layout({}, {}, {{1, 0}});
    QVERIFY(layout.isWhole());
    QCOMPARE(layout.shardBox(0).count(), std::int64_t(1));
    QCOMPARE(layout.holding(1).size(), std::size_t(1));
    QCOMPARE(layout.holding(2).size(), std::size_t(0));
    QVERIFY(layout == Layout::replicated({}, {0, 1}));
}

void TstLayout::sixShardsOnTwoDevicesAreTwoShards() {
    const Layout six = line(12, {{12, 6}}, {{0}, {0}, {0}, {1}, {1}, {1}});
    QCOMPARE(six.shardCount(), std::int64_t(2));
    QVERIFY(six == line(12, {{12, 2}}, {{0}, {1}}));
    // 7 over 6 cuts at 2, 4, 6: three shards on 0, one on 1; no cut into two ends at 6.
    const Layout uneven = line(7, {{7, 6}}, {{0}, {0}, {0}, {1}, {1}, {1}});
    QVERIFY(!(uneven == line(7, {{7, 2}}, {{0}, {1}})));
}

void TstLayout::aComponentAlongWhichNothingVariesIsNotSplit() {
    const Layout layout({4, 4}, {{{4, 2}}, {{4, 2}}}, {{0}, {0}, {1}, {1}});
    QVERIFY(layout.isSplit(0));
    QVERIFY(!layout.isSplit(1));
    QVERIFY(layout == Layout({4, 4}, {{{4, 2}}, {}}, {{0}, {1}}));
}

void TstLayout::aFullSplitAndAnInnerSplitMerge() {
    const Layout merged = line(16, {{2, 2}, {8, 2}}, {{0}, {1}, {2}, {3}});
    QCOMPARE(merged.dims()[0].size(), std::size_t(1));
    QVERIFY(merged == line(16, {{16, 4}}, {{0}, {1}, {2}, {3}}));
    const Layout kept = line(16, {{4, 2}, {4, 2}}, {{0}, {1}, {2}, {3}});
    QCOMPARE(kept.dims()[0].size(), std::size_t(2));
}

void TstLayout::anUnsplitInnerPartMergesWhereTheBlocksCoincide() {
    QVERIFY(line(24, {{8, 4}, {3, 1}}, {{0}, {1}, {2}, {3}}) ==
            line(24, {{24, 4}}, {{0}, {1}, {2}, {3}}));
    // 10 in 4 is 3, 3, 3, 1, times 3: no cut of 30 into four ends at 9.
    const Layout kept = line(30, {{10, 4}, {3, 1}}, {{0}, {1}, {2}, {3}});
    QCOMPARE(kept.dims()[0].size(), std::size_t(2));
    // The same map as ten shards of three, three on one device each: another structure, equal all
    // the same.
    QVERIFY(kept == line(30, {{30, 10}}, {{0}, {0}, {0}, {1}, {1}, {1}, {2}, {2}, {2}, {3}}));
}

void TstLayout::repeatedDevicesBecomeAnInnerPart() {
    const Layout repeated = line(8, {{8, 4}}, {{0}, {1}, {0}, {1}});
    const Layout strided = line(8, {{2, 1}, {4, 2}}, {{0}, {1}});
    QVERIFY(repeated == strided);
    QCOMPARE(repeated.shardCount(), std::int64_t(2));
    QCOMPARE(repeated.dims()[0].size(), std::size_t(2));
    QCOMPARE(repeated.holding(0).size(), std::size_t(1));
    QVERIFY(repeated.holding(0)[0].dims[0] == IndexSet({{0, 2}, {4, 6}}));
    // Three levels: 0 1 0 1 2 3 2 3.
    QVERIFY(line(8, {{8, 8}}, {{0}, {1}, {0}, {1}, {2}, {3}, {2}, {3}}) ==
            line(8, {{2, 2}, {2, 1}, {2, 2}}, {{0}, {1}, {2}, {3}}));
}

void TstLayout::theDeviceOfAnEmptyShardTakesPart() {
    const Layout layout = line(5, {{5, 4}}, {{0}, {1}, {2}, {3}});
    QCOMPARE(layout.devices(), (DeviceGroup{0, 1, 2, 3}));
    QVERIFY(layout.shardBox(3).empty());
    QVERIFY(layout.holding(3).empty());
    QVERIFY(!(layout == line(5, {{5, 3}}, {{0}, {1}, {2}})));
}

void TstLayout::anEmptyShardOfABusyDeviceGoes() {
    QVERIFY(line(5, {{5, 4}}, {{0}, {1}, {2}, {0}}) == line(5, {{5, 3}}, {{0}, {1}, {2}}));
}

void TstLayout::aTensorWithoutElementsIsWhole() {
    const Layout layout({0, 4}, {{{0, 2}}, {{4, 2}}}, {{0}, {1}, {2}, {3}});
    QVERIFY(layout.isWhole());
    QCOMPARE(layout.devices(), (DeviceGroup{0, 1, 2, 3}));
    QVERIFY(layout.holding(2).empty());
    QVERIFY(layout == Layout::replicated({0, 4}, {0, 1, 2, 3}));
}

void TstLayout::groupsAreSorted() {
    const Layout layout = line(4, {{4, 2}}, {{3, 1, 3}, {2, 0}});
    QCOMPARE(layout.groups()[0], (DeviceGroup{1, 3}));
    QVERIFY(layout == line(4, {{4, 2}}, {{1, 3}, {0, 2}}));
}

void TstLayout::shardsAreNumberedRowMajor() {
    const Layout layout({4, 6}, {{{4, 2}}, {{6, 3}}}, {{0}, {1}, {2}, {3}, {4}, {5}});
    QCOMPARE(layout.shardCoordinates(4), (std::vector<std::int64_t>{1, 1}));
    QVERIFY((layout.shardBox(4) == Box{{IndexSet(2, 4), IndexSet(2, 4)}}));
}

void TstLayout::aDeviceWithAProductOfShardsHoldsOneBox() {
    const Layout layout({4, 4}, {{{4, 2}}, {{4, 4}}}, {{0}, {1}, {0}, {1}, {2}, {3}, {3}, {2}});
    QCOMPARE(layout.holding(0).size(), std::size_t(1));
    QVERIFY((layout.holding(0)[0] == Box{{IndexSet(0, 2), IndexSet({{0, 1}, {2, 3}})}}));
    QCOMPARE(layout.holding(2).size(), std::size_t(1));
}

void TstLayout::aDeviceWithADiagonalHoldsTwoBoxes() {
    const Layout layout({4, 4}, {{{4, 2}}, {{4, 2}}}, {{0}, {1}, {1}, {0}});
    QCOMPARE(layout.holding(0).size(), std::size_t(2));
    const Layout corner({4, 4}, {{{4, 2}}, {{4, 2}}}, {{0}, {0}, {1}, {0}});
    QCOMPARE(corner.holding(0).size(), std::size_t(2));
    QCOMPARE(corner.holding(1).size(), std::size_t(1));
}

void TstLayout::layoutsCompareEqualExactlyWhenTheirMapsDo_data() {
    QTest::addColumn<std::vector<std::int64_t>>("shape");
    QTest::addColumn<int>("count");
    QTest::addRow("8") << std::vector<std::int64_t>{8} << 400;
    QTest::addRow("12") << std::vector<std::int64_t>{12} << 400;
    QTest::addRow("24") << std::vector<std::int64_t>{24} << 400;
    QTest::addRow("5") << std::vector<std::int64_t>{5} << 300;
    QTest::addRow("7x4") << std::vector<std::int64_t>{7, 4} << 300;
    QTest::addRow("1x6") << std::vector<std::int64_t>{1, 6} << 300;
    QTest::addRow("4x4") << std::vector<std::int64_t>{4, 4} << 400;
    QTest::addRow("0x3") << std::vector<std::int64_t>{0, 3} << 100;
    QTest::addRow("2x3x4") << std::vector<std::int64_t>{2, 3, 4} << 300;
    QTest::addRow("6x1x8") << std::vector<std::int64_t>{6, 1, 8} << 300;
    QTest::addRow("scalar") << std::vector<std::int64_t>{} << 50;
}

void TstLayout::layoutsCompareEqualExactlyWhenTheirMapsDo() {
    QFETCH(std::vector<std::int64_t>, shape);
    QFETCH(int, count);
    for (const int devices : {2, 3, 4}) {
        RandomParts random(static_cast<unsigned>(17 + devices));
        std::vector<Layout> layouts;
        std::vector<ElementMap> maps;
        for (int i = 0; i < count; ++i) {
            const Parts parts = random.next(shape, devices);
            layouts.push_back(parts.layout());
            maps.push_back(elementMap(parts));
            QVERIFY2(elementMap(partsOf(layouts.back())) == maps.back() ||
                         layouts.back().devices().empty(),
                     "canonical form changed the map");
            QVERIFY(layouts.back().shardCount() <= static_cast<std::int64_t>(parts.groups.size()));
        }
        int equal = 0;
        for (std::size_t i = 0; i < layouts.size(); ++i) {
            for (std::size_t j = 0; j < i; ++j) {
                const bool same = maps[i] == maps[j];
                equal += same ? 1 : 0;
                QCOMPARE(layouts[i] == layouts[j], same);
                QVERIFY(!same || layouts[i].hash() == layouts[j].hash());
            }
        }
        QVERIFY(equal > 0);
    }
}

void TstLayout::holdingsAreTheMap() {
    RandomParts random(5);
    for (int i = 0; i < 1500; ++i) {
        const Parts parts = random.next({6, 1 + random.below(3), 4}, 4);
        const Layout layout = parts.layout();
        for (const auto& [device, elements] : elementMap(parts)) {
            const std::vector<Box> boxes = layout.holding(device);
            const auto held = elementsOf(boxes, parts.shape);
            QVERIFY(std::equal(held.begin(), held.end(), elements.begin(), elements.end()));
            for (const Box& box : boxes)
                QVERIFY(!box.empty());
        }
    }
}

void TstLayout::restrictingAndMovingFollowTheMap() {
    RandomParts random(6);
    for (int i = 0; i < 500; ++i) {
        const Parts parts = random.next({6, 4}, 4);
        const Layout layout = parts.layout();
        ElementMap map = elementMap(parts);
        const DeviceGroup allowed{1, 3};
        const Layout restricted = layout.restrictedTo(allowed);
        DeviceGroup to;
        for (const DeviceId device : layout.devices())
            to.push_back(device + 10);
        const Layout moved = layout.movedTo(to);
        for (const auto& [device, elements] : map) {
            const auto held = elementsOf(restricted.holding(device), parts.shape);
            QCOMPARE(held.size(), device == 1 || device == 3 ? elements.size() : std::size_t(0));
            const auto there = elementsOf(moved.holding(device + 10), parts.shape);
            QVERIFY(std::equal(there.begin(), there.end(), elements.begin(), elements.end()));
        }
    }
}

void TstLayout::equalLayoutsOfAPoolAreOnePointer() {
    LayoutPool pool;
    const LayoutRef a = pool.intern(line(12, {{12, 6}}, {{0}, {0}, {0}, {1}, {1}, {1}}));
    const LayoutRef b = pool.intern(line(12, {{12, 2}}, {{0}, {1}}));
    const LayoutRef c = pool.intern(line(12, {{12, 2}}, {{1}, {0}}));
    QCOMPARE(a.get(), b.get());
    QVERIFY(a != c);
}

void TstLayout::canonicalFormIsStable() {
    RandomParts random(7);
    for (int i = 0; i < 2000; ++i) {
        const Layout once = random.next({12, 6}, 3).layout();
        const Layout twice = partsOf(once).layout();
        QVERIFY(once.dims() == twice.dims());
        QVERIFY(once.groups() == twice.groups());
        for (const auto& dim : once.dims())
            QVERIFY(!dim.empty());
    }
}

void TstLayout::hugeDimensionsAreCheap() {
    const std::int64_t huge = std::int64_t{1} << 60;
    const Layout even = line(huge, {{huge, 2}}, {{0}, {1}});
    QCOMPARE(even.holding(1)[0].count(), huge / 2);
    QVERIFY(even == line(huge, {{huge / 2, 2}, {2, 1}}, {{0}, {1}}));
    // 2^59 intervals on each device: not compared element by element, nor expanded.
    const Layout fine = line(huge, {{huge / 2, 1}, {2, 2}}, {{0}, {1}});
    QVERIFY(!(fine == even));
    QVERIFY(fine == line(huge, {{huge / 4, 1}, {2, 1}, {2, 2}}, {{0}, {1}}));
}

QTEST_GUILESS_MAIN(TstLayout)
#include "tst_layout.moc"
