// SPDX-License-Identifier: Apache-2.0
#include "plan/assembly.h"

#include "model/shapes.h"
#include "plan/node_copy.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

namespace shardwright::lowering {

Assembly::Assembly(const Context& context, Draft& draft, ConstantTable& constants)
    : m_context(context), m_draft(draft), m_reserved(context.graph),
      m_plan(std::make_shared<Plan>()), m_frame{
                                            context,
                                            draft,
                                            m_reserved,
                                            constants,
                                            emptySegment(context.analysis.document.model->proto()),
                                            {},
                                            WeightTable(m_plan->weights)} {
    m_plan->model = context.analysis.document.model;
    for (const onnx::FunctionProto& function : context.analysis.document.model->proto().functions())
        m_frame.functions.push_back(copyFunction(
            function, context.analysis.document.model->path().parent_path(), context.seeds));
}

std::shared_ptr<Plan> Assembly::run() {
    m_plan->deviceCount = m_context.deviceCount;
    m_plan->phases = m_draft.phases;
    m_plan->devices.resize(static_cast<std::size_t>(m_context.deviceCount));
    for (DeviceId device = 0; device < m_context.deviceCount; ++device)
        m_plan->devices[static_cast<std::size_t>(device)].device = device;
    m_plan->exchanges.resize(static_cast<std::size_t>(m_draft.phases));
    giveNames();
    findTensors();
    writeSegments();
    writeCopies();
    writeExchanges();
    return m_plan;
}

/// The first whole local of a value keeps its name, so that bodies find it and segments read like
/// the model; pieces and terms get a number.
void Assembly::giveNames() {
    struct Names {
        std::unordered_set<ValueId> own;
        std::unordered_map<ValueId, int> next;
    };
    std::vector<Names> devices(static_cast<std::size_t>(m_context.deviceCount));
    for (DraftLocal& local : m_draft.locals) {
        if (!local.live)
            continue;
        Names& names = devices[static_cast<std::size_t>(local.device)];
        const bool whole =
            !local.partial && (!local.sized || !m_context.sized(local.value) ||
                               local.box == Box::whole(m_context.info(local.value).dims));
        if (whole && names.own.insert(local.value).second) {
            local.name = m_context.name(local.value);
            continue;
        }
        int& next = names.next.try_emplace(local.value, 1).first->second;
        local.name =
            m_reserved.fresh(m_context.name(local.value), local.partial ? ".term" : ".part", next);
    }
}

void Assembly::findTensors() {
    std::vector<bool> leaves(m_draft.locals.size(), false);
    for (const DraftStep& step : m_draft.steps) {
        if (!step.live)
            continue;
        for (const int input : step.inputs) {
            if (input < 0)
                continue;
            const DraftLocal& local = m_draft.locals[static_cast<std::size_t>(input)];
            const DraftStep* from = local.origin == DraftLocal::Origin::Step
                                        ? &m_draft.steps[static_cast<std::size_t>(local.step)]
                                        : nullptr;
            if (local.origin == DraftLocal::Origin::Constant)
                continue;
            if (!step.inSegment() || from == nullptr || !from->inSegment() ||
                from->phase != step.phase || from->beside != step.beside)
                leaves[static_cast<std::size_t>(input)] = true;
        }
        if (!step.inSegment())
            for (const int output : step.outputs)
                leaves[static_cast<std::size_t>(output)] = true;
    }
    for (std::size_t i = 0; i < leaves.size(); ++i)
        if (leaves[i] || m_draft.locals[i].kept)
            addTensor(static_cast<int>(i));
}

void Assembly::addTensor(int index) {
    DraftLocal& local = m_draft.locals[static_cast<std::size_t>(index)];
    const NodeId producer = m_context.graph.value(local.value).producer;
    if (!local.sized || !m_context.sized(local.value))
        m_context.refuse(producer, "`" + m_context.name(local.value) + "` has to leave device " +
                                       std::to_string(local.device) +
                                       "'s segment, but its shape is not known in numbers");
    auto& tensors = m_plan->devices[static_cast<std::size_t>(local.device)].tensors;
    local.tensor = static_cast<int>(tensors.size());
    tensors.push_back(
        {local.name, local.value, local.box, local.term, m_context.info(local.value).elementType});
}

/// What is made and used up within a segment, each tensor until the last step that reads it.
std::int64_t Assembly::workBytes(const std::vector<int>& steps) const {
    const auto stepOf = [&](int index) -> const DraftStep& {
        return m_draft.steps[static_cast<std::size_t>(index)];
    };
    std::unordered_map<int, std::size_t> last;
    for (std::size_t i = 0; i < steps.size(); ++i)
        for (const auto& locals : {stepOf(steps[i]).inputs, stepOf(steps[i]).outputs})
            for (const int local : locals)
                last[local] = i;
    std::vector<std::vector<std::int64_t>> freed(steps.size());
    std::int64_t alive = 0, most = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        for (const int output : stepOf(steps[i]).outputs) {
            if (output < 0)
                continue;
            const DraftLocal& local = m_draft.locals[static_cast<std::size_t>(output)];
            if (local.tensor >= 0 || !local.sized || !m_context.sized(local.value))
                continue;
            const std::int64_t bytes = std::max<std::int64_t>(
                0, storageBytes(m_context.info(local.value).elementType, local.box.count()));
            alive += bytes;
            freed[last[output]].push_back(bytes);
        }
        most = std::max(most, alive);
        for (const std::int64_t bytes : freed[i])
            alive -= bytes;
    }
    return most;
}

void Assembly::writeSegments() {
    // By device, phase, and whether they run beside its exchanges.
    std::map<std::tuple<DeviceId, int, bool>, std::vector<int>> segments;
    for (std::size_t i = 0; i < m_draft.steps.size(); ++i) {
        const DraftStep& step = m_draft.steps[i];
        if (step.live && step.inSegment())
            segments[{step.device, step.phase, step.beside}].push_back(static_cast<int>(i));
    }
    for (const auto& [place, steps] : segments) {
        const auto& [device, phase, beside] = place;
        SegmentWriter writer(m_frame);
        for (const int step : steps)
            writer.write(step);
        Segment segment =
            writer.finish("device " + std::to_string(device) + " phase " + std::to_string(phase));
        segment.device = device;
        segment.phase = phase;
        segment.besideExchanges = beside;
        segment.workBytes = workBytes(steps);
        m_plan->devices[static_cast<std::size_t>(device)].segments.push_back(std::move(segment));
    }
}

void Assembly::writeCopies() {
    for (const DraftStep& step : m_draft.steps) {
        if (!step.live || step.kind != DraftStep::Kind::Copy)
            continue;
        DeviceProgram::LocalCopy copy;
        copy.phase = step.phase;
        copy.sources = tensorsOf(step.inputs);
        copy.target = tensorsOf(step.outputs).front();
        copy.reduce = step.reduce;
        m_plan->devices[static_cast<std::size_t>(step.device)].copies.push_back(std::move(copy));
    }
}

void Assembly::writeExchanges() {
    for (const DraftStep& step : m_draft.steps) {
        if (!step.live || step.kind != DraftStep::Kind::Exchange)
            continue;
        DraftExchange& draft = m_draft.exchanges[static_cast<std::size_t>(step.exchange)];
        Exchange exchange;
        exchange.elementType = m_context.info(draft.value).elementType;
        exchange.value = draft.value;
        exchange.node = draft.node;
        exchange.phase = draft.phase;
        for (const auto& locals : draft.sources)
            exchange.sources.push_back(tensorsOf(locals));
        for (const auto& locals : draft.targets)
            exchange.targets.push_back(tensorsOf(locals));
        exchange.operation = std::move(draft.operation);
        m_plan->exchanges[static_cast<std::size_t>(step.phase)].push_back(std::move(exchange));
    }
}

std::vector<int> Assembly::tensorsOf(const std::vector<int>& locals) const {
    std::vector<int> tensors;
    tensors.reserve(locals.size());
    for (const int local : locals)
        tensors.push_back(m_draft.locals[static_cast<std::size_t>(local)].tensor);
    return tensors;
}

Plan::Port Assembly::port(ValueId value, const std::vector<std::vector<int>>& locals) const {
    Plan::Port port;
    port.value = value;
    port.name = m_context.name(value);
    port.elementType = m_context.info(value).elementType;
    port.shape = m_context.info(value).dims;
    for (const auto& own : locals)
        port.tensors.push_back(tensorsOf(own));
    return port;
}

std::vector<Plan::Port> Assembly::inputPorts() const {
    std::unordered_map<ValueId, std::vector<std::vector<int>>> pieces;
    for (std::size_t i = 0; i < m_draft.locals.size(); ++i) {
        const DraftLocal& local = m_draft.locals[i];
        if (local.origin != DraftLocal::Origin::Input || local.tensor < 0)
            continue;
        auto& byDevice = pieces[local.value];
        byDevice.resize(static_cast<std::size_t>(m_context.deviceCount));
        byDevice[static_cast<std::size_t>(local.device)].push_back(static_cast<int>(i));
    }
    std::vector<Plan::Port> ports;
    for (const ValueId input : m_context.graph.main().inputs) {
        if (m_frame.constants.of(input) != nullptr)
            continue;
        auto& byDevice = pieces[input];
        byDevice.resize(static_cast<std::size_t>(m_context.deviceCount));
        ports.push_back(port(input, byDevice));
    }
    return ports;
}

}  // namespace shardwright::lowering
