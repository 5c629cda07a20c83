"""pages.py [--rewrite] PAGE.. - runs the examples of README.md and of the pages under samples/, and
checks that they do what the page says.

A page is worked through in order, in a clean folder that has dimscope, samples and scripts.

    ```lua FILE           writes FILE
    ```sh                 one command a line, a comment behind it; `\\` continues it on the next line.
                          Each must exit with 0, or with N where the comment says "exit N"
    ```console            lines "$ COMMAND", each with its output, errors too, below it. A line "..."
                          stands for any lines, " ..." at the end of a line for the rest of it
    ```screen COMMAND     the first screen of the explorer that COMMAND opens, 80x24
    `dimscope VERB ..`    in the text: a command, like those of ```sh; VERB alone: its help

A command outside of these blocks is a failure, and so is a line over 125 columns. NOT_RUN lists what
no test can run, FIGURES the figures of the text that a command prints. --rewrite replaces shown
output without "..." by today's: read the diff like code.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WIDEST = 125

# (words that the command contains, why it is not run; None: always, else when the program is absent)
NOT_RUN = [
    ("make ", "installs packages or runs these tests", None),
    ("--backend cuda", "needs GPUs and dimscope_cuda.so: make test-gpu", None),
    ("--weights checkpoint/", "needs a checkpoint: tests/unit/test_safetensors.c", None),
    ("trace.json", "needs a trace of a job: tests/python", None),
    ("mpirun", "Open MPI is not installed", "mpirun"),
    ("cc -shared", "there is no C compiler here", "cc"),
]

# Page, a part of its text, and what prints its figures: the groups of the two patterns must agree.
# A space of the first stands for any white space.
MEGATRON = "./dimscope plan samples/models/%s -p megatron"
SAMPLES = "samples/README.md"
FIGURES = [
    ("README.md", r"up to (\d+) ranks", "./dimscope run samples/models/tiny-gpt.onnx -m x=257",
     r"at most (\d+) ranks"),
    ("README.md", r"default `(\w+)`", "./dimscope help machine", r"default (\w+)"),
    ("README.md", r"`scripts/models/`: ([^.]*)\.",
     "cd scripts/models; ls *.lua [!l]*/*.lua | sed 's:.*/::; s/\\.lua//' | LC_ALL=C sort | paste -sd, | sed 's/,/, /g'",
     r"(.*)"),
    (SAMPLES, r"([\d,]+) nodes, of which (\d+) compute",
     "./dimscope info samples/models/gpt2.onnx | grep -E '^(ops |nodes)' | sort",
     r"nodes +(\S+)\nops +(\S+)"),
    (SAMPLES, r"`mlp.c_proj`, ([\d,]+) bytes", MEGATRON % "gpt2.onnx -m dp=2,tp=4",
     r"all_reduce +tp +25 +(\S+)"),
    (SAMPLES, r"same (\d+) all-reduces", MEGATRON % "gpt2-dynamo.onnx -m dp=2,tp=4",
     r"all_reduce +tp +(\d+)"),
    (SAMPLES, r"([\d,]+) parameters and ([\d,]+) ops",
     "./dimscope info samples/models/llama-3-70b.json | grep -E '^(ops |params)' | sort -r",
     r"params +(\S+)\nops +(\S+)"),
    (SAMPLES, r"after the embedding, (\d+) of (\d+) MiB, (\S+%)",
     MEGATRON % "llama-3-70b.json -m dp=2,tp=8",
     r"(?s)all_reduce +tp +(\d+) +\S+ +(\d+).*\((\S+%)\)"),
    (SAMPLES, r"grows to (\S+%)", MEGATRON % "llama-3-70b.json -m tp=16", r"\((\S+%)\)"),
    (SAMPLES, r"memory: (\S+) GiB", MEGATRON % "llama-3-70b.json -m dp=2,tp=8", r"peak +(\S+)"),
    (SAMPLES, r"`:mesh dp=4,tp=4` needs (\S+),", MEGATRON % "llama-3-70b.json -m dp=4,tp=4",
     r"peak +(\S+)"),
    (SAMPLES, r"on each device: (\S+) GiB",
     "./dimscope samples/models/llama-3-70b.json -m dp=8 -p dp",
     r"peak +(\S+)"),
    (SAMPLES, r"per layer, (\d+) of (\S+ MiB), (\S+ ms) of a step of (\S+ ms)",
     "./dimscope samples/models/mixtral-8x7b.json -m dp=2,ep=4 -p expert",
     r"(?s)all_to_all +ep +(\d+) +\S+ +(\S+ MiB) +(\S+ ms).*\nstep +(\S+ ms)"),
    (SAMPLES, r"`6`: (\S+) GiB", "./dimscope samples/models/mixtral-8x7b.json -m dp=2,ep=4 -p expert",
     r"peak +(\S+)"),
    (SAMPLES, r"on dp=8 needs (\S+)\.\s", "./dimscope samples/models/mixtral-8x7b.json -m dp=8 -p dp",
     r"peak +(\S+)"),
    (SAMPLES, r"(46,\S+) parameters", "./dimscope info samples/models/mixtral-8x7b.json",
     r"params +(\S+)"),
    (SAMPLES, r"(671,\S+) parameters", "./dimscope info samples/models/deepseek-v3.json",
     r"params +(\S+)"),
    (SAMPLES, r"take (\S+%) of the step",
     "./dimscope samples/models/deepseek-v3.json -m ep=64 -p expert",
     r"\((\S+%)\)"),
    (SAMPLES, r"(\d+) all-reduces, of (\S+) bytes", MEGATRON % "vit_b_16.onnx -m dp=2,tp=4",
     r"all_reduce +tp +(\d+) +(\S+)"),
    (SAMPLES, r"(\S+) parameters, made by", "./dimscope info samples/models/tiny-conv.onnx",
     r"params +(\S+)"),
    (SAMPLES, r"decisions only: (\d+) pins",
     "grep -c '\"kind\": *\"pin\"\\|\"kind\":\"pin\"' samples/plans/gpt2-megatron.json", r"(\d+)"),
    (SAMPLES, r"llama-3-8b.json: (\d+) all-gathers",
     "./dimscope samples/models/llama-3-8b.json -m dp=2,cp=4 -p context", r"all_gather +cp +(\d+)"),
]

PLACES = {"HOME": "home", "XDG_CONFIG_HOME": "home/config", "XDG_CACHE_HOME": "home/cache",
          "XDG_STATE_HOME": "home/state", "XDG_DATA_HOME": "home/data"}
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
       "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def same_line(want, got):
    return got.startswith(want[:-4]) if want.endswith(" ...") else got == want


def same_lines(want, got):
    """Do the lines fit, where "..." stands for any of them?"""
    if not want:
        return not got
    if want[0] == "...":
        return any(same_lines(want[1:], got[i:]) for i in range(len(got) + 1))
    return bool(got) and same_line(want[0], got[0]) and same_lines(want[1:], got[1:])


def run(command, folder):
    """The lines of the output, and the exit code."""
    places = {name: os.path.join(folder, place) for name, place in PLACES.items()}
    if command.startswith("mpirun"): # Open MPI keeps some memory
        places["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    try:
        done = subprocess.run(["bash", "-c", command], cwd=folder, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=60,
                              env={**os.environ, **places, **MPI, "LC_ALL": "C.UTF-8",
                                   "PATH": folder + ":" + os.environ["PATH"]})
    except subprocess.TimeoutExpired:
        return ["it takes over 60 s"], -1
    return done.stdout.decode().rstrip("\n").split("\n") if done.stdout else [], done.returncode


def furnish(folder, program):
    """Puts the program, samples and scripts into the folder that commands run in."""
    os.symlink(os.path.abspath(program), os.path.join(folder, "dimscope"))
    shutil.copytree(os.path.join(TOP, "samples"), os.path.join(folder, "samples"))
    for name in "scripts", "core":
        os.symlink(os.path.join(TOP, name), os.path.join(folder, name))


def why_not_run(command):
    """Why no test can run it, or None."""
    for words, why, program in NOT_RUN:
        if words in command and not (program and shutil.which(program)):
            return why
    return None


def words_of(match):
    return " ".join(match.groups()).split()


def shown_commands(lines):
    """The commands of a console block, each with its output."""
    found = []
    for line in lines:
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def commands_of(block):
    """The commands of an sh block, each with the exit code that it must have."""
    for line in re.sub(r"\\\n\s*", "", "\n".join(block)).split("\n"):
        stated = re.search(r"#.*\bexit (\d+)", line)
        if line.strip() and not line.startswith("#"):
            yield line.strip(), int(stated[1]) if stated else 0


class Page:
    def __init__(self, path, rewrite):
        self.path, self.rewrite = path, rewrite
        self.passed = self.failed = 0
        self.folder = None

    def check(self, ok, at, *said):
        if ok:
            self.passed += 1
        else:
            self.failed += 1
            print(f"{self.path}:{at}:", *said)

    def compare(self, at, what, want, got):
        """The lines that the page should show."""
        ok = same_lines(want, got)
        if not ok and self.rewrite and not any(line.endswith("...") for line in want):
            return got
        self.check(ok, at, "\n    ".join([what, "want:", *want, "got:", *got[:60]]))
        return want

    def console(self, at, lines):
        out = []
        for command, want in shown_commands(lines):
            got = run(command, self.folder)[0]
            out += ["$ " + command] + self.compare(at, command, want, got)
        return out

    def screen(self, at, lines, command):
        got = run(command + " --size 80x24 --script '' --screen -", self.folder)[0]
        return self.compare(at, "the screen of " + command, lines, [line.rstrip() for line in got])

    def command(self, at, command, code=0):
        why = why_not_run(command)
        if why:
            print(f"skipped: {self.path}: {command.split(' #')[0].strip()}: {why}")
            return
        got, exit_code = run(command, self.folder)
        self.check(exit_code == code, at, f"{command}\n    exits with {exit_code}, not {code}:",
                   *got[:10])

    def block(self, at, lines, language, rest):
        for i, line in enumerate(lines if language in ("sh", "lua") else []):
            self.check(len(line) <= WIDEST, at + i + 1, f"{len(line)} columns")
        if language == "console":
            return self.console(at, lines)
        if language == "screen":
            return self.screen(at, lines, rest)
        if language == "sh":
            for command, code in commands_of(lines):
                self.command(at, command, code)
        elif rest:
            with open(os.path.join(self.folder, rest), "w") as file:
                file.write("\n".join(lines) + "\n")
        return lines

    def prose(self, at, line):
        self.check(not re.match(r"\s+(\$ |\./dimscope |mpirun |make |cc )", line), at,
                   "a command outside of a block:", line)
        for span in re.findall(r"`((?:\./)?dimscope [a-z][^`]*)`", line):
            words = span.split()
            self.command(at, span if len(words) > 2 else "dimscope help " + words[1])

    def figures(self, text):
        for page, pattern, command, printed in FIGURES:
            if page != self.path:
                continue
            said = re.search(pattern.replace(" ", r"\s+"), text)
            got = re.search(printed, "\n".join(run(command, self.folder)[0]))
            self.check(said and got and words_of(said) == words_of(got), 0,
                       f"'{said and said[0]}', but {command} prints '{got and got.groups()}'")

    def work_through(self, text):
        out, lines, i = [], text.split("\n"), 0
        while i < len(lines):
            opens = re.fullmatch(r"```(\w+)(?: (.+))?", lines[i])
            if not opens:
                self.check(len(lines[i]) <= WIDEST, i + 1, f"{len(lines[i])} columns")
                self.prose(i + 1, lines[i])
            out.append(lines[i])
            i += 1
            if not opens:
                continue
            start = i
            while lines[i] != "```":
                i += 1
            out += self.block(start, lines[start:i], opens[1], opens[2]) + ["```"]
            i += 1
        self.figures(text)
        return "\n".join(out)

    def test(self, program):
        with open(self.path) as file:
            text = file.read()
        with tempfile.TemporaryDirectory() as folder:
            self.folder = folder
            furnish(folder, program)
            after = self.work_through(text)
        if self.rewrite and after != text:
            with open(self.path, "w") as file:
                file.write(after)


def main():
    rewrite = "--rewrite" in sys.argv
    passed = failed = 0
    for path in [arg for arg in sys.argv[1:] if arg != "--rewrite"]:
        page = Page(path, rewrite)
        page.test(os.environ.get("DIMSCOPE", "./dimscope"))
        passed, failed = passed + page.passed, failed + page.failed
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
