#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tensor parallel over two devices of one thread each: Shardwright's runner against PyTorch's DTensor over gloo.

The same float32 MLP (2048-8192-2048) and transformer block (hidden 1024, 16 heads), the same weights and inputs; both
sides must give the same result. Rounds of both sides alternate; what is printed are medians of their medians, and the
ratio.

    python3 -m venv torch && torch/bin/pip install torch numpy onnx
    torch/bin/python tests/bench/against_pytorch.py build/release/bin/shardwright-cli
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROUNDS, WARMUPS, REPEATS = 5, 3, 15
HIDDEN, HEADS = 1024, 16


def weight(name, rows, columns):
    seed = sum(name.encode())
    return np.random.default_rng(seed).standard_normal((rows, columns), dtype=np.float32) / np.float32(np.sqrt(rows))


def mlp_weights(hidden, inner):
    return {"up": weight("up", hidden, inner), "down": weight("down", inner, hidden)}


def block_weights():
    weights = {name: weight(name, HIDDEN, HIDDEN) for name in ("query", "key", "value", "out")}
    return weights | mlp_weights(HIDDEN, 4 * HIDDEN)


def save_model(path, nodes, weights, constants, tokens, hidden):
    shape = [tokens, hidden]
    graph = helper.make_graph(
        nodes, "bench", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(array, name) for name, array in (weights | constants).items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)


def mlp_nodes(x, y):
    return [helper.make_node("MatMul", [x, "up"], ["hidden"]), helper.make_node("Relu", ["hidden"], ["active"]),
            helper.make_node("MatMul", ["active", "down"], [y])]


def save_mlp(path, weights, tokens):
    save_model(path, mlp_nodes("x", "y"), weights, {}, tokens, 2048)


def save_block(path, weights, tokens):
    nodes = []
    for name in ("query", "key", "value"):
        nodes += [helper.make_node("MatMul", ["x", name], [name + "_flat"]),
                  helper.make_node("Reshape", [name + "_flat", "to_heads"], [name + "_heads"]),
                  helper.make_node("Transpose", [name + "_heads"], [name + "_turned"],
                                   perm=[1, 2, 0] if name == "key" else [1, 0, 2])]
    nodes += [helper.make_node("MatMul", ["query_turned", "key_turned"], ["scores"]),
              helper.make_node("Mul", ["scores", "scale"], ["scaled"]),
              helper.make_node("Softmax", ["scaled"], ["attention"], axis=-1),
              helper.make_node("MatMul", ["attention", "value_turned"], ["mixed"]),
              helper.make_node("Transpose", ["mixed"], ["back"], perm=[1, 0, 2]),
              helper.make_node("Reshape", ["back", "to_hidden"], ["joined"]),
              helper.make_node("MatMul", ["joined", "out"], ["projected"]),
              helper.make_node("Add", ["x", "projected"], ["attended"])]
    nodes += mlp_nodes("attended", "fed") + [helper.make_node("Add", ["attended", "fed"], ["y"])]
    constants = {"to_heads": np.array([0, HEADS, HIDDEN // HEADS], np.int64), "to_hidden": np.array([0, -1], np.int64),
                 "scale": np.array(1 / np.sqrt(HIDDEN // HEADS), np.float32)}
    save_model(path, nodes, weights, constants, tokens, HIDDEN)


CASES = {
    "MLP 2048-8192-2048": (save_mlp, lambda: mlp_weights(2048, 8192), 2048, ["up:1=tp", "down:0=tp"]),
    "transformer block of 1024": (save_block, block_weights, HIDDEN,
                                  ["query:1=tp", "key:1=tp", "value:1=tp", "out:0=tp", "up:1=tp", "down:0=tp"]),
}


# --- Shardwright -----------------------------------------------------------------------------------------------------

class Runner:
    def __init__(self, cli, folder, case, tokens):
        save, weights, hidden, shards = CASES[case]
        self.cli, self.folder, self.inputs = cli, folder, folder / "inputs.npz"
        self.model = folder / "annotated.onnx"
        save(folder / "model.onnx", weights(), tokens)
        np.savez(self.inputs, x=weight("x", tokens, hidden))
        self.call("annotate", folder / "model.onnx", "--mesh", "tp=2", "-o", self.model,
                  *[argument for shard in shards for argument in ("--shard", shard)])

    def call(self, *arguments):
        done = subprocess.run([self.cli, *map(str, arguments)], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"shardwright-cli {arguments[0]} failed:\n{done.stderr}{done.stdout}")
        return done.stdout

    def milliseconds(self):
        report = self.call("run", self.model, "--inputs", self.inputs, "--warm-up", WARMUPS, "--repeat", REPEATS,
                           "--format", "json")
        return json.loads(report)["wall_ms"]

    def result(self):
        self.call("run", self.model, "--inputs", self.inputs, "--save-shards", self.folder / "shards")
        index = json.loads((self.folder / "shards" / "index.json").read_text())
        return np.load(self.folder / "shards" / first_file(index))


def first_file(index):
    """The first .npy that the index names, wherever it does: every device holds all of y."""
    if isinstance(index, str):
        return index if index.endswith(".npy") else None
    children = index.values() if isinstance(index, dict) else index if isinstance(index, list) else []
    return next((found for child in children if (found := first_file(child))), None)


# --- PyTorch: this file again, as one of two processes ---------------------------------------------------------------

def torch_worker(rank, case, tokens):
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    torch.set_num_threads(1)
    mesh = init_device_mesh("cpu", (2,))
    _, weights, hidden, _ = CASES[case]
    weights = weights()

    def linear(name):
        layer = nn.Linear(*weights[name].shape, bias=False)
        layer.weight = nn.Parameter(torch.from_numpy(np.ascontiguousarray(weights[name].T)), requires_grad=False)
        return layer

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            for name in weights:
                setattr(self, name, linear(name))

        def feed(self, x):
            return self.down(torch.relu(self.up(x)))

        def heads(self, x):
            return x.view(x.shape[0], -1, HIDDEN // HEADS).transpose(0, 1)

        def forward(self, x):
            if "query" not in weights:
                return self.feed(x)
            mixed = nn.functional.scaled_dot_product_attention(self.heads(self.query(x)), self.heads(self.key(x)),
                                                               self.heads(self.value(x)))
            attended = x + self.out(mixed.transpose(0, 1).reshape(x.shape[0], -1))
            return attended + self.feed(attended)

    rows = {"out", "down"}
    model = parallelize_module(Block(), mesh, {n: RowwiseParallel() if n in rows else ColwiseParallel() for n in weights})
    x = torch.from_numpy(weight("x", tokens, hidden))
    with torch.no_grad():
        y = model(x)
        if rank == 0:
            np.save(os.environ["BENCH_RESULT"], y.numpy())
        print("ready", flush=True)
        for _ in sys.stdin:  # a line: one round
            times = []
            for i in range(WARMUPS + REPEATS):
                dist.barrier()
                begin = time.perf_counter()
                model(x)
                if i >= WARMUPS:
                    times.append((time.perf_counter() - begin) * 1000)
            print(json.dumps(times), flush=True)
    dist.destroy_process_group()


class Torch:
    def __init__(self, folder, case, tokens, port):
        self.file = folder / "torch.npy"
        common = os.environ | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2",
                               "OMP_NUM_THREADS": "1", "BENCH_RESULT": str(self.file)}
        self.processes = [
            subprocess.Popen([sys.executable, __file__, "--worker", case, str(tokens)], env=common | {"RANK": str(rank)},
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            for rank in range(2)]
        for process in self.processes:
            if process.stdout.readline().strip() != "ready":
                sys.exit("PyTorch's processes did not start")

    def milliseconds(self):
        for process in self.processes:
            process.stdin.write("go\n")
            process.stdin.flush()
        rounds = [json.loads(process.stdout.readline()) for process in self.processes]
        return statistics.median(max(pair) for pair in zip(*rounds))

    def close(self):
        for process in self.processes:
            process.stdin.close()
            process.wait()


def compare(cli, case, tokens, port):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        ours, theirs = Runner(cli, folder, case, tokens), Torch(folder, case, tokens, port)
        difference = np.abs(ours.result() - np.load(theirs.file)).max()
        own, other = [], []
        for _ in range(ROUNDS):
            own.append(ours.milliseconds())
            other.append(theirs.milliseconds())
        theirs.close()
    a, b = statistics.median(own), statistics.median(other)
    print(f"{case}, {tokens} tokens: Shardwright {a:.2f} ms, PyTorch {b:.2f} ms, ratio {a / b:.2f} "
          f"(results differ by {difference:.1e})", flush=True)


def main():
    if sys.argv[1:2] == ["--worker"]:
        return torch_worker(int(os.environ["RANK"]), sys.argv[2], int(sys.argv[3]))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cli", help="shardwright-cli of a release build")
    cli = parser.parse_args().cli
    for i, case in enumerate(CASES):
        for j, tokens in enumerate((64, 512)):
            compare(cli, case, tokens, 29500 + 2 * i + j)


if __name__ == "__main__":
    main()
