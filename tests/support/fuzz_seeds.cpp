// SPDX-License-Identifier: Apache-2.0
#include "support/fuzz_seeds.h"

#include "support/model_builder.h"
#include "support/shared_files.h"

#include <google/protobuf/text_format.h>

#include <fstream>
#include <set>

namespace shardwright::test {

namespace {

constexpr int kElementsKept = 16;

void dropElements(onnx::TensorProto& tensor) {
    std::int64_t count = 1;
    for (const std::int64_t dim : tensor.dims())
        count *= std::max<std::int64_t>(dim, 1);
    if (count <= kElementsKept)
        return;
    for (const auto clear :
         {&onnx::TensorProto::clear_raw_data, &onnx::TensorProto::clear_float_data,
          &onnx::TensorProto::clear_int32_data, &onnx::TensorProto::clear_int64_data,
          &onnx::TensorProto::clear_string_data, &onnx::TensorProto::clear_double_data,
          &onnx::TensorProto::clear_uint64_data})
        (tensor.*clear)();
}

/// The graphs of bodies in the nodes, at any depth.
std::vector<onnx::GraphProto*>
bodiesOf(google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes) {
    std::vector<onnx::GraphProto*> bodies;
    const auto add = [&](auto& list) {
        for (onnx::NodeProto& node : list) {
            for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
                if (attribute.has_g())
                    bodies.push_back(attribute.mutable_g());
                for (onnx::GraphProto& graph : *attribute.mutable_graphs())
                    bodies.push_back(&graph);
                if (attribute.has_t())
                    dropElements(*attribute.mutable_t());
            }
        }
    };
    add(nodes);
    for (std::size_t i = 0; i < bodies.size(); ++i)
        add(*bodies[i]->mutable_node());
    return bodies;
}

void addNames(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes,
              std::set<std::string>& names) {
    for (const onnx::NodeProto& node : nodes)
        names.insert(node.input().begin(), node.input().end());
}

bool isAnnotated(const onnx::ModelProto& model) {
    return model.configuration_size() > 0;
}

/// A configuration of four devices; outputs split in two or four, some on groups, some with what
/// the checker complains of.
void annotateSome(onnx::ModelProto& model) {
    auto* configuration = model.add_configuration();
    configuration->set_name("c");
    configuration->set_num_devices(4);
    auto* metadata = model.add_metadata_props();
    metadata->set_key("shardwright.mesh.c");
    metadata->set_value(R"({"mesh":"dp=2,tp=2","stages":{"0":"0-1","1":"2-3"}})");
    model.set_ir_version(std::max<std::int64_t>(model.ir_version(), 11));
    int index = 0;
    for (onnx::NodeProto& node : *model.mutable_graph()->mutable_node()) {
        const int kind = index++ % 4;
        if (kind == 3 || node.output_size() == 0)
            continue;
        auto* annotation = node.add_device_configurations();
        annotation->set_configuration_id("c");
        if (kind == 2)
            annotation->set_pipeline_stage(index / 12);
        auto* spec = annotation->add_sharding_spec();
        spec->set_tensor_name(kind == 1 && node.input_size() > 0 ? node.input(0) : node.output(0));
        auto* dim = spec->add_sharded_dim();
        dim->set_axis(kind == 1 ? -1 : 0);
        dim->add_simple_sharding()->set_num_shards(kind == 0 ? 4 : 2);
        for (const int device : kind == 0 ? std::vector{0, 1, 2, 3} : std::vector{-1, -2})
            spec->add_device(device);
        for (const int key : kind == 0 ? std::vector<int>{} : std::vector{-1, -2}) {
            auto* group = spec->add_index_to_device_group_map();
            group->set_key(key);
            group->add_value(-key - 1);
            group->add_value(2 - key - 1);
        }
    }
}

onnx::ModelProto window(const onnx::ModelProto& model, int begin, int end) {
    onnx::ModelProto piece;
    piece.set_ir_version(model.ir_version());
    *piece.mutable_opset_import() = model.opset_import();
    *piece.mutable_configuration() = model.configuration();
    for (const auto& entry : model.metadata_props())
        if (entry.value().size() < 256)
            *piece.add_metadata_props() = entry;
    for (const auto& function : model.functions())
        if (function.ByteSizeLong() < 4096)
            *piece.add_functions() = function;
    auto& graph = *piece.mutable_graph();
    graph.set_name(model.graph().name());
    for (int i = begin; i < end; ++i)
        *graph.add_node() = model.graph().node(i);
    std::set<std::string> read, made;
    addNames(graph.node(), read);
    for (onnx::GraphProto* body : bodiesOf(*graph.mutable_node())) {
        addNames(body->node(), read);
        for (onnx::TensorProto& tensor : *body->mutable_initializer())
            dropElements(tensor);
    }
    for (const onnx::NodeProto& node : graph.node())
        made.insert(node.output().begin(), node.output().end());
    for (const auto& tensor : model.graph().initializer()) {
        if (!read.contains(tensor.name()))
            continue;
        onnx::TensorProto light = tensor;
        dropElements(light);
        *graph.add_initializer() = std::move(light);
    }
    const auto takeInfo = [&](const onnx::ValueInfoProto& info, bool isInput) {
        if (made.contains(info.name()))
            *graph.add_value_info() = info;
        else if (read.contains(info.name()) || isInput)
            *graph.add_input() = info;
    };
    for (const auto& info : model.graph().value_info())
        takeInfo(info, false);
    for (const auto& info : model.graph().input())
        if (read.contains(info.name()))
            takeInfo(info, true);
    for (const auto& info : model.graph().output())
        if (made.contains(info.name()))
            *graph.add_output() = info;
    if (graph.output().empty() && graph.node_size() > 0 &&
        !graph.node(graph.node_size() - 1).output().empty())
        graph.add_output()->set_name(graph.node(graph.node_size() - 1).output(0));
    return piece;
}

ModelBuilder withFunctionAndBodies() {
    const ModelBuilder then =
        ModelBuilder{}.op("MatMul", {"h", "w"}, {"t"}, "inner").output("t", {8, 16});
    const ModelBuilder otherwise =
        ModelBuilder{}.op("f", {"h"}, {"e"}, "call", {}, "own").output("e", {8, 16});
    const ModelBuilder function =
        ModelBuilder{}.inputOfUnknownShape("a").op("Relu", {"a"}, {"b"}).output("b");
    return ModelBuilder{}
        .input("x", {"batch", 16})
        .input("flag", {}, onnx::TensorProto::BOOL)
        .weight("w", {16, 16})
        .externalWeight("v", {16, 16}, "weights.bin", 64)
        .opset("own", 1)
        .function("own", "f", function)
        .op("Gemm", {"x", "v"}, {"h"}, "first", {{"transB", 1}})
        .op("If", {"flag"}, {"y"}, "choice",
            {{"then_branch", then.graph("then")}, {"else_branch", otherwise.graph("else")}})
        .op("own.Scale", {"y", "", "x"}, {"z"}, "last", {{"alpha", 0.5}}, "com.example")
        .nodeMetadata("namespace", "model/layers.0/mlp")
        .output("z");
}

onnx::ModelProto parsed(const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    onnx::ModelProto model;
    model.ParseFromIstream(&stream);
    return model;
}

}  // namespace

std::vector<onnx::ModelProto> smallPieces(const onnx::ModelProto& model, int nodes) {
    std::vector<onnx::ModelProto> pieces;
    std::set<std::string> seen;
    for (int begin = 0; begin < model.graph().node_size(); begin += nodes) {
        const int end = std::min(begin + nodes, model.graph().node_size());
        std::string operators;
        for (int i = begin; i < end; ++i)
            operators += model.graph().node(i).op_type() + ' ';
        if (!seen.insert(operators).second)
            continue;
        pieces.push_back(window(model, begin, end));
        if (!isAnnotated(pieces.back()))
            annotateSome(pieces.back());
    }
    return pieces;
}

std::vector<onnx::ModelProto> seedModels(int nodes) {
    std::vector<std::filesystem::path> files = sharedModels();
    if (const char* source = std::getenv("SHARDWRIGHT_SOURCE"))
        files.push_back(std::filesystem::path(source) / "resources/examples/mlp.onnx");
    std::vector<onnx::ModelProto> seeds;
    for (const auto& file : files) {
        std::vector<onnx::ModelProto> pieces = smallPieces(parsed(file), nodes);
        std::move(pieces.begin(), pieces.end(), std::back_inserter(seeds));
    }
    seeds.push_back(withFunctionAndBodies().build());
    seeds.push_back(seeds.back());
    annotateSome(seeds.back());
    return seeds;
}

int writeSeedModels(const std::filesystem::path& folder, int nodes) {
    constexpr std::size_t kTextOneIn = 16;
    std::vector<std::string> texts;
    for (const onnx::ModelProto& model : seedModels(nodes)) {
        texts.push_back(model.SerializeAsString());
        if (texts.size() % kTextOneIn == 1)
            google::protobuf::TextFormat::PrintToString(model, &texts.emplace_back());
    }
    return writeSeeds(folder, texts);
}

int writeSeeds(const std::filesystem::path& folder, const std::vector<std::string>& seeds) {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    int number = 0;
    for (const std::string& seed : seeds)
        std::ofstream(folder / std::to_string(number++), std::ios::binary) << seed;
    return number;
}

}  // namespace shardwright::test
