// SPDX-License-Identifier: Apache-2.0
#include "commands.h"

#include "check/rule_report.h"
#include "rules/examples.h"
#include "rules/one_node.h"
#include "sharding/option_targets.h"

#include <cctype>
#include <iostream>

namespace shardwright::cli {

namespace {

void print(const Json& json) {
    std::cout << json.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
}

int list(const RuleArguments& arguments, const Registry& registry) {
    const std::vector<OperatorRow> rows = operatorRows(registry);
    if (arguments.format == Format::Json)
        print(operatorRowsJson(rows));
    else
        std::cout << operatorRowsText(rows);
    return kOk;
}

/// `Op`, `domain::Op`, or an Op that only one domain has.
Result<NodeRequest> named(const std::string& name, const Registry& registry) {
    NodeRequest request;
    const std::size_t colons = name.find("::");
    if (colons != std::string::npos) {
        request.domain = name.substr(0, colons) == "ai.onnx" ? "" : name.substr(0, colons);
        request.op = name.substr(colons + 2);
        return request;
    }
    request.op = name;
    // Those that run graphs have no entry, but the rule of what is in them.
    if (registry.find("", name) || findExample("", name))
        return request;
    std::vector<std::string> domains;
    for (const OperatorEntry& entry : registry.entries())
        if (entry.op == name)
            domains.push_back(entry.domain);
    if (domains.size() == 1) {
        request.domain = domains.front();
        return request;
    }
    std::string near;
    for (const OperatorEntry& entry : registry.entries()) {
        std::string a = entry.op, b = name;
        for (std::string* text : {&a, &b})
            for (char& c : *text)
                c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        if (a == b || (b.size() > 2 && a.find(b) != std::string::npos))
            near += (near.empty() ? "; near: " : ", ") +
                    (entry.domain.empty() ? entry.op : entry.domain + "::" + entry.op);
    }
    return Error{"there is no operator of this name" + near, name};
}

/// `in0:1=tp` means the slot, whatever the tensor's name.
std::string slotText(const std::string& shard) {
    for (const std::string prefix : {"in", "out"})
        if (shard.starts_with(prefix) && shard.size() > prefix.size() &&
            std::isdigit(static_cast<unsigned char>(shard[prefix.size()])))
            return "#" + shard;
    return shard;
}

/// Tensors that the operator does not have. nullopt: it has them, or the text is no option.
std::optional<Error> unknownTensor(const Model& model, const std::string& given) {
    const auto option = ShardOption::parse(slotText(given));
    const GraphIndex& graph = model.graph();
    if (!option || !option->node.empty() || !targetsOf(*option, graph, TensorIndex(graph)).empty())
        return std::nullopt;
    const NodeInfo& node = graph.node(graph.main().nodes.front());
    std::string names;
    const auto add = [&](const std::vector<ValueId>& slots, const char* prefix) {
        for (std::size_t slot = 0; slot < slots.size(); ++slot)
            if (slots[slot])
                names += (names.empty() ? "" : ", ") + (prefix + std::to_string(slot));
    };
    add(node.inputs, "in");
    add(node.outputs, "out");
    return Error{"no tensor matches '" + option->tensor + "'; there are " + names,
                 "--shard " + given};
}

Result<std::shared_ptr<const Model>> modelOf(const RuleArguments& arguments,
                                             const Registry& registry) {
    auto request = named(arguments.op, registry);
    if (!request)
        return request.error();
    const bool plain = arguments.shapes.empty() && arguments.attributes.empty() &&
                       arguments.outputShapes.empty() && arguments.opset == 0 &&
                       arguments.outputs == 0;
    if (const OperatorExample* example = findExample(request->domain, request->op);
        plain && example != nullptr)
        return exampleModel(*example);
    request->inputs = arguments.shapes;
    request->attributes = arguments.attributes;
    request->opset = arguments.opset;
    request->outputs = arguments.outputs;
    request->outputShapes = arguments.outputShapes;
    return oneNodeModel(*request);
}

/// `own`: null for the standard rules.
Result<std::shared_ptr<const Analysis>> analyse(const RuleArguments& arguments,
                                                const std::shared_ptr<const Registry>& own) {
    const auto model = modelOf(arguments, own ? *own : Registry::standard());
    if (!model)
        return model.error();
    Document document{*model, (*model)->annotations()};
    if (!arguments.mesh.empty() || !arguments.shards.empty()) {
        const auto shapes = ShapeTable::build(*model, {});
        LayoutPool pool;
        AnnotateRequest request{{}, arguments.mesh, {}, {}, {}};
        for (const std::string& shard : arguments.shards)
            if (const auto unknown = unknownTensor(**model, shard))
                return *unknown;
            else
                request.shards.push_back(slotText(shard));
        const auto outcome = annotate(document, *shapes, request, pool);
        if (!outcome)
            return outcome.error();
        for (const std::string& warning : outcome->warnings)
            std::cerr << "warning: " << warning << "\n";
        apply(document.annotations, outcome->edit);
    }
    AnalysisOptions options;
    options.registry = own;
    return Analyser().run(document, options);
}

}  // namespace

int rule(const RuleArguments& arguments) {
    const auto own = userRegistry(arguments.rules);
    if (!own)
        return fail(own.error());
    if (arguments.list)
        return list(arguments, *own ? **own : Registry::standard());
    if (arguments.op.empty())
        return fail({"expected an operator, or --list", "rule"});
    const auto analysis = analyse(arguments, *own);
    if (!analysis)
        return fail(analysis.error());
    if (arguments.format == Format::Json)
        print(ruleJson(**analysis));
    else
        std::cout << ruleText(**analysis);
    const bool wrong = (*analysis)->count(Severity::Error) > 0;
    return wrong || !ruleComplaints(**analysis).empty() ? kModelErrors : kOk;
}

}  // namespace shardwright::cli
