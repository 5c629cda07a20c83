"""nnScaler's planner and ours on one graph of torch: each plan priced in both models.

    part_autodist.py DIMSCOPE FOLDER LAYERS

nnScaler times ops and collectives on GPUs before it plans. Here its tables are filled with our
prices: of every cut of every op, forward and backward, and of its four collectives. Both plan a
training step of GPT blocks on eight devices of one node, which are one axis: nnScaler cuts an op by
one dim, over all devices. Seconds are those of processors.
"""

import csv
import io
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import traceback

import torch
import torch._dynamo  # before nnScaler replaces builtins

WIDTH, HEADS, BATCH, SEQUENCE, DEVICES = 4096, 32, 64, 2048, 8
SAME = 1e-6  # of two sums of the same terms


def processor_s():
    """Seconds of processor time so far, here and in programs that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(at.ru_utime + at.ru_stime for at in used)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = (torch.nn.LayerNorm(WIDTH) for _ in range(2))
        self.q, self.k, self.v, self.o = (torch.nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))
        self.up = torch.nn.Linear(WIDTH, 4 * WIDTH, bias=False)
        self.down = torch.nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def split(self, x):
        return x.view(BATCH, SEQUENCE, HEADS, WIDTH // HEADS).transpose(1, 2)

    def forward(self, x):
        y = self.ln_1(x)
        q, k, v = self.split(self.q(y)), self.split(self.k(y)), self.split(self.v(y))
        scores = torch.matmul(q, k.transpose(2, 3)) * (1 / math.sqrt(WIDTH // HEADS))
        y = torch.matmul(torch.softmax(scores, -1), v).transpose(1, 2)
        x = x + self.o(y.reshape(BATCH, SEQUENCE, WIDTH))
        return x + self.down(torch.nn.functional.gelu(self.up(self.ln_2(x))))


class Gpt(torch.nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.h = torch.nn.ModuleList(Block() for _ in range(layers))

    def forward(self, x):
        for block in self.h:
            x = block(x)
        return torch.sum(x)


# ---- ours


class Ours:
    """The exported graph in dimscope, on one axis of all devices."""

    def __init__(self, program, folder, model):
        sys.path.insert(0, "scripts/python")
        from dimscope import export

        self.program, self.folder = program, folder
        self.model = os.path.join(folder, "gpt.pt2")
        export.save(model, (torch.empty(BATCH, SEQUENCE, WIDTH, device="meta"),), {}, self.model)
        self.ops = [row["name"] for row in self.table() if "~" not in row["name"]]

    def run(self, *args):
        done = subprocess.run([self.program, *args], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"dimscope {' '.join(args[:2])}: {done.stderr.strip()[:300]}")
        return done.stdout

    def arguments(self, policy):
        more = ["-p", policy] if policy else []
        return [self.model, "-m", f"x={DEVICES}", "--train", "sgd", *more]

    def table(self, policy=None):
        text = self.run("export", *self.arguments(policy), "--csv", "--table", "ops")
        return list(csv.DictReader(io.StringIO(text)))

    def policy(self, cuts):
        """A policy that cuts each op (by name) as {op: (operand, dim) or None}."""
        path = os.path.join(self.folder, "cuts.lua")
        lines = ["function PAS(graph, resource)", "  local op"]
        for op, cut in cuts.items():
            if cut:
                lines.append(f'  op = graph:op("{op}")')
                lines.append(f'  graph:partition(op, op:algorithm("dim"), '
                             f'{{idx = {cut[0]}, dim = {cut[1]}, num = {DEVICES}}})')
            else:
                lines.append(f'  graph:replicate(graph:op("{op}"))')
        with open(path, "w") as file:
            file.write("\n".join([*lines, "  return graph", "end", ""]))
        return path

    def prices(self, cuts):
        """{op: (its cut as text, forward ms, backward ms)} under these cuts; sums of gradients are
        no part of any op."""
        out = {}
        for row in self.table(self.policy(cuts)):
            op, _, of = row["name"].partition("~")
            if op not in cuts or of == "grad":
                continue
            text, forward, backward = out.get(op, ("", 0.0, 0.0))
            ms = float(row["us"]) / 1000
            out[op] = (text, forward, backward + ms) if of else (row["cuts"], ms, backward)
        return out

    def move_us(self, shape, start, end, devices):
        said = self.run("reshard", shape, start, end, "-m", f"x={devices}", "--json")
        return json.loads(said)["us"]

    def search(self, policy=None, file=None):
        more = ["-o", file] if file else []
        return json.loads(self.run("search", *self.arguments(policy), "--json", *more))


def comm_tables(ours, folder):
    """Times of nnScaler's collectives by the size of the whole tensor, one file for each number of
    devices, as its profiler writes them."""
    ways = {"all gather": ("[S(0)]", "[R]"), "all reduce": ("[P]", "[R]"),
            "reduce scatter": ("[P]", "[S(0)]"), "all to all": ("[S(0)]", "[S(1)]")}  # fmt: skip
    os.makedirs(os.path.join(folder, "comm"), exist_ok=True)
    sizes = [2.0**i / 4 for i in range(18)]
    devices = 2
    while devices <= DEVICES:
        table = {}
        for name, (start, end) in ways.items():
            shapes = [f"1024x{int(size * 2**20) // 4096}" for size in sizes]
            table[name] = [sizes, [ours.move_us(s, start, end, devices) / 1e6 for s in shapes]]
        with open(os.path.join(folder, "comm", f"intra_{devices}.json"), "w") as file:
            json.dump(table, file)
        devices *= 2


# ---- nnScaler


def adapt_to_new_torch():
    """nnScaler 0.8 is made for torch up to 2.6; what it needs of later ones."""
    from nnscaler.graph.tracer.concrete_tracer import ConcreteTracer
    from nnscaler.graph.tracer.torch_fx_patcher import TorchFXPatcher

    class Nothing:
        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            return lambda *args: None

    # functions of pybind11 are looked for in torch by the name of the object they are bound to
    setattr(torch, type(torch._C._jit_set_profiling_mode.__self__).__name__, Nothing())
    is_impure = TorchFXPatcher.is_impure_new
    TorchFXPatcher.is_impure_new = staticmethod(lambda node, *args, **more: is_impure(node))
    # shapes are inferred by decompositions in Python, which want the builtins as they were
    ConcreteTracer.need_revert = lambda self, function: True


def is_priced(node):
    from nnscaler.graph.function.dimops import IRDimops

    return isinstance(node, IRDimops)


def partitions_of(node):
    """[(operand, dim), or None for replicated, and nnScaler's node of one device]."""
    from nnscaler.algorithm.ops.dimops import collect_split_info

    parts = [(None, node)]
    algorithm = node.algorithm("dim")
    for operand, dim, _ in collect_split_info(node).values():
        if algorithm.satisfy(operand, dim, DEVICES):
            parts.append(((operand, dim), algorithm.instantiate(operand, dim, DEVICES)[0]))
    return parts


def price_nodes(ours, graph):
    """{node's cid: {cut: (text, forward ms, backward ms)}}; the nodes are our ops, in order."""
    nodes = [node for node in graph.nodes() if is_priced(node)]
    if len(nodes) != len(ours.ops):
        raise SystemExit(f"nnScaler has {len(nodes)} ops, dimscope {len(ours.ops)}")
    for node, op in zip(nodes, ours.ops):
        if node.signature.split(".")[-1] != op.rstrip("0123456789").rstrip("_"):
            raise SystemExit(f"{node.signature} is not {op}")
    cuts = {node.cid: [cut for cut, _ in partitions_of(node)] for node in nodes}
    prices = {node.cid: {} for node in nodes}
    for i in range(max(len(all_cuts) for all_cuts in cuts.values())):
        chosen = {op: cuts[node.cid][min(i, len(cuts[node.cid]) - 1)] for node, op in zip(nodes, ours.ops)}
        priced = ours.prices(chosen)
        for node, op in zip(nodes, ours.ops):
            prices[node.cid][chosen[op]] = priced[op]
    return nodes, prices


def profile_of(part, price):
    from nnscaler.ir.cten import IRTensor
    from nnscaler.profiler.database import ProfiledMetrics

    tensors = [t for t in part.inputs() if isinstance(t, IRTensor)]
    values = [t.byte_size() for t in tensors if not t.is_attr()]
    weights = [t.byte_size() for t in tensors if t.is_param()]
    where = [i for i, t in enumerate(part.inputs()) if isinstance(t, IRTensor) and not t.is_attr()]
    most = sum(values) + sum(t.byte_size() for t in part.outputs() if isinstance(t, IRTensor))
    return ProfiledMetrics(values, weights, [], price[1], price[2], most, values, where)


class Theirs:
    """nnScaler's solver of one stage over the nodes of its graph, with our prices."""

    def __init__(self, graph, nodes, prices, folder):
        from nnscaler.autodist import cost_database
        from nnscaler.autodist.autodist_config import AutoDistConfig
        from nnscaler.autodist.descs import MeshDesc
        from nnscaler.autodist.model_graph import ModelGraph
        from nnscaler.autodist.spmd_solver import SPMDSolver

        def profile(some, db, degree, again):
            return [(part.signature, db._serialize(part), profile_of(part, prices[node.cid][cut]))
                    for node in nodes for cut, part in partitions_of(node)]  # fmt: skip

        cost_database._profile_nodes = profile
        self.nodes = nodes
        config = AutoDistConfig(profile_dir=folder, mesh_col=DEVICES, world_size=DEVICES, topk=1,
                                memory_constraint=1000, memory_granularity=1024,
                                parallel_profile=False)  # fmt: skip
        began = processor_s()
        self.solver = SPMDSolver(ModelGraph(graph, config), config, MeshDesc(1, DEVICES))
        self.build_s = processor_s() - began
        self.last = len(self.solver.graph.operator_list) - 1

    def solve(self, way):
        began = processor_s()
        found = getattr(self.solver, way)([(0, self.last)], 1)[0][0]
        seconds = processor_s() - began
        cuts = {}
        for cid, desc in found.desc.partition_descs.items():
            ((operand, dim), _), = desc.desc
            cuts[cid] = None if operand < 0 else (operand, dim)
        return found.all_time, seconds, cuts

    def price(self, cuts):
        """What a plan costs in its model, in seconds: a cut for each node."""
        plan = []
        for i, operator in enumerate(self.solver.graph.operator_list):
            node = operator.ir_cell
            for p in range(self.solver.get_op_partition_count(i)):
                part = self.solver._op_partitions[i][p]
                at = operator.dim_id2pos(part.partition_dims[0])
                if not is_priced(node) or self.same(node, None if at[0] < 0 else at, cuts[node.cid]):
                    plan.append((i, p))
                    break
            else:
                return None
        return self.solver.calc_inner_time_cost(plan) + self.solver.calc_intra_time_cost(plan)

    @staticmethod
    def same(node, a, b):
        """Two ways to name one dim of the op."""
        if a is None or b is None:
            return a is b
        name = lambda at: node.anno.input(at[0])[at[1]].identifiers[0]
        return name(a) == name(b)


# ---- both


def compare(graph, ours, folder, layers):
    comm_tables(ours, folder)
    nodes, prices = price_nodes(ours, graph)
    theirs = Theirs(graph, nodes, prices, folder)
    dp_s, dp_seconds, cuts = theirs.solve("do_dp")
    ilp_s, ilp_seconds, _ = theirs.solve("do_ilp")
    again_s = theirs.price(cuts)
    errors = []
    if abs(dp_s - ilp_s) > SAME * dp_s:
        errors.append(f"its two solvers find {dp_s} and {ilp_s} s")
    if again_s is None or abs(again_s - dp_s) > SAME * dp_s:
        errors.append(f"its plan is priced {again_s}, not {dp_s} s")

    began = processor_s()
    found = ours.search(file=os.path.join(folder, "ours.lua"))
    search_s = processor_s() - began
    table = {row["name"]: row["cuts"] for row in ours.table(os.path.join(folder, "ours.lua"))}
    own_cuts, unlike = {}, []
    for node, op in zip(nodes, ours.ops):
        same = [cut for cut, price in prices[node.cid].items() if price[0] == table[op]]
        own_cuts[node.cid] = same[0] if same else None
        unlike += [] if same else [op]
    in_theirs = theirs.price(own_cuts) if not unlike else None

    policy = ours.policy({op: cuts[node.cid] for node, op in zip(nodes, ours.ops)})
    plan_us = json.loads(ours.run("plan", *ours.arguments(policy), "--json"))["totals"]["step_us"]
    kept = ours.search(policy)
    if found["step_us"] > min(plan_us, kept["step_us"]) * (1 + SAME):
        errors.append(f"ours takes {found['step_us']} us, its plan {plan_us}")
    if not found["proven"]:
        errors.append("ours is not proven")
    if in_theirs is not None and in_theirs < dp_s * (1 - SAME):
        errors.append(f"ours is {in_theirs} s in its model, its own {dp_s}")
    print(f"{layers} layers, ours: {found['step_us'] / 1000:.3f} ms, proven in {search_s:.3f} s; "
          f"nnScaler's plan {plan_us / 1000:.3f} ms, {kept['step_us'] / 1000:.3f} ms with parameters stored best")
    said = "not among its cuts: " + " ".join(unlike) if in_theirs is None else f"{in_theirs * 1000:.3f} ms"
    print(f"{layers} layers, nnScaler's: {dp_s * 1000:.3f} ms, built in {theirs.build_s:.3f} s, solved in "
          f"{dp_seconds:.3f} s (ILP {ilp_seconds:.3f} s); ours there: {said}")
    return errors


def main():
    program, folder, layers = sys.argv[1], sys.argv[2], int(sys.argv[3])
    from nnscaler.parallel import ComputeConfig, parallelize

    adapt_to_new_torch()
    with torch.device("meta"):
        model = Gpt(layers)
    ours = Ours(program, folder, model)
    model.to_empty(device="cpu")
    seen = {}

    def pas(graph, config):
        seen["errors"] = compare(graph, ours, folder, layers)
        raise StopIteration  # its code for the devices is not wanted

    config = ComputeConfig(DEVICES, DEVICES, trace_strategy="meta")
    inputs = {"x": torch.empty(BATCH, SEQUENCE, WIDTH)}
    with tempfile.TemporaryDirectory() as code:
        try:
            parallelize(model, inputs, pas, config, gen_savedir=code, load_module=False)
        except RuntimeError as error:  # of nnScaler; its cause is what happened
            if not isinstance(error.__cause__, StopIteration):
                traceback.print_exception(error.__cause__)
    errors = seen.get("errors", ["nnScaler did not come to the end of its planner"])
    what = f"nnScaler's planner, {layers} layers"
    print(f"not ok {what}: {'; '.join(errors)}" if errors else f"ok {what}")


if __name__ == "__main__":
    main()
