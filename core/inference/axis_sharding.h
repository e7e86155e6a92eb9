// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "inference/axis_ref.h"
#include "model/result.h"
#include "sharding/layout.h"
#include "sharding/mesh.h"

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace shardwright {

/// One component of a dimension in axes: outermost first. `size` 0 stands for all of the dimension
/// (the ordinary case, one part); with several parts the sizes multiply to it.
struct AxisPart {
    std::int64_t size = 0;
    AxisList axes;
    auto operator<=>(const AxisPart&) const = default;
};

struct DimAxes {
    std::vector<AxisPart> parts;  ///< Empty: not split.
    bool open = true;             ///< Propagation may add axes behind those there are.

    auto operator<=>(const DimAxes&) const = default;
    AxisList all() const;  ///< Of all parts.
    bool split() const;
};

/// How the axes of a mesh lie on one tensor: what propagation works on.
struct AxisSharding {
    std::vector<DimAxes> dims;

    auto operator<=>(const AxisSharding&) const = default;
    static AxisSharding openOfRank(std::size_t rank);
    AxisList all() const;
    bool split() const;
    /// Every axis is on one dimension at most.
    bool axesOnce() const;
    AxisSharding closed() const;
};

/// The axes that a propagation can use: those of the mesh, and for every layout that the mesh does
/// not explain the digits of its shards as axes of their own ("placements"). A tensor has axes of
/// one placement only; groups over the digits that a tensor lacks are united.
class AxisSpace {
public:
    explicit AxisSpace(Mesh mesh);

    const Mesh& mesh() const { return m_mesh; }
    std::size_t axisCount() const { return m_axes.size(); }
    const std::string& axisName(int axis) const {
        return m_axes[static_cast<std::size_t>(axis)].name;
    }
    std::int64_t axisSize(int axis) const { return m_axes[static_cast<std::size_t>(axis)].size; }
    int placementOf(int axis) const { return m_axes[static_cast<std::size_t>(axis)].placement; }
    AxisRef whole(int axis) const { return {axis, 1, axisSize(axis)}; }

    /// `tp`, `tp:(2)4`.
    std::string text(const AxisRef& axis) const;
    std::string text(const AxisList& axes) const;  ///< "dp+tp"
    /// Errors: no such axis, a part that does not divide it.
    Result<AxisRef> parse(std::string_view text) const;

    /// Closed. Of a layout that neither the mesh nor parts of its axes explain, by a placement.
    AxisSharding fromLayout(const Layout& layout);
    /// Errors: an axis twice, parts of one axis that do not nest, axes of different placements.
    Result<Layout> toLayout(const AxisSharding& sharding, const std::vector<std::int64_t>& shape,
                            const DeviceGroup& within = {}) const;

private:
    struct Axis {
        std::string name;
        std::int64_t size = 1;
        int placement = 0;  ///< 0: the mesh.
    };
    struct Placement {
        int firstAxis = 0;
        std::vector<std::int64_t> sizes;
        std::vector<DeviceGroup> groups;  ///< Row-major over the sizes.
        bool operator==(const Placement&) const = default;
    };
    std::optional<AxisSharding> explain(const Layout& layout) const;
    AxisSharding place(const Layout& layout);
    Result<Layout> fromMesh(const AxisSharding& sharding, const std::vector<std::int64_t>& shape,
                            const DeviceGroup& within) const;
    Layout fromPlacement(const AxisSharding& sharding, const std::vector<std::int64_t>& shape,
                         const Placement& placement, const DeviceGroup& within) const;

    Mesh m_mesh;
    std::vector<Axis> m_axes;
    std::vector<Placement> m_placements;
};

/// Interned shardings: equal ones have one number.
class AxisShardings {
public:
    int intern(AxisSharding sharding);
    const AxisSharding& of(int id) const { return *m_all[static_cast<std::size_t>(id)]; }
    std::size_t size() const { return m_all.size(); }

private:
    struct Hash {
        std::size_t operator()(const AxisSharding& sharding) const;
    };
    std::unordered_map<AxisSharding, int, Hash> m_ids;
    std::vector<const AxisSharding*> m_all;
};

}  // namespace shardwright
