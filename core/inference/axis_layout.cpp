// SPDX-License-Identifier: Apache-2.0
//
// Axis shardings from layouts and back. Parts of axes are axes of a finer mesh: as devices are
// numbered row-major, an axis can be cut into consecutive digits without moving a device.

#include "inference/axis_sharding.h"

#include <algorithm>
#include <set>

namespace shardwright {

namespace {

/// A finer mesh, and which part of which axis each of its axes is.
struct FineMesh {
    Mesh mesh;
    std::vector<AxisRef> parts;

    void add(const AxisRef& part) {
        mesh.axes.push_back({"f" + std::to_string(parts.size()), static_cast<int>(part.size)});
        parts.push_back(part);
    }
};

FineMesh primeMesh(const Mesh& mesh) {
    FineMesh fine;
    for (std::size_t a = 0; a < mesh.axes.size(); ++a) {
        std::int64_t rest = mesh.axes[a].size, pre = 1;
        if (rest == 1)
            fine.add({static_cast<int>(a), 1, 1});
        for (std::int64_t p = 2; rest > 1; p = rest % p == 0 ? p : p * p > rest ? rest : p + 1) {
            if (rest % p != 0)
                continue;
            fine.add({static_cast<int>(a), pre, p});
            pre *= p;
            rest /= p;
        }
    }
    return fine;
}

/// Cuts every axis where one of the parts begins or ends. False: the cuts do not nest.
bool cutMesh(const Mesh& mesh, const AxisList& used, FineMesh& fine) {
    for (std::size_t a = 0; a < mesh.axes.size(); ++a) {
        std::set<std::int64_t> cuts{1, mesh.axes[a].size};
        for (const AxisRef& part : used)
            if (part.axis == static_cast<int>(a)) {
                cuts.insert(part.pre);
                cuts.insert(part.next());
            }
        if (*cuts.rbegin() > mesh.axes[a].size)
            return false;
        if (cuts.size() == 1)
            fine.add({static_cast<int>(a), 1, 1});
        for (auto it = cuts.begin(); std::next(it) != cuts.end(); ++it) {
            if (*std::next(it) % *it != 0)
                return false;
            fine.add({static_cast<int>(a), *it, *std::next(it) / *it});
        }
    }
    return true;
}

AxisSharding fromMeshSharding(const MeshSharding& sharding, const std::vector<AxisRef>& parts) {
    AxisSharding result;
    for (const auto& components : sharding.dims) {
        DimAxes& dim = result.dims.emplace_back();
        dim.open = false;
        for (const MeshComponent& component : components) {
            AxisPart& part = dim.parts.emplace_back();
            part.size = components.size() > 1 ? component.size : 0;
            for (const int axis : component.axes)
                appendAxis(part.axes, parts[static_cast<std::size_t>(axis)]);
        }
        if (!dim.split())
            dim.parts.clear();
    }
    return result;
}

}  // namespace

AxisSharding AxisSpace::fromLayout(const Layout& layout) {
    if (auto known = explain(layout))
        return std::move(*known);
    return place(layout);
}

std::optional<AxisSharding> AxisSpace::explain(const Layout& layout) const {
    std::vector<AxisRef> axes;
    for (std::size_t a = 0; a < m_mesh.axes.size(); ++a)
        axes.push_back(whole(static_cast<int>(a)));
    if (const auto sharding = decode(m_mesh, layout))
        return fromMeshSharding(*sharding, axes);
    const FineMesh fine = primeMesh(m_mesh);
    if (fine.parts.size() == axes.size())
        return std::nullopt;
    if (const auto sharding = decode(fine.mesh, layout))
        return fromMeshSharding(*sharding, fine.parts);
    return std::nullopt;
}

AxisSharding AxisSpace::place(const Layout& layout) {
    Placement placement;
    placement.groups = layout.groups();
    for (const auto& dim : layout.dims())
        for (const Component& component : dim)
            if (component.shards > 1)
                placement.sizes.push_back(component.shards);
    std::size_t index = 1;
    while (index < m_placements.size() && (m_placements[index].sizes != placement.sizes ||
                                           m_placements[index].groups != placement.groups))
        ++index;
    if (index == m_placements.size()) {
        placement.firstAxis = static_cast<int>(m_axes.size());
        for (std::size_t i = 0; i < placement.sizes.size(); ++i)
            m_axes.push_back({"placement" + std::to_string(index) + "." + std::to_string(i),
                              placement.sizes[i], static_cast<int>(index)});
        m_placements.push_back(std::move(placement));
    }
    int next = m_placements[index].firstAxis;
    AxisSharding result;
    for (const auto& components : layout.dims()) {
        DimAxes& dim = result.dims.emplace_back();
        dim.open = false;
        for (const Component& component : components) {
            AxisPart& part = dim.parts.emplace_back();
            part.size = components.size() > 1 ? component.size : 0;
            if (component.shards > 1)
                part.axes.push_back(whole(next++));
        }
        if (!dim.split())
            dim.parts.clear();
    }
    return result;
}

Result<Layout> AxisSpace::toLayout(const AxisSharding& sharding,
                                   const std::vector<std::int64_t>& shape,
                                   const DeviceGroup& within) const {
    if (sharding.dims.size() != shape.size())
        return Error{"the sharding has " + std::to_string(sharding.dims.size()) +
                         " dimensions, the tensor has " + std::to_string(shape.size()),
                     {}};
    if (!sharding.axesOnce())
        return Error{"an axis splits two dimensions", {}};
    int placement = 0;
    const AxisList all = sharding.all();
    for (const AxisRef& axis : all)
        placement = std::max(placement, placementOf(axis.axis));
    for (const AxisRef& axis : all)
        if (placementOf(axis.axis) != placement)
            return Error{"axes of different placements split one tensor", {}};
    if (placement == 0)
        return fromMesh(sharding, shape, within);
    return fromPlacement(sharding, shape, m_placements[static_cast<std::size_t>(placement)],
                         within);
}

Result<Layout> AxisSpace::fromMesh(const AxisSharding& sharding,
                                   const std::vector<std::int64_t>& shape,
                                   const DeviceGroup& within) const {
    FineMesh fine;
    if (!cutMesh(m_mesh, sharding.all(), fine))
        return Error{"parts of an axis do not nest", {}};
    MeshSharding result;
    for (std::size_t d = 0; d < shape.size(); ++d) {
        auto& components = result.dims.emplace_back();
        if (!sharding.dims[d].split())
            continue;
        for (const AxisPart& part : sharding.dims[d].parts) {
            MeshComponent& component =
                components.emplace_back(MeshComponent{part.size == 0 ? shape[d] : part.size, {}});
            for (const AxisRef& axis : part.axes)
                for (std::size_t i = 0; i < fine.parts.size(); ++i)
                    if (axis.contains(fine.parts[i]) && fine.parts[i].size > 1)
                        component.axes.push_back(static_cast<int>(i));
        }
    }
    return encode(fine.mesh, result, shape, within);
}

Layout AxisSpace::fromPlacement(const AxisSharding& sharding,
                                const std::vector<std::int64_t>& shape, const Placement& placement,
                                const DeviceGroup& within) const {
    std::vector<std::vector<Component>> dims(shape.size());
    AxisList used;
    for (std::size_t d = 0; d < shape.size(); ++d) {
        for (const AxisPart& part : sharding.dims[d].parts) {
            dims[d].push_back({part.size == 0 ? shape[d] : part.size, shardsOf(part.axes)});
            used.insert(used.end(), part.axes.begin(), part.axes.end());
        }
        if (dims[d].empty())
            dims[d].push_back({shape[d], 1});
    }
    std::vector<DeviceGroup> groups(static_cast<std::size_t>(shardsOf(used)));
    for (std::size_t cell = 0; cell < placement.groups.size(); ++cell) {
        std::vector<std::int64_t> digits(placement.sizes.size());
        std::size_t rest = cell;
        for (std::size_t i = placement.sizes.size(); i-- > 0;) {
            digits[i] = static_cast<std::int64_t>(rest) % placement.sizes[i];
            rest /= static_cast<std::size_t>(placement.sizes[i]);
        }
        std::int64_t shard = 0;
        for (const AxisRef& axis : used) {
            const auto i = static_cast<std::size_t>(axis.axis - placement.firstAxis);
            const std::int64_t below = placement.sizes[i] / axis.next();
            shard = shard * axis.size + digits[i] / below % axis.size;
        }
        DeviceGroup& group = groups[static_cast<std::size_t>(shard)];
        group.insert(group.end(), placement.groups[cell].begin(), placement.groups[cell].end());
    }
    for (DeviceGroup& group : groups) {
        std::sort(group.begin(), group.end());
        group.erase(std::unique(group.begin(), group.end()), group.end());
    }
    Layout layout(shape, std::move(dims), std::move(groups));
    return within.empty() ? layout : layout.restrictedTo(within);
}

}  // namespace shardwright
