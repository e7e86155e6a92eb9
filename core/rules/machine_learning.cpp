// SPDX-License-Identifier: Apache-2.0
#include "rules/registry.h"
#include "rules/rule_maker.h"

#include <onnx/onnx_pb.h>

#include <algorithm>

namespace shardwright {

namespace {

constexpr const char* kFeatures = "each result is of all features of a row";
constexpr const char* kOneRow = "it is one row of features";

/// Rows [n, f] by themselves; a tensor of one dimension is one row. Outputs [n] and [n, ...].
///   d0 f^ -> d0 ; d0 c^
std::optional<Rule> buildRows(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes& x = maker.in(0);
    maker.out(0);
    if (maker.failed() || x.empty())
        return std::nullopt;
    const bool rows = x.size() > 1;
    const int n = rows ? maker.parallel("n", x[0]) : -1;
    for (std::size_t slot = 0; slot < context.node.inputs.size(); ++slot) {
        if (!context.hasInput(slot))
            continue;
        const Sizes& sizes = context.input(slot).dims;
        Dims dims = maker.wholeDims(sizes, "f" + std::to_string(slot), rows ? kFeatures : kOneRow);
        maker.require(!rows || (!sizes.empty() && sizes[0] == x[0]));
        if (rows && !sizes.empty())
            dims[0] = {n};
        maker.input(slot, std::move(dims));
    }
    for (std::size_t slot = 0; slot < context.node.outputs.size(); ++slot) {
        if (!context.hasOutput(slot))
            continue;
        const Sizes& sizes = context.output(slot).dims;
        Dims dims = maker.wholeDims(sizes, "c" + std::to_string(slot), rows ? kFeatures : kOneRow);
        maker.require(!rows || (!sizes.empty() && sizes[0] == x[0]));
        if (rows && !sizes.empty())
            dims[0] = {n};
        maker.output(slot, std::move(dims));
    }
    return maker.finish();
}

std::optional<Rule> buildElementwise(const NodeContext& context) {
    RuleMaker maker(context);
    maker.require(maker.in(0) == maker.out(0));
    const Dims dims = maker.parallelDims(maker.out(0));
    maker.input(0, dims);
    maker.output(0, dims);
    return maker.finish();
}

int listLength(const NodeContext& context, const char* name) {
    for (const onnx::AttributeProto& attribute : context.node.proto->attribute())
        if (attribute.name() == name)
            return std::max(attribute.floats_size(), attribute.ints_size());
    return 0;
}

/// Elementwise, where the numbers to scale or fill in are one for all; else the features are whole,
/// since there is one number each in an attribute.
std::optional<Rule> buildPerFeature(const NodeContext& context,
                                    std::initializer_list<const char*> lists) {
    RuleMaker maker(context);
    const Sizes& x = maker.in(0);
    maker.require(x == maker.out(0));
    Dims dims = maker.parallelDims(x);
    for (const char* list : lists)
        if (listLength(context, list) > 1 && !x.empty())
            dims.back() = {maker.whole("f", x.back(), "an attribute has one number a feature")};
    maker.input(0, dims);
    maker.output(0, dims);
    return maker.finish();
}

/// [n,f]      n f^ -> n f^
std::optional<Rule> buildNormalizer(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes& x = maker.in(0);
    maker.require(x == maker.out(0) && !x.empty());
    if (maker.failed())
        return std::nullopt;
    Dims dims = maker.parallelDims(x);
    dims.back() = {maker.whole("f", x.back(), "a row is normalised along it")};
    maker.input(0, dims);
    maker.output(0, dims);
    return maker.finish();
}

/// One more dimension, of the categories.
std::optional<Rule> buildOneHotEncoder(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes &x = maker.in(0), &y = maker.out(0);
    maker.require(y.size() == x.size() + 1);
    Dims dims = maker.parallelDims(x);
    maker.input(0, dims);
    if (!y.empty())
        dims.push_back({maker.whole("c", y.back(), "the categories are an attribute")});
    maker.output(0, std::move(dims));
    return maker.finish();
}

/// Features [n,f] by the indices [1,k]: n f^, 1 k -> n k
std::optional<Rule> buildFeatureExtractor(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes &x = maker.in(0), &indices = maker.in(1), &y = maker.out(0);
    maker.require(!x.empty() && !indices.empty() && !y.empty() && y.back() == indices.back() &&
                  (y.size() == x.size() || x.size() == 1));
    if (maker.failed())
        return std::nullopt;
    Dims in = maker.parallelDims(Sizes(x.begin(), x.end() - 1)), out = in;
    if (x.size() == 1)
        out.assign(y.size() - 1, {});
    const int k = maker.parallel("k", indices.back());
    in.push_back({maker.whole("f", x.back(), "features are picked among all")});
    out.push_back({k});
    maker.input(0, std::move(in));
    Dims picked(indices.size() - 1);
    picked.push_back({k});
    maker.input(1, std::move(picked));
    maker.output(0, std::move(out));
    return maker.finish();
}

}  // namespace

void registerMachineLearning(Registry& registry) {
    const auto add = [&registry](std::initializer_list<const char*> ops, RuleBuilder build,
                                 bool anyValues = false) {
        for (const char* op : ops) {
            OperatorEntry entry{
                "ai.onnx.ml", op,  "machine learning", false, foreignToProposal(), build, {},
                {},           true};
            entry.anyValues = anyValues;
            registry.add(std::move(entry));
        }
    };
    add({"FeatureVectorizer", "LinearClassifier", "LinearRegressor", "SVMClassifier",
         "SVMRegressor", "TreeEnsemble", "TreeEnsembleClassifier", "TreeEnsembleRegressor"},
        buildRows);
    add({"Binarizer", "CategoryMapper", "LabelEncoder"}, buildElementwise);
    add({"Scaler"}, [](const NodeContext& context) {
        return buildPerFeature(context, {"scale", "offset"});
    });
    add({"Imputer"}, [](const NodeContext& context) {
        return buildPerFeature(context, {"imputed_value_floats", "imputed_value_int64s"});
    });
    add({"Normalizer"}, buildNormalizer);
    add({"OneHotEncoder"}, buildOneHotEncoder);
    add({"ArrayFeatureExtractor"}, buildFeatureExtractor);
    registry.describe("ai.onnx.ml", "ArrayFeatureExtractor", [](const NodeContext& context) {
        return ElementUse{{{1, sizeAt(context, 0, -1)}}, {{0}}};
    });
    add(
        {"CastMap", "DictVectorizer", "ZipMap"},
        [](const NodeContext& context) {
            return wholeRule(context, "a map is not a tensor, so that it stays on each device");
        },
        true);
}

}  // namespace shardwright
