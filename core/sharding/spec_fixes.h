// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sharding/codec.h"
#include "sharding/spec_reader.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace shardwright {

/// A fix that changes the annotation of one node. Configurations that say nothing any more go.
Fix nodeFix(const Document& document, NodeId node, std::string id, std::string title,
            const std::function<void(NodeAnnotation&)>& change);

/// Declares a configuration with as many devices as the specs of that name list, or our metadata
/// knows.
Fix declareFix(const Document& document, const std::string& name);

/// Takes one spec away.
Fix removeSpecFix(const Document& document, NodeId node, int configuration, int spec);

/// Fixes of what readSpec found in one spec; `configuration` and `spec` are positions in the node's
/// annotation.
std::vector<Fix> fixesOfFinding(const Document& document, NodeId node, int configuration, int spec,
                                const SpecFinding& finding, const SpecReading& reading,
                                int deviceCount);

/// The input or output that a stale or missing tensor name can only have meant: the one that has
/// the name with a prefix, else the only one without a spec of its own whose rank allows the spec's
/// axes.
std::optional<std::string> meantTensor(const GraphIndex& graph, const ShapeTable& shapes,
                                       NodeId node,
                                       const onnx::NodeDeviceConfigurationProto& configuration,
                                       const onnx::ShardingSpecProto& spec);

/// Takes away the entries of `after` that have neither specs nor a stage nor anything unknown any
/// more.
void dropSilenced(const NodeAnnotation& before, NodeAnnotation& after);

}  // namespace shardwright
