// SPDX-License-Identifier: Apache-2.0
#include "run/mpi_communicator.h"

#include "model/shapes.h"
#include "run/call_header.h"
#include "run/reduce.h"
#include "run/string_pool.h"
#include "run/thread_meeting.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>

namespace shardwright {

namespace {

using Counts = std::vector<std::size_t>;

std::size_t sum(MpiGroup::Counts counts) {
    return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

std::byte* bytesOf(void* data) {
    return static_cast<std::byte*>(data);
}

/// One device group and its communicator of MPI.
struct Seat {
    std::unique_ptr<MpiGroup> group;
    std::size_t rank = 0;
    CallHeader own;
    std::vector<std::byte> heads, tails;
    std::size_t sharedStrings = 0;  ///< So many of the pool all of the group know.
};

/// What operations that are under way may write to.
struct State {
    std::map<DeviceGroup, Seat> seats;
    std::vector<std::byte> blocks;
};

class MpiCommunicator : public Communicator {
public:
    MpiCommunicator(std::shared_ptr<MpiConnection> connection, std::size_t small)
        : m_connection(std::move(connection)), m_small(small),
          m_device(m_connection->library.rank()) {}

    ~MpiCommunicator() override {
        // What was given up is still under way.
        if (!m_connection->alive())
            (void)m_state.release();
    }

    DeviceId device() const override { return m_device; }

    Result<void> run(const CollectiveCall& call) override {
        if (auto alive = m_connection->alive(); !alive)
            return alive;
        auto found = seatAt(*call.devices);
        if (!found)
            return found.error();
        Seat& seat = **found;
        auto all = showCalls(seat, call);
        if (!all)
            return all.error();
        std::vector<const CollectiveCall*> calls;
        for (const CollectiveCall& one : *all)
            calls.push_back(&one);
        if (auto fit = checkCalls(calls, *call.devices); !fit)
            return fit;
        auto moved = move(seat, calls, call);
        if (moved)
            m_counter.count(call, m_device);
        return moved;
    }

    Result<void> shareStrings(const DeviceGroup& devices, StringPool& strings) override {
        auto found = seatAt(devices);
        if (!found)
            return found.error();
        Seat& seat = **found;
        const std::size_t n = devices.size();
        const std::string own = strings.packed(seat.sharedStrings);
        std::vector<std::uint64_t> sizes(n);
        const std::uint64_t size = own.size();
        seat.group->allGather(reinterpret_cast<const std::byte*>(&size), bytesOf(sizes.data()),
                              Counts(n, sizeof size));
        if (auto shown = timedWait(*seat.group); !shown)
            return shown;
        const Counts counts(sizes.begin(), sizes.end());
        std::string all(sum(counts), '\0');
        m_asMessages = all.size() > m_connection->library.largestMessage;
        if (auto gathered = allGather(seat, reinterpret_cast<const std::byte*>(own.data()),
                                      bytesOf(all.data()), counts);
            !gathered)
            return gathered;
        if (auto added = strings.addPacked(all); !added)
            return added;
        seat.sharedStrings = strings.size();
        return {};
    }

    Result<void> barrier() override {
        if (auto alive = m_connection->alive(); !alive)
            return alive;
        m_connection->all->barrier();
        return timedWait(*m_connection->all);
    }

    void poison(const std::string& reason) override { m_connection->poison(reason); }
    void beginPass() override { m_counter.reset(); }
    CollectiveCounts executed() const override { return m_counter.counts(); }
    std::int64_t waitedNanoseconds() const override { return m_waited; }

private:
    Result<void> wait(Seat& seat) { return m_connection->wait(*seat.group); }

    Result<void> timedWait(MpiGroup& group) {
        const auto begin = std::chrono::steady_clock::now();
        auto done = m_connection->wait(group);
        m_waited += std::chrono::duration_cast<std::chrono::nanoseconds>(
                        std::chrono::steady_clock::now() - begin)
                        .count();
        return done;
    }

    Result<Seat*> seatAt(const DeviceGroup& devices) {
        auto it = m_state->seats.find(devices);
        if (it != m_state->seats.end())
            return &it->second;
        if (devices.size() < 2 || devices.front() < 0 || devices.back() >= m_connection->count() ||
            !std::is_sorted(devices.begin(), devices.end()))
            return Error{
                "a group operation needs at least two devices of the run, in ascending order", {}};
        const auto own = std::find(devices.begin(), devices.end(), m_device);
        if (own == devices.end())
            return Error{
                "device " + std::to_string(m_device) + " is not in the group that it calls", {}};
        // Making an MPI communicator cannot be given up, so that is begun when all are there.
        MpiGroup& all = *m_connection->all;
        for (const DeviceId device : devices)
            if (device != m_device) {
                all.send(nullptr, 0, device);
                all.receive(nullptr, 0, device);
            }
        if (auto there = timedWait(all); !there)
            return there.error();
        Seat seat{m_connection->library.group(devices),
                  static_cast<std::size_t>(own - devices.begin()),
                  {},
                  {},
                  {},
                  0};
        return &m_state->seats.emplace(devices, std::move(seat)).first->second;
    }

    /// The calls of all devices of the group. Those of others have no data, but addresses that say
    /// whether they have.
    Result<std::vector<CollectiveCall>> showCalls(Seat& seat, const CollectiveCall& call) {
        const std::size_t n = call.devices->size();
        auto& group = seat.group;
        auto& own = seat.own;
        auto &heads = seat.heads, &tails = seat.tails;
        const std::size_t rank = seat.rank;
        own = CallHeader::of(call);
        heads.resize(n * CallHeader::kFixedBytes);
        group->allGather(own.fixed(), heads.data(), Counts(n, CallHeader::kFixedBytes));
        if (auto shown = timedWait(*group); !shown)
            return shown.error();
        Counts rests;
        for (std::size_t r = 0; r < n; ++r)
            rests.push_back(CallHeader::restBytes(&heads[r * CallHeader::kFixedBytes]));
        tails.resize(sum(rests) + 1);
        if (sum(rests) > 0) {
            group->allGather(own.rest(), tails.data(), rests);
            if (auto shown = wait(seat); !shown)
                return shown.error();
        }
        m_headers.resize(n);
        std::vector<CollectiveCall> calls(n);
        std::size_t offset = 0;
        for (std::size_t r = 0; r < n; ++r) {
            m_headers[r] =
                CallHeader::join(&heads[r * CallHeader::kFixedBytes], &tails[offset], rests[r]);
            calls[r] = m_headers[r].call();
            offset += rests[r];
        }
        calls[rank] = call;
        return calls;
    }

    Result<void> move(Seat& seat, Calls calls, const CollectiveCall& call) {
        const DeviceGroup& devices = *call.devices;
        const std::size_t n = devices.size();
        // All decide alike.
        std::size_t most = 0;
        for (const CollectiveCall* one : calls)
            most = std::max({most, one->send.bytes, one->receive.bytes});
        m_asMessages = n * (most + kLine) > m_connection->library.largestMessage;
        const std::size_t root = static_cast<std::size_t>(
            std::lower_bound(devices.begin(), devices.end(), call.root) - devices.begin());
        switch (call.kind) {
            case CollectiveKind::AllReduce:
                return call.send.bytes <= m_small ? allReduceSmall(seat, call, n)
                                                  : allReduce(seat, call, n);
            case CollectiveKind::Reduce: return reduce(seat, calls, call, root);
            case CollectiveKind::ReduceScatter: {
                const std::size_t own = call.counts[seat.rank];
                if (auto blocks = collect(seat, call.send.data, call.counts, Counts(n, own));
                    !blocks)
                    return blocks;
                join(call, Counts(n, own), call.receive.data, own);
                return {};
            }
            case CollectiveKind::AllGather:
                return allGather(seat, call.send.data, call.receive.data, call.counts);
            case CollectiveKind::AllToAll:
                return allToAll(seat, call.send.data, call.counts, call.receive.data,
                                call.receiveCounts);
            case CollectiveKind::Broadcast: return broadcast(seat, calls, call, root);
            case CollectiveKind::Scatter: {
                Counts in(n, 0), out(n, 0);
                in[root] = call.receive.bytes;
                if (seat.rank == root)
                    out.assign(call.counts.begin(), call.counts.end());
                return allToAll(seat, call.send.data, out, call.receive.data, in);
            }
            default: return messages(seat, call);
        }
    }

    // --- moving bytes
    // -----------------------------------------------------------------------------

    Result<void> allGather(Seat& seat, const std::byte* send, std::byte* receive,
                           MpiGroup::Counts counts) {
        if (m_asMessages)
            return allToAll(seat, send, Counts(counts.size(), counts[seat.rank]), receive, counts,
                            true);
        seat.group->allGather(send, receive, counts);
        return wait(seat);
    }

    /// With `sameToAll` there is one block to send.
    Result<void> allToAll(Seat& seat, const std::byte* send, MpiGroup::Counts sendCounts,
                          std::byte* receive, MpiGroup::Counts receiveCounts,
                          bool sameToAll = false) {
        if (!m_asMessages) {
            seat.group->allToAll(send, sendCounts, receive, receiveCounts);
            return wait(seat);
        }
        std::size_t from = 0, to = 0;
        for (std::size_t r = 0; r < sendCounts.size(); ++r) {
            const int rank = static_cast<int>(r);
            if (r == seat.rank) {
                if (receiveCounts[r] > 0 && receive + to != send + from)
                    std::memcpy(receive + to, send + from, receiveCounts[r]);
            } else {
                if (receiveCounts[r] > 0)
                    seat.group->receive(receive + to, receiveCounts[r], rank);
                if (sendCounts[r] > 0)
                    seat.group->send(send + from, sendCounts[r], rank);
            }
            to += receiveCounts[r];
            from += sameToAll ? 0 : sendCounts[r];
        }
        return wait(seat);
    }

    /// Everybody's block for this device into m_state->blocks.
    Result<void> collect(Seat& seat, const std::byte* send, MpiGroup::Counts sendCounts,
                         const Counts& receiveCounts) {
        m_state->blocks.resize(std::max(m_state->blocks.size(), sum(receiveCounts) + 1));
        return allToAll(seat, send, sendCounts, m_state->blocks.data(), receiveCounts);
    }

    /// Joins what collect() brought; blocks of no bytes are of devices that have nothing to add.
    void join(const CollectiveCall& call, const Counts& counts, std::byte* out,
              std::size_t bytes) const {
        std::vector<const std::byte*> inputs;
        std::size_t offset = 0;
        for (const std::size_t count : counts) {
            if (count > 0)
                inputs.push_back(m_state->blocks.data() + offset);
            offset += count;
        }
        const std::int32_t type = call.receive.elementType;
        if (!inputs.empty() && bytes > 0)
            reduceElements(call.reduce, type, inputs, {&out, 1},
                           static_cast<std::int64_t>(bytes / sizeOf(type)));
    }

    static std::size_t sizeOf(std::int32_t type) {
        return static_cast<std::size_t>(std::max(1, elementBits(type) / 8));
    }

    // --- the kinds
    // --------------------------------------------------------------------------------

    Result<void> allReduceSmall(Seat& seat, const CollectiveCall& call, std::size_t n) {
        const Counts counts(n, call.send.bytes);
        m_state->blocks.resize(std::max(m_state->blocks.size(), sum(counts) + 1));
        if (auto all = allGather(seat, call.send.data, m_state->blocks.data(), counts); !all)
            return all;
        join(call, counts, call.receive.data, call.send.bytes);
        return {};
    }

    Result<void> allReduce(Seat& seat, const CollectiveCall& call, std::size_t n) {
        const std::size_t size = sizeOf(call.send.elementType), count = call.send.bytes / size;
        const std::size_t line = std::max<std::size_t>(1, kLine / size);
        const std::size_t chunk = ((count + n - 1) / n + line - 1) / line * line;
        Counts counts;
        for (std::size_t r = 0; r < n; ++r)
            counts.push_back((std::min(count, (r + 1) * chunk) - std::min(count, r * chunk)) *
                             size);
        const std::size_t own = counts[seat.rank],
                          begin = std::min(count, seat.rank * chunk) * size;
        if (auto blocks = collect(seat, call.send.data, counts, Counts(n, own)); !blocks)
            return blocks;
        join(call, Counts(n, own), call.receive.data + begin, own);
        return allGather(seat, call.receive.data + begin, call.receive.data, counts);
    }

    Result<void> reduce(Seat& seat, Calls calls, const CollectiveCall& call, std::size_t root) {
        Counts out(calls.size(), 0), in(calls.size(), 0);
        out[root] = call.send.bytes;
        if (seat.rank == root)
            for (std::size_t r = 0; r < calls.size(); ++r)
                in[r] = calls[r]->send.bytes;
        if (auto blocks = collect(seat, call.send.data, out, in); !blocks)
            return blocks;
        if (seat.rank == root)
            join(call, in, call.receive.data, call.receive.bytes);
        return {};
    }

    Result<void> broadcast(Seat& seat, Calls calls, const CollectiveCall& call, std::size_t root) {
        const std::size_t bytes = calls[root]->send.bytes;
        const bool isRoot = seat.rank == root;
        // MPI only reads the root's.
        std::byte* data = isRoot ? const_cast<std::byte*>(call.send.data) : call.receive.data;
        seat.group->broadcast(data, bytes, static_cast<int>(root));
        if (auto done = wait(seat); !done)
            return done;
        if (isRoot && call.receive.data && bytes > 0)
            std::memcpy(call.receive.data, call.send.data, bytes);
        return {};
    }

    Result<void> messages(Seat& seat, const CollectiveCall& call) {
        const auto rankOf = [&](DeviceId device) {
            const DeviceGroup& devices = *call.devices;
            return static_cast<int>(std::lower_bound(devices.begin(), devices.end(), device) -
                                    devices.begin());
        };
        for (const ReceiveMessage& message : call.receives)
            seat.group->receive(message.data.data, message.data.bytes, rankOf(message.from));
        for (const SendMessage& message : call.sends)
            seat.group->send(message.data.data, message.data.bytes, rankOf(message.to));
        return wait(seat);
    }

    static constexpr std::size_t kLine = 64;

    std::shared_ptr<MpiConnection> m_connection;
    const std::size_t m_small;
    const DeviceId m_device;
    std::unique_ptr<State> m_state = std::make_unique<State>();
    std::vector<CallHeader> m_headers;
    bool m_asMessages = false;  ///< More bytes than MPI counts in one operation.
    CollectiveCounter m_counter;
    std::int64_t m_waited = 0;
};

}  // namespace

std::unique_ptr<Communicator> makeMpiCommunicator(std::shared_ptr<MpiConnection> connection,
                                                  std::size_t small) {
    return std::make_unique<MpiCommunicator>(std::move(connection), small);
}

}  // namespace shardwright
