// SPDX-License-Identifier: Apache-2.0
#include "sharding/mesh.h"

#include <algorithm>
#include <limits>

namespace shardwright {

namespace {

/// An axis in use: where its coordinate sits in a device number, and what one step of it adds to
/// the shard number.
struct AxisUse {
    int axis = 0;
    int deviceStride = 1;
    int shardStride = 1;
};

std::string sizesText(const std::vector<MeshComponent>& components) {
    std::string text;
    for (const MeshComponent& component : components)
        text += (text.empty() ? "" : " * ") + std::to_string(component.size);
    return text;
}

Result<void> checkSizes(const std::vector<MeshComponent>& components, std::int64_t size,
                        std::size_t dim) {
    std::int64_t product = 1;
    bool fits = true;
    for (const MeshComponent& component : components) {
        fits =
            fits && component.size >= 0 &&
            (product == 0 || component.size <= std::numeric_limits<std::int64_t>::max() / product);
        product = fits ? product * component.size : 0;
    }
    if (fits && product == size)
        return {};
    return Error{"dimension " + std::to_string(dim) + " has " + std::to_string(size) +
                     " elements; " + sizesText(components) + " is " +
                     (fits ? std::to_string(product) : "out of range"),
                 {}};
}

class Encoder {
public:
    Encoder(const Mesh& mesh, const MeshSharding& sharding, const std::vector<std::int64_t>& shape)
        : m_mesh(mesh), m_sharding(sharding), m_shape(shape), m_used(mesh.axes.size(), false) {}

    Result<Layout> run(const DeviceGroup& within) {
        if (m_sharding.dims.size() != m_shape.size())
            return Error{"the sharding has " + std::to_string(m_sharding.dims.size()) +
                             " dimensions, the tensor has " + std::to_string(m_shape.size()),
                         {}};
        m_dims.resize(m_shape.size());
        m_uses.reserve(m_used.size());
        for (std::size_t d = 0; d < m_shape.size(); ++d) {
            if (const Result<void> ok = addDim(d); !ok)
                return ok.error();
        }
        int stride = 1;
        for (auto use = m_uses.rbegin(); use != m_uses.rend(); ++use) {
            use->shardStride = stride;
            stride *= m_mesh.axes[static_cast<std::size_t>(use->axis)].size;
        }
        m_groups.resize(static_cast<std::size_t>(stride));
        if (const Result<void> ok = placeDevices(within); !ok)
            return ok.error();
        return Layout(m_shape, std::move(m_dims), std::move(m_groups));
    }

private:
    const Mesh& m_mesh;
    const MeshSharding& m_sharding;
    const std::vector<std::int64_t>& m_shape;
    std::vector<bool> m_used;
    std::vector<AxisUse> m_uses;
    std::vector<std::vector<Component>> m_dims;
    std::vector<DeviceGroup> m_groups;

    const MeshAxis& axis(const AxisUse& use) const {
        return m_mesh.axes[static_cast<std::size_t>(use.axis)];
    }

    Result<void> addDim(std::size_t d) {
        const std::vector<MeshComponent>& components = m_sharding.dims[d];
        if (components.empty())
            return {};
        if (Result<void> ok = checkSizes(components, m_shape[d], d); !ok)
            return ok;
        for (const MeshComponent& component : components) {
            std::int64_t shards = 1;
            for (const int index : component.axes) {
                if (Result<void> ok = useAxis(index); !ok)
                    return ok;
                shards *= m_mesh.axes[static_cast<std::size_t>(index)].size;
            }
            m_dims[d].push_back({component.size, shards});
        }
        return {};
    }

    Result<void> useAxis(int index) {
        if (index < 0 || index >= static_cast<int>(m_mesh.axes.size()))
            return Error{"the mesh has no axis number " + std::to_string(index), {}};
        const auto i = static_cast<std::size_t>(index);
        if (m_used[i])
            return Error{"axis '" + m_mesh.axes[i].name + "' is used twice", {}};
        m_used[i] = true;
        int stride = 1;
        for (std::size_t j = i + 1; j < m_mesh.axes.size(); ++j)
            stride *= m_mesh.axes[j].size;
        m_uses.push_back({index, stride, 1});
        return {};
    }

    std::size_t shardOf(DeviceId device) const {
        int shard = 0;
        for (const AxisUse& use : m_uses)
            shard += device / use.deviceStride % axis(use).size * use.shardStride;
        return static_cast<std::size_t>(shard);
    }

    Result<void> placeDevices(const DeviceGroup& within) {
        const int count = m_mesh.deviceCount();
        const std::size_t devices =
            within.empty() ? static_cast<std::size_t>(count) : within.size();
        for (DeviceGroup& group : m_groups)
            group.reserve(devices / m_groups.size());
        if (within.empty()) {
            for (DeviceId device = 0; device < count; ++device)
                m_groups[shardOf(device)].push_back(device);
            return {};
        }
        for (const DeviceId device : within) {
            if (device < 0 || device >= count)
                return Error{"device " + std::to_string(device) + " is not in the mesh " +
                                 m_mesh.text() + " of " + std::to_string(count) + " devices",
                             {}};
            m_groups[shardOf(device)].push_back(device);
        }
        const auto empty = std::find_if(m_groups.begin(), m_groups.end(),
                                        [](const DeviceGroup& group) { return group.empty(); });
        if (empty != m_groups.end())
            return emptyShard(static_cast<std::size_t>(empty - m_groups.begin()));
        return {};
    }

    Error emptyShard(std::size_t shard) const {
        std::string where;
        for (const AxisUse& use : m_uses) {
            const int coordinate = static_cast<int>(shard) / use.shardStride % axis(use).size;
            where +=
                (where.empty() ? "" : ", ") + axis(use).name + "=" + std::to_string(coordinate);
        }
        return {"a part of the tensor would be on no device: the devices given have none at " +
                    where,
                {}};
    }
};

}  // namespace

Result<Layout> encode(const Mesh& mesh, const MeshSharding& sharding,
                      const std::vector<std::int64_t>& shape, const DeviceGroup& within) {
    return Encoder(mesh, sharding, shape).run(within);
}

}  // namespace shardwright
