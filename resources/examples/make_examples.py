#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the example models beside this file. Needs onnx and numpy; the same bytes every time.

    python3 resources/examples/make_examples.py
"""
import pathlib

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper


def weight(random, name, rows, columns):
    values = random.standard_normal((rows, columns)).astype(numpy.float32) / numpy.float32(rows**0.5)
    return numpy_helper.from_array(values, name)


def mlp():
    """The feed-forward block of a transformer: the smallest model in which tensor parallelism means something."""
    random = numpy.random.RandomState(20)
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["h"], "mm1"),
        helper.make_node("Gelu", ["h"], ["a"], "act"),
        helper.make_node("MatMul", ["a", "w2"], ["y"], "mm2"),
    ]
    graph = helper.make_graph(
        nodes,
        "mlp",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [8, 16, 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [8, 16, 64])],
        [weight(random, "w1", 64, 256), weight(random, "w2", 256, 64)],
    )
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10, producer_name="shardwright"
    )


def main():
    folder = pathlib.Path(__file__).resolve().parent
    for build in (mlp,):
        model = build()
        onnx.checker.check_model(model, full_check=True)
        (folder / f"{build.__name__}.onnx").write_bytes(model.SerializeToString(deterministic=True))


if __name__ == "__main__":
    main()
