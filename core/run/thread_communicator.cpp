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

/// The memory of this process.
class HostMover : public DataMover, MemoryOperations {
public:
    MemoryKind memory() const override { return MemoryKind::Host; }
    Result<void> ready() override { return {}; }
    Result<void> move(Calls calls, const DeviceGroup& devices, std::size_t rank) override {
        moveData(calls, devices, rank, *this);
        return {};
    }

private:
    void copy(std::byte* target, const std::byte* source, std::size_t bytes) override {
        std::memcpy(target, source, bytes);
    }
    void join(ReduceKind kind, std::int32_t type, std::span<const std::byte* const> inputs,
              std::span<std::byte* const> outputs, std::int64_t count) override {
        reduceElements(kind, type, inputs, outputs, count);
    }
};

class ThreadCommunicator : public Communicator {
public:
    ThreadCommunicator(std::shared_ptr<World> world, DeviceId device,
                       std::unique_ptr<DataMover> mover)
        : m_world(std::move(world)), m_device(device), m_mover(std::move(mover)) {}

    DeviceId device() const override { return m_device; }

    Result<void> run(const CollectiveCall& call) override {
        if (auto started = start({&call, 1}); !started)
            return started;
        return finish(0);
    }

    Result<void> start(std::span<const CollectiveCall> bucket) override {
        m_bucket.clear();
        for (const CollectiveCall& call : bucket) {
            auto seat = seatAt(*call.devices);
            if (!seat)
                return seat.error();
            m_bucket.push_back({*seat, 0});
        }
        if (auto ready = m_mover->ready(); !ready)
            return ready;
        for (Entry& entry : m_bucket)
            entry.seat->places = nullptr;
        for (std::size_t i = 0; i < bucket.size(); ++i) {
            Seat& seat = *m_bucket[i].seat;
            if (!seat.places)
                takeSeat(seat);
            auto& calls = seat.own().calls;
            m_bucket[i].index = calls.size();
            calls.push_back(bucket[i]);
        }
        for (const Entry& entry : m_bucket)
            if (entry.index == 0) {
                copySmall(entry.seat->own());
                entry.seat->round = entry.seat->meeting->enter.arrive();
            }
        return {};
    }

    Result<void> finish(std::size_t index) override {
        const auto [at, number] = m_bucket[index];
        Seat& seat = *at;
        if (number == 0)
            enter(seat);
        if (!seat.entered)
            return Error{m_world->reason(), {}};
        Result<void> done = seat.agree;
        if (done) {
            m_calls.clear();
            for (const Meeting::Place& place : *seat.places)
                m_calls.push_back(&place.calls[number]);
            done = checkCalls(m_calls, seat.meeting->devices, m_mover->memory());
        }
        if (done) {
            if (seat.small)
                joinSmall(m_calls, seat.rank);
            else
                done = m_mover->move(m_calls, seat.meeting->devices, seat.rank);
            m_counter.count(seat.own().calls[number], m_device);
        }
        // Small all-reduces read only scratch memory, which is next written after everybody has
        // entered another bucket.
        if (number + 1 == seat.own().calls.size() && !seat.small)
            awaitGate(seat.meeting->leave, seat.meeting->leave.arrive());
        return done;
    }

    Result<void> barrier() override {
        if (!awaitGate(m_world->all, m_world->all.arrive()))
            return Error{m_world->reason(), {}};
        return {};
    }

    void poison(const std::string& reason) override { m_world->poison(reason); }
    void beginPass() override { m_counter.reset(); }
    CollectiveCounts executed() const override { return m_counter.counts(); }
    std::int64_t waitedNanoseconds() const override { return m_waited; }

private:
    /// This device's place in one group, and its present bucket there.
    struct Seat {
        std::shared_ptr<Meeting> meeting;
        std::size_t rank = 0;
        std::size_t turn = 0;
        std::vector<Meeting::Place>* places = nullptr;
        std::uint32_t round = 0;
        bool entered = false, small = false;
        Result<void> agree;  ///< Whether all brought as many calls.

        Meeting::Place& own() { return (*places)[rank]; }
    };
    struct Entry {
        Seat* seat = nullptr;
        std::size_t index = 0;  ///< Among the calls of its group.
    };

    static void takeSeat(Seat& seat) {
        seat.places = &seat.meeting->places[seat.turn];
        seat.turn ^= 1;
        seat.own().calls.clear();
    }

    void copySmall(Meeting::Place& own) const {
        std::size_t bytes = 0;
        own.small = true;
        for (const CollectiveCall& call : own.calls) {
            own.small = own.small && isSmall(call);
            bytes += inScratch(call);
        }
        own.small = own.small && bytes <= m_world->smallAllReduce;
        if (!own.small)
            return;
        own.scratch.resize(Meeting::kScratch);
        std::byte* to = own.scratch.data();
        for (CollectiveCall& call : own.calls) {
            if (call.send.bytes > 0)
                std::memcpy(to, call.send.data, call.send.bytes);
            call.send.data = to;
            to += inScratch(call);
        }
    }
    static std::size_t inScratch(const CollectiveCall& call) {
        return (call.send.bytes + Buffer::kAlignment - 1) / Buffer::kAlignment * Buffer::kAlignment;
    }

    /// Waits for the others' calls. All find the same, also where a device's sizes are wrong.
    void enter(Seat& seat) {
        seat.entered = awaitGate(seat.meeting->enter, seat.round);
        if (!seat.entered)
            return;
        const auto& places = *seat.places;
        seat.small =
            std::all_of(places.begin(), places.end(), [](const auto& p) { return p.small; });
        seat.agree = {};
        for (std::size_t rank = 0; rank < places.size(); ++rank)
            if (places[rank].calls.size() != places[0].calls.size() && seat.agree)
                seat.agree = Error{"device " + std::to_string(seat.meeting->devices[rank]) +
                                       " starts " + std::to_string(places[rank].calls.size()) +
                                       " group operations together, device " +
                                       std::to_string(seat.meeting->devices[0]) + " " +
                                       std::to_string(places[0].calls.size()),
                                   {}};
    }

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
            Seat seat;
            seat.meeting = *meeting;
            seat.rank = static_cast<std::size_t>(own - devices.begin());
            it = m_seats.emplace(devices, std::move(seat)).first;
        }
        return &it->second;
    }

    bool isSmall(const CollectiveCall& call) const {
        return call.kind == CollectiveKind::AllReduce &&
               call.send.bytes <= m_world->smallAllReduce && call.send.memory == MemoryKind::Host &&
               m_mover->memory() == MemoryKind::Host;
    }

    bool awaitGate(Gate& gate, std::uint32_t round) {
        const auto begin = std::chrono::steady_clock::now();
        const bool passed = gate.await(round, m_world->policy);
        m_waited += std::chrono::duration_cast<std::chrono::nanoseconds>(
                        std::chrono::steady_clock::now() - begin)
                        .count();
        return passed;
    }

    void joinSmall(Calls calls, std::size_t rank) {
        const CollectiveCall& own = *calls[rank];
        m_inputs.clear();
        for (const CollectiveCall* call : calls)
            m_inputs.push_back(call->send.data);
        std::byte* const output[] = {own.receive.data};
        const int size = std::max(1, elementBits(own.send.elementType) / 8);
        reduceElements(own.reduce, own.send.elementType, m_inputs, output,
                       static_cast<std::int64_t>(own.send.bytes) / size);
    }

    std::shared_ptr<World> m_world;
    const DeviceId m_device;
    const std::unique_ptr<DataMover> m_mover;
    std::map<DeviceGroup, Seat> m_seats;
    std::vector<Entry> m_bucket;
    std::vector<const CollectiveCall*> m_calls;
    std::vector<const std::byte*> m_inputs;
    CollectiveCounter m_counter;
    std::int64_t m_waited = 0;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>>
makeThreadCommunicators(int count, const ThreadCommunicatorOptions& options) {
    auto world = std::make_shared<World>(count, options);
    std::vector<std::unique_ptr<Communicator>> ends;
    for (DeviceId device = 0; device < count; ++device)
        ends.push_back(std::make_unique<ThreadCommunicator>(
            world, device,
            options.makeMover ? options.makeMover(device) : std::make_unique<HostMover>()));
    return ends;
}

}  // namespace shardwright
