// SPDX-License-Identifier: Apache-2.0
#include "factor_case.h"

using namespace shardwright;
using namespace shardwright::test;
using T = onnx::TensorProto;

namespace {

constexpr const char* kMl = "ai.onnx.ml";

ModelBuilder ml(const Shape& x = {6, 4}) {
    return ModelBuilder(17).opset(kMl, 3).input("x", x);
}

std::vector<float> counting(int count) {
    std::vector<float> values;
    for (int i = 0; i < count; ++i)
        values.push_back(0.25F * static_cast<float>(i % 7 - 3));
    return values;
}

}  // namespace

/// Operators of ai.onnx.ml on ONNX Runtime's kernels, each factor split over 2 and 3 devices.
class TstPlanMachineLearning : public QObject {
    Q_OBJECT

private slots:
    void rowsAreIndependent() {
        const auto regressor = ml().op("LinearRegressor", {"x"}, {"y"}, "n",
                                       {{"targets", 3},
                                        Attribute::floats("coefficients", counting(12)),
                                        Attribute::floats("intercepts", counting(3))},
                                       kMl)
                                   .output("y");
        VERIFY_FACTORS(regressor, "n", "n");
        const auto classifier = ml().op("LinearClassifier", {"x"}, {"y", "z"}, "n",
                                        {Attribute::floats("coefficients", counting(12)),
                                         Attribute::floats("intercepts", counting(3)),
                                         {"classlabels_ints", {0, 1, 2}},
                                         {"post_transform", "SOFTMAX"}},
                                        kMl)
                                    .output("y")
                                    .output("z");
        VERIFY_FACTORS(classifier, "n", "n");
        const auto normalizer =
            ml().op("Normalizer", {"x"}, {"y"}, "n", {{"norm", "L2"}}, kMl).output("y");
        VERIFY_FACTORS(normalizer, "n", "d0");
        const auto features =
            ml().input("z", {6, 3})
                .op("FeatureVectorizer", {"x", "z"}, {"y"}, "n", {{"inputdimensions", {4, 3}}}, kMl)
                .output("y");
        VERIFY_FACTORS(features, "n", "n");
    }
    void trees() {
        const auto tree =
            ml().op("TreeEnsembleRegressor", {"x"}, {"y"}, "n",
                    {{"n_targets", 1},
                     {"nodes_treeids", {0, 0, 0}},
                     {"nodes_nodeids", {0, 1, 2}},
                     {"nodes_featureids", {1, 0, 0}},
                     Attribute::strings("nodes_modes", {"BRANCH_LEQ", "LEAF", "LEAF"}),
                     Attribute::floats("nodes_values", {0.1F, 0, 0}),
                     {"nodes_truenodeids", {1, 0, 0}},
                     {"nodes_falsenodeids", {2, 0, 0}},
                     {"target_treeids", {0, 0}},
                     {"target_nodeids", {1, 2}},
                     {"target_ids", {0, 0}},
                     Attribute::floats("target_weights", {1, 2})},
                    kMl)
                .output("y");
        VERIFY_FACTORS(tree, "n", "n");
    }
    void elements() {
        const auto binarizer =
            ml().op("Binarizer", {"x"}, {"y"}, "n", {{"threshold", 0.1}}, kMl).output("y");
        VERIFY_FACTORS(binarizer, "n", "d0 d1");
        const auto one =
            ml().op("Scaler", {"x"}, {"y"}, "n",
                    {Attribute::floats("scale", {2}), Attribute::floats("offset", {1})}, kMl)
                .output("y");
        VERIFY_FACTORS(one, "n", "d0 d1");
        const auto each = ml().op("Scaler", {"x"}, {"y"}, "n",
                                  {Attribute::floats("scale", {1, 2, 3, 4}),
                                   Attribute::floats("offset", {4, 3, 2, 1})},
                                  kMl)
                              .output("y");
        VERIFY_FACTORS(each, "n", "d0");
        const auto imputer = ml().op("Imputer", {"x"}, {"y"}, "n",
                                     {Attribute::floats("imputed_value_floats", {1, 2, 3, 4}),
                                      {"replaced_value_float", 0.0}},
                                     kMl)
                                 .output("y");
        VERIFY_FACTORS(imputer, "n", "d0");
        const auto labels = ModelBuilder(17)
                                .opset(kMl, 3)
                                .input("x", {6, 4}, T::INT64)
                                .op("LabelEncoder", {"x"}, {"y"}, "n",
                                    {{"keys_int64s", {0, 1, 2}},
                                     Attribute::floats("values_floats", {5, 6, 7}),
                                     {"default_float", -1.0}},
                                    kMl)
                                .output("y");
        VERIFY_FACTORS(labels, "n", "d0 d1");
    }
    void categoriesAndFeaturesArePicked() {
        const auto encoder = ModelBuilder(17)
                                 .opset(kMl, 3)
                                 .input("x", {6, 4}, T::INT64)
                                 .op("OneHotEncoder", {"x"}, {"y"}, "n",
                                     {{"cats_int64s", {0, 1, 2}}, {"zeros", 1}}, kMl)
                                 .output("y");
        VERIFY_FACTORS(encoder, "n", "d0 d1");
        const auto picked = ml().initializer(intTensor("i", {1, 3}, {3, 0, 2}))
                                .op("ArrayFeatureExtractor", {"x", "i"}, {"y"}, "n", {}, kMl)
                                .output("y");
        VERIFY_FACTORS(picked, "n", "d0 k");
    }
};

QTEST_GUILESS_MAIN(TstPlanMachineLearning)
#include "tst_plan_machine_learning.moc"
