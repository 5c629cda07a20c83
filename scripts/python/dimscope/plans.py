"""A plan as objects: how parameters lie, what is moved, what it costs, what is wrong with it."""

import html
import json
import os
import shutil
import tempfile
from dataclasses import dataclass, field

from . import program


@dataclass(frozen=True)
class Tensor:
    """A value of the plan, as it is made or stored."""

    name: str
    kind: str  # parameter, input, activation, output, ..
    dtype: str
    shape: tuple
    sharding: str  # "8/dp,1024,768 Σtp": help notation
    placements: tuple  # of DTensor, one a mesh axis: ("S(0)", "R"); None if they do not say it
    spec: tuple  # of JAX, one a dim: ("dp", None, ("dp", "tp")); None if it does not say it
    local_shape: tuple  # on rank 0


@dataclass(frozen=True)
class Collective:
    """A step of a reshard: one collective of the plan."""

    kind: str  # all_reduce, all_gather, reduce_scatter, all_to_all, slice, send, ..
    axes: tuple
    bytes: int  # one rank's payload
    us: float  # predicted
    tensor: str  # that is moved
    uses: tuple  # ops that read the result
    phase: str  # forward or backward
    cause: str  # "4,16,64 Σtp -> 4,16,64"


@dataclass(frozen=True)
class Finding:
    level: str  # error, warning, note
    code: str
    text: str
    hint: str = ""


@dataclass
class Plan:
    """The plan of a model on a mesh under a policy.

    placements   how each parameter is stored, by name: ("R", "S(0)"), one a mesh axis
    tensors      every value by name
    collectives  what is moved, in program order
    memory       bytes of the fullest rank: "peak_bytes", "classes", ..
    totals       "step_us", "comm_bytes", "flops", ..
    findings     what is wrong with it, or worth knowing
    data         all of it, as 'dimscope plan --json' prints it
    """

    arguments: list  # of the program: the model, the mesh, the policy
    data: dict
    kinds: dict = field(repr=False)
    folder: object = field(default=None, repr=False)  # of the exported model, while it is in use

    @property
    def mesh(self):
        return dict(self.data["mesh"]["axes"])

    @property
    def tensors(self):
        return {row["name"]: _tensor(row, self.kinds) for row in self.data["tensors"]}

    @property
    def placements(self):
        return {t.name: t.placements for t in self.tensors.values() if t.kind == "parameter"}

    @property
    def collectives(self):
        return [step for row in self.data["reshards"] for step in _steps(row)]

    @property
    def memory(self):
        return self.data["memory"]

    @property
    def totals(self):
        return self.data["totals"]

    @property
    def findings(self):
        return [Finding(f["level"], f["code"], f["text"], f.get("hint") or "")
                for f in self.data["findings"]]  # fmt: skip

    @property
    def legal(self):
        return all(finding.level != "error" for finding in self.findings)

    def export(self, *options):
        """The plan in another form: export("--to", "dtensor"), export("--html"), .."""
        return program.output("export", *self.arguments, *options)

    def save(self, path):
        """Saves the plan as a file; a model that was exported for it is saved beside it."""
        arguments = list(self.arguments)
        if self.folder is not None:
            model = os.path.splitext(os.fspath(path))[0] + os.path.splitext(arguments[0])[1]
            shutil.copyfile(arguments[0], model)
            arguments[0] = model
        program.output("plan", *arguments, "-o", os.fspath(path))

    def __str__(self):
        return program.output("plan", *self.arguments)

    def _repr_html_(self):
        page = html.escape(self.export("--html"))
        return f'<iframe srcdoc="{page}" style="width:100%;height:640px;border:0"></iframe>'


def _tensor(row, kinds):
    dims = row["sharding"]["dims"]
    plain = all(isinstance(axes, list) for axes in dims)
    return Tensor(
        name=row["name"],
        kind=kinds.get(row["name"], "activation"),
        dtype=row["dtype"],
        shape=tuple(row["shape"]),
        sharding=row["sharding"]["text"],
        placements=None if row["placements"] is None else tuple(row["placements"]),
        spec=tuple(_entry(axes) for axes in dims) if plain else None,
        local_shape=tuple(row["local_shape"]),
    )


def _entry(axes):
    return None if not axes else axes[0] if len(axes) == 1 else tuple(axes)


def _steps(row):
    for step in row["steps"]:
        yield Collective(
            kind=step["kind"],
            axes=tuple(step["axes"]),
            bytes=step["bytes"],
            us=step["us"],
            tensor=row["tensor"],
            uses=tuple(row["uses"]),
            phase=row.get("phase", "forward"),
            cause=f"{row['from']['text']} -> {row['to']['text']}",
        )


def read(arguments, folder=None):
    """The plan of this command line."""
    data = json.loads(program.output("plan", *arguments, "--json"))
    table = json.loads(program.output("export", *arguments, "--json", "--table", "tensors"))
    kinds = {row["name"]: row["kind"] for row in table["rows"]}
    return Plan(list(arguments), data, kinds, folder)


def make(model, example_inputs=(), example_kwargs=None, **options):
    """The command line of a model in any form, and the folder that its file is in, or None."""
    if isinstance(model, Plan):
        return [*model.arguments, *program.options_text(**options)], model.folder
    if isinstance(model, (str, os.PathLike)):
        return [os.fspath(model), *program.options_text(**options)], None
    if not hasattr(model, "state_dict"):
        raise TypeError(f"a model is a torch module, an ExportedProgram, a file or a Plan, not {type(model).__name__}")
    from . import export

    folder = tempfile.TemporaryDirectory(prefix="dimscope-")
    path = os.path.join(folder.name, f"{type(model).__name__}.pt2")
    export.save(model, example_inputs, example_kwargs, path)
    return [path, *program.options_text(**options)], folder
