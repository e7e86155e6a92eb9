// SPDX-License-Identifier: Apache-2.0
#include "plan/weights.h"

#include "model/external_data.h"
#include "model/shapes.h"
#include "model/tensor_bytes.h"
#include "plan/context.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace shardwright {

namespace {

/// Calls `run(first, count)` for the runs of neighbouring elements that make up `box`, in its
/// order.
template <class F>
void forEachRun(const std::vector<std::int64_t>& shape, const Box& box, F&& run) {
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

/// The bytes of a tensor wherever they are, in pieces.
class TensorSource {
public:
    static Result<TensorSource> open(const onnx::TensorProto& tensor,
                                     const std::filesystem::path& folder) {
        TensorSource source;
        if (tensor.data_location() == onnx::TensorProto::EXTERNAL) {
            auto file = ExternalFile::open(tensor, folder);
            if (!file)
                return file.error();
            source.m_size = file->size();
            source.m_file = std::move(*file);
        } else if (tensor.has_raw_data()) {
            source.m_bytes = tensor.raw_data();
            source.m_size = source.m_bytes.size();
        } else {
            auto typed = tensorBytes(tensor, folder);
            if (!typed)
                return typed.error();
            source.m_typed = std::move(*typed);
            source.m_size = source.m_typed.size();
        }
        return source;
    }

    std::size_t size() const { return m_size; }

    /// Ascending reads of little pieces are served from a window of the file.
    Result<void> read(std::size_t offset, char* target, std::size_t bytes) {
        if (offset > m_size || bytes > m_size - offset)
            return Error{"its data is shorter than its shape says", {}};
        if (!m_file) {
            const std::string_view all = m_bytes.data() != nullptr ? m_bytes : m_typed;
            std::memcpy(target, all.data() + offset, bytes);
            return {};
        }
        if (bytes >= kDirect)
            return m_file->read(offset, target, bytes);
        if (offset < m_windowBegin || offset + bytes > m_windowBegin + m_window.size()) {
            m_window.resize(std::min(kWindow, m_size - offset));
            m_windowBegin = offset;
            if (auto read = m_file->read(offset, m_window.data(), m_window.size()); !read)
                return read;
        }
        std::memcpy(target, m_window.data() + (offset - m_windowBegin), bytes);
        return {};
    }

private:
    static constexpr std::size_t kDirect = 4096, kWindow = std::size_t{1} << 18;
    TensorSource() = default;
    std::optional<ExternalFile> m_file;
    std::string_view m_bytes;  ///< Null: m_typed.
    std::string m_typed, m_window;
    std::size_t m_windowBegin = 0, m_size = 0;
};

/// Elements below a byte lie one after the other, lowest bits first, whatever the rows.
void copyBits(const std::string& from, std::size_t fromBit, char* to, std::size_t toBit,
              std::size_t bits) {
    for (std::size_t i = 0; i < bits; ++i, ++fromBit, ++toBit) {
        const bool set = (static_cast<unsigned char>(from[fromBit / 8]) >> (fromBit % 8) & 1U) != 0;
        auto byte = static_cast<unsigned char>(to[toBit / 8]);
        const auto mask = static_cast<unsigned char>(1U << (toBit % 8));
        to[toBit / 8] = static_cast<char>(set ? byte | mask : byte & ~mask);
    }
}

/// The tensor's bytes, as many as its shape says.
Result<TensorSource> openWhole(const onnx::TensorProto& tensor,
                               const std::filesystem::path& folder) {
    auto count = elementCount(tensor);
    if (!count)
        return count.error();
    const std::int64_t needed = storageBytes(tensor.data_type(), *count);
    if (needed < 0)
        return Error{"has the unknown element type " + std::to_string(tensor.data_type()), {}};
    auto source = TensorSource::open(tensor, folder);
    if (source && source->size() < static_cast<std::size_t>(needed))
        return Error{"its data has " + std::to_string(source->size()) +
                         " bytes; its shape and type need " + std::to_string(needed),
                     {}};
    return source;
}

Result<void> readBox(TensorSource& source, const onnx::TensorProto& tensor, const Box& box,
                     char* target) {
    const std::vector<std::int64_t> shape(tensor.dims().begin(), tensor.dims().end());
    const auto bits = static_cast<std::size_t>(elementBits(tensor.data_type()));
    if (box.empty())
        return {};
    Result<void> result;
    std::size_t done = 0;  // Bits that are in the target.
    if (bits < 8)
        target[storageBytes(tensor.data_type(), box.count()) - 1] = 0;  // What is left over.
    std::string piece;
    forEachRun(shape, box, [&](std::int64_t first, std::int64_t count) {
        if (!result)
            return;
        const std::size_t begin = static_cast<std::size_t>(first) * bits,
                          length = static_cast<std::size_t>(count) * bits;
        if (begin % 8 == 0 && done % 8 == 0 && length % 8 == 0) {
            result = source.read(begin / 8, target + done / 8, length / 8);
        } else {
            piece.resize((begin + length + 7) / 8 - begin / 8);
            result = source.read(begin / 8, piece.data(), piece.size());
            if (result)
                copyBits(piece, begin % 8, target + done / 8, done % 8, length);
        }
        done += length;
    });
    return result;
}

void cutStrings(const onnx::TensorProto& tensor, const std::vector<std::int64_t>& shape,
                const Box& box, onnx::TensorProto& result) {
    forEachRun(shape, box, [&](std::int64_t first, std::int64_t count) {
        for (std::int64_t i = first; i < first + count && i < tensor.string_data_size(); ++i)
            result.add_string_data(tensor.string_data(static_cast<int>(i)));
    });
}

}  // namespace

Result<void> readWeight(const Weight& weight, const std::filesystem::path& folder,
                        std::byte* target) {
    auto source = openWhole(*weight.tensor, folder);
    auto read = source
                    ? readBox(*source, *weight.tensor, weight.box, reinterpret_cast<char*>(target))
                    : Result<void>(source.error());
    if (!read && read.error().place.empty())
        return Error{read.error().message, "tensor '" + weight.tensor->name() + "'"};
    return read;
}

namespace lowering {

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
    const Box taken = whole ? Box::whole(shape) : box;
    auto source = openWhole(tensor, folder);
    if (!source)
        throw Refusal{source.error().text(), "tensor " + tensor.name()};
    std::string& bytes = *result.mutable_raw_data();
    bytes.resize(static_cast<std::size_t>(storageBytes(tensor.data_type(), taken.count())));
    if (auto read = readBox(*source, tensor, taken, bytes.data()); !read)
        throw Refusal{read.error().text(), "tensor " + tensor.name()};
    return result;
}

}  // namespace lowering
}  // namespace shardwright
