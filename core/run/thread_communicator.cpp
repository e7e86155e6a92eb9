// SPDX-License-Identifier: Apache-2.0
#include "run/thread_communicator.h"

#include "model/shapes.h"
#include "run/reduce.h"
#include "run/thread_meeting.h"

#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>
#include <unordered_map>

namespace shardwright {

namespace {

/// What all ends share.
class World {
public:
    World(int count, const ThreadCommunicatorOptions& options)
        : smallAllReduce(std::min(options.smallAllReduce, Meeting::kScratch)), all(count),
          m_count(count) {
        const int cores = options.cores > 0 ? options.cores
                                            : static_cast<int>(std::thread::hardware_concurrency());
        // Measured: spinning with more threads than cores costs 20 times the latency, without it 4
        // times.
        policy = {count <= cores ? 1000 : 0, 50};
    }

    Result<std::shared_ptr<Meeting>> meeting(const DeviceGroup& devices) {
        if (devices.size() < 2 || devices.front() < 0 || devices.back() >= m_count ||
            !std::is_sorted(devices.begin(), devices.end()))
            return Error{
                "a group operation needs at least two devices of the run, in ascending order", {}};
        const std::lock_guard lock(m_mutex);
        auto& meeting = m_meetings[devices];
        if (!meeting) {
            meeting = std::make_shared<Meeting>(devices);
            if (m_poisoned)
                meeting->enter.poison();
        }
        return meeting;
    }

    void poison(const std::string& reason) {
        const std::lock_guard lock(m_mutex);
        if (m_poisoned)
            return;
        m_poisoned = true;
        m_reason = reason;
        all.poison();
        for (auto& [devices, meeting] : m_meetings)
            meeting->enter.poison();
    }

    std::string reason() {
        const std::lock_guard lock(m_mutex);
        return m_reason;
    }

    WaitPolicy policy;
    const std::size_t smallAllReduce;
    Gate all;

private:
    const int m_count;
    std::mutex m_mutex;
    std::map<DeviceGroup, std::shared_ptr<Meeting>> m_meetings;
    bool m_poisoned = false;
    std::string m_reason;
};

class ThreadCommunicator : public Communicator {
public:
    ThreadCommunicator(std::shared_ptr<World> world, DeviceId device)
        : m_world(std::move(world)), m_device(device) {}

    DeviceId device() const override { return m_device; }

    Result<void> run(const CollectiveCall& call) override {
        auto seat = seatAt(*call.devices);
        if (!seat)
            return seat.error();
        Seat& at = **seat;
        auto& places = at.meeting->places[at.turn];
        at.turn ^= 1;
        Meeting::Place& own = places[at.rank];
        own.call = call;
        if (isSmall(call)) {
            own.scratch.resize(Meeting::kScratch);
            if (call.send.bytes > 0)
                std::memcpy(own.scratch.data(), call.send.data, call.send.bytes);
            own.call.send.data = own.scratch.data();
        }
        if (!wait(at.meeting->enter))
            return Error{m_world->reason(), {}};
        // All find the same, also where a device's size is wrong.
        const bool small = std::all_of(places.begin(), places.end(),
                                       [&](const auto& p) { return isSmall(p.call); });
        auto fits = checkCalls(places, at.meeting->devices);
        if (fits)
            small ? joinSmall(places, call) : moveData(places, at.meeting->devices, at.rank);
        // A small all-reduce reads only scratch memory, which is next written after everybody has
        // entered another call.
        if (!small)
            wait(at.meeting->leave);
        if (fits)
            m_counter.count(call, m_device);
        return fits;
    }

    Result<void> barrier() override {
        if (!wait(m_world->all))
            return Error{m_world->reason(), {}};
        return {};
    }

    void poison(const std::string& reason) override { m_world->poison(reason); }
    void beginPass() override { m_counter.reset(); }
    CollectiveCounts executed() const override { return m_counter.counts(); }
    std::int64_t waitedNanoseconds() const override { return m_waited; }

private:
    /// This device's place in one group.
    struct Seat {
        std::shared_ptr<Meeting> meeting;
        std::size_t rank = 0;
        std::size_t turn = 0;
    };

    Result<Seat*> seatAt(const DeviceGroup& devices) {
        auto it = m_seats.find(devices);
        if (it == m_seats.end()) {
            const auto own = std::find(devices.begin(), devices.end(), m_device);
            if (own == devices.end())
                return Error{"device " + std::to_string(m_device) +
                                 " is not in the group that it calls",
                             {}};
            auto meeting = m_world->meeting(devices);
            if (!meeting)
                return meeting.error();
            it = m_seats
                     .emplace(devices,
                              Seat{*meeting, static_cast<std::size_t>(own - devices.begin())})
                     .first;
        }
        return &it->second;
    }

    bool isSmall(const CollectiveCall& call) const {
        return call.kind == CollectiveKind::AllReduce &&
               call.send.bytes <= m_world->smallAllReduce && call.send.memory == MemoryKind::Host;
    }

    bool wait(Gate& gate) {
        const auto begin = std::chrono::steady_clock::now();
        const bool passed = gate.pass(m_world->policy);
        m_waited += std::chrono::duration_cast<std::chrono::nanoseconds>(
                        std::chrono::steady_clock::now() - begin)
                        .count();
        return passed;
    }

    static void joinSmall(const std::vector<Meeting::Place>& places, const CollectiveCall& call) {
        std::vector<const std::byte*> inputs;
        for (const Meeting::Place& place : places)
            inputs.push_back(place.call.send.data);
        std::byte* const own[] = {call.receive.data};
        const int size = std::max(1, elementBits(call.send.elementType) / 8);
        reduceElements(call.reduce, call.send.elementType, inputs, own,
                       static_cast<std::int64_t>(call.send.bytes) / size);
    }

    std::shared_ptr<World> m_world;
    const DeviceId m_device;
    std::map<DeviceGroup, Seat> m_seats;
    CollectiveCounter m_counter;
    std::int64_t m_waited = 0;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>>
makeThreadCommunicators(int count, const ThreadCommunicatorOptions& options) {
    auto world = std::make_shared<World>(count, options);
    std::vector<std::unique_ptr<Communicator>> ends;
    for (DeviceId device = 0; device < count; ++device)
        ends.push_back(std::make_unique<ThreadCommunicator>(world, device));
    return ends;
}

}  // namespace shardwright
