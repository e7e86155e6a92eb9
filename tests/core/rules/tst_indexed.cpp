// SPDX-License-Identifier: Apache-2.0
#include "rule_fixture.h"

#include <QTest>

using namespace shardwright;
using namespace shardwright::test;
using T = onnx::TensorProto;

namespace {

ModelBuilder gather(const Shape& data, const Shape& indices, std::int64_t axis,
                    int type = T::FLOAT) {
    return ModelBuilder()
        .input("x", data, type)
        .input("i", indices, T::INT64)
        .op("Gather", {"x", "i"}, {"y"}, "", {{"axis", axis}});
}

ModelBuilder gatherNd(const Shape& data, const Shape& indices, std::int64_t batch) {
    return ModelBuilder()
        .input("x", data)
        .input("i", indices, T::INT64)
        .op("GatherND", {"x", "i"}, {"y"}, "", {{"batch_dims", batch}});
}

}  // namespace

class TstIndexed : public QObject {
    Q_OBJECT

private slots:
    void anEmbeddingIsAMaskedLookup() {
        COMPARE_RULE(gather({100, 8}, {2, 4}, 0), "v+ q0, i0 i1 -> i0 i1 q0");
        COMPARE_REWRITES(gather({100, 8}, {2, 4}, 0), "MaskedLookup slot 1 of v");
    }
    void gatherKeepsTheDimensionsAround() {
        COMPARE_RULE(gather({3, 100, 8}, {4}, -2), "p0 v+ q0, i0 -> p0 i0 q0");
        COMPARE_RULE(gather({3, 5}, {}, 0), "v+ q0, . -> q0");
    }
    void aLookupInOneRowNeedsNoMask() {
        COMPARE_RULE(gather({1, 8}, {4}, 0), "1 q0, i0 -> i0 q0");
        COMPARE_REWRITES(gather({1, 8}, {4}, 0), "");
    }
    void truthValuesAreJoinedByOr() {
        COMPARE_RULE(gather({100}, {4}, 0, T::BOOL), "v+or, i0 -> i0");
    }
    void stringsAreWhole() { COMPARE_RULE(gather({100}, {4}, 0, T::STRING), "v^, i0 -> i0"); }

    void gatherElements() {
        const ModelBuilder model = ModelBuilder()
                                       .input("x", {2, 8})
                                       .input("i", {2, 3}, T::INT64)
                                       .op("GatherElements", {"x", "i"}, {"y"}, "", {{"axis", 1}});
        COMPARE_RULE(model, "d0 v+, d0 i -> d0 i");
        COMPARE_REWRITES(model, "MaskedLookup slot 1 of v");
    }
    void gatherElementsOfFewerRows() {
        COMPARE_RULE(ModelBuilder()
                         .input("x", {5, 8})
                         .input("i", {2, 3}, T::INT64)
                         .op("GatherElements", {"x", "i"}, {"y"}, "", {{"axis", 1}}),
                     "d0^ v+, i0^ i -> i0^ i");
    }

    void gatherNdTakesTuples() {
        COMPARE_RULE(gatherNd({5, 6, 8}, {4, 2}, 0), "v0+ v1+ q0, i0 t^ -> i0 q0");
        COMPARE_REWRITES(gatherNd({5, 6, 8}, {4, 2}, 0),
                         "MaskedLookup slot 1 dim 0 of v0; MaskedLookup slot 1 dim 1 of v1");
    }
    void gatherNdHasBatches() {
        COMPARE_RULE(gatherNd({3, 6, 8}, {3, 4, 1}, 1), "b0 v0+ q0, b0 i0 1 -> b0 i0 q0");
    }
    void hostileGathersFallBack() {
        for (const std::int64_t batch : {-1, 2, 9})
            QVERIFY(!lastRule(ModelBuilder()
                                  .input("x", {3, 6})
                                  .input("i", {3, 1}, T::INT64)
                                  .output("y", {3})
                                  .op("GatherND", {"x", "i"}, {"y"}, "", {{"batch_dims", batch}}))
                         .known);
        QVERIFY(!lastRule(ModelBuilder()
                              .input("x", {3})
                              .input("i", {4, 2}, T::INT64)
                              .output("y", {4})
                              .op("GatherND", {"x", "i"}, {"y"}))
                     .known);
        QVERIFY(!lastRule(ModelBuilder()
                              .input("x", {3})
                              .input("i", {4}, T::INT64)
                              .output("y", {4})
                              .op("Gather", {"x", "i"}, {"y"}, "", {{"axis", 1}}))
                     .known);
    }

    void scatterElements() {
        COMPARE_RULE(ModelBuilder()
                         .input("x", {2, 8})
                         .input("i", {2, 3}, T::INT64)
                         .input("u", {2, 3})
                         .op("ScatterElements", {"x", "i", "u"}, {"y"}, "", {{"axis", 1}}),
                     "d0 d1^, d0 i1^, d0 i1^ -> d0 d1^");
    }
    void scatterNd() {
        COMPARE_RULE(ModelBuilder()
                         .input("x", {5, 8})
                         .input("i", {4, 1}, T::INT64)
                         .input("u", {4, 8})
                         .op("ScatterND", {"x", "i", "u"}, {"y"}),
                     "d0^ q0, i0^ 1, i0^ q0 -> d0^ q0");
    }

    void shapeIsEverywhere() {
        const ModelBuilder model = ModelBuilder().input("x", {2, 3}).op("Shape", {"x"}, {"y"});
        COMPARE_RULE(model, "(shape) -> n^");
        COMPARE_REWRITES(model, "Constant slot 0");
        QVERIFY(lastRule(model).everywhereOutputs);
        COMPARE_RULE(ModelBuilder().input("x", {2, 3}).op("Size", {"x"}, {"y"}), "(shape) -> .");
    }
    void generatorsAreWhole() {
        COMPARE_RULE(ModelBuilder().op("Constant", {}, {"y"}, "", {{"value_ints", {1, 2}}}),
                     "-> d^");
        COMPARE_RULE(ModelBuilder().ints("s", {2, 3}).op("ConstantOfShape", {"s"}, {"y"}),
                     "i0^ -> d0^ d1^");
        COMPARE_RULE(ModelBuilder().scalar("a", 0).scalar("b", 5).scalar("c", 1).op(
                         "Range", {"a", "b", "c"}, {"y"}),
                     "., ., . -> d^");
        const ModelBuilder eye = ModelBuilder().input("x", {3, 3}).op("EyeLike", {"x"}, {"y"});
        COMPARE_RULE(eye, "(shape) -> d0^ d1^");
        COMPARE_REWRITES(eye, "Placeholder slot 0");
    }
};

QTEST_GUILESS_MAIN(TstIndexed)
#include "tst_indexed.moc"
