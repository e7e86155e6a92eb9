// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/model_builder.h"

#include <string>
#include <vector>

namespace shardwright::test {

/// A decoder-only transformer as exporters write one: RMS normalisation, rotary embedding and
/// attention in small operators, a gated MLP. For benchmarks and for laws on whole graphs.
struct TransformerSizes {
    int layers = 1;
    std::int64_t batch = 2, tokens = 16, hidden = 64, heads = 4, mlp = 128, vocabulary = 512;
    /// Weights without data, in a file that is not there: for what never reads them.
    bool external = false;
};

/// Inputs `input_ids` [batch, tokens]; output `logits` [batch, tokens, vocabulary]. Names of nodes
/// are `model/layers.N/...`.
ModelBuilder transformer(const TransformerSizes& sizes);
/// Nodes in one layer of it.
int transformerNodesPerLayer();
/// Options for `annotate`: query, key, value, gate and up weights split by column along `axis`,
/// output and down weights by row.
std::vector<std::string> megatronShards(const std::string& axis);

}  // namespace shardwright::test
