// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rules/rule_maker.h"

namespace shardwright {

/// Factors of a matrix product of any rank. Rank 1 is a row on the left and a column on the right.
struct Product {
    Dims a, b, y;
    int m = -1, k = -1, n = -1;
};

/// Batch dimensions are broadcast; `kWhole` says why k may not be split, if so.
///   [2,4,8], [8,3] -> [2,4,3]      b0 m k+, k+ n -> b0 m n
Product multiply(RuleMaker& maker, const Sizes& a, const Sizes& b, const std::string& kWhole = {});

/// A scale or zero point of a matrix: one number; one a row or column (`line`); or of the matrix's
/// rank.
void setQuantization(RuleMaker& maker, std::size_t slot, const Dims& matrix, int line);

}  // namespace shardwright
