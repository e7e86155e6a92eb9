// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/document.h"
#include "model/shapes.h"
#include "sharding/diagnostic.h"
#include "sharding/layout.h"
#include "sharding/mesh.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace onnx {
class ShardingSpecProto;
}

namespace shardwright {

/// One device configuration as the program works with it.
struct Configuration {
    std::string name;
    int deviceCount = 0;
    std::vector<std::string> deviceNames;  ///< Empty or deviceCount of them.
    Mesh mesh;  ///< From our metadata, else derived, else one axis `d` over all devices.
    enum class MeshSource { Metadata, Derived, Default } meshSource = MeshSource::Default;
    /// Devices of a stage: from metadata (ranges), else the coordinate on an axis named `pp`;
    /// empty: unbound.
    DeviceGroup stageDevices(int stage) const;
    std::vector<std::pair<int, DeviceGroup>> boundStages;  ///< Sorted by stage.

    DeviceGroup allDevices() const;
    bool operator==(const Configuration&) const = default;
};

/// One spec of one tensor at one node, decoded.
struct DecodedSpec {
    std::string tensor;
    LayoutRef layout;  ///< Null: malformed, or placement or shape unknown; the diagnostics say why.
};

/// What one node says in one configuration.
struct NodeSpecs {
    std::vector<DecodedSpec> specs;
    int stage = -1;  ///< -1: none.

    const DecodedSpec* find(std::string_view tensor) const;
};

using NodeSpecsArray = PersistentArray<std::shared_ptr<const NodeSpecs>>;

/// All annotations of a document in one configuration, decoded and validated against the decision
/// table of docs/annotations.md (SW1xx and SW2xx).
struct DecodedAnnotations {
    NodeSpecsArray nodes;                 ///< By NodeId; null = none.
    std::vector<NodeId> staged;           ///< Nodes with a stage, sorted.
    std::vector<NodeId> inBodies;         ///< Nodes with specs outside of the main graph, sorted.
    std::vector<Diagnostic> diagnostics;  ///< Of all nodes and of the configurations.
};

/// Names in file order. Configurations with equal or empty names are diagnosed by
/// decodeAnnotations.
std::vector<std::string> configurationNames(const Annotations& annotations);
/// The named configuration with its mesh and bound stages. Error: no such name (the message lists
/// those there are).
Result<Configuration> findConfiguration(const Document& document, const ShapeTable& shapes,
                                        std::string_view name, LayoutPool& pool);

/// Remembers what the nodes of one document said the last time; keep it across edits, as long as
/// its shapes and its layout pool.
class AnnotationCache {
public:
    AnnotationCache();
    ~AnnotationCache();

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
    friend class CachedReader;
};

DecodedAnnotations decodeAnnotations(const Document& document, const ShapeTable& shapes,
                                     const Configuration& configuration, LayoutPool& pool);
/// The same, but reads only nodes whose annotation is another one than the last time.
DecodedAnnotations decodeAnnotations(const Document& document, const ShapeTable& shapes,
                                     const Configuration& configuration, LayoutPool& pool,
                                     AnnotationCache& cache);
/// One node's specs in the configuration, with its diagnostics appended.
std::shared_ptr<const NodeSpecs> decodeNode(const Document& document, NodeId node,
                                            const ShapeTable& shapes,
                                            const Configuration& configuration, LayoutPool& pool,
                                            std::vector<Diagnostic>& diagnostics);

/// The spec text of a layout: one device or group key a shard, `simple_sharding` entries with
/// dim_value (dim_param where the whole dimension is symbolic). Group keys are -1, -2, ...
onnx::ShardingSpecProto encodeSpec(const Layout& layout, const std::string& tensor,
                                   const TensorInfo& info);

// Builders of edits; each gives the steps for one node. `configuration` is its name.

/// Sets (or, without layout, removes) the spec of `tensor` at `node`.
Edit editSpec(const Document& document, NodeId node, const std::string& configuration,
              const std::string& tensor, const Layout* layout, const TensorInfo& info);
/// Sets the stage (-1 removes it); specs in mesh terms are re-encoded on the stage's devices where
/// it is bound.
Edit editStage(const Document& document, NodeId node, const Configuration& configuration, int stage,
               const ShapeTable& shapes, LayoutPool& pool);
/// Declares or changes a configuration and its mesh: `mesh.deviceCount()` devices.
Edit editConfiguration(const Document& document, const std::string& name, const Mesh& mesh);
Edit editStageDevices(const Document& document, const std::string& configuration, int stage,
                      const DeviceGroup& devices);
/// Takes away all annotations, configurations and our metadata.
Edit editStrip(const Document& document);
/// Joins edits into one; several whole-node replacements of one node must come one after the other.
Edit joinEdits(std::string title, std::vector<Edit> edits);

}  // namespace shardwright
