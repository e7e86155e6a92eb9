// SPDX-License-Identifier: Apache-2.0
#include "inference/solve.h"

#include "inference/factor_alignment.h"
#include "inference/index_product.h"

#include <QtTest>

#include <random>

using namespace shardwright;

namespace {

using Shape = std::vector<std::int64_t>;

/// A rule of named factors: dims are lists of letters, one string a dimension ("hd" = h major, d
/// minor, "" = size 1).
class RuleText {
public:
    RuleText& factor(const char* name, std::int64_t size, FactorKind kind = FactorKind::Parallel) {
        Factor f;
        f.name = name;
        f.size = size;
        f.kind = kind;
        f.reduce = kind == FactorKind::Reduction ? ReduceKind::Sum : ReduceKind::None;
        f.reason = "for this test";
        m_rule.factors.push_back(f);
        return *this;
    }
    RuleText& input(const std::vector<std::string>& dims) {
        m_rule.inputs.push_back(map(dims));
        return *this;
    }
    RuleText& output(const std::vector<std::string>& dims) {
        m_rule.outputs.push_back(map(dims));
        return *this;
    }
    RuleText& slice(SliceExtra extra) {
        m_rule.slices.push_back(extra);
        return *this;
    }
    RulePtr build() const { return std::make_shared<const Rule>(m_rule); }

private:
    TensorMap map(const std::vector<std::string>& dims) const {
        TensorMap result;
        for (const std::string& dim : dims) {
            result.dims.emplace_back();
            for (const char c : dim)
                for (std::size_t f = 0; f < m_rule.factors.size(); ++f)
                    if (m_rule.factors[f].name == std::string(1, c))
                        result.dims.back().push_back(static_cast<int>(f));
        }
        return result;
    }
    Rule m_rule;
};

TensorInfo infoOf(const Shape& shape) {
    TensorInfo info;
    info.kind = TensorInfo::Kind::Tensor;
    info.hasRank = true;
    info.dims = shape;
    return info;
}

struct Solved {
    NodeSolution solution;
    explicit Solved(NodeSolution s) : solution(std::move(s)) {}
    const Layout& natural() const { return *solution.natural.at(0); }
};

LayoutPool& pool() {
    static LayoutPool pool;
    return pool;
}

LayoutRef layout(const Shape& shape, std::vector<std::vector<Component>> dims,
                 std::vector<DeviceGroup> groups) {
    return pool().intern(Layout(shape, std::move(dims), std::move(groups)));
}

Solved solve(const RulePtr& rule, const std::vector<LayoutRef>& inputs, const Shape& output,
             DeviceGroup devices) {
    const TensorInfo info = infoOf(output);
    return Solved(solveNode(rule, devices, inputs, {&info}, pool()));
}

RulePtr matMul(std::int64_t m, std::int64_t k, std::int64_t n) {
    return RuleText()
        .factor("m", m)
        .factor("k", k, FactorKind::Reduction)
        .factor("n", n)
        .input({"m", "k"})
        .input({"k", "n"})
        .output({"m", "n"})
        .build();
}

}  // namespace

class TstSolve : public QObject {
    Q_OBJECT
private slots:
    void aBroadcastOfTwoAxesComposes();
    void aBroadcastWithEqualGroupsHasACellWithoutDevice();
    void rowsAndColumnsOnTheSameDevicesLeaveHalfTheCellsEmpty();
    void aSplitContractionGivesAPartialResultOnAllParticipants();
    void aWholeCopyIsCutLocally();
    void aSplitWholeFactorIsAProblem();
    void headsFollowASplitColumnThroughAView();
    void aShardEdgeInsideAFactorIsAProblem();
    void aViewOfTwoFactorsTakesAFinerSplitApart();
    void fusedColumnsStayStrided();
    void unequalCutsMeetInTheirCommonRefinement();
    void aSliceOfASplitAxisKeepsWhatEachShardHas();
    void theDeviceOfAnEmptyShardStays();
    void aRefinementSeparatesWhateverOneOfItsPartsSeparates();
    void aComponentHasAllEdges();
};

void TstSolve::aBroadcastOfTwoAxesComposes() {
    const RulePtr rule = RuleText()
                             .factor("m", 4)
                             .factor("n", 6)
                             .input({"m", ""})
                             .input({"", "n"})
                             .output({"m", "n"})
                             .build();
    const auto s = solve(rule,
                         {layout({4, 1}, {{{4, 2}}, {}}, {{0, 1}, {2, 3}}),
                          layout({1, 6}, {{}, {{6, 2}}}, {{0, 2}, {1, 3}})},
                         {4, 6}, {0, 1, 2, 3});
    QVERIFY(s.solution.problems.empty());
    QVERIFY(s.natural() == Layout({4, 6}, {{{4, 2}}, {{6, 2}}}, {{0}, {1}, {2}, {3}}));
}

void TstSolve::aBroadcastWithEqualGroupsHasACellWithoutDevice() {
    const RulePtr rule = RuleText()
                             .factor("m", 4)
                             .factor("n", 6)
                             .input({"m", ""})
                             .input({"", "n"})
                             .output({"m", "n"})
                             .build();
    const auto s = solve(rule,
                         {layout({4, 1}, {{{4, 2}}, {}}, {{0, 1}, {2, 3}}),
                          layout({1, 6}, {{}, {{6, 2}}}, {{0, 1}, {2, 3}})},
                         {4, 6}, {0, 1, 2, 3});
    QCOMPARE(s.solution.problems.size(), 1u);
    QCOMPARE(s.solution.problems[0].kind, MeaningProblem::Kind::NoDevice);
    QCOMPARE(s.solution.problems[0].cells, 4);
    QCOMPARE(s.solution.problems[0].cellsWithoutDevice, 2);
}

void TstSolve::rowsAndColumnsOnTheSameDevicesLeaveHalfTheCellsEmpty() {
    const auto s = solve(
        matMul(8, 6, 4),
        {layout({8, 6}, {{}, {{6, 2}}}, {{0}, {1}}), layout({6, 4}, {{}, {{4, 2}}}, {{0}, {1}})},
        {8, 4}, {0, 1});
    QCOMPARE(s.solution.problems.size(), 1u);
    QCOMPARE(s.solution.problems[0].cellsWithoutDevice, 2);
    QCOMPARE(s.solution.problems[0].slot, 1);
    QCOMPARE(s.solution.problems[0].otherSlot, 0);
}

void TstSolve::aSplitContractionGivesAPartialResultOnAllParticipants() {
    const auto s = solve(
        matMul(8, 6, 4),
        {layout({8, 6}, {{}, {{6, 2}}}, {{0}, {1}}), layout({6, 4}, {{{6, 2}}, {}}, {{0}, {1}})},
        {8, 4}, {0, 1});
    QVERIFY(s.solution.problems.empty());
    QVERIFY(s.natural() == Layout::replicated({8, 4}, {0, 1}));
    QCOMPARE(s.solution.cells->partialFactors(0), (std::vector<int>{1}));
}

void TstSolve::aWholeCopyIsCutLocally() {
    const auto s =
        solve(matMul(8, 6, 4),
              {layout({8, 6}, {{}, {}}, {{0, 1}}), layout({6, 4}, {{}, {{4, 2}}}, {{0}, {1}})},
              {8, 4}, {0, 1});
    QVERIFY(s.solution.problems.empty());
    QVERIFY(s.natural() == Layout({8, 4}, {{}, {{4, 2}}}, {{0}, {1}}));
    // Whole everywhere says the same.
    const auto e = solve(matMul(8, 6, 4), {nullptr, layout({6, 4}, {{}, {{4, 2}}}, {{0}, {1}})},
                         {8, 4}, {0, 1});
    QVERIFY(e.natural() == s.natural());
}

void TstSolve::aSplitWholeFactorIsAProblem() {
    const RulePtr rule = RuleText()
                             .factor("b", 4)
                             .factor("h", 6, FactorKind::Whole)
                             .input({"b", "h"})
                             .output({"b", "h"})
                             .build();
    const auto s = solve(rule, {layout({4, 6}, {{}, {{6, 2}}}, {{0}, {1}})}, {4, 6}, {0, 1});
    QCOMPARE(s.solution.problems.size(), 1u);
    QCOMPARE(s.solution.problems[0].kind, MeaningProblem::Kind::SplitWhole);
    QCOMPARE(s.solution.problems[0].factor, 1);
    QCOMPARE(s.solution.problems[0].dim, 1);
}

void TstSolve::headsFollowASplitColumnThroughAView() {
    const RulePtr rule = RuleText()
                             .factor("s", 8)
                             .factor("h", 4)
                             .factor("d", 16)
                             .input({"s", "hd"})
                             .output({"s", "h", "d"})
                             .build();
    const auto s = solve(rule, {layout({8, 64}, {{}, {{64, 2}}}, {{0}, {1}})}, {8, 4, 16}, {0, 1});
    QVERIFY(s.natural() == Layout({8, 4, 16}, {{}, {{4, 2}}, {}}, {{0}, {1}}));
    // And back.
    const RulePtr back = RuleText()
                             .factor("s", 8)
                             .factor("h", 4)
                             .factor("d", 16)
                             .input({"s", "h", "d"})
                             .output({"s", "hd"})
                             .build();
    const auto b = solve(back, {pool().intern(s.natural())}, {8, 64}, {0, 1});
    QVERIFY(b.natural() == Layout({8, 64}, {{}, {{64, 2}}}, {{0}, {1}}));
}

void TstSolve::aShardEdgeInsideAFactorIsAProblem() {
    const RulePtr rule =
        RuleText().factor("h", 4).factor("d", 16).input({"hd"}).output({"h", "d"}).build();
    const auto s = solve(rule, {layout({64}, {{{64, 3}}}, {{0}, {1}, {2}})}, {4, 16}, {0, 1, 2});
    QCOMPARE(s.solution.problems.size(), 1u);
    QCOMPARE(s.solution.problems[0].kind, MeaningProblem::Kind::ViewEdge);
}

void TstSolve::aViewOfTwoFactorsTakesAFinerSplitApart() {
    const RulePtr rule =
        RuleText().factor("h", 2).factor("d", 16).input({"hd"}).output({"h", "d"}).build();
    const auto s =
        solve(rule, {layout({32}, {{{32, 4}}}, {{0}, {1}, {2}, {3}})}, {2, 16}, {0, 1, 2, 3});
    QVERIFY(s.natural() == Layout({2, 16}, {{{2, 2}}, {{16, 2}}}, {{0}, {1}, {2}, {3}}));
}

void TstSolve::fusedColumnsStayStrided() {
    // [b, s] with s split, flattened: an inner part of the fused dimension is split.
    const RulePtr rule =
        RuleText().factor("b", 4).factor("s", 6).input({"b", "s"}).output({"bs"}).build();
    const auto s = solve(rule, {layout({4, 6}, {{}, {{6, 2}}}, {{0}, {1}})}, {24}, {0, 1});
    QVERIFY(s.natural() == Layout({24}, {{{4, 1}, {6, 2}}}, {{0}, {1}}));
}

void TstSolve::unequalCutsMeetInTheirCommonRefinement() {
    const RulePtr rule = RuleText().factor("i", 12).input({"i"}).input({"i"}).output({"i"}).build();
    const auto s = solve(
        rule,
        {layout({12}, {{{12, 2}}}, {{0, 1}, {1, 2}}), layout({12}, {{{12, 3}}}, {{0}, {1}, {2}})},
        {12}, {0, 1, 2});
    QVERIFY(s.solution.problems.empty());
    // Cuts at 4, 6 and 8: [0,4) on 0, [4,8) on 1, [8,12) on 2.
    QVERIFY(s.natural() == Layout({12}, {{{12, 3}}}, {{0}, {1}, {2}}));
}

void TstSolve::aSliceOfASplitAxisKeepsWhatEachShardHas() {
    SliceExtra extra;
    extra.factor = 0;
    extra.start = 2;
    extra.count = 10;
    const RulePtr rule = RuleText()
                             .factor("a", 16, FactorKind::Neighbour)
                             .input({"a"})
                             .output({"a"})
                             .slice(extra)
                             .build();
    const auto s = solve(rule, {layout({16}, {{{16, 3}}}, {{0}, {1}, {2}})}, {10}, {0, 1, 2});
    QVERIFY(s.solution.problems.empty());
    QCOMPARE(s.natural().holding(0), (std::vector<Box>{{{IndexSet(0, 4)}}}));
    QCOMPARE(s.natural().holding(1), (std::vector<Box>{{{IndexSet(4, 10)}}}));
    QVERIFY(s.natural().holding(2).empty());
}

void TstSolve::theDeviceOfAnEmptyShardStays() {
    const RulePtr rule = RuleText().factor("a", 5).input({"a"}).output({"a"}).build();
    const auto s = solve(rule, {layout({5}, {{{5, 4}}}, {{0}, {1}, {2}, {3}})}, {5}, {0, 1, 2, 3});
    QVERIFY(s.solution.problems.empty());
    QCOMPARE(s.natural().devices(), (DeviceGroup{0, 1, 2, 3}));
    QVERIFY(s.natural().holding(3).empty());
}

void TstSolve::aRefinementSeparatesWhateverOneOfItsPartsSeparates() {
    std::mt19937 random(3);
    const auto cutOf = [&](std::int64_t size) {
        FactorCut cut;
        cut.components.clear();
        if (size % 6 == 0 && random() % 2)
            cut.components = {{3, 1 + static_cast<std::int64_t>(random() % 3)},
                              {size / 3, 1 + static_cast<std::int64_t>(random() % 3)}};
        else
            cut.components = {{size, 1 + static_cast<std::int64_t>(random() % 5)}};
        return cut;
    };
    for (int round = 0; round < 300; ++round) {
        const std::int64_t size = 6 + static_cast<std::int64_t>(random() % 19);
        const FactorCut a = cutOf(size), b = cutOf(size), r = refine(a, b);
        std::int64_t covered = 0;
        for (std::int64_t c = 0; c < r.classes(); ++c) {
            const IndexSet set = r.elements(c);
            covered += set.count();
            for (const FactorCut* cut : {&a, &b}) {
                bool inside = set.empty();
                for (std::int64_t k = 0; k < cut->classes() && !inside; ++k)
                    inside = cut->elements(k).contains(set);
                QVERIFY(inside);
            }
        }
        QCOMPARE(covered, size);
    }
}

void TstSolve::aComponentHasAllEdges() {
    for (std::int64_t size = 2; size < 30; ++size)
        for (std::int64_t first = 1; first < size; ++first)
            for (std::int64_t second = first; second < size; ++second) {
                const Component c = componentWithEdges(size, {first, second});
                QCOMPARE(first % c.block(), 0);
                QCOMPARE(second % c.block(), 0);
            }
}

QTEST_GUILESS_MAIN(TstSolve)
#include "tst_solve.moc"
