// SPDX-License-Identifier: Apache-2.0
// Any bytes as a model file: opened, indexed, annotated anew, written, read again.
#include "harness/require.h"
#include "model/annotation_bytes.h"
#include "model/annotation_splice.h"
#include "model/document.h"
#include "model/external_data.h"

#include <onnx/onnx_pb.h>

#include <filesystem>
#include <unistd.h>

using namespace shardwright;

namespace {

/// What views and the checker ask of an index.
void walk(const GraphIndex& graph) {
    for (const NodeInfo& node : graph.nodes) {
        FUZZ_REQUIRE(!graph.label(node.id).empty());
        FUZZ_REQUIRE(graph.place(node.id).index == node.index);
        for (const ValueId id : node.inputs)
            FUZZ_REQUIRE(!id || graph.value(id).id == id);
    }
    for (const GraphInfo& info : graph.graphs)
        FUZZ_REQUIRE(info.order.size() + info.cyclic.size() == info.nodes.size());
    for (const ValueInfo& value : graph.values)
        for (const ValueUse& use : value.uses)
            FUZZ_REQUIRE(graph.node(use.node).inputs[std::size_t(use.slot)] == value.id);
    (void)graph.edgeCount();
}

/// Another configuration, an annotation more and one less.
Annotations changed(const Document& document) {
    Annotations annotations = document.annotations;
    annotations.configurations.emplace_back().set_name("fuzz");
    annotations.metadata["shardwright.mesh.fuzz"] = "{}";
    if (!annotations.nodes.empty()) {
        onnx::NodeDeviceConfigurationProto added;
        added.set_configuration_id("fuzz");
        annotations.nodes.set(
            0, std::make_shared<const NodeAnnotation>(NodeAnnotation{std::move(added)}));
        annotations.nodes.set(annotations.nodes.size() - 1, nullptr);
    }
    return annotations;
}

Document reopened(std::string bytes) {
    auto model = Model::fromBytes(std::move(bytes));
    FUZZ_REQUIRE(model);
    Annotations annotations = (*model)->annotations();
    return {std::move(*model), std::move(annotations)};
}

void writeAndReadAgain(const Document& document) {
    const auto same = document.toBytes();
    FUZZ_REQUIRE(same && *same == document.model->bytes());
    const auto alone =
        annotationsFromBytes(annotationsToBytes(document.annotations), *document.model);
    FUZZ_REQUIRE(alone && alone->sameAs(document.annotations));

    Document other{document.model, changed(document)};
    const auto bytes = other.toBytes();
    FUZZ_REQUIRE(bytes);
    const Document back = reopened(*bytes);
    FUZZ_REQUIRE(back.annotations.sameAs(other.annotations));
    FUZZ_REQUIRE(back.graph().nodes.size() == document.graph().nodes.size());
    // Whether the file was changed in place or written anew, it says the same.
    FUZZ_REQUIRE(back.model->proto().SerializePartialAsString() ==
                 other.toProto().SerializePartialAsString());
}

const std::filesystem::path& folder() {
    static const std::filesystem::path path = [] {
        auto made = std::filesystem::temp_directory_path() /
                    ("shardwright-fuzz-" + std::to_string(::getpid()));
        std::filesystem::create_directories(made);
        std::atexit([] { std::filesystem::remove_all(folder()); });
        return made;
    }();
    return path;
}

void saveAndOpen(const Document& document) {
    const auto path = folder() / "model.onnx";
    (void)checkExternalData(document.model->proto(), folder());
    for (const auto& tensor : document.model->proto().graph().initializer())
        (void)readExternal(tensor, folder());
    if (!document.save(path))
        return;  // External data that would be left behind.
    const auto opened = Document::open(path);
    FUZZ_REQUIRE(opened && opened->model->bytes() == document.model->bytes());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    auto model = Model::fromBytes({reinterpret_cast<const char*>(data), size}, "model.onnx");
    if (!model) {
        FUZZ_REQUIRE(!model.error().message.empty());
        return 0;
    }
    Document document{*model, (*model)->annotations()};
    walk(document.graph());
    writeAndReadAgain(document);
    // Files are slow.
    static unsigned runs = 0;
    if (runs++ % 32 == 0)
        saveAndOpen(document);
    return 0;
}
