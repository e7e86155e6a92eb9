// SPDX-License-Identifier: Apache-2.0
#include "plan/overlap.h"

#include "model/saturating.h"

#include <algorithm>
#include <map>
#include <utility>

namespace shardwright::lowering {

namespace {

using Place = std::pair<DeviceId, int>;  ///< Device and phase.

class OverlapFinder {
public:
    OverlapFinder(Draft& draft, const Context& context, const OverlapLimits& limits)
        : m_draft(draft), m_context(context), m_limits(limits), m_awaited(draft.locals.size()) {}

    void run() {
        findAwaited();
        for (DraftStep& step : m_draft.steps)
            if (step.beside) {
                const Place place{step.device, step.phase};
                step.beside = m_work[place] >= m_limits.workBytes &&
                              m_exchanged[place] >= m_limits.exchangeBytes;
            }
    }

private:
    DraftLocal& local(int id) { return m_draft.locals[static_cast<std::size_t>(id)]; }

    /// Backwards from the copies and exchanges of a phase, within that phase.
    void findAwaited() {
        for (auto step = m_draft.steps.rbegin(); step != m_draft.steps.rend(); ++step) {
            if (!step->live)
                continue;
            if (step->inSegment()) {
                bool awaited = false;
                for (const int output : step->outputs)
                    awaited =
                        awaited || (output >= 0 && m_awaited[static_cast<std::size_t>(output)]);
                step->beside = !awaited;
                if (!awaited) {
                    std::int64_t& work = m_work[{step->device, step->phase}];
                    work = saturatingSum(work, bytesOf(*step));
                    continue;
                }
            } else if (step->kind == DraftStep::Kind::Exchange) {
                const GroupOperation& operation =
                    m_draft.exchanges[static_cast<std::size_t>(step->exchange)].operation;
                for (const DeviceId device : operation.devices) {
                    std::int64_t& exchanged = m_exchanged[{device, step->phase}];
                    exchanged = saturatingSum(exchanged, operation.bytes);
                }
            }
            for (const int input : step->inputs)
                if (input >= 0 && producedIn(local(input), step->phase))
                    m_awaited[static_cast<std::size_t>(input)] = true;
        }
    }

    bool producedIn(const DraftLocal& from, int phase) const {
        return from.origin == DraftLocal::Origin::Step &&
               m_draft.steps[static_cast<std::size_t>(from.step)].phase == phase;
    }

    std::int64_t bytesOf(const DraftStep& step) {
        std::int64_t bytes = 0;
        for (const auto* locals : {&step.inputs, &step.outputs})
            for (const int id : *locals)
                if (id >= 0 && local(id).sized)
                    bytes = saturatingSum(
                        bytes, std::max<std::int64_t>(
                                   0, storageBytes(m_context.info(local(id).value).elementType,
                                                   local(id).box.count())));
        return bytes;
    }

    Draft& m_draft;
    const Context& m_context;
    const OverlapLimits& m_limits;
    std::vector<bool> m_awaited;  ///< By local: something that its phase exchanges depends on it.
    std::map<Place, std::int64_t> m_work, m_exchanged;
};

}  // namespace

void findOverlap(Draft& draft, const Context& context, const OverlapLimits& limits) {
    OverlapFinder(draft, context, limits).run();
}

}  // namespace shardwright::lowering
