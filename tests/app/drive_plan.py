# SPDX-License-Identifier: Apache-2.0
"""Runs what `shardwright-cli plan` wrote, and the model itself, and compares: docs/plans.md in numpy.

    drive_plan.py PLAN_FOLDER MODEL [TOLERANCE]

Prints `largest difference D` and exits with 0 where all outputs agree."""
import json
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime as ort

REDUCE = {"sum": (np.add, 0), "prod": (np.multiply, 1), "and": (np.logical_and, True), "or": (np.logical_or, False),
          "min": (np.minimum, "max"), "max": (np.maximum, "min")}


def dtype_of(type_name):
    return onnx.helper.tensor_dtype_to_np_dtype(onnx.TensorProto.DataType.Value(type_name.upper()))


def indices(box):
    """The index of each element along each dimension: [[[0, 2], [4, 5]]] is [0, 1, 4]."""
    return [np.concatenate([np.arange(b, e) for b, e in dim] or [np.arange(0)]).astype(np.int64) for dim in box]


def reduce_identity(reduce, dtype):
    identity = REDUCE[reduce][1]
    if isinstance(identity, str):
        limits = np.finfo(dtype) if np.issubdtype(dtype, np.floating) else np.iinfo(dtype)
        identity = getattr(limits, identity)
    return identity


def assemble(wanted, pieces, reduce=None):
    """The elements of the local tensor `wanted`, from pieces (description, array). Copies are equal. With `reduce` one
    copy of each term counts, terms are joined, and what no piece has is the identity."""
    where = indices(wanted["box"])
    dtype = dtype_of(wanted["type"])
    result = None
    for term in sorted({piece["term"] for piece, _ in pieces}) if reduce else [None]:
        part = np.full(wanted["shape"], reduce_identity(reduce, dtype) if reduce else 0, dtype)
        for piece, array in pieces:
            held = indices(piece["box"])
            common = [np.intersect1d(w, h, assume_unique=True) for w, h in zip(where, held)]
            if term in (None, piece["term"]) and all(len(c) for c in common):
                to = np.ix_(*[np.searchsorted(w, c) for w, c in zip(where, common)])
                part[to] = array[np.ix_(*[np.searchsorted(h, c) for h, c in zip(held, common)])]
        result = part if result is None else REDUCE[reduce][0](result, part).astype(dtype)
    return result


class Plan:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.json = json.loads((self.folder / "plan.json").read_text())
        self.tensors = [device["tensors"] for device in self.json["devices"]]
        self.sessions = {}

    def session(self, file):
        if file not in self.sessions:
            options = ort.SessionOptions()
            options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
            self.sessions[file] = ort.InferenceSession(str(self.folder / file), options, ["CPUExecutionProvider"])
        return self.sessions[file]

    def check(self):
        """Each model is valid for onnx.checker, unless it uses operators that ONNX does not define."""
        for file in sorted(self.folder.glob("*.onnx")):
            model = onnx.load(file, load_external_data=False)
            if all(entry.domain in ("", "ai.onnx", "ai.onnx.ml") for entry in model.opset_import):
                onnx.checker.check_model(str(file), full_check=True)

    def run(self, inputs):
        values = [{} for _ in self.tensors]  # Of each device, by name.

        def piece(device, name):
            return self.tensors[device][name], values[device][name]

        for port in self.json["inputs"]:
            for device, names in enumerate(port["tensors"]):
                for name in names:
                    cut = np.ix_(*indices(self.tensors[device][name]["box"]))
                    values[device][name] = inputs[port["name"]][cut] if port["shape"] else inputs[port["name"]]
        for phase in self.json["phases"]:
            for segment in phase["segments"]:
                own = values[segment["device"]]
                feed = {name: own[name] for name in segment["inputs"]}
                own.update(zip(segment["outputs"], self.session(segment["file"]).run(segment["outputs"], feed)))
            for copy in phase["copies"]:
                device = copy["device"]
                pieces = [piece(device, name) for name in copy["sources"]]
                values[device][copy["target"]] = assemble(self.tensors[device][copy["target"]], pieces, copy["reduce"])
            for exchange in phase["exchanges"]:
                group = exchange["devices"]
                pieces = [piece(d, name) for d, names in zip(group, exchange["sources"]) for name in names]
                for device, names in zip(group, exchange["targets"]):
                    for name in names:
                        values[device][name] = assemble(self.tensors[device][name], pieces, exchange["reduce"])
        outputs = {}
        for port in self.json["outputs"]:
            whole = {"box": [[[0, size]] for size in port["shape"]], "shape": port["shape"], "type": port["type"]}
            pieces = [piece(d, name) for d, names in enumerate(port["tensors"]) for name in names]
            outputs[port["name"]] = assemble(whole, pieces)
        return outputs


def main():
    plan = Plan(sys.argv[1])
    plan.check()
    random = np.random.default_rng(1)
    inputs = {}
    for port in plan.json["inputs"]:
        dtype = dtype_of(port["type"])
        inputs[port["name"]] = (random.standard_normal(port["shape"]) if np.issubdtype(dtype, np.floating)
                                else random.integers(0, 2, port["shape"])).astype(dtype)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(sys.argv[2], options, ["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    largest = 0.0
    results = plan.run(inputs)
    for name, expected in zip(names, session.run(names, inputs)):
        difference = np.abs(results[name].astype(np.float64) - expected.astype(np.float64)).max(initial=0)
        largest = max(largest, difference / max(1e-30, np.abs(expected.astype(np.float64)).max(initial=0)))
        if results[name].shape != expected.shape or not np.isfinite(difference):
            sys.exit(f"output {name} is another tensor")
    print(f"largest difference {largest:.3g} in {len(names)} outputs")
    sys.exit(0 if names and largest <= float(sys.argv[3] if len(sys.argv) > 3 else "1e-5") else 1)


main()
