// SPDX-License-Identifier: Apache-2.0
#include "run/event_messages.h"

#include <algorithm>

namespace shardwright::wire {

namespace {

template <class Range, class Out>
void append(const Range& values, Out* out) {
    out->Add(values.begin(), values.end());
}

Place put(const RunPlace& place) {
    Place out;
    out.set_name(place.name);
    out.set_index(place.index);
    out.set_scope(place.scope);
    return out;
}
RunPlace get(const Place& place) {
    return {place.name(), place.index(), place.scope()};
}

DeviceTiming put(const RunDeviceTiming& timing) {
    DeviceTiming out;
    out.set_device(timing.device);
    out.set_prepare_ms(timing.prepareMs);
    out.set_compute_ms(timing.computeMs);
    out.set_communication_ms(timing.communicationMs);
    out.set_waiting_ms(timing.waitingMs);
    out.set_peak_bytes(timing.peakBytes);
    out.set_predicted_bytes(timing.predictedBytes);
    return out;
}
RunDeviceTiming get(const DeviceTiming& timing) {
    return {timing.device(),           timing.prepare_ms(), timing.compute_ms(),
            timing.communication_ms(), timing.waiting_ms(), timing.peak_bytes(),
            timing.predicted_bytes()};
}

SegmentTiming put(const RunSegmentTiming& timing) {
    SegmentTiming out;
    out.set_device(timing.device);
    out.set_phase(timing.phase);
    out.set_node_count(timing.nodeCount);
    *out.mutable_first_node() = put(timing.firstNode);
    out.set_begin_us(timing.beginUs);
    out.set_duration_us(timing.durationUs);
    return out;
}
RunSegmentTiming get(const SegmentTiming& timing) {
    return {timing.device(),          timing.phase(),    timing.node_count(),
            get(timing.first_node()), timing.begin_us(), timing.duration_us()};
}

ExchangeTiming put(const RunExchangeTiming& timing) {
    ExchangeTiming out;
    out.set_device(timing.device);
    out.set_phase(timing.phase);
    out.set_kind(timing.kind);
    out.set_tensor(timing.tensor);
    *out.mutable_node() = put(timing.node);
    append(timing.devices, out.mutable_devices());
    out.set_bytes(timing.bytes);
    out.set_begin_us(timing.beginUs);
    out.set_duration_us(timing.durationUs);
    out.set_waiting_us(timing.waitingUs);
    return out;
}
RunExchangeTiming get(const ExchangeTiming& timing) {
    return {timing.device(),      timing.phase(),
            timing.kind(),        timing.tensor(),
            get(timing.node()),   {timing.devices().begin(), timing.devices().end()},
            timing.bytes(),       timing.begin_us(),
            timing.duration_us(), timing.waiting_us()};
}

Memory put(const RunMemory& memory) {
    Memory out;
    out.set_device(memory.device);
    out.set_bytes(memory.bytes);
    out.set_peak_bytes(memory.peakBytes);
    out.set_predicted_bytes(memory.predictedBytes);
    return out;
}
RunMemory get(const Memory& memory) {
    return {memory.device(), memory.bytes(), memory.peak_bytes(), memory.predicted_bytes()};
}

Collective put(const RunCollective& collective) {
    Collective out;
    out.set_kind(collective.kind);
    out.set_tensor(collective.tensor);
    *out.mutable_node() = put(collective.node);
    append(collective.devices, out.mutable_devices());
    out.set_bytes(collective.bytes);
    out.set_phase(collective.phase);
    out.set_measured_us(collective.measuredUs);
    out.set_waiting_us(collective.waitingUs);
    out.set_bytes_per_second(collective.bytesPerSecond);
    if (collective.predictedUs >= 0)
        out.set_predicted_us(collective.predictedUs);
    out.set_cost(collective.cost);
    return out;
}
RunCollective get(const Collective& collective) {
    RunCollective out{collective.kind(),
                      collective.tensor(),
                      get(collective.node()),
                      {collective.devices().begin(), collective.devices().end()},
                      collective.bytes(),
                      collective.phase(),
                      collective.measured_us(),
                      collective.waiting_us(),
                      collective.bytes_per_second(),
                      -1,
                      collective.cost()};
    if (collective.has_predicted_us())
        out.predictedUs = collective.predicted_us();
    return out;
}

Operator put(const RunOperator& one) {
    Operator out;
    out.set_device(one.device);
    out.set_phase(one.phase);
    *out.mutable_node() = put(one.node);
    out.set_op(one.op);
    out.set_kernel(one.kernel);
    out.set_calls(one.calls);
    out.set_median_us(one.medianUs);
    out.set_total_us(one.totalUs);
    return out;
}
RunOperator get(const Operator& one) {
    return {one.device(), one.phase(), get(one.node()), one.op(),
            one.kernel(), one.calls(), one.median_us(), one.total_us()};
}

Shard put(const RunShard& shard) {
    Shard out;
    out.set_tensor(shard.tensor);
    out.set_output(shard.output);
    out.set_device(shard.device);
    out.set_element_type(shard.elementType);
    append(shard.shape, out.mutable_shape());
    for (const auto& intervals : shard.box) {
        auto* set = out.add_box();
        for (const auto& [begin, end] : intervals) {
            set->add_edges(begin);
            set->add_edges(end);
        }
    }
    append(shard.dims, out.mutable_dims());
    out.set_min(shard.min);
    out.set_max(shard.max);
    out.set_mean(shard.mean);
    out.set_deviation(shard.deviation);
    out.set_not_finite(shard.notFinite);
    append(shard.values, out.mutable_values());
    return out;
}
RunShard get(const Shard& shard) {
    RunShard out{shard.tensor(),
                 shard.output(),
                 shard.device(),
                 shard.element_type(),
                 {shard.shape().begin(), shard.shape().end()},
                 {},
                 {shard.dims().begin(), shard.dims().end()},
                 shard.min(),
                 shard.max(),
                 shard.mean(),
                 shard.deviation(),
                 shard.not_finite(),
                 {shard.values().begin(), shard.values().end()}};
    for (const auto& set : shard.box()) {
        auto& intervals = out.box.emplace_back();
        for (int i = 0; i + 1 < set.edges_size(); i += 2)
            intervals.emplace_back(set.edges(i), set.edges(i + 1));
    }
    return out;
}

TensorCheck put(const RunTensorCheck& check) {
    TensorCheck out;
    out.set_name(check.name);
    out.set_max_abs(check.maxAbs);
    out.set_max_rel(check.maxRel);
    out.set_tolerance(check.tolerance);
    out.set_agrees(check.agrees);
    out.set_note(check.note);
    out.set_because_of(check.becauseOf);
    return out;
}
RunTensorCheck get(const TensorCheck& check) {
    return {check.name(),   check.max_abs(), check.max_rel(),   check.tolerance(),
            check.agrees(), check.note(),    check.because_of()};
}

void putTotals(const std::map<std::string, RunKindTotal>& totals,
               google::protobuf::RepeatedPtrField<KindTotal>* out) {
    for (const auto& [kind, total] : totals) {
        KindTotal* entry = out->Add();
        entry->set_kind(kind);
        entry->set_count(total.count);
        entry->set_bytes(total.bytes);
    }
}
std::map<std::string, RunKindTotal>
getTotals(const google::protobuf::RepeatedPtrField<KindTotal>& totals) {
    std::map<std::string, RunKindTotal> out;
    for (const KindTotal& total : totals)
        out[total.kind()] = {total.count(), total.bytes()};
    return out;
}

void putBindings(const std::map<std::string, std::int64_t>& bindings,
                 google::protobuf::RepeatedPtrField<Binding>* out) {
    for (const auto& [symbol, size] : bindings) {
        Binding* binding = out->Add();
        binding->set_symbol(symbol);
        binding->set_size(size);
    }
}
std::map<std::string, std::int64_t>
getBindings(const google::protobuf::RepeatedPtrField<Binding>& bindings) {
    std::map<std::string, std::int64_t> out;
    for (const Binding& binding : bindings)
        out[binding.symbol()] = binding.size();
    return out;
}

Report put(const RunReport& report) {
    Report out;
    if (report.verified)
        out.set_verified(*report.verified);
    for (const RunTensorCheck& check : report.outputs)
        *out.add_outputs() = put(check);
    for (const RunTensorCheck& check : report.tensors)
        *out.add_tensors() = put(check);
    if (report.firstDivergent) {
        Divergence& first = *out.mutable_first_divergent();
        *first.mutable_check() = put(report.firstDivergent->check);
        *first.mutable_node() = put(report.firstDivergent->node);
        first.set_op(report.firstDivergent->op);
        first.set_layout(report.firstDivergent->layout);
        first.set_collectives(report.firstDivergent->collectives);
    }
    for (const RunDeviceTiming& device : report.devices)
        *out.add_devices() = put(device);
    putTotals(report.predicted, out.mutable_predicted());
    putTotals(report.executed, out.mutable_executed());
    out.set_wall_ms(report.wallMs);
    out.set_reference_wall_ms(report.referenceWallMs);
    append(report.passesMs, out.mutable_passes_ms());
    putBindings(report.bindings, out.mutable_bindings());
    out.set_configuration(report.configuration);
    out.set_mesh(report.mesh);
    out.set_kernels(report.kernels);
    out.set_transport(report.transport);
    out.set_seed(report.seed);
    out.set_random_inputs(report.randomInputs);
    out.set_predicted_bytes(report.predictedBytes);
    out.set_available_bytes(report.availableBytes);
    out.set_peak_resident_bytes(report.peakResidentBytes);
    out.set_start_ms(report.startMs);
    for (const RunCollective& collective : report.collectives)
        *out.add_collectives() = put(collective);
    for (const RunOperator& one : report.operators)
        *out.add_operators() = put(one);
    out.set_hardware(report.hardware);
    return out;
}
RunReport get(const Report& report) {
    RunReport out;
    if (report.has_verified())
        out.verified = report.verified();
    for (const TensorCheck& check : report.outputs())
        out.outputs.push_back(get(check));
    for (const TensorCheck& check : report.tensors())
        out.tensors.push_back(get(check));
    if (report.has_first_divergent()) {
        const Divergence& first = report.first_divergent();
        out.firstDivergent = RunDivergence{get(first.check()), get(first.node()), first.op(),
                                           first.layout(), first.collectives()};
    }
    for (const DeviceTiming& device : report.devices())
        out.devices.push_back(get(device));
    out.predicted = getTotals(report.predicted());
    out.executed = getTotals(report.executed());
    out.wallMs = report.wall_ms();
    out.referenceWallMs = report.reference_wall_ms();
    out.passesMs.assign(report.passes_ms().begin(), report.passes_ms().end());
    out.bindings = getBindings(report.bindings());
    out.configuration = report.configuration();
    out.mesh = report.mesh();
    out.kernels = report.kernels();
    out.transport = report.transport();
    out.seed = report.seed();
    out.randomInputs = report.random_inputs();
    out.predictedBytes = report.predicted_bytes();
    out.availableBytes = report.available_bytes();
    out.peakResidentBytes = report.peak_resident_bytes();
    out.startMs = report.start_ms();
    for (const Collective& collective : report.collectives())
        out.collectives.push_back(get(collective));
    for (const Operator& one : report.operators())
        out.operators.push_back(get(one));
    out.hardware = report.hardware();
    return out;
}

/// Puts each alternative into the message's field.
struct EventWriter {
    Event& out;
    void operator()(const RunLog& log) const { out.mutable_log()->set_message(log.message); }
    void operator()(const RunProgress& progress) const {
        out.mutable_progress()->set_stage(static_cast<int>(progress.stage));
        out.mutable_progress()->set_share(progress.share);
    }
    void operator()(const RunDeviceTiming& timing) const { *out.mutable_device() = put(timing); }
    void operator()(const RunSegmentTiming& timing) const { *out.mutable_segment() = put(timing); }
    void operator()(const RunExchangeTiming& timing) const {
        *out.mutable_exchange() = put(timing);
    }
    void operator()(const RunMemory& memory) const { *out.mutable_memory() = put(memory); }
    void operator()(const RunShard& shard) const { *out.mutable_shard() = put(shard); }
    void operator()(const RunTensorCheck& check) const { *out.mutable_check() = put(check); }
    void operator()(const RunReport& report) const { *out.mutable_report() = put(report); }
    void operator()(const RunFailure& failure) const {
        out.mutable_failure()->set_kind(static_cast<int>(failure.kind));
        out.mutable_failure()->set_message(failure.message);
        out.mutable_failure()->set_place(failure.place);
        out.mutable_failure()->set_needed_bytes(failure.neededBytes);
        out.mutable_failure()->set_available_bytes(failure.availableBytes);
    }
};

/// An enumerator from elsewhere, kept within those that there are.
template <class E>
E enumerator(int value, E last) {
    return static_cast<E>(std::clamp(value, 0, static_cast<int>(last)));
}

}  // namespace

Event toMessage(const RunEvent& event) {
    Event out;
    std::visit(EventWriter{out}, event);
    return out;
}

RunEvent fromMessage(const Event& message) {
    switch (message.event_case()) {
        case Event::kLog: return RunLog{message.log().message()};
        case Event::kProgress:
            return RunProgress{enumerator(message.progress().stage(), RunStage::Save),
                               message.progress().share()};
        case Event::kDevice: return get(message.device());
        case Event::kSegment: return get(message.segment());
        case Event::kExchange: return get(message.exchange());
        case Event::kMemory: return get(message.memory());
        case Event::kShard: return get(message.shard());
        case Event::kCheck: return get(message.check());
        case Event::kReport: return get(message.report());
        default: break;
    }
    const Failure& failure = message.failure();
    return RunFailure{enumerator(failure.kind(), RunFailure::Kind::Memory), failure.message(),
                      failure.place(), failure.needed_bytes(), failure.available_bytes()};
}

Request toMessage(const RunRequest& request) {
    Request out;
    out.set_model_path(request.modelPath);
    out.set_model_bytes(request.modelBytes);
    out.set_configuration(request.configuration);
    out.set_strict_profile(request.strictProfile);
    out.set_rules(request.rules);
    out.set_rules_name(request.rulesName);
    out.set_transport(static_cast<Request::Transport>(request.transport));
    out.set_backend(static_cast<Request::Backend>(request.backend));
    out.set_ignore_memory(request.ignoreMemory);
    putBindings(request.bindings, out.mutable_bindings());
    out.set_binding_fallback(request.bindingFallback);
    out.set_seed(request.seed);
    out.set_inputs_path(request.inputsPath);
    out.set_verify(static_cast<Request::Verify>(request.verify));
    out.set_tolerance(request.tolerance);
    out.set_warmups(request.warmups);
    out.set_repeats(request.repeats);
    out.set_trace_path(request.tracePath);
    out.set_save_shards_folder(request.saveShardsFolder);
    for (const std::string& name : request.observe)
        out.add_observe(name);
    out.set_max_shard_values(request.maxShardValues);
    out.set_time_limit_seconds(request.timeLimitSeconds);
    out.set_silence_limit_seconds(request.silenceLimitSeconds);
    out.set_optimise(request.optimise);
    out.set_intra_op_threads(request.intraOpThreads);
    out.set_profile(request.profile);
    out.set_hardware(request.hardware);
    out.set_hardware_name(request.hardwareName);
    return out;
}

RunRequest fromMessage(const Request& message) {
    RunRequest out;
    out.modelPath = message.model_path();
    out.modelBytes = message.model_bytes();
    out.configuration = message.configuration();
    out.strictProfile = message.strict_profile();
    out.rules = message.rules();
    out.rulesName = message.rules_name();
    out.transport = enumerator(message.transport(), Transport::Nccl);
    out.backend = enumerator(message.backend(), Backend::Cuda);
    out.ignoreMemory = message.ignore_memory();
    out.bindings = getBindings(message.bindings());
    out.bindingFallback = std::max<std::int64_t>(1, message.binding_fallback());
    out.seed = message.seed();
    out.inputsPath = message.inputs_path();
    out.verify = enumerator(message.verify(), VerifyMode::All);
    out.tolerance = message.tolerance();
    out.warmups = std::max(0, message.warmups());
    out.repeats = std::max(1, message.repeats());
    out.tracePath = message.trace_path();
    out.saveShardsFolder = message.save_shards_folder();
    out.observe.assign(message.observe().begin(), message.observe().end());
    out.maxShardValues = std::max<std::int64_t>(0, message.max_shard_values());
    out.timeLimitSeconds = message.time_limit_seconds();
    out.silenceLimitSeconds = message.silence_limit_seconds();
    out.optimise = message.optimise();
    out.intraOpThreads = std::max(1, message.intra_op_threads());
    out.profile = message.profile();
    out.hardware = message.hardware();
    out.hardwareName = message.hardware_name();
    return out;
}

}  // namespace shardwright::wire
