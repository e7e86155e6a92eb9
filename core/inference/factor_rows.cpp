// SPDX-License-Identifier: Apache-2.0
#include "inference/factor_rows.h"

#include <algorithm>
#include <numeric>
#include <span>

namespace shardwright {

namespace {

std::int64_t sizeOf(const Rule& rule, int factor) {
    return rule.factors[static_cast<std::size_t>(factor)].size;
}

/// Deals `axes` to `factors`, which make up one component.
void deal(const Rule& rule, std::span<const int> factors, AxisList axes, bool open,
          FactorRow& row) {
    std::reverse(axes.begin(), axes.end());  // The next one is at the back.
    bool overflowed = false;
    for (std::size_t i = 0; i < factors.size(); ++i) {
        FactorAxes& mine = row.factors[static_cast<std::size_t>(factors[i])];
        mine.present = true;
        mine.minorMost = i + 1 == factors.size();
        mine.open = open && !overflowed;
        if (overflowed)
            continue;
        if (mine.minorMost) {
            for (; !axes.empty(); axes.pop_back())
                appendAxis(mine.axes, axes.back());
            continue;
        }
        std::int64_t rest = sizeOf(rule, factors[i]);
        while (!axes.empty()) {
            AxisRef& next = axes.back();
            const std::int64_t common = std::gcd(rest, next.size);
            if (next.size > 1 && common <= 1)
                break;
            if (next.size > common) {
                appendAxis(mine.axes, {next.axis, next.pre, common});
                next = {next.axis, next.pre * common, next.size / common};
                rest /= common;
            } else {
                appendAxis(mine.axes, next);
                rest /= next.size;
                axes.pop_back();
            }
        }
        if (rest > 1 && !axes.empty()) {
            overflowed = true;
            for (; !axes.empty(); axes.pop_back())
                appendAxis(mine.overflow, axes.back());
        }
    }
}

/// How many of the factors make up a component of this size; 0: its edge is inside a factor.
std::size_t factorsOfPart(const Rule& rule, std::span<const int> factors, std::int64_t size) {
    std::int64_t product = 1;
    for (std::size_t i = 0; i < factors.size(); ++i) {
        product *= sizeOf(rule, factors[i]);
        if (product == size)
            return i + 1;
        if (product > size)
            return 0;
    }
    return 0;
}

/// The edge of the next component is inside a factor: its axes are the factor's as far as the
/// component is a major part of it; the rest of the dimension is beyond what factors can say.
void sayFirstOnly(const Rule& rule, std::span<const int> factors, std::span<const AxisPart> parts,
                  FactorRow& row) {
    AxisList rest;
    for (const AxisPart& part : parts)
        rest.insert(rest.end(), part.axes.begin(), part.axes.end());
    for (const int f : factors) {
        FactorAxes& mine = row.factors[static_cast<std::size_t>(f)];
        mine.present = true;
        mine.open = false;
        const AxisPart& first = parts.front();
        const bool inside = f == factors.front() && first.size > 0 &&
                            sizeOf(rule, f) % first.size == 0 &&
                            first.size % shardsOf(first.axes) == 0;
        if (inside) {
            mine.axes = first.axes;
            rest.erase(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(first.axes.size()));
        }
        mine.overflow = std::exchange(rest, {});
    }
}

void projectDim(const Rule& rule, std::span<const int> factors, const DimAxes& dim,
                FactorRow& row) {
    if (dim.parts.size() <= 1) {
        deal(rule, factors, dim.parts.empty() ? AxisList{} : dim.parts.front().axes, dim.open, row);
        return;
    }
    for (std::size_t p = 0; p < dim.parts.size(); ++p) {
        const AxisPart& part = dim.parts[p];
        if (part.size == 1 && part.axes.empty())
            continue;
        const std::size_t count = factorsOfPart(rule, factors, part.size);
        if (count == 0) {
            sayFirstOnly(rule, factors, std::span(dim.parts).subspan(p), row);
            return;
        }
        deal(rule, factors.first(count), part.axes, dim.open, row);
        factors = factors.subspan(count);
    }
}

DimAxes joinDim(const Rule& rule, const std::vector<int>& factors,
                const std::vector<const AxisList*>& axes, bool open, bool strided) {
    DimAxes dim;
    dim.open = open;
    AxisPart part{1, {}};
    bool full = true;  // All factors of the part so far are split into single indices.
    for (std::size_t i = 0; i < factors.size(); ++i) {
        const std::int64_t size = sizeOf(rule, factors[i]);
        const AxisList& mine = *axes[i];
        if (!full && !mine.empty()) {
            if (!strided)
                break;
            dim.parts.push_back(std::move(part));
            part = {1, {}};
            full = true;
        }
        part.size *= size;
        for (const AxisRef& axis : mine)
            appendAxis(part.axes, axis);
        full = full && shardsOf(mine) >= size;
    }
    dim.parts.push_back(std::move(part));
    if (!dim.split())
        dim.parts.clear();
    else if (dim.parts.size() == 1)
        dim.parts.front().size = 0;
    else {
        // What the loop left out of the last part belongs to it.
        std::int64_t whole = 1, said = 1;
        for (const int f : factors)
            whole *= sizeOf(rule, f);
        for (const AxisPart& p : dim.parts)
            said *= p.size;
        dim.parts.back().size *= said > 0 ? whole / said : 1;
    }
    return dim;
}

}  // namespace

FactorRow projectToFactors(const Rule& rule, const TensorMap& map, const AxisSharding& sharding) {
    FactorRow row;
    row.factors.resize(rule.factors.size());
    if (!map.present || map.shapeOnly || map.dims.size() != sharding.dims.size())
        return row;
    row.taking = true;
    for (std::size_t d = 0; d < map.dims.size(); ++d)
        projectDim(rule, map.dims[d], sharding.dims[d], row);
    return row;
}

AxisSharding fromFactors(const Rule& rule, const TensorMap& map, const FactorRow& row,
                         const AxisSharding& present, const std::vector<bool>& changed,
                         bool strided) {
    AxisSharding result = present;
    for (std::size_t d = 0; d < map.dims.size(); ++d) {
        if (!changed[d])
            continue;
        std::vector<const AxisList*> axes;
        for (const int f : map.dims[d])
            axes.push_back(&row.factors[static_cast<std::size_t>(f)].axes);
        result.dims[d] = joinDim(rule, map.dims[d], axes, present.dims[d].open, strided);
    }
    return result;
}

AxisSharding fromFactors(const Rule& rule, const TensorMap& map, const std::vector<AxisList>& axes,
                         bool strided) {
    AxisSharding result = AxisSharding::openOfRank(map.dims.size());
    for (std::size_t d = 0; d < map.dims.size(); ++d) {
        std::vector<const AxisList*> mine;
        for (const int f : map.dims[d])
            mine.push_back(&axes[static_cast<std::size_t>(f)]);
        result.dims[d] = joinDim(rule, map.dims[d], mine, true, strided);
    }
    return result;
}

}  // namespace shardwright
