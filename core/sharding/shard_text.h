// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sharding/codec.h"

#include <string>
#include <string_view>
#include <vector>

namespace shardwright {

/// One `--shard` option: TENSOR[@NODE]:DIM=COMPONENT[*COMPONENT...][,DIM=...] or
/// TENSOR[@NODE]:replicated.
struct ShardOption {
    std::string tensor;  ///< Glob, or `#in1`, `#out0`.
    std::string node;    ///< [OP!]GLOB, empty: any.
    bool replicated = false;
    struct Dim {
        int dim = 0;  ///< May be negative.
        struct Component {
            std::optional<std::int64_t> size;
            std::vector<std::string> axes;
        };
        std::vector<Component> components;
    };
    std::vector<Dim> dims;
    std::string text;  ///< As given.

    static Result<ShardOption> parse(std::string_view text);
};

/// Matches `*`, `?` and backslash escapes; linear in the text for each star (no exponential
/// backtracking).
bool globMatches(std::string_view pattern, std::string_view text);
/// [OP!]GLOB against an operator type, a node's name (`Op#index` where it has none) and SCOPE/NAME.
bool nodeMatches(std::string_view pattern, const GraphIndex& graph, NodeId node);

struct AnnotateRequest {
    std::string configuration;              ///< Empty: the only one, else `default`.
    std::string mesh;                       ///< Empty: the configuration's own.
    std::vector<std::string> shards;        ///< `--shard` texts, later ones win.
    std::vector<std::string> stages;        ///< `NODE=N`
    std::vector<std::string> stageDevices;  ///< `N=0-3,5`
};

struct AnnotateOutcome {
    Edit edit;                          ///< One edit that does all of it.
    std::vector<std::string> warnings;  ///< A later option won; a stage decreases; ...
    int specs = 0;                      ///< How many specs were set.
    struct Match {
        std::string shard;  ///< The option's text.
        int tensors = 0, nodes = 0;
    };
    std::vector<Match> matches;  ///< What each `--shard` named.
};

/// Everything of `annotate`. Errors: syntax, unknown axis, no match (with near names), sizes that
/// do not fit, an axis used twice, a tensor of unknown rank.
Result<AnnotateOutcome> annotate(const Document& document, const ShapeTable& shapes,
                                 const AnnotateRequest& request, LayoutPool& pool);

/// The axes of each component of each dimension, by name: parts of an axis as `tp:(1)2` (size 2
/// with 1 further out, as in Shardy). nullopt: the mesh does not explain the layout.
std::optional<std::vector<std::vector<std::vector<std::string>>>>
componentAxes(const Layout& layout, const Mesh& mesh);
/// "[0]: tp(2) over devices 0,1; replicated over dp", for people. Falls back to shards and devices
/// without a mesh.
std::string describe(const Layout& layout, const Mesh& mesh);
/// Compact: "[·, tp, ·]", "replicated", "devices 0-3".
std::string shortText(const Layout& layout, const Mesh& mesh);

}  // namespace shardwright
