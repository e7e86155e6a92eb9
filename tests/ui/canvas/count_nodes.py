# SPDX-License-Identifier: Apache-2.0
"""Prints for each model `file count`: NodeProtos with subgraphs, and each function body once."""
import sys

import onnx


def nodes_of(nodes):
    pending, count = [nodes], 0
    while pending:
        for node in pending.pop():
            count += 1
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.GRAPH:
                    pending.append(attribute.g.node)
                elif attribute.type == onnx.AttributeProto.GRAPHS:
                    pending.extend(graph.node for graph in attribute.graphs)
    return count


for path in sys.argv[1:]:
    model = onnx.load(path, load_external_data=False)
    count = nodes_of(model.graph.node) + sum(nodes_of(function.node) for function in model.functions)
    print(path, count, flush=True)
