// SPDX-License-Identifier: Apache-2.0
#include "check/rule_report.h"

#include "rules/misfit.h"

#include <onnx/defs/schema.h>

#include <algorithm>

namespace shardwright {

namespace {

std::string shownDomain(const std::string& domain) {
    return domain.empty() ? "ai.onnx" : domain;
}

Json usesJson(const FactorRow& factor) {
    Json list = Json::array();
    for (const FactorUse& use : factor.uses)
        list.push_back({{"tensor", use.tensor}, {"dimension", use.dim}});
    return list;
}

Json factorJson(const FactorRow& factor) {
    Json json{{"factor", factor.name},
              {"size", factor.size},
              {"kind", factorKindName(factor.kind)},
              {"reduce",
               factor.kind == FactorKind::Reduction ? Json(reduceKindName(factor.reduce)) : Json()},
              {"reason", factor.reason.empty() ? Json() : Json(factor.reason)},
              {"dimensions", usesJson(factor)}};
    return json;
}

Json factorsJson(const std::vector<FactorRow>& factors, bool shardable) {
    Json list = Json::array();
    for (const FactorRow& factor : factors)
        if (factor.shardable() == shardable)
            list.push_back(factorJson(factor));
    return list;
}

std::string usesText(const FactorRow& factor) {
    std::string text;
    for (const FactorUse& use : factor.uses)
        text += (text.empty() ? "" : ", ") + use.tensor + ":" + std::to_string(use.dim);
    return text;
}

std::string kindText(const FactorRow& factor) {
    std::string text = factorKindName(factor.kind);
    if (factor.kind == FactorKind::Reduction)
        text += " (" + reduceKindName(factor.reduce) + ")";
    if (factor.extra)
        text += ", can be split";
    if (!factor.reason.empty())
        text += ": " + factor.reason;
    return text;
}

std::string padded(std::string text, std::size_t width) {
    if (text.size() < width)
        text.append(width - text.size(), ' ');
    return text;
}

/// What there is to say of the only node of a model.
struct NodeFacts {
    const NodeInfo& node;
    const Rule& rule;
    std::string domain, op;
    int sinceVersion = 1;

    explicit NodeFacts(const Analysis& analysis)
        : node(analysis.graph().node(analysis.graph().main().nodes.front())),
          rule(*analysis.rules->of(node.id)), domain(analysis.graph().domain(node.id)),
          op(analysis.graph().opType(node.id)) {
        int opset = 1;
        for (const auto& import : analysis.document.model->proto().opset_import())
            if (import.domain() == domain)
                opset = static_cast<int>(import.version());
        if (const auto* schema = onnx::OpSchemaRegistry::Schema(op, opset, domain))
            sinceVersion = schema->SinceVersion();
    }
};

/// The rule's notation; empty: it has tensors of unknown rank, for which there is no notation.
std::string notationOf(const Analysis& analysis, const NodeFacts& facts) {
    const auto unknown = [&](ValueId id) {
        return id && analysis.shapes->of(id).kind != TensorInfo::Kind::Other &&
               !analysis.shapes->of(id).hasRank;
    };
    const bool readable = facts.rule.known || (std::ranges::none_of(facts.node.inputs, unknown) &&
                                               std::ranges::none_of(facts.node.outputs, unknown));
    return readable ? facts.rule.text() : std::string();
}

Json tensorsJson(const Analysis& analysis, const std::vector<ValueId>& slots, const char* prefix) {
    Json list = Json::array();
    for (std::size_t slot = 0; slot < slots.size(); ++slot) {
        Json tensor{
            {"tensor", prefix + std::to_string(slot)}, {"type", nullptr}, {"shape", nullptr}};
        if (slots[slot]) {
            const TensorInfo& info = analysis.shapes->of(slots[slot]);
            tensor["type"] = elementTypeName(info.elementType);
            if (info.hasRank)
                tensor["shape"] = info.dims;
        }
        list.push_back(std::move(tensor));
    }
    return list;
}

}  // namespace

Json operatorRowsJson(const std::vector<OperatorRow>& rows) {
    Json list = Json::array();
    for (const OperatorRow& row : rows)
        list.push_back(
            {{"operator", row.op},
             {"domain", shownDomain(row.domain)},
             {"since_version", row.sinceVersion},
             {"deprecated", row.deprecated},
             {"family", row.family},
             {"profile", row.strict ? "strict" : "extended"},
             {"profile_reason", row.strict ? Json() : Json(row.strictReason)},
             {"example", row.example.empty() ? Json() : Json(row.example)},
             {"rule", row.rule.empty() ? Json() : Json(row.rule)},
             {"shardable", factorsJson(row.factors, true)},
             {"blocked", factorsJson(row.factors, false)},
             {"data_dependent", row.dataDependent.empty() ? Json() : Json(row.dataDependent)},
             {"proven", row.proven},
             {"proven_reason", row.proven ? Json() : Json(row.notProven)}});
    return Json{{"operators", std::move(list)}};
}

std::string operatorRowsText(const std::vector<OperatorRow>& rows) {
    std::string text;
    for (const OperatorRow& row : rows) {
        const std::string name = row.domain.empty() ? row.op : row.domain + "::" + row.op;
        text += padded(name, 34) + " " + padded(std::to_string(row.sinceVersion), 3) + " " +
                padded(row.family, 14) + " " + padded(row.strict ? "strict" : "extended", 9) + " " +
                padded(row.proven ? "proven" : "not proven", 11) + row.rule + "\n";
        if (!row.proven)
            text += "    not proven: " + row.notProven + "\n";
        for (const FactorRow& factor : row.factors)
            if (!factor.shardable())
                text += "    " + factor.name + ": " + factor.reason + "\n";
        if (!row.dataDependent.empty())
            text += "    sizes of outputs: " + row.dataDependent + "\n";
    }
    return text + std::to_string(rows.size()) + " operators\n";
}

std::vector<std::string> ruleComplaints(const Analysis& analysis) {
    std::vector<std::string> complaints = analysis.shapes->complaints();
    const auto& own = analysis.options.registry;
    std::string misfit = misfitOf(analysis.document.model, own ? *own : Registry::standard());
    if (!misfit.empty())
        complaints.push_back(std::move(misfit));
    return complaints;
}

Json ruleJson(const Analysis& analysis) {
    const NodeFacts facts(analysis);
    const std::vector<FactorRow> factors = factorRows(facts.rule);
    const std::string notation = notationOf(analysis, facts);
    Json list = Json::array();
    for (const FactorRow& factor : factors) {
        Json json = factorJson(factor);
        json["shardable"] = factor.shardable();
        list.push_back(std::move(json));
    }
    Json json{{"operator", facts.op},
              {"domain", shownDomain(facts.domain)},
              {"since_version", facts.sinceVersion},
              {"family", facts.rule.family},
              {"known", facts.rule.known},
              {"profile", facts.rule.strict ? "strict" : "extended"},
              {"profile_reason", facts.rule.strict ? Json() : Json(facts.rule.strictReason)},
              {"rule", notation.empty() ? Json() : Json(notation)},
              {"factors", std::move(list)},
              {"inputs", tensorsJson(analysis, facts.node.inputs, "#in")},
              {"outputs", tensorsJson(analysis, facts.node.outputs, "#out")},
              {"complaints", ruleComplaints(analysis)}};
    json["mesh"] = nullptr;
    json["tensors"] = Json::array();
    json["collectives"] = Json::array();
    json["total_bytes"] = 0;
    json["diagnostics"] = Json::array();
    if (!analysis.hasConfiguration)
        return json;
    const Json check = checkJson(analysis), infer = inferJson(analysis), comm = commJson(analysis);
    json["mesh"] = check["mesh"];
    for (const Json& node : infer["nodes"])
        json["tensors"] = node["tensors"];
    json["collectives"] = comm["collectives"];
    json["total_bytes"] = comm["total_bytes"];
    json["diagnostics"] = check["diagnostics"];
    return json;
}

std::string ruleText(const Analysis& analysis) {
    const NodeFacts facts(analysis);
    const std::string notation = notationOf(analysis, facts);
    std::string text =
        facts.op + " of " + shownDomain(facts.domain) + ", since version " +
        std::to_string(facts.sinceVersion) + ", family " + facts.rule.family + ", profile " +
        (facts.rule.strict ? "strict" : "extended: " + facts.rule.strictReason) + "\n\n    " +
        (notation.empty() ? "no rule: a shape is not known" : notation) + "\n\n";
    for (const FactorRow& factor : factorRows(facts.rule))
        text += "    " + padded(factor.name, 8) + " " + padded(std::to_string(factor.size), 6) +
                " " + padded(usesText(factor), 24) + " " + kindText(factor) + "\n";
    for (const std::string& complaint : ruleComplaints(analysis))
        text += "\n" + complaint + "\n";
    if (!analysis.hasConfiguration)
        return text;
    const std::string header = headerText(analysis);
    text += "\n" + header;
    for (const std::string& part : {inferText(analysis), commText(analysis), checkText(analysis)})
        text += part.substr(header.size()) + "\n";
    text.pop_back();
    return text;
}

}  // namespace shardwright
