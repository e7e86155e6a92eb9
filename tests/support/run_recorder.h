// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/run_job.h"

#include <QtGlobal>

#include <variant>
#include <vector>

namespace shardwright::test {

/// Keeps the events of a run.
struct Recorder {
    std::vector<RunEvent> events;
    EventSink sink() {
        return [this](const RunEvent& event) { events.push_back(event); };
    }
    template <class E>
    std::vector<E> all() const {
        std::vector<E> found;
        for (const RunEvent& event : events)
            if (const auto* e = std::get_if<E>(&event))
                found.push_back(*e);
        return found;
    }
};

/// The report; an empty one, with a warning, where the run failed.
inline RunReport reportOf(const RunOutcome& outcome) {
    if (const auto* failure = std::get_if<RunFailure>(&outcome)) {
        qWarning("%s: %s", failure->place.c_str(), failure->message.c_str());
        return {};
    }
    return std::get<RunReport>(outcome);
}

}  // namespace shardwright::test
