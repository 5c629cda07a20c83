"""Finds the program dimscope and runs it."""

import os
import shutil
import subprocess

_HERE = os.path.dirname(os.path.abspath(__file__))

# Beside the package: of a checkout (scripts/python/dimscope) or of `make install`
# (PREFIX/share/dimscope/scripts/python/dimscope).
_BESIDE = ("../../../dimscope", "../../../../../bin/dimscope")


class Error(Exception):
    """What the program says about a model, a mesh, a policy or a plan it cannot use."""


def find():
    """The path of the program: $DIMSCOPE, beside this package, or on PATH."""
    given = os.environ.get("DIMSCOPE")
    for path in [given] if given else [os.path.join(_HERE, place) for place in _BESIDE]:
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return os.path.abspath(path)
    found = None if given else shutil.which("dimscope")
    if not found:
        place = f"$DIMSCOPE is {given}, which is no program" if given else "it is not on PATH"
        raise Error(f"the program dimscope is not found: {place}; build it, or set $DIMSCOPE")
    return found


def output(*arguments):
    """What the program prints. An illegal plan is one too: its findings say why."""
    done = subprocess.run([find(), *arguments], capture_output=True, text=True)
    if done.returncode not in (0, 1) or (done.returncode == 1 and not done.stdout):
        raise Error(done.stderr.strip() or f"dimscope ended with status {done.returncode}")
    return done.stdout


def explore(*arguments):
    """Runs the explorer in this terminal until its user leaves it; the status."""
    return subprocess.run([find(), *arguments]).returncode


def mesh_text(mesh):
    """ "dp=2,tp=4" of a text, a dict, a DeviceMesh of torch or a Mesh of JAX."""
    if mesh is None or isinstance(mesh, str):
        return mesh
    if hasattr(mesh, "mesh_dim_names"):  # torch
        if mesh.mesh_dim_names is None:
            raise ValueError("the DeviceMesh has no mesh_dim_names")
        mesh = dict(zip(mesh.mesh_dim_names, mesh.shape))
    elif hasattr(mesh, "axis_names"):  # JAX
        mesh = dict(mesh.shape)
    return ",".join(f"{axis}={size}" for axis, size in mesh.items())


def options_text(mesh=None, policy=None, set=None, dims=None, **options):
    """The command line of: mesh, policy, set={"zero": 3}, dims={"batch": 8}; any other is an option
    of that name: train="adamw", machine="h100x8", propagate="strategy", pins="plan.py"."""
    line = []
    for name, value in [("mesh", mesh_text(mesh)), ("policy", policy), *options.items()]:
        flag = "--" + name.replace("_", "-")
        if value is True:
            line.append(flag)
        elif value is not None and value is not False:
            line += [flag, os.fspath(value) if isinstance(value, os.PathLike) else str(value)]
    for name, value in (set or {}).items():
        line += ["--set", f"{name}={str(value).lower() if isinstance(value, bool) else value}"]
    if dims:
        line += ["--dim", ",".join(f"{name}={size}" for name, size in dims.items())]
    return line
