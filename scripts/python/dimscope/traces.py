"""Collectives that a job really ran, beside those of its plan: `dimscope diff PLAN --actual TRACE`."""

import json
from types import SimpleNamespace

from . import program


def _row(data):
    """What ran for some planned collectives; either may be empty."""
    planned = [SimpleNamespace(**{**it, "axes": tuple(it["axes"])}) for it in data["planned"]]
    ran = SimpleNamespace(**data["ran"]) if data["ran"] else None
    return SimpleNamespace(**{**data, "planned": planned, "ran": ran})


class Comparison:
    """True where each planned collective ran and no other did; its text names the differences.

    matched, missing, unplanned, slow, other_bytes   rows: what, planned, ran, predicted_us
    """

    def __init__(self, arguments):
        self.text = program.output(*arguments).rstrip("\n")
        data = json.loads(program.output(*arguments, "--json"))
        rows = [_row(row) for row in data["rows"]]
        self.rank = data["rank"]
        for state in "matched", "missing", "unplanned":
            setattr(self, state, [row for row in rows if row.state == state])
        self.slow = [row for row in self.matched if row.slow]
        self.other_bytes = [row for row in self.matched if row.other_bytes]

    def __bool__(self):
        return not (self.missing or self.unplanned)

    def __str__(self):
        return self.text


def compare(plan, path, slow, steps):
    return Comparison(["diff", *plan.arguments, "--actual", str(path), "--slow", repr(float(slow)),
                       "--steps", str(steps)])  # fmt: skip
