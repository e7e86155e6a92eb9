// SPDX-License-Identifier: Apache-2.0
#include "run/device_runner.h"

#include "model/shapes.h"
#include "run/life_times.h"
#include "run/reduce.h"

#include <algorithm>

namespace shardwright {

namespace {

double milliseconds(std::chrono::steady_clock::duration d) {
    return std::chrono::duration<double, std::milli>(d).count();
}
double microseconds(std::chrono::steady_clock::duration d) {
    return std::chrono::duration<double, std::micro>(d).count();
}

/// What the first of all threads put there.
std::chrono::steady_clock::time_point sharedTime(std::atomic<std::int64_t>& first,
                                                 std::chrono::steady_clock::time_point own) {
    using Duration = std::chrono::steady_clock::duration;
    std::int64_t found = 0;
    const std::int64_t mine = own.time_since_epoch().count();
    if (first.compare_exchange_strong(found, mine))
        return own;
    return std::chrono::steady_clock::time_point(Duration(found));
}

}  // namespace

DeviceRunner::DeviceRunner(const Plan& plan, const DeviceProgram& program,
                           std::unique_ptr<KernelEngine> engine,
                           std::unique_ptr<Communicator> communicator, StringPool* strings)
    : m_plan(plan), m_program(program), m_engine(std::move(engine)),
      m_communicator(std::move(communicator)), m_strings(strings), m_pool(*m_engine),
      m_buffers(program.tensors.size()), m_kept(program.tensors.size()),
      m_isInput(program.tensors.size()), m_sessions(program.segments.size()) {}

Result<void> DeviceRunner::prepare(const InputSet& inputs) {
    for (const Segment& segment : m_program.segments) {
        m_pool.hold(segment.modelBytes.size());
        for (const Segment::WeightUse& use : segment.weights)
            m_pool.hold(static_cast<std::size_t>(
                m_plan.weights[static_cast<std::size_t>(use.weight)].bytes));
    }
    if (auto loaded = loadInputs(inputs); !loaded)
        return loaded;
    if (auto made = makeTransfers(); !made)
        return made;
    findLifeTimes();
    // Copies of a phase are two steps where a segment runs beside its exchanges.
    std::size_t steps = m_program.segments.size() + 2 * m_copies.size();
    for (const auto& exchanges : m_exchanges)
        steps += exchanges.size();
    m_log.reserve(steps);
    return {};
}

Result<void> DeviceRunner::loadInputs(const InputSet& inputs) {
    const auto device = static_cast<std::size_t>(&m_program - m_plan.devices.data());
    for (const Plan::Port& port : m_plan.inputs) {
        const Buffer& whole = inputs.at(port.name);
        for (const int index : port.tensors[device]) {
            const LocalTensor& local = tensor(index);
            m_isInput[static_cast<std::size_t>(index)] = true;
            auto copy = RegionCopy::make(Box::whole(port.shape), local.box, local.box,
                                         elementBits(storedType(port.elementType)));
            if (!copy)
                return Error{copy.error().message, "input `" + port.name + "`"};
            if (copy->wholeToWhole() && m_engine->memory() == MemoryKind::Host) {
                buffer(index) = whole;  // Nobody writes an input, so the devices share it.
                m_pool.hold(whole.bytes());
                continue;
            }
            auto cut = Buffer::host(storedType(port.elementType), local.dims());
            if (!cut)
                return cut.error();
            copy->run(whole.data(), cut->data());
            auto own = m_pool.take(storedType(port.elementType), local.dims());
            if (!own)
                return own.error();
            if (auto loaded = m_engine->fromHost(cut->data(), own->view()); !loaded)
                return loaded;
            buffer(index) = std::move(*own);
        }
    }
    return m_engine->synchronize();
}

Result<void> DeviceRunner::makeTransfers() {
    const auto phases = static_cast<std::size_t>(m_plan.phases);
    m_copies.resize(phases);
    m_exchanges.resize(phases);
    for (const DeviceProgram::LocalCopy& copy : m_program.copies) {
        auto made = makeTransfer(copy, m_program);
        if (!made)
            return made.error();
        m_copies[static_cast<std::size_t>(copy.phase)].push_back(std::move(*made));
    }
    for (std::size_t phase = 0; phase < m_plan.exchanges.size(); ++phase)
        for (std::size_t i = 0; i < m_plan.exchanges[phase].size(); ++i) {
            const Exchange& exchange = m_plan.exchanges[phase][i];
            const DeviceGroup& devices = exchange.operation.devices;
            if (!std::binary_search(devices.begin(), devices.end(), m_program.device))
                continue;
            auto made = makeTransfer(exchange, m_program);
            if (!made)
                return made.error();
            PhaseExchange& added = m_exchanges[phase].emplace_back();
            added.index = static_cast<int>(i);
            added.transfer = std::move(*made);
        }
    return {};
}

void DeviceRunner::findLifeTimes() {
    const LifeTimes times = lifeTimes(m_plan, m_program);
    m_kept = times.isKept;
    m_releases.resize(static_cast<std::size_t>(times.steps));
    for (std::size_t i = 0; i < times.last.size(); ++i)
        if (times.last[i] >= 0 && !m_kept[i] && !times.isInput[i])
            m_releases[static_cast<std::size_t>(times.last[i])].push_back(static_cast<int>(i));
}

void DeviceRunner::release(int step) {
    for (const int index : m_releases[static_cast<std::size_t>(step)])
        if (buffer(index))
            m_pool.give(std::exchange(buffer(index), Buffer()));
}

Result<void> DeviceRunner::ensure(int index) {
    if (buffer(index))
        return {};
    auto made = m_pool.take(storedType(tensor(index).elementType), tensor(index).dims());
    if (!made)
        return Error{made.error().message, "device " + std::to_string(m_program.device) +
                                               ", tensor `" + tensor(index).name + "`"};
    buffer(index) = std::move(*made);
    return {};
}

Result<void> DeviceRunner::pass(std::atomic<std::int64_t>* sharedBegin) {
    // Outputs of the last pass.
    for (std::size_t i = 0; i < m_buffers.size(); ++i)
        if (m_kept[i] && !m_isInput[i] && m_buffers[i])
            m_pool.give(std::exchange(m_buffers[i], Buffer()));
    m_log.begin(sharedBegin != nullptr);
    m_communicator->beginPass();
    if (auto together = m_communicator->barrier(); !together)
        return together;
    m_passBegin = Clock::now();
    m_origin = sharedBegin ? sharedTime(*sharedBegin, m_passBegin) : m_passBegin;
    std::size_t segment = 0;
    for (int phase = 0; phase < m_plan.phases; ++phase) {
        if (auto ran = runSegments(phase, false, segment); !ran)
            return ran;
        release(stepOf(phase, StepKind::Segment));
        if (auto copied = runCopies(phase); !copied)
            return copied;
        release(stepOf(phase, StepKind::Copy));
        auto begin = Clock::now();
        if (auto started = startExchanges(phase); !started)
            return started;
        const bool beside =
            segment < m_program.segments.size() && m_program.segments[segment].phase == phase;
        if (beside)
            record({Span::Kind::Copy, m_program.device, phase, 0}, begin, -1);
        auto ran = runSegments(phase, true, segment);
        if (beside)
            begin = Clock::now();
        auto exchanged = finishExchanges(phase, begin);
        if (!ran)
            return ran;
        if (!exchanged)
            return exchanged;
        release(stepOf(phase, StepKind::Exchange));
        m_phasesDone.fetch_add(1, std::memory_order_relaxed);
    }
    if (auto done = m_engine->synchronize(); !done)
        return done;
    auto together = m_communicator->barrier();
    m_passMs = milliseconds(Clock::now() - m_passBegin);
    return together;
}

std::string DeviceRunner::segmentPlace(std::size_t index) const {
    const Segment& segment = m_program.segments[index];
    return "device " + std::to_string(m_program.device) + ", segment " +
           std::to_string(segment.phase) + " of " + std::to_string(segment.nodes.size()) + " nodes";
}

Result<void> DeviceRunner::makeSession(std::size_t index) {
    const Segment& segment = m_program.segments[index];
    SegmentSource source{segment.modelBytes,
                         {},
                         {},
                         segment.nodes.size(),
                         segmentPlace(index),
                         segment.weights,
                         &m_plan,
                         index,
                         {},
                         {}};
    for (const int i : segment.inputs) {
        source.inputs.push_back(tensor(i).name);
        source.stringInputs.push_back(isString(tensor(i).elementType));
    }
    for (const int i : segment.outputs) {
        source.outputs.push_back(tensor(i).name);
        source.stringOutputs.push_back(isString(tensor(i).elementType));
    }
    const auto begin = Clock::now();
    auto session = m_engine->createSession(source);
    m_prepareMs += milliseconds(Clock::now() - begin);
    if (!session)
        return session.error();
    m_sessions[index] = std::move(*session);
    return {};
}

Result<void> DeviceRunner::runSegments(int phase, bool beside, std::size_t& next) {
    for (; next < m_program.segments.size() && m_program.segments[next].phase == phase &&
           m_program.segments[next].besideExchanges == beside;
         ++next)
        if (auto ran = runSegment(next); !ran)
            return ran;
    return {};
}

Result<void> DeviceRunner::runSegment(std::size_t index) {
    const Segment& segment = m_program.segments[index];
    if (segment.outputs.empty())
        return {};
    if (!m_sessions[index])
        if (auto made = makeSession(index); !made)
            return made;
    const auto begin = Clock::now();
    std::vector<Buffer> inputs, outputs;
    for (const int i : segment.inputs) {
        if (!buffer(i))
            return Error{"the plan reads tensor `" + tensor(i).name +
                             "` before anything has written it",
                         segmentPlace(index)};
        inputs.push_back(buffer(i));
    }
    for (const int i : segment.outputs) {
        if (auto there = ensure(i); !there)
            return there;
        outputs.push_back(buffer(i));
    }
    m_firstKernel = std::min(m_firstKernel, Clock::now());
    auto ran = m_sessions[index]->run(inputs, outputs);
    record({Span::Kind::Segment, m_program.device, segment.phase, static_cast<int>(index)}, begin,
           -1);
    return ran;
}

Result<void> DeviceRunner::runCopies(int phase) {
    const auto& copies = m_copies[static_cast<std::size_t>(phase)];
    if (copies.empty())
        return {};
    const auto begin = Clock::now();
    for (const DeviceTransfer& copy : copies)
        if (auto copied = deliver(copy, {}); !copied)
            return copied;
    record({Span::Kind::Copy, m_program.device, phase, 0}, begin, -1);
    return {};
}

void DeviceRunner::record(Span span, Clock::time_point begin, std::int64_t waitedBefore) {
    span.begin = std::max(0.0, microseconds(begin - m_origin));
    span.duration = microseconds(Clock::now() - begin);
    if (waitedBefore >= 0)
        span.waiting =
            static_cast<double>(m_communicator->waitedNanoseconds() - waitedBefore) / 1000.0;
    m_log.add(span);
}

DeviceTiming DeviceRunner::timing() const {
    DeviceTiming timing;
    timing.device = m_program.device;
    timing.prepareMs = m_prepareMs;
    timing.peakBytes = m_pool.peakBytes();
    for (const Span& span : m_log.all()) {
        timing.waitingMs += span.waiting / 1000;
        (span.kind == Span::Kind::Exchange ? timing.communicationMs : timing.computeMs) +=
            (span.duration - span.waiting) / 1000;
    }
    return timing;
}

Result<void> DeviceRunner::collect(const std::vector<Plan::Port>& ports,
                                   std::vector<RunResult::Output>& outputs) const {
    const auto device = static_cast<std::size_t>(&m_program - m_plan.devices.data());
    for (std::size_t i = 0; i < ports.size(); ++i) {
        for (const int index : ports[i].tensors[device]) {
            const Buffer& held = m_buffers[static_cast<std::size_t>(index)];
            const std::string place =
                "tensor `" + ports[i].name + "` on device " + std::to_string(m_program.device);
            if (!held)
                return Error{"nothing in the plan computes it", place};
            if (held.memory() == MemoryKind::Host) {
                outputs[i].pieces.push_back({m_program.device, tensor(index).box, held});
                continue;
            }
            auto host = Buffer::host(held.elementType(), held.dims());
            if (!host)
                return Error{host.error().message, place};
            if (auto copied = m_engine->toHost(held.view(), host->data()); !copied)
                return copied;
            outputs[i].pieces.push_back({m_program.device, tensor(index).box, std::move(*host)});
        }
    }
    return {};
}

}  // namespace shardwright
