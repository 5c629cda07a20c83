"""Collectives that a job really ran, beside those of its plan.

Read are a trace of torch.profiler (Kineto's JSON, also as .gz) and a dump of the flight recorder in
its JSON form. Of each collective a trace says what it is, how many bytes, in which group, and how
long it took, or some of these: what is not said does not decide what it is matched with.
"""

import collections
import difflib
import gzip
import itertools
import json
from dataclasses import dataclass, field

KINDS = {
    "all_reduce": "all_reduce",
    "allreduce": "all_reduce",
    "allreduce_coalesced": "all_reduce",
    "all_gather": "all_gather",
    "allgather": "all_gather",
    "_all_gather_base": "all_gather",
    "_allgather_base": "all_gather",
    "all_gather_into_tensor": "all_gather",
    "all_gather_into_tensor_coalesced": "all_gather",
    "allgather_into_tensor_coalesced": "all_gather",
    "reduce_scatter": "reduce_scatter",
    "_reduce_scatter_base": "reduce_scatter",
    "reduce_scatter_tensor": "reduce_scatter",
    "reduce_scatter_tensor_coalesced": "reduce_scatter",
    "all_to_all": "all_to_all",
    "alltoall": "all_to_all",
    "alltoall_base": "all_to_all",
    "all_to_allv": "all_to_all",
    "broadcast": "broadcast",
}
BYTES = {
    "double": 8, "float": 4, "half": 2, "bfloat16": 2, "long": 8, "int": 4, "short": 2, "char": 1,
    "byte": 1, "bool": 1, "float8_e4m3fn": 1, "float8_e5m2": 1,
}  # fmt: skip


@dataclass(frozen=True)
class Ran:
    kind: str
    bytes: int = None  # the whole value's on one rank, as plans count it; None: not said
    ranks: tuple = None  # of its group; None: not said
    us: float = None


class TraceError(ValueError):
    """A file that holds no trace."""


# ---- what was written


def _load(path):
    with open(path, "rb") as file:
        head = file.read(2)
    if head[:1] == b"\x80":
        raise TraceError(
            f"{path} is a pickle, which is not read: convert it where you trust it, by python -c "
            "\"import json, pickle, sys; json.dump(pickle.load(open(sys.argv[1], 'rb')), "
            f"open(sys.argv[1] + '.json', 'w'))\" {path}"
        )
    opened = gzip.open(path, "rt") if head == b"\x1f\x8b" else open(path, encoding="utf-8")
    try:
        with opened as file:
            return json.load(file)
    except (ValueError, OSError, EOFError) as error:
        raise TraceError(f"{path} is no JSON: {error}") from None


def _ranks(value):
    """(0, 2) of [0, 2] or "[0, 2]"; None where it is cut short or not said."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return None
    return tuple(sorted(value)) if isinstance(value, list) and value else None


def _product(sizes):
    n = 1
    for size in sizes:
        n *= size
    return n


def _first(args, key):
    return (args.get(key) or [None])[0]


def _kind(name):
    return KINDS.get(str(name).rpartition(":")[2].split(" ")[0].lower())


def _of_kineto(data):
    """NCCL's kernels, which have the times; without them the calls; of gloo its annotations."""
    events = [it for it in data["traceEvents"] if isinstance(it, dict) and it.get("ph") == "X"]
    described = [it for it in events if "Collective name" in (it.get("args") or {})]
    kernels = [it for it in described if it.get("cat") == "kernel"]
    chosen = kernels or described or [it for it in events if str(it.get("name")).startswith("gloo:")]
    ran = []
    for event in sorted(chosen, key=lambda it: it.get("ts", 0)):
        args = event.get("args") or {}
        kind = _kind(args.get("Collective name", event.get("name")))
        if not kind:
            continue
        sizes = [args[key] for key in ("In msg nelems", "Out msg nelems") if args.get(key)]
        width = BYTES.get(str(args.get("dtype", _first(args, "Input type"))).lower())
        if kind == "all_reduce" and _first(args, "Input Dims"):  # of gloo, with record_shapes
            sizes = [_product(_first(args, "Input Dims"))]
        size = max(sizes) * width if sizes and width else None
        us = event.get("dur") if event in kernels or not described else None
        ran.append(Ran(kind, size, _ranks(args.get("Process Group Ranks")), us))
    return ran, (data.get("distributedInfo") or {}).get("rank", 0)


def _of_recorder(data):
    groups = {
        str(it.get("name", name)): _ranks(it.get("ranks"))
        for name, it in (data.get("pg_config") or {}).items()
    }
    ran = []
    for entry in data["entries"]:
        kind = _kind(entry.get("profiling_name", ""))
        if not kind:
            continue
        sizes = [_product(it) for key in ("input_sizes", "output_sizes") for it in entry.get(key) or []]
        width = BYTES.get(str((entry.get("input_dtypes") or [""])[0]).lower())
        ms = entry.get("duration_ms")
        group = (entry.get("process_group") or [""])[0]
        ran.append(Ran(kind, max(sizes) * width if sizes and width else None, groups.get(str(group)),
                       ms * 1000 if ms else None))  # fmt: skip
    return ran, data.get("rank", 0)


def read(path):
    """What ran, in order, and on which rank."""
    data = _load(path)
    if isinstance(data, dict) and isinstance(data.get("traceEvents"), list):
        return _of_kineto(data)
    if isinstance(data, dict) and isinstance(data.get("entries"), list):
        return _of_recorder(data)
    raise TraceError(f"{path} has neither traceEvents of torch.profiler nor entries of a flight recorder")


# ---- beside the plan


@dataclass
class Row:
    """A collective that ran for some planned ones; either may be empty."""

    kind: str
    axes: tuple
    planned: list  # Collective
    ran: Ran = None

    @property
    def predicted_us(self):
        return sum(it.us for it in self.planned)

    def what(self):
        text = f"{self.kind} over {','.join(self.axes)}"
        if self.planned:
            first = self.planned[0]
            more = f" and {len(self.planned) - 1} more" if len(self.planned) > 1 else ""
            return f"{text} of {first.tensor}{more}, {first.cause}, for {', '.join(first.uses[:2]) or 'a pin'}"
        size = "" if self.ran.bytes is None else f" of {self.ran.bytes} bytes"
        ranks = "" if self.ran.ranks is None else f" on ranks {','.join(map(str, self.ran.ranks))}"
        return text + size + ranks


@dataclass
class Comparison:
    rank: int
    matched: list = field(repr=False)
    missing: list
    unplanned: list
    slow: list  # of those matched
    other_bytes: list = field(repr=False)  # likewise

    def __bool__(self):
        return not (self.missing or self.unplanned)

    def __str__(self):
        lines = [f"rank {self.rank}: {len(self.matched)} collectives ran as planned"]
        for title in "missing", "unplanned":
            lines += [f"{title}: {row.what()}" for row in getattr(self, title)]
        for row in self.other_bytes:
            planned = sum(it.bytes for it in row.planned)
            lines.append(f"other bytes: {row.ran.bytes}, {planned} planned: {row.what()}")
        for row in self.slow:
            lines.append(f"slow: {row.ran.us:.1f} us, {row.predicted_us:.1f} predicted: {row.what()}")
        return "\n".join(lines)


def _group(plan, axes, rank):
    """The ranks that differ from this one in these axes alone."""
    sizes, devices = plan.mesh, plan.data["mesh"]["devices"]
    here = devices.index(rank) if rank in devices else 0
    members, step = [here], 1
    for axis in reversed(list(sizes)):
        if axis in axes:
            members = [m + step * ((here // step + k) % sizes[axis] - here // step % sizes[axis])
                       for m in members for k in range(sizes[axis])]  # fmt: skip
        step *= sizes[axis]
    return tuple(sorted(devices[m] for m in members))


def _axes_of(plan, rank):
    """The axes of each group that this rank is in."""
    names = list(plan.mesh)
    return {
        _group(plan, axes, rank): axes
        for n in range(len(names), 0, -1)
        for axes in itertools.combinations(names, n)
    }


def _unit(name):
    """ "model.layers.0" of what is inside of a numbered module; "" of the others."""
    parts = name.split(".")
    numbers = [i for i, part in enumerate(parts) if part.isdigit()]
    return ".".join(parts[: numbers[0] + 1]) if numbers else ""


def _together(planned, left, size):
    """Those left that one collective of so many bytes moves: the parameters of a layer, or of none,
    as fully_shard does, or as many in a row as it has room for. The rest is padding."""
    units = collections.defaultdict(list)
    for i in left:
        units[_unit(planned[i].tensor)].append(i)
    row, total = [], 0
    for i in left:
        if total + planned[i].bytes <= size:
            row, total = [*row, i], total + planned[i].bytes
    for some in [*units.values(), row]:
        if len(some) > 1 and 0.95 * size <= sum(planned[i].bytes for i in some) <= size:
            return some
    return []


def _match(planned, ran, parameters):
    """Pairs in order: of equal bytes first; then several of parameters for one that moves them
    together; then what is left, one by one."""
    pairs, used, done = [], set(), set()
    sizes = [it.bytes for it in planned], [it.bytes for it in ran]
    for block in difflib.SequenceMatcher(None, *sizes, autojunk=False).get_matching_blocks():
        for k in range(block.size):
            pairs.append(([block.a + k], block.b + k))
            used.add(block.a + k)
            done.add(block.b + k)
    for j, it in enumerate(ran):
        if j in done or it.bytes is None:
            continue
        left = [i for i, step in enumerate(planned)
                if i not in used and step.tensor.removesuffix("~grad") in parameters]  # fmt: skip
        some = _together(planned, left, it.bytes)
        if some:
            pairs.append((some, j))
            used.update(some)
            done.add(j)
    left = [i for i in range(len(planned)) if i not in used]
    rest = [j for j in range(len(ran)) if j not in done]
    pairs += [([i], j) for i, j in zip(left, rest)]
    return pairs, left[len(rest) :], rest[len(left) :]


def compare(plan, path, slow, steps):
    """The last of so many equal steps in a trace beside the plan of one; slow: how many times the
    predicted time is."""
    ran, rank = read(path)
    axes_of = _axes_of(plan, rank)
    parameters = {name for name, kind in plan.kinds.items() if kind == "parameter"}
    known = all(it.ranks is not None for it in ran)
    planned, found = collections.defaultdict(list), collections.defaultdict(list)
    for it in plan.collectives:
        if it.kind not in ("slice", "send", "pad"):
            planned[it.kind, it.axes if known else None].append(it)
    for it in ran:
        axes = axes_of.get(it.ranks, ("ranks outside of the mesh",)) if known else None
        found[it.kind, axes].append(it)
    result = Comparison(rank, [], [], [], [], [])
    for key in dict.fromkeys([*planned, *found]):
        want, have = planned[key], found[key]
        have = have[len(have) - len(have) // steps :]
        pairs, missing, others = _match(want, have, parameters)
        for some, j in pairs:
            row = Row(key[0], want[some[0]].axes, [want[i] for i in some], have[j])
            result.matched.append(row)
            if row.ran.bytes is not None and len(some) == 1 and row.ran.bytes != want[some[0]].bytes:
                result.other_bytes.append(row)
            if row.ran.us is not None and row.ran.us > slow * row.predicted_us:
                result.slow.append(row)
        result.missing += [Row(key[0], want[i].axes, [want[i]]) for i in missing]
        result.unplanned += [Row(key[0], key[1] or ("an unknown group",), [], have[j]) for j in others]
    return result
