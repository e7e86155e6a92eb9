// SPDX-License-Identifier: Apache-2.0
#include "commands.h"
#include "option_checks.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>
#include <limits>

using namespace shardwright;

namespace {

void addModel(CLI::App& command, cli::Common& common) {
    command.add_option("MODEL", common.model, "ONNX file, binary or text format")->required();
}

void addFormat(CLI::App& command, cli::Common& common) {
    cli::addChoice(command, "--format", common.format,
                   {{"text", cli::Format::Text}, {"json", cli::Format::Json}}, "What is printed");
}

void addAnalysis(CLI::App& command, cli::Common& common) {
    command.add_option("--config", common.configuration,
                       "Device configuration; else the only one, else `default`");
    command.add_option("--bind", common.bind,
                       "DIM=N: size of a symbolic dimension (8 where not bound)");
    command.add_option("--rules", common.rules,
                       "File of rules of your own operators (docs/user-rules.md)");
    cli::addChoice(command, "--profile", common.profile,
                   {{"strict", Profile::Strict}, {"extended", Profile::Extended}},
                   "strict: what proposal 0007 describes only");
}

void addHardware(CLI::App& command, cli::Common& common) {
    command.add_option("--hardware", common.hardware,
                       "Hardware profile that predicts times: a file, or the name of one that is "
                       "installed (docs/hardware-profiles.md)");
}

void addOutput(CLI::App& command, cli::Common& common) {
    command.add_option("-o,--output", common.output, "File to write")->required();
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app{"Shardwright: how an ONNX model is spread over devices"};
    app.set_version_flag("--version", "shardwright-cli " SHARDWRIGHT_VERSION);
    app.require_subcommand(1);
    cli::Common common;
    int status = cli::kOk;

    auto* info =
        app.add_subcommand("info", "Inputs, outputs, counts, opset, configurations, external data");
    addModel(*info, common);
    addFormat(*info, common);
    std::string nodes;
    info->add_option("--nodes", nodes,
                     "Nodes that match [OP!]GLOB ('*': all), with scope and tensors");
    info->callback([&] { status = cli::info(common, nodes); });

    auto* check = app.add_subcommand("check", "Diagnostics of the model and its annotations");
    addModel(*check, common);
    cli::addChoice(
        *check, "--format", common.format,
        {{"text", cli::Format::Text}, {"json", cli::Format::Json}, {"sarif", cli::Format::Sarif}},
        "What is printed (SARIF 2.1.0)");
    addAnalysis(*check, common);
    std::vector<std::string> failOn;
    check
        ->add_option("--fail-on", failOn,
                     "What makes the exit code 1, beside errors: warning, unsupported")
        ->delimiter(',')
        ->type_name("error|warning|unsupported,...")
        ->check(cli::oneOf(std::vector<std::string>{"error", "warning", "unsupported"}));
    check->callback([&] {
        // Without the profile nothing is unsupported, and a check for it would always pass.
        if (std::find(failOn.begin(), failOn.end(), "unsupported") != failOn.end())
            cli::needs(*check, "--fail-on", common.profile == Profile::Strict, "--profile strict");
        status = cli::check(common, failOn);
    });

    cli::FixArguments fixes;
    auto* fix = app.add_subcommand("fix", "Apply what `check` offers as fixes");
    addModel(*fix, common);
    addOutput(*fix, common);
    addFormat(*fix, common);
    addAnalysis(*fix, common);
    fix->add_option("--code", fixes.code, "Only diagnostics of this code: SW301");
    fix->add_option("--node", fixes.node, "Only at nodes that match: [OP!]GLOB");
    fix->add_option("--fix", fixes.fix, "The fix of this id (check --format json); else the first");
    fix->callback([&] { status = cli::fix(common, fixes); });

    std::string mode = "meaning";
    auto* infer = app.add_subcommand("infer", "The layout of every tensor at every node, and why");
    addModel(*infer, common);
    addFormat(*infer, common);
    addAnalysis(*infer, common);
    cli::addChoice<std::string>(
        *infer, "--mode", mode, {{"meaning", {}}, {"propagate", {}}},
        "meaning: what the file says under proposal 0007; propagate: what follows from it");
    cli::PropagateArguments propagation;
    std::vector<std::pair<std::string, std::string>> policies;
    for (const PropagationPolicy& policy : propagationPolicies())
        policies.emplace_back(policy.name, policy.name);
    cli::addChoice(*infer, "--policy", propagation.policy, policies,
                   "propagate: whose decisions it makes");
    cli::addChoice(*infer, "--direction", propagation.direction,
                   {{"both", PropagationDirection::Both},
                    {"forward", PropagationDirection::Forward},
                    {"reverse", PropagationDirection::Reverse}},
                   "propagate: along which way of the graph");
    infer->add_option("--priority", propagation.priorities,
                      "propagate: AXIS=N, smaller numbers first (0 where not given)");
    infer->add_option("-o,--output", common.output,
                      "propagate: write the model with all proposals accepted");
    addHardware(*infer, common);
    infer->callback([&] {
        for (const char* option :
             {"--policy", "--direction", "--priority", "--output", "--hardware"})
            cli::needs(*infer, option, mode == "propagate", "--mode propagate");
        status =
            mode == "propagate" ? cli::propagate(common, propagation) : cli::infer(common, mode);
    });

    auto* comm = app.add_subcommand("comm", "Which nodes make devices talk, and how many bytes");
    addModel(*comm, common);
    cli::addChoice(
        *comm, "--format", common.format,
        {{"text", cli::Format::Text}, {"json", cli::Format::Json}, {"csv", cli::Format::Csv}},
        "What is printed");
    addHardware(*comm, common);
    addAnalysis(*comm, common);
    comm->callback([&] { status = cli::comm(common); });

    cli::AnnotateArguments annotations;
    auto* annotate = app.add_subcommand("annotate", "Put mesh axes on tensors and stages on nodes");
    addModel(*annotate, common);
    addOutput(*annotate, common);
    addAnalysis(*annotate, common);
    annotate->add_option("--mesh", annotations.mesh, "Axes and sizes: dp=2,tp=4");
    annotate->add_option("--shard", annotations.shards,
                         "TENSOR[@NODE]:DIM=AXIS[+AXIS...][,DIM=...] or TENSOR[@NODE]:replicated");
    annotate->add_option("--stage", annotations.stages,
                         "NODE=N: pipeline stage of the matching nodes");
    annotate->add_option("--stage-devices", annotations.stageDevices, "N=0-3: devices of a stage");
    annotate->callback([&] { status = cli::annotate(common, annotations); });

    auto* strip = app.add_subcommand("strip", "The model without annotations");
    addModel(*strip, common);
    addOutput(*strip, common);
    strip->callback([&] { status = cli::strip(common); });

    std::string annotationsFile;
    auto* annotationRules = app.add_subcommand(
        "annotations", "Annotations as rules about names, in a file of their own");
    annotationRules->require_subcommand(1);
    auto* exported = annotationRules->add_subcommand("export", "Write them to a JSON file");
    addModel(*exported, common);
    addOutput(*exported, common);
    addAnalysis(*exported, common);
    exported->callback([&] { status = cli::exportAnnotations(common); });
    auto* applied = annotationRules->add_subcommand(
        "apply", "Put them onto a model, such as a new export, and say what fits nowhere");
    addModel(*applied, common);
    applied->add_option("FILE", annotationsFile, "JSON that `annotations export` wrote")
        ->required();
    addOutput(*applied, common);
    addFormat(*applied, common);
    applied->add_option("--config", common.configuration,
                        "Device configuration, instead of the file's");
    applied->add_option("--bind", common.bind,
                        "DIM=N: size of a symbolic dimension (8 where not bound)");
    applied->callback([&] { status = cli::applyAnnotations(common, annotationsFile); });

    std::string conformanceFile;
    auto* conformance =
        app.add_subcommand("conformance", "Cases of other systems' rules: N passed, M failed");
    conformance->add_option("FILE", conformanceFile, "JSON in one of the three schemas")
        ->required();
    addFormat(*conformance, common);
    conformance->callback([&] { status = cli::conformance(conformanceFile, common.format); });

    cli::RunArguments runs;
    auto* run = app.add_subcommand("run", "Run the sharded model on this machine");
    addModel(*run, common);
    addFormat(*run, common);
    addAnalysis(*run, common);
    cli::addChoice<std::string>(*run, "--backend", runs.backend, {{"cpu", {}}, {"cuda", {}}},
                                "Kernels and memory");
    cli::addChoice<std::string>(
        *run, "--transport", runs.transport, {{"threads", {}}, {"mpi", {}}, {"nccl", {}}},
        "What connects devices: threads, mpi (a process each) or nccl (a GPU each)");
    run->add_option("--mpi-options", runs.mpiOptions,
                    "Words for mpirun, in one argument: '--hostfile hosts'");
    run->add_option("--inputs", runs.inputs,
                    "An .npz file or a folder of input_k.pb; else seeded random inputs");
    run->add_flag("--verify{outputs}", runs.verify,
                  "Compare with one device; --verify=all: every tensor")
        ->check(cli::oneOf(std::vector<std::string>{"outputs", "all"}));
    run->add_option("--trace", runs.trace, "Write a trace for Perfetto");
    run->add_option("--save-shards", runs.saveShards,
                    "Write what each device holds as .npy into this folder");
    run->add_option("--observe", runs.observe, "Further tensors to keep, by name");
    run->add_option("--seed", runs.seed,
                    "Seed of random inputs, and of nodes that draw random numbers")
        ->check(cli::wholeNumber(0, std::numeric_limits<std::uint64_t>::max()));
    run->add_option("--repeat", runs.repeats, "How often it runs; times are of the last")
        ->check(cli::wholeNumber(1, 100000));
    run->add_option("--warm-up", runs.warmUps, "Runs before that")
        ->check(cli::wholeNumber(0, 100000));
    run->add_option("--silence-limit", runs.silenceLimitSeconds,
                    "Seconds without a sign of life after which a process counts as hung; 0: never")
        ->check(cli::between(0, 1000000));
    run->add_option("--time-limit", runs.timeLimitSeconds, "Seconds after which it is given up")
        ->check(cli::between(0.001, 1000000));
    run->add_flag("--ignore-memory", runs.ignoreMemory,
                  "Run it even where it needs more memory than there is");
    addHardware(*run, common);
    run->add_flag("--operator-times", runs.profile,
                  "Times of each operator, from ONNX Runtime's profiler");
    run->callback([&] {
        cli::needs(*run, "--mpi-options", runs.transport == "mpi", "--transport mpi");
        status = cli::run(common, runs);
    });

    cli::PlanArguments plans;
    auto* plan = app.add_subcommand(
        "plan", "Write an ONNX model for each device and phase, and what is between them");
    addModel(*plan, common);
    plan->add_option("-o,--output", common.output, "Folder to make")->required();
    addFormat(*plan, common);
    addAnalysis(*plan, common);
    plan->add_flag("--force", plans.force, "Replace the plan that is in the folder");
    plan->add_option("--seed", plans.seed, "Seed of nodes that draw random numbers")
        ->check(cli::wholeNumber(0, std::numeric_limits<std::uint64_t>::max()));
    plan->add_option("--most-inside", plans.mostInside,
                     "With more bytes of weights than this they are in files of their own")
        ->check(cli::wholeNumber(0, std::numeric_limits<std::int64_t>::max()));
    plan->callback([&] { status = cli::plan(common, plans); });

    cli::RuleArguments rules;
    auto* rule = app.add_subcommand(
        "rule", "What can be split: of one operator on given shapes, or --list of all");
    rule->add_option("OP", rules.op, "Operator: Conv, com.microsoft::FusedMatMul");
    rule->add_option("--shape", rules.shapes,
                     "[TYPE]DIMS[=ELEMENTS] of each input in order: 4,8 int64[2]=8,4 _ (omitted)");
    rule->add_option("--output-shape", rules.outputShapes,
                     "[TYPE]DIMS of each output, for operators that only your rules know");
    rule->add_option("--attr", rules.attributes, "NAME=VALUE: axis=1 perm=0,2,1");
    rule->add_option("--opset", rules.opset, "Version of the operator's domain; else the newest")
        ->check(cli::wholeNumber(1, 1 << 20));
    rule->add_option("--outputs", rules.outputs, "Number of outputs")
        ->check(cli::wholeNumber(1, 1024));
    rule->add_option("--mesh", rules.mesh, "Axes and sizes: dp=2,tp=4");
    rule->add_option("--shard", rules.shards, "SLOT:DIM=AXIS...: in0:0=dp, out0:1=tp");
    // All of them are about one operator.
    auto* list = rule->add_flag("--list", rules.list, "The table of all operators");
    for (const char* option :
         {"OP", "--shape", "--output-shape", "--attr", "--opset", "--outputs", "--mesh", "--shard"})
        list->excludes(option);
    rule->add_option("--rules", rules.rules,
                     "File of rules of your own operators (docs/user-rules.md)");
    addFormat(*rule, common);
    rule->callback([&] {
        rules.format = common.format;
        status = cli::rule(rules);
    });

    cli::CalibrateArguments calibration;
    auto* calibrate = app.add_subcommand(
        "calibrate", "Measure collectives and kernels of this machine; a hardware profile");
    calibrate->add_option("-o,--output", calibration.output, "Profile to write");
    calibrate->add_option("--devices", calibration.devices, "Numbers of threads: 2,4,8")
        ->delimiter(',')
        ->check(cli::wholeNumber(2, 256));
    calibrate->add_flag("--quick", calibration.quick, "About a second, with fewer sizes");
    addFormat(*calibrate, common);
    calibrate->callback([&] {
        calibration.format = common.format;
        status = cli::calibrate(calibration);
    });

    auto* render = app.add_subcommand("render", "Draw the graph into a .svg, .png or .pdf file");
    addModel(*render, common);
    addOutput(*render, common);
    addAnalysis(*render, common);
    render->callback([&] { status = cli::render(common, argc, argv); });

    if (const auto wrong = cli::unknownCommand(app, argc, argv)) {
        std::cerr << "shardwright-cli: " << *wrong << "\n";
        return cli::kUsage;
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? cli::kOk : cli::kUsage;
    }
    return status;
}
