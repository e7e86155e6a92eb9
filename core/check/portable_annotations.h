// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/report.h"

#include <string>
#include <string_view>
#include <vector>

namespace shardwright {

/// The annotations of one configuration as rules about names, to be put onto another export of the
/// model or onto another model of its family. The texts are those of `annotate`'s options, so that
/// a person reads and writes them in one grammar (docs/annotations-file.md).
struct PortableAnnotations {
    std::string configuration;
    std::string mesh;                       ///< "dp=2,tp=4"
    std::vector<std::string> stageDevices;  ///< "0=0-3"
    std::vector<std::string> stages;        ///< "MatMul!*/layers.0/*=0"
    std::vector<std::string> shards;        ///< "#in1@MatMul!*/q_proj/*:1=tp"
    /// What no mesh says: blocks and their devices.
    struct Spec {
        std::string tensor;  ///< As in `shards`.
        std::string node;
        std::vector<std::vector<Component>> dims;
        std::vector<DeviceGroup> groups;
    };
    std::vector<Spec> specs;

    Json toJson() const;
    /// Error: what does not fit the schema, with its place ("shards[3]").
    static Result<PortableAnnotations> fromJson(std::string_view text);
};

/// The annotations of the analysis' configuration. Nodes that differ in numbers of their names only
/// (repeated layers) share a rule where it says the same of all that it matches.
PortableAnnotations exportAnnotations(const Analysis& analysis);

struct AppliedRule {
    std::string rule;
    int specs = 0;        ///< Tensors (or nodes, of a stage) that it was put on.
    std::string problem;  ///< Why on none: nothing matches (with near names), sizes do not fit.
};
struct ApplyOutcome {
    Edit edit;
    std::vector<AppliedRule> rules;  ///< In the order of the file.
    int unmatched() const;
};

/// Puts rules onto a document, each for itself: one that does not fit leaves the others alone.
/// Error: the configuration cannot be declared (another number of devices).
Result<ApplyOutcome> applyAnnotations(const Document& document, const ShapeTable& shapes,
                                      const PortableAnnotations& annotations, LayoutPool& pool);

}  // namespace shardwright
