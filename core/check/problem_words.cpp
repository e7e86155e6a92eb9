// SPDX-License-Identifier: Apache-2.0
#include "check/problem_words.h"

#include "check/fixes.h"
#include "check/split_words.h"
#include "sharding/shard_text.h"

#include <algorithm>

namespace shardwright {

namespace {

int firstSplitDim(const Analysis& analysis, NodeId id, int slot) {
    const LayoutRef layout = inputLayout(analysis, id, slot);
    for (std::size_t d = 0; layout && d < layout->dims().size(); ++d)
        if (layout->isSplit(d))
            return static_cast<int>(d);
    return -1;
}

/// Sizes of the factors of the problem's dimension, outermost first; empty: fewer than two.
std::vector<std::int64_t> partsOf(const Rule& rule, const MeaningProblem& problem) {
    const auto slot = static_cast<std::size_t>(problem.slot);
    const auto dim = static_cast<std::size_t>(problem.dim);
    if (problem.slot < 0 || problem.dim < 0 || slot >= rule.inputs.size() ||
        dim >= rule.inputs[slot].dims.size() || rule.inputs[slot].dims[dim].size() < 2)
        return {};
    std::vector<std::int64_t> sizes;
    for (const int f : rule.inputs[slot].dims[dim])
        sizes.push_back(rule.factors[static_cast<std::size_t>(f)].size);
    return sizes;
}

std::string productText(const std::vector<std::int64_t>& sizes) {
    std::string text;
    for (const std::int64_t size : sizes)
        text += (text.empty() ? "" : " x ") + std::to_string(size);
    return text;
}

/// "2=8/tp*8": the first part that the axes of the dimension divide, as `--shard` has it.
/// Empty: none, or no axes explain the layout.
std::string splitOfPart(const Analysis& analysis, const MeaningProblem& problem,
                        const std::vector<std::int64_t>& parts) {
    const Mesh& mesh = analysis.configuration.mesh;
    const LayoutRef layout = inputLayout(analysis, problem.node, problem.slot);
    const auto sharding = layout ? decode(mesh, *layout) : std::nullopt;
    const auto dim = static_cast<std::size_t>(problem.dim);
    if (!sharding || dim >= sharding->dims.size())
        return {};
    std::int64_t shards = 1;
    std::string axes;
    for (const MeshComponent& component : sharding->dims[dim])
        for (const int axis : component.axes) {
            const MeshAxis& own = mesh.axes[static_cast<std::size_t>(axis)];
            shards *= own.size;
            axes += (axes.empty() ? "" : "+") + own.name;
        }
    const auto split = std::ranges::find_if(
        parts, [&](std::int64_t size) { return size > 0 && size % shards == 0; });
    if (axes.empty() || split == parts.end())
        return {};
    std::string text = std::to_string(problem.dim) + "=";
    for (auto part = parts.begin(); part != parts.end(); ++part)
        text += (part == parts.begin() ? "" : "*") + std::to_string(*part) +
                (part == split ? "/" + axes : "");
    return text;
}

/// "; dimension 2 is taken apart into 3 x 12 x 64: split one of these parts, as in
/// 2=3*12/tp*64, or into a number of shards that divides the first"
std::string howToSplit(const Analysis& analysis, const Rule& rule, const MeaningProblem& problem) {
    const auto parts = partsOf(rule, problem);
    if (parts.empty())
        return {};
    const std::string notation = splitOfPart(analysis, problem, parts);
    return "; dimension " + std::to_string(problem.dim) + " is taken apart into " +
           productText(parts) + ": split one of these parts" +
           (notation.empty() ? "" : ", as in " + notation) +
           ", or into a number of shards that divides the first";
}

/// "dimension 2 must be whole: ", or which part of it, where others may be split.
std::string whatIsWhole(const Rule& rule, const MeaningProblem& problem) {
    const std::string dimension = "dimension " + std::to_string(problem.dim);
    const auto parts = partsOf(rule, problem);
    if (parts.empty())
        return dimension + " must be whole: ";
    return "of " + dimension + ", which is " + productText(parts) + " here, the part of " +
           std::to_string(rule.factors[static_cast<std::size_t>(problem.factor)].size) +
           " must be whole: ";
}

}  // namespace

Diagnostic diagnoseProblem(const Analysis& analysis, const MeaningProblem& problem,
                           LayoutPool& pool) {
    Diagnostic d;
    d.node = problem.node;
    d.tensor = inputName(analysis, problem.node, problem.slot);
    d.dimension =
        problem.dim >= 0 ? problem.dim : firstSplitDim(analysis, problem.node, problem.slot);
    const RulePtr& rule = analysis.rules->of(problem.node);
    const Factor* factor =
        problem.factor >= 0 ? &rule->factors[static_cast<std::size_t>(problem.factor)] : nullptr;
    const std::string split = describeSplit(analysis, problem.node, problem.slot);
    switch (problem.kind) {
        case MeaningProblem::Kind::NoDevice:
            d.code = "SW301";
            d.message =
                (problem.cells == 1
                     ? std::string("no device has all inputs: ")
                     : std::to_string(problem.cellsWithoutDevice) + " of the " +
                           std::to_string(problem.cells) + " cells have no device: ") +
                (problem.otherSlot >= 0
                     ? describeSplit(analysis, problem.node, problem.otherSlot) + ", and "
                     : "") +
                split +
                (problem.cells == 1 ? ""
                                    : ", so that no device holds what such a cell needs of both");
            break;
        case MeaningProblem::Kind::SplitWhole:
            d.code = rule->known ? "SW302" : "SW305";
            d.message = split + ", but " + whatIsWhole(*rule, problem) + factor->reason;
            break;
        case MeaningProblem::Kind::SplitNeighbour:
            d.code = "SW303";
            d.message = split + ", but dimension " + std::to_string(problem.dim) +
                        " needs elements of its neighbours: " + factor->reason;
            break;
        case MeaningProblem::Kind::ViewEdge:
            d.code = "SW304";
            d.message = split +
                        ", and its shard edges do not fall on the edges of the "
                        "dimensions that this view makes of it" +
                        howToSplit(analysis, *rule, problem);
            break;
        case MeaningProblem::Kind::MoveCount:
            d.code = "SW410";
            d.message = split + " and cannot be moved to the devices of this node, whose "
                                "number differs; give the input a spec here";
            break;
        case MeaningProblem::Kind::TooFine:
            d.code = "SW310";
            d.message = split + (problem.cells > 1 << 20
                                     ? ": the node has more cells than are worked with (" +
                                           std::to_string(problem.cells) + " of at most 1048576)"
                                     : ": each part has millions of separate pieces");
            break;
        case MeaningProblem::Kind::OutsideStage:
            d.code = "SW411";
            d.message = split + ", outside the devices of the stage of this node";
            break;
    }
    d.message = nodeTitle(analysis, problem.node) + d.message;
    d.fixes = findFixes(analysis, problem, pool);
    return d;
}

}  // namespace shardwright
