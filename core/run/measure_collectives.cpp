// SPDX-License-Identifier: Apache-2.0
#include "run/calibrate.h"
#include "run/executor.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <new>
#include <thread>

namespace shardwright {

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

struct Case {
    CollectiveKind kind;
    std::size_t bytes;  ///< S
};

/// One device's buffers and its calls.
class Device {
public:
    Device(Communicator& communicator, const DeviceGroup& group)
        : m_communicator(communicator), m_group(group) {}

    Result<void> prepare(const Case& c) {
        const std::size_t n = m_group.size();
        // Zeros stay zeros however often they are added.
        m_send.assign(c.bytes, std::byte{0});
        m_receive.assign(c.bytes, std::byte{0});
        m_call = {};
        m_call.kind = c.kind;
        m_call.devices = &m_group;
        m_call.root = m_group.front();
        m_sends.clear();
        m_receives.clear();
        const std::size_t block = c.bytes / n;
        switch (c.kind) {
            case CollectiveKind::AllReduce:
                m_call.reduce = ReduceKind::Sum;
                m_call.send = view(m_send, c.bytes);
                m_call.receive = view(m_receive, c.bytes);
                break;
            case CollectiveKind::AllGather:
                m_counts.assign(n, block);
                m_call.send = view(m_send, block);
                m_call.receive = view(m_receive, c.bytes);
                m_call.counts = m_counts;
                break;
            case CollectiveKind::ReduceScatter:
                m_call.reduce = ReduceKind::Sum;
                m_counts.assign(n, block);
                m_call.send = view(m_send, c.bytes);
                m_call.receive = view(m_receive, block);
                m_call.counts = m_counts;
                break;
            case CollectiveKind::AllToAll:
                m_counts.assign(n, block / n);
                m_call.send = view(m_send, block);
                m_call.receive = view(m_receive, block);
                m_call.counts = m_counts;
                m_call.receiveCounts = m_counts;
                break;
            default: {
                // Round in a circle.
                const auto rank = static_cast<std::size_t>(m_communicator.device());
                m_sends.push_back({m_group[(rank + 1) % n], view(m_send, block)});
                m_receives.push_back({m_group[(rank + n - 1) % n], view(m_receive, block)});
                m_call.sends = m_sends;
                m_call.receives = m_receives;
            }
        }
        return m_communicator.barrier();
    }

    Result<void> repeat(int times) {
        for (int i = 0; i < times; ++i)
            if (auto done = m_communicator.run(m_call); !done)
                return done;
        return {};
    }
    Communicator& communicator() { return m_communicator; }

private:
    static BufferView view(std::vector<std::byte>& data, std::size_t bytes) {
        return {data.data(), bytes, onnx::TensorProto::FLOAT, MemoryKind::Host};
    }

    Communicator& m_communicator;
    const DeviceGroup& m_group;
    CollectiveCall m_call;
    std::vector<std::byte> m_send, m_receive;
    std::vector<std::size_t> m_counts;
    std::vector<SendMessage> m_sends;
    std::vector<ReceiveMessage> m_receives;
};

class Measurement {
public:
    Measurement(const CalibrationOptions& options, int devices, const CancelToken& cancel)
        : m_cancel(cancel), m_rounds(options.quick ? 3 : 5),
          m_seconds(options.quick ? 0.002 : 0.01) {
        for (DeviceId device = 0; device < devices; ++device)
            m_group.push_back(device);
        const std::vector<std::size_t> sizes =
            options.quick ? std::vector<std::size_t>{4 << 10, 256 << 10}
                          : std::vector<std::size_t>{4 << 10, 64 << 10, 1 << 20, 8 << 20};
        for (const CollectiveKind kind :
             {CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
              CollectiveKind::AllToAll, CollectiveKind::Permute})
            for (const std::size_t bytes : sizes) {
                // Blocks of blocks of whole numbers.
                const std::size_t unit = 4 * m_group.size() * m_group.size();
                m_cases.push_back({kind, (bytes + unit - 1) / unit * unit});
            }
    }

    Result<std::vector<CollectiveSample>>
    run(std::vector<std::unique_ptr<Communicator>> communicators) {
        std::vector<std::thread> threads;
        for (auto& communicator : communicators)
            threads.emplace_back([this, &communicator = *communicator] {
                Device device(communicator, m_group);
                auto done = guarded(device);
                if (done)
                    return;
                communicator.poison(done.error().text());
                const std::lock_guard lock(m_mutex);
                if (m_error.message.empty())
                    m_error = done.error();
            });
        for (std::thread& thread : threads)
            thread.join();
        if (!m_error.message.empty())
            return m_error;
        return std::move(m_samples);
    }

private:
    Result<void> guarded(Device& device) {
        try {
            return measure(device);
        } catch (const std::bad_alloc&) {
            return Error{"no memory", "calibration"};
        }
    }

    Result<void> measure(Device& device) {
        const bool first = device.communicator().device() == m_group.front();
        for (const Case& c : m_cases) {
            std::vector<double> rounds;
            int times = 1;
            // The first round, of one call, says how many fit into the time.
            for (int round = 0; round <= m_rounds; ++round) {
                if (auto ready = round == 0 ? device.prepare(c) : device.communicator().barrier();
                    !ready)
                    return ready;
                if (m_cancel.cancelled())
                    return Error{kCancelled, {}};
                times = round == 0 ? 2 : m_times.load();
                const auto begin = Clock::now();
                if (auto done = device.repeat(times); !done)
                    return done;
                const double seconds = secondsSince(begin) / times;
                if (first && round == 0)
                    m_times = std::clamp(static_cast<int>(m_seconds / std::max(seconds, 1e-8)), 1,
                                         10'000);
                if (round > 0)
                    rounds.push_back(seconds);
                // Nobody begins the next round before the first has said how long it is.
                if (auto together = device.communicator().barrier(); !together)
                    return together;
            }
            if (!first)
                continue;
            std::sort(rounds.begin(), rounds.end());
            m_samples.push_back({c.kind, static_cast<int>(m_group.size()),
                                 static_cast<double>(c.bytes), rounds[rounds.size() / 2]});
        }
        return {};
    }

    const CancelToken& m_cancel;
    const int m_rounds;
    const double m_seconds;  ///< Of a round.
    DeviceGroup m_group;
    std::vector<Case> m_cases;
    std::atomic<int> m_times{1};
    std::vector<CollectiveSample> m_samples;  ///< Of the first device's thread.
    std::mutex m_mutex;
    Error m_error;
};

}  // namespace

Result<std::vector<CollectiveSample>> measureCollectives(const CalibrationOptions& options,
                                                         int devices, const CancelToken& cancel) {
    if (devices < 2)
        return Error{"a collective needs at least two devices, found " + std::to_string(devices),
                     {}};
    return Measurement(options, devices, cancel).run(options.makeCommunicators(devices));
}

}  // namespace shardwright
