// SPDX-License-Identifier: Apache-2.0
#include "plan/rewrites.h"

#include "plan/constants.h"
#include "plan/masked_lookup.h"

#include <algorithm>

namespace shardwright::lowering {

bool isSplit(const CellGrid& cells, const Rewrite& rewrite) {
    if (rewrite.factor >= 0)
        return cells.cuts[static_cast<std::size_t>(rewrite.factor)].split();
    for (std::size_t f = 0; f < cells.cuts.size(); ++f)
        if (cells.rule->factors[f].kind == FactorKind::Reduction && cells.cuts[f].split())
            return true;
    return false;
}

namespace {

bool mapsFactor(const TensorMap& map, int factor) {
    return std::any_of(map.dims.begin(), map.dims.end(), [&](const std::vector<int>& factors) {
        return std::find(factors.begin(), factors.end(), factor) != factors.end();
    });
}

void dropAttribute(onnx::NodeProto& node, const std::string& name) {
    for (int i = node.attribute_size(); i-- > 0;)
        if (node.attribute(i).name() == name)
            node.mutable_attribute()->DeleteSubrange(i, 1);
}

void setAttribute(onnx::NodeProto& node, const std::string& name,
                  const std::vector<std::int64_t>& values) {
    dropAttribute(node, name);
    auto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INTS);
    attribute.mutable_ints()->Add(values.begin(), values.end());
}

/// Whether bounds must become local ones: some sliced factor is split.
bool isSliced(const CellGrid& cells) {
    return std::any_of(
        cells.rule->rewrites.begin(), cells.rule->rewrites.end(), [&](const Rewrite& rewrite) {
            return rewrite.kind == Rewrite::Kind::LocalSlice && isSplit(cells, rewrite);
        });
}

bool addedElsewhere(const CellGrid& cells, const Tile& tile, const TensorMap& map) {
    if (!map.addedOnce)
        return false;
    for (std::size_t f = 0; f < cells.cuts.size(); ++f)
        if (cells.rule->factors[f].kind == FactorKind::Reduction && cells.cuts[f].split() &&
            !mapsFactor(map, static_cast<int>(f)) && tile.classes[f].front() != 0)
            return true;
    return false;
}

}  // namespace

bool readsInput(const CellGrid& cells, const Tile& tile, std::size_t slot) {
    const TensorMap& map = cells.rule->inputs[slot];
    if (map.shapeOnly || addedElsewhere(cells, tile, map))
        return false;
    const auto own = static_cast<int>(slot);
    if (isSliced(cells))
        return std::any_of(cells.rule->slices.begin(), cells.rule->slices.end(),
                           [&](const SliceExtra& slice) { return slice.inputSlot == own; });
    return std::none_of(cells.rule->rewrites.begin(), cells.rule->rewrites.end(),
                        [&](const Rewrite& rewrite) {
                            return (rewrite.kind == Rewrite::Kind::LocalShapeInput ||
                                    rewrite.kind == Rewrite::Kind::LocalSizesInput) &&
                                   rewrite.slot == own;
                        });
}

std::string placeholder(const Context& context, GraphWriter& writer, NodeId node,
                        std::size_t slot) {
    const ValueId value = context.graph.node(node).inputs[slot];
    onnx::TensorProto zero = zeroTensor(context.info(value).elementType);
    // Of the rule itself: what is read for its shape is so in whatever way the node is computed.
    for (const Rewrite& rewrite : context.rule(node).rewrites)
        if (rewrite.kind == Rewrite::Kind::Placeholder && rewrite.slot == static_cast<int>(slot) &&
            rewrite.name == "type")
            return writer.constant(std::move(zero));
    const std::string name =
        writer.add("ConstantOfShape", {writer.ints(dimsOf(context.whole(value, node)))});
    auto& attribute = *writer.added().add_attribute();
    attribute.set_name("value");
    attribute.set_type(onnx::AttributeProto::TENSOR);
    *attribute.mutable_t() = std::move(zero);
    return name;
}

TileWriter::TileWriter(const Context& context, GraphWriter& writer, const DraftStep& step,
                       std::vector<std::string> inputs, std::vector<std::string> outputs)
    : m_context(context), m_writer(writer), m_step(step), m_cells(*step.cells), m_tile(*step.tile),
      m_inputs(std::move(inputs)), m_outputs(std::move(outputs)) {}

void TileWriter::write(onnx::NodeProto node) {
    if (isSliced(m_cells)) {
        for (std::size_t output = 0; output < m_outputs.size(); ++output)
            writeSlices(static_cast<int>(output));
        return;
    }
    fillShapeOnly();
    for (const Rewrite& rewrite : m_cells.rule->rewrites)
        apply(rewrite, node);
    writeMaskedLookups(m_context, m_writer, m_step, m_inputs, [this](int output, auto write) {
        m_posts.push_back({output, std::move(write)});
    });
    // Each post operation reads what the one before it wrote; the last one writes the local tensor.
    std::vector<std::string> written = m_outputs;
    for (const Post& post : m_posts)
        written[static_cast<std::size_t>(post.output)] =
            m_writer.fresh(m_outputs[static_cast<std::size_t>(post.output)]);
    while (!m_inputs.empty() && m_inputs.back().empty())
        m_inputs.pop_back();
    node.mutable_input()->Clear();
    for (const std::string& input : m_inputs)
        node.add_input(input);
    node.mutable_output()->Clear();
    for (const std::string& output : written)
        node.add_output(output);
    m_writer.addNode(std::move(node));
    for (std::size_t i = 0; i < m_posts.size(); ++i) {
        const auto slot = static_cast<std::size_t>(m_posts[i].output);
        const bool last =
            std::none_of(m_posts.begin() + static_cast<std::ptrdiff_t>(i) + 1, m_posts.end(),
                         [&](const Post& p) { return p.output == m_posts[i].output; });
        const std::string output = last ? m_outputs[slot] : m_writer.fresh(m_outputs[slot]);
        m_posts[i].write(written[slot], output);
        written[slot] = output;
    }
}

void TileWriter::fillShapeOnly() {
    const NodeInfo& node = m_context.graph.node(m_step.node);
    for (std::size_t slot = 0; slot < node.inputs.size(); ++slot)
        if (node.inputs[slot] && m_cells.rule->inputs[slot].shapeOnly)
            setInput(static_cast<int>(slot), placeholder(m_context, m_writer, m_step.node, slot));
}

void TileWriter::apply(const Rewrite& rewrite, onnx::NodeProto& node) {
    switch (rewrite.kind) {
        case Rewrite::Kind::LocalShapeInput: setInput(rewrite.slot, localShape(rewrite)); break;
        case Rewrite::Kind::LocalSizesInput:
        case Rewrite::Kind::LocalSizesAttribute: setSizes(rewrite, node); break;
        case Rewrite::Kind::ReplaceOperator:
            if (isSplit(m_cells, rewrite))
                replaceOperator(rewrite, node);
            break;
        case Rewrite::Kind::Scale:
            if (isSplit(m_cells, rewrite))
                scale(rewrite);
            break;
        case Rewrite::Kind::LocalShapeAttribute:
            setAttribute(node, rewrite.name,
                         dimsOf(m_tile.outputs[static_cast<std::size_t>(rewrite.output)]));
            break;
        case Rewrite::Kind::LocalAttribute: {
            dropAttribute(node, rewrite.name);
            auto& attribute = *node.add_attribute();
            attribute.set_name(rewrite.name);
            attribute.set_type(onnx::AttributeProto::INT);
            attribute.set_i(localProduct(rewrite.factors));
            break;
        }
        case Rewrite::Kind::LocalPads: setPads(rewrite, node); break;
        case Rewrite::Kind::SetAttribute:
            if (isSplit(m_cells, rewrite)) {
                dropAttribute(node, rewrite.name);
                auto& attribute = *node.add_attribute();
                attribute.set_name(rewrite.name);
                attribute.set_type(onnx::AttributeProto::STRING);
                attribute.set_s(rewrite.text);
            }
            break;
        case Rewrite::Kind::PickSlices:
            if (isSplit(m_cells, rewrite))
                pickSlices(rewrite);
            break;
        case Rewrite::Kind::RunAsReshape: runAsReshape(rewrite, node); break;
        case Rewrite::Kind::LocalSlice:    // Instead of the kernel, see writeSlices().
        case Rewrite::Kind::Placeholder:   // See fillShapeOnly().
        case Rewrite::Kind::Constant:      // The drafter embeds the outputs: there is no kernel.
        case Rewrite::Kind::MaskedLookup:  // All columns together, see write().
        case Rewrite::Kind::Tail:          // A step of its own, after the collective.
            break;
    }
}

void TileWriter::replaceOperator(const Rewrite& rewrite, onnx::NodeProto& node) {
    node.set_op_type(rewrite.name);
    if (!rewrite.axes.empty()) {
        node.clear_attribute();
        setAttribute(node, "axes", rewrite.axes);
    }
    if (!rewrite.axesToInput)
        return;
    for (const auto& attribute : node.attribute())
        if (attribute.name() == "axes")
            setInput(1, m_writer.ints({attribute.ints().begin(), attribute.ints().end()}));
    dropAttribute(node, "axes");
}

void TileWriter::setSizes(const Rewrite& rewrite, onnx::NodeProto& node) {
    const std::vector<std::int64_t> sizes = localSizes(rewrite.dim);
    // An operator that is told the sizes must not be told a number of equal parts, too.
    dropAttribute(node, "num_outputs");
    if (rewrite.kind == Rewrite::Kind::LocalSizesInput)
        setInput(rewrite.slot, m_writer.ints(sizes));
    else
        setAttribute(node, rewrite.name, sizes);
}

std::string TileWriter::localShape(const Rewrite& rewrite) {
    std::vector<std::int64_t> sizes =
        dimsOf(m_tile.outputs[static_cast<std::size_t>(rewrite.output)]);
    if (!rewrite.dims.empty()) {
        std::vector<std::int64_t> some;
        for (const int dim : rewrite.dims)
            some.push_back(dim < 0 ? 1 : sizes[static_cast<std::size_t>(dim)]);
        sizes = std::move(some);
    }
    const ValueId input =
        m_context.graph.node(m_step.node).inputs[static_cast<std::size_t>(rewrite.slot)];
    return m_context.info(input).elementType == onnx::TensorProto::INT32
               ? m_writer.constant(integerTensor(onnx::TensorProto::INT32,
                                                 {static_cast<std::int64_t>(sizes.size())}, sizes))
               : m_writer.ints(sizes);
}

/// The local input ends where the last window of the tile does, or where the tensor does; what the
/// windows read beyond the tensor is padding.
void TileWriter::setPads(const Rewrite& rewrite, onnx::NodeProto& node) const {
    std::vector<std::int64_t> pads = rewrite.axes;
    bool changed = false;
    for (const SliceExtra& slice : m_cells.rule->slices) {
        const auto f = static_cast<std::size_t>(slice.factor);
        const auto& outputs = m_tile.outputs[static_cast<std::size_t>(slice.outputSlot)]
                                  .dims[static_cast<std::size_t>(slice.dim)]
                                  .intervals();
        if (!slice.window || !m_cells.cuts[f].split() || outputs.empty())
            continue;
        const std::int64_t first = slice.start + outputs.front().begin * slice.step - slice.before;
        const std::int64_t last = slice.start + (outputs.back().end - 1) * slice.step + slice.after;
        const auto dim = static_cast<std::size_t>(slice.dim - rewrite.dim);
        pads[dim] = std::max<std::int64_t>(0, -first);
        pads[pads.size() / 2 + dim] =
            std::max<std::int64_t>(0, last - (m_cells.rule->factors[f].size - 1));
        changed = true;
    }
    if (!changed)
        return;
    dropAttribute(node, "auto_pad");
    setAttribute(node, rewrite.name, pads);
}

void TileWriter::pickSlices(const Rewrite& rewrite) {
    const auto slot = static_cast<std::size_t>(rewrite.slot);
    if (slot >= m_inputs.size() || m_inputs[slot].empty())
        return;
    const std::int64_t shared = rewrite.axes[0], width = rewrite.axes[1];
    std::vector<std::vector<std::int64_t>> positions(m_tile.inputs[slot].dims.size());
    const IndexSet elements = localElements(rewrite.factor);
    for (const auto& interval : elements.intervals())
        for (std::int64_t e = interval.begin; e < interval.end; ++e)
            for (std::int64_t i = 0; i < width; ++i)
                positions[static_cast<std::size_t>(rewrite.dim)].push_back(e / shared * width + i);
    const std::string picked = m_writer.fresh(m_inputs[slot]);
    m_writer.select(m_inputs[slot], positions, picked);
    m_inputs[slot] = picked;
}

std::vector<std::int64_t> TileWriter::localSizes(int dim) const {
    std::vector<std::int64_t> sizes;
    for (const Box& box : m_tile.outputs)
        sizes.push_back(box.dims[static_cast<std::size_t>(dim)].count());
    return sizes;
}

IndexSet TileWriter::localElements(int factor) const {
    const auto index = static_cast<std::size_t>(factor);
    IndexSet set;
    for (const std::int64_t c : m_tile.classes[index])
        set = set.unite(m_cells.cuts[index].elements(c));
    return set;
}

std::int64_t TileWriter::localProduct(const std::vector<int>& factors) const {
    std::int64_t product = 1;
    for (const int f : factors)
        product *= localElements(f).count();
    return product;
}

void TileWriter::runAsReshape(const Rewrite& rewrite, onnx::NodeProto& node) {
    const std::string data = m_inputs[static_cast<std::size_t>(rewrite.slot)];
    const std::vector<std::int64_t> shape =
        dimsOf(m_tile.outputs[static_cast<std::size_t>(rewrite.output)]);
    node.set_op_type("Reshape");
    node.clear_domain();
    node.clear_attribute();
    m_inputs = {data};
    if (m_context.opset > 0 && m_context.opset < 5)
        setAttribute(node, "shape", shape);
    else
        setInput(1, m_writer.ints(shape));
}

void TileWriter::scale(const Rewrite& rewrite) {
    const std::int32_t type = m_context.info(outputValue(rewrite.output)).elementType;
    m_posts.push_back({rewrite.output, [this, type, factor = rewrite.scale](
                                           const std::string& input, const std::string& output) {
                           m_writer.add("Mul", {input, m_writer.scalar(type, factor)}, output);
                       }});
}

/// The node is nothing but index arithmetic, so it is replaced by a selection of local positions.
void TileWriter::writeSlices(int output) {
    const auto slot = static_cast<std::size_t>(output);
    std::size_t inputSlot = 0;
    std::vector<std::vector<std::int64_t>> positions(m_tile.outputs[slot].dims.size());
    for (const SliceExtra& slice : m_cells.rule->slices) {
        if (slice.outputSlot != output)
            continue;
        inputSlot = static_cast<std::size_t>(slice.inputSlot);
        const auto dim = static_cast<std::size_t>(slice.dim);
        std::vector<std::int64_t> wanted;
        for (const auto& interval : m_tile.outputs[slot].dims[dim].intervals())
            for (std::int64_t o = interval.begin; o < interval.end; ++o)
                wanted.push_back(slice.start + o * slice.step);
        positions[dim] = positionsIn(m_tile.inputs[inputSlot].dims[dim], wanted);
    }
    m_writer.select(m_inputs[inputSlot], positions, m_outputs[slot]);
}

void TileWriter::setInput(int slot, std::string name) {
    if (m_inputs.size() <= static_cast<std::size_t>(slot))
        m_inputs.resize(static_cast<std::size_t>(slot) + 1);
    m_inputs[static_cast<std::size_t>(slot)] = std::move(name);
}

ValueId TileWriter::outputValue(int output) const {
    return m_context.graph.node(m_step.node).outputs[static_cast<std::size_t>(output)];
}

}  // namespace shardwright::lowering
