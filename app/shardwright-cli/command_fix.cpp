// SPDX-License-Identifier: Apache-2.0
#include "check/codes.h"
#include "check/report.h"
#include "commands.h"
#include "model/plain_text.h"
#include "sharding/glob.h"
#include "sharding/option_targets.h"
#include "sharding/shard_text.h"

#include <algorithm>
#include <iostream>

namespace shardwright::cli {

namespace {

bool isMeant(const Diagnostic& diagnostic, const GraphIndex& graph, const FixArguments& wanted) {
    return !diagnostic.fixes.empty() && (wanted.code.empty() || diagnostic.code == wanted.code) &&
           (wanted.node.empty() ||
            (diagnostic.node && nodeMatches(wanted.node, graph, diagnostic.node)));
}

const Fix* choose(const Diagnostic& diagnostic, const std::string& id) {
    const auto& fixes = diagnostic.fixes;
    const auto found = std::find_if(fixes.begin(), fixes.end(),
                                    [&](const Fix& fix) { return id.empty() || fix.id == id; });
    return found == fixes.end() ? nullptr : &*found;
}

/// Where a problem is in the order in which nodes are computed; -1: not at a node of the main
/// graph.
int placeOf(const Analysis& analysis, const Diagnostic& diagnostic) {
    return diagnostic.node ? (*analysis.meaning.positions)[diagnostic.node.index()] : -1;
}

/// The diagnostic whose fix comes first. A later one is often what follows from an earlier, a
/// warning maybe: devices that have nothing to do at one node lack its result at the next.
const Diagnostic* firstMeant(const Analysis& analysis, const FixArguments& wanted) {
    const Diagnostic* first = nullptr;
    for (const Diagnostic& diagnostic : analysis.diagnostics)
        if (isMeant(diagnostic, analysis.graph(), wanted) && choose(diagnostic, wanted.fix) &&
            (!first || placeOf(analysis, diagnostic) < placeOf(analysis, *first)))
            first = &diagnostic;
    return first;
}

/// What names nothing: a code, a pattern. nullopt: they are there.
std::optional<Error> unknownName(const GraphIndex& graph, const FixArguments& wanted) {
    if (!wanted.node.empty() && !anyNodeMatches(graph, wanted.node))
        return noNodeMatches(graph, wanted.node, "--node");
    const std::vector<CodeInfo> all = allCodes();
    std::set<std::string_view> codes;
    for (const CodeInfo& info : all)
        codes.insert(info.code);
    if (wanted.code.empty() || codes.contains(wanted.code))
        return std::nullopt;
    return Error{"there is no diagnostic of the code " + wanted.code +
                     suggestion(wanted.code, codes),
                 "--code"};
}

/// What could have been asked for.
std::string otherFixes(const Analysis& analysis) {
    constexpr int kShown = 3;
    int count = 0;
    std::string text;
    for (const Diagnostic& diagnostic : analysis.diagnostics)
        for (const Fix& fix : diagnostic.fixes)
            if (++count <= kShown)
                text += (count == 1 ? "; there are " : ", ") + diagnostic.code +
                        (diagnostic.node ? " at '" + analysis.graph().label(diagnostic.node) + "'"
                                         : std::string()) +
                        " (--fix " + fix.id + ")";
    if (count > kShown)
        text += " and " + std::to_string(count - kShown) + " more";
    return count == 0 ? "; no diagnostic has a fix" : text;
}

}  // namespace

int fix(const Common& common, const FixArguments& arguments) {
    const auto options = analysisOptions(common);
    if (!options)
        return fail(options.error());
    auto document = openDocument(common, options->bindings);
    if (!document)
        return fail(document.error());
    // A fix may cure more than its own diagnostic, and its edit is of the document as it was then:
    // one at a time, with a new look after each.
    constexpr int kMost = 1000;
    if (const auto unknown = unknownName(document->graph(), arguments))
        return fail(*unknown);
    Analyser analyser;
    Json applied = Json::array();
    std::shared_ptr<const Analysis> analysis;
    std::string last;
    for (int i = 0; i < kMost; ++i) {
        auto looked = analyser.run(*document, *options);
        if (!looked)
            return fail(looked.error());
        analysis = *looked;
        const Diagnostic* cured = firstMeant(*analysis, arguments);
        const Fix* chosen = cured ? choose(*cured, arguments.fix) : nullptr;
        if (!chosen || chosen->edit.empty())
            break;
        const std::string what = cured->code + " " + chosen->title;
        if (what == last)
            return fail({"the fix changes nothing: " + chosen->title, common.model});
        last = what;
        if (common.format == Format::Text)
            std::cout << oneLine(what) << "\n";
        applied.push_back({{"code", cured->code},
                           {"node", nodeJson(analysis->graph(), cured->node)},
                           {"fix", chosen->id},
                           {"title", chosen->title}});
        apply(document->annotations, chosen->edit);
    }
    if (applied.empty())
        return fail({"no diagnostic with such a fix" + otherFixes(*analysis), common.model});
    if (const auto saved = document->save(common.output); !saved)
        return fail(saved.error());
    if (common.format == Format::Json)
        std::cout << Json{{"applied", applied}, {"errors", analysis->count(Severity::Error)}}.dump(
                         2, ' ', false, Json::error_handler_t::replace)
                  << "\n";
    return analysis->count(Severity::Error) > 0 ? kModelErrors : kOk;
}

}  // namespace shardwright::cli
