// SPDX-License-Identifier: Apache-2.0
//
// Attention operators of com.microsoft: onnxruntime/core/graph/contrib_ops/bert_defs.cc.
#include "model/extra_inference_helpers.h"

#include <algorithm>

namespace shardwright::extra {

namespace {

Dim times(const Dim& dim, std::int64_t factor) {
    std::int64_t product = 0;
    const auto size = sizeOf(dim);
    return size && !__builtin_mul_overflow(*size, factor, &product) ? sized(product) : unknown();
}

Dim part(const Dim& dim, std::int64_t parts) {
    const auto size = sizeOf(dim);
    return size && parts > 0 && *size % parts == 0 ? sized(*size / parts) : unknown();
}

Dim sum(const Dim& a, const Dim& b) {
    std::int64_t total = 0;
    const auto x = sizeOf(a), y = sizeOf(b);
    return x && y && !__builtin_add_overflow(*x, *y, &total) ? sized(total) : unknown();
}

std::optional<std::int64_t> scalarInput(const Context& context, std::size_t slot) {
    const onnx::TensorProto* data = context.hasInput(slot) ? context.getInputData(slot) : nullptr;
    if (data == nullptr)
        return std::nullopt;
    if (data->int32_data_size() == 1)
        return data->int32_data(0);
    if (data->int64_data_size() == 1)
        return data->int64_data(0);
    if (data->data_type() == onnx::TensorProto::INT32 && data->raw_data().size() == 4) {
        std::int32_t value = 0;
        std::copy_n(data->raw_data().data(), 4, reinterpret_cast<char*>(&value));
        return value;
    }
    return std::nullopt;
}

struct FusedSlots {
    std::size_t weight = 1, past = 4, type = 0;
};

/// Input [b, s, i], weights [i, q + k + v]: output [b, s, v], present [2, b, heads, past + s,
/// head].
onnx::InferenceFunction fusedAttention(FusedSlots slots) {
    return [slots](Context& context) {
        setTypeOf(context, 0, slots.type);
        setTypeOf(context, 1, slots.type);
        const auto x = dimsOf(context, 0), w = dimsOf(context, slots.weight);
        if (!x || !w || x->size() != 3 || w->size() != 2)
            return;
        const onnx::AttributeProto* widths = context.getAttribute("qkv_hidden_sizes");
        const bool given = widths != nullptr && widths->ints_size() == 3;
        const Dim width = given ? sized(widths->ints(2)) : part((*w)[1], 3);
        setShape(context, 0, {(*x)[0], (*x)[1], width});
        const std::int64_t heads = attribute(context, "num_heads", 0);
        const auto past = dimsOf(context, slots.past);
        const bool shared = attribute(context, "past_present_share_buffer", 0) != 0;
        Dim total = (*x)[1];
        if (past && past->size() == 5)
            total = shared ? (*past)[3] : sum((*past)[3], (*x)[1]);
        setShape(context, 1, {sized(2), (*x)[0], sized(heads), total, part(width, heads)});
    };
}

/// Query [b, s, n*d] or packed [b, s, n, 3, d]; key and value [b, t, n*d], [b, n, t, d] or packed
/// [b, t, n, 2, d].
void multiHead(Context& context, std::size_t pastSlot) {
    for (std::size_t output = 0; output < 4; ++output)
        setTypeOf(context, output, 0);
    const auto q = dimsOf(context, 0), k = dimsOf(context, 1), v = dimsOf(context, 2);
    const std::int64_t heads = attribute(context, "num_heads", 0);
    if (!q || (q->size() != 3 && q->size() != 5))
        return;
    const bool packed = q->size() == 5;
    Dim width = packed ? times((*q)[4], heads) : (*q)[2];
    const Dim head = packed ? (*q)[4] : part((*q)[2], heads);
    Dim valueHead = head;
    if (v && v->size() == 3) {
        width = (*v)[2];
        valueHead = part(width, heads);
    } else if (v && v->size() == 4) {
        valueHead = (*v)[3];
        width = times(valueHead, heads);
    }
    setShape(context, 0, {(*q)[0], (*q)[1], width});
    Dim keys = packed ? (*q)[1] : unknown();
    if (k)
        keys = k->size() == 4 ? (*k)[2] : k->size() > 1 ? (*k)[1] : unknown();
    const auto past = dimsOf(context, pastSlot);
    const bool shared = attribute(context, "past_present_share_buffer", 0) != 0;
    if (past && past->size() == 4 && !(k && k->size() == 4))
        keys = shared ? (*past)[2] : sum((*past)[2], keys);
    setShape(context, 1, {(*q)[0], sized(heads), keys, head});
    setShape(context, 2, {(*q)[0], sized(heads), keys, valueHead});
    setShape(context, 3, {(*q)[0], sized(heads), (*q)[1], keys});
}

/// Query [b, s, n*d], key and value [b, s, kv*d], or all side by side in the query.
void groupQuery(Context& context) {
    setTypeOf(context, 0, 0);
    for (const std::size_t output : {1, 2})
        setTypeOf(context, output, context.hasInput(3) ? 3 : 0);
    setTypeOf(context, 3, 0);
    const auto q = dimsOf(context, 0);
    const std::int64_t heads = attribute(context, "num_heads", 0),
                       kvHeads = attribute(context, "kv_num_heads", 0);
    if (!q || q->size() != 3 || heads <= 0 || kvHeads <= 0 || heads > 1 << 20 || kvHeads > 1 << 20)
        return;
    const bool packed = !context.hasInput(1);
    const Dim head = part((*q)[2], packed ? heads + 2 * kvHeads : heads);
    setShape(context, 0, {(*q)[0], (*q)[1], packed ? times(head, heads) : (*q)[2]});
    const auto past = dimsOf(context, 3);
    // The cache is as long as the past or as the longest sequence, whichever is more.
    const auto total = scalarInput(context, 6);
    Dim length = unknown();
    if (total && (!past || (past->size() == 4 && sizeOf((*past)[2]))))
        length = sized(std::max(*total, past ? *sizeOf((*past)[2]) : 0));
    const Dim width = past && past->size() == 4 ? (*past)[3] : head;
    for (const std::size_t output : {1, 2})
        setShape(context, output, {(*q)[0], sized(kvHeads), length, width});
    setShape(context, 3, {(*q)[0], sized(heads), (*q)[1], total ? sized(*total) : unknown()});
}

/// Ids [b, s], words [v, h]: output and sum [b, s, h], mask index [b].
void embedLayerNorm(Context& context) {
    setTypeOf(context, 0, 5);
    setType(context, 1, onnx::TensorProto::INT32);
    setTypeOf(context, 2, 5);
    const auto ids = dimsOf(context, 0), words = dimsOf(context, 2);
    if (!ids || !words || ids->size() != 2 || words->size() != 2)
        return;
    for (const std::size_t output : {0, 2})
        setShape(context, output, {(*ids)[0], (*ids)[1], (*words)[1]});
    setShape(context, 1, {(*ids)[0]});
}

}  // namespace

void addAttention(Table& table) {
    const char* ms = "com.microsoft";
    table[{ms, "Attention"}] = fusedAttention({});
    table[{ms, "DecoderMaskedSelfAttention"}] = fusedAttention({});
    table[{ms, "QAttention"}] = fusedAttention({1, 8, 3});
    table[{ms, "MultiHeadAttention"}] = [](Context& context) { multiHead(context, 6); };
    table[{ms, "DecoderMaskedMultiHeadAttention"}] = [](Context& context) {
        multiHead(context, 5);
    };
    table[{ms, "GroupQueryAttention"}] = groupQuery;
    table[{ms, "RotaryEmbedding"}] = like();
    table[{ms, "EmbedLayerNormalization"}] = embedLayerNorm;
}

}  // namespace shardwright::extra
