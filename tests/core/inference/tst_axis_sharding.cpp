// SPDX-License-Identifier: Apache-2.0
#include "inference/axis_sharding.h"

#include "inference/factor_rows.h"

#include <QtTest>

#include <random>

using namespace shardwright;

class TstAxisSharding : public QObject {
    Q_OBJECT
private slots:
    void partsOfAnAxisOverlapWhereTheirDigitsDo() {
        const AxisRef whole{0, 1, 8}, first{0, 1, 2}, last{0, 4, 2}, middle{0, 2, 2},
            other{1, 1, 8};
        QVERIFY(whole.overlaps(first) && whole.overlaps(last) && !first.overlaps(last));
        QVERIFY(!whole.overlaps(other));
        QVERIFY(first.prefixOf(whole) && !last.prefixOf(whole));
        QVERIFY(whole.contains(middle) && !middle.contains(whole));
        QCOMPARE(whole.without(last), std::optional(AxisRef{0, 1, 4}));
        QCOMPARE(whole.without(first), std::optional<AxisRef>());
        AxisList axes{first};
        appendAxis(axes, middle);
        appendAxis(axes, last);
        QCOMPARE(axes, (AxisList{whole}));
    }

    void listsAgreeAsFarAsOneContinuesTheOther() {
        const AxisRef a{0, 1, 4}, b{1, 1, 2}, c{2, 1, 2}, half{0, 1, 2};
        QCOMPARE(joinAxes({a}, {a, b}, true).axes, (AxisList{a, b}));
        QCOMPARE(joinAxes({a, b}, {a, c}, true).axes, (AxisList{a}));
        QVERIFY(!joinAxes({a, b}, {a, c}, true).mayExtend);
        QCOMPARE(joinAxes({half}, {a}, true).axes, (AxisList{a}));
        QCOMPARE(joinAxes({half, b}, {a, b}, true).axes, (AxisList{half}));
        QCOMPARE(joinAxes({a}, {a, b}, false).axes, (AxisList{a}));
        QCOMPARE(joinAxes({half}, {a}, false).axes, (AxisList{half}));
        QVERIFY(joinAxes({b}, {a}, true).axes.empty());
    }

    void axesAreReadAndWritten() {
        const AxisSpace space(*Mesh::parse("dp=2,tp=8"));
        QCOMPARE(*space.parse("tp"), (AxisRef{1, 1, 8}));
        QCOMPARE(*space.parse("tp:(2)4"), (AxisRef{1, 2, 4}));
        QCOMPARE(space.text(AxisRef{1, 2, 4}), std::string("tp:(2)4"));
        QCOMPARE(space.text(AxisRef{1, 1, 8}), std::string("tp"));
        for (const char* wrong :
             {"pp", "tp:(3)2", "tp:(2)8", "tp:(2)3", "tp:(0)2", "tp:(2", "tp:(x)2", "tp:(2)", ""})
            QVERIFY2(!space.parse(wrong), wrong);
    }

    void layoutsOfMeshAxesAndTheirPartsComeBack() {
        AxisSpace space(*Mesh::parse("a=4,b=2,c=6"));
        const std::vector<std::int64_t> shape{24, 48};
        for (const char* text : {"a", "a:(1)2", "a:(2)2", "c:(2)3", "b", "c"})
            for (const char* second : {"", "b", "c:(1)2", "a:(1)2"}) {
                AxisSharding sharding = AxisSharding::openOfRank(2);
                sharding.dims[0].parts = {{0, {*space.parse(text)}}};
                if (*second != '\0')
                    sharding.dims[1].parts = {{0, {*space.parse(second)}}};
                if (!sharding.axesOnce())
                    continue;
                const auto layout = space.toLayout(sharding, shape);
                QVERIFY(layout);
                QCOMPARE(space.fromLayout(*layout), sharding.closed());
            }
        QCOMPARE(space.axisCount(), std::size_t{3});
    }

    void stridedComponentsComeBack() {
        AxisSpace space(*Mesh::parse("a=2"));
        AxisSharding sharding = AxisSharding::openOfRank(1);
        sharding.dims[0].parts = {{3, {}}, {8, {space.whole(0)}}};
        const auto layout = space.toLayout(sharding, {24});
        QVERIFY(layout);
        QCOMPARE(*layout, Layout({24}, {{{3, 1}, {8, 2}}}, {{0}, {1}}));
        QCOMPARE(space.fromLayout(*layout), sharding.closed());
    }

    void aLayoutWithoutMeshGetsAxesOfItsOwn() {
        AxisSpace space(*Mesh::parse("a=4"));
        const Layout odd({8, 6}, {{{8, 2}}, {{6, 3}}}, {{0}, {1}, {2}, {3}, {0, 1}, {2}});
        const AxisSharding sharding = space.fromLayout(odd);
        QCOMPARE(space.axisCount(), std::size_t{3});
        QCOMPARE(*space.toLayout(sharding, {8, 6}), odd);
        QCOMPARE(space.fromLayout(odd), sharding);
        QCOMPARE(space.axisCount(), std::size_t{3});
        // Without the second axis a device group is united over it.
        AxisSharding rows = AxisSharding::openOfRank(1);
        rows.dims[0] = sharding.dims[0];
        QCOMPARE(*space.toLayout(rows, {8}), Layout({8}, {{{8, 2}}}, {{0, 1, 2}, {0, 1, 2, 3}}));
        AxisSharding mixed = sharding;
        mixed.dims[0].parts = {{0, {space.whole(0)}}};
        QVERIFY(!space.toLayout(mixed, {8, 6}));
    }

    void whatIsProjectedToFactorsComesBack() {
        Rule rule;
        for (const std::int64_t size : {4, 2, 8})
            rule.factors.push_back({std::string(1, static_cast<char>('f' + rule.factors.size())),
                                    size,
                                    FactorKind::Parallel,
                                    ReduceKind::None,
                                    false,
                                    {}});
        TensorMap map;
        map.dims = {{0, 1, 2}};
        const AxisSpace space(*Mesh::parse("a=2,b=4,c=16"));
        const auto roundTrip = [&](const DimAxes& dim) {
            const AxisSharding sharding{{dim}};
            const FactorRow row = projectToFactors(rule, map, sharding);
            std::vector<AxisList> axes;
            for (const FactorAxes& f : row.factors)
                axes.push_back(f.axes);
            return fromFactors(rule, map, axes, true);
        };
        const auto axis = [&](const char* text) { return *space.parse(text); };
        for (const DimAxes& dim :
             {DimAxes{{{0, {axis("a")}}}}, DimAxes{{{0, {axis("b"), axis("a")}}}},
              DimAxes{{{0, {axis("c")}}}}, DimAxes{{{4, {}}, {16, {axis("a"), axis("b")}}}},
              DimAxes{{{8, {axis("a")}}, {8, {axis("b")}}}}})
            QCOMPARE(roundTrip(dim), AxisSharding{{dim}});
        // A component whose edge is inside a factor says nothing of it, and forbids the rest.
        const FactorRow row =
            projectToFactors(rule, map, AxisSharding{{DimAxes{{{2, {}}, {32, {axis("a")}}}}}});
        QVERIFY(!row.factors[0].open && row.factors[0].axes.empty() &&
                !row.factors[0].overflow.empty());
        // 6 and 4 share a 2; the rest of the axis is beyond the factor.
        const AxisSpace six(*Mesh::parse("a=6"));
        const FactorRow cut =
            projectToFactors(rule, map, AxisSharding{{DimAxes{{{0, {six.whole(0)}}}}}});
        QCOMPARE(cut.factors[0].axes, (AxisList{{0, 1, 2}}));
        QCOMPARE(cut.factors[0].overflow, (AxisList{{0, 2, 3}}));
        QVERIFY(!cut.factors[1].open);
    }
};

QTEST_GUILESS_MAIN(TstAxisSharding)
#include "tst_axis_sharding.moc"
