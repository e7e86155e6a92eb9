// SPDX-License-Identifier: Apache-2.0
#include "comm/reshard.h"

#include "comm/classify.h"
#include "model/saturating.h"
#include "model/shapes.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

namespace shardwright {

std::string collectiveName(CollectiveKind kind) {
    switch (kind) {
        case CollectiveKind::AllReduce: return "all-reduce";
        case CollectiveKind::Reduce: return "reduce";
        case CollectiveKind::ReduceScatter: return "reduce-scatter";
        case CollectiveKind::AllGather: return "all-gather";
        case CollectiveKind::AllToAll: return "all-to-all";
        case CollectiveKind::Broadcast: return "broadcast";
        case CollectiveKind::Scatter: return "scatter";
        case CollectiveKind::Permute: return "permute";
        case CollectiveKind::Send: return "send";
        case CollectiveKind::Slice: return "slice";
        case CollectiveKind::Region: break;
    }
    return "region";
}

namespace {

/// Chooses for each receiver the device that it takes a piece from.
class SourceChoice {
public:
    explicit SourceChoice(const Mesh& mesh) : m_mesh(mesh), m_size(mesh.deviceCount()) {}

    DeviceId nearest(const DeviceGroup& holders, DeviceId receiver) const {
        if (std::binary_search(holders.begin(), holders.end(), receiver))
            return receiver;
        DeviceId best = -1;
        int bestDistance = 0;
        for (const DeviceId holder : holders) {
            const int d = distance(holder, receiver);
            if (best < 0 || d < bestDistance || (d == bestDistance && holder < best)) {
                best = holder;
                bestDistance = d;
            }
        }
        return best;
    }

private:
    int distance(DeviceId a, DeviceId b) const {
        if (a >= m_size || b >= m_size || m_mesh.axes.size() < 2)
            return 1;
        int differing = 0;
        int unit = 1;
        for (std::size_t i = m_mesh.axes.size(); i-- > 0;) {
            const int size = m_mesh.axes[i].size;
            differing += (a / unit) % size != (b / unit) % size;
            unit *= size;
        }
        return differing;
    }

    const Mesh& m_mesh;
    int m_size;
};

/// Finds the pieces that may touch a box without looking at each: they are sorted by where they
/// begin along the dimension that tells most of them apart.
class PieceIndex {
public:
    explicit PieceIndex(const std::vector<SourcePiece>& pieces) : m_pieces(pieces) {
        for (std::size_t i = 0; i < pieces.size(); ++i)
            if (!pieces[i].empty && !pieces[i].devices.empty() && !pieces[i].box.empty())
                m_order.push_back(i);
        chooseDimension();
        if (m_dim < 0)
            return;
        std::stable_sort(m_order.begin(), m_order.end(),
                         [&](std::size_t a, std::size_t b) { return begin(a) < begin(b); });
        for (const std::size_t piece : m_order)
            m_longest = std::max(m_longest, end(piece) - begin(piece));
    }

    /// In the order of the list of pieces.
    std::vector<std::size_t> near(const Box& box) const {
        if (box.empty())
            return {};
        if (m_dim < 0)
            return m_order;
        const auto beginsBefore = [&](std::size_t piece, std::int64_t at) {
            return begin(piece) < at;
        };
        std::vector<std::size_t> found;
        auto last = m_order.begin();
        for (const auto& interval : box.dims[static_cast<std::size_t>(m_dim)].intervals()) {
            const auto first =
                std::lower_bound(last, m_order.end(), interval.begin - m_longest + 1, beginsBefore);
            last = std::lower_bound(first, m_order.end(), interval.end, beginsBefore);
            found.insert(found.end(), first, last);
        }
        std::sort(found.begin(), found.end());
        return found;
    }

private:
    std::int64_t begin(std::size_t piece) const { return along(piece).intervals().front().begin; }
    std::int64_t end(std::size_t piece) const { return along(piece).intervals().back().end; }
    const IndexSet& along(std::size_t piece) const {
        return m_pieces[piece].box.dims[static_cast<std::size_t>(m_dim)];
    }

    void chooseDimension() {
        std::size_t most = 1;
        const std::size_t rank = m_order.empty() ? 0 : m_pieces[m_order[0]].box.dims.size();
        for (std::size_t d = 0; d < rank; ++d) {
            std::vector<std::int64_t> begins;
            for (const std::size_t piece : m_order)
                begins.push_back(m_pieces[piece].box.dims[d].intervals().front().begin);
            std::sort(begins.begin(), begins.end());
            begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
            if (begins.size() > most) {
                most = begins.size();
                m_dim = static_cast<int>(d);
            }
        }
    }

    const std::vector<SourcePiece>& m_pieces;
    std::vector<std::size_t> m_order;
    int m_dim = -1;  ///< -1: all pieces begin at one place.
    std::int64_t m_longest = 0;
};

/// nullopt: more than is worked with.
std::optional<std::vector<Part>> partsFor(const std::vector<SourcePiece>& sources,
                                          const std::vector<WantedBoxes>& target,
                                          const SourceChoice& choice) {
    constexpr std::size_t kMostLooks = std::size_t{1} << 26, kMostParts = std::size_t{1} << 21;
    const PieceIndex index(sources);
    std::vector<Part> parts;
    std::size_t looks = 0;
    for (const auto& [device, boxes] : target)
        for (const Box& wanted : boxes)
            for (const std::size_t at : index.near(wanted)) {
                if (++looks > kMostLooks)
                    return std::nullopt;
                const SourcePiece& piece = sources[at];
                Box box = wanted.intersect(piece.box);
                if (box.empty())
                    continue;
                if (parts.size() == kMostParts)
                    return std::nullopt;
                parts.push_back(
                    {choice.nearest(piece.devices, device), device, std::move(box), piece.term});
            }
    return parts;
}

/// Devices that exchange elements, directly or through others, form a group.
class Groups {
public:
    explicit Groups(const std::vector<Part>& parts) {
        for (const Part& part : parts)
            if (part.from != part.to)
                join(part.from, part.to);
    }
    bool contains(DeviceId device) const { return m_parent.count(device) > 0; }
    DeviceId rootOf(DeviceId device) {
        DeviceId root = device;
        while (m_parent[root] != root)
            root = m_parent[root];
        while (m_parent[device] != root)
            device = std::exchange(m_parent[device], root);
        return root;
    }

private:
    void join(DeviceId a, DeviceId b) {
        m_parent.emplace(a, a);
        m_parent.emplace(b, b);
        const DeviceId ra = rootOf(a), rb = rootOf(b);
        m_parent[std::max(ra, rb)] = std::min(ra, rb);
    }
    std::map<DeviceId, DeviceId> m_parent;
};

void unifyKinds(std::vector<GroupOperation>& groups) {
    const auto is = [](CollectiveKind kind) {
        return [kind](const GroupOperation& g) { return g.kind == kind; };
    };
    const CollectiveKind first = groups.front().kind;
    if (std::all_of(groups.begin(), groups.end(), is(first)))
        return;
    // Cycles and single hops of one permutation are one permutation; anything else has no common
    // name.
    const bool permutation = std::all_of(groups.begin(), groups.end(), [](const GroupOperation& g) {
        return g.kind == CollectiveKind::Send || g.kind == CollectiveKind::Permute;
    });
    for (GroupOperation& group : groups)
        group.kind = permutation ? CollectiveKind::Permute : CollectiveKind::Region;
}

}  // namespace

ReshardPlan planReshard(const std::vector<SourcePiece>& sources, ReduceKind reduce,
                        const Layout& target, const Mesh& mesh, int elementBits) {
    std::vector<WantedBoxes> wanted;
    std::vector<std::vector<Box>> holdings = target.holdings();
    for (std::size_t i = 0; i < holdings.size(); ++i)
        wanted.push_back({target.devices()[i], std::move(holdings[i])});
    return planReshard(sources, reduce, wanted, mesh, elementBits);
}

ReshardPlan planReshard(const std::vector<SourcePiece>& sources, ReduceKind reduce,
                        const std::vector<WantedBoxes>& target, const Mesh& mesh, int elementBits) {
    ReshardPlan plan;
    const auto found = partsFor(sources, target, SourceChoice(mesh));
    if (!found) {
        plan.tooLarge = true;
        return plan;
    }
    const std::vector<Part>& parts = *found;
    Groups groups(parts);
    std::map<DeviceId, GroupOperation> byRoot;
    for (const Part& part : parts) {
        const bool grouped = groups.contains(part.to);
        if (!grouped) {
            plan.local.push_back(part);
            continue;
        }
        GroupOperation& group = byRoot[groups.rootOf(part.to)];
        group.parts.push_back(part);
        for (const DeviceId device : {part.from, part.to})
            group.devices.push_back(device);
    }
    if (byRoot.empty())
        return plan;
    DeviceGroup sourceDevices;
    for (const SourcePiece& piece : sources)
        sourceDevices.insert(sourceDevices.end(), piece.devices.begin(), piece.devices.end());
    std::sort(sourceDevices.begin(), sourceDevices.end());
    DeviceGroup targetDevices;
    for (const WantedBoxes& wanted : target)
        targetDevices.push_back(wanted.device);
    for (auto& [root, group] : byRoot) {
        std::sort(group.devices.begin(), group.devices.end());
        group.devices.erase(std::unique(group.devices.begin(), group.devices.end()),
                            group.devices.end());
        group.reduce = reduce;
        group.kind = classify(group, sourceDevices, targetDevices);
        plan.groups.push_back(std::move(group));
    }
    unifyKinds(plan.groups);
    plan.kind = plan.groups.front().kind;
    std::vector<DeviceGroup> devices;
    for (GroupOperation& group : plan.groups) {
        group.bytes = saturatingBytes(elementsOf(group), elementBits);
        devices.push_back(group.devices);
    }
    if (auto axes = axesOfGroups(mesh, devices))
        plan.axes = std::move(*axes);
    return plan;
}

std::vector<SourcePiece> piecesOf(const Layout& layout) {
    std::vector<SourcePiece> pieces;
    for (std::int64_t shard = 0; shard < layout.shardCount(); ++shard)
        pieces.push_back(
            {layout.shardBox(shard), 0, layout.groups()[static_cast<std::size_t>(shard)]});
    return pieces;
}

std::vector<SourcePiece> piecesOf(const CellGrid& cells, std::size_t outputSlot) {
    std::vector<SourcePiece> pieces;
    const std::vector<int> partial = cells.partialFactors(outputSlot);
    for (std::int64_t cell = 0; cell < cells.cellCount(); ++cell) {
        const auto at = cells.coordinates(cell);
        SourcePiece piece;
        for (const int f : partial) {
            const auto index = static_cast<std::size_t>(f);
            piece.term = static_cast<int>(piece.term * cells.cuts[index].classes() + at[index]);
        }
        piece.box = cells.outputBox(outputSlot, at);
        // A cell without elements holds nothing of a result, but its devices take part in the sum.
        piece.empty = cells.emptyCell(cell);
        piece.devices = cells.devices[static_cast<std::size_t>(cell)];
        pieces.push_back(std::move(piece));
    }
    return pieces;
}

namespace {

/// Bytes that each device of a group sends by the ring algorithm.
std::map<DeviceId, std::int64_t> sentBytes(const GroupOperation& group, int bits) {
    std::map<DeviceId, std::int64_t> sent;
    const auto n = static_cast<std::int64_t>(group.devices.size());
    const auto all = [&](std::int64_t bytes) {
        for (const DeviceId device : group.devices)
            sent[device] = bytes;
    };
    switch (group.kind) {
        case CollectiveKind::AllReduce: all(saturatingShare(group.bytes, 2 * (n - 1), n)); break;
        case CollectiveKind::ReduceScatter:
        case CollectiveKind::AllGather: all(saturatingShare(group.bytes, n - 1, n)); break;
        case CollectiveKind::AllToAll: all(saturatingShare(group.bytes / n, n - 1, n)); break;
        case CollectiveKind::Reduce:
        case CollectiveKind::Broadcast:
            // A chain: everybody but its end passes the tensor on once.
            all(group.bytes);
            sent.erase(std::prev(sent.end()));
            break;
        default:
            for (const Part& part : group.parts)
                if (part.from != part.to)
                    sent[part.from] =
                        saturatingSum(sent[part.from], saturatingBytes(part.box.count(), bits));
    }
    return sent;
}

}  // namespace

std::int64_t ReshardPlan::bytesSentMax(int elementBits) const {
    std::int64_t most = 0;
    for (const GroupOperation& group : groups)
        for (const auto& [device, bytes] : sentBytes(group, elementBits))
            most = std::max(most, bytes);
    return most;
}

std::int64_t ReshardPlan::bytesSentTotal(int elementBits) const {
    std::int64_t total = 0;
    for (const GroupOperation& group : groups)
        for (const auto& [device, bytes] : sentBytes(group, elementBits))
            total = saturatingSum(total, bytes);
    return total;
}

}  // namespace shardwright
