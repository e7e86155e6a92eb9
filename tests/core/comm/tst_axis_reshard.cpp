// SPDX-License-Identifier: Apache-2.0
#include "comm/axis_reshard.h"

#include <QtTest>

#include <random>

using namespace shardwright;

namespace {

/// Follows the plan on the axis lists alone. Empty: it does not lead where it says.
std::vector<AxisList> follow(std::vector<AxisList> now, const std::vector<AxisCollective>& plan) {
    const auto cut = [](AxisList& axes, const AxisList& tail) {
        for (std::size_t i = tail.size(); i-- > 0;) {
            if (axes.empty())
                return false;
            const auto rest = axes.back().without(tail[i]);
            if (!axes.back().contains(tail[i]) || axes.back().next() != tail[i].next())
                return false;
            if (rest)
                axes.back() = *rest;
            else
                axes.pop_back();
        }
        return true;
    };
    for (const AxisCollective& c : plan) {
        switch (c.kind) {
            case AxisCollective::Kind::Slice:
                for (std::size_t d = 0; d < now.size(); ++d)
                    for (const AxisRef& axis : c.axes[d])
                        appendAxis(now[d], axis);
                break;
            case AxisCollective::Kind::AllGather:
                for (std::size_t d = 0; d < now.size(); ++d)
                    if (!cut(now[d], c.axes[d]))
                        return {};
                break;
            case AxisCollective::Kind::AllToAll:
                if (!cut(now[c.from], c.moved))
                    return {};
                for (const AxisRef& axis : c.moved)
                    appendAxis(now[c.to], axis);
                break;
            case AxisCollective::Kind::Permute:
                // Every dimension keeps its number of shards.
                for (std::size_t d = 0; d < now.size(); ++d)
                    if (shardsOf(now[d]) != shardsOf(c.result[d]))
                        return {};
                now = c.result;
                break;
        }
        if (now != c.result)
            return {};
    }
    return now;
}

}  // namespace

class TstAxisReshard : public QObject {
    Q_OBJECT
private slots:
    void everyPlanLeadsToItsTarget() {
        const AxisSpace space(*Mesh::parse("x=2,y=4,z=2,w=8"));
        std::mt19937 random(11);
        const auto upTo = [&](int n) {
            return std::uniform_int_distribution<int>(0, n - 1)(random);
        };
        const std::vector<std::int64_t> shape{256, 256, 256};
        const auto randomSharding = [&] {
            std::vector<AxisList> dims(3);
            std::vector<int> axes{0, 1, 2, 3};
            std::shuffle(axes.begin(), axes.end(), random);
            for (const int axis : axes) {
                const int dim = upTo(5);
                if (dim >= 3)
                    continue;
                AxisRef ref = space.whole(axis);
                if (ref.size > 2 && upTo(3) == 0)
                    ref = upTo(2) == 0 ? AxisRef{axis, 1, 2} : AxisRef{axis, 2, ref.size / 2};
                appendAxis(dims[static_cast<std::size_t>(dim)], ref);
            }
            return dims;
        };
        int steps = 0, permutes = 0;
        for (int i = 0; i < 3000; ++i) {
            const auto from = randomSharding(), to = randomSharding();
            const auto plan = planAxisReshard(shape, from, to);
            QCOMPARE(follow(from, plan), to);
            QCOMPARE(plan.empty(), from == to);
            steps += static_cast<int>(plan.size());
            for (const AxisCollective& c : plan)
                permutes += c.kind == AxisCollective::Kind::Permute ? 1 : 0;
        }
        QVERIFY(steps > 3000 && permutes > 100);
    }

    void axesThatDoNotDivideEachOtherAreBroughtToo() {
        const AxisSpace space(*Mesh::parse("x=2,y=3,z=5"));
        std::mt19937 random(3);
        const auto upTo = [&](int n) {
            return std::uniform_int_distribution<int>(0, n - 1)(random);
        };
        for (int i = 0; i < 500; ++i) {
            std::vector<AxisList> ends[2] = {std::vector<AxisList>(2), std::vector<AxisList>(2)};
            for (auto& end : ends)
                for (int axis = 0; axis < 3; ++axis)
                    if (const int dim = upTo(3); dim < 2)
                        end[static_cast<std::size_t>(dim)].push_back(space.whole(axis));
            QCOMPARE(follow(ends[0], planAxisReshard({60, 60}, ends[0], ends[1])), ends[1]);
        }
    }
};

QTEST_GUILESS_MAIN(TstAxisReshard)
#include "tst_axis_reshard.moc"
