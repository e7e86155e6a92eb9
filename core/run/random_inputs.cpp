// SPDX-License-Identifier: Apache-2.0
#include "run/element_types.h"
#include "run/index_use.h"
#include "run/inputs.h"

#include "run/tensor_buffer.h"

#include <cstring>
#include <limits>
#include <set>

namespace shardwright {

namespace {

std::uint64_t splitmix64(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

std::uint64_t fnv1a(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325ull;
    for (const char c : text)
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
    return hash;
}

struct Numbers {
    std::uint64_t key;
    std::uint64_t at(std::int64_t i) const {
        return splitmix64(key ^ splitmix64(static_cast<std::uint64_t>(i)));
    }
};

double normal(std::uint64_t r) {
    const double sum =
        static_cast<double>((r & 0xffff) + ((r >> 16) & 0xffff) + ((r >> 32) & 0xffff) + (r >> 48));
    return (sum / 65536.0 - 2.0) * 1.7320508075688772;
}

template <class T>
void store(Buffer& buffer, std::int64_t index, T value) {
    std::memcpy(buffer.data() + static_cast<std::size_t>(index) * sizeof(T), &value, sizeof(T));
}

bool fillRandom(Buffer& buffer, const IndexUse& use, const Numbers& numbers) {
    const std::int64_t row =
        buffer.dims().empty() ? 1 : std::max<std::int64_t>(1, buffer.dims().back());
    return withElementType(buffer.elementType(), false, [&](auto zero) {
        using T = decltype(zero);
        for (std::int64_t i = 0; i < buffer.count(); ++i) {
            const std::uint64_t r = numbers.at(i);
            const std::uint64_t bit = i % row == 0 ? 1 : r >> 63;
            if constexpr (std::is_same_v<T, Half>)
                store(buffer, i, toHalf(static_cast<float>(normal(r))));
            else if constexpr (std::is_same_v<T, BFloat16>)
                store(buffer, i, toBFloat16(static_cast<float>(normal(r))));
            else if constexpr (std::is_floating_point_v<T>)
                store(buffer, i, static_cast<T>(normal(r)));
            else if constexpr (std::is_same_v<T, bool>)
                store(buffer, i, static_cast<std::uint8_t>(bit));
            else if (use.mask)
                store(buffer, i, static_cast<T>(bit));
            else if (use.bound > 0)
                store(buffer, i,
                      static_cast<T>(
                          r % std::min(static_cast<std::uint64_t>(use.bound),
                                       static_cast<std::uint64_t>(std::numeric_limits<T>::max()))));
            else
                store(buffer, i, static_cast<T>(1 + r % 3));
        }
        return true;
    });
}

/// Words that the model knows: elements of nodes' lists of strings and of tensors of strings.
std::vector<std::string> wordsOf(const GraphIndex& graph) {
    constexpr std::size_t kMost = 1000;
    std::set<std::string> words;
    const auto add = [&](const auto& texts) {
        for (const std::string& text : texts)
            if (words.size() < kMost && text.find('\0') == std::string::npos)
                words.insert(text);
    };
    for (const NodeInfo& node : graph.nodes)
        for (const onnx::AttributeProto& attribute : node.proto->attribute()) {
            add(attribute.strings());
            add(attribute.t().string_data());
        }
    for (const ValueInfo& value : graph.values)
        if (value.initializer)
            add(value.initializer->string_data());
    for (const char* other : {"Another", "two words"})
        words.insert(other);
    return {words.begin(), words.end()};
}

Result<Buffer> randomStrings(const GraphIndex& graph, const std::vector<std::int64_t>& dims,
                             const Numbers& numbers, StringPool& strings) {
    const std::vector<std::string> words = wordsOf(graph);
    const auto shape = Buffer::host(storedType(onnx::TensorProto::STRING), dims);
    if (!shape)
        return shape;
    std::vector<std::string> texts;
    for (std::int64_t i = 0; i < shape->count(); ++i)
        texts.push_back(words[numbers.at(i) % words.size()]);
    return strings.buffer(texts, dims);
}

}  // namespace

Result<InputSet> randomInputs(const Model& model, const ShapeTable& shapes, std::uint64_t seed,
                              const Registry& registry, StringPool* strings) {
    StringPool unseen;
    InputSet inputs;
    const GraphIndex& graph = model.graph();
    for (const ValueId id : graph.main().inputs) {
        const ValueInfo& value = graph.value(id);
        const TensorInfo& info = shapes.of(id);
        const std::string place = "input `" + value.name + "`";
        if (info.kind != TensorInfo::Kind::Tensor || !info.concrete())
            return Error{info.kind == TensorInfo::Kind::Other
                             ? "only tensors can be made up, this is a sequence, optional or map"
                             : "its shape is not known",
                         place};
        const Numbers numbers{seed ^ fnv1a(value.name)};
        if (strings && !value.initializer && isString(info.elementType)) {
            auto texts = randomStrings(graph, info.dims, numbers, *strings);
            if (!texts)
                return Error{texts.error().message, place};
            inputs.emplace(value.name, std::move(*texts));
            continue;
        }
        auto buffer = value.initializer
                          ? tensorBuffer(*value.initializer, model.path().parent_path(),
                                         strings ? *strings : unseen)
                          : Buffer::host(info.elementType, info.dims);
        if (!buffer)
            return Error{buffer.error().message, place};
        if (value.initializer) {
            if (buffer->dims() != info.dims)
                return Error{"its default has another shape than the input", place};
        } else if (!fillRandom(*buffer, findIndexUse(graph, shapes, id, registry), numbers)) {
            return Error{"no random values of type " + elementTypeName(info.elementType) +
                             "; give a file",
                         place};
        }
        inputs.emplace(value.name, std::move(*buffer));
    }
    return inputs;
}

}  // namespace shardwright
