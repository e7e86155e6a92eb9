// SPDX-License-Identifier: Apache-2.0
#include "rules/registry.h"
#include "rules/rule_maker.h"

namespace shardwright {

namespace {

constexpr AxisTravel kElementwise{.elementwise = true, .passThrough = true};

/// Before opset 7 the second input of a binary operator was aligned at attribute `axis`.
std::int64_t legacyOffset(const NodeContext& context, std::size_t targetRank) {
    if (context.opset >= 7 || !context.hasAttribute("axis"))
        return -1;
    const std::int64_t axis = context.attribute("axis", 0);
    return axis < 0 ? axis + static_cast<std::int64_t>(targetRank) : axis;
}

/// Out[d0 d1 ...] from inputs that are broadcast to it.
///   Add [4,1], [3] -> [4,3]      d0 1, d1 -> d0 d1
std::optional<Rule> buildBroadcast(const NodeContext& context) {
    RuleMaker maker(context);
    maker.in(0);
    const Dims target = maker.parallelDims(maker.out(0));
    for (std::size_t slot = 0; slot < context.node.inputs.size(); ++slot) {
        const std::int64_t offset = slot == 0 ? -1 : legacyOffset(context, target.size());
        maker.input(slot, maker.broadcast(context.input(slot).dims, target, offset));
    }
    maker.output(0, target);
    maker.travels(kElementwise);
    return maker.finish();
}

/// Every further input is a scalar option, such as a bound of Clip.
std::optional<Rule> buildUnary(const NodeContext& context) {
    RuleMaker maker(context);
    const Dims target = maker.parallelDims(maker.out(0));
    maker.require(maker.in(0) == maker.out(0));
    maker.input(0, target);
    for (std::size_t slot = 1; slot < context.node.inputs.size(); ++slot) {
        maker.require(context.input(slot).elementCount() == 1 || !context.hasInput(slot));
        maker.input(slot, Dims(context.input(slot).dims.size()));
    }
    maker.output(0, target);
    maker.travels(kElementwise);
    return maker.finish();
}

/// Reads nothing of the second input but its element type.
std::optional<Rule> buildCastLike(const NodeContext& context) {
    RuleMaker maker(context);
    const Dims target = maker.parallelDims(maker.out(0));
    maker.require(maker.in(0) == maker.out(0) && context.hasInput(1));
    maker.input(0, target);
    maker.shapeOnly(1);
    Rewrite rewrite{Rewrite::Kind::Placeholder};
    rewrite.slot = 1;
    rewrite.name = "type";
    maker.rewrite(std::move(rewrite));
    maker.output(0, target);
    maker.travels(kElementwise);
    return maker.finish();
}

/// The slope is broadcast to x only; before opset 7 a slope of rank 1 is one a channel.
std::optional<Rule> buildPRelu(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes& x = maker.in(0);
    const Sizes& slope = maker.in(1);
    maker.require(x == maker.out(0) && slope.size() <= x.size());
    const Dims target = maker.parallelDims(x);
    const bool legacy = context.opset < 7 && slope.size() == 1 && x.size() > 1;
    maker.input(0, target);
    maker.input(1, maker.broadcast(slope, target, legacy ? 1 : -1));
    maker.output(0, target);
    maker.travels(kElementwise);
    return maker.finish();
}

bool trains(const NodeContext& context) {
    if (context.opset < 7)
        return context.attribute("is_test", 0) == 0;
    if (!context.hasInput(2))
        return false;
    const auto flag = context.constantInts(2);
    return !flag || flag->size() != 1 || flag->front() != 0;
}

std::optional<Rule> buildDropout(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes& x = maker.in(0);
    maker.require(x == maker.out(0));
    const Dims target =
        trains(context)
            ? maker.wholeDims(x, "d", "the random mask of training must be drawn in one piece")
            : maker.parallelDims(x);
    maker.input(0, target);
    for (std::size_t slot = 1; slot < context.node.inputs.size(); ++slot)
        maker.input(slot, maker.broadcast(context.input(slot).dims, {}, 0));
    maker.output(0, target);
    if (context.hasOutput(1)) {
        maker.require(context.output(1).dims == x);
        maker.output(1, target);
    }
    maker.travels(kElementwise);
    return maker.finish();
}

/// com.microsoft FastGelu and BiasGelu: x and an optional bias along the last dimension.
std::optional<Rule> buildBiasUnary(const NodeContext& context) {
    RuleMaker maker(context);
    maker.require(maker.in(0) == maker.out(0));
    return maker.failed() ? std::nullopt : buildBroadcast(context);
}

constexpr const char* kUnary[] = {
    "Abs",       "Acos",       "Acosh",      "Asin",  "Asinh",          "Atan",       "Atanh",
    "BitCast",   "BitwiseNot", "Cast",       "Ceil",  "Celu",           "Clip",       "Cos",
    "Cosh",      "Elu",        "Erf",        "Exp",   "Floor",          "Gelu",       "HardSigmoid",
    "HardSwish", "Identity",   "IsInf",      "IsNaN", "LeakyRelu",      "Log",        "Mish",
    "Neg",       "Not",        "Reciprocal", "Relu",  "Round",          "ScaledTanh", "Selu",
    "Shrink",    "Sigmoid",    "Sign",       "Sin",   "Sinh",           "Softplus",   "Softsign",
    "Sqrt",      "Swish",      "Tan",        "Tanh",  "ThresholdedRelu"};

constexpr const char* kBroadcast[] = {
    "Add",        "And",         "BitShift", "BitwiseAnd", "BitwiseOr",
    "BitwiseXor", "Div",         "Equal",    "Greater",    "GreaterOrEqual",
    "Less",       "LessOrEqual", "Max",      "Mean",       "Min",
    "Mod",        "Mul",         "Or",       "Pow",        "Sub",
    "Sum",        "SwiGLU",      "Where",    "Xor"};

}  // namespace

void registerElementwise(Registry& registry) {
    for (const char* op : kUnary)
        registry.add({"", op, "unary", true, {}, buildUnary, {}, {}, true});
    for (const char* op : kBroadcast)
        registry.add({"", op, "broadcast", true, {}, buildBroadcast, {}, {}, true});
    registry.add({"", "PRelu", "broadcast", true, {}, buildPRelu, {}, {}, true});
    registry.add({"", "CastLike", "unary", true, {}, buildCastLike, {}, {1}, true});
    registry.add({"", "Dropout", "unary", true, {}, buildDropout, {2}, {}, true});
    for (const char* op : {"Cast", "CastLike", "Identity"})
        registry.describe("", op, carriesInPlace);
    registry.describe("", "Where", carries({1, 2}));
    const std::string foreign = foreignToProposal();
    for (const char* op : {"Gelu", "QuickGelu"})
        registry.add({"com.microsoft", op, "unary", false, foreign, buildUnary, {}, {}, true});
    for (const char* op : {"FastGelu", "BiasGelu"})
        registry.add(
            {"com.microsoft", op, "broadcast", false, foreign, buildBiasUnary, {}, {}, true});
}

}  // namespace shardwright
