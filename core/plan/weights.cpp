// SPDX-License-Identifier: Apache-2.0
#include "plan/weights.h"

#include "model/external_data.h"
#include "model/shapes.h"
#include "model/tensor_bytes.h"
#include "plan/context.h"

#include <algorithm>
#include <functional>

namespace shardwright::lowering {

namespace {

/// Calls `run(first, count)` for the runs of neighbouring elements that make up `box`, in its
/// order.
void forEachRun(const std::vector<std::int64_t>& shape, const Box& box,
                const std::function<void(std::int64_t, std::int64_t)>& run) {
    // The innermost dimensions that are taken whole are one run with the last one that is not.
    std::size_t inner = shape.size();
    std::int64_t unit = 1;
    while (inner > 0 && box.dims[inner - 1] == IndexSet(0, shape[inner - 1]))
        unit *= shape[--inner];
    if (inner == 0) {
        run(0, unit);
        return;
    }
    std::vector<std::int64_t> strides(inner);
    std::int64_t stride = unit;
    for (std::size_t d = inner; d-- > 0;) {
        strides[d] = stride;
        stride *= shape[d];
    }
    std::vector<std::vector<std::int64_t>> indices(inner - 1);
    for (std::size_t d = 0; d + 1 < inner; ++d)
        for (const auto& interval : box.dims[d].intervals())
            for (std::int64_t i = interval.begin; i < interval.end; ++i)
                indices[d].push_back(i);
    std::vector<std::size_t> at(inner - 1, 0);
    for (;;) {
        std::int64_t base = 0;
        for (std::size_t d = 0; d + 1 < inner; ++d)
            base += indices[d][at[d]] * strides[d];
        for (const auto& interval : box.dims[inner - 1].intervals())
            run(base + interval.begin * unit, (interval.end - interval.begin) * unit);
        std::size_t d = inner - 1;
        while (d > 0 && ++at[d - 1] == indices[d - 1].size())
            at[--d] = 0;
        if (d == 0)
            return;
    }
}

void cutStrings(const onnx::TensorProto& tensor, const std::vector<std::int64_t>& shape,
                const Box& box, onnx::TensorProto& result) {
    forEachRun(shape, box, [&](std::int64_t first, std::int64_t count) {
        for (std::int64_t i = first; i < first + count && i < tensor.string_data_size(); ++i)
            result.add_string_data(tensor.string_data(static_cast<int>(i)));
    });
}

}  // namespace

onnx::TensorProto cutTensor(const onnx::TensorProto& tensor, const Box& box,
                            const std::filesystem::path& folder) {
    const std::vector<std::int64_t> shape(tensor.dims().begin(), tensor.dims().end());
    const bool external = tensor.data_location() == onnx::TensorProto::EXTERNAL;
    const bool whole = box.dims.size() != shape.size() || box == Box::whole(shape);
    if (whole && !external) {
        onnx::TensorProto result = tensor;
        result.clear_name();
        result.clear_doc_string();
        return result;
    }
    onnx::TensorProto result;
    result.set_data_type(tensor.data_type());
    for (const std::int64_t dim : whole ? shape : dimsOf(box))
        result.add_dims(dim);
    if (!whole && box.empty())
        return result;
    if (tensor.data_type() == onnx::TensorProto::STRING) {
        cutStrings(tensor, shape, box, result);
        return result;
    }
    MappedBytes mapped;
    if (external) {
        auto opened = mapExternal(tensor, folder);
        if (!opened)
            throw Refusal{opened.error().text(), "tensor " + tensor.name()};
        mapped = std::move(opened.value());
    }
    std::string typed;
    if (!external && !tensor.has_raw_data()) {
        auto read = tensorBytes(tensor, folder);
        if (!read)
            throw Refusal{read.error().text(), "tensor " + tensor.name()};
        typed = std::move(read.value());
    }
    const std::string_view bytes = external                ? mapped.bytes()
                                   : tensor.has_raw_data() ? std::string_view(tensor.raw_data())
                                                           : std::string_view(typed);
    if (whole) {
        result.set_raw_data(bytes.data(), bytes.size());
        return result;
    }
    const int bits = elementBits(tensor.data_type());
    if (bits < 8 || bits % 8 != 0)
        throw Refusal{"a tensor of " + elementTypeName(tensor.data_type()) +
                          " cannot be cut: its elements share bytes",
                      "tensor " + tensor.name()};
    const std::int64_t size = bits / 8;
    std::string& cut = *result.mutable_raw_data();
    cut.reserve(static_cast<std::size_t>(box.count() * size));
    forEachRun(shape, box, [&](std::int64_t first, std::int64_t count) {
        if (static_cast<std::size_t>((first + count) * size) > bytes.size())
            throw Refusal{"its data is shorter than its shape " + dimsText(shape) + " says",
                          "tensor " + tensor.name()};
        cut.append(bytes.substr(static_cast<std::size_t>(first * size),
                                static_cast<std::size_t>(count * size)));
    });
    return result;
}

}  // namespace shardwright::lowering
