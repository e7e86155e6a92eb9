// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/shapes.h"
#include "sharding/layout.h"

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardwright {

/// One thing to say about a spec; code, node and tensor make it a Diagnostic.
struct SpecFinding {
    const char* code = "";
    int dimension = -1;
    std::string message;
};

/// What one ShardingSpecProto means for a tensor of known shape.
struct SpecReading {
    std::optional<Layout> layout;       ///< None: the findings say why.
    std::vector<SpecFinding> findings;  ///< Each code once for a cause.
    std::int64_t shards = 1;            ///< Product of num_shards; -1: not known.
    /// Where sharded_dim is not ascending: the entry of `device` for each shard in ascending order.
    std::vector<int> ascendingDevices;
};

/// Reads the spec of `tensor` by the decision table in docs/annotations.md.
SpecReading readSpec(const onnx::ShardingSpecProto& spec, const std::string& tensor,
                     const TensorInfo& info, int deviceCount, const Bindings& bindings);

}  // namespace shardwright
