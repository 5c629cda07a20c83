#!/usr/bin/env python3
"""faults.py LIBRARY - each call that can fail does so once: an error that is said, or the right result.

Every scenario runs once to count its calls and to see its right answer. Then each call fails, one a
run: of memory and of opening files, which are asked for often, a sample. FAULTS=stacks: of memory the first
call from each stack, which is from each place in the program by each way that leads there; all others whole.
FAULTS=all: all of them. Of a run with a fault is asked that
  - it ends with one of the documented exit codes, never by a signal, and in time;
  - what it says is an error when the code is not 0, and the right answer when it is;
  - the file it writes is the old one or the whole new one, and no other file is left beside it;
  - it names no signal when memory is what failed.
Ends with "N passed, N failed".
"""
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import threading

DIMSCOPE = os.path.abspath(os.environ.get("DIMSCOPE", "./dimscope"))
CALLS = ["malloc", "open", "write", "fsync", "rename", "fork", "thread", "mmap", "pipe"]  # ORDER CALL
CODES = {0, 1, 2, 3, 4, 5}
FAULTS = os.environ.get("FAULTS", "some")
SAMPLE = 18  # faults of memory, and of opening files, a scenario
OLD = b"what was there before\n"
ROOT = os.getcwd()
GPT = ROOT + "/samples/models/tiny-gpt.onnx"
PLAN = [GPT, "-m", "dp=2,tp=2", "-p", "megatron"]

# name, arguments ("OUT" is the file written), whose calls, what of the answer is compared (the rest has
# measured times), and what is said where an answer does without something (a drawing, a preview)
SCENARIOS = [
    ("plan", ["plan"] + PLAN + ["-o", "OUT"], "parent", None, None),
    ("drawing", ["export"] + PLAN + ["--svg", "-o", "OUT"], "parent", None, None),
    ("report", ["export"] + PLAN + ["--html", "-o", "OUT"], "parent", None, r"a table in the report, because .*</html>\s*$"),
    ("train", ["plan"] + PLAN + ["--train", "adamw", "--json"], "parent", None, None),
    ("search", ["search"] + PLAN[:3] + ["--max-peak", "1GiB", "-o", "OUT"], "parent", r"plan .*", None),
    ("estimate", ["estimate"] + PLAN, "parent", None, r"could not be planned"),
    ("torch", ["export"] + PLAN + ["--train", "adamw", "--to", "dtensor", "-o", "OUT"], "parent", None, None),
    ("explorer", PLAN + ["--fresh", "--config", "none", "--size", "120x40", "--script", "jjlw<Esc>5p", "--screen", "OUT"],
     "parent", None, r"not enough memory or threads|not tried"),
    ("run", ["run"] + PLAN + ["--verify"], "parent", r"PASS.*|FAIL.*", None),
    ("ranks", ["run"] + PLAN + ["--verify"], "child", r"PASS.*|FAIL.*", None),
    ("steps", ["run"] + PLAN + ["--train", "sgd", "--steps", "2", "--verify"], "child", r"PASS.*|FAIL.*", None),
]


class Run:
    """One run in a folder of its own; the file it writes was there before."""

    def __init__(self, library, scenario, fault=None, stacks=None):
        _, arguments, whose, _, _ = scenario
        folder = tempfile.mkdtemp()
        try:
            out, counts = folder + "/out.file", folder + ".counts"
            with open(out, "wb") as file:
                file.write(OLD)
            environment = dict(os.environ, LD_PRELOAD=library, FAULT_COUNTS=counts, FAULT_IN=whose,
                               HOME=folder + "/none", XDG_STATE_HOME=folder + "/none", LC_ALL="C.UTF-8")
            if fault:
                environment["FAULT"] = fault
            if stacks:
                environment["FAULT_STACKS"] = stacks
            command = [DIMSCOPE] + [out if a == "OUT" else a for a in arguments]
            try:
                done = subprocess.run(command, env=environment, cwd=folder, stdin=subprocess.DEVNULL,
                                      capture_output=True, timeout=60)
                self.code, self.stdout, self.stderr = done.returncode, done.stdout, done.stderr
            except subprocess.TimeoutExpired:
                self.code, self.stdout, self.stderr = "no end within 60 s", b"", b""
            with open(out, "rb") as file:
                self.file = file.read()
            self.beside = sorted(set(os.listdir(folder)) - {"out.file", "none"})
            with open(counts, "rb") as file:
                self.counts = dict(zip(CALLS, struct.unpack("9q", file.read())))
            self.stdout = self.stdout.replace(folder.encode(), b"FOLDER")
            os.remove(counts)
        finally:
            shutil.rmtree(folder)


def answer(scenario, run):
    """What must be the same whenever a run ends well."""
    text = run.stdout.decode("utf-8", "replace")
    if scenario[3]:
        text = "\n".join(re.findall(scenario[3], text))
    return text, run.file


def does_without(scenario, run):
    """Whether the answer says what it lacks; a file ends as a whole one."""
    said = (run.stderr + run.stdout + run.file).decode("utf-8", "replace")
    return scenario[4] is not None and re.search(scenario[4], said, re.S) is not None


def wrong(scenario, right, run, fault):
    """Why this run is not as it should be, or None."""
    if run.code not in CODES:
        return f"ended with {run.code}"
    if fault.startswith(("malloc", "mmap")) and b"died of signal" in run.stderr:
        return "named a signal in place of memory"
    if run.beside:
        return f"left {run.beside}"
    if run.file not in (OLD, right.file) and not does_without(scenario, run):
        return "wrote half a file"
    if run.code == 0 and answer(scenario, run) != answer(scenario, right) and not does_without(scenario, run):
        return "ended well with another answer"
    if run.code != 0 and b"error" not in run.stderr:
        return f"ended with {run.code} and no error"
    if run.code == 1 and b"FAIL" in run.stdout:
        return "said FAIL of a right plan"
    return None


def first_calls(library, scenario):
    """The calls for memory that come first from their stack."""
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/stacks"
        Run(library, scenario, stacks=path)
        with open(path, "rb") as file:
            return [n for (n,) in struct.iter_unpack("q", file.read())]


def faults(counts, firsts):
    """All faults of a scenario: of memory a sample, of writes also those of a disk that stays full."""
    for call, n in counts.items():
        some = SAMPLE if call in ("malloc", "open") and FAULTS == "some" else max(n, 1)
        step = max(1, n / some)
        places = sorted({1 + int(i * step) for i in range(int(n / step))})
        for at in firsts if call == "malloc" and FAULTS == "stacks" else places:
            yield f"{call}:{at}"
        if call in ("write", "malloc") and n > 0:
            yield f"{call}:{(n + 1) // 2}+"


def check(library, scenario, report):
    right = Run(library, scenario)
    if right.code != 0:
        report(scenario[0], "none", right, f"ended with {right.code} without a fault")
        return
    firsts = first_calls(library, scenario) if FAULTS == "stacks" else []
    n = 0
    for n, fault in enumerate(faults(right.counts, firsts), 1):
        run = Run(library, scenario, fault)
        report(scenario[0], fault, run, wrong(scenario, right, run, fault))
    if FAULTS != "some":
        print(f"{scenario[0]}: {n} faults", file=sys.stderr, flush=True)


def main():
    library = os.path.abspath(sys.argv[1])
    only = sys.argv[2:]
    lock = threading.Lock()
    count = {True: 0, False: 0}

    def report(name, fault, run, why):
        with lock:
            count[why is None] += 1
            if why:
                said = run.stderr.decode("utf-8", "replace").strip().splitlines()
                print(f"{name}, {fault}: {why}: {said[-1][:200] if said else ''}", flush=True)

    scenarios = [s for s in SCENARIOS if not only or s[0] in only]
    threads = [threading.Thread(target=lambda part: [check(library, s, report) for s in part],
                                args=(scenarios[i::2],)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"{count[True]} passed, {count[False]} failed")
    sys.exit(count[False] > 0)


main()
