// SPDX-License-Identifier: Apache-2.0
//
// Exact comparison of two layouts of different structure: a dimension is cut at the edges of both,
// each piece lies in one shard coordinate of either, and every combination of the distinct
// coordinate pairs must name the same devices.

#include "sharding/layout_canonical.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace shardwright {

namespace {

constexpr std::int64_t kMaxPieces = std::int64_t{1} << 22;

/// Walks over the pieces of one dimension: maximal runs of elements in one shard coordinate, in
/// order.
class Walk {
public:
    explicit Walk(const std::vector<Component>& dim) : m_dim(dim) {}

    /// The coordinate of `element` and the first element after it that may have another one.
    std::pair<std::int64_t, std::int64_t> at(std::int64_t element) const {
        std::int64_t coordinate = 0, weight = 1, size = 1, end = element;
        bool found = false;
        for (auto component = m_dim.rbegin(); component != m_dim.rend(); ++component) {
            const std::int64_t x = element / size % component->size;
            const std::int64_t digit = x / component->block();
            coordinate += digit * weight;
            weight *= component->shards;
            // The innermost component with an edge inside of the whole dimension bounds the run.
            if (!found && component->shards > 1) {
                const std::int64_t blockEnd =
                    std::min(component->size, (digit + 1) * component->block());
                end = element - element % (size * component->size) + blockEnd * size;
                found = true;
            }
            size *= component->size;
        }
        return {coordinate, found ? end : size};
    }

private:
    const std::vector<Component>& m_dim;
};

using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// Distinct pairs of coordinates that share an element; nullopt: too many pieces.
std::optional<Pairs> coordinatePairs(const std::vector<Component>& a,
                                     const std::vector<Component>& b, std::int64_t size) {
    const Walk walkA(a), walkB(b);
    Pairs pairs;
    std::int64_t pieces = 0;
    for (std::int64_t element = 0; element < size;) {
        if (++pieces > kMaxPieces)
            return std::nullopt;
        const auto [coordinateA, endA] = walkA.at(element);
        const auto [coordinateB, endB] = walkB.at(element);
        pairs.emplace_back(coordinateA, coordinateB);
        element = std::min(endA, endB);
    }
    std::sort(pairs.begin(), pairs.end());
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
    return pairs;
}

}  // namespace

bool sameElementMap(const Layout& a, const Layout& b) {
    if (a.shape() != b.shape())
        return false;
    // All pairs of shards of the two that share an element, dimension by dimension.
    Pairs shards{{0, 0}};
    for (std::size_t d = 0; d < a.shape().size(); ++d) {
        const auto pairs = coordinatePairs(a.dims()[d], b.dims()[d], a.shape()[d]);
        if (!pairs || static_cast<std::int64_t>(shards.size() * pairs->size()) > kMaxPieces)
            return false;
        const std::int64_t countA = shardsOf(a.dims()[d]), countB = shardsOf(b.dims()[d]);
        Pairs next;
        next.reserve(shards.size() * pairs->size());
        for (const auto& [shardA, shardB] : shards) {
            for (const auto& [coordinateA, coordinateB] : *pairs)
                next.emplace_back(shardA * countA + coordinateA, shardB * countB + coordinateB);
        }
        shards = std::move(next);
    }
    return std::all_of(shards.begin(), shards.end(), [&](const auto& pair) {
        return a.groups()[static_cast<std::size_t>(pair.first)] ==
               b.groups()[static_cast<std::size_t>(pair.second)];
    });
}

}  // namespace shardwright
