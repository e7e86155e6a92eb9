// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sharding/codec.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace shardwright {

/// Devices beyond this number are left out (SW108).
inline constexpr int kMaxDeviceCount = 1 << 20;

/// Reads node after node of one document in one configuration; keeps what the nodes have in common.
class AnnotationReader {
public:
    AnnotationReader(const Document& document, const ShapeTable& shapes,
                     const Configuration& configuration, LayoutPool& pool);

    /// Null: the node says nothing in this configuration. Diagnostics are wanted where the list is
    /// given.
    std::shared_ptr<const NodeSpecs> read(NodeId node, std::vector<Diagnostic>* diagnostics);

    /// Stages of the whole model: SW402, SW403.
    void checkStages(const NodeSpecsArray& nodes, const std::vector<NodeId>& staged,
                     std::vector<Diagnostic>& diagnostics);

private:
    const Document& m_document;
    const ShapeTable& m_shapes;
    const Configuration& m_configuration;
    LayoutPool& m_pool;
    std::unordered_set<std::string> m_declared;
    std::map<std::string, std::vector<Fix>, std::less<>>
        m_unknownFixes;  ///< By the unknown name; the same at all nodes.

    friend class NodeReader;
    const std::vector<Fix>& unknownFixes(const std::string& name);
    void checkEdges(NodeId node, const NodeSpecsArray& nodes,
                    std::vector<Diagnostic>& diagnostics) const;
    bool lacksStage(NodeId node) const;
};

/// SW101 to SW108, SW601: the declarations, our metadata, the version.
void checkDeclarations(const Document& document, std::vector<Diagnostic>& diagnostics);

/// The value of that name among the node's inputs and outputs; empty slots are not tensors.
ValueId tensorAt(const GraphIndex& graph, NodeId node, std::string_view name);

/// A diagnostic with the severity of its code.
Diagnostic makeDiagnostic(const char* code, NodeId node, std::string tensor, std::string message);

}  // namespace shardwright
