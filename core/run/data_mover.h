// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/thread_meeting.h"

namespace shardwright {

/// Does the data's part of collectives whose calls fit together, in one kind of memory; the
/// communicator of threads does the rest. One a device, used by its thread.
class DataMover {
public:
    virtual ~DataMover() = default;
    virtual MemoryKind memory() const = 0;
    /// Before the others may look at this device's buffers.
    virtual Result<void> ready() = 0;
    /// All devices of the group are in it at the same time, and none leaves the call before the
    /// last. Afterwards the call is complete, or queued on the device's stream.
    virtual Result<void> move(Calls calls, const DeviceGroup& devices, std::size_t rank) = 0;
};

}  // namespace shardwright
