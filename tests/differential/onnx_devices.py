"""Reads an annotated model as the ONNX proposal says, and compares what each device holds of every
value that nodes make with the plan's table of parts."""
import csv
import sys

import onnx

name, original, model_path, parts_path = sys.argv[1:]
model = onnx.load(model_path, load_external_data=False)
plain = onnx.load(original, load_external_data=False)
shapes = {}
parts = {}
for row in csv.DictReader(open(parts_path)):
    shapes[row["tensor"]] = eval(row["global_shape"])
    parts[row["tensor"], row["device"].lstrip("d")] = (eval(row["local_shape"]), row["partial"])


def local_shapes(spec, shape):
    """device -> the shape of its shard."""
    groups = {e.key: list(e.value) for e in spec.index_to_device_group_map}
    shape = list(shape)
    for dim in spec.sharded_dim:
        for simple in dim.simple_sharding:
            assert shape[dim.axis] % simple.num_shards == 0, "uneven"
            shape[dim.axis] //= simple.num_shards
    return {d: shape for v in spec.device for d in groups.get(v, [v])}


def fail(why):
    print(f"not ok onnx {name}: {why}")
    sys.exit()


if original.endswith("tiny-gpt.onnx") or "llama-tiny" in original:
    onnx.checker.check_model(model)
if [list(map(str, n.input)) for n in plain.graph.node] != [list(map(str, n.input)) for n in model.graph.node]:
    fail("the graph is another one")
if [t.SerializeToString() for t in plain.graph.initializer] != [
    t.SerializeToString() for t in model.graph.initializer
]:
    fail("weights are not those of the model")
n = 0
for node in model.graph.node:
    for configuration in node.device_configurations:
        if configuration.configuration_id != model.configuration[0].name:
            fail(f"{node.name} names no configuration")
        for spec in configuration.sharding_spec:
            if spec.tensor_name not in node.output or spec.tensor_name not in shapes:
                continue
            for device, shape in local_shapes(spec, shapes[spec.tensor_name]).items():
                if (spec.tensor_name, str(device)) not in parts:
                    fail(f"device {device} holds nothing of {spec.tensor_name} in the plan")
                want, partial = parts[spec.tensor_name, str(device)]
                if list(want) != shape:
                    fail(f"{spec.tensor_name} on {device}: {shape}, the plan says {want}")
                n += 1
if n == 0:
    fail("nothing was compared")
print(f"ok onnx {name}: {n} parts")
