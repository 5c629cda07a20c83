"""trace.py NAME FILE - a trace through Perfetto's trace processor: slices, flows and counters are
those of the file, and its statistics tell of no error. Exit 77: there is no trace processor."""
import json
import sys

from perfetto.trace_processor import TraceProcessor

name, path = sys.argv[1:]
try:
    processor = TraceProcessor(trace=path)
except Exception:  # whatever its download raises
    sys.exit(77)


def number(query):
    return next(iter(processor.query(f"select count(*) as n from {query}"))).n


events = json.load(open(path))["traceEvents"]
written = {phase: sum(e["ph"] == phase for e in events) for phase in "XsC"}
series = sum(len(e["args"]) for e in events if e["ph"] == "C")
errors = [f"{row.name} {row.value}" for row in processor.query(
    "select name, value from stats where severity in ('error', 'data_loss') and value > 0")]
wrong = [f"{what}: {got}, not {want}" for what, got, want in (
    ("slices", number("slice"), written["X"]),
    ("flows", number("flow"), written["s"]),
    ("counts", number("counter"), series)) if got != want] + errors
processor.close()
print(f"not ok {name}: {'; '.join(wrong)}" if wrong else f"ok {name}")
sys.exit(bool(wrong))
