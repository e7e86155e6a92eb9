// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/reshard.h"
#include "inference/meaning.h"

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace shardwright {

enum class CommPhase { Input, Output };

/// One logical reshard. Groups that work on different numbers of bytes make entries of their own,
/// so that bytes * groups is exact.
struct CommEntry {
    CollectiveKind kind = CollectiveKind::Region;
    ReduceKind reduce = ReduceKind::None;
    std::vector<int> axes;  ///< Indices into the configuration's mesh.
    std::vector<DeviceGroup> groups;
    NodeId node;  ///< Where it happens: the producer (output), the first consumer (input).
    ValueId value;
    std::vector<NodeId> consumers;  ///< Nodes that read the result.
    std::int64_t bytes = 0;         ///< Of one group.
    std::int64_t bytesSentMax = 0, bytesSentTotal = 0;
    std::string cause;  ///< Tensor, producer layout, consumer layout, in words.
    CommPhase phase = CommPhase::Output;
    std::shared_ptr<const ReshardPlan> plan;  ///< Shared by the entries of one reshard.
};

struct Communication {
    std::vector<CommEntry> entries;  ///< In order of execution (topological order of `node`).
    std::int64_t totalBytes = 0;     ///< Sum of bytes times groups.

    struct KindTotal {
        std::int64_t count = 0;  ///< Group operations.
        std::int64_t bytes = 0;
    };
    std::map<CollectiveKind, KindTotal> byKind() const;
};

/// Remembers reshard plans by (source, target, element type), and what each node of the last
/// meaning communicates; keep it across edits.
class CommCache {
public:
    CommCache();
    ~CommCache();

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
    friend class CommBuilder;
};

/// Looks only at the nodes that the meaning has worked out anew where the cache knows its basis.
Communication findCommunication(const MeaningInput& input, const Meaning& meaning,
                                CommCache& cache);
/// What these nodes take part in, of a meaning that is still being worked out (`soFar` of a
/// MeaningRun in which they are). A reshard for several consumers is there once, with those among
/// `nodes`. What is found is kept for the whole.
Communication findCommunication(const MeaningInput& input, const Meaning& soFar, CommCache& cache,
                                std::span<const NodeId> nodes);

}  // namespace shardwright
