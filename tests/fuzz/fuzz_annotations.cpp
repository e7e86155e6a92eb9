// SPDX-License-Identifier: Apache-2.0
// Any text as a file of annotations, put onto a small model.
#include "check/portable_annotations.h"
#include "harness/require.h"

#include <onnx/onnx_pb.h>

using namespace shardwright;

namespace {

/// y = Relu(x w1) w2, twice, with names as exporters write them.
Document smallModel() {
    onnx::ModelProto proto;
    proto.set_ir_version(11);
    proto.add_opset_import()->set_version(21);
    auto& graph = *proto.mutable_graph();
    const auto info = [](onnx::ValueInfoProto& value, const char* name,
                         std::initializer_list<int> dims) {
        value.set_name(name);
        auto& type = *value.mutable_type()->mutable_tensor_type();
        type.set_elem_type(onnx::TensorProto::FLOAT);
        for (const int dim : dims)
            type.mutable_shape()->add_dim()->set_dim_value(dim);
    };
    info(*graph.add_input(), "x", {8, 16});
    info(*graph.add_input(), "w1", {16, 64});
    info(*graph.add_input(), "w2", {64, 16});
    const auto node = [&](const char* op, const std::string& name,
                          std::initializer_list<std::string> inputs, const std::string& output) {
        auto& added = *graph.add_node();
        added.set_op_type(op);
        added.set_name("model/" + name);
        for (const std::string& input : inputs)
            added.add_input(input);
        added.add_output(output);
    };
    std::string last = "x";
    for (const std::string layer : {"layers.0/", "layers.1/"}) {
        node("MatMul", layer + "up", {last, "w1"}, layer + "h");
        node("Relu", layer + "act", {layer + "h"}, layer + "a");
        node("MatMul", layer + "down", {layer + "a", "w2"}, layer + "y");
        last = layer + "y";
    }
    graph.add_output()->set_name(last);
    auto model = Model::fromBytes(proto.SerializeAsString());
    FUZZ_REQUIRE(model);
    return {*model, (*model)->annotations()};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto read = PortableAnnotations::fromJson({reinterpret_cast<const char*>(data), size});
    if (!read) {
        FUZZ_REQUIRE(!read.error().message.empty());
        return 0;
    }
    const Json json = read->toJson();
    const auto again = PortableAnnotations::fromJson(json.dump());
    FUZZ_REQUIRE(again && again->toJson() == json);

    static const Document document = smallModel();
    static const auto shapes = ShapeTable::build(document.model, {});
    LayoutPool pool;
    const auto outcome = applyAnnotations(document, *shapes, *read, pool);
    if (!outcome)
        return 0;
    Document edited = document;
    const Edit inverse = apply(edited.annotations, outcome->edit);
    const auto analysis = Analyser().run(edited, {});
    FUZZ_REQUIRE(analysis);
    // What was put on is taken off the model as rules that put on the same.
    const auto exported = exportAnnotations(**analysis);
    Document second = document;
    const auto back = applyAnnotations(document, *shapes, exported, pool);
    FUZZ_REQUIRE(back && back->unmatched() == 0);
    apply(second.annotations, back->edit);
    const auto same = Analyser().run(second, {});
    FUZZ_REQUIRE(same);
    for (std::size_t i = 0; i < document.graph().nodes.size(); ++i) {
        const auto& a = (*analysis)->annotations.nodes[i];
        const auto& b = (*same)->annotations.nodes[i];
        for (const DecodedSpec& spec : a ? a->specs : std::vector<DecodedSpec>{}) {
            const DecodedSpec* other = b ? b->find(spec.tensor) : nullptr;
            FUZZ_REQUIRE(!spec.layout ||
                         (other && other->layout && *other->layout == *spec.layout));
        }
    }
    apply(edited.annotations, inverse);
    FUZZ_REQUIRE(edited.annotations.sameAs(document.annotations));
    return 0;
}
