// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/shapes.h"

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shardwright {

enum class FactorKind {
    Parallel,   ///< May be split freely: every block is computed on its own.
    Reduction,  ///< Split blocks give partial results, joined by `reduce`.
    Whole,      ///< Must not be split; `reason` says why.
    Neighbour,  ///< Needs elements of neighbours (a slice bound, a halo); split only with a named
                ///< extra.
};

enum class ReduceKind { None, Sum, Prod, Min, Max, And, Or };
std::string reduceKindName(ReduceKind kind);  ///< "sum", "or", ...

/// One index of the operator's loop nest.
struct Factor {
    std::string name;  ///< "m", "k", "heads"; unique within the rule.
    std::int64_t size = 1;
    FactorKind kind = FactorKind::Parallel;
    ReduceKind reduce = ReduceKind::None;
    bool blocksPropagation = false;
    std::string reason;  ///< Of Whole and Neighbour, in words.
};

/// How one input or output is indexed. Each dimension is an ordered list of factors, major to
/// minor, whose sizes multiply to it; a size-1 dimension has none. Along the dimension of a
/// SliceExtra the output has the factor of the input, whose size differs from the output's.
struct TensorMap {
    bool present = true;     ///< False: omitted optional.
    bool shapeOnly = false;  ///< Reads no elements (Shape, Size, *Like): no cells, moves nothing.
    /// Enters the sum once: dropped where a reduction factor that it lacks is not at its first
    /// block (Gemm's C).
    bool addedOnce = false;
    std::vector<std::vector<int>> dims;
};

/// A slice of one factor: the output's index o reads the input's index start + o * step. The extra
/// for Slice and for windows over a split axis.
struct SliceExtra {
    int factor = -1;
    std::int64_t start = 0;
    std::int64_t step = 1;
    std::int64_t count = 0;  ///< Size of the output dimension.
    int inputSlot = 0, outputSlot = 0, dim = 0;
    /// A window: as many elements before and behind that one are read as well, where there are any.
    /// What lies on other devices (the halo) is brought there, and the kernel runs on what is
    /// local.
    std::int64_t before = 0, after = 0;
    bool window = false;
};

/// What lowering rewrites in the local copy of the node, beside cutting inputs and outputs. All of
/// it is derived from the same factors; nothing of an operator is written down elsewhere.
struct Rewrite {
    enum class Kind {
        LocalShapeInput,      ///< Input `slot` becomes the local shape of output `output` (Reshape,
                              ///< Expand); where `dims` is given, its sizes along those (Resize
                              ///< with axes), -1 standing for a size that nobody reads.
        LocalSizesInput,      ///< Input `slot` becomes the local sizes of all outputs along `dim`
                              ///< (Split).
        LocalSizesAttribute,  ///< Attribute `name` likewise (Split before opset 13).
        /// The output is known: the sizes of the global input `slot` along `dims` (Shape), or,
        /// where `name` is "count", the number of its elements (Size).
        Constant,
        MaskedLookup,     ///< Indices in input `slot` are global positions of `factor`: subtract,
                          ///< mask, join by its reduction.
        ReplaceOperator,  ///< Run `name` instead when `factor` is split (ReduceMean -> ReduceSum).
        Scale,  ///< Multiply the partial result by `scale` when `factor` is split (1/n of a mean).
        Tail,   ///< Apply the unary operator `name` after the collective when `factor` is split.
        LocalSlice,           ///< Slice bounds become local ones (with a SliceExtra) along `dim`.
        LocalShapeAttribute,  ///< Attribute `name` becomes the local shape of output `output`
                              ///< (Reshape before opset 5).
        LocalAttribute,  ///< Attribute `name` becomes the product of the local sizes of `factors`
                         ///< (head counts).
        RunAsReshape,    ///< Run as a Reshape of input `slot` to the local shape of output `output`
                         ///< (Squeeze without axes).
        /// Input `slot` is read for its shape or type only: feed it zeros of its global shape,
        /// where `name` is "type" any tensor of its element type (CastLike).
        Placeholder,
        LocalPads,  ///< Attribute `name` becomes what the windows of a tile need beyond the ends of
                    ///< the tensor; `axes` are the pads of the whole, at the begin of each
                    ///< dimension from `dim` on, then at the ends. auto_pad is dropped.
        /// Where `factor` is split, input `slot`, whole along `dim`, is read in slices, one an
        /// element of the factor: several elements may share one (heads of a query those of the
        /// keys). `axes`: how many share a slice, and how many positions it has.
        PickSlices,
        SetAttribute,  ///< Attribute `name` becomes the string `text` when `factor` is split (the
                       ///< mean of a loss, which is summed first).
    };
    Kind kind;
    int slot = -1;
    int output = 0;
    int dim = -1;     ///< MaskedLookup: which column of the index tuple (GatherND), else -1.
    int factor = -1;  ///< -1: any reduction factor.
    std::string name{};
    double scale = 1.0;
    std::vector<int> factors{};  ///< Of LocalAttribute.
    /// ReplaceOperator: attribute `axes` becomes input 1 (ReduceSum since opset 13).
    bool axesToInput = false;
    /// Of ReplaceOperator: the axes of the operator that runs instead, where the node has none
    /// (GlobalAveragePool); its other attributes are dropped. Of LocalPads: the pads. Of
    /// PickSlices: two numbers.
    std::vector<std::int64_t> axes{};
    std::vector<int> dims{};  ///< Of LocalShapeInput and Constant.
    std::string text{};       ///< Of SetAttribute.
};

/// How axes travel through an operator beyond what its factors say: the operator steps of
/// propagation, and where the operators of Paddle differ from each other.
struct AxisTravel {
    bool elementwise = false;  ///< An element of the output is made of one element of each input.
    /// In the first steps: element-wise operators, views, Transpose.
    bool passThrough = false;
    bool backwardFirst = false;  ///< Forward in the last step only (Expand).
    /// Policy paddle: axes on which inputs differ go where least is moved (Concat).
    bool cheapestInputs = false;
    bool largestWins = false;  ///< Policy paddle: an axis on several factors goes to the largest.
};

/// The factor rule of one node with known shapes. Immutable; equal nodes share one.
struct Rule {
    std::string op;            ///< "MatMul", "com.example::Foo".
    std::string family;        ///< "contraction"
    bool known = true;         ///< False: fallback, "no rule": everything whole.
    bool strict = true;        ///< Proposal 0007 covers it.
    std::string strictReason;  ///< Why not.
    std::vector<Factor> factors;
    std::vector<TensorMap> inputs;   ///< One a slot.
    std::vector<TensorMap> outputs;  ///< One a slot.
    std::vector<SliceExtra> slices;
    std::vector<Rewrite> rewrites;
    /// Outputs depend on nothing but shapes: they are everywhere whatever the layout of the inputs.
    bool everywhereOutputs = false;
    /// It follows from the rules of the nodes inside: of a function that is called, or of bodies.
    bool fromInside = false;
    AxisTravel travel;
    /// How the node can be computed as well, where shard edges do not fall on the edges of the
    /// factors above: other factors for the same tensors. Null: in no other way.
    std::shared_ptr<const Rule> otherwise;
    double flopsPerPoint = 1.0;  ///< Times the product of all factor sizes.

    /// "b m k+, k+ n -> b m n" with kinds: `k+` (a sum; `k+max` and so on), `h^` whole, `a~`
    /// neighbour. "(a b)" is one dimension of two factors, "1" one without, "." a tensor of rank 0,
    /// "_" an omitted one, "(shape)" a shape-only one.
    std::string text() const;
};

using RulePtr = std::shared_ptr<const Rule>;

class Registry;

/// What a family's builder gets to see of a node.
struct NodeContext {
    const GraphIndex& graph;
    const ShapeTable& shapes;
    const NodeInfo& node;
    int opset = 0;  ///< Of the node's domain.

    bool hasInput(std::size_t slot) const;
    const TensorInfo& input(std::size_t slot) const;  ///< Of an omitted slot: an empty TensorInfo.
    const TensorInfo& output(std::size_t slot) const;
    bool hasOutput(std::size_t slot) const;
    const ConstantValue* constantInput(std::size_t slot) const;
    /// Elements of a known integer input. nullopt: not known, or not of integers.
    std::optional<std::vector<std::int64_t>> constantInts(std::size_t slot) const;
    std::int64_t attribute(const char* name, std::int64_t otherwise) const;
    template <std::integral T>
    std::int64_t attribute(const char* name, T otherwise) const {
        return attribute(name, static_cast<std::int64_t>(otherwise));
    }
    double attribute(const char* name, double otherwise) const;
    std::string attribute(const char* name, const char* otherwise) const;
    /// Empty when absent.
    std::vector<std::int64_t> attributeInts(const char* name) const;
    std::vector<double> attributeReals(const char* name) const;
    bool hasAttribute(const char* name) const;
};

/// Rules of all nodes of a model under one shape table. Equal nodes (operator, attributes, shapes,
/// constant inputs that the rule reads) share one Rule. A node with an unknown rank, without a
/// registered operator or with shapes that contradict the operator gets the fallback with the
/// reason in `factors`.
class RuleTable {
public:
    /// Null only when cancelled.
    static std::shared_ptr<const RuleTable> build(std::shared_ptr<const Model> model,
                                                  std::shared_ptr<const ShapeTable> shapes,
                                                  const CancelToken& = {});
    /// With the operators of `registry` instead of the standard ones.
    static std::shared_ptr<const RuleTable> build(std::shared_ptr<const Model> model,
                                                  std::shared_ptr<const ShapeTable> shapes,
                                                  const CancelToken&, const Registry& registry);
    const RulePtr& of(NodeId id) const { return m_rules[id.index()]; }

private:
    std::vector<RulePtr> m_rules;
};

}  // namespace shardwright
