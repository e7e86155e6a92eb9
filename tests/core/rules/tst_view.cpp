// SPDX-License-Identifier: Apache-2.0
#include "rule_fixture.h"
#include "rules/common_factors.h"

#include <QTest>

#include <random>

using namespace shardwright;
using namespace shardwright::test;

namespace {

ModelBuilder reshape(const Shape& from, const std::vector<std::int64_t>& to) {
    return ModelBuilder().input("x", from).ints("shape", to).op("Reshape", {"x", "shape"}, {"y"});
}

/// How far apart two neighbours of each part are, in row-major order; -1 where the part is not.
std::vector<std::int64_t> strides(const CommonFactors& common,
                                  const std::vector<std::vector<int>>& dims) {
    std::vector<std::int64_t> strides(common.parts.size(), -1);
    std::int64_t stride = 1;
    for (std::size_t d = dims.size(); d-- > 0;)
        for (std::size_t i = dims[d].size(); i-- > 0;) {
            strides[static_cast<std::size_t>(dims[d][i])] = stride;
            stride *= common.parts[static_cast<std::size_t>(dims[d][i])].size;
        }
    return strides;
}

bool multiplies(const CommonFactors& common, const std::vector<int>& parts, std::int64_t size) {
    std::int64_t product = 1;
    for (const int part : parts)
        product *= common.parts[static_cast<std::size_t>(part)].size;
    return product == size;
}

}  // namespace

class TstView : public QObject {
    Q_OBJECT

private slots:
    void headsAreTakenApart() {
        COMPARE_RULE(reshape({2, 6, 64}, {2, 6, 4, 16}), "a b (c d), shape^ -> a b c d");
    }
    void headsAreJoined() {
        COMPARE_RULE(reshape({2, 6, 4, 16}, {2, 6, 64}), "a b c d, shape^ -> a b (c d)");
    }
    void batchAndSequenceAreJoined() {
        COMPARE_RULE(reshape({2, 6, 8}, {12, 8}), "a b c, shape^ -> (a b) c");
    }
    void everythingIsJoined() { COMPARE_RULE(reshape({8, 8}, {64, 1}), "a b, shape^ -> (a b) 1"); }
    void zeroAndMinusOneAreResolved() {
        COMPARE_RULE(reshape({2, 6, 64}, {0, 0, 4, -1}), "a b (c d), shape^ -> a b c d");
    }
    void onesHaveNoFactor() { COMPARE_RULE(reshape({1, 6, 1}, {6}), "1 a 1, 1 -> a"); }
    void scalars() { COMPARE_RULE(reshape({1, 1}, {}), "1 1, shape^ -> ."); }
    void sizesThatDoNotNestShareTheirDivisors() {
        COMPARE_RULE(reshape({6, 4}, {4, 6}), "(a c^) (d^ b), shape^ -> (a e^) (f^ b)");
    }
    void coprimeSizesAreWhole() {
        const Rule rule = lastRule(reshape({3, 2}, {2, 3}));
        QCOMPARE(QString::fromStdString(rule.text()), QStringLiteral("a^ b^, shape^ -> c^ d^"));
        QCOMPARE(rule.factors[0].reason,
                 std::string("the sizes of the two shapes do not nest here"));
    }
    void emptyTensorsAreWhole() {
        COMPARE_RULE(reshape({0, 4}, {2, 0}),
                     "fallback: the shapes or attributes do not fit Reshape");
    }
    void theShapeBecomesLocal() {
        COMPARE_REWRITES(reshape({2, 6}, {12}), "LocalShapeInput slot 1");
    }
    void beforeOpset5TheShapeIsAnAttribute() {
        const ModelBuilder model = ModelBuilder(4)
                                       .input("x", {2, 6})
                                       .output("y", {12})
                                       .op("Reshape", {"x"}, {"y"}, "", {{"shape", {12}}});
        COMPARE_RULE(model, "a b -> (a b)");
        COMPARE_REWRITES(model, "LocalShapeAttribute shape");
    }
    void viewsCostNothing() {
        const Rule rule = lastRule(reshape({2, 6}, {12}));
        QCOMPARE(rule.flopsPerPoint, 0.0);
        QVERIFY(!rule.strict);
        QCOMPARE(rule.strictReason, std::string("proposal 0007 has no rule for Reshape"));
    }

    void flattenJoinsOnBothSides() {
        COMPARE_RULE(ModelBuilder().input("x", {2, 3, 4}).op("Flatten", {"x"}, {"y"}),
                     "a b c -> a (b c)");
        COMPARE_RULE(
            ModelBuilder().input("x", {2, 3, 4}).op("Flatten", {"x"}, {"y"}, "", {{"axis", 2}}),
            "a b c -> (a b) c");
        COMPARE_RULE(
            ModelBuilder().input("x", {2, 3}).op("Flatten", {"x"}, {"y"}, "", {{"axis", 0}}),
            "a b -> 1 (a b)");
    }
    void squeezeAndUnsqueeze() {
        COMPARE_RULE(
            ModelBuilder().input("x", {2, 1, 3}).ints("a", {1}).op("Squeeze", {"x", "a"}, {"y"}),
            "a 1 b, 1 -> a b");
        COMPARE_RULE(
            ModelBuilder().input("x", {2, 3}).ints("a", {0, 3}).op("Unsqueeze", {"x", "a"}, {"y"}),
            "a b, axes^ -> 1 a b 1");
        COMPARE_RULE(
            ModelBuilder(11).input("x", {2, 3}).op("Unsqueeze", {"x"}, {"y"}, "", {{"axes", {1}}}),
            "a b -> a 1 b");
    }
    void squeezeWithoutAxesRunsAsReshape() {
        COMPARE_REWRITES(ModelBuilder().input("x", {2, 1, 3}).op("Squeeze", {"x"}, {"y"}),
                         "RunAsReshape slot 0");
        COMPARE_REWRITES(
            ModelBuilder(11).input("x", {2, 1}).op("Squeeze", {"x"}, {"y"}, "", {{"axes", {1}}}),
            "");
    }

    void transposePermutes() {
        COMPARE_RULE(ModelBuilder().input("x", {2, 3, 4}).op("Transpose", {"x"}, {"y"}),
                     "d0 d1 d2 -> d2 d1 d0");
        COMPARE_RULE(ModelBuilder()
                         .input("x", {2, 3, 4})
                         .op("Transpose", {"x"}, {"y"}, "", {{"perm", {0, 2, 1}}}),
                     "d0 d1 d2 -> d0 d2 d1");
    }
    void hostilePermutationsFallBack() {
        for (const std::vector<std::int64_t>& perm :
             {std::vector<std::int64_t>{0, 0}, {0}, {0, 5}, {0, -9}, {0, 1, 1}})
            QVERIFY(!lastRule(ModelBuilder()
                                  .input("x", {2, 2})
                                  .output("y", {2, 2})
                                  .op("Transpose", {"x"}, {"y"}, "", {{"perm", perm}}))
                         .known);
    }
    void depthAndSpace() {
        COMPARE_RULE(ModelBuilder()
                         .input("x", {2, 12, 5, 7})
                         .op("DepthToSpace", {"x"}, {"y"}, "", {{"blocksize", 2}}),
                     "n (u^ v^ c) h w -> n c (h u^) (w v^)");
        COMPARE_RULE(ModelBuilder()
                         .input("x", {2, 12, 5, 7})
                         .op("DepthToSpace", {"x"}, {"y"}, "", {{"blocksize", 2}, {"mode", "CRD"}}),
                     "n (c u^ v^) h w -> n c (h u^) (w v^)");
        COMPARE_RULE(ModelBuilder()
                         .input("x", {2, 3, 10, 14})
                         .op("SpaceToDepth", {"x"}, {"y"}, "", {{"blocksize", 2}}),
                     "n c (h u^) (w v^) -> n (u^ v^ c) h w");
    }

    /// A part that both shapes have must be the same digit of the element's number in both.
    void sharedPartsAreEqualDigits() {
        std::mt19937 random(7);
        const auto shape = [&](std::int64_t total) {
            std::vector<std::int64_t> sizes;
            while (total > 1 || random() % 4 == 0) {
                std::int64_t size = 1;
                for (const std::int64_t prime : {2, 2, 3, 5})
                    if (random() % 2 == 0 && total % (size * prime) == 0)
                        size *= prime;
                total /= size;
                sizes.push_back(size);
            }
            std::shuffle(sizes.begin(), sizes.end(), random);
            return sizes;
        };
        for (int round = 0; round < 2000; ++round) {
            const std::int64_t total = std::vector<std::int64_t>{1, 24, 64, 360, 900}[random() % 5];
            const auto in = shape(total), out = shape(total);
            const CommonFactors common = commonFactors(in, out);
            QVERIFY(common.fits);
            const auto strideIn = strides(common, common.in),
                       strideOut = strides(common, common.out);
            for (std::size_t p = 0; p < common.parts.size(); ++p) {
                QCOMPARE(strideIn[p] >= 0, common.parts[p].in);
                QCOMPARE(strideOut[p] >= 0, common.parts[p].out);
                if (common.parts[p].in && common.parts[p].out)
                    QCOMPARE(strideIn[p], strideOut[p]);
            }
            for (std::size_t d = 0; d < in.size(); ++d)
                QVERIFY(multiplies(common, common.in[d], in[d]));
            for (std::size_t d = 0; d < out.size(); ++d)
                QVERIFY(multiplies(common, common.out[d], out[d]));
        }
    }
    void productsThatDifferDoNotFit() {
        QVERIFY(!commonFactors({2, 3}, {7}).fits);
        QVERIFY(!commonFactors({2, 3}, {2}).fits);
        QVERIFY(!commonFactors({}, {2}).fits);
        QVERIFY(!commonFactors({1LL << 62, 4}, {1LL << 61, 8, 3}).fits);
        QVERIFY(commonFactors({}, {1, 1}).fits);
    }
};

QTEST_GUILESS_MAIN(TstView)
#include "tst_view.moc"
