"""Explore how a model is sharded over a mesh of devices, from Python.

    import dimscope

    dimscope.open(model, (input_ids,), mesh="dp=2,tp=4", policy="megatron")   # the explorer
    plan = dimscope.plan(model, (input_ids,), mesh="dp=2,tp=4", policy="megatron")
    plan.placements["model.norm.weight"], plan.memory["peak_bytes"], plan.findings
    dimscope.check(model, plan, (input_ids,))      # what DTensor really moves, beside the plan
    dimscope.apply(model, plan, mesh)              # shards the module
    dimscope.compare(plan, "trace.json")           # what a job of it ran: missing, unplanned, slow

A model is a torch module, with example inputs of which only types and shapes matter; an
ExportedProgram; a file that the program dimscope opens (.pt2, .onnx, a config.json of Hugging Face,
a plan that was saved); or a Plan. Options are those of the program: policy="fsdp",
set={"zero": 1}, train="adamw", dims={"batch": 8}, machine="h100x8". JAX: dimscope.jax.
"""

from . import plans, program
from .plans import Collective, Finding, Plan, Tensor
from .program import Error

__all__ = ["Collective", "Error", "Finding", "Plan", "Tensor", "apply", "check", "compare", "open",
           "plan"]  # fmt: skip


def plan(model, example_inputs=(), example_kwargs=None, *, mesh=None, policy=None, **options):
    """The plan of a model on a mesh under a policy, as a Plan."""
    options.update(mesh=mesh, policy=policy)
    arguments, folder = plans.make(model, example_inputs, example_kwargs, **options)
    return plans.read(arguments, folder)


def open(model, example_inputs=(), example_kwargs=None, *, mesh=None, policy=None, **options):
    """Opens a model in the explorer, in this terminal; returns when its user leaves it."""
    options.update(mesh=mesh, policy=policy)
    arguments, folder = plans.make(model, example_inputs, example_kwargs, **options)
    status = program.explore(*arguments)
    if status not in (0, 1):
        raise Error(f"dimscope ended with status {status}")
    del folder  # the model's file was in use until now


def apply(model, plan, mesh=None, loss_fn=None):
    """Shards a torch module in place as a plan says; returns it.

    plan: a Plan, or a file that holds one. mesh: a DeviceMesh with the plan's axes; None: made of
    the ranks of torchrun. Of a plan with stages the result is the pipeline's schedule.
    """
    from . import shard

    return shard.apply(model, _plan_of(plan), mesh, loss_fn)


def check(model, plan, example_inputs=(), example_kwargs=None, *, mesh=None):
    """Runs one step of the sharded module and compares its collectives with the plan's.

    A module that is not sharded yet is copied without its weights and sharded as the plan says; in
    a process without a process group the other ranks are simulated. Returns a Check: true where
    all kinds and axes are equal, and a text that names each difference.
    """
    from . import checking

    return checking.check(model, _plan_of(plan), example_inputs, example_kwargs, mesh)


def compare(plan, trace, slow=2.0, steps=1):
    """The collectives in a trace of a step beside the plan's, as a Comparison.

    trace: a file of torch.profiler, or a dump of the flight recorder, as JSON or the pickle that it
    is; of several equal steps in it the last one is compared. The result is true where each
    planned one ran and no other did; its text names those that are missing, unplanned, of other
    bytes, or slow: more than `slow` times the predicted time.
    """
    from . import traces

    return traces.compare(_plan_of(plan), trace, slow, steps)


def _plan_of(plan):
    return plan if isinstance(plan, Plan) else plans.read(plans.make(plan)[0])


def __getattr__(name):
    if name == "jax":
        import importlib

        return importlib.import_module(".jax", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
