// SPDX-License-Identifier: Apache-2.0
#include "commands.h"

#include "check/report.h"
#include "model/plain_text.h"
#include "model/weights_in_file.h"
#include "plan/plan_files.h"
#include "sharding/binding_names.h"
#include "sharding/configuration_choice.h"

#include <csignal>
#include <cstdio>
#include <iostream>

namespace shardwright::cli {

namespace {

const CancelToken& interruption() {
    static const CancelToken token = CancelToken::create();
    return token;
}

/// What was begun is taken away before the program ends.
void cancelOnSignals() {
    (void)interruption();
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
        std::signal(signal, [](int) { interruption().cancel(); });
}

Json summary(const Plan& plan, const Analysis& analysis, const std::string& folder) {
    Json json = planJson(plan, analysis), devices = Json::array();
    int segments = 0, exchanges = 0;
    for (const Json& phase : json["phases"]) {
        segments += static_cast<int>(phase["segments"].size());
        exchanges += static_cast<int>(phase["exchanges"].size());
    }
    for (const Json& device : json["devices"])
        devices.push_back({{"device", device["device"]}, {"weight_bytes", device["weight_bytes"]}});
    return {{"folder", folder},
            {"configuration", json["configuration"]},
            {"mesh", json["mesh"]},
            {"bindings", json["bindings"]},
            {"devices", std::move(devices)},
            {"phases", plan.phases},
            {"segments", segments},
            {"exchanges", exchanges}};
}

std::string counted(int count, const char* what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

/// The first error, as `run` says it.
bool tellOfError(const Analysis& analysis) {
    for (const Diagnostic& diagnostic : analysis.diagnostics)
        if (diagnostic.severity == Severity::Error) {
            fail({diagnostic.message, diagnostic.code});
            return true;
        }
    return false;
}

}  // namespace

int plan(const Common& common, const PlanArguments& arguments) {
    auto options = analysisOptions(common);
    if (!options)
        return fail(options.error());
    cancelOnSignals();
    const CancelToken& cancel = interruption();
    const auto model = loadWithoutWeights(common.model, cancel);
    if (!model)
        return fail(model.error());
    if (const auto unknown = unknownBinding(**model, options->bindings))
        return fail(*unknown);
    const Document document{*model, (*model)->annotations()};
    auto meant = configurationMeant(document.annotations, common.configuration);
    if (!meant)
        return fail(meant.error());
    options->configuration = std::move(*meant);
    const auto analysis = Analyser().run(document, *options, cancel);
    if (!analysis)
        return fail(analysis.error());
    if (tellOfError(**analysis))
        return kModelErrors;
    const auto lowered = lower(**analysis, PlanOptions{{}, arguments.seed});
    if (!lowered) {
        fail(lowered.error());
        return kModelErrors;
    }
    const auto written = writePlan(**lowered, **analysis, common.output,
                                   {arguments.force, arguments.mostInside}, cancel);
    if (!written)
        return fail(written.error());
    const Json json = summary(**lowered, **analysis, common.output);
    if (common.format == Format::Json)
        std::cout << json.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
    else
        std::printf("%s: %s in %s, %s\n", oneLine(common.output).c_str(),
                    counted(json["segments"].get<int>(), "model").c_str(),
                    counted(json["phases"].get<int>(), "phase").c_str(),
                    counted(json["exchanges"].get<int>(), "exchange").c_str());
    return kOk;
}

}  // namespace shardwright::cli
