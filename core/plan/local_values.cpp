// SPDX-License-Identifier: Apache-2.0
#include "plan/local_values.h"

#include <algorithm>

namespace shardwright::lowering {

int LocalValues::addLocal(DeviceId device, ValueId value, Box box) {
    DraftLocal local;
    local.device = device;
    local.value = value;
    local.box = std::move(box);
    return m_draft.add(std::move(local));
}

int LocalValues::addConstant(DeviceId device, ValueId value, Box box) {
    const int local = addLocal(device, value, std::move(box));
    m_draft.locals[static_cast<std::size_t>(local)].origin = DraftLocal::Origin::Constant;
    return local;
}

int LocalValues::findExact(const std::vector<int>& locals, DeviceId device, const Box& box) const {
    for (const int local : locals)
        if (at(local).device == device && at(local).box == box)
            return local;
    return -1;
}

int LocalValues::fetch(Form& form, DeviceId device, ValueId value, const Box& box, NodeId reader) {
    if (const int exact = findExact(form.held, device, box); exact >= 0)
        return exact;
    if (const int exact = findExact(form.derived, device, box); exact >= 0)
        return exact;
    int made = -1;
    if (box.empty()) {
        made = addConstant(device, value, box);
    } else {
        const std::vector<int> from = sources(form, device, 0, box);
        if (from.size() == 1 && at(from[0]).box.contains(box))
            made = at(from[0]).origin == DraftLocal::Origin::Constant
                       ? addConstant(device, value, box)
                       : cut(from[0], box, reader);
        else
            made = join(from, device, value, box, reader);
    }
    form.derived.push_back(made);
    return made;
}

int LocalValues::fetchEverywhere(DeviceId device, ValueId value, const Box& box, NodeId reader) {
    Form& everywhere = form(value, nullptr);
    const bool constant = m_constants.of(value) != nullptr;
    if (!constant && m_context.graph.value(value).kind != ValueKind::GraphInput)
        return fetch(everywhere, device, value, box, reader);
    if (const int exact = findExact(everywhere.derived, device, box); exact >= 0)
        return exact;
    const int made =
        constant || box.empty() ? addConstant(device, value, box) : addLocal(device, value, box);
    if (!constant && !box.empty())
        m_draft.locals[static_cast<std::size_t>(made)].origin = DraftLocal::Origin::Input;
    everywhere.derived.push_back(made);
    return made;
}

int LocalValues::wholeEverywhere(DeviceId device, ValueId value, NodeId reader) {
    const ValueInfo& info = m_context.graph.value(value);
    if (m_context.sized(value) || info.kind == ValueKind::GraphInput)
        return fetchEverywhere(device, value, m_context.whole(value, reader), reader);
    if (m_constants.of(value) != nullptr)
        return addConstant(device, value, {});
    for (const int local : form(value, nullptr).held)
        if (at(local).device == device)
            return local;
    m_context.refuse(reader, "nothing gives `" + m_context.name(value) + "`");
}

std::vector<int> LocalValues::sources(const Form& form, DeviceId device, int term,
                                      const Box& box) const {
    std::vector<int> result;
    for (const int local : form.held) {
        if (at(local).device != device || at(local).term != term)
            continue;
        if (at(local).box.contains(box))
            return {local};
        const Box part = at(local).box.intersect(box);
        if (!part.empty() && std::none_of(result.begin(), result.end(),
                                          [&](int other) { return at(other).box.contains(part); }))
            result.push_back(local);
    }
    return result;
}

int LocalValues::cut(int local, const Box& box, NodeId reader) {
    const DraftLocal& from = at(local);
    DraftStep step;
    step.kind = DraftStep::Kind::Cut;
    step.device = from.device;
    step.node = reader;
    step.inputs = {local};
    const int piece = addLocal(from.device, from.value, box);
    step.outputs = {piece};
    m_draft.add(std::move(step));
    return piece;
}

int LocalValues::join(const std::vector<int>& sources, DeviceId device, ValueId value,
                      const Box& box, NodeId reader) {
    std::int64_t covered = 0;
    for (const int local : sources)
        covered += at(local).box.intersect(box).count();
    if (covered < box.count())
        m_context.refuse(reader, "device " + std::to_string(device) + " needs " +
                                     std::to_string(box.count()) + " elements of `" +
                                     m_context.name(value) + "` and holds " +
                                     std::to_string(covered) + " of them");
    DraftStep step;
    step.kind = DraftStep::Kind::Copy;
    step.device = device;
    step.node = reader;
    for (const int local : sources)
        step.inputs.push_back(stored(local));
    const int joined = addLocal(device, value, box);
    step.outputs = {joined};
    m_draft.add(std::move(step));
    return joined;
}

int LocalValues::stored(int local) {
    if (at(local).origin != DraftLocal::Origin::Constant)
        return local;
    const auto it = m_stored.find(local);
    if (it != m_stored.end())
        return it->second;
    const DraftLocal from = at(local);
    const int copy = addLocal(from.device, from.value, from.box);
    m_draft.locals[static_cast<std::size_t>(copy)].term = from.term;
    DraftStep step;
    step.kind = DraftStep::Kind::Unary;
    step.op = "Identity";
    step.device = from.device;
    step.node = m_context.graph.value(from.value).producer;
    step.inputs = {local};
    step.outputs = {copy};
    m_draft.add(std::move(step));
    return m_stored[local] = copy;
}

const std::vector<Box>& LocalValues::holding(const LayoutRef& layout, DeviceId device) {
    const auto it = m_holdings.find({layout.get(), device});
    return it != m_holdings.end()
               ? it->second
               : m_holdings.emplace(HoldingKey{layout.get(), device}, layout->holding(device))
                     .first->second;
}

}  // namespace shardwright::lowering
