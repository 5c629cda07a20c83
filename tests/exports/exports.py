#!/usr/bin/env python3
"""Every export of DIMSCOPE, read back by other programs (Python's own parsers, dot)."""
import csv
import html.parser
import io
import json
import os
import re
import resource
import signal
import stat
import subprocess
import sys
import tempfile
import time
import xml.dom.minidom

sys.path[:0] = ["tests/golden/errors", "tests/exports"]
sys.dont_write_bytecode = True
import drawings  # noqa: E402
import settings  # noqa: E402
import steps, views  # noqa: E401,E402
from make_models import field, value  # noqa: E402

DIMSCOPE = os.path.abspath(os.environ.get("DIMSCOPE") or "./dimscope")
SCRATCH = tempfile.mkdtemp(prefix="dimscope-exports-")
passed = failed = 0

NAMES = [
    'quote"d \'name\' `here`',
    "back\\slash\\n \\N \\",
    "line\nbreak\r\ttab",
    "</script><script>alert(1)</script>",
    "<b>bold</b> &amp; & ]]> <!-- -->",
    "right‮to‏left⁦",
    "zero​width  separator﻿",
    '"""triple\'\'\' {x} %s %n $(true) #{y}',
    "]] ]=] --[[ lua",
    "pipe | table | row",
    "x" * 10000,
    "dp",
    "tp",
    "=cmd|' /C calc'!A0",
    "日本語 émoji 🦊",
    "",
]
KINDS = ["overview", "block", "neighbourhood", "op", "slices", "device", "stage", "mesh", "comm", "reshard", "why"]


def check(what, ok, why=""):
    global passed, failed
    if ok:
        passed += 1
    else:
        failed += 1
        print(f"--- {what}: {str(why)[:600]}")


def run(*args, timeout=120, **kwargs):
    return subprocess.run([DIMSCOPE, *args], capture_output=True, timeout=timeout, **kwargs)


# System -> the ending of its files.
LANGUAGES = dict(re.findall(r"^  (\S+) +[.](\w+) ", run("help", "systems").stdout.decode(), re.M))


def error_is_told(done):
    """A refusal is a line that says what, and an exit code of the contract."""
    return done.returncode in (1, 2, 3, 4, 5) and b"error:" in done.stderr and not done.stdout


# ---- models ----


def save(name, data):
    path = os.path.join(SCRATCH, name)
    with open(path, "wb") as out:
        out.write(data)
    return path


def initializer(name, dims):
    n = 1
    for d in dims:
        n *= d
    return b"".join(field(1, d) for d in dims) + field(2, 1) + field(8, name) + field(9, bytes(4 * n))


def node(operator, name, inputs, output):
    return (b"".join(field(1, i) for i in inputs) + field(2, output) + field(3, name) + field(4, operator))


def hostile_model():
    """A chain of MatMul and Relu; every value, parameter and node has a hostile name."""
    nodes, initializers, at = [], [], "in " + NAMES[0]
    for i, name in enumerate(NAMES):
        w, y, z = f"w {i} {name}", f"y {i} {name}", f"z {i} {name}"
        initializers.append(initializer(w, [8, 8]))
        nodes.append(node("MatMul", f"/mod {name}/{i}/MatMul", [at, w], y))
        nodes.append(node("Relu", f"/mod {name}/{i}/Relu", [y], z))
        at = z
    nodes.append(node("Relu", b"bad \xc3\x28 name", [at], b"out \xff\xfe \x80"))
    graph = b"".join(field(1, n) for n in nodes) + field(2, "g") + b"".join(field(5, i) for i in initializers)
    graph += field(11, value("in " + NAMES[0], [4, 8])) + field(12, value(b"out \xff\xfe \x80", [4, 8]))
    return save("hostile.onnx", field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17)))


def empty_model():
    return save("empty.lua", b'function MODEL(model)\n  model:output(model:input("x", "f32", {4, 8}))\nend\n')


# ---- what reads them ----


class Page(html.parser.HTMLParser):
    """A strict reader of our own pages: balanced, ids once, links that lead somewhere."""

    VOID = {"meta", "link", "br", "hr", "img", "input", "col", "wbr"}

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.links, self.faults, self.scripts, self.outside = [], [], [], [], 0, []

    def handle_starttag(self, tag, attrs):
        for key, text in attrs:
            if key == "id":
                self.ids.append(text)
            if key in ("href", "xlink:href") and text and text.startswith("#"):
                self.links.append(text[1:])
            elif key in ("href", "xlink:href", "src") and text and text != "data:,":
                self.outside.append(text)
            if key.startswith("on"):
                self.faults.append(f"{tag} has {key}")
        self.scripts += tag == "script"
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> closes another")


def read_dot(data):
    done = subprocess.run(["dot", "-Tplain"], input=data, capture_output=True, timeout=120)
    return done.returncode == 0 and not done.stderr and b"node" in done.stdout, done.stderr


def read_svg(data):
    page = xml.dom.minidom.parseString(data)
    return not page.getElementsByTagName("script"), "a script"


def read_html(data):
    page = Page()
    page.feed(data.decode("utf-8"))
    page.close()
    twice = {i for i in page.ids if page.ids.count(i) > 1} if len(page.ids) < 3000 else len(page.ids) - len(set(page.ids))
    lost = set(page.links) - set(page.ids)
    ok = not (page.open or page.faults or twice or lost or page.outside or page.scripts > 1)
    return ok, (page.open, page.faults[:3], twice, list(lost)[:3], page.outside[:3], page.scripts)


def read_csv(data):
    rows = list(csv.reader(io.StringIO(data.decode("utf-8", "surrogateescape"), newline=""), strict=True))
    return len(rows) > 0 and len({len(r) for r in rows}) == 1, {len(r) for r in rows}


def read_json(data):
    return isinstance(json.loads(data.decode("utf-8")), dict), ""


def read_flags(data):
    lines = data.decode("utf-8").splitlines()
    return all(re.fullmatch(r"#.*|--[a-z0-9-]+( [\w.]+)?", line) for line in lines), lines


def read_trace(data):
    events = json.loads(data.decode("utf-8"))["traceEvents"]
    return all("ph" in e and "pid" in e for e in events), "an event without ph"


def read_md(data):
    width = 0
    for line in data.decode("utf-8").split("\n"):
        cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
        if cells and width and cells != width:
            return False, line
        width = cells
    return True, ""


def read_py(data):
    compile(data.decode("utf-8"), "export.py", "exec")
    return True, ""


def read_mlir(data):
    """Brackets match outside of strings, and strings end on their line."""
    text = re.sub(r"//[^\n]*", "", re.sub(r'"(\\.|[^"\\\n])*"', "", data.decode("utf-8")))
    return '"' not in text and all(text.count(a) == text.count(b) for a, b in ("()", "[]", "{}")), text[:300]


def read_pdf(data):
    return data.startswith(b"%PDF") and data.rstrip().endswith(b"%%EOF"), data[:20]


def read_png(data):
    return data.startswith(b"\x89PNG") and b"IEND" in data[-12:], data[:20]


def read_nothing(data):
    return len(data) > 0, "it is empty"


READERS = {"dot": read_dot, "svg": read_svg, "pdf": read_pdf, "png": read_png, "html": read_html, "md": read_md,
           "json": read_json, "trace": read_trace, "py": read_py, "mlir": read_mlir, "lua": read_nothing, "args": read_flags,
           "onnx": read_nothing}


# ---- the checks ----


def check_format(what, args, reader, may_refuse=False):
    done = run(*args)
    if done.returncode != 0:
        check(what, may_refuse and error_is_told(done), done.stderr.decode("utf-8", "replace"))
        return None
    try:
        ok, why = reader(done.stdout)
    except Exception as fault:  # a parser's own
        ok, why = False, repr(fault)
    check(what, ok, why)
    check(what + " twice", run(*args).stdout == done.stdout, "other bytes")
    return done.stdout


def check_all(title, path, mesh, may_refuse=False, of_op=None, of_tensor=None):
    base = ["export", path, "-m", mesh]
    for name in ("html", "md", "json", "trace"):
        check_format(f"{title} {name}", [*base, "--" + name], READERS[name], may_refuse)
    for system, ending in LANGUAGES.items():
        check_format(f"{title} {system}", [*base, "--to", system], READERS.get(ending, read_nothing), may_refuse)
    tables = json.loads(run(*base, "--json").stdout or b'{"tables": {}}')["tables"]
    check(f"{title} has tables", len(tables) > 5, list(tables))
    for table in tables:
        check_format(f"{title} csv {table}", [*base, "--csv", "--table", table], read_csv)
    for kind in KINDS:
        of = of_op if kind in ("op", "neighbourhood") else of_tensor if kind in ("slices", "why", "reshard") else None
        for name in ("dot", "svg"):
            args = [*base, "--" + name, "--kind", kind, *([of] if of else [])]
            check_format(f"{title} {name} {kind}", args, READERS[name], True)
    for name in ("pdf", "png"):
        check_format(f"{title} {name}", [*base, "--" + name], READERS[name], may_refuse)


HIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\udc80-\udcff]")


def shown(name):
    """As names of a model are written wherever they are no string of a language."""
    return HIDDEN.sub(lambda found: "".join(f"\\x{byte:02X}" for byte in found[0].encode()), name)


HOSTILE_END = "\x1b[31m\x1b]0;t\x07\u202e\u009b31m\u2028\u2066\x7f\x08end"


def hostile_trace():
    """What a job ran, as torch.profiler writes it: names, groups and types that nobody should print raw."""
    event = {"ph": "X", "cat": "kernel", "name": "nccl" + HOSTILE_END, "ts": 1, "dur": 1e308}
    event["args"] = {"Collective name": "allreduce", "In msg nelems": 1e308, "dtype": "Float" + HOSTILE_END,
                     "Process Group Name": HOSTILE_END, "Process Group Ranks": "[0, 99999999999999999999, -1, x"}
    return json.dumps({"traceEvents": [event, None, 1, [], {}]}).encode()


def check_numbers():
    """Numbers that cannot be meant, and files of nothing, are refused in words; none is taken for another."""
    gpt = "samples/models/gpt2.onnx"
    for option in ("--seconds", "--max-peak"):
        for number in ("nan", "inf", "-1", "1e308", "99999999999999999999", ""):
            done = run("search", gpt, "-m", "dp=2", option, number)
            check(f"search {option} {number}", error_is_told(done) and done.returncode == 2, done)
    for number in ("nan", "-1", "0", "99999999999999999999"):
        check(f"search --devices {number}", error_is_told(run("search", gpt, "--devices", number)))
    for decode in ("batch=nan,context=1", "batch=0,context=1", "batch=1,context=99999999999999999999", "batch=1e308", ""):
        check(f"--decode {decode}", error_is_told(run("estimate", gpt, "-m", "dp=2", "--decode", decode)))
    for against in ("", "no such"):
        check(f"--against {against}", error_is_told(run("estimate", gpt, "-m", "dp=2", "--against", against)))
    for name, data in (("empty", b""), ("null", b"null"), ("list", b"[]"), ("pickle", b"\x80\x02."), ("gzip", b"\x1f\x8b"),
                       ("nan", b'{"traceEvents": [{"ts": NaN}]}')):
        done = run("diff", gpt, "-m", "dp=2", "--actual", save(name + ".trace", data))
        check(f"--actual of {name}", error_is_told(done) and done.returncode == 3, done)


def check_bytes():
    """No byte of a model reaches a terminal or a file that could act there, by any verb or format."""
    path = save("bytes.lua", b"""function MODEL(model)
        local bad = "e\\27[31m\\27]0;t\\7\\u{202e}\\u{9b}31m\\u{2028}\\u{2066}\\127\\8end"
        local x = model:input("in" .. bad, "f32", {"b" .. bad, 8})
        model:dims{["b" .. bad] = 8}
        local w = model:param("w" .. bad, {8, 8})
        local y = model:module("m" .. bad, function() return model:op("MatMul", {x, w}) end)
        model:output(model:op("Relu", {y}), "out" .. bad)
    end""")
    hostile = hostile_model()
    calls = [[verb, *which, *form] for verb in ("plan", "check", "run") for which in ([path], [hostile])
             for form in ([], ["--json"])]
    calls += [["info", which, *form] for which in (path, hostile) for form in ([], ["--json"], ["--values"])]
    calls += [["export", which, *form.split()] for which in (path, hostile)
              for form in ("--dot", "--svg", "--html", "--md", "--csv", "--json", "--trace",
                           *("--to " + system for system in LANGUAGES))]
    trace = save("bytes.json", hostile_trace())
    calls += [[*call.split(), *which] for which in ([path], [hostile])
              for call in ("search", "search --frontier", "diff --propagate explain,spmd", f"diff --actual {trace}")]
    calls += [[path, "--script", keys, "--screen", "-"]
              for keys in ("", "2", "3", "9", "0", "w", "gs", "gk", ":search<Enter>", f":actual {trace}<Enter>")]
    out = "oute" + HOSTILE_END
    calls += [[verb, path, out] for verb in ("why", "ranges")] + [["why-not", path, out, "dp"]]
    calls += [["why", path, "no" + chr(0x202E)], ["plan", path, "--pins", hostile], ["plan", path + "\x1b[31m"]]
    for call in calls:
        done = run(*call, *([] if call[0] == "info" else ["-m", "dp=2"]))
        for stream in done.stdout, done.stderr:
            found = HIDDEN.search(stream.decode("utf-8", "surrogateescape"))
            check(f"bytes of {' '.join(call)!a}", not found, found and (found, stream[max(0, found.start() - 60):]))


def check_hostile():
    path = hostile_model()
    check_all("hostile", path, "dp=2,tp=2", of_op=f"/mod {NAMES[3]}/3/MatMul", of_tensor=f"w 1 {NAMES[1]}")
    rows = csv.DictReader(io.StringIO(run("export", path, "-m", "dp=2", "--csv", "--table", "parameters").stdout.decode()))
    got = [row[next(iter(row))] for row in rows]
    check("names in tables are the model's", all(f"w {i} {shown(name)}" in got for i, name in enumerate(NAMES)), got[:2])
    lua = save("back.lua", run("export", path, "-m", "dp=2,tp=2", "--to", "lua").stdout)
    done = run("plan", path, "-m", "dp=2,tp=2", "-p", lua, "--json")
    check("the Lua of hostile names runs", done.returncode == 0, done.stderr.decode("utf-8", "replace"))
    onnx = save("back.onnx", run("export", path, "-m", "dp=2,tp=2", "--onnx").stdout)
    done = run("plan", onnx, "-m", "dp=2,tp=2", "--json")
    check("the ONNX of hostile names opens", done.returncode == 0, done.stderr.decode("utf-8", "replace"))


def check_systems():
    """Every system that --to takes is in `help systems`, and so in the checks here."""
    known = re.search(rb"one of: (.*)", run("export", "samples/models/tiny-gpt.onnx", "-m", "dp=2", "--to", "?").stderr)
    names = known[1].decode().split(", ") if known else []
    check("systems are listed", set(names) == set(LANGUAGES), (names, list(LANGUAGES)))


def check_unknown():
    """Values whose rank nobody knows before the run have no sharding to be said."""
    args = ["export", "tests/models/yolo-17.onnx", "-m", "dp=2,tp=2", "--dim", "height=4,width=4"]
    for system, ending in LANGUAGES.items():
        check_format(f"sizes of the run {system}", [*args, "--to", system], READERS.get(ending, read_nothing))
    for name in ("html", "md", "json", "trace"):
        check_format(f"sizes of the run {name}", [*args, "--" + name], READERS[name])


def check_surroundings():
    """Where and as whom it runs is not in the bytes."""
    model_path = os.path.abspath("samples/models/tiny-gpt.onnx")
    other = {**os.environ, "TZ": "Asia/Tokyo", "LC_ALL": "C", "HOME": "/nonexistent", "COLUMNS": "40", "TERM": "dumb"}
    for option in ("--dot", "--svg", "--pdf", "--png", "--html", "--md", "--json", "--trace", "--onnx",
                   *("--to " + system for system in LANGUAGES)):
        args = ["export", model_path, "-m", "dp=2,tp=2", "-p", "megatron", *option.split()]
        here = run(*args, env={**os.environ, "TZ": "America/New_York"})
        there = run(*args, env=other, cwd="/")
        check(f"{option} elsewhere", here.returncode == 0 and here.stdout == there.stdout, there.stderr)


def check_memory():
    """Too little memory is an error that says so, not a signal. A sanitizer needs more than any."""
    with open(DIMSCOPE, "rb") as program:
        if b"__asan_init" in program.read():
            return
    path = save("deep.lua", b"""function MODEL(model)
        local x = model:input("x", "f32", {8, 8})
        for i = 1, 100000 do x = model:op("Relu", {model:op("Exp", {x})}) end
        model:output(x, "y")
    end""")
    for mib in 80, 120:
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (mib << 20, mib << 20))
        done = run("plan", path, "-m", "dp=2", preexec_fn=limit)
        check(f"{mib} MiB", done.returncode in (2, 4) and b"memory" in done.stderr, (done.returncode, done.stderr))


def check_places():
    model_path, here = "samples/models/tiny-gpt.onnx", os.path.join(SCRATCH, "place")
    os.mkdir(here)
    plain = ["export", model_path, "-m", "dp=2", "-p", "dp"]
    for place, why in (("/nonexistent/x.svg", "a folder that is not there"), (here, "a folder"),
                       ("/dev/full", "a device")):
        for name in ("--svg", "--html", "--json", "--onnx"):
            done = run(*plain, name, "-o", place)
            check(f"{name} into {why}", error_is_told(done), done.stderr)
    locked = os.path.join(here, "locked.md")
    open(locked, "w").write("mine")
    os.chmod(locked, 0o444)
    if os.getuid() != 0:
        check("a file that may not be written", error_is_told(run(*plain, "--md", "-o", locked)))
        check("it is as it was", open(locked).read() == "mine")
    with open("/dev/full", "wb") as full:
        done = subprocess.run([DIMSCOPE, *plain, "--md"], stdout=full, stderr=subprocess.PIPE)
    check("a full disk is told", done.returncode != 0 and b"error:" in done.stderr, done.stderr)
    check("nothing is left behind", os.listdir(here) == ["locked.md"], os.listdir(here))


def fake_dot(name, script):
    folder = os.path.join(SCRATCH, name)
    os.mkdir(folder)
    path = os.path.join(folder, "dot")
    with open(path, "w") as out:
        out.write("#!/bin/sh\n" + script)
    os.chmod(path, stat.S_IRWXU)
    return {**os.environ, "PATH": folder + ":" + os.environ["PATH"]}


def check_dot():
    model_path = "samples/models/tiny-gpt.onnx"
    args = [DIMSCOPE, "export", model_path, "-m", "dp=2", "-p", "dp", "--svg", "-o"]
    late = os.path.join(SCRATCH, "late.svg")
    hanging = fake_dot("hangs", "exec sleep 100\n")
    began = time.time()
    waiting = subprocess.Popen([*args, late], env=hanging, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    stopped_at = os.path.join(SCRATCH, "stopped.svg")
    stopped = subprocess.Popen([*args, stopped_at], env=hanging, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(1)
    stopped.send_signal(signal.SIGINT)
    stopped.communicate(timeout=10)
    silent = os.path.join(SCRATCH, "silent.svg")
    closing = subprocess.Popen([*args, silent], env=fake_dot("closes", "exec >&-\nexec sleep 100\n"),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check("C-c while dot works", stopped.returncode == 130 and not os.path.exists(stopped_at), stopped.returncode)

    beside = os.path.join(SCRATCH, "plan.svg")
    done = subprocess.run([*args, beside], env={**os.environ, "PATH": "/nonexistent"}, capture_output=True)
    check("without dot the drawing is written as DOT", done.returncode == 0 and b"note:" in done.stderr, done.stderr)
    check("that reads", read_dot(open(beside + ".gv", "rb").read())[0])
    check("and no half of a drawing", not os.path.exists(beside))
    done = subprocess.run(args[:-1], env={**os.environ, "PATH": "/nonexistent"}, capture_output=True)
    check("without dot nothing goes to a pipe", error_is_told(done), done.stderr)

    for name, script in (("killed", "kill -9 $$\n"), ("half", "echo '<svg>'\n"), ("fails", "cat >/dev/null; exit 3\n"),
                         ("endless", "exec yes\n")):
        place = os.path.join(SCRATCH, name + ".svg")
        done = subprocess.run([*args, place], env=fake_dot(name, script), capture_output=True)
        check(f"a dot that is {name}", error_is_told(done) and not os.path.exists(place), done.stderr)

    done = run("export", "samples/models/gpt2.onnx", "-m", "dp=2,tp=4", "-p", "megatron", "--svg", "--kind",
               "neighbourhood", "/transformer/h.0/attn/c_attn/Gemm", "--hops", "1000")
    check("too large for dot names what fits", error_is_told(done) and b"hint: --" in done.stderr, done.stderr)

    waiting.communicate(timeout=60)
    took = time.time() - began
    closing.communicate(timeout=60)
    check("a dot that closes its output and stays is stopped", closing.returncode == 5 and not os.path.exists(silent),
          closing.returncode)
    check("a dot that hangs is stopped", waiting.returncode == 5 and 15 < took < 40 and not os.path.exists(late),
          (waiting.returncode, took))


def check_second_plan():
    """A saved plan is compared as it was saved, whatever decides the model before it."""
    path, other = "samples/models/tiny-gpt.onnx", os.path.join(SCRATCH, "other.json")
    run("plan", path, "-m", "dp=4", "-p", "dp", "-o", other)
    done = run("export", path, "-m", "dp=2,tp=2", "-p", "megatron", "--md", other)
    said = done.stdout.decode()
    check("a second plan has its own mesh and policy", "B: `other.json on dp=4, policy dp," in said, done.stderr)
    check("the first has that of the options", "A: `tiny-gpt.onnx on dp=2,tp=2, policy megatron," in said, said[:300])


def lives(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat_of:
            return stat_of.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def check_ends():
    """However the program ends, no dot goes on without it, and nothing half done is left."""
    args = [DIMSCOPE, "export", "samples/models/tiny-gpt.onnx", "-m", "dp=2", "-p", "dp", "--svg", "-o"]
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
        place = os.path.join(SCRATCH, f"ended-{number.name}")
        os.mkdir(place)
        pid_file = os.path.join(SCRATCH, f"{number.name}.pid")
        env = fake_dot(f"ends-{number.name}", f"echo $$ >{pid_file}.new\nmv {pid_file}.new {pid_file}\nexec sleep 100\n")
        one = subprocess.Popen([*args, os.path.join(place, "x.svg")], env=env, stderr=subprocess.DEVNULL)
        until = time.time() + 30
        while not os.path.exists(pid_file) and time.time() < until:
            time.sleep(0.05)
        one.send_signal(number)
        one.wait(timeout=30)
        with open(pid_file) as text:
            pid = int(text.read())
        until = time.time() + 10
        while lives(pid) and time.time() < until:
            time.sleep(0.05)
        check(f"no dot lives on after {number.name}", not lives(pid), pid)
        check(f"no file after {number.name}", os.listdir(place) == [], os.listdir(place))


def totals(model, mesh, *args):
    """Step, peak and bytes of a plan; None and the error if there is none."""
    done = run("plan", model, "-m", mesh, "--dim", "batch=4,seq=8", "--json", *args)
    if not done.stdout:
        return None, done
    plan = json.loads(done.stdout)["totals"]
    return [plan[key] for key in ("step_us", "peak_bytes", "comm_bytes")], done


def check_read_back():
    """A plan written for another system and read back as pins is the same plan, or is refused."""
    model = "samples/models/tiny-gpt.onnx"
    stored_and_used = os.path.join(SCRATCH, "stored-and-used.lua")
    with open(stored_and_used, "w") as policy:
        policy.write("""function PAS(graph)
            graph:shard("input_ids", {[0] = "dp"})
            graph:shard("*.mlp.c_fc.weight", {n = "tp"})
            graph:shard("*.mlp.c_fc.weight", {n = {axis = "dp", store = true}})
            return graph
        end""")
    for policy, mesh, stages in [("fsdp", "dp=4", False), ("megatron", "dp=2,tp=2", False),
                                 ("megatron_sp", "dp=2,tp=2", False),
                                 (stored_and_used, "dp=2,tp=2", False), ("hybrid3d", "dp=2,pp=2", True)]:
        want, _ = totals(model, mesh, "-p", policy)
        for system in "dtensor-exact", "spmd_types", "vescale", "jax", "shardy", "paddle":
            what = f"{os.path.basename(policy)} by {system}"
            place = os.path.join(SCRATCH, f"back.{system}")
            made = run("export", model, "-m", mesh, "-p", policy, "--dim", "batch=4,seq=8", "--to", system, "-o", place)
            got, done = totals(model, mesh, "--pins", place)
            coarser = policy.startswith("megatron") and system in ("spmd_types", "jax", "shardy")  # a fused weight
            coarser |= policy in ("fsdp", stored_and_used) and system == "vescale"  # gathered at use
            check(f"{what}: the export's note", bool(re.search(rb"less sharded than|no PartitionSpec can express|sharded by fewer axes", made.stderr)) == coarser, made.stderr)
            lacks = b"stages" if stages else b"pins of activations" if policy == "megatron_sp" else b"coarser than in the plan"
            if stages or coarser or policy == "megatron_sp":
                check(f"{what}: refused", got is None and done.returncode == 3 and lacks in done.stderr, done)
                got, done = totals(model, mesh, "-p", policy, "--pins", place)
            check(f"{what}: read back", got == want, f"{got} for {want}: {done.stderr}")
    want, _ = totals(model, "dp=8", "-p", "fsdp")  # a batch of 4: half of the ranks hold none of it
    for system in "dtensor-exact", "vescale", "jax", "shardy", "paddle":
        place = os.path.join(SCRATCH, f"back.{system}")
        run("export", model, "-m", "dp=8", "-p", "fsdp", "--dim", "batch=4,seq=8", "--to", system, "-o", place)
        got, done = totals(model, "dp=8", "--pins", place)
        refused = got is None and done.returncode == 3 and b"coarser than in the plan" in done.stderr
        check(f"ranks without a part, by {system}", got == want if system == "dtensor-exact" else refused, f"{got} for {want}: {done.stderr}")


def facts(model, mesh, policy, *args):
    """Boxes and lines of a drawing as gvpr reads them: {id: attributes}."""
    names = "op", "path", "layer", "sharding", "axes", "bytes", "us", "phase", "cause"
    made = run("export", model, "-m", mesh, "-p", policy, "--dot", *args).stdout
    each = "{print(id, " + ", ".join(f'"|", {name}' for name in names) + ")}"
    read = subprocess.run(["gvpr", "N" + each + " E" + each], input=made, capture_output=True)
    rows = [line.split("|") for line in read.stdout.decode().splitlines()]
    return {row[0]: dict(zip(names, row[1:])) for row in rows}


def check_facts():
    """Attributes of DOT are the plan's own numbers, and ids are the same under another policy."""
    model, mesh = "samples/models/tiny-gpt.onnx", "dp=2,tp=2"
    plan = json.loads(run("plan", model, "-m", mesh, "-p", "megatron", "--json").stdout)
    block = {policy: facts(model, mesh, policy, "--kind", "block") for policy in ("megatron", "dp")}
    ops = {policy: {name for name, fact in rows.items() if fact["phase"] and "--" not in name and not name.endswith("moved")}
           for policy, rows in block.items()}
    check("ids of ops do not depend on the policy", ops["dp"] and ops["dp"] == ops["megatron"], ops["dp"] ^ ops["megatron"])
    steps = {(row["tensor"], step["kind"], step["bytes"], step["us"], "+".join(step["axes"]))
             for row in plan["reshards"] for step in row["steps"] if step["kind"] != "slice"}
    moved = [fact for name, fact in block["megatron"].items() if fact["op"] == "all_reduce"]
    check("a layer's two all-reduces are in its block", len(moved) == 2, moved)
    for fact in moved:
        check("an all-reduce has the bytes, time and axes of the plan",
              any(fact["op"] == kind and int(fact["bytes"]) == size and abs(float(fact["us"]) - us) < 1e-4 * us
                  and fact["axes"] == axes for _, kind, size, us, axes in steps), fact)
        check("and its cause", re.fullmatch(r"megatron\.lua:\d+", fact["cause"]), fact)
    tensors = {row["name"]: row for row in plan["tensors"]}
    weights = [op for op in plan["ops"] if op["path"] == "transformer.h.0.mlp.c_fc"]
    fact = block["megatron"]["transformer.h.0.mlp.c_fc-Gemm"]
    check("an op has its axes", set(fact["axes"].split()) == {axis for op in weights for cut in op["cuts"].values() for axis in cut}, fact)
    made = tensors["/transformer/h.0/mlp/c_fc/Gemm_output_0"]
    rows, columns = made["local_shape"]
    check("and what it makes", fact["sharding"] == made["sharding"]["text"], fact)
    check("and what a rank holds of that", int(fact["bytes"]) == 4 * rows * columns, fact)
    whole = facts(model, mesh, "megatron", "--kind", "overview")
    layers = [row for row in whole.values() if row["layer"] not in ("", "0")]
    check("layers that are one box are a range", [row["layer"] for row in layers][:1] == ["0-1"], layers)
    busy = sum(float(row["us"]) for name, row in whole.items() if row["us"] and "--" not in name)
    check("the boxes' times are those of the step", abs(busy - plan["totals"]["compute_us"]) < 1e-3 * busy, (busy, plan["totals"]))


def check_review_order():
    """What is alive at the peak in a review: the most bytes of equal values come first."""
    text = run("export", "samples/models/llama-3-8b.json", "-m", "dp=2,tp=4", "-p", "megatron", "--train", "--md").stdout.decode()
    rows = [line.split("|")[1:-1] for line in text[text.index("**Alive at the peak**"):].split("\n\n")[1].splitlines()]
    total, unit = [cell.strip() for cell in rows[0]].index("total"), {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
    sizes = [float(n) * unit[of] for n, of in (row[total].split() for row in rows[2:] if " " in row[total].strip())]
    check("the largest total comes first", len(sizes) > 5 and sizes == sorted(sizes, reverse=True), sizes)


NODE = re.compile(r'  n(\d+)(?:\["[^"]*"\]|\[\["[^"]*"\]\]|\(\["[^"]*"\]\))')
LINK = re.compile(r'  n(\d+) (?:-->|==>|-\.->)(?:\|"[^"]*"\|)? n(\d+)')
INSIDE = re.compile(r"(?:[^\"<>&`\\#]|#\d+;|<br/>)*")


def check_mermaid():
    """The flowchart of a review: every line is one of Mermaid's, and links join boxes that are there."""
    for model, *args in (["samples/models/gpt2.onnx", "-m", "pp=2,dp=2,tp=2", "-p", "hybrid3d"], [hostile_model(), "-m", "dp=2"]):
        text = run("export", model, *args, "--md").stdout.decode()
        lines = re.search(r"^```mermaid\n(.*?)^```$", text, re.M | re.S)[1].splitlines()
        check("it is a flowchart", lines[0] == "flowchart TD", lines[0])
        nodes, links, depth = set(), set(), 0
        for line in lines[1:]:
            node, link = NODE.fullmatch(line), LINK.fullmatch(line)
            opens = re.fullmatch(r'  subgraph f\d+\["[^"]+"\]', line)
            depth += bool(opens) - (line == "  end")
            check("a line of Mermaid", node or link or opens or line == "  end", line)
            check("its texts are escaped", all(INSIDE.fullmatch(said) for said in re.findall('"([^"]*)"', line)), line)
            nodes |= {node[1]} if node else set()
            links |= set(link.groups()) if link else set()
        check("links join boxes", nodes and links <= nodes and depth == 0, (nodes, links))


def check_styles_read_back():
    """A plan in torch's styles is the same plan again, or what is lost is said."""
    configs = "tests/differential/configs/"
    def shardings(*args):
        plan = json.loads(run("plan", *args, "--json").stdout)
        return {row["name"]: row["sharding"]["text"] for row in plan["tensors"]}, [row["text"] for row in plan["findings"]]
    for model, mesh, policy, lost in [("samples/models/tiny-gpt.onnx", "dp=2,tp=2", "megatron", ""), (configs + "mixtral.json", "tp=2", "megatron", ""),
                                      (configs + "mixtral.json", "dp=2,ep=2", "expert", ""), (configs + "qwen2_moe.json", "tp=2", "megatron", ""),
                                      (configs + "vit.json", "dp=2,tp=2", "megatron", ""),
                                      ("samples/models/vit_b_16.onnx", "dp=2,tp=4", "megatron", ""), ("samples/models/llama-3-tiny.json", "dp=2", "dp", ""),
                                      ("samples/models/llama-tiny.onnx", "dp=2,tp=2", "megatron_sp", "SequenceParallel are not pinned"),
                                      ("samples/models/llama-3-tiny.json", "dp=2", "fsdp", "fully_shard stores in parts is not pinned")]:
        place, args = os.path.join(SCRATCH, "styles.py"), [model, "-m", mesh] + (["--dim", "batch=4" if "vit" in model else "batch=4,seq=16"] if model.startswith(configs) else [])
        made = run("export", *args, "-p", policy, "--to", "dtensor", "-o", place)
        (want, _), (got, said) = shardings(*args, "-p", policy), shardings(*args, "--pins", place)
        what = f"{os.path.basename(model)} {policy} in torch's styles, read back"
        check(f"{what}: is in styles", b"exact placements" not in made.stderr, made.stderr)
        differ = [name for name in want if want[name] != got[name]]
        check(f"{what}: {'says what is lost' if lost else 'is the same'}",
              bool(differ) == bool(lost) and any(lost in text for text in said) if lost else not differ, (differ[:3], said))


def check_settings_side_by_side():
    """Bars of several settings are those that plans of each setting have."""
    def peaks(*args):
        made = run("export", "samples/models/tiny-gpt.onnx", "--train", "-m", "pp=2,dp=2", "-p", "hybrid3d", "--svg", "--paper", *args)
        return re.findall(r">([\d.]+[ \xa0][KMG]iB)<", made.stdout.decode())
    alone = [peaks("--set", f"zero={level}", "--kind", "memory") for level in range(4)]
    together = peaks("--kind", "memory", "zero=0,1,2,3")
    stages = [[row[stage] for row in alone] for stage in range(2)]
    check("memory of ZeRO's levels side by side", all(len(row) == 2 for row in alone)
          and together == stages[0] + stages[1] and len(set(together)) > 4, (together, alone))


def check_onnx_opens():
    """An annotated model opens by itself: its sizes lie beside it, its weights are named."""
    folder = os.path.join(SCRATCH, "annotated")
    os.mkdir(folder)
    path = os.path.join(folder, "placed.onnx")
    args = ["samples/models/gpt2.onnx", "-m", "dp=2,tp=4", "-p", "megatron"]
    made = run("export", *args, "--onnx", "-o", path)
    check("sizes are beside it", open(os.path.join(folder, "placed.dims")).read() == "batch=8,seq=1024\n", made.stderr)
    check("where its weights are is said", b"the weights stay in gpt2.weights" in made.stderr, made.stderr)
    got, want = (json.loads(run("plan", *which, "--json").stdout) for which in ([path], args))
    shapes = [{row["name"]: row["shape"] for row in plan["tensors"]} for plan in (got, want)]
    check("it opens by itself, with the same sizes", shapes[0] == shapes[1] and got["mesh"] == want["mesh"], got["mesh"])
    plain = run("export", "samples/models/resnet50.onnx", "-m", "dp=2", "-p", "dp", "--onnx", "-o", os.path.join(folder, "r.onnx"))
    check("no file of sizes that are not needed", plain.returncode == 0 and
          os.path.exists(os.path.join(folder, "r.dims")) == (b"sizes of free dims" in plain.stderr), plain.stderr)


check_styles_read_back()
check_settings_side_by_side()
check_onnx_opens()
check_facts()
check_mermaid()
check_review_order()
drawings.measure(check)
settings.measure(run, check)
settings.measure_back(run, check)
[part.measure(run, check, SCRATCH) for part in (steps, views)]
check_dot()
check_ends()
check_read_back()
check_second_plan()
check_numbers()
check_hostile()
check_bytes()
check_all("empty", empty_model(), "dp=2", may_refuse=True)
check_all("gpt2", "samples/models/tiny-gpt.onnx", "dp=2,tp=2", of_op="/transformer/h.0/attn/c_attn/Gemm",
          of_tensor="transformer.h.0.attn.c_attn.weight")
check_systems()
check_unknown()
check_surroundings()
check_memory()
check_places()
subprocess.run(["rm", "-rf", SCRATCH])
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
