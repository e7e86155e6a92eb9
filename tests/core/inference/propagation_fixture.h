// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "inference/propagation.h"
#include "support/model_builder.h"

#include <QTest>

#include <random>
#include <string>
#include <vector>

namespace shardwright::test {

/// A model with specs given by axes, ready to be propagated.
struct PropagationCase {
    std::shared_ptr<const Model> model;
    std::shared_ptr<const ShapeTable> shapes;
    std::shared_ptr<const RuleTable> rules;
    Configuration configuration;
    DecodedAnnotations annotations;
    LayoutPool pool;
    PropagationOptions options;

    explicit PropagationCase(std::shared_ptr<const Model> m, const char* mesh)
        : model(std::move(m)), shapes(ShapeTable::build(model, {})),
          rules(RuleTable::build(model, shapes)) {
        configuration.mesh = *Mesh::parse(mesh);
        configuration.deviceCount = configuration.mesh.deviceCount();
        annotations.nodes = NodeSpecsArray::Editor(model->graph().nodes.size()).finish();
    }

    const GraphIndex& graph() const { return model->graph(); }
    MeaningInput input() const { return {model, shapes, rules, &configuration, &annotations}; }

    void put(NodeId node, const std::string& tensor, Layout layout) {
        const auto& specs = annotations.nodes[node.index()];
        auto next = specs ? std::make_shared<NodeSpecs>(*specs) : std::make_shared<NodeSpecs>();
        std::erase_if(next->specs, [&](const DecodedSpec& spec) { return spec.tensor == tensor; });
        next->specs.push_back({tensor, pool.intern(std::move(layout))});
        annotations.nodes.set(node.index(), std::move(next));
    }
    void remove(NodeId node, const std::string& tensor) {
        const auto& specs = annotations.nodes[node.index()];
        if (!specs)
            return;
        auto next = std::make_shared<NodeSpecs>(*specs);
        std::erase_if(next->specs, [&](const DecodedSpec& spec) { return spec.tensor == tensor; });
        annotations.nodes.set(node.index(), next->specs.empty() ? nullptr : std::move(next));
    }
    /// "a, b+c" : axes of each dimension, none where empty.
    void put(const std::string& node, const std::string& tensor, const std::string& axes) {
        const NodeId id = nodeNamed(graph(), node);
        const auto& shape = shapes->of(valueNamed(graph(), tensor)).dims;
        put(id, tensor,
            *AxisSpace(configuration.mesh).toLayout(sharding(axes, shape.size()), shape));
    }
    AxisSharding sharding(const std::string& axes, std::size_t rank) const {
        const AxisSpace space(configuration.mesh);
        AxisSharding result = AxisSharding::openOfRank(rank);
        std::size_t dim = 0;
        std::string word;
        AxisList list;
        const auto endAxis = [&] {
            if (!word.empty())
                list.push_back(*space.parse(word));
            word.clear();
        };
        for (const char c : axes + ",") {
            if (c == ' ')
                continue;
            if (c == '+' || c == ',')
                endAxis();
            else
                word += c;
            if (c != ',')
                continue;
            if (!list.empty())
                result.dims[dim].parts = {{0, list}};
            list.clear();
            ++dim;
        }
        return result;
    }

    Propagator propagated() const {
        Propagator propagator(input(), options);
        propagator.run(annotations);
        return propagator;
    }
};

/// "[a, b+c]", "[4*3/a]" with components; "?" for none.
inline QString axesText(const AxisSharding* sharding, const AxisSpace& space) {
    if (!sharding)
        return "?";
    std::string text;
    for (const DimAxes& dim : sharding->dims) {
        text += text.empty() ? "[" : ", ";
        for (std::size_t p = 0; p < dim.parts.size(); ++p) {
            text += p > 0 ? "*" : "";
            text += dim.parts[p].size > 0 ? std::to_string(dim.parts[p].size) : "";
            text += dim.parts[p].size > 0 && !dim.parts[p].axes.empty() ? "/" : "";
            text += space.text(dim.parts[p].axes);
        }
    }
    return QString::fromStdString((text.empty() ? "[" : text) + "]");
}

inline QString axesOf(const PropagationCase& c, const Propagator& propagator, const char* tensor) {
    return axesText(propagator.of(valueNamed(c.graph(), tensor)), propagator.space());
}

/// A random graph of common operators whose sizes are powers of two.
inline std::shared_ptr<const Model> randomModel(unsigned seed, int nodes) {
    std::mt19937 random(seed);
    const auto upTo = [&](std::size_t n) {
        return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
    };
    ModelBuilder builder;
    struct Tensor {
        std::string name;
        std::vector<std::int64_t> shape;
    };
    const auto shapeOf = [](const std::vector<std::int64_t>& sizes) {
        return Shape(sizes.begin(), sizes.end());
    };
    std::vector<Tensor> tensors{{"x", {8, 16, 32}}, {"y", {8, 16, 32}}};
    for (const Tensor& t : tensors)
        builder.input(t.name, shapeOf(t.shape));
    for (int n = 0; n < nodes; ++n) {
        const Tensor t = tensors[upTo(tensors.size())];
        const std::string out = "t" + std::to_string(n), name = "n" + std::to_string(n);
        std::vector<std::int64_t> shape = t.shape;
        const std::size_t rank = shape.size();
        switch (upTo(6)) {
            case 0: builder.op("Relu", {t.name}, {out}, name); break;
            case 1: {
                std::string other = t.name;
                for (const Tensor& u : tensors)
                    if (u.shape == t.shape && upTo(2) == 0)
                        other = u.name;
                builder.op("Add", {t.name, other}, {out}, name);
                break;
            }
            case 2: {
                const std::int64_t columns = upTo(2) == 0 ? 16 : 32;
                builder.weight("w" + std::to_string(n), {shape.back(), columns});
                builder.op("MatMul", {t.name, "w" + std::to_string(n)}, {out}, name);
                shape.back() = columns;
                break;
            }
            case 3: {
                std::vector<std::int64_t> perm;
                for (std::size_t d = 0; d < rank; ++d)
                    perm.push_back(static_cast<std::int64_t>(d));
                std::swap(perm[0], perm[1]);
                builder.op("Transpose", {t.name}, {out}, name, {{"perm", perm}});
                std::swap(shape[0], shape[1]);
                break;
            }
            case 4:
                shape = rank == 3 ? std::vector<std::int64_t>{shape[0] * shape[1], shape[2]}
                                  : std::vector<std::int64_t>{shape[0] / 8, 8, shape[1]};
                builder.ints("s" + std::to_string(n), shape);
                builder.op("Reshape", {t.name, "s" + std::to_string(n)}, {out}, name);
                break;
            default: builder.op("Softmax", {t.name}, {out}, name, {{"axis", -1}}); break;
        }
        tensors.push_back({out, shape});
    }
    builder.output(tensors.back().name, shapeOf(tensors.back().shape));
    return builder.model();
}

/// Sets or takes away the spec of a random tensor at a random node; gives the node.
inline NodeId randomEdit(PropagationCase& c, std::mt19937& random) {
    const auto upTo = [&](std::size_t n) {
        return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
    };
    const auto& nodes = c.graph().main().nodes;
    const NodeId node = nodes[upTo(nodes.size())];
    const NodeInfo& info = c.graph().node(node);
    std::vector<ValueId> values;
    for (const auto* list : {&info.inputs, &info.outputs})
        for (const ValueId value : *list)
            if (value && !c.shapes->of(value).dims.empty() && c.shapes->of(value).concrete())
                values.push_back(value);
    if (values.empty())
        return node;
    const ValueId value = values[upTo(values.size())];
    const std::string& name = c.graph().value(value).name;
    if (upTo(4) == 0) {
        c.remove(node, name);
        return node;
    }
    const auto& shape = c.shapes->of(value).dims;
    const AxisSpace space(c.configuration.mesh);
    AxisSharding sharding = AxisSharding::openOfRank(shape.size());
    for (std::size_t axis = 0; axis < space.axisCount(); ++axis) {
        const std::size_t dim = upTo(shape.size() + 1);
        if (dim == shape.size())
            continue;
        auto& parts = sharding.dims[dim].parts;
        const std::int64_t shards = parts.empty() ? 1 : shardsOf(parts.front().axes);
        const std::int64_t size = space.axisSize(static_cast<int>(axis));
        if (shape[dim] % (shards * size) != 0 || shape[dim] == 0)
            continue;
        if (parts.empty())
            parts.push_back({0, {}});
        parts.front().axes.push_back(space.whole(static_cast<int>(axis)));
    }
    c.put(node, name, *space.toLayout(sharding, shape));
    return node;
}

}  // namespace shardwright::test
