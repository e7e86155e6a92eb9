// SPDX-License-Identifier: Apache-2.0
//
// Operators that only move elements. Each computes, for every element of the output, where it comes
// from.

#include "model/folding.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

namespace shardwright {

namespace {

using Dims = std::vector<std::int64_t>;
using Index = std::vector<std::size_t>;

ConstantRef pick(const ConstantValue& from, Dims dims, const Index& source) {
    auto out = std::make_shared<ConstantValue>();
    out->elementType = from.elementType;
    out->dims = std::move(dims);
    for (const std::size_t at : source) {
        if (isReal(from.elementType))
            out->reals.push_back(from.reals[at]);
        else
            out->ints.push_back(from.ints[at]);
    }
    return out;
}

ConstantRef reshaped(const ConstantValue& from, Dims dims) {
    auto out = std::make_shared<ConstantValue>(from);
    out->dims = std::move(dims);
    return out;
}

std::size_t elements(const ConstantValue& value) {
    return value.ints.size() + value.reals.size();
}

Dims stridesOf(const Dims& dims) {
    Dims strides(dims.size(), 1);
    for (std::size_t i = dims.size(); i-- > 1;)
        strides[i - 1] = strides[i] * dims[i];
    return strides;
}

/// Calls visit(coordinates) for each element in row-major order.
template <class Visit>
void forEachElement(const Dims& dims, std::size_t count, Visit visit) {
    Dims at(dims.size(), 0);
    for (std::size_t i = 0; i < count; ++i) {
        visit(at);
        for (std::size_t axis = dims.size(); axis-- > 0;) {
            if (++at[axis] < dims[axis])
                break;
            at[axis] = 0;
        }
    }
}

std::optional<std::size_t> axisOf(std::int64_t axis, std::size_t rank) {
    const auto size = static_cast<std::int64_t>(rank);
    if (axis < -size || axis >= size)
        return std::nullopt;
    return static_cast<std::size_t>(axis < 0 ? axis + size : axis);
}

/// `axes`: the second input in newer opsets, an attribute in older ones; nothing where neither is
/// given.
std::optional<Dims> axesOf(const FoldNode& node) {
    if (node.has(1))
        return node.inputs[1]->ints;
    return node.intsAttribute("axes");
}

FoldResult foldIdentity(const FoldNode& node) {
    return node.has(0) ? FoldResult{std::make_shared<const ConstantValue>(*node.inputs[0])}
                       : FoldResult();
}

FoldResult foldGather(const FoldNode& node) {
    if (!node.has(0) || !node.has(1) || !isIntegral(node.inputs[1]->elementType))
        return {};
    const ConstantValue& data = *node.inputs[0];
    const ConstantValue& indices = *node.inputs[1];
    const auto axis = axisOf(node.intAttribute("axis", 0), data.dims.size());
    if (!axis)
        return {};
    const std::int64_t size = data.dims[*axis];
    Dims dims(data.dims.begin(), data.dims.begin() + static_cast<std::ptrdiff_t>(*axis));
    const auto outer = static_cast<std::size_t>(*countWithin(dims));
    dims.insert(dims.end(), indices.dims.begin(), indices.dims.end());
    dims.insert(dims.end(), data.dims.begin() + static_cast<std::ptrdiff_t>(*axis) + 1,
                data.dims.end());
    if (!countWithin(dims))
        return {};
    const std::size_t inner = static_cast<std::size_t>(stridesOf(data.dims)[*axis]);
    Index source;
    for (std::size_t before = 0; before < outer; ++before) {
        for (const std::int64_t index : indices.ints) {
            const std::int64_t at = index < 0 ? index + size : index;
            if (at < 0 || at >= size)
                return {};
            for (std::size_t behind = 0; behind < inner; ++behind)
                source.push_back(
                    (before * static_cast<std::size_t>(size) + static_cast<std::size_t>(at)) *
                        inner +
                    behind);
        }
    }
    return {pick(data, std::move(dims), source)};
}

FoldResult foldConcat(const FoldNode& node) {
    if (!node.has(0))
        return {};
    const auto axis = axisOf(node.intAttribute("axis", 0), node.inputs[0]->dims.size());
    if (!axis)
        return {};
    auto out = std::make_shared<ConstantValue>();
    out->elementType = node.inputs[0]->elementType;
    out->dims = node.inputs[0]->dims;
    out->dims[*axis] = 0;
    for (const ConstantValue* input : node.inputs) {
        if (input == nullptr || input->elementType != out->elementType ||
            input->dims.size() != out->dims.size())
            return {};
        for (std::size_t i = 0; i < out->dims.size(); ++i) {
            if (i != *axis && input->dims[i] != out->dims[i])
                return {};
        }
        out->dims[*axis] += input->dims[*axis];
    }
    if (!countWithin(out->dims))
        return {};
    const auto outer = static_cast<std::size_t>(*countWithin(
        Dims(out->dims.begin(), out->dims.begin() + static_cast<std::ptrdiff_t>(*axis))));
    for (std::size_t block = 0; block < outer; ++block) {
        for (const ConstantValue* input : node.inputs) {
            const auto size = static_cast<std::ptrdiff_t>(elements(*input) / outer);
            const auto begin = static_cast<std::ptrdiff_t>(block) * size;
            if (isReal(out->elementType))
                out->reals.insert(out->reals.end(), input->reals.begin() + begin,
                                  input->reals.begin() + begin + size);
            else
                out->ints.insert(out->ints.end(), input->ints.begin() + begin,
                                 input->ints.begin() + begin + size);
        }
    }
    return {out};
}

FoldResult foldUnsqueeze(const FoldNode& node) {
    const auto axes = axesOf(node);
    if (!node.has(0) || !axes)
        return {};
    const std::size_t rank = node.inputs[0]->dims.size() + axes->size();
    std::vector<bool> added(rank, false);
    for (const std::int64_t given : *axes) {
        const auto axis = axisOf(given, rank);
        if (!axis || added[*axis])
            return {};
        added[*axis] = true;
    }
    Dims dims;
    auto next = node.inputs[0]->dims.begin();
    for (const bool one : added)
        dims.push_back(one ? 1 : *next++);
    return {reshaped(*node.inputs[0], std::move(dims))};
}

FoldResult foldSqueeze(const FoldNode& node) {
    if (!node.has(0))
        return {};
    const Dims& in = node.inputs[0]->dims;
    const auto axes = axesOf(node);
    std::vector<bool> removed(in.size(), false);
    for (std::size_t i = 0; i < in.size() && !axes; ++i)
        removed[i] = in[i] == 1;
    for (const std::int64_t given : axes.value_or(Dims())) {
        const auto axis = axisOf(given, in.size());
        if (!axis || in[*axis] != 1)
            return {};
        removed[*axis] = true;
    }
    Dims dims;
    for (std::size_t i = 0; i < in.size(); ++i) {
        if (!removed[i])
            dims.push_back(in[i]);
    }
    return {reshaped(*node.inputs[0], std::move(dims))};
}

FoldResult foldReshape(const FoldNode& node) {
    if (!node.has(0) || (!node.has(1) && !node.intsAttribute("shape")))
        return {};
    const ConstantValue& data = *node.inputs[0];
    Dims dims = node.has(1) ? node.inputs[1]->ints : *node.intsAttribute("shape");
    const bool zeroIsZero = node.intAttribute("allowzero", 0) != 0;
    std::optional<std::size_t> free;
    for (std::size_t i = 0; i < dims.size(); ++i) {
        if (dims[i] == 0 && !zeroIsZero && i < data.dims.size())
            dims[i] = data.dims[i];
        if (dims[i] != -1)
            continue;
        if (free)
            return {};
        free = i;
        dims[i] = 1;
    }
    const auto count = countWithin(dims);
    const auto have = static_cast<std::int64_t>(elements(data));
    if (!count || (free ? *count == 0 || have % *count != 0 : *count != have))
        return {};
    if (free)
        dims[*free] = have / *count;
    return {reshaped(data, std::move(dims))};
}

FoldResult foldFlatten(const FoldNode& node) {
    if (!node.has(0))
        return {};
    const Dims& in = node.inputs[0]->dims;
    const auto rank = static_cast<std::int64_t>(in.size());
    std::int64_t axis = node.intAttribute("axis", 1);
    axis = axis < 0 ? axis + rank : axis;
    if (axis < 0 || axis > rank)
        return {};
    return {reshaped(*node.inputs[0], {*countWithin(Dims(in.begin(), in.begin() + axis)),
                                       *countWithin(Dims(in.begin() + axis, in.end()))})};
}

FoldResult foldTranspose(const FoldNode& node) {
    if (!node.has(0))
        return {};
    const Dims& in = node.inputs[0]->dims;
    Dims order = node.intsAttribute("perm").value_or(Dims());
    if (order.empty()) {
        order.resize(in.size());
        std::iota(order.rbegin(), order.rend(), 0);
    }
    if (order.size() != in.size())
        return {};
    Dims dims;
    Dims strides;
    std::vector<bool> seen(in.size(), false);
    for (const std::int64_t given : order) {
        const auto axis = axisOf(given, in.size());
        if (!axis || given < 0 || seen[*axis])
            return {};
        seen[*axis] = true;
        dims.push_back(in[*axis]);
        strides.push_back(stridesOf(in)[*axis]);
    }
    Index source;
    forEachElement(dims, elements(*node.inputs[0]), [&](const Dims& at) {
        source.push_back(static_cast<std::size_t>(
            std::inner_product(at.begin(), at.end(), strides.begin(), std::int64_t(0))));
    });
    return {pick(*node.inputs[0], std::move(dims), source)};
}

/// Where each element of a broadcast or tiled tensor comes from.
FoldResult repeated(const ConstantValue& data, const Dims& in, const Dims& dims) {
    const auto count = countWithin(dims);
    if (!count)
        return {};
    const Dims strides = stridesOf(in);
    Index source;
    forEachElement(dims, static_cast<std::size_t>(*count), [&](const Dims& at) {
        std::int64_t index = 0;
        for (std::size_t i = 0; i < at.size(); ++i)
            index += at[i] % in[i] * strides[i];
        source.push_back(static_cast<std::size_t>(index));
    });
    return {pick(data, dims, source)};
}

FoldResult foldExpand(const FoldNode& node) {
    if (!node.has(0) || !node.has(1))
        return {};
    Dims in = node.inputs[0]->dims;
    Dims dims = node.inputs[1]->ints;
    const std::size_t rank = std::max(in.size(), dims.size());
    in.insert(in.begin(), rank - in.size(), 1);
    dims.insert(dims.begin(), rank - dims.size(), 1);
    for (std::size_t i = 0; i < rank; ++i) {
        if (in[i] != dims[i] && in[i] != 1 && dims[i] != 1)
            return {};
        dims[i] = in[i] == 1 ? dims[i] : in[i];
    }
    return repeated(*node.inputs[0], in, dims);
}

FoldResult foldTile(const FoldNode& node) {
    if (!node.has(0) || !node.has(1) || node.inputs[1]->ints.size() != node.inputs[0]->dims.size())
        return {};
    Dims dims = node.inputs[0]->dims;
    for (std::size_t i = 0; i < dims.size(); ++i) {
        const std::int64_t times = node.inputs[1]->ints[i];
        if (times < 0 || times > ShapeTable::kMaxFolded)
            return {};
        dims[i] *= times;
    }
    return repeated(*node.inputs[0], node.inputs[0]->dims, dims);
}

struct Range {
    std::int64_t start = 0;
    std::int64_t step = 1;
};

/// Sets the range of one axis and its size; ONNX clamps out-of-range bounds.
bool sliceAxis(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t& size,
               Range& range) {
    // Negating the least number is undefined, and no step is longer than the axis.
    step = std::clamp<std::int64_t>(step, -std::numeric_limits<std::int32_t>::max(),
                                    std::numeric_limits<std::int32_t>::max());
    if (step == 0)
        return false;
    start = start < 0 ? start + size : start;
    end = end < 0 ? end + size : end;
    const std::int64_t least = step > 0 ? 0 : -1;
    const std::int64_t most = step > 0 ? size : size - 1;
    start = std::clamp(start, std::min<std::int64_t>(0, most), most);
    end = std::clamp(end, std::min(least, most), most);
    const std::int64_t distance = step > 0 ? end - start : start - end;
    const std::int64_t stride = step > 0 ? step : -step;
    size = distance <= 0 ? 0 : (distance + stride - 1) / stride;
    range = {start, step};
    return true;
}

FoldResult foldSlice(const FoldNode& node) {
    const auto argument = [&](std::size_t slot, const char* name) -> std::optional<Dims> {
        if (node.has(slot))
            return node.inputs[slot]->ints;
        return node.intsAttribute(name);
    };
    const auto starts = argument(1, "starts");
    const auto ends = argument(2, "ends");
    if (!node.has(0) || !starts || !ends || starts->size() != ends->size())
        return {};
    Dims all(starts->size());
    std::iota(all.begin(), all.end(), 0);
    const Dims axes = argument(3, "axes").value_or(all);
    const Dims steps = argument(4, "steps").value_or(Dims(starts->size(), 1));
    if (axes.size() != starts->size() || steps.size() != starts->size())
        return {};
    const ConstantValue& data = *node.inputs[0];
    Dims dims = data.dims;
    std::vector<Range> ranges(dims.size());
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const auto axis = axisOf(axes[i], dims.size());
        if (!axis || !sliceAxis((*starts)[i], (*ends)[i], steps[i], dims[*axis], ranges[*axis]))
            return {};
    }
    const Dims strides = stridesOf(data.dims);
    Index source;
    forEachElement(dims, static_cast<std::size_t>(*countWithin(dims)), [&](const Dims& at) {
        std::int64_t index = 0;
        for (std::size_t i = 0; i < at.size(); ++i)
            index += (ranges[i].start + at[i] * ranges[i].step) * strides[i];
        source.push_back(static_cast<std::size_t>(index));
    });
    return {pick(data, std::move(dims), source)};
}

FoldResult foldSplit(const FoldNode& node) {
    if (!node.has(0) || node.outputs == 0)
        return {};
    const ConstantValue& data = *node.inputs[0];
    const auto axis = axisOf(node.intAttribute("axis", 0), data.dims.size());
    if (!axis)
        return {};
    const std::int64_t size = data.dims[*axis];
    Dims parts = node.has(1) ? node.inputs[1]->ints : node.intsAttribute("split").value_or(Dims());
    const auto count = static_cast<std::int64_t>(node.outputs);
    const std::int64_t chunk = (size + count - 1) / count;
    if (parts.empty()) {
        for (std::int64_t left = size; parts.size() < node.outputs; left -= chunk)
            parts.push_back(std::clamp<std::int64_t>(left, 0, chunk));
    }
    if (parts.size() != node.outputs ||
        std::accumulate(parts.begin(), parts.end(), std::int64_t(0)) != size ||
        std::any_of(parts.begin(), parts.end(),
                    [&](std::int64_t part) { return part < 0 || part > size; }))
        return {};
    const Dims strides = stridesOf(data.dims);
    FoldResult result;
    std::int64_t begin = 0;
    for (const std::int64_t part : parts) {
        Dims dims = data.dims;
        dims[*axis] = part;
        Index source;
        forEachElement(dims, static_cast<std::size_t>(*countWithin(dims)), [&](const Dims& at) {
            const std::int64_t index =
                std::inner_product(at.begin(), at.end(), strides.begin(), std::int64_t(0));
            source.push_back(static_cast<std::size_t>(index + begin * strides[*axis]));
        });
        begin += part;
        result.push_back(pick(data, std::move(dims), source));
    }
    return result;
}

}  // namespace

FoldFunction findMovement(std::string_view op) {
    static const std::map<std::string_view, FoldFunction> table = {
        {"Identity", foldIdentity},   {"Gather", foldGather},       {"Concat", foldConcat},
        {"Unsqueeze", foldUnsqueeze}, {"Squeeze", foldSqueeze},     {"Reshape", foldReshape},
        {"Flatten", foldFlatten},     {"Transpose", foldTranspose}, {"Expand", foldExpand},
        {"Tile", foldTile},           {"Slice", foldSlice},         {"Split", foldSplit},
    };
    const auto found = table.find(op);
    return found != table.end() ? found->second : nullptr;
}

}  // namespace shardwright
