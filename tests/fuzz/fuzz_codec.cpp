// SPDX-License-Identifier: Apache-2.0
// Any annotations of any model: decoded, written again, decoded to the same.
#include "harness/require.h"
#include "sharding/codec.h"
#include "sharding/configuration_edit.h"
#include "sharding/edit.h"
#include "sharding/mesh_metadata.h"
#include "sharding/spec_reader.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <set>

using namespace shardwright;

namespace {

struct Opened {
    Document document;
    std::shared_ptr<const ShapeTable> shapes;
    LayoutPool pool;
};

/// What was read, written by us, must read as the same layout.
void writeAndRead(const Opened& opened, const Configuration& configuration, ValueId value,
                  const DecodedSpec& spec) {
    const TensorInfo& info = opened.shapes->of(value);
    const onnx::ShardingSpecProto proto = encodeSpec(*spec.layout, spec.tensor, info);
    const SpecReading back =
        readSpec(proto, spec.tensor, info, configuration.deviceCount, opened.shapes->bindings());
    FUZZ_REQUIRE(back.layout && *back.layout == *spec.layout);
    FUZZ_REQUIRE(back.layout->hash() == spec.layout->hash());
    const onnx::ShardingSpecProto again = encodeSpec(*back.layout, spec.tensor, info);
    FUZZ_REQUIRE(again.SerializeAsString() == proto.SerializeAsString());
}

/// The words of a mesh say the same layout.
void throughTheMesh(const Configuration& configuration, const Layout& layout) {
    const auto sharding = decode(configuration.mesh, layout);
    if (!sharding)
        return;
    FUZZ_REQUIRE(sharding->dims.size() == layout.shape().size());
    const auto encoded = encode(configuration.mesh, *sharding, layout.shape(), layout.devices());
    FUZZ_REQUIRE(!encoded || encoded->shape() == layout.shape());
}

/// Every element is somewhere, where no group is empty.
void holdings(const Layout& layout) {
    constexpr std::size_t kManyDevices = 64;
    if (layout.devices().size() > kManyDevices)
        return;
    const auto all = layout.holdings();
    FUZZ_REQUIRE(all.size() == layout.devices().size());
    const Box whole = Box::whole(layout.shape());
    for (const auto& boxes : all)
        for (const Box& box : boxes)
            FUZZ_REQUIRE(whole.contains(box));
}

void editEverything(Opened& opened, const Configuration& configuration,
                    const std::vector<Diagnostic>& diagnostics) {
    const Document& document = opened.document;
    std::vector<Edit> edits{
        editStrip(document),
        editConfiguration(document, configuration.name, Mesh{{{"dp", 2}, {"tp", 2}}}),
        editConfiguration(document, "another", Mesh{{{"x", 3}}}),
        editStageDevices(document, configuration.name, 1, {0, 1})};
    for (std::size_t i = 0; i < document.graph().nodes.size() && i < 4; ++i)
        edits.push_back(editStage(document, NodeId(i), configuration, static_cast<int>(i) - 1,
                                  *opened.shapes, opened.pool));
    constexpr std::size_t kManyFixes = 32;
    std::vector<Edit> fixes;
    for (const Diagnostic& diagnostic : diagnostics)
        for (const Fix& fix : diagnostic.fixes)
            if (fixes.size() < kManyFixes)
                fixes.push_back(fix.edit);
    if (!fixes.empty())
        edits.push_back(mergeEdits(document.annotations, "all", fixes));
    edits.insert(edits.end(), fixes.begin(), fixes.end());
    for (const Edit& edit : edits) {
        Annotations annotations = document.annotations;
        const Edit inverse = apply(annotations, edit);
        const Document edited{document.model, annotations};
        for (const std::string& name : configurationNames(annotations)) {
            const auto found = findConfiguration(edited, *opened.shapes, name, opened.pool);
            FUZZ_REQUIRE(found);
            (void)decodeAnnotations(edited, *opened.shapes, *found, opened.pool);
        }
        apply(annotations, inverse);
        FUZZ_REQUIRE(annotations.sameAs(document.annotations));
    }
}

void readConfiguration(Opened& opened, const std::string& name) {
    const Document& document = opened.document;
    const auto configuration = findConfiguration(document, *opened.shapes, name, opened.pool);
    FUZZ_REQUIRE(configuration);
    const DecodedAnnotations decoded =
        decodeAnnotations(document, *opened.shapes, *configuration, opened.pool);
    for (const Diagnostic& diagnostic : decoded.diagnostics)
        FUZZ_REQUIRE(!diagnostic.message.empty());
    FUZZ_REQUIRE(decoded.nodes.size() == document.graph().nodes.size());
    for (std::size_t i = 0; i < decoded.nodes.size(); ++i) {
        if (!decoded.nodes[i])
            continue;
        const NodeInfo& node = document.graph().node(NodeId(i));
        for (const DecodedSpec& spec : decoded.nodes[i]->specs) {
            if (!spec.layout)
                continue;
            ValueId value;
            for (const auto* slots : {&node.inputs, &node.outputs})
                for (const ValueId id : *slots)
                    if (id && !value && document.graph().value(id).name == spec.tensor)
                        value = id;
            FUZZ_REQUIRE(value);
            writeAndRead(opened, *configuration, value, spec);
            throughTheMesh(*configuration, *spec.layout);
            holdings(*spec.layout);
        }
    }
    editEverything(opened, *configuration, decoded.diagnostics);
}

void readMetadata(const Annotations& annotations) {
    for (const auto& [key, value] : annotations.metadata) {
        const auto metadata = MeshMetadata::parse(value);
        if (!metadata)
            continue;
        const auto back = MeshMetadata::parse(metadata->text(value));
        FUZZ_REQUIRE(back && back->mesh == metadata->mesh && back->stages == metadata->stages);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    auto model = Model::fromBytes({reinterpret_cast<const char*>(data), size});
    if (!model)
        return 0;
    Opened opened{{*model, (*model)->annotations()}, ShapeTable::build(*model, {}), {}};
    readMetadata(opened.document.annotations);
    const auto names = configurationNames(opened.document.annotations);
    for (const std::string& name : std::set<std::string>(names.begin(), names.end()))
        readConfiguration(opened, name);
    return 0;
}
