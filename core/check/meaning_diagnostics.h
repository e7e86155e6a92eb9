// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/analysis.h"

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

}  // namespace shardwright
