// SPDX-License-Identifier: Apache-2.0
#include "ui/canvas/arrangement.h"
#include "ui/canvas/child_process.h"
#include "ui/canvas/dot_layout.h"
#include "ui/canvas/layered_layout.h"

#include <QElapsedTimer>
#include <QtTest>

#include <pthread.h>

#include <random>
#include <set>

using namespace shardwright;

namespace {

using Kind = RankedLayout::Kind;

LayoutInput graph(int items, std::vector<std::pair<int, int>> edges) {
    LayoutInput input;
    input.items.assign(static_cast<std::size_t>(items), {100, 40, LayoutInput::Pin::None});
    std::map<int, int> nets;
    for (const auto& [from, to] : edges)
        input.edges.push_back(
            {from, to, nets.try_emplace(from, static_cast<int>(nets.size())).first->second});
    input.netCount = static_cast<int>(nets.size());
    return input;
}

LayoutInput chain(int length) {
    std::vector<std::pair<int, int>> edges;
    for (int i = 1; i < length; ++i)
        edges.emplace_back(i - 1, i);
    return graph(length, std::move(edges));
}

LayoutInput randomGraph(int items, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<std::pair<int, int>> edges;
    for (int to = 1; to < items; ++to) {
        for (int k = 0; k < 2; ++k)
            edges.emplace_back(std::max(0, to - 1 - static_cast<int>(random() % 9)), to);
    }
    std::sort(edges.begin(), edges.end());
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    return graph(items, std::move(edges));
}

std::shared_ptr<const Arrangement> arranged(const LayoutInput& input,
                                            std::shared_ptr<const RankedLayout> layout) {
    std::vector<ItemShape> shapes;
    for (const auto& item : input.items)
        shapes.push_back({item.width, item.height, false, {}, {}});
    return arrange(std::move(layout), std::move(shapes), {});
}

int stubs(const RankedLayout& layout, Kind kind) {
    return static_cast<int>(std::count_if(layout.vertices.begin(), layout.vertices.end(),
                                          [&](const auto& vertex) { return vertex.kind == kind; }));
}

/// Every vertex lies in exactly one layer, its own; links join neighbouring layers.
void checkSound(const RankedLayout& layout) {
    std::size_t seen = 0;
    for (std::size_t r = 0; r < layout.layers.size(); ++r) {
        for (const int v : layout.layers[r])
            QCOMPARE(layout.vertices[static_cast<std::size_t>(v)].rank, static_cast<int>(r));
        seen += layout.layers[r].size();
    }
    QCOMPARE(seen, layout.vertices.size());
    for (const auto& link : layout.links) {
        QCOMPARE(layout.vertices[static_cast<std::size_t>(link.lower)].rank,
                 layout.vertices[static_cast<std::size_t>(link.upper)].rank + 1);
    }
}

void checkNothingOverlaps(const Arrangement& arrangement) {
    for (const auto& layer : arrangement.ranked->layers) {
        for (std::size_t i = 1; i < layer.size(); ++i) {
            const auto& left = arrangement.spots[static_cast<std::size_t>(layer[i - 1])];
            const auto& right = arrangement.spots[static_cast<std::size_t>(layer[i])];
            QVERIFY2(left.x + left.width < right.x + 0.6F, "boxes of one rank overlap");
        }
    }
}

/// Runs on a thread with a small stack: recursion over the depth of a graph would end the program.
void onSmallStack(void (*work)()) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 512 * 1024);
    pthread_t thread;
    const auto start = [](void* function) -> void* {
        reinterpret_cast<void (*)()>(function)();
        return nullptr;
    };
    QCOMPARE(pthread_create(&thread, &attributes, start, reinterpret_cast<void*>(work)), 0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
}

}  // namespace

class TstLayeredLayout : public QObject {
    Q_OBJECT

private slots:
    void readersLieBelowProducers() {
        const LayoutInput input = randomGraph(200, 7);
        const auto layout = rankLayered(input);
        checkSound(*layout);
        for (const auto& edge : input.edges)
            QVERIFY(layout->vertices[static_cast<std::size_t>(edge.from)].rank <
                    layout->vertices[static_cast<std::size_t>(edge.to)].rank);
    }

    void sameInputSameLayout() {
        const LayoutInput input = randomGraph(300, 3);
        const auto one = rankLayered(input);
        const auto two = rankLayered(input);
        QVERIFY(one->layers == two->layers);
        QCOMPARE(input.hash(), randomGraph(300, 3).hash());
        QVERIFY(input.hash() != randomGraph(300, 4).hash());
    }

    void boxesOfOneRankDoNotOverlap() {
        for (unsigned seed = 0; seed < 20; ++seed) {
            const LayoutInput input = randomGraph(120, seed);
            checkNothingOverlaps(*arranged(input, rankLayered(input)));
        }
    }

    void chainIsStraight() {
        const LayoutInput input = chain(50);
        const auto arrangement = arranged(input, rankLayered(input));
        for (const auto& spot : arrangement->spots)
            QCOMPARE(spot.x, arrangement->spots[0].x);
    }

    void valueWithManyReadersBecomesPortals() {
        std::vector<std::pair<int, int>> edges;
        for (int i = 1; i <= kMaxFanOut; ++i)
            edges.emplace_back(0, i);
        QCOMPARE(stubs(*rankLayered(graph(kMaxFanOut + 2, edges)), Kind::StubIn), 0);
        edges.emplace_back(0, kMaxFanOut + 1);
        const auto layout = rankLayered(graph(kMaxFanOut + 2, edges));
        QCOMPARE(stubs(*layout, Kind::StubIn), kMaxFanOut + 1);
        QCOMPARE(stubs(*layout, Kind::StubOut), 1);
        checkSound(*layout);
    }

    void longEdgeBecomesPortal() {
        LayoutInput input = chain(40);
        input.edges.push_back({0, 39, 0});
        const auto layout = rankLayered(input);
        QCOMPARE(stubs(*layout, Kind::StubIn), 1);
        QVERIFY(layout->portal.back());
        QCOMPARE(stubs(*layout, Kind::Bend), 0);
    }

    void readersOfOneValueShareTheirTrunk() {
        // 0 -> 1 -> 2 -> 3, and 0 read by 2 and 3: bends of one value are one a rank.
        const auto layout = rankLayered(graph(4, {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {2, 3}}));
        QCOMPARE(stubs(*layout, Kind::Bend), 2);
    }

    void cycleBecomesPortal() {
        const auto layout = rankLayered(graph(3, {{0, 1}, {1, 2}, {2, 0}}));
        checkSound(*layout);
        QCOMPARE(stubs(*layout, Kind::StubIn), 1);
    }

    void portsKeepTheOuterRanks() {
        LayoutInput input = randomGraph(30, 5);
        input.items.insert(input.items.begin(), {10, 0, LayoutInput::Pin::Top});
        for (auto& edge : input.edges)
            edge = {edge.from + 1, edge.to + 1, edge.net};
        input.items.push_back({10, 0, LayoutInput::Pin::Bottom});
        input.edges.push_back({0, 20, input.netCount});
        input.edges.push_back({5, 31, input.netCount + 1});
        input.netCount += 2;
        const auto layout = rankLayered(input);
        checkSound(*layout);
        QCOMPARE(layout->layers.front(), std::vector<int>{0});
        QCOMPARE(layout->layers.back(), std::vector<int>{31});
    }

    void hundredThousandInAChainWithoutRecursion() {
        QElapsedTimer clock;
        clock.start();
        onSmallStack([] {
            const LayoutInput input = chain(100000);
            const auto arrangement = arranged(input, rankLayered(input));
            QVERIFY(arrangement->height > 100000 * 40);
        });
        // A fifth of this on an idle machine.
        QVERIFY2(clock.elapsed() < 5000, qPrintable(QString::number(clock.elapsed())));
    }

    void hundredThousandWithManyCrossingsEnds() {
        onSmallStack([] {
            const LayoutInput input = randomGraph(20000, 1);
            checkSound(*rankLayered(input));
        });
    }

    void cancelledGivesNothing() {
        const CancelToken token = CancelToken::create();
        token.cancel();
        QVERIFY(!rankLayered(randomGraph(100, 1), token));
    }

    void graphvizAgreesOnDirection() {
        const LayoutInput input = randomGraph(60, 11);
        const auto layout = rankWithDot(input, {});
        if (!layout)
            QSKIP("needs Graphviz, which is not there");
        QVERIFY(layout->fromDot);
        checkSound(*layout);
        checkNothingOverlaps(*arranged(input, layout));
        for (std::size_t e = 0; e < input.edges.size(); ++e) {
            if (!layout->portal[e])
                QVERIFY(layout->vertices[static_cast<std::size_t>(input.edges[e].from)].rank <
                        layout->vertices[static_cast<std::size_t>(input.edges[e].to)].rank);
        }
    }

    void brokenGraphvizOutputIsRefused() {
        const LayoutInput input = graph(2, {{0, 1}});
        for (const char* plain : {"", "graph 1 2 3\n", "node n0 1\nstop\n", "node n0 1 2\nstop\n",
                                  "node n0 1 2\nnode n1 1 1\nedge n0 n1 999999999 0 0\nstop\n"})
            QVERIFY(!rankedFromPlain(input, {false}, plain));
        QVERIFY(rankedFromPlain(input, {false},
                                "node n0 1 2\nnode n1 1 1\nedge n0 n1 2 1 2 1 1\nstop\n"));
    }

    void programThatHangsIsEnded() {
        QElapsedTimer clock;
        clock.start();
        QVERIFY(!runProgram({"sleep", "30"}, {}, 200, {}));
        QVERIFY(clock.elapsed() < 10000);
        QVERIFY(!runProgram({"no-such-program-anywhere"}, {}, 200, {}));
        QCOMPARE(runProgram({"cat"}, "abc", 5000, {}), std::optional<std::string>("abc"));
    }

    void cancelEndsTheProgram() {
        const CancelToken token = CancelToken::create();
        token.cancel();
        QElapsedTimer clock;
        clock.start();
        QVERIFY(!runProgram({"sleep", "30"}, {}, 20000, token));
        QVERIFY(clock.elapsed() < 10000);
    }
};

QTEST_MAIN(TstLayeredLayout)
#include "tst_layered_layout.moc"
