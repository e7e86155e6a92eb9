// SPDX-License-Identifier: Apache-2.0
#include "commands.h"

#include "check/sarif.h"
#include "model/plain_text.h"
#include "rules/user_rules.h"
#include "sharding/binding_names.h"
#include "sharding/configuration_choice.h"
#include "sharding/option_targets.h"
#include "sharding/shard_text.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <charconv>
#include <iostream>

namespace shardwright::cli {

int fail(const Error& error) {
    std::cerr << "shardwright-cli: " << oneLine(error.text()) << "\n";
    return kUsage;
}

Result<Bindings> parseBindings(const std::vector<std::string>& texts) {
    Bindings bindings;
    for (const std::string& text : texts) {
        const auto equals = text.rfind('=');
        std::int64_t size = 0;
        const char* end = text.data() + text.size();
        const bool named = equals != std::string::npos && equals > 0;
        const auto parsed = named ? std::from_chars(text.data() + equals + 1, end, size)
                                  : std::from_chars_result{end, std::errc::invalid_argument};
        if (parsed.ec != std::errc() || parsed.ptr != end || size < 1)
            return Error{"expected DIM=N with N >= 1, found `" + text + "`", "--bind"};
        const auto [bound, added] = bindings.sizes.emplace(text.substr(0, equals), size);
        if (!added && bound->second != size)
            return Error{"`" + bound->first + "` is bound to " + std::to_string(bound->second) +
                             " and to " + std::to_string(size),
                         "--bind"};
    }
    return bindings;
}

Result<Document> openDocument(const Common& common, const Bindings& bindings) {
    auto document = Document::open(common.model);
    if (!document)
        return document;
    if (auto unknown = unknownBinding(*document->model, bindings))
        return *unknown;
    return document;
}

Result<std::shared_ptr<const Registry>> userRegistry(const std::string& path) {
    if (path.empty())
        return std::shared_ptr<const Registry>();
    return loadUserRules(Registry::standard(), path);
}

Result<AnalysisOptions> analysisOptions(const Common& common) {
    auto bindings = parseBindings(common.bind);
    if (!bindings)
        return bindings.error();
    AnalysisOptions options{common.configuration, common.profile, std::move(*bindings)};
    auto registry = userRegistry(common.rules);
    if (!registry)
        return registry.error();
    options.registry = std::move(*registry);
    return options;
}

namespace {

void print(const Json& json) {
    std::cout << json.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
}

struct Opened {
    Document document;
    Bindings bindings;
};

Result<Opened> open(const Common& common) {
    auto bindings = parseBindings(common.bind);
    if (!bindings)
        return bindings.error();
    auto document = openDocument(common, *bindings);
    if (!document)
        return document.error();
    return Opened{std::move(*document), std::move(*bindings)};
}

Result<std::shared_ptr<const Analysis>> analyse(const Common& common) {
    auto options = analysisOptions(common);
    if (!options)
        return options.error();
    const auto document = openDocument(common, options->bindings);
    if (!document)
        return document.error();
    auto meant = configurationMeant(document->annotations, common.configuration);
    if (!meant)
        return meant.error();
    options->configuration = std::move(*meant);
    return Analyser().run(*document, *options);
}

int exitCode(const Analysis& analysis) {
    return analysis.count(Severity::Error) > 0 ? kModelErrors : kOk;
}

void show(const Common& common, const Analysis& analysis, Json (*json)(const Analysis&),
          std::string (*text)(const Analysis&)) {
    if (common.format == Format::Json)
        print(json(analysis));
    else
        std::cout << text(analysis);
}

/// Analyses and prints; the commands differ in what they print only.
int report(const Common& common, Json (*json)(const Analysis&),
           std::string (*text)(const Analysis&)) {
    const auto analysis = analyse(common);
    if (!analysis)
        return fail(analysis.error());
    show(common, **analysis, json, text);
    return exitCode(**analysis);
}

/// What `check` would say of the result, where it is wrong.
void tellOfErrors(const Common& common, const Document& document) {
    auto options = analysisOptions(common);
    if (!options)
        return;
    const auto analysis = Analyser().run(document, *options);
    if (!analysis)
        return;
    const int errors = (*analysis)->count(Severity::Error);
    if (errors == 0)
        return;
    std::cerr << "the result has " << errors << (errors == 1 ? " error" : " errors")
              << " (see check), first:\n"
              << diagnosticText((*analysis)->graph(), (*analysis)->diagnostics.front());
}

int save(const Document& document, const std::string& path) {
    const auto saved = document.save(path);
    return saved ? kOk : fail(saved.error());
}

}  // namespace

int info(const Common& common, const std::string& nodes) {
    const auto opened = open(common);
    if (!opened)
        return fail(opened.error());
    const GraphIndex& graph = opened->document.graph();
    if (!nodes.empty() && nodes != "*" && !anyNodeMatches(graph, nodes))
        return fail(noNodeMatches(graph, nodes, "--nodes"));
    const auto shapes = ShapeTable::build(opened->document.model, opened->bindings);
    if (!nodes.empty() && common.format == Format::Json)
        print(nodesJson(opened->document, *shapes, nodes));
    else if (!nodes.empty())
        std::cout << nodesText(opened->document, *shapes, nodes);
    else if (common.format == Format::Json)
        print(infoJson(opened->document, *shapes));
    else
        std::cout << infoText(opened->document, *shapes);
    return kOk;
}

int check(const Common& common, const std::vector<std::string>& failOn) {
    const auto analysis = analyse(common);
    if (!analysis)
        return fail(analysis.error());
    if (common.format == Format::Sarif)
        print(checkSarif(**analysis, {common.model, SHARDWRIGHT_VERSION, documentationFolder()}));
    else
        show(common, **analysis, checkJson, checkText);
    const auto fails = [&](Severity severity) {
        return std::ranges::count(failOn, severityName(severity)) > 0 &&
               (*analysis)->count(severity) > 0;
    };
    return fails(Severity::Warning) || fails(Severity::Unsupported) ? kModelErrors
                                                                    : exitCode(**analysis);
}

int comm(const Common& common) {
    const auto hardware = hardwareProfile(common);
    if (!hardware)
        return fail(hardware.error());
    const auto analysis = analyse(common);
    if (!analysis)
        return fail(analysis.error());
    const HardwareProfile* profile = *hardware ? &**hardware : nullptr;
    if (common.format == Format::Json)
        print(commJson(**analysis, profile));
    else
        std::cout << (common.format == Format::Csv ? commCsv(**analysis, profile)
                                                   : commText(**analysis, profile));
    const int status = exitCode(**analysis);
    if (status == kModelErrors)
        std::cerr << "the model has errors (see check): what follows from the nodes concerned is "
                     "not in this list\n";
    return status;
}
int infer(const Common& common, const std::string&) {
    return report(common, inferJson, inferText);
}

int annotate(const Common& common, const AnnotateArguments& arguments) {
    auto opened = open(common);
    if (!opened)
        return fail(opened.error());
    const auto shapes = ShapeTable::build(opened->document.model, opened->bindings);
    LayoutPool pool;
    const AnnotateRequest request{common.configuration, arguments.mesh, arguments.shards,
                                  arguments.stages, arguments.stageDevices};
    const auto outcome = shardwright::annotate(opened->document, *shapes, request, pool);
    if (!outcome)
        return fail(outcome.error());
    for (const std::string& warning : outcome->warnings)
        std::cerr << "warning: " << oneLine(warning) << "\n";
    for (const auto& match : outcome->matches)
        std::cerr << oneLine(match.shard) << ": " << match.tensors
                  << (match.tensors == 1 ? " tensor at " : " tensors at ") << match.nodes
                  << (match.nodes == 1 ? " node\n" : " nodes\n");
    for (const auto& [symbol, size] : shapes->usedBindings())
        std::cerr << "symbolic dimension " << oneLine(symbol) << " taken as " << size << "\n";
    apply(opened->document.annotations, outcome->edit);
    const int status = save(opened->document, common.output);
    if (status == kOk)
        tellOfErrors(common, opened->document);
    return status;
}

int strip(const Common& common) {
    auto opened = open(common);
    if (!opened)
        return fail(opened.error());
    const Edit edit = editStrip(opened->document);
    apply(opened->document.annotations, edit);
    const int status = save(opened->document, common.output);
    // A version that only annotations needed is not known from one that the file had before.
    const std::int64_t version = opened->document.model->proto().ir_version();
    constexpr std::int64_t kFirstAnnotatedIr = 11;
    if (status == kOk && !edit.empty() && version >= kFirstAnnotatedIr)
        std::cerr << "the IR version stays " << version
                  << ": the file does not say which one it had before it was annotated\n";
    return status;
}

}  // namespace shardwright::cli
