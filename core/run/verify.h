// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/executor.h"

#include <optional>
#include <string>
#include <vector>

namespace shardwright {

/// The largest difference that is allowed, relative to the largest absolute value of the reference
/// tensor.
///
/// | type | tolerance | why |
/// |---|---|---|
/// | double | 1e-11 | sums in another order |
/// | float | 1e-5 | likewise |
/// | float16 | 1e-2 | 2^-11 a rounding, some tens of them |
/// | bfloat16 | 5e-2 | 2^-8 a rounding |
/// | 8-bit floats | 0.25 | one step |
/// | integers, bool | 0 | exact |
double defaultTolerance(std::int32_t elementType);

/// How one tensor of a sharded run compares with the reference.
struct TensorCheck {
    std::string name;
    ValueId value;
    double maxAbs = 0;
    double maxRel =
        0;  ///< maxAbs / largest absolute value of the reference; maxAbs where that is 0.
    double tolerance = 0;
    bool agrees = false;
    std::string note;  ///< Why not, where it is not the size of the difference; also which device
                       ///< differs most.
};

/// Compares every piece on every device, replicated ones too, with its part of the reference (one
/// whole piece), and that the pieces together are the whole tensor. NaN and infinities must be at
/// the same places. `tolerance` < 0: the default.
TensorCheck checkTensor(const RunResult::Output& sharded, const RunResult::Output& reference,
                        double tolerance = -1);

/// The whole tensor from its pieces. Errors: an element is on no device, no memory.
Result<Buffer> gather(const RunResult::Output& output);

}  // namespace shardwright
