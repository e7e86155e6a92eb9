// SPDX-License-Identifier: Apache-2.0
#include "sharding/mesh_metadata.h"
#include "sharding/shard_text.h"

#include <algorithm>

namespace shardwright {

namespace {

/// A mesh whose axes are the prime parts of another's: where a part of an axis splits a dimension.
/// `tp:(1)2` is the part of size 2 with 1 before it, the outermost; names as in Shardy.
struct SubAxes {
    struct Part {
        int axis = 0;    ///< Of the original mesh.
        int before = 1;  ///< Product of the parts further out.
        int size = 1;
    };
    Mesh mesh;
    std::vector<Part> parts;

    explicit SubAxes(const Mesh& whole) {
        for (std::size_t a = 0; a < whole.axes.size(); ++a) {
            int rest = whole.axes[a].size, before = 1;
            for (int prime = 2; rest > 1; ++prime) {
                prime = prime * prime > rest ? rest : prime;
                for (; rest % prime == 0; rest /= prime) {
                    parts.push_back({static_cast<int>(a), before, prime});
                    mesh.axes.push_back({whole.axes[a].name, prime});
                    before *= prime;
                }
            }
        }
    }

    /// The names of a list of parts, neighbours of one axis joined.
    std::vector<std::string> names(const Mesh& whole, const std::vector<int>& indices) const {
        std::vector<Part> joined;
        for (const int index : indices) {
            const Part& part = parts[static_cast<std::size_t>(index)];
            if (!joined.empty() && joined.back().axis == part.axis &&
                joined.back().before * joined.back().size == part.before)
                joined.back().size *= part.size;
            else
                joined.push_back(part);
        }
        std::vector<std::string> result;
        for (const Part& part : joined) {
            const MeshAxis& axis = whole.axes[static_cast<std::size_t>(part.axis)];
            result.push_back(part.size == axis.size
                                 ? axis.name
                                 : axis.name + ":(" + std::to_string(part.before) + ")" +
                                       std::to_string(part.size));
        }
        return result;
    }
};

std::string joined(const std::vector<std::string>& parts, const char* separator) {
    std::string text;
    for (const std::string& part : parts)
        text += (text.empty() ? "" : separator) + part;
    return text;
}

bool onAllDevices(const Layout& layout, const Mesh& mesh) {
    return static_cast<int>(layout.devices().size()) == mesh.deviceCount() &&
           !layout.devices().empty() && layout.devices().front() == 0 &&
           layout.devices().back() == mesh.deviceCount() - 1;
}

/// "0,2 | 1,3"
std::string groupsText(const Layout& layout) {
    constexpr std::size_t kShown = 8;
    std::string text;
    for (std::size_t shard = 0; shard < layout.groups().size() && shard < kShown; ++shard)
        text += (shard == 0 ? "" : " | ") +
                (layout.groups()[shard].empty() ? "-" : devicesText(layout.groups()[shard]));
    return text + (layout.groups().size() > kShown ? " | ..." : "");
}

bool splitOnce(const std::vector<Component>& components) {
    return std::count_if(components.begin(), components.end(),
                         [](const Component& c) { return c.shards > 1; }) == 1;
}

/// "tp", "3*tp", "64/tp*16", "÷4"
std::string dimensionText(const std::vector<Component>& components,
                          const std::vector<std::vector<std::string>>* axes) {
    std::vector<std::string> parts;
    const bool once = splitOnce(components);
    for (std::size_t c = 0; c < components.size(); ++c) {
        const Component& component = components[c];
        if (component.shards == 1) {
            parts.push_back(std::to_string(component.size));
            continue;
        }
        const std::string names =
            axes ? joined((*axes)[c], "+") : "÷" + std::to_string(component.shards);
        // One size can be computed from the others.
        parts.push_back(once || !axes ? names : std::to_string(component.size) + "/" + names);
    }
    return joined(parts, "*");
}

std::string wholeText(const Layout& layout, const Mesh& mesh, const char* many) {
    if (onAllDevices(layout, mesh))
        return "replicated";
    if (layout.devices().empty())
        return "on no device";
    return (layout.devices().size() == 1 ? "device " : many) + devicesText(layout.devices());
}

/// Axes of the mesh along which the tensor has copies.
std::string unusedAxes(const std::vector<std::vector<std::vector<std::string>>>& used,
                       const Mesh& mesh) {
    std::vector<std::string> names;
    for (const MeshAxis& axis : mesh.axes) {
        bool isUsed = axis.size < 2;
        for (const auto& dim : used) {
            for (const auto& component : dim) {
                for (const std::string& name : component)
                    isUsed = isUsed || name == axis.name || name.starts_with(axis.name + ":");
            }
        }
        if (!isUsed)
            names.push_back(axis.name);
    }
    return joined(names, ", ");
}

}  // namespace

std::optional<std::vector<std::vector<std::vector<std::string>>>>
componentAxes(const Layout& layout, const Mesh& mesh) {
    std::vector<std::vector<std::vector<std::string>>> result(layout.dims().size());
    for (std::size_t d = 0; d < result.size(); ++d)
        result[d].resize(layout.dims()[d].size());
    std::optional<MeshSharding> sharding = decode(mesh, layout);
    std::optional<SubAxes> parts;
    if (!sharding) {
        parts.emplace(mesh);
        sharding = decode(parts->mesh, layout);
    }
    if (!sharding)
        return std::nullopt;
    for (std::size_t d = 0; d < result.size(); ++d) {
        for (std::size_t c = 0; c < sharding->dims[d].size(); ++c) {
            const std::vector<int>& axes = sharding->dims[d][c].axes;
            if (parts) {
                result[d][c] = parts->names(mesh, axes);
                continue;
            }
            for (const int axis : axes)
                result[d][c].push_back(mesh.axes[static_cast<std::size_t>(axis)].name);
        }
    }
    return result;
}

std::string shortText(const Layout& layout, const Mesh& mesh) {
    if (layout.isWhole())
        return wholeText(layout, mesh, "devices ");
    const auto axes = componentAxes(layout, mesh);
    std::vector<std::string> dims;
    for (std::size_t d = 0; d < layout.dims().size(); ++d)
        dims.push_back(layout.isSplit(d)
                           ? dimensionText(layout.dims()[d], axes ? &(*axes)[d] : nullptr)
                           : "·");
    const std::string text = "[" + joined(dims, ", ") + "]";
    if (!axes)
        return text + " on " + groupsText(layout);
    return onAllDevices(layout, mesh) ? text : text + " on " + devicesText(layout.devices());
}

std::string describe(const Layout& layout, const Mesh& mesh) {
    if (layout.isWhole()) {
        const std::string text = wholeText(layout, mesh, "replicated over devices ");
        return text == "replicated"
                   ? "replicated over all " + std::to_string(mesh.deviceCount()) + " devices"
                   : text;
    }
    const auto axes = componentAxes(layout, mesh);
    std::vector<std::string> dims;
    for (std::size_t d = 0; d < layout.dims().size(); ++d) {
        if (!layout.isSplit(d))
            continue;
        std::int64_t shards = 1;
        for (const Component& component : layout.dims()[d])
            shards *= component.shards;
        const std::string number = std::to_string(shards);
        dims.push_back("[" + std::to_string(d) + "]: " +
                       (axes ? dimensionText(layout.dims()[d], &(*axes)[d]) + "(" + number + ")"
                             : number + " shards"));
    }
    std::string text = joined(dims, ", ") + " over devices " + groupsText(layout);
    const std::string copies = axes ? unusedAxes(*axes, mesh) : std::string();
    return copies.empty() || layout.groups().front().size() < 2
               ? text
               : text + "; replicated over " + copies;
}

}  // namespace shardwright
