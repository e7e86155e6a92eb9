// SPDX-License-Identifier: Apache-2.0
#include "run/thread_meeting.h"

#include "model/shapes.h"
#include "run/reduce.h"

#include <algorithm>
#include <numeric>

namespace shardwright {

namespace {

std::size_t sum(std::span<const std::size_t> counts) {
    return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

std::size_t rankOf(const DeviceGroup& devices, DeviceId device) {
    return static_cast<std::size_t>(std::lower_bound(devices.begin(), devices.end(), device) -
                                    devices.begin());
}

bool isReduction(CollectiveKind kind) {
    return kind == CollectiveKind::AllReduce || kind == CollectiveKind::Reduce ||
           kind == CollectiveKind::ReduceScatter;
}

bool hasRoot(CollectiveKind kind) {
    return kind == CollectiveKind::Reduce || kind == CollectiveKind::Broadcast ||
           kind == CollectiveKind::Scatter;
}

bool isPointToPoint(CollectiveKind kind) {
    return kind == CollectiveKind::Permute || kind == CollectiveKind::Send ||
           kind == CollectiveKind::Region;
}

Error mismatch(const CollectiveCall& call, const DeviceGroup& devices, std::size_t rank,
               const std::string& what) {
    return Error{
        collectiveName(call.kind) + ": device " + std::to_string(devices[rank]) + " " + what, {}};
}

/// The size of the tensor or block that each device must bring and take, from the view of its own
/// call and the others'.
Result<void> checkSizes(Calls calls, const DeviceGroup& devices, std::size_t rank) {
    const CollectiveCall& call = *calls[rank];
    const CollectiveCall& first = *calls.front();
    const std::size_t n = devices.size();
    const auto expect = [&](std::size_t found, std::size_t wanted,
                            const char* verb) -> Result<void> {
        if (found == wanted)
            return {};
        return mismatch(call, devices, rank,
                        std::string(verb) + " " + std::to_string(found) + " bytes, expected " +
                            std::to_string(wanted));
    };
    const auto both = [&](std::size_t send, std::size_t receive) -> Result<void> {
        if (auto sent = expect(call.send.bytes, send, "sends"); !sent)
            return sent;
        return expect(call.receive.bytes, receive, "receives");
    };
    const bool counted = call.kind == CollectiveKind::ReduceScatter ||
                         call.kind == CollectiveKind::AllGather ||
                         call.kind == CollectiveKind::AllToAll ||
                         (call.kind == CollectiveKind::Scatter && devices[rank] == call.root);
    if (counted && call.counts.size() != n)
        return mismatch(call, devices, rank, "counts blocks for another number of devices");
    const bool isRoot = devices[rank] == call.root;
    const std::size_t root = rankOf(devices, call.root);
    switch (call.kind) {
        case CollectiveKind::AllReduce: return both(first.send.bytes, first.send.bytes);
        case CollectiveKind::ReduceScatter:
            if (!std::equal(call.counts.begin(), call.counts.end(), first.counts.begin(),
                            first.counts.end()))
                return mismatch(call, devices, rank,
                                "cuts the blocks otherwise than device " +
                                    std::to_string(devices[0]));
            return both(sum(call.counts), call.counts[rank]);
        case CollectiveKind::AllGather:
            if (!std::equal(call.counts.begin(), call.counts.end(), first.counts.begin(),
                            first.counts.end()))
                return mismatch(call, devices, rank,
                                "cuts the blocks otherwise than device " +
                                    std::to_string(devices[0]));
            return both(call.counts[rank], sum(call.counts));
        case CollectiveKind::Reduce: {
            const std::size_t size = calls[root]->receive.bytes;
            return both(call.send.data ? size : 0, isRoot ? size : 0);
        }
        case CollectiveKind::Broadcast: {
            const std::size_t size = calls[root]->send.bytes;
            return both(isRoot ? size : 0, isRoot && !call.receive.data ? 0 : size);
        }
        case CollectiveKind::Scatter: {
            const auto& counts = calls[root]->counts;
            if (counts.size() != n)
                return mismatch(*calls[root], devices, root,
                                "counts blocks for another number of devices");
            return both(isRoot ? sum(counts) : 0, counts[rank]);
        }
        case CollectiveKind::AllToAll:
            if (call.receiveCounts.size() != n)
                return mismatch(call, devices, rank, "counts blocks for another number of devices");
            for (std::size_t r = 0; r < n; ++r)
                if (calls[r]->counts.size() == n && calls[r]->counts[rank] != call.receiveCounts[r])
                    return mismatch(call, devices, rank,
                                    "does not expect what device " + std::to_string(devices[r]) +
                                        " sends");
            return both(sum(call.counts), sum(call.receiveCounts));
        default: return {};
    }
}

Result<void> checkMessages(Calls calls, const DeviceGroup& devices, std::size_t rank) {
    const CollectiveCall& call = *calls[rank];
    std::vector<std::size_t> taken(devices.size(), 0);
    for (const ReceiveMessage& message : call.receives) {
        const std::size_t from = rankOf(devices, message.from);
        if (from >= devices.size() || devices[from] != message.from)
            return mismatch(call, devices, rank,
                            "expects a message from a device outside of the group");
        std::size_t skip = taken[from]++;
        const SendMessage* found = nullptr;
        for (const SendMessage& sent : calls[from]->sends)
            if (sent.to == devices[rank] && !found && skip-- == 0)
                found = &sent;
        if (!found || found->data.bytes != message.data.bytes)
            return mismatch(call, devices, rank,
                            "expects " + std::to_string(message.data.bytes) +
                                " bytes from device " + std::to_string(message.from) +
                                ", which sends " +
                                (found ? std::to_string(found->data.bytes) + " bytes" : "nothing"));
    }
    for (std::size_t from = 0; from < devices.size(); ++from) {
        const auto& sends = calls[from]->sends;
        const auto sent = std::count_if(sends.begin(), sends.end(),
                                        [&](const auto& m) { return m.to == devices[rank]; });
        if (static_cast<std::size_t>(sent) != taken[from])
            return mismatch(call, devices, rank,
                            "does not expect all that device " + std::to_string(devices[from]) +
                                " sends");
    }
    return {};
}

/// Joins elements [begin, end) bytes of all contributions into `outputs` (already offset).
void joinRange(MemoryOperations& memory, Calls calls, ReduceKind kind, std::size_t begin,
               std::size_t end, std::span<std::byte* const> outputs) {
    std::vector<const std::byte*> inputs;
    std::int32_t type = 0;
    std::int64_t size = 1;
    for (const CollectiveCall* call : calls)
        if (call->send.data) {
            inputs.push_back(call->send.data + begin);
            type = call->send.elementType;
            size = std::max(1, elementBits(type) / 8);
        }
    if (!inputs.empty())
        memory.join(kind, type, inputs, outputs, static_cast<std::int64_t>(end - begin) / size);
}

void allReduce(MemoryOperations& memory, Calls calls, std::size_t rank) {
    const CollectiveCall& call = *calls[rank];
    const std::size_t n = calls.size();
    const auto size = static_cast<std::size_t>(std::max(1, elementBits(call.send.elementType) / 8));
    const std::size_t count = call.send.bytes / size;
    // Chunks end at cache lines, so that no two threads write into one.
    const std::size_t line = 64 / std::min<std::size_t>(size, 64);
    const std::size_t chunk = ((count + n - 1) / n + line - 1) / line * line;
    const std::size_t begin = std::min(count, rank * chunk) * size,
                      end = std::min(count, (rank + 1) * chunk) * size;
    std::vector<std::byte*> outputs;
    for (const CollectiveCall* call : calls)
        outputs.push_back(call->receive.data + begin);
    if (end > begin)
        joinRange(memory, calls, call.reduce, begin, end, outputs);
}

void copy(MemoryOperations& memory, BufferView to, std::size_t offset, const std::byte* from,
          std::size_t bytes) {
    if (bytes > 0)
        memory.copy(to.data + offset, from, bytes);
}

void receiveMessages(MemoryOperations& memory, Calls calls, const DeviceGroup& devices,
                     std::size_t rank) {
    std::vector<std::size_t> taken(devices.size(), 0);
    for (const ReceiveMessage& message : calls[rank]->receives) {
        const std::size_t from = rankOf(devices, message.from);
        std::size_t skip = taken[from]++;
        for (const SendMessage& sent : calls[from]->sends) {
            if (sent.to != devices[rank] || skip-- != 0)
                continue;
            copy(memory, message.data, 0, sent.data.data, sent.data.bytes);
            break;
        }
    }
}

void gatherBlocks(MemoryOperations& memory, Calls calls, std::size_t rank) {
    std::size_t offset = 0;
    for (const CollectiveCall* call : calls) {
        const CollectiveCall& from = *call;
        const bool all = from.kind == CollectiveKind::AllGather;
        const std::size_t skip = all ? 0 : sum(from.counts.first(rank));
        const std::size_t bytes = all ? from.send.bytes : from.counts[rank];
        copy(memory, calls[rank]->receive, offset, from.send.data + skip, bytes);
        offset += bytes;
    }
}

}  // namespace

Result<void> checkCalls(Calls calls, const DeviceGroup& devices, MemoryKind memory) {
    const CollectiveCall& first = *calls.front();
    std::int32_t joined = 0;
    for (std::size_t rank = 0; rank < calls.size(); ++rank) {
        const CollectiveCall& call = *calls[rank];
        if (call.kind != first.kind || call.reduce != first.reduce || call.root != first.root)
            return mismatch(call, devices, rank,
                            "does something else than device " + std::to_string(devices[0]));
        if (hasRoot(call.kind) && !std::binary_search(devices.begin(), devices.end(), call.root))
            return mismatch(call, devices, rank, "names a root outside of the group");
        if ((call.send.data && call.send.memory != memory) ||
            (call.receive.data && call.receive.memory != memory))
            return mismatch(call, devices, rank,
                            memory == MemoryKind::Host ? "has a buffer that is not in host memory"
                                                       : "has a buffer that is in host memory");
        if (isReduction(call.kind) && call.send.data &&
            !canReduce(call.reduce, call.send.elementType))
            return mismatch(call, devices, rank,
                            "cannot join " + elementTypeName(call.send.elementType) + " by " +
                                reduceKindName(call.reduce));
        if (isReduction(call.kind) && call.send.data) {
            if (joined != 0 && joined != call.send.elementType)
                return mismatch(call, devices, rank, "has another element type");
            joined = call.send.elementType;
        }
        auto fits = isPointToPoint(call.kind) ? checkMessages(calls, devices, rank)
                                              : checkSizes(calls, devices, rank);
        if (!fits)
            return fits;
    }
    return {};
}

void moveData(Calls calls, const DeviceGroup& devices, std::size_t rank, MemoryOperations& memory) {
    const CollectiveCall& call = *calls[rank];
    const CollectiveCall& root = *calls[std::min(rankOf(devices, call.root), calls.size() - 1)];
    std::byte* const own[] = {call.receive.data};
    switch (call.kind) {
        case CollectiveKind::AllReduce: allReduce(memory, calls, rank); break;
        case CollectiveKind::Reduce:
            if (devices[rank] == call.root)
                joinRange(memory, calls, call.reduce, 0, call.receive.bytes, own);
            break;
        case CollectiveKind::ReduceScatter: {
            const std::size_t begin = sum(call.counts.first(rank));
            if (call.counts[rank] > 0)
                joinRange(memory, calls, call.reduce, begin, begin + call.counts[rank], own);
            break;
        }
        case CollectiveKind::AllGather:
        case CollectiveKind::AllToAll: gatherBlocks(memory, calls, rank); break;
        case CollectiveKind::Broadcast:
            copy(memory, call.receive, 0, root.send.data, call.receive.bytes);
            break;
        case CollectiveKind::Scatter:
            copy(memory, call.receive, 0, root.send.data + sum(root.counts.first(rank)),
                 call.receive.bytes);
            break;
        default: receiveMessages(memory, calls, devices, rank);
    }
}

}  // namespace shardwright
