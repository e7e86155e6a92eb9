// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/result.h"
#include "sharding/layout.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardwright {

struct MeshAxis {
    std::string name;  ///< [A-Za-z_][A-Za-z0-9_]*
    int size = 1;
    bool operator==(const MeshAxis&) const = default;
};

/// Named axes over the devices 0..n-1 of a configuration, row-major (first axis outermost).
struct Mesh {
    std::vector<MeshAxis> axes;

    int deviceCount() const;
    int axisIndex(std::string_view name) const;           ///< -1: none of that name.
    std::vector<int> coordinates(DeviceId device) const;  ///< One an axis.
    DeviceId device(const std::vector<int>& coordinates) const;
    std::string text() const;  ///< "dp=2,tp=4"
    /// Errors: empty text, bad or repeated names, sizes below 1, more than 2^20 devices.
    static Result<Mesh> parse(std::string_view text);
    bool operator==(const Mesh&) const = default;
};

/// One component of a dimension in mesh terms: `SIZE/AXES`; axes major to minor.
struct MeshComponent {
    std::int64_t size = 1;
    std::vector<int> axes;  ///< Indices into Mesh::axes; empty: not split.
    bool operator==(const MeshComponent&) const = default;
};

/// What a person assigns: mesh axes to the dimensions of a tensor, replicated over the others.
struct MeshSharding {
    std::vector<std::vector<MeshComponent>> dims;  ///< Per tensor dimension; empty list: not split.
    bool operator==(const MeshSharding&) const = default;
};

/// Encodes on the devices of `within` (a stage's devices; empty: all of the mesh). Errors: an axis
/// used twice, sizes that do not multiply to the dimension.
Result<Layout> encode(const Mesh& mesh, const MeshSharding& sharding,
                      const std::vector<std::int64_t>& shape, const DeviceGroup& within = {});
/// The mesh sharding that encodes to `layout` where one exists (axes of size 1 are never used).
/// With `within`, coordinates outside of it are ignored.
std::optional<MeshSharding> decode(const Mesh& mesh, const Layout& layout);
/// A mesh for a file without one: a factorisation of 0..n-1 that explains all layouts, axes named
/// `a`, `b`, ... ; nullopt where none does.
std::optional<Mesh> deriveMesh(int deviceCount, const std::vector<LayoutRef>& layouts);

/// The axes along which the devices of every group vary, and nothing else varies, when the groups
/// are exactly the cosets of those axes that they touch; nullopt otherwise.
std::optional<std::vector<int>> axesOfGroups(const Mesh& mesh,
                                             const std::vector<DeviceGroup>& groups);

}  // namespace shardwright
