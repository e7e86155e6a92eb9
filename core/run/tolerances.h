// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/analysis.h"

#include <vector>

namespace shardwright {

/// How many terms an element of a node's results is a sum of: the product of the sizes of the
/// factors of its rule that are summed over or must be whole, at most the elements of its largest
/// input; 1 for element-wise nodes.
double sumLength(const Rule& rule);

/// What each tensor of a model may differ from one device's.
class Tolerances {
public:
    /// `fixed` >= 0: for all of them.
    Tolerances(const Analysis& analysis, double fixed);

    /// Computed from the model's inputs: sums along the longest way through the model, and of the
    /// narrowest type on the way (logits cast to float are no more exact than what they are cast
    /// from). Whole numbers and truth values are exact, or they are wrong.
    double of(ValueId value) const;
    /// Computed by its node alone, from inputs that do not differ.
    double ofNodeAlone(ValueId value) const;

private:
    const Analysis& m_analysis;
    const double m_fixed;
    std::vector<double> m_types;    ///< By ValueId; 0: exact.
    std::vector<double> m_lengths;  ///< By ValueId.
};

}  // namespace shardwright
