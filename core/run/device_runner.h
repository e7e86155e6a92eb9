// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/buffer_pool.h"
#include "run/exchange_program.h"
#include "run/executor.h"
#include "run/span_log.h"

#include <atomic>
#include <chrono>

namespace shardwright {

/// One device's program with everything it needs to run, used by that device's thread. Outlives all
/// threads, since other devices read its buffers.
class DeviceRunner {
public:
    DeviceRunner(const Plan& plan, const DeviceProgram& program,
                 std::unique_ptr<KernelEngine> engine, std::unique_ptr<Communicator> communicator,
                 StringPool* strings = nullptr);

    /// Works out transfers and life times, cuts the inputs.
    Result<void> prepare(const InputSet& inputs);
    /// One pass through all phases. Makes the sessions when they are first needed.
    /// With `sharedBegin` it is the last one: its spans are published, and their times count from
    /// when the first device began it, which is kept there (0: none has).
    Result<void> pass(std::atomic<std::int64_t>* sharedBegin);
    /// Brings outputs to host memory.
    Result<void> collect(const std::vector<Plan::Port>& ports,
                         std::vector<RunResult::Output>& outputs) const;

    KernelEngine& engine() { return *m_engine; }
    Communicator& communicator() { return *m_communicator; }
    DeviceTiming timing() const;
    std::span<const Span> spans() const { return m_log.all(); }
    // From any thread.
    std::span<const Span> publishedSpans() const { return m_log.published(); }
    DeviceId device() const { return m_program.device; }
    std::int64_t liveBytes() const { return m_pool.liveBytes(); }
    std::int64_t peakBytes() const { return m_pool.peakBytes(); }
    double lastPassMs() const { return m_passMs; }
    /// When this device began its first kernel.
    std::chrono::steady_clock::time_point firstKernel() const { return m_firstKernel; }
    int phasesDone() const { return m_phasesDone.load(std::memory_order_relaxed); }

private:
    using Clock = std::chrono::steady_clock;
    Result<void> loadInputs(const InputSet& inputs);
    Result<void> makeTransfers();
    void findLifeTimes();
    /// From segment `next` on, those of the phase that run before (or beside) its exchanges.
    Result<void> runSegments(int phase, bool beside, std::size_t& next);
    Result<void> runSegment(std::size_t index);
    Result<void> runCopies(int phase);
    /// What a phase's exchanges start with: messages are packed, the calls handed over as one
    /// bucket.
    Result<void> startExchanges(int phase);
    Result<void> finishExchanges(int phase, Clock::time_point begin);
    struct PhaseExchange;
    static Error placed(const Error& error, int phase, const PhaseExchange& exchange);
    Result<void> pack(PhaseExchange& exchange);
    CollectiveCall callOf(PhaseExchange& exchange);
    Result<void> deliver(const DeviceTransfer& transfer, const Buffer& received);
    Result<void> packMessage(const DeviceTransfer& transfer, Buffer& message);
    Result<void> joinInto(const DeviceTransfer& transfer, const Buffer& received, int target);
    Result<void> makeSession(std::size_t index);
    Result<void> ensure(int tensor);
    Result<void> ensureScratch(Buffer& scratch, std::size_t bytes);
    void release(int step);
    void record(Span span, Clock::time_point begin, std::int64_t waitedBefore);
    std::string segmentPlace(std::size_t index) const;
    const LocalTensor& tensor(int index) const {
        return m_program.tensors[static_cast<std::size_t>(index)];
    }
    Buffer& buffer(int index) { return m_buffers[static_cast<std::size_t>(index)]; }

    const Plan& m_plan;
    const DeviceProgram& m_program;
    std::unique_ptr<KernelEngine> m_engine;
    std::unique_ptr<Communicator> m_communicator;
    StringPool* const m_strings;  ///< Null where the plan has none.
    BufferPool m_pool;

    std::vector<Buffer> m_buffers;  ///< By local tensor; empty while it is not alive.
    std::vector<bool> m_kept;       ///< Inputs and outputs: not released within a pass.
    std::vector<bool> m_isInput;
    std::vector<std::vector<int>> m_releases;  ///< By step.
    std::vector<std::unique_ptr<KernelSession>>
        m_sessions;                                     ///< By segment, made when first needed.
    std::vector<std::vector<DeviceTransfer>> m_copies;  ///< By phase.
    struct PhaseExchange {
        int index = 0;
        DeviceTransfer transfer;
        // While it is under way:
        Buffer send, receive;
        std::vector<SendMessage> sends;
        std::vector<ReceiveMessage> receives;
    };
    std::vector<std::vector<PhaseExchange>>
        m_exchanges;  ///< By phase: those that this device is in.
    Buffer m_joined;
    std::vector<CollectiveCall> m_calls;

    SpanLog m_log;
    Clock::time_point m_passBegin, m_firstKernel = Clock::time_point::max();
    Clock::time_point m_origin;  ///< That times of spans count from.
    double m_passMs = 0, m_prepareMs = 0;
    std::atomic<int> m_phasesDone{0};
};

}  // namespace shardwright
