// SPDX-License-Identifier: Apache-2.0
#include "rules/misfit.h"

#include "rules/user_rules.h"

#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <limits>
#include <set>

namespace shardwright {

namespace {

/// Models that are tried.
constexpr int kMostTries = 2000;

class Trier {
public:
    Trier(const std::shared_ptr<const Model>& model, const Registry& registry)
        : m_model(model), m_registry(registry), m_node(model->graph().nodes.front()),
          m_name(nameOf(model->graph(), m_node.id)),
          m_entry(
              registry.find(model->graph().domain(m_node.id), model->graph().opType(m_node.id))) {}

    std::string run() {
        if (std::string wrong = wrongCount(); !wrong.empty() || m_entry == nullptr)
            return wrong;
        const auto shapes = ShapeTable::build(m_model, {});
        if (known(m_model, shapes) || dependsOnData(*shapes))
            return {};
        if (std::string own = ownMisfit(*shapes); !own.empty())
            return m_name + ": " + own;
        if (std::string size = wrongSize(); !size.empty())
            return size;
        if (std::string output = unknownOutput(*shapes);
            !output.empty() && shapes->complaints().empty())
            return m_name + ": " + output;
        return shapes->complaints().empty() ? m_name + " does not fit " + shapesText() : "";
    }

private:
    static std::string nameOf(const GraphIndex& graph, NodeId node) {
        const std::string domain(graph.domain(node));
        return (domain.empty() ? "" : domain + "::") + std::string(graph.opType(node));
    }

    /// Of inputs and outputs, where the linked libonnx knows the operator.
    std::string wrongCount() const {
        int opset = 0;
        for (const auto& import : m_model->proto().opset_import())
            if (import.domain() == m_node.proto->domain())
                opset = static_cast<int>(import.version());
        const auto* schema =
            onnx::OpSchemaRegistry::Schema(m_node.proto->op_type(), opset, m_node.proto->domain());
        if (schema == nullptr)
            return {};
        const auto text = [&](const char* what, int given, int least, int most) -> std::string {
            if (given >= least && given <= most)
                return {};
            const std::string allowed = least == most ? std::to_string(least)
                                        : most == std::numeric_limits<int>::max()
                                            ? "at least " + std::to_string(least)
                                            : std::to_string(least) + " to " + std::to_string(most);
            return m_name + " has " + allowed + " " + what + (allowed == "1" ? "" : "s") + ", " +
                   std::to_string(given) + (given == 1 ? " is" : " are") + " given";
        };
        std::string wrong =
            text("input", m_node.proto->input_size(), schema->min_input(), schema->max_input());
        return !wrong.empty() ? wrong
                              : text("output", m_node.proto->output_size(), schema->min_output(),
                                     schema->max_output());
    }

    bool known(const std::shared_ptr<const Model>& model,
               const std::shared_ptr<const ShapeTable>& shapes) const {
        const auto rules = RuleTable::build(model, shapes, {}, m_registry);
        return rules->of(NodeId(0))->known && shapes->complaints().empty();
    }

    bool dependsOnData(const ShapeTable& shapes) const {
        return !m_entry->dataDependent.empty() && shapes.complaints().empty() &&
               std::any_of(m_node.outputs.begin(), m_node.outputs.end(), [&](ValueId id) {
                   return id && shapes.of(id).kind == TensorInfo::Kind::Tensor &&
                          !shapes.of(id).concrete();
               });
    }

    /// Of rules of the user's own: what they say themselves.
    std::string ownMisfit(const ShapeTable& shapes) const {
        const auto* own = m_entry->build.target<OwnRules>();
        if (own == nullptr)
            return {};
        const std::string output = unknownOutput(shapes);
        return output.empty() ? own->misfit({m_model->graph(), shapes, m_node}) : output;
    }

    /// The first output whose shape neither libonnx nor the caller knows.
    std::string unknownOutput(const ShapeTable& shapes) const {
        for (std::size_t slot = 0; slot < m_node.outputs.size(); ++slot) {
            const ValueId id = m_node.outputs[slot];
            if (id && shapes.of(id).kind != TensorInfo::Kind::Other && !shapes.of(id).concrete())
                return "the shape of #out" + std::to_string(slot) +
                       " is not known; give it with --output-shape";
        }
        return {};
    }

    /// One size that, were it another one of those there are, would make it fit. Of later inputs
    /// first: these are the weights.
    std::string wrongSize() const {
        const onnx::GraphProto& graph = m_model->proto().graph();
        std::set<std::int64_t> sizes{1};
        for (const auto& input : graph.input())
            for (const auto& dim : input.type().tensor_type().shape().dim())
                sizes.insert(dim.dim_value());
        int tries = 0;
        for (int slot = m_node.proto->input_size(); slot-- > 0;) {
            const auto input =
                std::find_if(graph.input().begin(), graph.input().end(), [&](const auto& info) {
                    return info.name() == m_node.proto->input(slot);
                });
            if (input == graph.input().end())
                continue;
            const auto& dims = input->type().tensor_type().shape().dim();
            const int index = static_cast<int>(input - graph.input().begin());
            for (int d = 0; d < dims.size(); ++d)
                for (auto size = sizes.rbegin(); size != sizes.rend(); ++size) {
                    if (*size == dims[d].dim_value() || ++tries > kMostTries)
                        continue;
                    if (fitsWith(index, d, *size))
                        return m_name + ": dimension " + std::to_string(d) + " of #in" +
                               std::to_string(slot) + " is " + std::to_string(dims[d].dim_value()) +
                               ", with " + std::to_string(*size) + " it would fit (" +
                               shapesText() + ")";
                }
        }
        return {};
    }

    bool fitsWith(int input, int dim, std::int64_t size) const {
        onnx::ModelProto changed = m_model->proto();
        changed.mutable_graph()
            ->mutable_input(input)
            ->mutable_type()
            ->mutable_tensor_type()
            ->mutable_shape()
            ->mutable_dim(dim)
            ->set_dim_value(size);
        const auto model = Model::fromBytes(changed.SerializeAsString());
        return model && known(*model, ShapeTable::build(*model, {}));
    }

    /// "#in0 [4, 8], #in1 [7, 6]"
    std::string shapesText() const {
        const auto shapes = ShapeTable::build(m_model, {});
        std::string text;
        for (std::size_t slot = 0; slot < m_node.inputs.size(); ++slot) {
            if (!m_node.inputs[slot])
                continue;
            text += (text.empty() ? "#in" : ", #in") + std::to_string(slot) + " [";
            const auto& dims = shapes->of(m_node.inputs[slot]).dims;
            for (std::size_t d = 0; d < dims.size(); ++d)
                text += (d > 0 ? ", " : "") + std::to_string(dims[d]);
            text += "]";
        }
        return text.empty() ? "no inputs" : text;
    }

    const std::shared_ptr<const Model>& m_model;
    const Registry& m_registry;
    const NodeInfo& m_node;
    const std::string m_name;
    const OperatorEntry* m_entry;
};

}  // namespace

std::string misfitOf(const std::shared_ptr<const Model>& model, const Registry& registry) {
    return Trier(model, registry).run();
}

}  // namespace shardwright
