// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/graph.h"
#include "ui/canvas/text_metrics.h"

#include <QString>

#include <string>
#include <vector>

namespace shardwright {

// Texts in boxes and the sizes that leave room for them.

struct BoxSize {
    float width = 0, height = 0;
};

inline constexpr float kHeaderHeight = 24;
inline constexpr float kConstantHeight = 20;
inline constexpr float kLineHeight = 17;
inline constexpr float kFrameTitleHeight = 28;
inline constexpr int kWeightLines = 2;
inline constexpr int kAttributeLines = 4;

/// What is written in a node's box under its operator.
struct BoxContents {
    bool names = true, weights = true, attributes = false;
    bool operator==(const BoxContents&) const = default;
};

BoxSize nodeBoxSize(const GraphIndex& graph, NodeId id, ScopeId drawnIn, const TextMetrics& metrics,
                    const BoxContents& contents = {});
BoxSize valueBoxSize(const std::string& name, const TextMetrics& metrics);
BoxSize scopeBoxSize(const std::string& name, const TextMetrics& metrics);

/// The node's name without the scope that is drawn around it, but with those in between; empty
/// where neither says more than the operator.
std::string shownName(const GraphIndex& graph, NodeId id, ScopeId drawnIn);
/// "axis  1": attributes as lines of a box; the last line says how many there are more.
std::vector<std::string> attributeLines(const GraphIndex& graph, NodeId id);
/// Weights that are drawn inside the node, by slot.
std::vector<ValueId> weightsOf(const GraphIndex& graph, NodeId id);
/// The last part of a tensor's name: "weight" of "model.layers.0.fc1.weight", "Where" of
/// "/model/Where_output_0".
std::string_view shortValueName(std::string_view name);

}  // namespace shardwright
