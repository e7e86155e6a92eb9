// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/shapes.h"
#include "run/communicator.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

namespace shardwright::test {

enum class Fault {
    Drop,      ///< Nothing arrives: the receive buffer is zero, nothing is sent.
    Double,    ///< What was joined is joined once more.
    Shrink,    ///< Only the first half is transferred, the rest is zero.
    Exchange,  ///< The two halves of what arrives have changed places.
};

/// Spoils one group operation of each pass: the `nth` (from 0) that a device takes part in. Use it
/// where all devices are in all groups, so that they agree which one that is.
class CommunicatorFault : public Communicator {
public:
    CommunicatorFault(std::unique_ptr<Communicator> inner, Fault fault, int nth)
        : m_inner(std::move(inner)), m_fault(fault), m_nth(nth) {}

    DeviceId device() const override { return m_inner->device(); }
    Result<void> run(const CollectiveCall& call) override {
        return m_calls++ == m_nth ? spoiled(call) : m_inner->run(call);
    }
    Result<void> barrier() override { return m_inner->barrier(); }
    void poison(const std::string& reason) override { m_inner->poison(reason); }
    void beginPass() override {
        m_calls = 0;
        m_inner->beginPass();
    }
    CollectiveCounts executed() const override { return m_inner->executed(); }
    std::int64_t waitedNanoseconds() const override { return m_inner->waitedNanoseconds(); }

private:
    static std::size_t half(const BufferView& view) {
        const auto size = static_cast<std::size_t>(std::max(1, elementBits(view.elementType) / 8));
        return view.bytes / size / 2 * size;
    }
    static void clear(const CollectiveCall& call) {
        if (call.receive.bytes > 0)
            std::memset(call.receive.data, 0, call.receive.bytes);
        for (const ReceiveMessage& message : call.receives)
            std::memset(message.data.data, 0, message.data.bytes);
    }

    Result<void> spoiled(const CollectiveCall& call) {
        if (m_fault == Fault::Drop) {
            clear(call);
            return {};
        }
        if (m_fault == Fault::Shrink && call.kind == CollectiveKind::AllReduce) {
            clear(call);
            CollectiveCall smaller = call;
            smaller.send.bytes = smaller.receive.bytes = half(call.receive);
            return m_inner->run(smaller);
        }
        auto result = m_inner->run(call);
        if (result && m_fault == Fault::Double) {
            // The sum of all takes the place of this device's contribution.
            m_copy.assign(call.receive.data, call.receive.data + call.receive.bytes);
            CollectiveCall again = call;
            if (call.kind == CollectiveKind::AllReduce)
                again.send.data = m_copy.data();
            result = m_inner->run(again);
        } else if (result && m_fault == Fault::Shrink && call.receive.bytes > 0) {
            const std::size_t first = half(call.receive);
            std::memset(call.receive.data + first, 0, call.receive.bytes - first);
        } else if (result && m_fault == Fault::Exchange && call.receive.bytes > 0) {
            const std::size_t first = half(call.receive);
            std::swap_ranges(call.receive.data, call.receive.data + first,
                             call.receive.data + first);
        }
        return result;
    }

    std::unique_ptr<Communicator> m_inner;
    const Fault m_fault;
    const int m_nth;
    int m_calls = 0;
    std::vector<std::byte> m_copy;
};

}  // namespace shardwright::test
