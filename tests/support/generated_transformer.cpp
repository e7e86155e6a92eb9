// SPDX-License-Identifier: Apache-2.0
#include "support/generated_transformer.h"

namespace shardwright::test {

namespace {

/// Appends nodes below a scope; each gives one tensor, named like the node.
class Writer {
public:
    Writer(ModelBuilder& builder, const TransformerSizes& sizes)
        : m_builder(builder), m_sizes(sizes) {}

    std::string op(const std::string& type, const std::vector<std::string>& inputs,
                   const std::string& name, const std::vector<Attribute>& attributes = {}) {
        const std::string full = m_scope + name;
        m_builder.op(type, inputs, {full + ":0"}, full, attributes);
        return full + ":0";
    }
    std::string weight(const std::string& name, const std::vector<std::int64_t>& dims) {
        const std::string full = m_scope + name + ".weight";
        if (m_sizes.external)
            m_builder.externalWeight(full, dims, "weights.bin");
        else
            m_builder.weight(full, dims);
        return full;
    }
    void enter(const std::string& scope) { m_scope = scope; }

    std::string rmsNorm(const std::string& x, const std::string& name) {
        const std::string square = op("Mul", {x, x}, name + "/square");
        const std::string mean = op("ReduceMean", {square, "last"}, name + "/mean");
        const std::string shifted = op("Add", {mean, "epsilon"}, name + "/add");
        const std::string root = op("Sqrt", {shifted}, name + "/sqrt");
        const std::string scaled = op("Div", {x, root}, name + "/div");
        return op("Mul", {weight(name, {m_sizes.hidden}), scaled}, name + "/mul");
    }
    std::string linear(const std::string& x, const std::string& name, std::int64_t in,
                       std::int64_t out) {
        return op("MatMul", {x, weight(name, {in, out})}, name + "/MatMul");
    }
    std::string heads(const std::string& x, const std::string& name) {
        const std::string split = op("Reshape", {x, "to_heads"}, name + "/Reshape");
        return op("Transpose", {split}, name + "/Transpose", {{"perm", {0, 2, 1, 3}}});
    }
    std::string rotary(const std::string& x, const std::string& name) {
        const std::string first = op("Slice", {x, "zero", "half", "minus1"}, name + "/first");
        const std::string second = op("Slice", {x, "half", "size", "minus1"}, name + "/second");
        const std::string negative = op("Neg", {second}, name + "/neg");
        const std::string turned =
            op("Concat", {negative, first}, name + "/concat", {{"axis", -1}});
        const std::string a = op("Mul", {x, "cos"}, name + "/mul_cos");
        const std::string b = op("Mul", {turned, "sin"}, name + "/mul_sin");
        return op("Add", {a, b}, name + "/add");
    }
    std::string attention(const std::string& x) {
        const auto part = [&](const std::string& name) {
            return heads(linear(x, "self_attn/" + name, m_sizes.hidden, m_sizes.hidden),
                         "self_attn/" + name);
        };
        const std::string q = rotary(part("q_proj"), "self_attn/q_rope");
        const std::string k = rotary(part("k_proj"), "self_attn/k_rope");
        const std::string v = part("v_proj");
        const std::string kt =
            op("Transpose", {k}, "self_attn/k_transpose", {{"perm", {0, 1, 3, 2}}});
        const std::string scores = op("MatMul", {q, kt}, "self_attn/scores");
        const std::string scaled = op("Mul", {scores, "scale"}, "self_attn/scale");
        const std::string masked = op("Add", {scaled, "mask"}, "self_attn/mask");
        const std::string weights = op("Softmax", {masked}, "self_attn/softmax", {{"axis", -1}});
        const std::string mixed = op("MatMul", {weights, v}, "self_attn/mix");
        const std::string back =
            op("Transpose", {mixed}, "self_attn/transpose_back", {{"perm", {0, 2, 1, 3}}});
        const std::string joined = op("Reshape", {back, "to_hidden"}, "self_attn/join");
        return linear(joined, "self_attn/o_proj", m_sizes.hidden, m_sizes.hidden);
    }
    std::string mlp(const std::string& x) {
        const std::string gate = linear(x, "mlp/gate_proj", m_sizes.hidden, m_sizes.mlp);
        const std::string sigmoid = op("Sigmoid", {gate}, "mlp/sigmoid");
        const std::string silu = op("Mul", {gate, sigmoid}, "mlp/silu");
        const std::string up = linear(x, "mlp/up_proj", m_sizes.hidden, m_sizes.mlp);
        return linear(op("Mul", {silu, up}, "mlp/mul"), "mlp/down_proj", m_sizes.mlp,
                      m_sizes.hidden);
    }
    std::string layer(const std::string& x) {
        const std::string attended =
            op("Add", {x, attention(rmsNorm(x, "input_norm"))}, "add_attention");
        return op("Add", {attended, mlp(rmsNorm(attended, "post_norm"))}, "add_mlp");
    }

private:
    ModelBuilder& m_builder;
    const TransformerSizes& m_sizes;
    std::string m_scope;
};

}  // namespace

ModelBuilder transformer(const TransformerSizes& sizes) {
    const std::int64_t head = sizes.hidden / sizes.heads;
    ModelBuilder builder;
    builder.input("input_ids", {sizes.batch, sizes.tokens}, onnx::TensorProto::INT64);
    builder.ints("last", {-1})
        .ints("minus1", {-1})
        .ints("zero", {0})
        .ints("half", {head / 2})
        .ints("size", {head})
        .ints("to_heads", {0, 0, sizes.heads, head})
        .ints("to_hidden", {0, 0, -1})
        .real("epsilon", 1e-5F)
        .real("scale", 0.25F)
        .weight("cos", {sizes.tokens, head})
        .weight("sin", {sizes.tokens, head})
        .weight("mask", {sizes.tokens, sizes.tokens});
    Writer writer(builder, sizes);
    writer.enter("model/");
    std::string x =
        writer.op("Gather", {writer.weight("embed", {sizes.vocabulary, sizes.hidden}), "input_ids"},
                  "embed/Gather");
    for (int layer = 0; layer < sizes.layers; ++layer) {
        writer.enter("model/layers." + std::to_string(layer) + "/");
        x = writer.layer(x);
    }
    writer.enter("model/");
    const std::string normed = writer.rmsNorm(x, "norm");
    builder.op("MatMul", {normed, writer.weight("lm_head", {sizes.hidden, sizes.vocabulary})},
               {"logits"}, "lm_head/MatMul");
    return builder.output("logits", {sizes.batch, sizes.tokens, sizes.vocabulary});
}

int transformerNodesPerLayer() {
    const auto nodes = [](int layers) {
        TransformerSizes sizes;
        sizes.layers = layers;
        sizes.external = true;
        return transformer(sizes).build().graph().node_size();
    };
    return nodes(2) - nodes(1);
}

std::vector<std::string> megatronShards(const std::string& axis) {
    std::vector<std::string> shards;
    for (const char* name : {"q_proj", "k_proj", "v_proj", "gate_proj", "up_proj"})
        shards.push_back(std::string("#in1@MatMul!*/") + name + "/*:1=" + axis);
    for (const char* name : {"o_proj", "down_proj"})
        shards.push_back(std::string("#in1@MatMul!*/") + name + "/*:0=" + axis);
    return shards;
}

}  // namespace shardwright::test
