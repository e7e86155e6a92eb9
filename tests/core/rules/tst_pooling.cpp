// SPDX-License-Identifier: Apache-2.0
#include "rule_fixture.h"

#include <QTest>

using namespace shardwright;
using namespace shardwright::test;
using T = onnx::TensorProto;

namespace {

ModelBuilder pool(const char* op, std::int64_t size, std::int64_t kernel, std::int64_t stride,
                  std::vector<std::string> outputs = {"y"}) {
    return ModelBuilder()
        .input("x", {2, 4, size})
        .op(op, {"x"}, outputs, "", {{"kernel_shape", {kernel}}, {"strides", {stride}}});
}

ModelBuilder global(const char* op, int opset = 21, const std::vector<Attribute>& attributes = {}) {
    return ModelBuilder(opset).input("x", {2, 4, 3, 5}).op(op, {"x"}, {"y"}, "", attributes);
}

}  // namespace

class TstPooling : public QObject {
    Q_OBJECT

private slots:
    void windowsSideBySideAreParallel() {
        for (const char* op : {"AveragePool", "LpPool", "MaxPool"}) {
            COMPARE_RULE(pool(op, 8, 2, 2), "n c (l kl^) -> n c l");
            COMPARE_RULE(pool(op, 8, 3, 1), "n c l~ -> n c l~");
            COMPARE_RULE(pool(op, 9, 2, 2), "n c l~ -> n c l~");
        }
    }
    void windowsThatLeaveTheTensorHaveNoHalo() {
        COMPARE_RULE(ModelBuilder()
                         .input("x", {2, 4, 8})
                         .op("MaxPool", {"x"}, {"y"}, "",
                             {{"kernel_shape", {3}}, {"strides", {2}}, {"ceil_mode", 1}}),
                     "n c l~ -> n c ol^");
    }
    void indicesCountOverTheWholeTensor() {
        const Rule rule = lastRule(pool("MaxPool", 8, 2, 2, {"y", "i"}));
        QCOMPARE(QString::fromStdString(rule.text()),
                 QStringLiteral("x0^ x1^ x2^ -> y0^ y1^ y2^, y0^ y1^ y2^"));
        QCOMPARE(factorNamed(rule, "x0")->reason,
                 std::string("the indices count over the whole tensor"));
    }
    void globalPoolsAreReductions() {
        COMPARE_RULE(global("GlobalMaxPool"), "n c h+max w+max -> n c 1 1");
        COMPARE_REWRITES(global("GlobalMaxPool"), "");
        COMPARE_RULE(global("GlobalAveragePool"), "n c h+ w+ -> n c 1 1");
        COMPARE_REWRITES(global("GlobalAveragePool"),
                         "ReplaceOperator ReduceSum axes to input; Scale by 0.0666667");
        COMPARE_REWRITES(global("GlobalAveragePool", 12),
                         "ReplaceOperator ReduceSum; Scale by 0.0666667");
    }
    void normsOfOrderOneAndTwoAreSums() {
        COMPARE_RULE(global("GlobalLpPool"), "n c h+ w+ -> n c 1 1");
        COMPARE_REWRITES(global("GlobalLpPool"),
                         "ReplaceOperator ReduceSumSquare axes to input; Tail Sqrt");
        COMPARE_REWRITES(global("GlobalLpPool", 21, {{"p", 1}}),
                         "ReplaceOperator ReduceL1 axes to input");
        COMPARE_RULE(global("GlobalLpPool", 21, {{"p", 3}}), "n c h^ w^ -> n c 1 1");
        COMPARE_REWRITES(global("GlobalLpPool", 21, {{"p", 3}}), "");
    }
    void imagesAreLookedUp() {
        const ModelBuilder model = ModelBuilder()
                                       .input("x", {2, 4, 8, 8})
                                       .input("r", {6, 4})
                                       .input("i", {6}, T::INT64)
                                       .op("RoiAlign", {"x", "r", "i"}, {"y"});
        COMPARE_RULE(model, "n+ c x0^ x1^, r box^, r -> r c 1 1");
        COMPARE_REWRITES(model, "MaskedLookup slot 2 of n");
    }
};

QTEST_GUILESS_MAIN(TstPooling)
#include "tst_pooling.moc"
