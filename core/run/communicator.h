// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/communication.h"
#include "run/buffer.h"

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace shardwright {

class StringPool;

/// A message between two devices of a point-to-point call.
struct SendMessage {
    DeviceId to = -1;
    ConstBufferView data;
};
struct ReceiveMessage {
    DeviceId from = -1;
    BufferView data;
};

/// What one device contributes to one group operation. Every device of the group makes the same
/// call, in the same order.
///
///     kind           send                                receive
///     all-reduce     the tensor                          the tensor, joined
///     reduce         the tensor; empty: none             root: the tensor, joined
///     reduce-scatter one block a device, one after the   this device's block, joined
///                    other (`counts` bytes each)
///     all-gather     this device's block (may be empty)  one block a device (`counts` bytes each)
///     all-to-all     one block a device (`counts`)       one block a device (`receiveCounts`)
///     broadcast      root: the tensor                    the tensor (root: empty where it keeps
///     its own) scatter        root: one block a device (`counts`) this device's block (empty where
///     the count is 0) permute, send, `sends`: messages to others         `receives`: one for each
///     message to this device, in the region                                             sender's
///     order
///
/// Reductions join in the order of the devices, so that all agree bit for bit. Buffers may not
/// overlap, but the send and receive buffer of an all-reduce may be the same one.
struct CollectiveCall {
    CollectiveKind kind = CollectiveKind::Region;
    ReduceKind reduce = ReduceKind::None;
    const DeviceGroup* devices = nullptr;
    DeviceId root = -1;
    ConstBufferView send;
    BufferView receive;
    std::span<const std::size_t> counts;  ///< Bytes, in the order of `devices`.
    std::span<const std::size_t> receiveCounts;
    std::span<const SendMessage> sends;
    std::span<const ReceiveMessage> receives;
    Stream stream;
};

using CollectiveCounts = std::map<CollectiveKind, Communication::KindTotal>;

/// One device's end of the connections between all devices. Used by one thread.
class Communicator {
public:
    virtual ~Communicator() = default;
    virtual DeviceId device() const = 0;

    /// Waits until the call is complete on this device, or queues it on the call's stream. Errors:
    /// sizes that do not fit together, a reduction that the type does not have, another device
    /// failed (its message), cancelled.
    virtual Result<void> run(const CollectiveCall& call) = 0;
    /// Starts a bucket of calls that do not depend on each other, and does not wait for others
    /// where the transport can do without. All devices of a group start the same calls of it
    /// together, in the same order. Their buffers are in use until each call is finished, and what
    /// the calls refer to must stay. An error: nothing was started.
    virtual Result<void> start(std::span<const CollectiveCall> bucket) {
        m_bucket.assign(bucket.begin(), bucket.end());
        return {};
    }
    /// As run(), for call number `index` of the bucket. Once started, all of them have to be
    /// finished, in order, also after an error: others read this device's buffers, and write into
    /// what it receives. Results are complete, and buffers free, when all are finished.
    virtual Result<void> finish(std::size_t index) { return run(m_bucket[index]); }
    /// Before strings are exchanged, which are moved as numbers: the other devices of the group
    /// learn what those say that this one knows. All of the group call it. Not counted; nothing
    /// where devices share their memory.
    virtual Result<void> shareStrings(const DeviceGroup&, StringPool&) { return {}; }
    /// Waits for all devices; not a collective, not counted.
    virtual Result<void> barrier() = 0;
    /// Makes every present and later call of every device fail with this message.
    virtual void poison(const std::string& reason) = 0;

    /// Starts to count from zero.
    virtual void beginPass() = 0;
    /// Group operations that this device has run and their bytes, so that the sum over all devices
    /// counts each group operation once. Found from kind and buffers alone.
    virtual CollectiveCounts executed() const = 0;
    /// Nanoseconds spent waiting for others, since the communicator was made.
    virtual std::int64_t waitedNanoseconds() const = 0;

private:
    std::vector<CollectiveCall> m_bucket;
};

/// Counts calls for executed(). Each device adds what it alone can see, in "bytes" of a
/// communication entry: the lowest device of the group counts the operation, and the tensor of
/// those where all devices see all of it; the root counts what it hands out or receives; for
/// all-to-all and point-to-point calls, each device counts what it sends.
class CollectiveCounter {
public:
    void count(const CollectiveCall& call, DeviceId self);
    void reset() { m_counts.clear(); }
    const CollectiveCounts& counts() const { return m_counts; }

private:
    CollectiveCounts m_counts;
};

}  // namespace shardwright
