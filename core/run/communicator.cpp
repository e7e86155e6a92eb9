// SPDX-License-Identifier: Apache-2.0
#include "run/communicator.h"

namespace shardwright {

namespace {

std::size_t bytesSeenBy(const CollectiveCall& call, DeviceId self) {
    const bool first = self == call.devices->front();
    switch (call.kind) {
        case CollectiveKind::AllReduce:
        case CollectiveKind::ReduceScatter: return first ? call.send.bytes : 0;
        case CollectiveKind::AllGather: return first ? call.receive.bytes : 0;
        case CollectiveKind::Reduce: return self == call.root ? call.receive.bytes : 0;
        case CollectiveKind::Broadcast:
        case CollectiveKind::Scatter: return self == call.root ? call.send.bytes : 0;
        case CollectiveKind::AllToAll: return call.send.bytes;
        default: break;
    }
    std::size_t bytes = 0;
    for (const SendMessage& message : call.sends)
        bytes += message.data.bytes;
    return bytes;
}

}  // namespace

void CollectiveCounter::count(const CollectiveCall& call, DeviceId self) {
    Communication::KindTotal& total = m_counts[call.kind];
    total.count += self == call.devices->front() ? 1 : 0;
    total.bytes += static_cast<std::int64_t>(bytesSeenBy(call, self));
}

}  // namespace shardwright
