// SPDX-License-Identifier: Apache-2.0
#include "check/find.h"

#include "model/attributes.h"
#include "sharding/shard_text.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace shardwright {
namespace {

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string lowered(std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(), lower);
    return result;
}

struct Word {
    std::string key;   ///< Empty: anywhere.
    std::string text;  ///< Lower case.
    bool glob = false;

    bool matches(std::string_view candidate) const {
        if (glob)
            return globMatches(text, lowered(candidate));
        return !std::ranges::search(candidate, text, {}, lower).empty() || text.empty();
    }
};

const std::vector<std::string_view> kKeys = {"name", "op",   "scope", "tensor", "shape", "type",
                                             "attr", "axis", "stage", "diag",   "layout"};

std::vector<Word> parseWords(std::string_view query) {
    std::vector<Word> words;
    std::string word;
    bool quoted = false, any = false;
    const auto finish = [&] {
        if (!any)
            return;
        Word parsed{{}, lowered(word)};
        const std::size_t colon = word.find(':');
        if (colon != std::string::npos &&
            std::ranges::find(kKeys, lowered(word.substr(0, colon))) != kKeys.end()) {
            parsed.key = lowered(word.substr(0, colon));
            parsed.text = lowered(word.substr(colon + 1));
        }
        parsed.glob = parsed.text.find_first_of("*?") != std::string::npos;
        words.push_back(std::move(parsed));
        word.clear();
        any = false;
    };
    for (const char c : query) {
        if (c == '"') {
            quoted = !quoted;
        } else if (!quoted && (c == ' ' || c == '\t')) {
            finish();
        } else {
            word += c;
            any = true;
        }
    }
    finish();
    return words;
}

std::string shapeText(const TensorInfo& info, bool bound) {
    std::string text;
    for (std::size_t i = 0; i < info.symbolic.size(); ++i) {
        const Dimension& dim = info.symbolic[i];
        const std::int64_t size = bound && i < info.dims.size() ? info.dims[i] : dim.size;
        text += (i == 0 ? "" : "x") + (size >= 0            ? std::to_string(size)
                                       : dim.symbol.empty() ? "?"
                                                            : dim.symbol);
    }
    return text;
}

/// "[8, 16]" and "8, 16" as "8x16".
std::string normalisedShape(std::string_view text) {
    std::string result;
    for (const char c : text) {
        if (c == ',' || c == '*')
            result += c == ',' ? 'x' : c;
        else if (c != ' ' && c != '[' && c != ']')
            result += c;
    }
    return result;
}

class Finder {
public:
    Finder(const Analysis& analysis, std::vector<Word> words)
        : m_analysis(analysis), m_words(std::move(words)) {
        for (Word& word : m_words)
            if (word.key == "shape")
                word.text = normalisedShape(word.text);
        for (const Diagnostic& diagnostic : analysis.diagnostics)
            m_diagnostics[diagnostic.node].push_back(&diagnostic);
    }

    bool matches(NodeId node) {
        return std::ranges::all_of(m_words, [&](const Word& word) { return matches(node, word); });
    }

private:
    bool matches(NodeId id, const Word& word) {
        const GraphIndex& graph = m_analysis.graph();
        const std::string& scope = graph.scope(graph.node(id).scope).path;
        if (word.key.empty())
            return word.matches(graph.label(id)) || word.matches(graph.opType(id)) ||
                   word.matches(scope) || word.matches(scope + "/" + graph.label(id)) ||
                   inTensors(id, word);
        if (word.key == "name")
            return word.matches(graph.label(id)) || word.matches(scope + "/" + graph.label(id));
        if (word.key == "op")
            return word.matches(graph.opType(id));
        if (word.key == "scope")
            return word.matches(scope);
        if (word.key == "tensor" || word.key == "shape" || word.key == "type")
            return inTensors(id, word);
        if (word.key == "attr")
            return inAttributes(id, word);
        if (word.key == "stage")
            return inStage(id, word);
        if (word.key == "diag")
            return inDiagnostics(id, word);
        return inLayouts(id, word);
    }

    bool inTensors(NodeId id, const Word& word) const {
        const NodeInfo& node = m_analysis.graph().node(id);
        for (const auto* slots : {&node.inputs, &node.outputs}) {
            for (const ValueId value : *slots) {
                if (!value)
                    continue;
                const TensorInfo& info = m_analysis.shapes->of(value);
                if (word.key == "type"    ? word.matches(elementTypeName(info.elementType))
                    : word.key == "shape" ? info.hasRank && (word.matches(shapeText(info, true)) ||
                                                             word.matches(shapeText(info, false)))
                                          : word.matches(m_analysis.graph().value(value).name))
                    return true;
            }
        }
        return false;
    }

    bool inAttributes(NodeId id, const Word& word) const {
        for (const AttributeText& attribute : attributeTexts(m_analysis.graph(), id))
            if (word.matches(attribute.name + "=" + attribute.value))
                return true;
        return false;
    }

    bool inStage(NodeId id, const Word& word) const {
        const auto& nodes = m_analysis.annotations.nodes;
        const int stage =
            id.index() < nodes.size() && nodes[id.index()] ? nodes[id.index()]->stage : -1;
        if (stage < 0)
            return word.text == "none";
        return word.text == std::to_string(stage) ||
               (word.glob && word.matches(std::to_string(stage)));
    }

    bool inDiagnostics(NodeId id, const Word& word) const {
        const auto found = m_diagnostics.find(id);
        if (found == m_diagnostics.end())
            return false;
        return std::ranges::any_of(found->second, [&](const Diagnostic* diagnostic) {
            return word.matches(diagnostic->code) ||
                   word.matches(severityName(diagnostic->severity)) ||
                   word.matches(diagnostic->message);
        });
    }

    bool inLayouts(NodeId id, const Word& word) {
        if (id.index() >= m_analysis.meaning.nodes.size())
            return false;
        const NodeMeaning& node = m_analysis.meaning.nodes[id.index()];
        for (const auto* slots : {&node.inputs, &node.outputs})
            for (const SlotMeaning& slot : *slots)
                if (word.key == "layout" ? word.matches(layoutSourceName(slot.source))
                                         : usesAxis(slot.layout, word))
                    return true;
        return false;
    }

    bool usesAxis(const LayoutRef& layout, const Word& word) {
        if (!layout)
            return false;
        auto [entry, isNew] = m_axes.try_emplace(layout.get());
        if (isNew) {
            if (const auto sharding = decode(m_analysis.configuration.mesh, *layout))
                for (const auto& components : sharding->dims)
                    for (const MeshComponent& component : components)
                        entry->second.insert(entry->second.end(), component.axes.begin(),
                                             component.axes.end());
        }
        return std::ranges::any_of(entry->second, [&](int axis) {
            const std::string name = lowered(m_analysis.configuration.mesh.axes[axis].name);
            return word.glob ? word.matches(name) : name == word.text;
        });
    }

    const Analysis& m_analysis;
    std::vector<Word> m_words;
    std::map<NodeId, std::vector<const Diagnostic*>> m_diagnostics;
    std::unordered_map<const Layout*, std::vector<int>> m_axes;
};

}  // namespace

std::vector<NodeId> findNodes(const Analysis& analysis, std::string_view query,
                              const CancelToken& cancel) {
    std::vector<Word> words = parseWords(query);
    std::vector<NodeId> found;
    if (words.empty())
        return found;
    Finder finder(analysis, std::move(words));
    for (const NodeInfo& node : analysis.graph().nodes) {
        if (cancel.cancelled())
            return {};
        if (finder.matches(node.id))
            found.push_back(node.id);
    }
    return found;
}

}  // namespace shardwright
