// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan_case.h"

#include "rules/rule.h"

namespace shardwright::test {

/// "1=3*4/d*8" for dimension 1 = (3, 4, 8) with factor 1 of it split over axis d.
inline std::string splitDim(const Rule& rule, const std::vector<int>& factors, int split,
                            std::size_t dim) {
    std::string text;
    for (const int f : factors)
        text += (text.empty() ? "" : "*") +
                std::to_string(rule.factors[static_cast<std::size_t>(f)].size) +
                (f == split ? "/d" : "");
    return std::to_string(dim) + "=" + text;
}

/// Runs a model with each splittable factor of one node's rule split over `devices`, in all inputs
/// that have it, and compares all tensors with those of one device. Gives the names of the factors
/// that came out right, and what is wrong with the others: "b h" or "b h(y differs ...)".
inline std::string splitEachFactor(const ModelBuilder& model, const std::string& node,
                                   int devices) {
    const Document document = model.document();
    const auto shapes = ShapeTable::build(document.model, {});
    const auto rules = RuleTable::build(document.model, shapes);
    const NodeId id = nodeNamed(document.graph(), node);
    const Rule& rule = *rules->of(id);
    if (!rule.known)
        return "fallback: " + rule.strictReason;
    std::string result;
    for (std::size_t f = 0; f < rule.factors.size(); ++f) {
        const Factor& factor = rule.factors[f];
        if (factor.size < 2 ||
            (factor.kind != FactorKind::Parallel && factor.kind != FactorKind::Reduction))
            continue;
        PlanCase one(model, "d=" + std::to_string(devices));
        bool used = false;
        for (std::size_t slot = 0; slot < rule.inputs.size(); ++slot)
            for (std::size_t d = 0; d < rule.inputs[slot].dims.size(); ++d) {
                const auto& factors = rule.inputs[slot].dims[d];
                if (std::find(factors.begin(), factors.end(), static_cast<int>(f)) == factors.end())
                    continue;
                const NodeInfo& info = document.graph().node(id);
                const bool capture = slot >= info.inputs.size();
                const ValueId value =
                    capture ? info.captures[slot - info.inputs.size()] : info.inputs[slot];
                const ValueInfo& tensor = document.graph().value(value);
                // What a body reads cannot be annotated at its owner: it lies as it was produced.
                if (capture && !tensor.producer)
                    continue;
                used = true;
                one.shard(tensor.name + "@" +
                          (capture ? document.graph().label(tensor.producer) : node) + ":" +
                          splitDim(rule, factors, static_cast<int>(f), d));
            }
        if (!used)
            continue;
        const std::string wrong = one.verify();
        result +=
            (result.empty() ? "" : " ") + factor.name + (wrong.empty() ? "" : "(" + wrong + ")");
    }
    return result;
}

}  // namespace shardwright::test

/// Every factor is right on 2 and on 3 devices.
#define VERIFY_FACTORS(model, node, expected)                                                      \
    do {                                                                                           \
        if (!ortRuntime())                                                                         \
            QSKIP("needs ONNX Runtime's library");                                                 \
        for (const int devices : {2, 3})                                                           \
            QCOMPARE(QString::fromStdString(splitEachFactor(model, node, devices)),                \
                     QString(expected));                                                           \
    } while (false)
