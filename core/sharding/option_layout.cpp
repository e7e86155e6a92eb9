// SPDX-License-Identifier: Apache-2.0
#include "sharding/option_layout.h"

#include "sharding/codes.h"
#include "sharding/glob.h"

#include <algorithm>
#include <limits>

namespace shardwright {

namespace {

class Builder {
public:
    Builder(const ShardOption& option, const Mesh& mesh, const TensorInfo& info)
        : m_option(option), m_mesh(mesh), m_info(info) {}

    Result<Layout> run(const DeviceGroup& within) {
        if (m_option.replicated && !m_info.hasRank)
            return encode(m_mesh, {}, {}, within);
        if (!m_info.hasRank)
            return Error{"the rank of the tensor is not known", {}};
        m_shape = m_info.dims;
        m_sharding.dims.resize(m_shape.size());
        for (const ShardOption::Dim& dim : m_option.dims) {
            if (const Result<void> ok = addDim(dim); !ok)
                return ok.error();
        }
        // Nothing is cut along the others: any size gives the same spec.
        std::replace_if(
            m_shape.begin(), m_shape.end(), [](std::int64_t size) { return size < 0; }, 1);
        return encode(m_mesh, m_sharding, m_shape, within);
    }

private:
    const ShardOption& m_option;
    const Mesh& m_mesh;
    const TensorInfo& m_info;
    std::vector<std::int64_t> m_shape;
    MeshSharding m_sharding;

    Result<void> addDim(const ShardOption::Dim& dim) {
        const auto rank = static_cast<int>(m_shape.size());
        if (dim.dim < -rank || dim.dim >= rank)
            return Error{"there is no dimension " + std::to_string(dim.dim) +
                             ": the tensor has rank " + std::to_string(rank),
                         {}};
        const auto d = static_cast<std::size_t>(dim.dim < 0 ? dim.dim + rank : dim.dim);
        if (!m_sharding.dims[d].empty())
            return Error{"dimension " + std::to_string(d) + " is given twice", {}};
        std::vector<MeshComponent> components;
        std::int64_t product = 1, shards = 1;
        for (const auto& part : dim.components) {
            MeshComponent component{part.size.value_or(-1), {}};
            for (const std::string& name : part.axes) {
                const int axis = m_mesh.axisIndex(name);
                if (axis < 0)
                    return unknownAxis(name);
                component.axes.push_back(axis);
                shards *= m_mesh.axes[static_cast<std::size_t>(axis)].size;
            }
            if (part.size && *part.size > std::numeric_limits<std::int64_t>::max() / product)
                return Error{"the sizes of the parts of dimension " + std::to_string(d) +
                                 " are too large",
                             {}};
            product *= part.size.value_or(1);
            components.push_back(std::move(component));
        }
        if (const Result<void> ok = fillSize(d, components, product, shards); !ok)
            return ok;
        m_sharding.dims[d] = std::move(components);
        return {};
    }

    /// The one size that is not given, and that of the dimension where it is not known.
    Result<void> fillSize(std::size_t d, std::vector<MeshComponent>& components,
                          std::int64_t product, std::int64_t shards) {
        const auto open = std::find_if(components.begin(), components.end(),
                                       [](const MeshComponent& c) { return c.size < 0; });
        std::int64_t& size = m_shape[d];
        if (size < 0 && components.size() > 1 && open != components.end())
            return Error{
                "the size of dimension " + std::to_string(d) +
                    " is not known, so that of its part is not; give it, or bind the dimension",
                {}};
        if (size < 0)
            size = open != components.end() ? shards : product;
        if (open == components.end())
            return {};  // encode() compares the product with the dimension.
        if (size % product != 0)
            return Error{"dimension " + std::to_string(d) + " has " + std::to_string(size) +
                             " elements, which is no multiple of " + std::to_string(product),
                         {}};
        open->size = size / product;
        return {};
    }

    Error unknownAxis(const std::string& name) const {
        std::set<std::string_view> names;
        for (const MeshAxis& axis : m_mesh.axes)
            names.insert(axis.name);
        return {"the mesh " + m_mesh.text() + " has no axis " + quoteName(name) +
                    suggestion(name, names),
                {}};
    }
};

}  // namespace

Result<Layout> layoutOfOption(const ShardOption& option, const Mesh& mesh, const TensorInfo& info,
                              const DeviceGroup& within) {
    return Builder(option, mesh, info).run(within);
}

}  // namespace shardwright
