// SPDX-License-Identifier: Apache-2.0
#include "check/portable_annotations.h"

#include "sharding/edit.h"
#include "sharding/option_targets.h"
#include "sharding/shard_text.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <set>

namespace shardwright {

namespace {

constexpr const char* kFormat = "shardwright-annotations";
constexpr int kVersion = 1;

/// Reads the members of the file, and remembers the first that does not fit.
class Reader {
public:
    explicit Reader(const Json& json) : m_json(json) {}

    std::string text(const char* name) {
        const auto it = m_json.find(name);
        if (it == m_json.end())
            return {};
        if (!it->is_string())
            return fail(name, "must be a text"), std::string();
        return it->get<std::string>();
    }

    std::vector<std::string> texts(const char* name) {
        std::vector<std::string> result;
        for (const Json& item : list(name)) {
            if (!item.is_string()) {
                fail(name + at(result.size()), "must be a text");
                break;
            }
            result.push_back(item.get<std::string>());
        }
        return result;
    }

    std::vector<PortableAnnotations::Spec> specs() {
        std::vector<PortableAnnotations::Spec> result;
        for (const Json& item : list("specs")) {
            const std::string place = "specs" + at(result.size());
            if (!item.is_object()) {
                fail(place, "must be an object");
                break;
            }
            Reader inner(item);
            PortableAnnotations::Spec spec{inner.text("tensor"), inner.text("node"), {}, {}};
            for (const Json& dim : inner.list("dims"))
                spec.dims.push_back(components(dim, place + ".dims" + at(spec.dims.size())));
            for (const Json& group : inner.list("groups"))
                spec.groups.push_back(devices(group, place + ".groups" + at(spec.groups.size())));
            if (!inner.m_problem.empty())
                fail(place, inner.m_problem);
            result.push_back(std::move(spec));
        }
        return result;
    }

    const std::string& problem() const { return m_problem; }
    void fail(const std::string& place, const std::string& what) {
        if (m_problem.empty())
            m_problem = place + " " + what;
    }

private:
    static std::string at(std::size_t index) { return "[" + std::to_string(index) + "]"; }

    const Json& list(const char* name) {
        static const Json kNone = Json::array();
        const auto it = m_json.find(name);
        if (it == m_json.end())
            return kNone;
        if (it->is_array())
            return *it;
        fail(name, "must be a list");
        return kNone;
    }

    std::optional<std::int64_t> positive(const Json& json, const char* name) {
        const auto it = json.find(name);
        if (it == json.end() || !it->is_number_integer() || it->get<std::int64_t>() < 1)
            return std::nullopt;
        return it->get<std::int64_t>();
    }

    std::vector<Component> components(const Json& dim, const std::string& place) {
        std::vector<Component> result;
        if (!dim.is_array())
            return fail(place, "must be a list"), result;
        for (const Json& part : dim) {
            const auto size = part.is_object() ? positive(part, "size") : std::nullopt;
            const auto shards = part.is_object() ? positive(part, "shards") : std::nullopt;
            if (!size || !shards)
                return fail(place, "must have objects of a size and a number of shards"), result;
            result.push_back({*size, *shards});
        }
        return result;
    }

    DeviceGroup devices(const Json& group, const std::string& place) {
        DeviceGroup result;
        if (!group.is_array())
            return fail(place, "must be a list of devices"), result;
        for (const Json& device : group) {
            if (!device.is_number_integer() || device.get<std::int64_t>() < 0 ||
                device.get<std::int64_t>() > (1 << 20))
                return fail(place, "must have device numbers"), result;
            result.push_back(device.get<int>());
        }
        return result;
    }

    const Json& m_json;
    std::string m_problem;
};

Json componentsJson(const std::vector<std::vector<Component>>& dims) {
    Json result = Json::array();
    for (const auto& components : dims) {
        Json& dim = result.emplace_back(Json::array());
        for (const Component& component : components)
            dim.push_back({{"size", component.size}, {"shards", component.shards}});
    }
    return result;
}

/// Whether blocks and devices make a layout of a tensor of `shape`.
std::string misfit(const PortableAnnotations::Spec& spec, const TensorInfo& info, int deviceCount) {
    if (!info.concrete())
        return "the shape of the tensor is not known";
    if (spec.dims.size() != info.dims.size())
        return "the tensor has rank " + std::to_string(info.dims.size()) + ", the spec " +
               std::to_string(spec.dims.size());
    std::int64_t shards = 1;
    for (std::size_t d = 0; d < spec.dims.size(); ++d) {
        std::int64_t size = 1;
        for (const Component& component : spec.dims[d])
            if (__builtin_mul_overflow(size, component.size, &size) ||
                __builtin_mul_overflow(shards, component.shards, &shards))
                return "its sizes are too large";
        if (!spec.dims[d].empty() && size != info.dims[d])
            return "dimension " + std::to_string(d) + " has size " + std::to_string(info.dims[d]) +
                   ", the spec " + std::to_string(size);
    }
    if (shards != static_cast<std::int64_t>(spec.groups.size()))
        return std::to_string(shards) + " shards and " + std::to_string(spec.groups.size()) +
               " groups of devices";
    for (const DeviceGroup& group : spec.groups)
        for (const DeviceId device : group)
            if (device >= deviceCount)
                return "there is no device " + std::to_string(device);
    return {};
}

class Applier {
public:
    Applier(const Document& document, const ShapeTable& shapes, LayoutPool& pool)
        : m_document(document), m_shapes(shapes), m_pool(pool) {}

    Result<ApplyOutcome> run(const PortableAnnotations& annotations) {
        m_request.configuration = annotations.configuration;
        m_request.mesh = annotations.mesh;
        m_request.stageDevices = annotations.stageDevices;
        if (const auto declared = step(m_request); !declared)
            return declared.error();
        m_request.mesh.clear();
        m_request.stageDevices.clear();
        for (const std::string& stage : annotations.stages) {
            AnnotateRequest one = m_request;
            one.stages = {stage};
            note("stage " + stage, step(one));
        }
        for (const std::string& shard : annotations.shards) {
            AnnotateRequest one = m_request;
            one.shards = {shard};
            note(shard, step(one));
        }
        for (const PortableAnnotations::Spec& spec : annotations.specs)
            m_outcome.rules.push_back(put(spec));
        m_outcome.edit = m_edits.empty() ? Edit{} : joinEdits("Import annotations", m_edits);
        return std::move(m_outcome);
    }

private:
    /// Specs and stages that were set.
    Result<int> step(const AnnotateRequest& request) {
        const auto outcome = annotate(m_document, m_shapes, request, m_pool);
        if (!outcome)
            return outcome.error();
        int count = outcome->specs;
        for (const std::string& stage : request.stages)
            for (const NodeInfo& node : m_document.graph().nodes)
                count +=
                    nodeMatches(stage.substr(0, stage.rfind('=')), m_document.graph(), node.id);
        add(outcome->edit);
        return count;
    }

    void add(Edit edit) {
        if (edit.empty())
            return;
        apply(m_document.annotations, edit);
        m_edits.push_back(std::move(edit));
    }

    void note(const std::string& rule, const Result<int>& result) {
        m_outcome.rules.push_back(
            {rule, result ? *result : 0, result ? std::string() : result.error().message});
    }

    AppliedRule put(const PortableAnnotations::Spec& spec) {
        AppliedRule result{spec.tensor + "@" + spec.node, 0, {}};
        const auto option = ShardOption::parse(result.rule + ":replicated");
        if (!option)
            return result.problem = option.error().message, result;
        const TensorIndex index(m_document.graph());
        const auto targets = targetsOf(*option, m_document.graph(), index);
        if (targets.empty())
            return result.problem = noTargetOf(*option, m_document.graph(), index).message, result;
        const auto configuration =
            findConfiguration(m_document, m_shapes, m_request.configuration, m_pool);
        for (const auto& [node, tensor] : targets) {
            const ValueId value = valueOf(node, tensor);
            const TensorInfo& info = m_shapes.of(value);
            result.problem = misfit(spec, info, configuration ? configuration->deviceCount : 0);
            if (!result.problem.empty())
                return result;
            const Layout layout(info.dims, spec.dims, spec.groups);
            add(editSpec(m_document, node, m_request.configuration, tensor, &layout, info));
            ++result.specs;
        }
        return result;
    }

    ValueId valueOf(NodeId node, const std::string& tensor) const {
        const NodeInfo& info = m_document.graph().node(node);
        for (const auto* values : {&info.inputs, &info.outputs})
            for (const ValueId value : *values)
                if (value && m_document.graph().value(value).name == tensor)
                    return value;
        return {};
    }

    Document m_document;
    const ShapeTable& m_shapes;
    LayoutPool& m_pool;
    AnnotateRequest m_request;
    std::vector<Edit> m_edits;
    ApplyOutcome m_outcome;
};

}  // namespace

Json PortableAnnotations::toJson() const {
    Json json{
        {"format", kFormat}, {"version", kVersion},           {"configuration", configuration},
        {"mesh", mesh},      {"stage_devices", stageDevices}, {"stages", stages},
        {"shards", shards}};
    if (!specs.empty()) {
        Json& list = json["specs"] = Json::array();
        for (const Spec& spec : specs)
            list.push_back({{"tensor", spec.tensor},
                            {"node", spec.node},
                            {"dims", componentsJson(spec.dims)},
                            {"groups", spec.groups}});
    }
    return json;
}

Result<PortableAnnotations> PortableAnnotations::fromJson(std::string_view text) {
    Json json;
    try {
        json = Json::parse(text);
    } catch (const Json::parse_error& error) {
        // `byte` counts from 1, and is the last one read.
        const std::string_view read = text.substr(0, error.byte == 0 ? 0 : error.byte - 1);
        const std::size_t lineBreak = read.rfind('\n');
        return Error{
            "this is not JSON: line " +
                std::to_string(std::count(read.begin(), read.end(), '\n') + 1) + ", column " +
                std::to_string(read.size() -
                               (lineBreak == std::string_view::npos ? 0 : lineBreak + 1) + 1),
            {}};
    } catch (const Json::exception&) {
        return Error{"this is not JSON: a number is too large", {}};
    }
    if (!json.is_object())
        return Error{"this is not a JSON object", {}};
    Reader reader(json);
    if (reader.text("format") != kFormat)
        return Error{std::string("`format` must be \"") + kFormat + "\"", {}};
    if (const auto version = json.find("version");
        version == json.end() || !version->is_number_integer() || *version != kVersion)
        return Error{"`version` must be " + std::to_string(kVersion), {}};
    PortableAnnotations result;
    result.configuration = reader.text("configuration");
    result.mesh = reader.text("mesh");
    result.stageDevices = reader.texts("stage_devices");
    result.stages = reader.texts("stages");
    result.shards = reader.texts("shards");
    result.specs = reader.specs();
    static const std::set<std::string> kKnown{"format",        "version", "configuration", "mesh",
                                              "stage_devices", "stages",  "shards",        "specs"};
    for (const auto& [name, value] : json.items())
        if (kKnown.count(name) == 0)
            reader.fail(name, "is not a member that this version knows");
    if (result.configuration.empty())
        reader.fail("configuration", "must be the name of a configuration");
    if (!reader.problem().empty())
        return Error{reader.problem(), {}};
    return result;
}

int ApplyOutcome::unmatched() const {
    return static_cast<int>(std::count_if(rules.begin(), rules.end(),
                                          [](const AppliedRule& r) { return r.specs == 0; }));
}

Result<ApplyOutcome> applyAnnotations(const Document& document, const ShapeTable& shapes,
                                      const PortableAnnotations& annotations, LayoutPool& pool) {
    return Applier(document, shapes, pool).run(annotations);
}

}  // namespace shardwright
