// SPDX-License-Identifier: Apache-2.0
#include "check/portable_annotations.h"
#include "commands.h"
#include "model/plain_text.h"

#include <fstream>
#include <iostream>
#include <sstream>

namespace shardwright::cli {

namespace {

/// Far more than any model needs.
constexpr std::uintmax_t kMostBytes = 64u << 20;

Result<std::string> readFile(const std::string& path) {
    std::error_code error;
    const auto size = std::filesystem::file_size(path, error);
    if (error)
        return Error{"cannot read the file: " + error.message(), path};
    if (size > kMostBytes)
        return Error{"the file is too large for annotations", path};
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return file ? Result<std::string>(text.str()) : Error{"cannot read the file", path};
}

std::string counted(int count, const char* what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

void report(const ApplyOutcome& outcome, Format format) {
    if (format == Format::Json) {
        Json rules = Json::array();
        for (const AppliedRule& rule : outcome.rules)
            rules.push_back({{"rule", rule.rule},
                             {"specs", rule.specs},
                             {"problem", rule.problem.empty() ? Json() : Json(rule.problem)}});
        std::cout << Json{{"rules", rules}, {"unmatched", outcome.unmatched()}}.dump(
                         2, ' ', false, Json::error_handler_t::replace)
                  << "\n";
        return;
    }
    for (const AppliedRule& rule : outcome.rules)
        if (rule.problem.empty())
            std::cout << oneLine(rule.rule) << ": " << counted(rule.specs, "place") << "\n";
        else
            std::cout << oneLine(rule.rule) << ": none: " << oneLine(rule.problem) << "\n";
    std::cout << outcome.rules.size() - static_cast<std::size_t>(outcome.unmatched()) << " of "
              << outcome.rules.size() << " rules applied\n";
}

}  // namespace

int exportAnnotations(const Common& common) {
    const auto options = analysisOptions(common);
    if (!options)
        return fail(options.error());
    const auto document = openDocument(common, options->bindings);
    if (!document)
        return fail(document.error());
    const auto analysis = Analyser().run(*document, *options);
    if (!analysis)
        return fail(analysis.error());
    if (!(*analysis)->hasConfiguration)
        return fail({"the model has no device configuration", common.model});
    std::ofstream file(common.output, std::ios::binary);
    file << shardwright::exportAnnotations(**analysis)
                .toJson()
                .dump(2, ' ', false, Json::error_handler_t::replace)
         << "\n";
    file.close();
    return file ? kOk : fail({"cannot write the file", common.output});
}

int applyAnnotations(const Common& common, const std::string& path) {
    const auto bindings = parseBindings(common.bind);
    if (!bindings)
        return fail(bindings.error());
    auto text = readFile(path);
    if (!text)
        return fail(text.error());
    auto annotations = PortableAnnotations::fromJson(*text);
    if (!annotations)
        return fail({annotations.error().message, path});
    if (!common.configuration.empty())
        annotations->configuration = common.configuration;
    auto document = openDocument(common, *bindings);
    if (!document)
        return fail(document.error());
    const auto shapes = ShapeTable::build(document->model, *bindings);
    LayoutPool pool;
    const auto outcome = shardwright::applyAnnotations(*document, *shapes, *annotations, pool);
    if (!outcome)
        return fail(outcome.error());
    apply(document->annotations, outcome->edit);
    if (const auto saved = document->save(common.output); !saved)
        return fail(saved.error());
    report(*outcome, common.format);
    return outcome->unmatched() > 0 ? kModelErrors : kOk;
}

}  // namespace shardwright::cli
