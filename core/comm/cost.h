// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/communication.h"
#include "comm/hardware_profile.h"

#include <string>
#include <vector>

namespace shardwright {

/// Time of a collective in terms of a link: seconds = latencies * a + bytes / B.
struct CostFormula {
    std::string algorithm;  ///< "ring", "tree", "pairwise", "messages"
    std::string text;       ///< "2(n-1)a + 2(n-1)/n S/B"
    double latencies = 0, bytes = 0;

    double seconds(double latency, double bandwidth) const {
        return latencies * latency + (bandwidth > 0 ? bytes / bandwidth : 0);
    }
};

/// The ways to do a collective among n devices; the fastest is meant. `bytes` is S, that of a
/// communication entry. For point-to-point kinds `messages` and `moved` are what the busiest device
/// sends or receives; others do not look at them. None: nothing to do (n < 2).
std::vector<CostFormula> formulasOf(CollectiveKind kind, int n, double bytes, double messages = 1,
                                    double moved = 0);

/// What a collective is predicted to take, and how that was found.
struct CollectiveCost {
    double seconds = 0;
    CostFormula formula;
    int devices = 0;   ///< n
    double bytes = 0;  ///< S of the formula.
    SpannedLink link;
    /// "ring: 2(n-1)a + 2(n-1)/n S/B = 6 x 3.4 us + 49152 B / 450 GB/s, n = 4, S = 32768 B, NVLink"
    std::string text() const;
};

/// Of one group operation; `elementBits` of the tensor's type. The group's devices are one group,
/// however many axes it varies along.
CollectiveCost costOf(const HardwareProfile& profile, const Mesh& mesh,
                      const GroupOperation& operation, int elementBits);
/// Of a reshard, whose groups work at the same time: that of the slowest one. A plan that is free
/// costs nothing.
CollectiveCost costOf(const HardwareProfile& profile, const Mesh& mesh, const ReshardPlan& plan,
                      int elementBits);
/// Of an entry: that of the slowest of its groups.
CollectiveCost costOf(const HardwareProfile& profile, const Mesh& mesh, const CommEntry& entry,
                      int elementBits);

/// Costs of all entries, and their sum as if one came after the other. Entries of one reshard
/// (groups with different numbers of bytes) work at the same time: the slowest counts.
struct CommunicationCost {
    std::vector<CollectiveCost> entries;
    double seconds = 0;
};
CommunicationCost costOf(const HardwareProfile& profile, const Mesh& mesh,
                         const Communication& communication, const ShapeTable& shapes);

}  // namespace shardwright
