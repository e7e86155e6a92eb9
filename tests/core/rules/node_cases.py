# SPDX-License-Identifier: Apache-2.0
"""Writes ONNX's own node tests: FOLDER/CASE/model.onnx, input_K.pb, output_K.pb.

Cases of one node whose inputs and outputs are tensors. Usage: node_cases.py FOLDER
"""
import pathlib
import sys
import warnings

import numpy
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases


def write(folder, prefix, values):
    for k, value in enumerate(values):
        tensor = value if isinstance(value, onnx.TensorProto) else numpy_helper.from_array(numpy.asarray(value))
        (folder / f"{prefix}_{k}.pb").write_bytes(tensor.SerializeToString())


def main():
    target = pathlib.Path(sys.argv[1])
    warnings.filterwarnings("ignore")
    for case in collect_testcases(None):
        if case.model is None or len(case.model.graph.node) != 1 or not case.data_sets:
            continue
        inputs, outputs = case.data_sets[0]
        if any(isinstance(value, (list, dict)) or value is None for value in [*inputs, *outputs]):
            continue
        folder = target / case.name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "model.onnx").write_bytes(case.model.SerializeToString())
        write(folder, "input", inputs)
        write(folder, "output", outputs)


if __name__ == "__main__":
    main()
