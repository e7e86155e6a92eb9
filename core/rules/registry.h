// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rules/rule.h"

#include <functional>
#include <optional>
#include <span>
#include <string_view>

namespace shardwright {

/// Builds the rule of one node. nullopt: the shapes do not fit the operator; the fallback is used.
using RuleBuilder = std::function<std::optional<Rule>(const NodeContext&)>;

/// What the integers of a node's inputs are used for. Values that are made up are chosen by it. It
/// needs no known shapes: sizes that are not known are negative.
struct ElementUse {
    /// Elements of input `slot` count along `size` elements: they are in [0, size).
    struct Index {
        int slot = 0;
        std::int64_t size = -1;
        int column = -1;  ///< Which element of an index tuple, along the last dimension; -1: all.
    };
    /// Elements of input `slot` arrive in an output as they are, converted to its type.
    struct Carried {
        int slot = 0, output = 0;
        /// Where they begin along the last dimension, which they keep; -1: they are moved about.
        std::int64_t column = -1;
    };
    std::vector<Index> indices;
    std::vector<Carried> carried;
};
/// May read attributes and shapes; the opset of the context is not set.
using ElementUses = std::function<ElementUse(const NodeContext&)>;
/// All elements of these inputs are moved about to output 0.
ElementUses carries(std::vector<int> slots);
/// Those of input 0 stay where they are.
ElementUse carriesInPlace(const NodeContext&);
/// The size of a dimension of an input, counted from the end where negative; -1: not known.
std::int64_t sizeAt(const NodeContext& context, std::size_t slot, std::int64_t dim);

struct OperatorEntry {
    std::string domain;  ///< "" for ai.onnx.
    std::string op;
    std::string family;
    bool strict = true;
    std::string strictReason;
    RuleBuilder build;
    /// Slots whose constant values `build` reads: part of what makes two nodes equal.
    std::vector<int> constantSlots;
    /// Slots whose shape need not be known.
    std::vector<int> shapeOnlySlots;
    /// False: equal whatever the attributes (Constant).
    bool readsAttributes = true;
    /// Why the sizes of the outputs may depend on the data; empty where they never do. Said where
    /// they are not known, so that the node runs whole.
    std::string dataDependent{};
    /// Of nodes, too, that call a function of the model of that name, instead of what follows from
    /// the inside of the function: a rule of the user's own.
    bool ofFunctions = false;
    /// Slots may hold what is not a tensor: a sequence, an optional, a map.
    bool anyValues = false;
    ElementUses elements{};  ///< Empty: nothing is known of them.
};

/// The table of all operators with a rule. Families register themselves through their one function
/// below.
class Registry {
public:
    static const Registry& standard();
    const OperatorEntry* find(std::string_view domain, std::string_view op) const;
    std::span<const OperatorEntry> entries() const { return m_entries; }
    void add(OperatorEntry entry);
    /// Instead of an entry of that name.
    void put(OperatorEntry entry);
    /// Says of an operator that is there what its elements are used for.
    void describe(std::string_view domain, std::string_view op, ElementUses elements);

private:
    std::vector<OperatorEntry> m_entries;  ///< Sorted by (domain, op).
};

// Why an operator is not strict.
std::string noRuleInProposal(std::string_view op);
std::string unsupportedInProposal(std::string_view op);
std::string foreignToProposal();

// One function a family, each in its own file.
void registerElementwise(
    Registry& registry);  ///< Unary, n-ary broadcast, Where, Cast, Clip, Dropout.
void registerContraction(Registry& registry);  ///< MatMul, Gemm, Einsum, MatMulInteger.
void registerReduction(Registry& registry);    ///< Reduce*.
void registerQuantization(
    Registry& registry);  ///< QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear.
void registerView(Registry& registry);    ///< Reshape, Flatten, Squeeze, Unsqueeze.
void registerLayout(Registry& registry);  ///< Transpose, DepthToSpace, SpaceToDepth.
void registerWindow(Registry& registry);  ///< Concat, Split, Expand, Tile, Pad.
void registerSlice(Registry& registry);   ///< Slice.
void registerWholeAxis(
    Registry& registry);  ///< Softmax family, ArgMax, TopK, CumSum, Trilu, OneHot.
void registerNormalization(
    Registry& registry);                   ///< LayerNormalization and its kin, BatchNormalization.
void registerIndexed(Registry& registry);  ///< Gather, GatherElements, GatherND.
void registerScatter(Registry& registry);  ///< ScatterElements, ScatterND.
void registerGenerator(
    Registry& registry);  ///< Constant, ConstantOfShape, Range, Shape, Size, *Like.
void registerMachineLearning(Registry& registry);  ///< ai.onnx.ml.
void registerTraining(Registry& registry);         ///< ai.onnx.preview.training.
void registerSequence(Registry& registry);         ///< Sequences, optionals, strings.
void registerContrib(Registry& registry);          ///< ONNX Runtime's com.microsoft.
void registerAttention(Registry& registry);        ///< Attention, RotaryEmbedding (opset 23).
void registerConvolution(Registry& registry);  ///< Conv and its kin, also quantised and deformable.
void registerPooling(Registry& registry);      ///< Pools, global pools, regions of interest.
void registerResize(Registry& registry);       ///< Resize, grids, CenterCropPad, Col2Im.
void registerRecurrent(Registry& registry);    ///< RNN, GRU, LSTM, LinearAttention.
void registerSignal(Registry& registry);       ///< DFT, STFT.
void registerLoss(Registry& registry);
void registerSelection(Registry& registry);  ///< Sizes that depend on the data; TfIdfVectorizer.

/// Every dimension of a known operator whole, for `reason`.
std::optional<Rule> wholeRule(const NodeContext& context, const std::string& reason);

/// All dimensions whole, for operators without a rule and nodes whose shapes are unknown. `family`
/// is "fallback".
Rule fallbackRule(const NodeContext& context, std::string reason);

/// The rule of one node: of the registered operator where shapes and attributes fit it, else the
/// fallback. Always valid in the sense of validateRule.
Rule buildRule(const NodeContext& context, const Registry& registry = Registry::standard());

/// What of the shape of a slot is not a number, in words; empty when all of it is. `anyValues`:
/// what is not a tensor counts as known.
std::string unknownShape(const NodeContext& context, ValueId id, bool anyValues = false);

/// Why a node cannot have a rule of its operator whatever the operator: a tensor without known
/// shape (named, with the dimension), a body, a function call, an attribute that a function's
/// caller gives. Empty: nothing stands against it.
std::string obstacle(const NodeContext& context, const OperatorEntry* entry);

}  // namespace shardwright
