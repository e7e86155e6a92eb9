// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/executor.h"

#include <optional>
#include <string>
#include <vector>

namespace shardwright {

/// The largest difference that is allowed, relative to the largest absolute value of the reference
/// tensor: that of the type, and what sums in another order come to. The errors of a sum of n terms
/// are a random walk: they grow like sqrt(n) roundings (Higham, Accuracy and Stability of Numerical
/// Algorithms, 4.2). With `length` terms, of an element and all that it is computed from:
///
///     tolerance = of the type + 8 u sqrt(length)
///
/// | type | of the type | u | why |
/// |---|---|---|---|
/// | double | 1e-11 | 2^-53 | far below any fault |
/// | float | 2^-20 | 2^-24 | 16 roundings: kernels differ between whole vectors and remainders |
/// | float16 | 1e-2 | 2^-24 | 2^-11 a rounding, some tens of them; sums are of floats |
/// | bfloat16 | 5e-2 | 2^-24 | 2^-8 a rounding |
/// | 8-bit floats | 0.25 | 2^-24 | one step |
/// | integers, bool, strings | 0 | 0 | exact |
double tolerance(std::int32_t elementType, double length);
/// Of the type alone: of 0 terms.
double typeTolerance(std::int32_t elementType);

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
/// the same places. `tolerance` < 0: that of the type for 400 terms.
TensorCheck checkTensor(const RunResult::Output& sharded, const RunResult::Output& reference,
                        double tolerance = -1);

/// The whole tensor from its pieces. Errors: an element is on no device, no memory.
Result<Buffer> gather(const RunResult::Output& output);

}  // namespace shardwright
