// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/analysis.h"
#include "comm/hardware_profile.h"

#include <nlohmann/json.hpp>

#include <string>

namespace shardwright {

// What the command line prints, as JSON (docs/command-line.md has the schemas) and as text.
// Keys keep the order in which they are written here.
using Json = nlohmann::ordered_json;

Json nodeJson(const GraphIndex& graph,
              NodeId node);  ///< {name, index, scope}; null for an invalid id.
/// {devices, groups, dims: [[{size, shards, axes}]]}.
Json layoutJson(const Layout& layout, const Mesh& mesh);
Json editJson(const GraphIndex& graph, const Edit& edit);
Json diagnosticJson(const GraphIndex& graph, const Diagnostic& diagnostic);

Json infoJson(const Document& document, const ShapeTable& shapes);
/// The nodes that match a pattern ([OP!]GLOB) with their tensors: what `--shard` and `--stage` can
/// name.
Json nodesJson(const Document& document, const ShapeTable& shapes, std::string_view pattern);
/// The lines that the texts of check, infer and comm begin with: configuration, mesh, symbols.
std::string headerText(const Analysis& analysis);
/// Nodes with errors have no meaning, nor has what follows from them: more errors, and more
/// communication, may be found once they are mended.
bool endsAtErrors(const Analysis& analysis);
Json checkJson(const Analysis& analysis);
Json inferJson(const Analysis& analysis);
/// With a profile also what each collective is predicted to take, and how that was found.
Json commJson(const Analysis& analysis, const HardwareProfile* hardware = nullptr);

std::string infoText(const Document& document, const ShapeTable& shapes);
std::string nodesText(const Document& document, const ShapeTable& shapes, std::string_view pattern);
std::string checkText(const Analysis& analysis);
std::string inferText(const Analysis& analysis);
std::string commText(const Analysis& analysis, const HardwareProfile* hardware = nullptr);
/// One line a collective, with a header line (RFC 4180).
std::string commCsv(const Analysis& analysis, const HardwareProfile* hardware = nullptr);

/// "SW301 error MatMul `mm2` (model/layers.0, node 7): message", with the fixes below.
std::string diagnosticText(const GraphIndex& graph, const Diagnostic& diagnostic);

}  // namespace shardwright
