// SPDX-License-Identifier: Apache-2.0
#include "run/pack.h"

#include <QTest>

#include <random>

using namespace shardwright;

namespace {

IndexSet randomSubset(const IndexSet& of, std::mt19937& random, bool all) {
    std::vector<IndexSet::Interval> picked;
    for (const auto& interval : of.intervals())
        for (auto i = interval.begin; i < interval.end; ++i)
            if (all || random() % 3 != 0)
                picked.push_back({i, i + 1});
    return IndexSet(picked);
}

std::vector<std::int64_t> indicesOf(const IndexSet& set) {
    std::vector<std::int64_t> indices;
    for (const auto& interval : set.intervals())
        for (auto i = interval.begin; i < interval.end; ++i)
            indices.push_back(i);
    return indices;
}

/// All index tuples of a box, row-major.
std::vector<std::vector<std::int64_t>> tuplesOf(const Box& box) {
    std::vector<std::vector<std::int64_t>> tuples{{}};
    for (const IndexSet& set : box.dims) {
        std::vector<std::vector<std::int64_t>> longer;
        for (const auto& tuple : tuples)
            for (const std::int64_t i : indicesOf(set)) {
                longer.push_back(tuple);
                longer.back().push_back(i);
            }
        tuples = std::move(longer);
    }
    return tuples;
}

}  // namespace

class TstPack : public QObject {
    Q_OBJECT

private slots:
    void copiesWhatBruteForceCopies_data() {
        QTest::addColumn<int>("bytes");
        for (const int bytes : {1, 2, 4, 8, 16})
            QTest::addRow("%d bytes", bytes) << bytes;
    }
    void copiesWhatBruteForceCopies() {
        QFETCH(int, bytes);
        std::mt19937 random(static_cast<unsigned>(bytes));
        for (int round = 0; round < 200; ++round) {
            Box whole, source, target, region;
            for (std::size_t d = 0; d < random() % 4; ++d) {
                whole.dims.emplace_back(0, 1 + random() % 5);
                source.dims.push_back(randomSubset(whole.dims[d], random, random() % 2 == 0));
                target.dims.push_back(randomSubset(whole.dims[d], random, random() % 2 == 0));
                region.dims.push_back(randomSubset(source.dims[d].intersect(target.dims[d]), random,
                                                   random() % 2 == 0));
            }
            const auto from = tuplesOf(source), to = tuplesOf(target), moved = tuplesOf(region);
            const auto size = static_cast<std::size_t>(bytes);
            std::vector<std::byte> a(from.size() * size), b(to.size() * size), expected;
            for (auto& x : a)
                x = static_cast<std::byte>(1 + random() % 255);
            expected = b;
            for (const auto& tuple : moved) {
                const auto s = std::find(from.begin(), from.end(), tuple) - from.begin();
                const auto t = std::find(to.begin(), to.end(), tuple) - to.begin();
                std::copy_n(a.begin() + s * bytes, bytes, expected.begin() + t * bytes);
            }
            auto copy = RegionCopy::make(source, target, region, bytes * 8);
            QVERIFY2(copy, copy ? "" : copy.error().message.c_str());
            QCOMPARE(copy->bytes(), region.empty() ? 0 : moved.size() * size);
            copy->run(a.data(), b.data());
            QVERIFY(b == expected);
        }
    }

    void innerDimensionsThatAreWholeMakeOneRun() {
        const Box whole = Box::whole({4, 6, 8});
        Box rows = whole;
        rows.dims[0] = IndexSet(1, 3);
        auto copy = RegionCopy::make(whole, rows, rows, 32);
        QVERIFY(copy);
        int runs = 0;
        copy->forEachRun([&](std::size_t from, std::size_t to, std::size_t bytes) {
            ++runs;
            QCOMPARE(from, std::size_t(1 * 48 * 4));
            QCOMPARE(to, std::size_t(0));
            QCOMPARE(bytes, std::size_t(2 * 48 * 4));
        });
        QCOMPARE(runs, 1);
        QVERIFY(!copy->wholeToWhole());
        QVERIFY(RegionCopy::make(rows, rows, rows, 32)->wholeToWhole());
    }

    void packedNibblesAreCopiedWhereBytesAllow() {
        const Box whole = Box::whole({4, 4});
        Box rows = whole, columns = whole;
        rows.dims[0] = IndexSet(2, 4);
        columns.dims[1] = IndexSet(2, 4);
        const std::vector<std::uint8_t> data{0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe};
        std::vector<std::uint8_t> out(4);
        RegionCopy::make(whole, rows, rows, 4)
            ->run(reinterpret_cast<const std::byte*>(data.data()),
                  reinterpret_cast<std::byte*>(out.data()));
        QCOMPARE(out, (std::vector<std::uint8_t>{0x98, 0xba, 0xdc, 0xfe}));
        RegionCopy::make(whole, columns, columns, 4)
            ->run(reinterpret_cast<const std::byte*>(data.data()),
                  reinterpret_cast<std::byte*>(out.data()));
        QCOMPARE(out, (std::vector<std::uint8_t>{0x32, 0x76, 0xba, 0xfe}));
        columns.dims[1] = IndexSet(1, 3);
        const auto refused = RegionCopy::make(whole, columns, columns, 4);
        QVERIFY(!refused);
        QCOMPARE(QString::fromStdString(refused.error().message),
                 QString("elements of 4 bits would be cut inside of a byte"));
    }

    void aRegionOutsideIsRefused() {
        Box rows = Box::whole({4, 4});
        rows.dims[0] = IndexSet(1, 3);
        QVERIFY(!RegionCopy::make(rows, Box::whole({4, 4}), Box::whole({4, 4}), 32));
    }
};

QTEST_GUILESS_MAIN(TstPack)
#include "tst_pack.moc"
