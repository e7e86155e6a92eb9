// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rules/rule.h"

#include <optional>
#include <span>
#include <string_view>

namespace shardwright {

/// The factors of each dimension of one tensor.
using Dims = std::vector<std::vector<int>>;
using Sizes = std::vector<std::int64_t>;

/// Puts a rule together. What does not fit the shapes (a missing tensor, a wrong rank, sizes that
/// differ) is remembered, and `finish` then gives nothing: builders need no checks of their own
/// beyond what they index with.
class RuleMaker {
public:
    explicit RuleMaker(const NodeContext& context);

    const NodeContext& context() const { return m_context; }

    // --- shapes
    // -----------------------------------------------------------------------------------------------------
    const Sizes& in(std::size_t slot);   ///< Of a required input.
    const Sizes& out(std::size_t slot);  ///< Of a required output.
    /// A dimension number in [0, rank), from one in [-rank, rank).
    std::size_t axis(std::int64_t axis, std::size_t rank);
    /// Several, ascending; none may occur twice.
    std::vector<std::size_t> axes(std::span<const std::int64_t> axes, std::size_t rank);
    void require(bool condition) { m_failed = m_failed || !condition; }
    bool failed() const { return m_failed; }

    // --- factors
    // ----------------------------------------------------------------------------------------------------
    int parallel(std::string name, std::int64_t size);
    int reduction(std::string name, std::int64_t size, ReduceKind reduce);
    int whole(std::string name, std::int64_t size, std::string reason);
    int neighbour(std::string name, std::int64_t size, std::string reason);
    /// One factor a dimension: d0, d1, ...
    Dims parallelDims(const Sizes& sizes, const std::string& prefix = "d");
    Dims wholeDims(const Sizes& sizes, const std::string& prefix, const std::string& reason);

    // --- tensors
    // ----------------------------------------------------------------------------------------------------
    /// Gives a slot its dims; an omitted slot stays omitted.
    void input(std::size_t slot, Dims dims);
    void output(std::size_t slot, Dims dims);
    /// Every dimension of its own and whole.
    void wholeInput(std::size_t slot, const std::string& prefix, const std::string& reason);
    void wholeOutput(std::size_t slot, const std::string& prefix, const std::string& reason);
    void shapeOnly(std::size_t slot);
    void addedOnce(std::size_t slot);
    /// How a tensor of these sizes is indexed when it is broadcast to `target`: dimension `offset`
    /// of the target is its first (-1: aligned at the last). Dimensions of size 1 have no factor;
    /// others must agree.
    Dims broadcast(const Sizes& sizes, const Dims& target, std::int64_t offset = -1);

    // --- the rest
    // ---------------------------------------------------------------------------------------------------
    void rewrite(Rewrite rewrite) { m_rule.rewrites.push_back(std::move(rewrite)); }
    void slice(SliceExtra slice) { m_rule.slices.push_back(slice); }
    void notStrict(std::string reason);
    void travels(const AxisTravel& travel) { m_rule.travel = travel; }
    void everywhereOutputs() { m_rule.everywhereOutputs = true; }
    /// Floating point operations of the whole node. Default: one an element of output 0.
    void flops(double total) { m_flops = total; }
    double elements(const Sizes& sizes) const;

    /// Nothing where the shapes did not fit or a present slot was given no dims. Factors of size 1
    /// are dropped, those of size 0 are whole, names are made unique.
    std::optional<Rule> finish();

private:
    int add(Factor factor);
    void set(std::vector<TensorMap>& maps, std::vector<bool>& done, std::size_t slot, Dims dims);
    std::int64_t product(const std::vector<int>& factors) const;
    void dropUnitFactors();
    void dropFrom(Rewrite& rewrite, const std::vector<int>& renumbered) const;
    void makeNamesUnique();

    const NodeContext& m_context;
    Rule m_rule;
    std::vector<bool> m_inputDone, m_outputDone;
    double m_flops = -1;
    bool m_failed = false;
};

/// "a", "b", ..., "z", "f26", ...
std::string letterName(std::size_t index);

/// For a tensor whose dims are not known one by one: what the fallback says, and what a Range
/// produces.
TensorMap wholeMap(const TensorInfo& info, const std::string& prefix, const std::string& reason,
                   std::vector<Factor>& factors);

}  // namespace shardwright
