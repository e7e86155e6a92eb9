// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/analysis.h"
#include "comm/hardware_profile.h"
#include "inference/propagation_policy.h"

#include <optional>
#include <string>
#include <vector>

namespace shardwright::cli {

// Exit codes of docs/command-line.md.
inline constexpr int kOk = 0;
inline constexpr int kModelErrors = 1;  ///< The model has errors, or a run does not verify.
inline constexpr int kUsage = 2;        ///< Bad usage, or input that cannot be read.

enum class Format { Text, Json, Sarif, Csv };

/// Options that several commands share.
struct Common {
    std::string model;
    std::string configuration;
    std::vector<std::string> bind;  ///< DIM=N
    Format format = Format::Text;
    Profile profile = Profile::Extended;
    std::string output;
    std::string hardware;  ///< Hardware profile: a file, or the name of one that is installed.
    std::string rules;     ///< File of rules of the user's own; empty: none.
};

struct AnnotateArguments {
    std::string mesh;
    std::vector<std::string> shards, stages, stageDevices;
};

/// Which diagnostics are mended, and how.
struct FixArguments {
    std::string code;  ///< "SW301"; empty: any.
    std::string node;  ///< [OP!]GLOB; empty: any.
    std::string fix;   ///< Id of the fix, as `check --format json` has it; empty: the first.
};

struct RunArguments {
    std::string backend = "cpu";
    std::string transport = "threads";
    std::string mpiOptions;
    std::string inputs;
    std::string verify;  ///< "", "outputs" or "all"
    std::string trace;
    std::string saveShards;
    std::vector<std::string> observe;
    std::uint64_t seed = 1;
    int repeats = 1;
    int warmUps = 0;
    double timeLimitSeconds = 600;
    double silenceLimitSeconds = 20;
    bool ignoreMemory = false;
    bool profile = false;
};

struct PlanArguments {
    bool force = false;
    std::int64_t mostInside = std::int64_t{64} << 20;
    std::uint64_t seed = 1;
};

struct CalibrateArguments {
    std::string output;        ///< Empty: the profile is not written.
    std::vector<int> devices;  ///< Numbers of threads; empty: 2, 4 and 8.
    bool quick = false;
    Format format = Format::Text;
};

struct PropagateArguments {
    std::string policy = "report";
    PropagationDirection direction = PropagationDirection::Both;
    std::vector<std::string> priorities;  ///< AXIS=N
};

struct RuleArguments {
    std::string op;
    bool list = false;
    std::vector<std::string> shapes, attributes, shards, outputShapes;
    std::string mesh;
    int opset = 0, outputs = 0;  ///< 0: not given.
    Format format = Format::Text;
    std::string rules;  ///< File of rules of the user's own; empty: none.
};

/// With `nodes` (a pattern) those nodes and their tensors, else an overview.
int info(const Common& common, const std::string& nodes);
/// `failOn`: "warning", "unsupported": severities that are failures beside errors.
int check(const Common& common, const std::vector<std::string>& failOn);
int infer(const Common& common, const std::string& mode);
/// Proposes layouts by propagation; with an output, writes the model with all of them.
int propagate(const Common& common, const PropagateArguments& arguments);
/// Applies fixes of diagnostics until none that is meant is left.
int fix(const Common& common, const FixArguments& arguments);
int comm(const Common& common);
int annotate(const Common& common, const AnnotateArguments& arguments);
int strip(const Common& common);
/// The annotations as rules about names (docs/annotations-file.md).
int exportAnnotations(const Common& common);
/// Puts the rules of a file onto a model. kModelErrors: some of them fit nowhere.
int applyAnnotations(const Common& common, const std::string& path);
/// Runs the cases of a conformance file (docs/conformance.md).
int conformance(const std::string& path, Format format);
int run(const Common& common, const RunArguments& arguments);
/// Writes the models of the devices and what is between them into a folder (docs/plans.md).
int plan(const Common& common, const PlanArguments& arguments);
/// Measures this machine and writes a hardware profile.
int calibrate(const CalibrateArguments& arguments);
int rule(const RuleArguments& arguments);
/// argc and argv go to Qt, which draws.
int render(const Common& common, int argc, char** argv);

/// Prints the error to standard error and gives kUsage.
int fail(const Error& error);
/// DIM=N texts. Error: the text that is not of this form.
Result<Bindings> parseBindings(const std::vector<std::string>& texts);
/// The model. Error: it cannot be read, or has no dimension of a name that `bindings` has.
Result<Document> openDocument(const Common& common, const Bindings& bindings);
/// The standard rules with those of a file; null where no file is given.
Result<std::shared_ptr<const Registry>> userRegistry(const std::string& path);
/// The profile of --hardware; nothing where it is not given.
Result<std::optional<HardwareProfile>> hardwareProfile(const Common& common);
/// What the options of a command say of an analysis. Error: of --bind, or of the file of --rules.
Result<AnalysisOptions> analysisOptions(const Common& common);

}  // namespace shardwright::cli
