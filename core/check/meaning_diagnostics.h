// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/analysis.h"

#include <span>

namespace shardwright {

/// Remembers what was said of each node of the last meaning; keep it across edits.
class MeaningDiagnosticsCache {
public:
    MeaningDiagnosticsCache();
    ~MeaningDiagnosticsCache();

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
    friend class MeaningWords;
};

/// SW3xx, SW4xx of moves, and SW5xx: what completion and communication say, in words, with priced
/// fixes. Looks only at the nodes that the meaning has worked out anew where the cache knows its
/// basis.
std::vector<Diagnostic> diagnoseMeaning(const Analysis& analysis, LayoutPool& pool,
                                        MeaningDiagnosticsCache& cache);
/// Those of some nodes, of an analysis whose meaning is still being worked out. What is found is
/// kept for the whole.
std::vector<Diagnostic> diagnoseMeaning(const Analysis& soFar, LayoutPool& pool,
                                        MeaningDiagnosticsCache& cache,
                                        std::span<const NodeId> nodes);

}  // namespace shardwright
