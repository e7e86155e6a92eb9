// SPDX-License-Identifier: Apache-2.0
#include "plan/draft.h"

#include <algorithm>

namespace shardwright::lowering {

int Draft::add(DraftLocal local) {
    locals.push_back(std::move(local));
    return static_cast<int>(locals.size()) - 1;
}

void Draft::add(DraftStep step) {
    for (const int output : step.outputs)
        if (output >= 0)
            locals[static_cast<std::size_t>(output)].step = static_cast<int>(steps.size());
    steps.push_back(std::move(step));
}

void Draft::add(DraftExchange exchange) {
    DraftStep step;
    step.kind = DraftStep::Kind::Exchange;
    step.node = exchange.node;
    step.exchange = static_cast<int>(exchanges.size());
    for (const auto& locals : exchange.sources)
        step.inputs.insert(step.inputs.end(), locals.begin(), locals.end());
    for (const auto& locals : exchange.targets)
        step.outputs.insert(step.outputs.end(), locals.begin(), locals.end());
    exchanges.push_back(std::move(exchange));
    add(std::move(step));
}

void markLive(Draft& draft) {
    for (DraftLocal& local : draft.locals)
        local.live = local.kept;
    for (auto step = draft.steps.rbegin(); step != draft.steps.rend(); ++step) {
        step->live = step->kind == DraftStep::Kind::Exchange ||
                     std::any_of(step->outputs.begin(), step->outputs.end(), [&](int output) {
                         return output >= 0 && draft.locals[static_cast<std::size_t>(output)].live;
                     });
        if (!step->live)
            continue;
        for (const std::vector<int>& locals : {step->inputs, step->outputs})
            for (const int local : locals)
                if (local >= 0)
                    draft.locals[static_cast<std::size_t>(local)].live = true;
    }
}

void assignPhases(Draft& draft) {
    for (DraftStep& step : draft.steps) {
        if (!step.live)
            continue;
        step.phase = 0;
        for (const int input : step.inputs) {
            if (input < 0)
                continue;
            const DraftLocal& local = draft.locals[static_cast<std::size_t>(input)];
            step.phase = std::max(step.phase, step.inSegment() ? local.ready : local.readyToCopy);
        }
        // In a phase come the segments, then the copies in their order, then the exchanges.
        const int ready = step.inSegment() ? step.phase : step.phase + 1;
        const int readyToCopy =
            step.kind == DraftStep::Kind::Exchange ? step.phase + 1 : step.phase;
        for (const int output : step.outputs) {
            if (output < 0)
                continue;
            draft.locals[static_cast<std::size_t>(output)].ready = ready;
            draft.locals[static_cast<std::size_t>(output)].readyToCopy = readyToCopy;
        }
        draft.phases = std::max(draft.phases, step.phase + 1);
    }
}

}  // namespace shardwright::lowering
