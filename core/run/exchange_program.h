// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/plan.h"
#include "run/communicator.h"
#include "run/pack.h"

#include <string>
#include <vector>

namespace shardwright {

/// One device's part of an exchange or of a local copy, worked out before the run: what is packed
/// where, which call is made, what is unpacked where.
struct DeviceTransfer {
    /// Elements of a local tensor that go into the message to send, at a byte offset.
    struct Pack {
        int tensor = -1;
        std::size_t offset = 0;
        int term = 0;
        RegionCopy copy;
    };
    /// Elements of the received message (or, with `tensor`, of a local tensor) that go into a
    /// target.
    struct Delivery {
        int tensor = -1;
        std::size_t offset = 0;
        int target = -1;
        int term = 0;
        RegionCopy copy;
    };
    struct Message {
        DeviceId peer = -1;
        std::size_t offset = 0, bytes = 0;
    };

    const Exchange* exchange = nullptr;  ///< Null: a local copy.
    std::int32_t elementType = 0;
    CollectiveKind kind = CollectiveKind::Slice;
    ReduceKind reduce = ReduceKind::None;
    DeviceId root = -1;
    bool takesPart = true;  ///< In a reduce: has a contribution.

    std::vector<Pack>
        packs;  ///< By term; several terms of a reduction are joined before they are sent.
    std::vector<Delivery> deliveries;  ///< By term.
    bool joinDeliveries = false;       ///< The receiver joins terms by itself.
    std::vector<int> targets;          ///< Tensors that are written.
    std::size_t sendBytes = 0, receiveBytes = 0;
    std::vector<std::size_t> counts, receiveCounts;
    std::vector<Message> sends, receives;
    int sendTensor = -1;     ///< The message to send is this tensor as it lies: nothing is packed.
    int receiveTensor = -1;  ///< The message is received right into this tensor.
};

/// Errors: the plan does not say where a part lies; a type below a byte would be cut inside of one.
Result<DeviceTransfer> makeTransfer(const Exchange& exchange, const DeviceProgram& program);
Result<DeviceTransfer> makeTransfer(const DeviceProgram::LocalCopy& copy,
                                    const DeviceProgram& program);

/// "all-reduce between devices 0 and 1", for messages and traces.
std::string describe(const Exchange& exchange);

}  // namespace shardwright
