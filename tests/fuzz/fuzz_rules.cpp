// SPDX-License-Identifier: Apache-2.0
// Any text as a file of rules; each rule is applied to a node with shapes that may fit it.
#include "harness/require.h"
#include "rules/registry.h"
#include "rules/rule_notation.h"
#include "rules/user_rules.h"
#include "rules/validate.h"

#include <onnx/onnx_pb.h>

#include <map>

using namespace shardwright;

namespace {

using Sizes = std::map<int, std::int64_t>;

std::int64_t sizeOf(const WrittenRule& rule, int factor, unsigned salt) {
    const auto& written = rule.factors[static_cast<std::size_t>(factor)];
    if (written.size >= 0)
        return written.size;
    return 1 + (static_cast<unsigned>(factor) * 7U + salt) % 4U;
}

onnx::ValueInfoProto infoOf(const WrittenRule& rule, const WrittenRule::Tensor& tensor,
                            const std::string& name, unsigned salt) {
    onnx::ValueInfoProto info;
    info.set_name(name);
    auto& type = *info.mutable_type()->mutable_tensor_type();
    type.set_elem_type(onnx::TensorProto::FLOAT);
    auto& shape = *type.mutable_shape();
    for (const auto& dim : tensor.dims) {
        std::uint64_t size = 1;
        std::size_t times = 1;
        for (const int factor : dim) {
            size *= static_cast<std::uint64_t>(sizeOf(rule, factor, salt));
            if (rule.factors[static_cast<std::size_t>(factor)].many)
                times = salt % 3;
        }
        for (std::size_t i = 0; i < times; ++i)
            shape.add_dim()->set_dim_value(static_cast<std::int64_t>(size));
    }
    return info;
}

std::shared_ptr<const Model> modelOf(const WrittenRule& rule, unsigned salt) {
    onnx::ModelProto proto;
    proto.set_ir_version(10);
    proto.add_opset_import()->set_version(21);
    auto& opset = *proto.add_opset_import();
    opset.set_domain(rule.domain);
    opset.set_version(1);
    auto& graph = *proto.mutable_graph();
    auto& node = *graph.add_node();
    node.set_op_type(rule.op);
    node.set_domain(rule.domain);
    for (std::size_t i = 0; i < rule.inputs.size(); ++i) {
        const std::string name = rule.inputs[i].present ? "i" + std::to_string(i) : "";
        node.add_input(name);
        if (!name.empty())
            *graph.add_input() = infoOf(rule, rule.inputs[i], name, salt);
    }
    for (std::size_t i = 0; i < rule.outputs.size(); ++i) {
        const std::string name = rule.outputs[i].present ? "o" + std::to_string(i) : "";
        node.add_output(name);
        if (!name.empty())
            *graph.add_output() = infoOf(rule, rule.outputs[i], name, salt);
    }
    for (const auto& factor : rule.factors) {
        if (factor.attribute.empty())
            continue;
        auto& attribute = *node.add_attribute();
        attribute.set_name(factor.attribute);
        attribute.set_type(onnx::AttributeProto::INT);
        attribute.set_i(sizeOf(rule, static_cast<int>(&factor - rule.factors.data()), salt));
    }
    auto model = Model::fromBytes(proto.SerializePartialAsString());
    return model ? *model : nullptr;
}

void tryRule(const WrittenRule& rule, const Registry& registry, unsigned salt) {
    const auto model = modelOf(rule, salt);
    if (!model)
        return;
    const auto shapes = ShapeTable::build(model, {});
    const auto table = RuleTable::build(model, shapes, {}, registry);
    const NodeInfo& node = model->graph().nodes.front();
    const NodeContext context{model->graph(), *shapes, node, 1};
    const Rule& applied = *table->of(node.id);
    FUZZ_REQUIRE(validateRule(applied, context).empty());
    if (!applied.known || applied.family != "user")
        return;
    // What it says, written down, says the same.
    const std::string text = ruleNotation(applied);
    const auto again = parseRules(text, "again");
    if (!again)
        std::fprintf(stderr, "%s\n%s\n", text.c_str(), again.error().text().c_str());
    FUZZ_REQUIRE(again && again->size() == 1);
    const auto back = applyRule(again->front(), context);
    FUZZ_REQUIRE(back && back->text() == applied.text());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto rules = parseRules(text, "rules");
    const auto registry = withUserRules(Registry::standard(), text, "rules");
    FUZZ_REQUIRE(bool(rules) == bool(registry));
    if (!rules) {
        FUZZ_REQUIRE(rules.error().text().starts_with("rules:"));
        return 0;
    }
    for (std::size_t i = 0; i < rules->size() && i < 8; ++i)
        for (unsigned salt = 0; salt < 3; ++salt)
            tryRule((*rules)[i], **registry, salt);
    return 0;
}
