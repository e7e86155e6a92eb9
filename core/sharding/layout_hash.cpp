// SPDX-License-Identifier: Apache-2.0
//
// The hash must be equal for equal maps of different structure, so it is computed from the map: the
// sum over devices and their elements of a product of polynomials of the indices, modulo 2^64.
// Moments of a mixed-radix product of intervals have closed forms, so that this costs a few
// multiplications a block, not an element.

#include "sharding/layout_canonical.h"

namespace shardwright {

namespace {

struct Moments {
    std::uint64_t count = 1, sum = 0, squares = 0;
};

std::uint64_t sumBelow(std::uint64_t n) {
    return n % 2 == 0 ? n / 2 * (n - 1) : (n - 1) / 2 * n;
}

std::uint64_t squaresBelow(std::uint64_t n) {
    if (n == 0)
        return 0;
    std::uint64_t factors[3] = {n - 1, n, 2 * n - 1};
    factors[factors[0] % 2 == 0 ? 0 : 1] /= 2;
    for (std::uint64_t& factor : factors) {
        if (factor % 3 == 0) {
            factor /= 3;
            break;
        }
    }
    return factors[0] * factors[1] * factors[2];
}

Moments momentsOf(BlockRange range) {
    const auto begin = static_cast<std::uint64_t>(range.begin);
    const auto end = static_cast<std::uint64_t>(range.end);
    return {end - begin, sumBelow(end) - sumBelow(begin), squaresBelow(end) - squaresBelow(begin)};
}

/// Moments of stride * x + y for all pairs.
Moments combine(const Moments& x, std::uint64_t stride, const Moments& y) {
    return {x.count * y.count, stride * x.sum * y.count + x.count * y.sum,
            stride * stride * x.squares * y.count + 2 * stride * x.sum * y.sum +
                x.count * y.squares};
}

std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

std::uint64_t weigh(const Moments& moments, std::size_t d) {
    const std::uint64_t seed = 0x9e3779b97f4a7c15ULL * (d + 1);
    return mix(seed) * moments.count + mix(seed + 1) * moments.sum +
           mix(seed + 2) * moments.squares;
}

/// The hash of each shard coordinate of dimension `d`, multiplied into `partial` for all shards;
/// `inner` shards lie below one coordinate.
void multiplyDimension(const std::vector<Component>& dim, std::size_t d, std::size_t inner,
                       std::vector<std::uint64_t>& partial) {
    const auto count = static_cast<std::size_t>(shardsOf(dim));
    for (std::size_t coordinate = 0; coordinate < count; ++coordinate) {
        Moments moments;
        std::uint64_t stride = 1;
        auto rest = static_cast<std::int64_t>(coordinate);
        for (auto component = dim.rbegin(); component != dim.rend(); ++component) {
            moments = combine(momentsOf(blockRange(*component, rest % component->shards)), stride,
                              moments);
            rest /= component->shards;
            stride *= static_cast<std::uint64_t>(component->size);
        }
        const std::uint64_t hash = weigh(moments, d);
        for (std::size_t first = coordinate * inner; first < partial.size();
             first += count * inner) {
            for (std::size_t shard = first; shard < first + inner; ++shard)
                partial[shard] *= hash;
        }
    }
}

}  // namespace

std::size_t hashLayout(const std::vector<std::int64_t>& shape,
                       const std::vector<std::vector<Component>>& dims,
                       const std::vector<DeviceGroup>& groups, const DeviceGroup& devices) {
    std::vector<std::uint64_t> partial(groups.size(), 1);
    std::size_t inner = groups.size();
    std::uint64_t whole = 1;
    for (std::size_t d = 0; d < dims.size(); ++d) {
        const bool split = dims[d].size() > 1 || dims[d].front().shards > 1;
        inner /= split ? static_cast<std::size_t>(shardsOf(dims[d])) : 1;
        if (split)
            multiplyDimension(dims[d], d, inner, partial);
        else
            whole *= weigh(momentsOf({0, shape[d]}), d);
    }
    std::uint64_t hash = 0;
    for (std::size_t shard = 0; shard < groups.size(); ++shard) {
        std::uint64_t weight = 0;
        for (const DeviceId device : groups[shard])
            weight += mix(static_cast<std::uint64_t>(device) + 17);
        hash += weight * partial[shard];
    }
    hash *= whole;
    for (const std::int64_t size : shape)
        hash = mix(hash ^ static_cast<std::uint64_t>(size));
    for (const DeviceId device : devices)
        hash = mix(hash + static_cast<std::uint64_t>(device));
    return static_cast<std::size_t>(hash);
}

}  // namespace shardwright
