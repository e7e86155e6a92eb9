// SPDX-License-Identifier: Apache-2.0
#include "plan/masked_lookup.h"

#include "plan/constants.h"
#include "plan/rewrites.h"

#include <algorithm>
#include <limits>

namespace shardwright::lowering {

namespace {

/// What one column of an index tuple (or the index itself) is compared with.
struct Column {
    std::int64_t size = 0;   ///< Global; added to negative indices.
    std::int64_t start = 0;  ///< Of the local block.
    std::int64_t low = 0, high = 0;
};

class LookupWriter {
public:
    LookupWriter(const Context& context, GraphWriter& writer, const DraftStep& step,
                 std::size_t slot)
        : m_context(context), m_writer(writer), m_step(step), m_cells(*step.cells),
          m_tile(*step.tile), m_slot(slot) {
        const ValueId value = context.graph.node(step.node).inputs[slot];
        m_type = context.info(value).elementType;
        m_dims = dimsOf(m_tile.inputs[slot]);
        for (const Rewrite& rewrite : m_cells.rule->rewrites)
            if (rewrite.kind == Rewrite::Kind::MaskedLookup &&
                rewrite.slot == static_cast<int>(slot) && isSplit(m_cells, rewrite))
                m_rewrites.push_back(&rewrite);
    }

    bool needed() const { return !m_rewrites.empty(); }

    std::string write(const std::string& indices, const AddPost& addPost) {
        const bool tuple = m_rewrites.front()->dim >= 0;
        if (!tuple && blockOf(*m_rewrites.front()).intervals().size() > 1)
            return writeTable(indices, addPost);
        const std::vector<Column> columns =
            tuple ? tupleColumns() : std::vector<Column>{column(*m_rewrites.front())};
        const std::string global =
            countedFromStart(indices, constants(columns, &Column::size, tuple));
        const std::string local =
            m_writer.add("Sub", {global, constants(columns, &Column::start, tuple)});
        const std::string below =
            m_writer.add("Less", {local, constants(columns, &Column::low, tuple)});
        const std::string inside = m_writer.add(
            "And", {m_writer.add("Not", {below}),
                    m_writer.add("Less", {local, constants(columns, &Column::high, tuple)})});
        const std::string safe = m_writer.add("Where", {inside, local, constant({0}, false)});
        addMask(tuple ? joinedColumns(inside) : inside, tuple, addPost);
        return safe;
    }

private:
    /// What the device has of the dimension along which the indices count.
    IndexSet blockOf(const Rewrite& rewrite) const {
        const auto f = static_cast<std::size_t>(rewrite.factor);
        IndexSet block;
        for (const std::int64_t c : m_tile.classes[f])
            block = block.unite(m_cells.cuts[f].elements(c));
        return block;
    }

    /// Without negative indices, which count from the end.
    std::string countedFromStart(const std::string& indices, const std::string& sizes) {
        const std::string low = m_writer.add("Less", {indices, constant({0}, false)});
        return m_writer.add("Where", {low, m_writer.add("Add", {indices, sizes}), indices});
    }

    /// Where the device has several blocks: a table says where each index is here, -1 for those
    /// that are not.
    std::string writeTable(const std::string& indices, const AddPost& addPost) {
        const Rewrite& rewrite = *m_rewrites.front();
        const std::int64_t size =
            m_cells.rule->factors[static_cast<std::size_t>(rewrite.factor)].size;
        std::vector<std::int64_t> places(static_cast<std::size_t>(size), -1);
        std::int64_t next = 0;
        const IndexSet block = blockOf(rewrite);
        for (const auto& interval : block.intervals())
            for (std::int64_t i = interval.begin; i < interval.end; ++i)
                places[static_cast<std::size_t>(i)] = next++;
        const std::string place = m_writer.add(
            "Gather", {constant(places, true), countedFromStart(indices, constant({size}, false))});
        const std::string inside =
            m_writer.add("Not", {m_writer.add("Less", {place, constant({0}, false)})});
        const std::string safe = m_writer.add("Where", {inside, place, constant({0}, false)});
        addMask(inside, false, addPost);
        return safe;
    }

    Column column(const Rewrite& rewrite) const {
        const auto f = static_cast<std::size_t>(rewrite.factor);
        const IndexSet block = blockOf(rewrite);
        if (block.intervals().size() != 1)
            m_context.refuse(m_step.node,
                             "its indices count along `" + m_cells.rule->factors[f].name +
                                 "`, whose shard on device " + std::to_string(m_step.device) +
                                 " is not one contiguous block; shard it in one piece");
        const auto interval = block.intervals().front();
        return {m_cells.rule->factors[f].size, interval.begin, 0, interval.end - interval.begin};
    }

    std::vector<Column> tupleColumns() const {
        const std::int64_t least = m_type == onnx::TensorProto::INT32
                                       ? std::numeric_limits<std::int32_t>::min()
                                       : std::numeric_limits<std::int64_t>::min();
        // Columns of factors that are not split pass as they are.
        std::vector<Column> columns(static_cast<std::size_t>(m_dims.back()),
                                    Column{0, 0, least, ~least});
        for (const Rewrite* rewrite : m_rewrites)
            columns[static_cast<std::size_t>(rewrite->dim)] = column(*rewrite);
        return columns;
    }

    std::string constant(const std::vector<std::int64_t>& values, bool vector) {
        return m_writer.constant(integerTensor(
            m_type,
            vector ? std::vector<std::int64_t>{static_cast<std::int64_t>(values.size())}
                   : std::vector<std::int64_t>{},
            values));
    }

    std::string constants(const std::vector<Column>& columns, std::int64_t Column::*member,
                          bool tuple) {
        std::vector<std::int64_t> values;
        for (const Column& column : columns)
            values.push_back(column.*member);
        return constant(values, tuple);
    }

    std::string joinedColumns(const std::string& inside) {
        std::string joined;
        for (const Rewrite* rewrite : m_rewrites) {
            const std::string one = m_writer.add(
                "Gather", {inside, m_writer.constant(integerTensor(onnx::TensorProto::INT64, {},
                                                                   {rewrite->dim}))});
            auto& axis = *m_writer.added().add_attribute();
            axis.set_name("axis");
            axis.set_type(onnx::AttributeProto::INT);
            axis.set_i(static_cast<std::int64_t>(m_dims.size()) - 1);
            joined = joined.empty() ? one : m_writer.add("And", {joined, one});
        }
        return joined;
    }

    /// Brings the mask to the output's rank: a dimension of the output that the indices share keeps
    /// its size.
    std::vector<std::int64_t> maskShape(int output, bool tuple) const {
        const auto& outputDims = m_cells.rule->outputs[static_cast<std::size_t>(output)].dims;
        const auto& indexDims = m_cells.rule->inputs[m_slot].dims;
        const std::vector<std::int64_t> sizes =
            dimsOf(m_tile.outputs[static_cast<std::size_t>(output)]);
        std::vector<std::int64_t> shape;
        std::int64_t product = 1, wanted = 1;
        for (std::size_t d = 0; d < m_dims.size() - (tuple ? 1 : 0); ++d)
            wanted *= m_dims[d];
        for (std::size_t d = 0; d < outputDims.size(); ++d) {
            const bool shared =
                !outputDims[d].empty() &&
                std::find(indexDims.begin(), indexDims.end(), outputDims[d]) != indexDims.end();
            shape.push_back(shared ? sizes[d] : 1);
            product *= shape.back();
        }
        if (product != wanted)
            m_context.refuse(
                m_step.node,
                "its rule does not tell where the indices' dimensions are in the output");
        return shape;
    }

    void addMask(const std::string& inside, bool tuple, const AddPost& addPost) {
        const int output = m_rewrites.front()->output;
        const ValueId value =
            m_context.graph.node(m_step.node).outputs[static_cast<std::size_t>(output)];
        const std::int32_t type = m_context.info(value).elementType;
        const std::string mask =
            m_writer.add("Reshape", {inside, m_writer.ints(maskShape(output, tuple))});
        addPost(output, [this_ = &m_writer, mask, type](const std::string& input,
                                                        const std::string& result) {
            writeMask(*this_, mask, type, input, result);
        });
    }

    static void writeMask(GraphWriter& writer, const std::string& mask, std::int32_t type,
                          const std::string& input, const std::string& result) {
        // ONNX Runtime has no Where for these on CPUs; each fits into the other exactly.
        const std::int32_t wide =
            type == onnx::TensorProto::INT16 || type == onnx::TensorProto::UINT16
                ? onnx::TensorProto::INT32
            : type == onnx::TensorProto::UINT64   ? onnx::TensorProto::INT64
            : type == onnx::TensorProto::BFLOAT16 ? onnx::TensorProto::FLOAT
                                                  : type;
        if (type == onnx::TensorProto::BOOL) {
            writer.add("And", {input, mask}, result);
        } else if (wide == type) {
            writer.add("Where", {mask, input, writer.scalar(type, 0)}, result);
        } else {
            const std::string masked =
                writer.add("Where", {mask, writer.castTo(input, wide), writer.scalar(wide, 0)});
            writer.castTo(masked, type, result);
        }
    }

    const Context& m_context;
    GraphWriter& m_writer;
    const DraftStep& m_step;
    const CellGrid& m_cells;
    const Tile& m_tile;
    std::size_t m_slot;
    std::int32_t m_type = 0;
    std::vector<std::int64_t> m_dims;
    std::vector<const Rewrite*> m_rewrites;
};

}  // namespace

void writeMaskedLookups(const Context& context, GraphWriter& writer, const DraftStep& step,
                        std::vector<std::string>& inputs, const AddPost& addPost) {
    for (std::size_t slot = 0; slot < step.cells->rule->inputs.size() && slot < inputs.size();
         ++slot) {
        if (inputs[slot].empty())
            continue;
        LookupWriter lookup(context, writer, step, slot);
        if (!lookup.needed())
            continue;
        if (context.opset > 0 && context.opset < 9)
            context.refuse(step.node, "a lookup in a sharded table needs Where, which opset " +
                                          std::to_string(context.opset) +
                                          " does not have; convert the model to 9 or later");
        inputs[slot] = lookup.write(inputs[slot], addPost);
    }
}

}  // namespace shardwright::lowering
