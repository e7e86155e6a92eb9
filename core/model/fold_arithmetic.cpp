// SPDX-License-Identifier: Apache-2.0
//
// Elementwise operators with broadcasting, and reductions. Integers wrap to their type as in a
// kernel; floating point is computed in the type's own precision where that is FLOAT or DOUBLE, and
// not at all in narrower types.

#include "model/folding.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

namespace shardwright {

namespace {

using T = onnx::TensorProto;
using Dims = std::vector<std::int64_t>;

std::int64_t wrap(std::int32_t type, std::uint64_t value) {
    switch (type) {
        case T::INT32: return static_cast<std::int32_t>(value);
        case T::UINT32: return static_cast<std::uint32_t>(value);
        case T::INT16: return static_cast<std::int16_t>(value);
        case T::UINT16: return static_cast<std::uint16_t>(value);
        case T::INT8: return static_cast<std::int8_t>(value);
        case T::UINT8: return static_cast<std::uint8_t>(value);
        case T::BOOL: return value != 0;
        default: return static_cast<std::int64_t>(value);
    }
}

double rounded(std::int32_t type, double value) {
    return type == T::FLOAT ? double(static_cast<float>(value)) : value;
}

std::uint64_t bits(std::int64_t value) {
    return static_cast<std::uint64_t>(value);
}

/// Integers above 2^63 are held as negative numbers, which order and division would take for such.
bool canCompute(const ConstantValue& value) {
    if (value.elementType == T::UINT64)
        return std::all_of(value.ints.begin(), value.ints.end(),
                           [](std::int64_t v) { return v >= 0; });
    return isIntegral(value.elementType) || value.elementType == T::FLOAT ||
           value.elementType == T::DOUBLE;
}

std::optional<Dims> broadcast(const Dims& a, const Dims& b) {
    Dims out(std::max(a.size(), b.size()), 1);
    for (std::size_t i = 0; i < out.size(); ++i) {
        const std::int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
        const std::int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
        if (x != y && x != 1 && y != 1)
            return std::nullopt;
        out[out.size() - 1 - i] = x == 1 ? y : x;
    }
    return out;
}

/// Flat index of the broadcast input for each element of the output.
std::vector<std::size_t> broadcastIndex(const Dims& from, const Dims& to, std::size_t count) {
    std::vector<std::size_t> index(count, 0);
    std::size_t stride = 1;
    std::size_t period = 1;
    for (std::size_t i = 0; i < from.size(); ++i) {
        const auto size = static_cast<std::size_t>(from[from.size() - 1 - i]);
        const auto outSize = static_cast<std::size_t>(to[to.size() - 1 - i]);
        for (std::size_t at = 0; at < count && size > 1; ++at)
            index[at] += at / period % outSize * stride;
        stride *= size;
        period *= outSize;
    }
    return index;
}

struct Binary {
    std::optional<std::int64_t> (*ints)(std::int64_t, std::int64_t) = nullptr;
    double (*reals)(double, double) = nullptr;
    bool givesBool = false;
};

FoldResult combine(const ConstantValue& a, const ConstantValue& b, const Binary& op) {
    if (a.elementType != b.elementType || !canCompute(a) || !canCompute(b))
        return {};
    const auto dims = broadcast(a.dims, b.dims);
    const auto count = dims ? countWithin(*dims) : std::nullopt;
    const bool real = isReal(a.elementType);
    if (!count || (real ? op.reals == nullptr : op.ints == nullptr))
        return {};
    auto out = std::make_shared<ConstantValue>();
    out->elementType = op.givesBool ? std::int32_t(T::BOOL) : a.elementType;
    out->dims = *dims;
    const auto size = static_cast<std::size_t>(*count);
    const auto indexA = broadcastIndex(a.dims, *dims, size);
    const auto indexB = broadcastIndex(b.dims, *dims, size);
    for (std::size_t i = 0; i < size; ++i) {
        if (real) {
            const double value = op.reals(a.reals[indexA[i]], b.reals[indexB[i]]);
            if (op.givesBool)
                out->ints.push_back(value != 0);
            else
                out->reals.push_back(rounded(a.elementType, value));
            continue;
        }
        const auto value = op.ints(a.ints[indexA[i]], b.ints[indexB[i]]);
        if (!value)
            return {};
        out->ints.push_back(wrap(out->elementType, bits(*value)));
    }
    return {out};
}

std::optional<std::int64_t> divide(std::int64_t a, std::int64_t b) {
    if (b == 0 || (b == -1 && a == std::numeric_limits<std::int64_t>::min()))
        return std::nullopt;
    return a / b;
}

std::optional<std::int64_t> modulo(std::int64_t a, std::int64_t b) {
    if (b == 0 || b == -1)
        return b == 0 ? std::nullopt : std::optional<std::int64_t>(0);
    const std::int64_t rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

std::optional<std::int64_t> remainder(std::int64_t a, std::int64_t b) {
    if (b == 0 || b == -1)
        return b == 0 ? std::nullopt : std::optional<std::int64_t>(0);
    return a % b;
}

std::optional<std::int64_t> power(std::int64_t base, std::int64_t exponent) {
    if (exponent < 0 || exponent > 64)
        return std::nullopt;
    std::uint64_t result = 1;
    for (std::int64_t i = 0; i < exponent; ++i)
        result *= bits(base);
    return static_cast<std::int64_t>(result);
}

using Int = std::int64_t;
using Maybe = std::optional<std::int64_t>;

const Binary* findBinary(std::string_view op) {
    static const std::map<std::string_view, Binary> table = {
        {"Add",
         {[](Int a, Int b) -> Maybe { return Int(bits(a) + bits(b)); },
          [](double a, double b) { return a + b; }}},
        {"Sub",
         {[](Int a, Int b) -> Maybe { return Int(bits(a) - bits(b)); },
          [](double a, double b) { return a - b; }}},
        {"Mul",
         {[](Int a, Int b) -> Maybe { return Int(bits(a) * bits(b)); },
          [](double a, double b) { return a * b; }}},
        {"Div", {divide, [](double a, double b) { return a / b; }}},
        {"Mod", {modulo, nullptr}},
        {"Pow", {power, [](double a, double b) { return std::pow(a, b); }}},
        {"Min",
         {[](Int a, Int b) -> Maybe { return std::min(a, b); },
          [](double a, double b) { return std::min(a, b); }}},
        {"Max",
         {[](Int a, Int b) -> Maybe { return std::max(a, b); },
          [](double a, double b) { return std::max(a, b); }}},
        {"Equal",
         {[](Int a, Int b) -> Maybe { return a == b; },
          [](double a, double b) { return double(a == b); }, true}},
        {"Less",
         {[](Int a, Int b) -> Maybe { return a < b; },
          [](double a, double b) { return double(a < b); }, true}},
        {"LessOrEqual",
         {[](Int a, Int b) -> Maybe { return a <= b; },
          [](double a, double b) { return double(a <= b); }, true}},
        {"Greater",
         {[](Int a, Int b) -> Maybe { return a > b; },
          [](double a, double b) { return double(a > b); }, true}},
        {"GreaterOrEqual",
         {[](Int a, Int b) -> Maybe { return a >= b; },
          [](double a, double b) { return double(a >= b); }, true}},
        {"And", {[](Int a, Int b) -> Maybe { return a != 0 && b != 0; }, nullptr, true}},
        {"Or", {[](Int a, Int b) -> Maybe { return a != 0 || b != 0; }, nullptr, true}},
        {"Xor", {[](Int a, Int b) -> Maybe { return (a != 0) != (b != 0); }, nullptr, true}},
    };
    const auto found = table.find(op);
    return found != table.end() ? &found->second : nullptr;
}

FoldResult foldBinary(const FoldNode& node) {
    static const Binary fmod = {remainder, [](double a, double b) { return std::fmod(a, b); }};
    const bool isFmod = node.op == "Mod" && node.intAttribute("fmod", 0) != 0;
    const Binary& op = isFmod ? fmod : *findBinary(node.op);
    const bool variadic = node.op == "Min" || node.op == "Max";
    if (!node.has(0) || (!variadic && node.inputs.size() != 2))
        return {};
    FoldResult result = {std::make_shared<const ConstantValue>(*node.inputs[0])};
    if (!canCompute(*result[0]))
        return {};
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
        if (!node.has(i))
            return {};
        result = combine(*result[0], *node.inputs[i], op);
        if (result.empty())
            return {};
    }
    return result;
}

struct Unary {
    std::int64_t (*ints)(std::int64_t) = nullptr;
    double (*reals)(double) = nullptr;
};

const Unary* findUnary(std::string_view op) {
    static const std::map<std::string_view, Unary> table = {
        {"Neg", {[](Int v) { return Int(0 - bits(v)); }, [](double v) { return -v; }}},
        {"Abs",
         {[](Int v) { return v < 0 ? Int(0 - bits(v)) : v; },
          [](double v) { return std::fabs(v); }}},
        {"Not", {[](Int v) { return Int(v == 0); }, nullptr}},
        {"Floor", {nullptr, [](double v) { return std::floor(v); }}},
        {"Ceil", {nullptr, [](double v) { return std::ceil(v); }}},
        {"Round", {nullptr, [](double v) { return std::nearbyint(v); }}},
        {"Sqrt", {nullptr, [](double v) { return std::sqrt(v); }}},
    };
    const auto found = table.find(op);
    return found != table.end() ? &found->second : nullptr;
}

FoldResult foldUnary(const FoldNode& node) {
    const Unary& op = *findUnary(node.op);
    if (!node.has(0) || !canCompute(*node.inputs[0]))
        return {};
    auto out = std::make_shared<ConstantValue>(*node.inputs[0]);
    if (isReal(out->elementType) ? op.reals == nullptr : op.ints == nullptr)
        return {};
    for (double& value : out->reals)
        value = rounded(out->elementType, op.reals(value));
    for (std::int64_t& value : out->ints)
        value = wrap(out->elementType, bits(op.ints(value)));
    return {out};
}

FoldResult convert(const ConstantValue& from, std::int32_t to) {
    if (!canCompute(from) && from.elementType != T::FLOAT16 && from.elementType != T::BFLOAT16)
        return {};
    auto out = std::make_shared<ConstantValue>();
    out->elementType = to;
    out->dims = from.dims;
    if (to == T::FLOAT || to == T::DOUBLE) {
        for (const std::int64_t value : from.ints)
            out->reals.push_back(rounded(to, double(value)));
        for (const double value : from.reals)
            out->reals.push_back(rounded(to, value));
        return {out};
    }
    if (!isIntegral(to))
        return {};
    for (const std::int64_t value : from.ints)
        out->ints.push_back(wrap(to, bits(value)));
    for (const double value : from.reals) {
        // Out of range is undefined in ONNX as in C++.
        if (to != T::BOOL && !(std::fabs(value) < 9.2e18))
            return {};
        out->ints.push_back(to == T::BOOL ? Int(value != 0)
                                          : wrap(to, bits(static_cast<Int>(value))));
    }
    return {out};
}

FoldResult foldCast(const FoldNode& node) {
    if (!node.has(0))
        return {};
    if (node.op == "CastLike")
        return node.has(1) ? convert(*node.inputs[0], node.inputs[1]->elementType) : FoldResult();
    return convert(*node.inputs[0], static_cast<std::int32_t>(node.intAttribute("to", 0)));
}

FoldResult foldWhere(const FoldNode& node) {
    if (!node.has(0) || !node.has(1) || !node.has(2))
        return {};
    const ConstantValue& condition = *node.inputs[0];
    const ConstantValue& a = *node.inputs[1];
    const ConstantValue& b = *node.inputs[2];
    auto dims = broadcast(a.dims, b.dims);
    dims = dims ? broadcast(*dims, condition.dims) : std::nullopt;
    const auto count = dims ? countWithin(*dims) : std::nullopt;
    if (!count || a.elementType != b.elementType || condition.elementType != T::BOOL)
        return {};
    const auto size = static_cast<std::size_t>(*count);
    const auto choice = broadcastIndex(condition.dims, *dims, size);
    const auto indexA = broadcastIndex(a.dims, *dims, size);
    const auto indexB = broadcastIndex(b.dims, *dims, size);
    auto out = std::make_shared<ConstantValue>();
    out->elementType = a.elementType;
    out->dims = *dims;
    for (std::size_t i = 0; i < size; ++i) {
        const bool first = condition.ints[choice[i]] != 0;
        if (isReal(a.elementType))
            out->reals.push_back(first ? a.reals[indexA[i]] : b.reals[indexB[i]]);
        else
            out->ints.push_back(first ? a.ints[indexA[i]] : b.ints[indexB[i]]);
    }
    return {out};
}

/// Which axes a reduction takes: an input since opset 13 (ReduceSum) and 18, before that an
/// attribute.
std::optional<std::vector<bool>> reducedAxes(const FoldNode& node, std::size_t rank) {
    Dims axes = node.intsAttribute("axes").value_or(Dims());
    if (node.inputs.size() > 1 && node.has(1))
        axes = node.inputs[1]->ints;
    if (axes.empty())
        return std::vector<bool>(rank, node.intAttribute("noop_with_empty_axes", 0) == 0);
    std::vector<bool> reduced(rank, false);
    for (const std::int64_t axis : axes) {
        const std::int64_t at = axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
        if (at < 0 || at >= static_cast<std::int64_t>(rank))
            return std::nullopt;
        reduced[static_cast<std::size_t>(at)] = true;
    }
    return reduced;
}

FoldResult foldReduce(const FoldNode& node) {
    static const std::map<std::string_view, const char*> table = {
        {"ReduceSum", "Add"}, {"ReduceProd", "Mul"}, {"ReduceMin", "Min"}, {"ReduceMax", "Max"}};
    const Binary& op = *findBinary(table.at(node.op));
    if (!node.has(0) || !canCompute(*node.inputs[0]))
        return {};
    const ConstantValue& in = *node.inputs[0];
    const auto reduced = reducedAxes(node, in.dims.size());
    // The empty reduction's value is not needed to know a shape.
    if (!reduced || in.ints.empty() == in.reals.empty())
        return {};
    Dims kept = in.dims;
    for (std::size_t i = 0; i < kept.size(); ++i)
        kept[i] = (*reduced)[i] ? 1 : kept[i];
    const bool real = isReal(in.elementType);
    const std::size_t count = real ? in.reals.size() : in.ints.size();
    const auto target = broadcastIndex(kept, in.dims, count);
    auto out = std::make_shared<ConstantValue>();
    out->elementType = in.elementType;
    const auto outCount = static_cast<std::size_t>(*countWithin(kept));
    std::vector<bool> started(outCount, false);
    out->ints.resize(real ? 0 : outCount);
    out->reals.resize(real ? outCount : 0);
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t at = target[i];
        if (real)
            out->reals[at] = started[at]
                                 ? rounded(in.elementType, op.reals(out->reals[at], in.reals[i]))
                                 : in.reals[i];
        else
            out->ints[at] = started[at]
                                ? wrap(in.elementType, bits(*op.ints(out->ints[at], in.ints[i])))
                                : in.ints[i];
        started[at] = true;
    }
    const bool keep = node.intAttribute("keepdims", 1) != 0;
    for (std::size_t i = 0; i < kept.size(); ++i) {
        if (keep || !(*reduced)[i])
            out->dims.push_back(kept[i]);
    }
    return {out};
}

}  // namespace

FoldFunction findArithmetic(std::string_view op) {
    if (findBinary(op) != nullptr)
        return foldBinary;
    if (findUnary(op) != nullptr)
        return foldUnary;
    if (op == "Cast" || op == "CastLike")
        return foldCast;
    if (op == "Where")
        return foldWhere;
    if (op == "ReduceSum" || op == "ReduceProd" || op == "ReduceMin" || op == "ReduceMax")
        return foldReduce;
    return nullptr;
}

}  // namespace shardwright
