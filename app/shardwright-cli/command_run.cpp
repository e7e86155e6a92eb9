// SPDX-License-Identifier: Apache-2.0
#include "commands.h"

#include "run_observations.h"

#include "check/report.h"
#include "model/plain_text.h"
#include "rules/user_rules.h"
#include "run/worker_client.h"

#include <cstdio>
#include <iostream>
#include <sstream>

namespace shardwright::cli {

namespace {

Json placeJson(const RunPlace& place) {
    return {{"name", place.name}, {"index", place.index}, {"scope", place.scope}};
}

Json totalsJson(const std::map<std::string, RunKindTotal>& totals) {
    Json json = Json::object();
    for (const auto& [kind, total] : totals)
        json[kind] = {{"count", total.count}, {"bytes", total.bytes}};
    return json;
}

Json checksJson(const std::vector<RunTensorCheck>& checks, bool compared) {
    Json list = Json::array();
    for (const RunTensorCheck& check : checks) {
        Json json{{"name", check.name}, {"max_abs", Json()}, {"max_rel", Json()}};
        if (compared) {
            json["max_abs"] = check.maxAbs;
            json["max_rel"] = check.maxRel;
            json["tolerance"] = check.tolerance;
            json["agrees"] = check.agrees;
            if (!check.note.empty())
                json["note"] = check.note;
            if (!check.becauseOf.empty())
                json["because_of"] = check.becauseOf;
        }
        list.push_back(std::move(json));
    }
    return list;
}

Json reportJson(const RunReport& report) {
    Json devices = Json::array(), bindings = Json::object();
    for (const RunDeviceTiming& d : report.devices)
        devices.push_back({{"device", d.device},
                           {"prepare_ms", d.prepareMs},
                           {"compute_ms", d.computeMs},
                           {"communication_ms", d.communicationMs},
                           {"waiting_ms", d.waitingMs},
                           {"peak_bytes", d.peakBytes},
                           {"predicted_bytes", d.predictedBytes}});
    for (const auto& [symbol, size] : report.bindings)
        bindings[symbol] = size;
    const bool compared = report.verified.has_value();
    Json json{{"configuration", report.configuration},
              {"mesh", report.mesh},
              {"bindings", std::move(bindings)},
              {"verified", compared ? Json(*report.verified) : Json()},
              {"outputs", checksJson(report.outputs, compared)},
              {"devices", std::move(devices)},
              {"predicted", totalsJson(report.predicted)},
              {"executed", totalsJson(report.executed)},
              {"wall_ms", report.wallMs},
              {"start_ms", report.startMs},
              {"memory",
               {{"predicted_bytes", report.predictedBytes},
                {"peak_bytes", report.peakResidentBytes},
                {"available_bytes", report.availableBytes}}},
              {"kernels", report.kernels},
              {"transport", report.transport}};
    if (!report.tensors.empty())
        json["tensors"] = checksJson(report.tensors, true);
    if (report.firstDivergent) {
        const RunDivergence& first = *report.firstDivergent;
        json["first_divergent"] = {{"tensor", first.check.name},
                                   {"node", placeJson(first.node)},
                                   {"operator", first.op},
                                   {"layout", first.layout},
                                   {"max_abs", first.check.maxAbs},
                                   {"max_rel", first.check.maxRel},
                                   {"collectives", first.collectives}};
    }
    addObservations(json, report);
    if (report.randomInputs)
        json["seed"] = report.seed;
    return json;
}

/// A run that has no report: the keys of one, and what failed.
Json failureJson(const RunFailure& failure) {
    const char* kind = failure.kind == RunFailure::Kind::ModelError  ? "model"
                       : failure.kind == RunFailure::Kind::Cancelled ? "cancelled"
                                                                     : "failed";
    return {{"verified", Json()},
            {"outputs", Json::array()},
            {"devices", Json::array()},
            {"predicted", Json::object()},
            {"executed", Json::object()},
            {"wall_ms", Json()},
            {"failure", {{"kind", kind}, {"message", failure.message}, {"place", failure.place}}}};
}

void print(const Json& json) {
    std::cout << json.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
}

void printText(const RunReport& report) {
    if (report.configuration.empty() && report.mesh.empty())
        std::printf("no device configuration, %s, %s\n", report.kernels.c_str(),
                    report.transport.c_str());
    else
        std::printf("configuration %s, mesh %s, %s, %s\n", oneLine(report.configuration).c_str(),
                    report.mesh.c_str(), report.kernels.c_str(), report.transport.c_str());
    for (const auto& [symbol, size] : report.bindings)
        std::printf("symbolic dimension %s = %lld\n", oneLine(symbol).c_str(),
                    static_cast<long long>(size));
    for (const RunDeviceTiming& d : report.devices)
        std::printf(
            "device %d: compute %.3f ms, communication %.3f ms, waiting %.3f ms, peak %lld bytes\n",
            d.device, d.computeMs, d.communicationMs, d.waitingMs,
            static_cast<long long>(d.peakBytes));
    std::printf("memory: at most %lld bytes, predicted %lld\n",
                static_cast<long long>(report.peakResidentBytes),
                static_cast<long long>(report.predictedBytes));
    for (const auto& [kind, total] : report.executed)
        std::printf("%s: %lld %s, %lld bytes\n", kind.c_str(), static_cast<long long>(total.count),
                    total.count == 1 ? "group" : "groups", static_cast<long long>(total.bytes));
    std::printf("collectives are %s\n",
                report.predicted == report.executed ? "as predicted" : "not as predicted");
    for (const RunTensorCheck& check : report.outputs)
        if (report.verified)
            std::printf("output %s: largest difference %.3g, relative %.3g%s%s%s\n",
                        oneLine(check.name).c_str(), check.maxAbs, check.maxRel,
                        check.agrees ? "" : ", differs", check.note.empty() ? "" : ", ",
                        oneLine(check.note).c_str());
    if (report.firstDivergent)
        std::printf("first divergent tensor: %s of %s `%s`, layout %s%s%s\n",
                    oneLine(report.firstDivergent->check.name).c_str(),
                    oneLine(report.firstDivergent->op).c_str(),
                    oneLine(report.firstDivergent->node.name).c_str(),
                    report.firstDivergent->layout.c_str(),
                    report.firstDivergent->collectives.empty() ? "" : "; ",
                    oneLine(report.firstDivergent->collectives).c_str());
    printObservations(report);
    if (report.verified)
        std::printf("%s\n", *report.verified ? "verified against one device" : "NOT verified");
    std::printf("%.3f ms\n", report.wallMs);
}

Result<RunRequest> requestOf(const Common& common, const RunArguments& arguments) {
    auto bindings = parseBindings(common.bind);
    if (!bindings)
        return bindings.error();
    RunRequest request;
    request.modelPath = common.model;
    request.configuration = common.configuration;
    request.strictProfile = common.profile == Profile::Strict;
    request.bindings = bindings->sizes;
    request.bindingFallback = bindings->fallback;
    request.seed = arguments.seed;
    request.inputsPath = arguments.inputs;
    request.verify = arguments.verify == "all"  ? VerifyMode::All
                     : arguments.verify.empty() ? VerifyMode::None
                                                : VerifyMode::Outputs;
    request.warmups = arguments.warmUps;
    request.repeats = arguments.repeats;
    request.tracePath = arguments.trace;
    request.saveShardsFolder = arguments.saveShards;
    request.observe = arguments.observe;
    request.timeLimitSeconds = arguments.timeLimitSeconds;
    request.silenceLimitSeconds = arguments.silenceLimitSeconds;
    request.transport = arguments.transport == "mpi"    ? Transport::Mpi
                        : arguments.transport == "nccl" ? Transport::Nccl
                                                        : Transport::Threads;
    request.backend = arguments.backend == "cuda" ? Backend::Cuda : Backend::Cpu;
    request.ignoreMemory = arguments.ignoreMemory;
    request.profile = arguments.profile;
    const auto hardware = hardwareProfile(common);
    if (!hardware)
        return hardware.error();
    if (*hardware) {
        request.hardware = (*hardware)->text();
        request.hardwareName = common.hardware;
    }
    if (!common.rules.empty()) {
        // Read here, so that the worker sees what was checked.
        auto text = readUserRules(common.rules);
        if (!text)
            return text.error();
        request.rules = std::move(*text);
        request.rulesName = common.rules;
    }
    return request;
}

}  // namespace

int run(const Common& common, const RunArguments& arguments) {
    const auto request = requestOf(common, arguments);
    if (!request)
        return fail(request.error());
    WorkerOptions options;
    std::istringstream words(arguments.mpiOptions);
    for (std::string word; words >> word;)
        options.mpiOptions.push_back(word);
    const auto outcome = runInWorker(
        *request,
        [](const RunEvent& event) {
            if (const auto* log = std::get_if<RunLog>(&event))
                std::cerr << oneLine(log->message) << "\n";
        },
        {}, options);
    if (const auto* failure = std::get_if<RunFailure>(&outcome)) {
        const bool memory = failure->kind == RunFailure::Kind::Memory;
        fail({failure->message + (memory ? " (--ignore-memory runs it all the same)" : ""),
              failure->place});
        if (failure->kind == RunFailure::Kind::Usage)
            return kUsage;
        if (common.format == Format::Json)
            print(failureJson(*failure));
        return kModelErrors;
    }
    const RunReport& report = std::get<RunReport>(outcome);
    if (common.format == Format::Json)
        print(reportJson(report));
    else
        printText(report);
    return report.verified.value_or(true) ? kOk : kModelErrors;
}

}  // namespace shardwright::cli
