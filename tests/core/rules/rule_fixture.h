// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rules/registry.h"
#include "rules/validate.h"
#include "support/model_builder.h"

#include <QString>

#include <functional>
#include <map>

namespace shardwright::test {

/// A model with its shapes and rules.
struct BuiltRules {
    std::shared_ptr<const Model> model;
    std::shared_ptr<const ShapeTable> shapes;
    std::shared_ptr<const RuleTable> rules;

    explicit BuiltRules(std::shared_ptr<const Model> opened)
        : model(std::move(opened)), shapes(ShapeTable::build(model, {})),
          rules(RuleTable::build(model, shapes)) {}

    const Rule& last() const { return *rules->of(model->graph().main().nodes.back()); }
    const Rule& named(const std::string& name) const {
        return *rules->of(nodeNamed(model->graph(), name));
    }
};

/// The rule of the last node of a model.
inline Rule lastRule(const ModelBuilder& builder) {
    return BuiltRules(builder.model()).last();
}

inline QString ruleText(const ModelBuilder& builder) {
    const Rule rule = lastRule(builder);
    return QString::fromStdString(rule.known ? rule.text() : "fallback: " + rule.strictReason);
}

inline const Factor* factorNamed(const Rule& rule, const std::string& name) {
    for (const Factor& factor : rule.factors)
        if (factor.name == name)
            return &factor;
    return nullptr;
}

/// "LocalShapeInput slot 1" and so on, in order; fields that have their default are left out.
inline QString rewritesText(const Rule& rule) {
    static const char* const kNames[] = {"LocalShapeInput",
                                         "LocalSizesInput",
                                         "LocalSizesAttribute",
                                         "Constant",
                                         "MaskedLookup",
                                         "ReplaceOperator",
                                         "Scale",
                                         "Tail",
                                         "LocalSlice",
                                         "LocalShapeAttribute",
                                         "LocalAttribute",
                                         "RunAsReshape",
                                         "Placeholder",
                                         "LocalPads",
                                         "PickSlices",
                                         "SetAttribute"};
    std::string text;
    for (const Rewrite& rewrite : rule.rewrites) {
        text += (text.empty() ? "" : "; ") + std::string(kNames[static_cast<int>(rewrite.kind)]);
        if (rewrite.slot >= 0)
            text += " slot " + std::to_string(rewrite.slot);
        if (rewrite.dim >= 0)
            text += " dim " + std::to_string(rewrite.dim);
        if (rewrite.factor >= 0)
            text += " of " + rule.factors[static_cast<std::size_t>(rewrite.factor)].name;
        if (!rewrite.name.empty())
            text += " " + rewrite.name;
        if (rewrite.scale != 1.0)
            text += " by " + QString::number(rewrite.scale).toStdString();
        for (const int f : rewrite.factors)
            text += " *" + rule.factors[static_cast<std::size_t>(f)].name;
        if (rewrite.axesToInput)
            text += " axes to input";
    }
    return QString::fromStdString(text);
}

}  // namespace shardwright::test

#define COMPARE_RULE(builder, expected) QCOMPARE(ruleText(builder), QStringLiteral(expected))
#define COMPARE_REWRITES(builder, expected)                                                        \
    QCOMPARE(rewritesText(lastRule(builder)), QStringLiteral(expected))
