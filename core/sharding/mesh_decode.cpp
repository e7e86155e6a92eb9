// SPDX-License-Identifier: Apache-2.0
//
// From a layout back to mesh axes. Every device of a mesh layout is in exactly one shard, so each
// split component gives a digit per device, and the axes of the component are found from the
// innermost: an axis fits there when its coordinate is the digit modulo its size on every device of
// the layout.

#include "sharding/mesh.h"

#include <algorithm>
#include <set>

namespace shardwright {

namespace {

class Decoder {
public:
    Decoder(const Mesh& mesh, const Layout& layout) : m_mesh(mesh), m_layout(layout) {}

    std::optional<MeshSharding> run() {
        const DeviceGroup& devices = m_layout.devices();
        if (devices.empty() || devices.front() < 0 || devices.back() >= m_mesh.deviceCount())
            return std::nullopt;
        if (!readDigits())
            return std::nullopt;
        m_found.resize(m_digits.size());
        m_used.assign(m_mesh.axes.size(), false);
        m_visits = 0;
        if (!solve(0, m_digits.empty() ? std::vector<std::int64_t>{} : m_digits[0], shards(0)))
            return std::nullopt;
        return sharding();
    }

private:
    static constexpr int kMaxVisits = 10000;  // Far beyond any real mesh; ambiguity is rare.

    const Mesh& m_mesh;
    const Layout& m_layout;
    std::vector<Component> m_components;  ///< The split ones, flattened.
    std::vector<std::vector<std::int64_t>>
        m_digits;                                 ///< By component, then by position in devices().
    std::vector<std::vector<int>> m_coordinates;  ///< By position in devices(), then by axis.
    std::vector<std::vector<int>> m_found;        ///< Axes by component, minor to major.
    std::vector<bool> m_used;
    int m_visits = 0;

    std::int64_t shards(std::size_t c) const {
        return c < m_components.size() ? m_components[c].shards : 1;
    }

    bool readDigits() {
        const DeviceGroup& devices = m_layout.devices();
        constexpr std::int64_t kNone = -1;
        std::vector<std::int64_t> shardOf(devices.size(), kNone);
        for (std::size_t shard = 0; shard < m_layout.groups().size(); ++shard) {
            const DeviceGroup& group = m_layout.groups()[shard];
            if (group.empty())
                return false;
            for (const DeviceId device : group) {
                auto& mine = shardOf[static_cast<std::size_t>(
                    std::lower_bound(devices.begin(), devices.end(), device) - devices.begin())];
                if (mine != kNone)
                    return false;  // Two shards on a device: no mesh sharding does that.
                mine = static_cast<std::int64_t>(shard);
            }
        }
        std::int64_t inner = m_layout.shardCount();
        for (const auto& dim : m_layout.dims()) {
            for (const Component& component : dim) {
                inner /= component.shards;
                if (component.shards == 1)
                    continue;
                m_components.push_back(component);
                auto& digits = m_digits.emplace_back();
                for (const std::int64_t shard : shardOf)
                    digits.push_back(shard / inner % component.shards);
            }
        }
        if (!m_components.empty()) {
            for (const DeviceId device : devices)
                m_coordinates.push_back(m_mesh.coordinates(device));
        }
        return true;
    }

    bool fits(std::size_t axis, const std::vector<std::int64_t>& digits) const {
        const int size = m_mesh.axes[axis].size;
        for (std::size_t i = 0; i < digits.size(); ++i) {
            if (digits[i] % size != m_coordinates[i][axis])
                return false;
        }
        return true;
    }

    /// Explains what is left of the digits of component `c`, `rest` shards, and then the later
    /// components. Recursion is as deep as the axes and components, both small.
    bool solve(std::size_t c, const std::vector<std::int64_t>& digits, std::int64_t rest) {
        if (++m_visits > kMaxVisits)
            return false;
        if (c == m_components.size())
            return true;
        if (rest == 1)
            return solve(c + 1, c + 1 < m_digits.size() ? m_digits[c + 1] : digits, shards(c + 1));
        for (std::size_t axis = 0; axis < m_mesh.axes.size(); ++axis) {
            const int size = m_mesh.axes[axis].size;
            if (m_used[axis] || size < 2 || rest % size != 0 || !fits(axis, digits))
                continue;
            std::vector<std::int64_t> major(digits.size());
            std::transform(digits.begin(), digits.end(), major.begin(),
                           [size](std::int64_t x) { return x / size; });
            m_used[axis] = true;
            m_found[c].push_back(static_cast<int>(axis));
            if (solve(c, major, rest / size))
                return true;
            m_found[c].pop_back();
            m_used[axis] = false;
        }
        return false;
    }

    MeshSharding sharding() const {
        MeshSharding result;
        std::size_t split = 0;
        for (const auto& dim : m_layout.dims()) {
            auto& components = result.dims.emplace_back();
            if (dim.size() == 1 && dim[0].shards == 1)
                continue;
            for (const Component& component : dim) {
                MeshComponent& mine = components.emplace_back(MeshComponent{component.size, {}});
                if (component.shards > 1) {
                    mine.axes.assign(m_found[split].rbegin(), m_found[split].rend());
                    ++split;
                }
            }
        }
        return result;
    }
};

/// Ordered factorisations of `n` into exactly `parts` factors of at least 2; stops when `accept`
/// says so.
template <class Accept>
bool eachFactorisation(int n, int parts, std::vector<int>& sizes, const Accept& accept) {
    if (parts == 1) {
        sizes.push_back(n);
        const bool stop = accept(sizes);
        sizes.pop_back();
        return stop;
    }
    for (int size = 2; size <= n / 2; ++size) {
        if (n % size != 0)
            continue;
        sizes.push_back(size);
        const bool stop = eachFactorisation(n / size, parts - 1, sizes, accept);
        sizes.pop_back();
        if (stop)
            return true;
    }
    return false;
}

Mesh meshOf(const std::vector<int>& sizes) {
    Mesh mesh;
    for (std::size_t i = 0; i < sizes.size(); ++i)
        mesh.axes.push_back({std::string(1, static_cast<char>('a' + i)), sizes[i]});
    return mesh;
}

}  // namespace

std::optional<MeshSharding> decode(const Mesh& mesh, const Layout& layout) {
    return Decoder(mesh, layout).run();
}

std::optional<Mesh> deriveMesh(int deviceCount, const std::vector<LayoutRef>& layouts) {
    constexpr int kMaxDerived = 1 << 16;
    constexpr int kMaxTries = 2000;
    std::set<LayoutRef> distinct;
    bool split = false;
    for (const LayoutRef& layout : layouts) {
        if (layout) {
            distinct.insert(layout);
            split = split || !layout->isWhole();
        }
    }
    // Whole tensors are explained by any mesh, which is to say that nothing is known of it.
    if (!split || deviceCount < 2 || deviceCount > kMaxDerived)
        return std::nullopt;
    int primes = 0;
    for (int n = deviceCount, p = 2; n > 1; p = n % p == 0 ? p : p * p > n ? n : p + 1) {
        if (n % p == 0) {
            n /= p;
            ++primes;
        }
    }
    std::optional<Mesh> found;
    int tries = 0;
    const auto accept = [&](const std::vector<int>& sizes) {
        Mesh mesh = meshOf(sizes);
        if (std::all_of(distinct.begin(), distinct.end(),
                        [&](const LayoutRef& layout) { return decode(mesh, *layout).has_value(); }))
            found = std::move(mesh);
        return found.has_value() || ++tries >= kMaxTries;
    };
    std::vector<int> sizes;
    for (int parts = 1; parts <= primes; ++parts) {
        if (eachFactorisation(deviceCount, parts, sizes, accept))
            break;
    }
    return found;
}

}  // namespace shardwright
