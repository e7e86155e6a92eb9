// SPDX-License-Identifier: Apache-2.0
#include "inference/axis_sharding.h"

#include <algorithm>
#include <charconv>

namespace shardwright {

AxisList DimAxes::all() const {
    AxisList axes;
    for (const AxisPart& part : parts)
        axes.insert(axes.end(), part.axes.begin(), part.axes.end());
    return axes;
}

bool DimAxes::split() const {
    return std::any_of(parts.begin(), parts.end(),
                       [](const AxisPart& p) { return !p.axes.empty(); });
}

AxisSharding AxisSharding::openOfRank(std::size_t rank) {
    return {std::vector<DimAxes>(rank)};
}

AxisList AxisSharding::all() const {
    AxisList axes;
    for (const DimAxes& dim : dims)
        for (const AxisPart& part : dim.parts)
            axes.insert(axes.end(), part.axes.begin(), part.axes.end());
    return axes;
}

bool AxisSharding::split() const {
    return std::any_of(dims.begin(), dims.end(), [](const DimAxes& d) { return d.split(); });
}

bool AxisSharding::axesOnce() const {
    const AxisList axes = all();
    for (std::size_t i = 0; i < axes.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
            if (axes[i].overlaps(axes[j]))
                return false;
    return true;
}

AxisSharding AxisSharding::closed() const {
    AxisSharding result = *this;
    for (DimAxes& dim : result.dims)
        dim.open = false;
    return result;
}

AxisSpace::AxisSpace(Mesh mesh) : m_mesh(std::move(mesh)), m_placements(1) {
    for (const MeshAxis& axis : m_mesh.axes)
        m_axes.push_back({axis.name, axis.size, 0});
}

std::string AxisSpace::text(const AxisRef& axis) const {
    const std::string& name = axisName(axis.axis);
    if (axis == whole(axis.axis))
        return name;
    return name + ":(" + std::to_string(axis.pre) + ")" + std::to_string(axis.size);
}

std::string AxisSpace::text(const AxisList& axes) const {
    std::string result;
    for (const AxisRef& axis : axes)
        result += (result.empty() ? "" : "+") + text(axis);
    return result;
}

Result<AxisRef> AxisSpace::parse(std::string_view text) const {
    const auto fail = [&](const char* what) {
        return Error{"`" + std::string(text) + "`: " + what, {}};
    };
    const std::size_t colon = text.find(":(");
    const std::string_view name = text.substr(0, colon);
    int found = -1;
    for (std::size_t i = 0; i < m_axes.size(); ++i)
        if (m_axes[i].name == name)
            found = static_cast<int>(i);
    if (found < 0)
        return fail("no such axis");
    AxisRef axis = whole(found);
    if (colon == std::string_view::npos)
        return axis;
    const std::string_view part = text.substr(colon + 2);
    const std::size_t close = part.find(')');
    if (close == std::string_view::npos)
        return fail("expected AXIS:(PRE)SIZE");
    const auto number = [](std::string_view digits, std::int64_t& into) {
        const char* end = digits.data() + digits.size();
        const auto parsed = std::from_chars(digits.data(), end, into);
        return parsed.ec == std::errc() && parsed.ptr == end && into >= 1;
    };
    if (!number(part.substr(0, close), axis.pre) || !number(part.substr(close + 1), axis.size))
        return fail("expected AXIS:(PRE)SIZE");
    const std::int64_t size = axisSize(found);
    if (axis.pre > size || size % axis.pre != 0 || axis.size > size / axis.pre ||
        (size / axis.pre) % axis.size != 0)
        return fail("does not divide the axis");
    return axis;
}

int AxisShardings::intern(AxisSharding sharding) {
    const auto [it, added] = m_ids.try_emplace(std::move(sharding), static_cast<int>(m_all.size()));
    if (added)
        m_all.push_back(&it->first);
    return it->second;
}

std::size_t AxisShardings::Hash::operator()(const AxisSharding& sharding) const {
    std::size_t h = sharding.dims.size();
    const auto mix = [&h](std::int64_t v) {
        h ^= static_cast<std::size_t>(v) + 0x9e3779b97f4a7c15ULL + (h << 6) + (h >> 2);
    };
    for (const DimAxes& dim : sharding.dims) {
        mix(dim.open ? 1 : 2);
        for (const AxisPart& part : dim.parts) {
            mix(part.size);
            for (const AxisRef& axis : part.axes) {
                mix(axis.axis);
                mix(axis.pre);
                mix(axis.size);
            }
        }
    }
    return h;
}

}  // namespace shardwright
