"""Which elements a device holds, read from dimscope's own notation: 8/dp,(3)(768/tp),64/tp:(1)4.

Shared by the parts that compare another system's answer with a plan; nothing of dimscope runs here.
"""
import csv, json, re

csv.field_size_limit(1 << 30)


def split(text, separator):
    """At separators outside of parentheses."""
    out, depth, last = [], 0, 0
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if c == separator and depth == 0:
            out.append(text[last:i])
            last = i + 1
    return out + [text[last:]]


def axis_parts(text, axes, at):
    """"dp.tp:(1)2" -> [(size, coordinate)] of a device."""
    out = []
    for ref in split(text, "."):
        name, part = (ref.split(":") + [None])[:2]
        pre, size = 1, axes[name]
        if part:
            pre, size = map(int, re.fullmatch(r"\((\d+)\)(\d+)", part).groups())
        out.append((size, at[name] // (axes[name] // (pre * size)) % size))
    return out


def chunk(low, high, parts):
    """torch.chunk, part of part."""
    for n, i in parts:
        step = -(-(high - low) // n)
        low, high = min(low + i * step, high), min(low + (i + 1) * step, high)
    return range(low, high)


def cut_indices(text, axes, at):
    """The places of one dim that the device holds."""
    blocks = re.fullmatch(r"\((\d+(?:\|\d+)+)\)/(.+)", text)
    if blocks:
        out, base = [], 0
        for n in map(int, blocks[1].split("|")):
            out += [base + i for i in chunk(0, n, axis_parts(blocks[2], axes, at))]
            base += n
        return out
    if text[0] != "(":
        size, _, refs = text.partition("/")
        return chunk(0, int(size), axis_parts(refs, axes, at) if refs else [])
    out = [0]
    for digit in re.findall(r"\(((?:[^()]|\([^()]*\))*)\)", text):
        size, _, refs = digit.partition("/")
        held = chunk(0, int(size), axis_parts(refs, axes, at) if refs else [])
        out = [major * int(size) + minor for major in out for minor in held]
    return out


def indices(sharding, axes, at):
    dims = sharding.split(" ")[0]
    return [] if dims == "scalar" else [cut_indices(d, axes, at) for d in split(dims, ",")]


def coordinates(text):
    return {k: int(v) for k, v in (p.split("=") for p in text.split(",") if p)}


def partial_size(text, axes):
    """How many addends: the product of what "dp.tp:(1)2" refers to."""
    out = 1
    for ref in re.split(r"[.,;]", text):
        if ref:
            out *= axis_parts(ref, axes, dict.fromkeys(axes, 0))[0][0]
    return out


UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


def shown(name):
    """As a table of text has it: marks that move other text are bytes."""
    return UNSEEN.sub(lambda mark: "".join(f"\\x{byte:02X}" for byte in mark[0].encode()), name)


class Plan:
    """The tables `tensors` and `parts` of an export."""

    def __init__(self, tensors, parts):
        self.rows = {r["name"]: r for r in csv.DictReader(open(tensors, newline="", encoding="utf-8"))}
        self.parts = {}
        for r in csv.DictReader(open(parts, newline="", encoding="utf-8")):
            self.parts.setdefault(r["tensor"], []).append(r)
        self.labels = {}
        for name, r in self.rows.items():
            self.labels.setdefault(r["label"], []).append(name)

    def tensor(self, name):
        """The tensor that an export calls so."""
        name = shown(name)
        if len(self.labels.get(name, [])) == 1:
            return self.labels[name][0]
        return name if name in self.rows else None

    def held(self, tensor, axes):
        """Per device: the places it holds, dim by dim; checked against the local shape."""
        out = {}
        for r in self.parts[tensor]:
            held = indices(self.rows[tensor]["sharding"], axes, coordinates(r["coordinates"]))
            assert [len(h) for h in held] == json.loads(r["local_shape"]), (tensor, r)
            out[int(r["device"])] = held
        return out

    def given(self, tensor, axes):
        """The same of what an output or a pin makes of it, and how many addends that has."""
        then = self.rows[tensor]["then"]
        if not then:
            return self.held(tensor, axes), partial_size(self.parts[tensor][0]["partial"], axes)
        at = {int(r["device"]): coordinates(r["coordinates"]) for r in self.parts[tensor]}
        return {device: indices(then, axes, place) for device, place in at.items()}, 1
