// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <map>
#include <string>

namespace shardwright::lowering {

/// Seeds of operators that draw random numbers. ONNX Runtime takes another one in every process
/// where a node has none, so that devices that compute the same would not have the same. A node
/// whose schema has an attribute `seed`, and which does not set it, gets one here: the same on all
/// devices, in the reference and in every process, from the seed of the run and the node's output.
class Seeds {
public:
    Seeds(std::uint64_t seed, const onnx::ModelProto& model);
    /// For the nodes of a function, which has imports of its own.
    Seeds with(const onnx::FunctionProto& function) const;
    std::uint64_t seed() const { return m_seed; }

    /// `original`: with its outputs. Whether `node` got one.
    bool set(onnx::NodeProto& node, const onnx::NodeProto& original) const;

private:
    std::uint64_t m_seed;
    std::map<std::string, int> m_versions;  ///< Of domains.
};

}  // namespace shardwright::lowering
