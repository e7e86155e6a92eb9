# SPDX-License-Identifier: Apache-2.0
"""Writes and reads annotations with onnx-ir, for tst_onnx_ir.

make FILE   a model that onnx-ir annotated
show FILE   one line for each spec and stage, as onnx-ir sees the file
copy IN OUT loads and saves
"""

import sys

import onnx_ir as ir


def make(path):
    x = ir.val("x", ir.DataType.FLOAT, (4, 8))
    w = ir.val("w", ir.DataType.FLOAT, (8, 6))
    y = ir.val("y", ir.DataType.FLOAT, (4, 6))
    z = ir.val("z", ir.DataType.FLOAT, (4, 6))
    mm = ir.node("MatMul", [x, w], outputs=[y], name="mm")
    relu = ir.node("Relu", [y], outputs=[z], name="relu")
    graph = ir.Graph([x, w], [z], nodes=[mm, relu], opset_imports={"": 21}, name="main")
    model = ir.Model(graph, ir_version=11)
    config = model.add_device_configuration("c", num_devices=4, device_names=("d0", "d1", "d2", "d3"))
    mm.shard(w, configuration=config, axis=-1, num_shards=2, device_indices=(0, 1), pipeline_stage=0)
    relu.shard(y, configuration=config, axis=0, num_shards=2, device_indices=(0, 1, 2, 3))
    relu.shard(y, configuration=config, axis=1, num_shards=2)
    whole = ir.ShardingSpec(value=z, device=(-1,),
                            index_to_device_group_map=(ir.IndexToDeviceGroupMapEntry(key=-1, value=(2, 3)),))
    present = relu.device_configurations[0]
    relu.device_configurations = (
        ir.NodeDeviceConfiguration(configuration=config, sharding_specs=(*present.sharding_specs, whole),
                                   pipeline_stage=1),)
    ir.save(model, path)


def show(path):
    model = ir.load(path)
    for config in model.device_configurations:
        print("configuration", config.name, config.num_devices)
    for node in model.graph:
        for config in node.device_configurations:
            print("node", node.name, config.configuration.name, config.pipeline_stage)
            for spec in config.sharding_specs:
                groups = [(entry.key, list(entry.value)) for entry in spec.index_to_device_group_map]
                dims = [(dim.axis, [(str(part.dim), part.num_shards) for part in dim.simple_shardings])
                        for dim in spec.sharded_dims]
                print("spec", spec.value.name, list(spec.device), groups, dims)


if sys.argv[1] == "make":
    make(sys.argv[2])
elif sys.argv[1] == "show":
    show(sys.argv[2])
else:
    ir.save(ir.load(sys.argv[2]), sys.argv[3])
