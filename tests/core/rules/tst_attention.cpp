// SPDX-License-Identifier: Apache-2.0
#include "rule_fixture.h"

#include <QTest>

using namespace shardwright;
using namespace shardwright::test;
using T = onnx::TensorProto;

namespace {

ModelBuilder qkv(const Shape& q, const Shape& k, const Shape& v) {
    return ModelBuilder(23).input("q", q).input("k", k).input("v", v);
}

}  // namespace

class TstAttention : public QObject {
    Q_OBJECT

private slots:
    void headsAndRowsAreParallel() {
        COMPARE_RULE(
            qkv({2, 4, 6, 8}, {2, 4, 5, 8}, {2, 4, 5, 8}).op("Attention", {"q", "k", "v"}, {"y"}),
            "b h s d^, b h t^ d^, b h t^ e -> b h s e");
    }
    void causalRowsAreWhole() {
        const Rule rule =
            lastRule(qkv({2, 4, 6, 8}, {2, 4, 6, 8}, {2, 4, 6, 8})
                         .op("Attention", {"q", "k", "v"}, {"y"}, "", {{"is_causal", 1}}));
        QCOMPARE(QString::fromStdString(rule.text()),
                 QStringLiteral("b h s^ d^, b h t^ d^, b h t^ e -> b h s^ e"));
        QCOMPARE(factorNamed(rule, "s")->reason,
                 std::string("the causal mask counts rows from the first"));
    }
    void headsOfTheQueryComeInGroups() {
        COMPARE_RULE(
            qkv({2, 4, 6, 8}, {2, 2, 6, 8}, {2, 2, 6, 8}).op("Attention", {"q", "k", "v"}, {"y"}),
            "b (h g) s d^, b h t^ d^, b h t^ e -> b (h g) s e");
    }
    void fusedHeadsNeedLocalCounts() {
        const ModelBuilder model = qkv({2, 6, 32}, {2, 6, 16}, {2, 6, 16})
                                       .op("Attention", {"q", "k", "v"}, {"y"}, "",
                                           {{"q_num_heads", 4}, {"kv_num_heads", 2}});
        COMPARE_RULE(model, "b s (h g d^), b t^ (h d^), b t^ (h e) -> b s (h g e)");
        COMPARE_REWRITES(model, "LocalAttribute q_num_heads *h *g; LocalAttribute kv_num_heads *h");
    }
    void masksAreBroadcast() {
        COMPARE_RULE(qkv({2, 4, 6, 8}, {2, 4, 5, 8}, {2, 4, 5, 8})
                         .input("m", {1, 4, 6, 5})
                         .op("Attention", {"q", "k", "v", "m"}, {"y"}),
                     "b h s d^, b h t^ d^, b h t^ e, 1 h s total^ -> b h s e");
    }
    void thePastComesFirst() {
        COMPARE_RULE(qkv({2, 4, 6, 8}, {2, 4, 5, 8}, {2, 4, 5, 8})
                         .input("pk", {2, 4, 3, 8})
                         .input("pv", {2, 4, 3, 8})
                         .op("Attention", {"q", "k", "v", "", "pk", "pv"}, {"y", "nk", "nv", "qk"}),
                     "b h s d^, b h t^ d^, b h t^ e, _, b h past^ d^, b h past^ e -> "
                     "b h s e, b h total^ d^, b h total^ e, b h s total^");
    }
    void operationsAreOfTheProductsAndTheSoftmax() {
        const Rule rule = lastRule(
            qkv({2, 4, 6, 8}, {2, 4, 5, 8}, {2, 4, 5, 8}).op("Attention", {"q", "k", "v"}, {"y"}));
        double points = 1;
        for (const Factor& factor : rule.factors)
            points *= static_cast<double>(factor.size);
        QCOMPARE(rule.flopsPerPoint * points, 2.0 * 4 * 6 * 5 * (2 * 8 + 2 * 8 + 5));
    }
    void headCountsThatDoNotDivideFallBack() {
        QVERIFY(!lastRule(ModelBuilder(23)
                              .input("q", {2, 6, 32})
                              .input("k", {2, 6, 32})
                              .input("v", {2, 6, 32})
                              .output("y", {2, 6, 32})
                              .op("Attention", {"q", "k", "v"}, {"y"}, "",
                                  {{"q_num_heads", 5}, {"kv_num_heads", 0}}))
                     .known);
    }

    void rotaryEmbeddingByPosition() {
        COMPARE_RULE(ModelBuilder(23)
                         .input("x", {2, 4, 6, 8})
                         .input("c", {2, 6, 4})
                         .input("s", {2, 6, 4})
                         .op("RotaryEmbedding", {"x", "c", "s"}, {"y"}),
                     "b h s d^, b s r^, b s r^ -> b h s d^");
    }
    void rotaryEmbeddingByIds() {
        const ModelBuilder model =
            ModelBuilder(23)
                .input("x", {2, 6, 32})
                .weight("c", {50, 4})
                .weight("s", {50, 4})
                .input("p", {2, 6}, T::INT64)
                .op("RotaryEmbedding", {"x", "c", "s", "p"}, {"y"}, "", {{"num_heads", 4}});
        COMPARE_RULE(model, "b s (h d^), p^ r^, p^ r^, b s -> b s (h d^)");
        COMPARE_REWRITES(model, "LocalAttribute num_heads *h");
    }
};

QTEST_GUILESS_MAIN(TstAttention)
#include "tst_attention.moc"
