// SPDX-License-Identifier: Apache-2.0
//
// Operators that make a tensor from shapes and attributes: Shape, Size, Constant, ConstantOfShape,
// Range.

#include "model/folding.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace shardwright {

namespace {

using T = onnx::TensorProto;

FoldResult one(ConstantValue value) {
    return {std::make_shared<const ConstantValue>(std::move(value))};
}

ConstantValue int64Vector(std::vector<std::int64_t> values) {
    ConstantValue constant;
    constant.elementType = T::INT64;
    constant.dims = {static_cast<std::int64_t>(values.size())};
    constant.ints = std::move(values);
    return constant;
}

FoldResult foldShape(const FoldNode& node) {
    if (node.shape == nullptr)
        return {};
    const auto rank = static_cast<std::int64_t>(node.shape->size());
    const auto clamped = [&](std::int64_t axis) {
        return std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
    };
    const std::int64_t start = clamped(node.intAttribute("start", 0));
    const std::int64_t end = std::max(start, clamped(node.intAttribute("end", rank)));
    return one(int64Vector({node.shape->begin() + start, node.shape->begin() + end}));
}

FoldResult foldSize(const FoldNode& node) {
    if (node.shape == nullptr)
        return {};
    const auto count = countWithin(*node.shape, std::int64_t(1) << 62);
    if (!count)
        return {};
    ConstantValue constant = int64Vector({*count});
    constant.dims.clear();
    return one(std::move(constant));
}

FoldResult foldConstant(const FoldNode& node) {
    if (const auto* value = node.attribute("value")) {
        ConstantRef constant = constantFromTensor(value->t());
        return constant ? FoldResult{constant} : FoldResult();
    }
    ConstantValue constant;
    if (const auto* value = node.attribute("value_int")) {
        constant.elementType = T::INT64;
        constant.ints = {value->i()};
    } else if (const auto* list = node.attribute("value_ints")) {
        if (list->ints_size() > ShapeTable::kMaxFolded)
            return {};
        constant = int64Vector({list->ints().begin(), list->ints().end()});
    } else if (const auto* real = node.attribute("value_float")) {
        constant.elementType = T::FLOAT;
        constant.reals = {double(real->f())};
    } else if (const auto* reals = node.attribute("value_floats")) {
        if (reals->floats_size() > ShapeTable::kMaxFolded)
            return {};
        constant.elementType = T::FLOAT;
        constant.dims = {reals->floats_size()};
        constant.reals.assign(reals->floats().begin(), reals->floats().end());
    } else {
        return {};
    }
    return one(std::move(constant));
}

FoldResult foldConstantOfShape(const FoldNode& node) {
    if (!node.has(0) || !isIntegral(node.inputs[0]->elementType))
        return {};
    const auto count = countWithin(node.inputs[0]->ints);
    if (!count)
        return {};
    ConstantValue constant;
    constant.elementType = T::FLOAT;
    constant.reals = {0.0};
    if (const auto* value = node.attribute("value")) {
        const ConstantRef given = constantFromTensor(value->t(), 1);
        if (!given || given->ints.size() + given->reals.size() != 1)
            return {};
        constant = *given;
    }
    constant.dims = node.inputs[0]->ints;
    if (isReal(constant.elementType))
        constant.reals.assign(static_cast<std::size_t>(*count), constant.reals[0]);
    else
        constant.ints.assign(static_cast<std::size_t>(*count), constant.ints[0]);
    return one(std::move(constant));
}

FoldResult intRange(std::int32_t type, std::int64_t start, std::int64_t limit, std::int64_t delta) {
    if (delta == 0)
        return {};
    ConstantValue constant = int64Vector({});
    constant.elementType = type;
    for (std::int64_t value = start; delta > 0 ? value < limit : value > limit;) {
        constant.ints.push_back(value);
        if (constant.ints.size() > static_cast<std::size_t>(ShapeTable::kMaxFolded) ||
            __builtin_add_overflow(value, delta, &value))
            return {};
    }
    constant.dims = {static_cast<std::int64_t>(constant.ints.size())};
    return one(std::move(constant));
}

FoldResult realRange(std::int32_t type, double start, double limit, double delta) {
    const double count = std::ceil((limit - start) / delta);
    if (!std::isfinite(count) || count > double(ShapeTable::kMaxFolded))
        return {};
    ConstantValue constant;
    constant.elementType = type;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(count); ++i) {
        const double value = start + double(i) * delta;
        constant.reals.push_back(type == T::FLOAT ? double(static_cast<float>(value)) : value);
    }
    constant.dims = {static_cast<std::int64_t>(constant.reals.size())};
    return one(std::move(constant));
}

FoldResult foldRange(const FoldNode& node) {
    if (!node.has(0) || !node.has(1) || !node.has(2))
        return {};
    const std::int32_t type = node.inputs[0]->elementType;
    const auto ints = [&](std::size_t i) { return node.inputs[i]->ints; };
    const auto reals = [&](std::size_t i) { return node.inputs[i]->reals; };
    if (ints(0).size() == 1 && ints(1).size() == 1 && ints(2).size() == 1)
        return intRange(type, ints(0)[0], ints(1)[0], ints(2)[0]);
    if ((type == T::FLOAT || type == T::DOUBLE) && reals(0).size() == 1 && reals(1).size() == 1 &&
        reals(2).size() == 1)
        return realRange(type, reals(0)[0], reals(1)[0], reals(2)[0]);
    return {};
}

}  // namespace

FoldFunction findCreation(std::string_view op) {
    static const std::map<std::string_view, FoldFunction> table = {
        {"Shape", foldShape},       {"Size", foldSize},
        {"Constant", foldConstant}, {"ConstantOfShape", foldConstantOfShape},
        {"Range", foldRange},
    };
    const auto found = table.find(op);
    return found != table.end() ? found->second : nullptr;
}

}  // namespace shardwright
