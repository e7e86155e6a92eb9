// SPDX-License-Identifier: Apache-2.0
#include "rules/registry.h"
#include "rules/rule_maker.h"

namespace shardwright {

namespace {

/// Learning rate and update count, then `states` lists of tensors: those to optimise, their
/// gradients, and what is kept of each. The results are the lists without the gradients.
///   Momentum of one tensor [4,8]      ., ., a0 a1, a0 a1, a0 a1 -> a0 a1, a0 a1
std::optional<Rule> buildOptimizer(const NodeContext& context, std::size_t states) {
    RuleMaker maker(context);
    const std::size_t inputs = context.node.inputs.size(), outputs = context.node.outputs.size();
    maker.require(inputs > 2 && (inputs - 2) % states == 0);
    if (maker.failed())
        return std::nullopt;
    const std::size_t count = (inputs - 2) / states;
    maker.require(outputs == count * (states - 1));
    for (const std::size_t slot : {0, 1}) {
        maker.require(context.input(slot).elementCount() == 1);
        maker.input(slot, Dims(maker.in(slot).size()));
    }
    double elements = 0;
    for (std::size_t i = 0; i < count && !maker.failed(); ++i) {
        const Sizes& x = maker.in(2 + i);
        const Dims dims = maker.parallelDims(x, letterName(i));
        elements += maker.elements(x);
        for (std::size_t state = 0; state < states; ++state) {
            maker.require(maker.in(2 + state * count + i) == x);
            maker.input(2 + state * count + i, dims);
        }
        for (std::size_t state = 0; state + 1 < states && !maker.failed(); ++state) {
            maker.require(maker.out(state * count + i) == x);
            maker.output(state * count + i, dims);
        }
    }
    maker.flops(8 * elements);
    return maker.finish();
}

}  // namespace

void registerTraining(Registry& registry) {
    const auto add = [&registry](const char* op, RuleBuilder build) {
        registry.add({"ai.onnx.preview.training",
                      op,
                      "training",
                      false,
                      foreignToProposal(),
                      std::move(build),
                      {},
                      {},
                      true});
    };
    add("Adagrad", [](const NodeContext& context) { return buildOptimizer(context, 3); });
    add("Momentum", [](const NodeContext& context) { return buildOptimizer(context, 3); });
    add("Adam", [](const NodeContext& context) { return buildOptimizer(context, 4); });
    add("Gradient", [](const NodeContext& context) {
        return wholeRule(context, "it is the derivative of a graph that other nodes describe");
    });
}

}  // namespace shardwright
