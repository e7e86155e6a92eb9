// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/draft.h"
#include "plan/graph_writer.h"

#include <functional>
#include <string>
#include <vector>

namespace shardwright::lowering {

/// Whether the factor of a rewrite (-1: any reduction factor) is split.
bool isSplit(const CellGrid& cells, const Rewrite& rewrite);

/// Whether the kernel of a tile reads the elements of input `slot`: not where a rewrite puts a
/// constant there, the rule reads its shape only, or it is added once and another tile adds it.
bool readsInput(const CellGrid& cells, const Tile& tile, std::size_t slot);

/// Writes the local copy of a node for one tile, with the rewrites of its rule.
class TileWriter {
public:
    /// `inputs` and `outputs`: tensor names by slot, empty where omitted or for the writer to fill.
    TileWriter(const Context& context, GraphWriter& writer, const DraftStep& step,
               std::vector<std::string> inputs, std::vector<std::string> outputs);

    /// `node` is the original without annotations and with the names of bodies already changed.
    void write(onnx::NodeProto node);

private:
    void fillShapeOnly();
    void apply(const Rewrite& rewrite, onnx::NodeProto& node);
    void replaceOperator(const Rewrite& rewrite, onnx::NodeProto& node);
    void runAsReshape(const Rewrite& rewrite, onnx::NodeProto& node);
    void setSizes(const Rewrite& rewrite, onnx::NodeProto& node);
    void scale(const Rewrite& rewrite);
    void setPads(const Rewrite& rewrite, onnx::NodeProto& node) const;
    void writeSlices(int output);
    void setInput(int slot, std::string name);
    std::string localShape(const Rewrite& rewrite);
    std::vector<std::int64_t> localSizes(int dim) const;
    /// Those of a factor that the tile has.
    IndexSet localElements(int factor) const;
    void pickSlices(const Rewrite& rewrite);
    std::int64_t localProduct(const std::vector<int>& factors) const;
    ValueId outputValue(int output) const;

    struct Post {
        int output;
        std::function<void(const std::string& input, const std::string& output)> write;
    };
    const Context& m_context;
    GraphWriter& m_writer;
    const DraftStep& m_step;
    const CellGrid& m_cells;
    const Tile& m_tile;
    std::vector<std::string> m_inputs, m_outputs;
    std::vector<Post> m_posts;  ///< What follows the kernel, in order.
};

/// Zeros in place of an input of which a node reads the shape (or the type) only.
std::string placeholder(const Context& context, GraphWriter& writer, NodeId node, std::size_t slot);

}  // namespace shardwright::lowering
