// SPDX-License-Identifier: Apache-2.0
//
// The canonical form of a layout. The map "element -> devices" can be written in many ways; these
// rules bring most of them to one:
//
//  - components of one element and one shard go; neighbours that are not split become one;
//  - a component is cut again into the fewest ceiling blocks whose edges contain all positions
//  where the devices
//    change: joins equal neighbours, drops empty shards, and makes a component unsplit along which
//    nothing varies;
//  - two neighbours (a in k)(b in m) become one component when the outer one is fully split (k = a)
//  or the inner
//    one is not split (m = 1), and that takes no more shards: (a in a)(b in m) -> (a*b in a*m)
//    where m divides b, (a in k)(b) -> (a*b in k) where the blocks coincide;
//  - a component of equal blocks whose devices repeat, c[x, y, z] independent of y, becomes two:
//  0,1,0,1 over
//    8 elements is (2)(4 in 2) on 0,1.
//
// With one component a dimension the result is unique. It is not unique for a few uneven layouts
// with several components in a dimension, and shards without elements whose devices hold nothing
// elsewhere are left as they are (such a device takes part although it holds nothing).
// Layout::operator== compares the maps for those.

#include "sharding/layout_canonical.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace shardwright {

namespace {

bool hasEmptyShards(const Component& component) {
    return component.shards > 1 && (component.shards - 1) * component.block() >= component.size;
}

class Canonicaliser {
public:
    Canonicaliser(std::vector<std::vector<Component>>& dims, std::vector<DeviceGroup>& groups)
        : m_dims(dims), m_groups(groups) {}

    void run() {
        for (auto& dim : m_dims)
            tidy(dim);
        if (m_groups.size() == 1)
            return;
        internGroups();
        bool empties = false;
        for (const auto& dim : m_dims)
            empties = empties || std::any_of(dim.begin(), dim.end(), hasEmptyShards);
        if (empties && hasIdleDevices())
            return;
        // Distinct groups everywhere and no empty shards: nothing can be joined, only components
        // merged.
        const bool mayJoin = empties || m_distinct.size() < m_groups.size();
        bool changed = false;
        for (bool again = true; again;) {
            again = false;
            for (std::size_t d = 0; d < m_dims.size(); ++d)
                again = reduceDim(d, mayJoin) || again;
            changed = changed || again;
        }
        if (changed)
            writeGroups();
    }

private:
    std::vector<std::vector<Component>>& m_dims;
    std::vector<DeviceGroup>& m_groups;
    std::vector<std::size_t> m_distinct;  ///< The first shard with each distinct group.
    std::vector<int> m_ids;               ///< Index into m_distinct, one a shard.

    const DeviceGroup& distinct(std::size_t id) const { return m_groups[m_distinct[id]]; }

    static void tidy(std::vector<Component>& dim) {
        std::size_t kept = 0;
        for (std::size_t c = 0; c < dim.size(); ++c) {
            const Component component = dim[c];
            if (component.size == 1 && component.shards == 1)
                continue;
            if (kept > 0 && component.shards == 1 && dim[kept - 1].shards == 1)
                dim[kept - 1].size *= component.size;
            else
                dim[kept++] = component;
        }
        dim.resize(kept);
        if (dim.empty())
            dim.push_back({1, 1});
    }

    void internGroups() {
        m_ids.reserve(m_groups.size());
        m_distinct.reserve(m_groups.size());
        constexpr std::size_t kFewGroups = 16;  // A scan beats a map up to here.
        if (m_groups.size() <= kFewGroups) {
            for (std::size_t shard = 0; shard < m_groups.size(); ++shard) {
                std::size_t id = 0;
                while (id < m_distinct.size() && distinct(id) != m_groups[shard])
                    ++id;
                m_ids.push_back(static_cast<int>(id));
                if (id == m_distinct.size())
                    m_distinct.push_back(shard);
            }
            return;
        }
        const auto less = [](const DeviceGroup* a, const DeviceGroup* b) { return *a < *b; };
        std::map<const DeviceGroup*, int, decltype(less)> known(less);
        for (std::size_t shard = 0; shard < m_groups.size(); ++shard) {
            const auto [entry, added] =
                known.try_emplace(&m_groups[shard], static_cast<int>(m_distinct.size()));
            if (added)
                m_distinct.push_back(shard);
            m_ids.push_back(entry->second);
        }
    }

    void writeGroups() {
        std::vector<DeviceGroup> groups;
        groups.reserve(m_ids.size());
        for (const int id : m_ids)
            groups.push_back(distinct(static_cast<std::size_t>(id)));
        m_groups = std::move(groups);
    }

    /// Devices that occur in shards without elements only.
    bool hasIdleDevices() const {
        std::vector<bool> full(m_distinct.size(), false);
        std::vector<bool> bare(m_distinct.size(), false);
        for (std::size_t shard = 0; shard < m_ids.size(); ++shard)
            (isEmptyShard(shard) ? bare : full)[static_cast<std::size_t>(m_ids[shard])] = true;
        DeviceGroup holders;
        for (std::size_t g = 0; g < m_distinct.size(); ++g) {
            if (full[g])
                holders.insert(holders.end(), distinct(g).begin(), distinct(g).end());
        }
        std::sort(holders.begin(), holders.end());
        for (std::size_t g = 0; g < m_distinct.size(); ++g) {
            for (const DeviceId device : distinct(g)) {
                if (bare[g] && !std::binary_search(holders.begin(), holders.end(), device))
                    return true;
            }
        }
        return false;
    }

    bool isEmptyShard(std::size_t shard) const {
        auto rest = static_cast<std::int64_t>(shard);
        for (auto dim = m_dims.rbegin(); dim != m_dims.rend(); ++dim) {
            for (auto component = dim->rbegin(); component != dim->rend(); ++component) {
                if ((rest % component->shards) * component->block() >= component->size)
                    return true;
                rest /= component->shards;
            }
        }
        return false;
    }

    bool reduceDim(std::size_t d, bool mayJoin) {
        bool changed = false;
        auto& dim = m_dims[d];
        if (dim.size() == 1 && (!mayJoin || dim[0].shards == 1))
            return false;
        for (std::size_t c = 0; mayJoin && c < dim.size(); ++c)
            changed = recut(d, c, 1) || changed;
        for (std::size_t c = 0; c + 1 < dim.size();) {
            if (recut(d, c, 2)) {
                changed = true;
                c = c > 0 ? c - 1 : 0;
            } else {
                ++c;
            }
        }
        for (std::size_t c = 0; mayJoin && c < dim.size(); ++c)
            changed = dropRepeats(d, c) || changed;
        return changed;
    }

    struct View {
        std::int64_t outer = 1, middle = 1, inner = 1;
    };
    /// The shards as outer x middle x inner, where middle counts `n` components from `c` of
    /// dimension `d` on.
    View view(std::size_t d, std::size_t c, std::size_t n) const {
        View result;
        for (std::size_t i = 0; i < m_dims.size(); ++i) {
            for (std::size_t j = 0; j < m_dims[i].size(); ++j) {
                const bool before = i < d || (i == d && j < c);
                const bool inside = i == d && j >= c && j < c + n;
                (before   ? result.outer
                 : inside ? result.middle
                          : result.inner) *= m_dims[i][j].shards;
            }
        }
        return result;
    }

    bool sameSlice(const View& v, std::int64_t a, std::int64_t b) const {
        for (std::int64_t o = 0; o < v.outer; ++o) {
            const auto first = m_ids.begin() + (o * v.middle + a) * v.inner;
            const auto second = m_ids.begin() + (o * v.middle + b) * v.inner;
            if (!std::equal(first, first + v.inner, second))
                return false;
        }
        return true;
    }

    void select(const View& v, const std::vector<std::int64_t>& coordinates) {
        std::vector<int> ids;
        ids.reserve(static_cast<std::size_t>(v.outer * v.inner) * coordinates.size());
        for (std::int64_t o = 0; o < v.outer; ++o) {
            for (const std::int64_t j : coordinates) {
                const auto first = m_ids.begin() + (o * v.middle + j) * v.inner;
                ids.insert(ids.end(), first, first + v.inner);
            }
        }
        m_ids = std::move(ids);
    }

    /// Cuts one component, or two neighbours as one, again into as few ceiling blocks as the map
    /// allows.
    bool recut(std::size_t d, std::size_t c, std::size_t n) {
        auto& dim = m_dims[d];
        const Component outer = dim[c];
        const Component inner = n == 2 ? dim[c + 1] : Component{1, 1};
        if (n == 1 && outer.shards == 1)
            return false;
        if (n == 2 && outer.shards == 1 && inner.shards > 1 && outer.size > 1)
            return false;  // The pattern repeats: not one component.
        if (inner.shards > 1 && outer.shards != outer.size)
            return false;
        const View v = view(d, c, n);
        const std::int64_t size = outer.size * inner.size;
        const auto position = [&](std::int64_t j) {
            return j / inner.shards * outer.block() * inner.size + j % inner.shards * inner.block();
        };
        std::int64_t edges =
            0;  // Greatest common divisor of all positions where the devices change.
        std::int64_t last = 0;
        for (std::int64_t j = 1; j < v.middle; ++j) {
            const bool empty = j / inner.shards * outer.block() >= outer.size ||
                               j % inner.shards * inner.block() >= inner.size;
            if (empty)
                continue;
            if (!sameSlice(v, last, j))
                edges = std::gcd(edges, position(j));
            last = j;
        }
        std::int64_t shards = 1;
        const auto block = [&] { return (size + shards - 1) / shards; };
        while (shards <= v.middle && edges % block() != 0)
            ++shards;
        if (shards > v.middle || (n == 1 && shards == outer.shards))
            return false;
        std::vector<std::int64_t> coordinates;
        for (std::int64_t j = 0; j < shards; ++j) {
            const std::int64_t element = j * block();
            coordinates.push_back(element / inner.size / outer.block() * inner.shards +
                                  element % inner.size / inner.block());
        }
        select(v, coordinates);
        dim[c] = {size, shards};
        if (n == 2)
            dim.erase(dim.begin() + static_cast<std::ptrdiff_t>(c) + 1);
        return true;
    }

    /// (a in k) with k = x*y*z and devices independent of y -> (x*y in x)(a/(x*y) in z).
    bool dropRepeats(std::size_t d, std::size_t c) {
        const Component component = m_dims[d][c];
        const std::int64_t k = component.shards;
        if (k < 4 || component.size % k != 0)
            return false;
        const View v = view(d, c, 1);
        for (std::int64_t z = 2; z <= k / 2; ++z) {
            // The first block comes again in every repeat, which rules most z out at once.
            if (k % z != 0 || !sameSlice(v, 0, z))
                continue;
            for (std::int64_t y = k / z; y >= 2; --y) {
                if (k / z % y == 0 && repeats(v, y, z)) {
                    replaceRepeats(d, c, v, y, z);
                    return true;
                }
            }
        }
        return false;
    }

    bool repeats(const View& v, std::int64_t y, std::int64_t z) const {
        for (std::int64_t j = 0; j < v.middle; ++j) {
            if (!sameSlice(v, j, j / (y * z) * (y * z) + j % z))
                return false;
        }
        return true;
    }

    void replaceRepeats(std::size_t d, std::size_t c, const View& v, std::int64_t y,
                        std::int64_t z) {
        auto& dim = m_dims[d];
        const std::int64_t x = v.middle / (y * z);
        std::vector<std::int64_t> coordinates;
        for (std::int64_t j = 0; j < x * z; ++j)
            coordinates.push_back(j / z * y * z + j % z);
        select(v, coordinates);
        const Component inner{dim[c].size / (x * y), z};
        dim[c] = {x * y, x};
        dim.insert(dim.begin() + static_cast<std::ptrdiff_t>(c) + 1, inner);
        tidy(dim);
    }
};

}  // namespace

void canonicaliseLayout(const std::vector<std::int64_t>& shape,
                        std::vector<std::vector<Component>>& dims,
                        std::vector<DeviceGroup>& groups) {
    if (std::find(shape.begin(), shape.end(), 0) != shape.end()) {
        // No elements: every device holds nothing, however the tensor is cut.
        DeviceGroup all;
        for (const DeviceGroup& group : groups)
            all.insert(all.end(), group.begin(), group.end());
        std::sort(all.begin(), all.end());
        all.erase(std::unique(all.begin(), all.end()), all.end());
        groups.assign(1, std::move(all));
        for (std::size_t d = 0; d < dims.size(); ++d)
            dims[d].assign(1, {shape[d], 1});
        return;
    }
    Canonicaliser(dims, groups).run();
}

}  // namespace shardwright
