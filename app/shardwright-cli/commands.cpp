// SPDX-License-Identifier: Apache-2.0
#include "commands.h"

#include "check/report.h"
#include "sharding/shard_text.h"

#include <charconv>
#include <iostream>

namespace shardwright::cli {

int fail(const Error& error) {
    std::cerr << "shardwright-cli: " << error.text() << "\n";
    return kUsage;
}

Result<Bindings> parseBindings(const std::vector<std::string>& texts) {
    Bindings bindings;
    for (const std::string& text : texts) {
        const auto equals = text.rfind('=');
        std::int64_t size = 0;
        const char* end = text.data() + text.size();
        const bool named = equals != std::string::npos && equals > 0;
        const auto parsed = named ? std::from_chars(text.data() + equals + 1, end, size) : std::from_chars_result{end, std::errc::invalid_argument};
        if (parsed.ec != std::errc() || parsed.ptr != end || size < 1)
            return Error{"expected DIM=N with N >= 1, found `" + text + "`", "--bind"};
        bindings.sizes[text.substr(0, equals)] = size;
    }
    return bindings;
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
    auto document = Document::open(common.model);
    if (!document)
        return document.error();
    return Opened{std::move(*document), std::move(*bindings)};
}

Result<std::shared_ptr<const Analysis>> analyse(const Common& common) {
    auto opened = open(common);
    if (!opened)
        return opened.error();
    Analyser analyser;
    return analyser.run(opened->document, {common.configuration, common.profile, opened->bindings});
}

int exitCode(const Analysis& analysis) { return analysis.count(Severity::Error) > 0 ? kModelErrors : kOk; }

/// Analyses and prints; the commands differ in what they print only.
int report(const Common& common, Json (*json)(const Analysis&), std::string (*text)(const Analysis&)) {
    const auto analysis = analyse(common);
    if (!analysis)
        return fail(analysis.error());
    if (common.format == Format::Json)
        print(json(**analysis));
    else
        std::cout << text(**analysis);
    return exitCode(**analysis);
}

int save(const Document& document, const std::string& path) {
    const auto saved = document.save(path);
    return saved ? kOk : fail(saved.error());
}

}  // namespace

int info(const Common& common) {
    const auto opened = open(common);
    if (!opened)
        return fail(opened.error());
    const auto shapes = ShapeTable::build(opened->document.model, opened->bindings);
    if (common.format == Format::Json)
        print(infoJson(opened->document, *shapes));
    else
        std::cout << infoText(opened->document, *shapes);
    return kOk;
}

int check(const Common& common) { return report(common, checkJson, checkText); }
int comm(const Common& common) { return report(common, commJson, commText); }
int infer(const Common& common, const std::string&) { return report(common, inferJson, inferText); }

int annotate(const Common& common, const AnnotateArguments& arguments) {
    auto opened = open(common);
    if (!opened)
        return fail(opened.error());
    const auto shapes = ShapeTable::build(opened->document.model, opened->bindings);
    LayoutPool pool;
    const AnnotateRequest request{common.configuration, arguments.mesh, arguments.shards, arguments.stages,
                                  arguments.stageDevices};
    const auto outcome = shardwright::annotate(opened->document, *shapes, request, pool);
    if (!outcome)
        return fail(outcome.error());
    for (const std::string& warning : outcome->warnings)
        std::cerr << "warning: " << warning << "\n";
    for (const auto& [symbol, size] : shapes->usedBindings())
        std::cerr << "symbolic dimension " << symbol << " taken as " << size << "\n";
    apply(opened->document.annotations, outcome->edit);
    return save(opened->document, common.output);
}

int strip(const Common& common) {
    auto opened = open(common);
    if (!opened)
        return fail(opened.error());
    apply(opened->document.annotations, editStrip(opened->document));
    return save(opened->document, common.output);
}

}  // namespace shardwright::cli
