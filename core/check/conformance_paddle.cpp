// SPDX-License-Identifier: Apache-2.0
//
// Cases of PaddlePaddle's SPMD rules: one inference, from inputs or from outputs, under the policy
// `paddle`.

#include "check/conformance_paddle_node.h"

#include <algorithm>

namespace shardwright {

namespace {

AxisSpace spaceOf(const Json& mesh) {
    Mesh result;
    for (const auto& [name, size] : mesh.items())
        result.axes.push_back({name, size.get<int>()});
    return AxisSpace(std::move(result));
}

/// Fills the dimensions of `into` that the tensor's mapping names.
bool readMapping(const Json& mapping, const std::vector<int>& dims, const AxisSpace& space,
                 AxisSharding& into) {
    for (std::size_t i = 0; i < mapping.size() && i < dims.size(); ++i) {
        if (dims[i] < 0 || static_cast<std::size_t>(dims[i]) >= into.dims.size())
            continue;
        AxisList axes;
        const Json list = mapping[i].is_array() ? mapping[i] : Json::array({mapping[i]});
        for (const Json& entry : list) {
            const int axis = entry.get<int>();
            if (axis >= static_cast<int>(space.axisCount()))
                return false;
            if (axis >= 0)
                axes.push_back(space.whole(axis));
        }
        if (!axes.empty())
            into.dims[static_cast<std::size_t>(dims[i])].parts = {{0, std::move(axes)}};
    }
    return true;
}

Json mappingJson(const AxisSharding& sharding, const std::vector<int>& dims) {
    Json list = Json::array();
    for (const int d : dims) {
        const AxisList axes = d >= 0 && static_cast<std::size_t>(d) < sharding.dims.size()
                                  ? sharding.dims[static_cast<std::size_t>(d)].all()
                                  : AxisList{};
        if (axes.size() > 1) {
            Json several = Json::array();
            for (const AxisRef& axis : axes)
                several.push_back(axis.axis);
            list.push_back(std::move(several));
        } else {
            list.push_back(axes.empty() ? -1 : axes.front().axis);
        }
    }
    return list;
}

std::size_t rankOf(const Json& tensor, const Json& mapping) {
    if (mapping.is_array())
        return mapping.size();
    return tensor.is_object() ? tensor.at("shape").size() : 0;
}

class PaddleCase {
public:
    explicit PaddleCase(const Json& json)
        : m_json(json), m_space(spaceOf(json.at("mesh"))),
          m_forward(json.at("direction").get<std::string>() == "forward") {}

    ConformanceCase run() {
        const bool wantsError = !m_json.value("expect_error", Json()).is_null();
        const auto error = infer();
        if (wantsError)
            return error.empty() ? compareCase({}, Json("a conflict"), Json("none"))
                                 : ConformanceCase{};
        if (!error.empty())
            return failCase({}, error);
        return compare();
    }

private:
    /// Empty, or the words of what stands against it.
    std::string infer() {
        auto node = readPaddleNode(m_json, m_space);
        if (!node)
            return node.error().text();
        m_node = std::move(*node);
        const auto built = buildCase(m_node.node);
        if (!built)
            return built.error().text();
        const Rule& rule = *built->rule;
        if (const auto error = readTensors(rule, *built); !error.empty())
            return error;
        NodeShardings tensors;
        for (const AxisSharding& sharding : m_tensors)
            tensors.push_back(&sharding);
        m_found = inferFirstWins(rule, tensors, m_forward, m_node.traits, m_space, m_node.asked);
        return m_found.conflict;
    }

    std::string readTensors(const Rule& rule, const BuiltNode& built) {
        const NodeInfo& node = built.model->graph().node(built.model->graph().main().nodes.front());
        for (std::size_t t = 0; t < rule.inputs.size() + rule.outputs.size(); ++t) {
            const bool input = t < rule.inputs.size();
            const std::size_t slot = input ? t : t - rule.inputs.size();
            const TensorMap& map = input ? rule.inputs[slot] : rule.outputs[slot];
            m_tensors.push_back(AxisSharding::openOfRank(map.dims.size()));
        }
        const Json outputs = m_json.value("outputs", Json());
        const Json expected = m_json.value("expected_outputs", Json());
        const std::size_t count = outputs.is_array()    ? outputs.size()
                                  : expected.is_array() ? expected.size()
                                                        : rule.outputs.size();
        for (std::size_t o = 0; o < count && o < rule.outputs.size(); ++o) {
            const std::size_t rank = rankOf(outputs.is_array() ? outputs[o] : Json(),
                                            expected.is_array() ? expected.at(o) : Json());
            PaddleTensor& tensor = m_node.outputs.emplace_back();
            tensor.slot = o;
            for (std::size_t d = 0; d < rank; ++d)
                tensor.dims.push_back(static_cast<int>(d));
        }
        const Json& given = m_forward ? m_json.at("inputs") : m_json.at("outputs");
        const auto& places = m_forward ? m_node.inputs : m_node.outputs;
        for (std::size_t i = 0; i < given.size() && i < places.size(); ++i) {
            AxisSharding& into = m_tensors[places[i].slot + (m_forward ? 0 : rule.inputs.size())];
            if (!readMapping(given[i].at("dims_mapping"), places[i].dims, m_space, into))
                return "a mesh dimension that is not there";
            if (m_forward)
                m_unit.push_back(
                    unitAxes(into, built.shapes->of(node.inputs[places[i].slot]).dims));
        }
        return {};
    }

    /// What is on dimensions of one element.
    static AxisSharding unitAxes(const AxisSharding& sharding,
                                 const std::vector<std::int64_t>& shape) {
        AxisSharding result = AxisSharding::openOfRank(sharding.dims.size());
        for (std::size_t d = 0; d < shape.size() && d < sharding.dims.size(); ++d)
            if (shape[d] == 1)
                result.dims[d] = sharding.dims[d];
        return result;
    }

    ConformanceCase compare() const {
        Json expected = Json::object(), found = Json::object();
        const Json inputs = m_json.value("expected_inputs", Json());
        if (inputs.is_array()) {
            expected["inputs"] = inputs;
            found["inputs"] = Json::array();
            for (std::size_t i = 0; i < m_node.inputs.size(); ++i) {
                AxisSharding sharding = m_found.inputs.at(m_node.inputs[i].slot);
                if (m_node.keepsUnitAxes && i < m_unit.size())
                    for (std::size_t d = 0; d < sharding.dims.size(); ++d)
                        if (m_unit[i].dims[d].split())
                            sharding.dims[d] = m_unit[i].dims[d];
                found["inputs"].push_back(mappingJson(sharding, m_node.inputs[i].dims));
            }
        }
        const Json outputs = m_json.value("expected_outputs", Json());
        if (outputs.is_array()) {
            expected["outputs"] = outputs;
            found["outputs"] = Json::array();
            for (std::size_t o = 0; o < m_node.outputs.size(); ++o) {
                AxisSharding sharding = m_found.outputs.at(o);
                for (const std::size_t d : m_node.copied)
                    if (!m_unit.empty() && d < m_unit.front().dims.size() &&
                        d < sharding.dims.size() && m_unit.front().dims[d].split())
                        sharding.dims[d] = m_unit.front().dims[d];
                found["outputs"].push_back(mappingJson(sharding, m_node.outputs[o].dims));
            }
        }
        const Json partial = m_json.value("partial", Json());
        if (partial.is_array() && m_node.node.op != "ScatterND") {
            expected["partial"] = partial;
            found["partial"] = Json::array();
            for (std::size_t o = 0; o < m_node.outputs.size(); ++o) {
                Json axes = Json::array();
                for (const AxisRef& axis : m_found.partial.at(o))
                    axes.push_back(axis.axis);
                found["partial"].push_back(std::move(axes));
            }
        }
        return compareCase({}, std::move(expected), std::move(found));
    }

    const Json& m_json;
    AxisSpace m_space;
    bool m_forward;
    PaddleNode m_node;
    std::vector<AxisSharding> m_tensors;  ///< By slot of the rule, inputs first.
    std::vector<AxisSharding> m_unit;     ///< By input of the case.
    FirstWins m_found;
};

}  // namespace

ConformanceCase runPaddleCase(const Json& json) {
    return PaddleCase(json).run();
}

}  // namespace shardwright
