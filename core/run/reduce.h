// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rules/rule.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace shardwright {

/// Whether elements of this type can be joined: sum, prod, min, max for numbers and bool (there sum
/// and max are `or`, prod and min are `and`); and, or for integers (bitwise) and bool.
bool canReduce(ReduceKind kind, std::int32_t elementType);

/// outputs[*] = inputs[0] op inputs[1] op ... in that order, so that the result does not depend on
/// who computes it. Half and bfloat16 are accumulated in float and rounded once; a NaN stays one in
/// min and max. An output may be one of the inputs.
void reduceElements(ReduceKind kind, std::int32_t elementType,
                    std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                    std::int64_t count);

/// Accumulators: the element type that partial results are summed in (float for half and bfloat16,
/// else the same).
std::int32_t accumulatorType(std::int32_t elementType);
/// Fills with what changes nothing: 0 for a sum, the largest number for min, ...
void fillIdentity(ReduceKind kind, std::int32_t elementType, std::byte* data, std::int64_t count);
/// accumulator op= elements, the accumulator being of accumulatorType(elementType).
void accumulate(ReduceKind kind, std::int32_t elementType, std::byte* accumulator,
                const std::byte* elements, std::int64_t count);
/// Rounds accumulators to the element type.
void roundAccumulator(std::int32_t elementType, const std::byte* accumulator, std::byte* out,
                      std::int64_t count);

}  // namespace shardwright
