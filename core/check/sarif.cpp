// SPDX-License-Identifier: Apache-2.0
//
// SARIF 2.1.0 (OASIS Standard, 27 March 2020), for the tools that read what checkers say. A place
// in a model is a logical location; lines of a file there are none.
#include "check/sarif.h"

#include "check/codes.h"

#include <cstring>
#include <map>

namespace shardwright {

namespace {

/// SARIF knows three levels. What is not supported by another backend is wrong there only.
const char* levelOf(Severity severity) {
    switch (severity) {
        case Severity::Error: return "error";
        case Severity::Warning:
        case Severity::Unsupported: return "warning";
        case Severity::Communication:
        case Severity::Info: break;
    }
    return "note";
}

/// A path as a URI (RFC 3986): bytes that it does not allow are written as %XX.
std::string uriOf(const std::filesystem::path& path) {
    const bool absolute = path.is_absolute();
    std::string uri = absolute ? "file://" : "";
    for (const char c : path.generic_string()) {
        const auto byte = static_cast<unsigned char>(c);
        const bool plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                           (byte >= '0' && byte <= '9') || (c != 0 && std::strchr("-._~/", c));
        constexpr char kHex[] = "0123456789ABCDEF";
        if (plain)
            uri += c;
        else
            uri += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
    return uri;
}

Json ruleJson(const CodeInfo& info, const std::filesystem::path& documentation) {
    const std::string page = codePage(info);
    Json rule{{"id", info.code},
              {"shortDescription", {{"text", info.title}}},
              {"fullDescription", {{"text", info.why}}},
              {"help", {{"text", page}, {"markdown", page}}},
              {"defaultConfiguration", {{"level", levelOf(info.severity)}}}};
    if (!documentation.empty())
        rule["helpUri"] = uriOf(documentation / "diagnostics" / (std::string(info.code) + ".md"));
    return rule;
}

/// The file, and in it the node with its scope, and the tensor at it.
Json locationsOf(const GraphIndex& graph, const Diagnostic& d, const std::string& uri) {
    Json location{{"physicalLocation", {{"artifactLocation", {{"uri", uri}, {"index", 0}}}}}};
    Json logical = Json::array();
    if (d.node) {
        const NodePlace place = graph.place(d.node);
        const std::string label = graph.label(d.node);
        // Exporters that name nodes by their scope write it into the name.
        const bool inName = place.scope.empty() || label.starts_with(place.scope + "/");
        const std::string full = inName ? label : place.scope + "/" + label;
        logical.push_back({{"name", label},
                           {"fullyQualifiedName", full},
                           {"kind", "node"},
                           {"properties", {{"index", place.index}}}});
        if (!d.tensor.empty())
            logical.push_back({{"name", d.tensor},
                               {"fullyQualifiedName", full + ":" + d.tensor},
                               {"kind", "tensor"}});
    } else if (!d.tensor.empty()) {
        logical.push_back({{"name", d.tensor}, {"kind", "tensor"}});
    }
    if (!logical.empty())
        location["logicalLocations"] = std::move(logical);
    return Json::array({std::move(location)});
}

}  // namespace

std::filesystem::path documentationFolder() {
    std::error_code error;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
    if (error)
        return {};
    const auto folder = program.parent_path().parent_path() / "share/doc/shardwright";
    return std::filesystem::exists(folder / "diagnostics", error) ? folder
                                                                  : std::filesystem::path();
}

Json checkSarif(const Analysis& analysis, const SarifFacts& facts) {
    const GraphIndex& graph = analysis.graph();
    const std::string uri = uriOf(facts.model);
    Json rules = Json::array(), results = Json::array();
    std::map<std::string, std::size_t, std::less<>> indices;
    for (const CodeInfo& info : allCodes()) {
        indices.emplace(std::string(info.code), indices.size());
        rules.push_back(ruleJson(info, facts.documentation));
    }
    for (const Diagnostic& d : analysis.diagnostics) {
        Json properties = diagnosticJson(graph, d);
        properties.erase("message");
        Json result{{"ruleId", d.code}};
        if (const auto at = indices.find(d.code); at != indices.end())
            result["ruleIndex"] = at->second;
        result["level"] = levelOf(d.severity);
        result["message"] = {{"text", d.message}};
        result["locations"] = locationsOf(graph, d, uri);
        result["properties"] = std::move(properties);
        results.push_back(std::move(result));
    }
    Json driver{
        {"name", "shardwright"}, {"semanticVersion", facts.version}, {"rules", std::move(rules)}};
    Json run{{"tool", {{"driver", std::move(driver)}}},
             {"artifacts", Json::array({{{"location", {{"uri", uri}}}}})},
             {"columnKind", "unicodeCodePoints"},
             {"results", std::move(results)}};
    return {{"$schema", "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
                        "sarif-schema-2.1.0.json"},
            {"version", "2.1.0"},
            {"runs", Json::array({std::move(run)})}};
}

}  // namespace shardwright
