// SPDX-License-Identifier: Apache-2.0
#include "plan/drafter.h"

#include "plan/rewrites.h"

#include <algorithm>

namespace shardwright::lowering {

void Drafter::run() {
    for (const NodeId id : m_context.graph.main().order) {
        const NodeInfo& node = m_context.graph.node(id);
        if (m_context.everywhere(id))
            everywhere(node);
        else
            partitioned(node);
    }
}

bool Drafter::canStandApart(const NodeInfo& node) {
    for (std::size_t slot = 0; slot < node.inputs.size() + node.captures.size(); ++slot)
        if (const ValueId value = inputValue(node, slot);
            value && !m_context.sized(value) && m_constants.of(value) == nullptr)
            return false;
    return !allConstant(node) &&
           std::all_of(node.outputs.begin(), node.outputs.end(),
                       [&](ValueId output) { return !output || m_context.sized(output); });
}

void Drafter::runApart(const std::vector<NodeId>& nodes) {
    const auto local = [&](ValueId value) {
        return m_values.addLocal(0, value, Box::whole(m_context.info(value).dims));
    };
    for (const NodeId id : nodes) {
        const NodeInfo& node = m_context.graph.node(id);
        if (!canStandApart(node))
            continue;
        DraftStep step;
        step.device = 0;
        step.node = id;
        for (std::size_t slot = 0; slot < node.inputs.size() + node.captures.size(); ++slot) {
            const ValueId value = inputValue(node, slot);
            if (!value || m_constants.of(value) != nullptr) {
                step.inputs.push_back(value ? m_values.wholeEverywhere(0, value, id) : -1);
                continue;
            }
            const auto [given, added] = m_given.try_emplace(value, -1);
            if (added) {
                given->second = local(value);
                m_draft.locals[static_cast<std::size_t>(given->second)].origin =
                    DraftLocal::Origin::Input;
            }
            step.inputs.push_back(given->second);
        }
        for (const ValueId output : node.outputs) {
            step.outputs.push_back(output ? local(output) : -1);
            if (!output)
                continue;
            m_draft.locals[static_cast<std::size_t>(step.outputs.back())].kept = true;
            m_results[output] = step.outputs.back();
        }
        m_draft.add(std::move(step));
    }
}

/// Slots, then captures.
ValueId Drafter::inputValue(const NodeInfo& node, std::size_t slot) const {
    return slot < node.inputs.size() ? node.inputs[slot] : node.captures[slot - node.inputs.size()];
}

bool Drafter::allConstant(const NodeInfo& node) {
    return !node.outputs.empty() &&
           std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId output) {
               return !output || m_constants.of(output) != nullptr;
           });
}

/// A Constant node on some devices only is embedded there, too.
bool Drafter::embeds(const NodeInfo& node) {
    return m_constants.isConstantNode(node.id) && allConstant(node);
}

void Drafter::everywhere(const NodeInfo& node) {
    if (allConstant(node))
        return;
    for (DeviceId device = 0; device < m_context.deviceCount; ++device)
        everywhere(node, device);
}

void Drafter::everywhere(const NodeInfo& node, DeviceId device) {
    DraftStep step;
    step.device = device;
    step.node = node.id;
    for (std::size_t slot = 0; slot < node.inputs.size() + node.captures.size(); ++slot) {
        const ValueId value = inputValue(node, slot);
        const bool elsewhere =
            value && m_context.annotated &&
            m_context.analysis.meaning.nodes[node.id.index()].inputs[slot].layout;
        // Only a shape-only input can lie on some devices: the writer makes one up.
        step.inputs.push_back(value && !elsewhere ? m_values.wholeEverywhere(device, value, node.id)
                                                  : -1);
    }
    for (const ValueId output : node.outputs) {
        if (!output) {
            step.outputs.push_back(-1);
            continue;
        }
        const bool sized = m_context.sized(output);
        const int local = m_values.addLocal(
            device, output, sized ? Box::whole(m_context.info(output).dims) : Box{});
        m_draft.locals[static_cast<std::size_t>(local)].sized = sized;
        m_values.form(output, nullptr).held.push_back(local);
        step.outputs.push_back(local);
    }
    m_draft.add(std::move(step));
}

void Drafter::partitioned(const NodeInfo& node) {
    const NodeMeaning& meaning = m_context.analysis.meaning.nodes[node.id.index()];
    if (!meaning.solution || !meaning.solution->cells)
        m_context.refuse(node.id, "it is not known where this node runs");
    const CellGrid& cells = *meaning.solution->cells;
    if (cells.rule->outputs.size() < node.outputs.size() ||
        cells.rule->inputs.size() < node.inputs.size())
        m_context.refuse(node.id, "its rule does not describe all of its inputs and outputs");
    // Input reshards come first and in slot order, whether or not a kernel reads the result.
    for (std::size_t slot = 0; slot < meaning.inputs.size(); ++slot) {
        const bool shapeOnly =
            slot < cells.rule->inputs.size() && cells.rule->inputs[slot].shapeOnly;
        if (meaning.inputs[slot].layout && meaning.inputs[slot].arrives && !shapeOnly)
            m_reshards.arriving(meaning.inputs[slot], inputValue(node, slot), node.id);
    }
    for (std::size_t slot = 0; slot < node.inputs.size(); ++slot)
        if (meaning.inputs[slot].layout && meaning.inputs[slot].arrives && cells.hasHalo(slot))
            m_reshards.halo(meaning.solution->cells, meaning.inputs[slot], slot, node.inputs[slot],
                            node.id);
    std::vector<Form> raw(node.outputs.size());
    for (const DeviceTiles& tiles : m_tiles.of(meaning.solution->cells))
        for (const Tile& tile : tiles.tiles) {
            DraftStep step = tileStep(node, cells, tiles, tile);
            for (std::size_t slot = 0; slot < node.outputs.size(); ++slot)
                if (step.outputs[slot] >= 0 && !tile.outputs[slot].empty())
                    raw[slot].held.push_back(step.outputs[slot]);
            if (!embeds(node))
                m_draft.add(std::move(step));
        }
    for (std::size_t slot = 0; slot < node.outputs.size(); ++slot)
        if (node.outputs[slot])
            resolve(node, slot, std::move(raw[slot]));
}

DraftStep Drafter::tileStep(const NodeInfo& node, const CellGrid& cells, const DeviceTiles& tiles,
                            const Tile& tile) {
    DraftStep step;
    step.device = tiles.device;
    step.node = node.id;
    step.tile = &tile;
    step.cells = &cells;
    const bool constant = embeds(node);
    const bool idle = std::all_of(tile.outputs.begin(), tile.outputs.end(),
                                  [](const Box& box) { return box.empty(); });
    for (std::size_t slot = 0; slot < node.inputs.size() + node.captures.size(); ++slot)
        step.inputs.push_back(idle ? -1 : tileInput(node, slot, tiles.device, tile));
    for (std::size_t slot = 0; slot < node.outputs.size(); ++slot) {
        const ValueId output = node.outputs[slot];
        if (!output) {
            step.outputs.push_back(-1);
            continue;
        }
        const int local = constant ? m_values.addConstant(tiles.device, output, tile.outputs[slot])
                                   : m_values.addLocal(tiles.device, output, tile.outputs[slot]);
        DraftLocal& draft = m_draft.locals[static_cast<std::size_t>(local)];
        draft.term = tile.terms[slot];
        draft.partial = !cells.partialFactors(slot).empty();
        draft.sized = m_context.sized(output);
        step.outputs.push_back(local);
    }
    return step;
}

int Drafter::tileInput(const NodeInfo& node, std::size_t slot, DeviceId device, const Tile& tile) {
    const ValueId value = inputValue(node, slot);
    const NodeMeaning& meaning = m_context.analysis.meaning.nodes[node.id.index()];
    const CellGrid& cells = *meaning.solution->cells;
    const bool capture = slot >= node.inputs.size();
    if (!value || (!capture && !readsInput(cells, tile, slot)))
        return -1;
    const SlotMeaning& s = meaning.inputs[slot];
    const Box box = slot < tile.inputs.size() ? tile.inputs[slot] : m_context.whole(value, node.id);
    if (s.layout && s.arrives && cells.hasHalo(slot))
        return m_values.fetch(m_reshards.halo(meaning.solution->cells, s, slot, value, node.id),
                              device, value, box, node.id);
    if (s.layout && s.arrives)
        return m_values.fetch(m_reshards.arriving(s, value, node.id), device, value, box, node.id);
    if (!m_context.sized(value))
        return m_values.wholeEverywhere(device, value, node.id);
    return m_values.fetchEverywhere(device, value, box, node.id);
}

void Drafter::resolve(const NodeInfo& node, std::size_t slot, Form raw) {
    const NodeMeaning& meaning = m_context.analysis.meaning.nodes[node.id.index()];
    const LayoutRef& layout = meaning.outputs[slot].layout;
    if (!layout)
        m_context.refuse(node.id, "the layout of its output `" +
                                      m_context.name(node.outputs[slot]) + "` is not known");
    const auto& cells = meaning.solution->cells;
    const LayoutRef& natural = meaning.solution->natural[slot];
    const bool asItIs = cells->partialFactors(slot).empty() &&
                        (natural == layout || (natural && *natural == *layout));
    Form result = asItIs
                      ? std::move(raw)
                      : m_reshards.declared(cells, slot, raw, layout, node.outputs[slot], node.id);
    applyTail(node, *cells, slot, result);
    m_values.form(node.outputs[slot], layout.get()) = std::move(result);
}

void Drafter::applyTail(const NodeInfo& node, const CellGrid& cells, std::size_t slot,
                        Form& joined) {
    for (const Rewrite& rewrite : cells.rule->rewrites) {
        if (rewrite.kind != Rewrite::Kind::Tail || rewrite.output != static_cast<int>(slot) ||
            !isSplit(cells, rewrite))
            continue;
        for (int& local : joined.held) {
            const DraftLocal before = m_draft.locals[static_cast<std::size_t>(local)];
            DraftStep step;
            step.kind = DraftStep::Kind::Unary;
            step.op = rewrite.name;
            step.device = before.device;
            step.node = node.id;
            step.inputs = {local};
            local = m_values.addLocal(before.device, before.value, before.box);
            m_draft.locals[static_cast<std::size_t>(step.inputs[0])].partial =
                true;  // Not yet the value.
            step.outputs = {local};
            m_draft.add(std::move(step));
        }
    }
}

std::vector<std::vector<int>> Drafter::keep(ValueId value) {
    std::vector<std::vector<int>> kept(static_cast<std::size_t>(m_context.deviceCount));
    const Layout* layout = m_context.annotated
                               ? m_context.analysis.meaning.values[value.index()].layout.get()
                               : nullptr;
    std::vector<int> locals;
    if (layout != nullptr)
        locals = m_values.form(value, layout).held;
    else
        for (DeviceId device = 0; device < m_context.deviceCount; ++device)
            locals.push_back(
                m_values.wholeEverywhere(device, value, m_context.graph.value(value).producer));
    for (const int local : locals)
        keepLocal(local, kept);
    return kept;
}

void Drafter::keepLocal(int local, std::vector<std::vector<int>>& kept) {
    local = m_values.stored(local);
    m_draft.locals[static_cast<std::size_t>(local)].kept = true;
    kept[static_cast<std::size_t>(m_draft.locals[static_cast<std::size_t>(local)].device)]
        .push_back(local);
}

std::vector<std::vector<int>> Drafter::keepInput(const NodeInfo& node, std::size_t slot) {
    std::vector<std::vector<int>> kept(static_cast<std::size_t>(m_context.deviceCount));
    const ValueId value = inputValue(node, slot);
    const SlotMeaning& s = m_context.analysis.meaning.nodes[node.id.index()].inputs[slot];
    if (!s.layout) {
        for (DeviceId device = 0; device < m_context.deviceCount; ++device)
            keepLocal(m_values.wholeEverywhere(device, value, node.id), kept);
        return kept;
    }
    for (const DeviceId device : s.layout->devices())
        for (const Box& box : m_values.holding(s.layout, device))
            keepLocal(s.arrives ? m_values.fetch(m_reshards.arriving(s, value, node.id), device,
                                                 value, box, node.id)
                                : m_values.fetchEverywhere(device, value, box, node.id),
                      kept);
    return kept;
}

}  // namespace shardwright::lowering
