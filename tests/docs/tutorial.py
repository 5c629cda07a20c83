"""tutorial.py [--rewrite] PAGE.. - what the pages of the tutorial show is what happens.

A block ```lua FILE is that file from there on. A block ```console is lines "$ COMMAND", each with
what it prints below it, errors too; a line "..." stands for any lines, " ..." at the end of one for
the rest of it. A page is done in order, in a folder of its own that has dimscope, samples and
scripts. --rewrite puts what is printed today into blocks without "...": read its diff as code.
"""
import os
import re
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


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
    done = subprocess.run(["bash", "-c", command], cwd=folder, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=120,
                          env={**os.environ, "LC_ALL": "C.UTF-8"})
    return done.stdout.decode().rstrip("\n").split("\n") if done.stdout else []


def commands(lines):
    """Of a console block: each command with the lines below it."""
    found = []
    for line in lines:
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


class Page:
    def __init__(self, path, rewrite):
        self.path, self.rewrite = path, rewrite
        self.passed = self.failed = 0

    def console(self, at, lines, folder):
        out = []
        for command, want in commands(lines):
            got = run(command, folder)
            shown = want
            if same_lines(want, got):
                self.passed += 1
            elif self.rewrite and not any(line.endswith("...") for line in want):
                shown = got
            else:
                self.failed += 1
                print(f"{self.path}:{at}: $ {command}\n  want:", *want, sep="\n    ")
                print("  got:", *got[:60], sep="\n    ")
            out += ["$ " + command] + shown
        return out

    def blocks(self, text, folder):
        out, lines, i = [], text.split("\n"), 0
        while i < len(lines):
            opens = re.fullmatch(r"```(\w+)(?: (\S+))?", lines[i])
            out.append(lines[i])
            i += 1
            if not opens:
                continue
            start = i
            while lines[i] != "```":
                i += 1
            block = lines[start:i]
            if opens[1] == "console":
                block = self.console(start, block, folder)
            elif opens[2]:
                with open(os.path.join(folder, opens[2]), "w") as file:
                    file.write("\n".join(block) + "\n")
            out += block + ["```"]
            i += 1
        return "\n".join(out)

    def check(self, program):
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(os.path.abspath(program), os.path.join(folder, "dimscope"))
            for name in "samples", "scripts":
                os.symlink(os.path.join(TOP, name), os.path.join(folder, name))
            with open(self.path) as file:
                text = file.read()
            after = self.blocks(text, folder)
        if self.rewrite and after != text:
            with open(self.path, "w") as file:
                file.write(after)


def main():
    rewrite = "--rewrite" in sys.argv
    passed = failed = 0
    for path in [arg for arg in sys.argv[1:] if arg != "--rewrite"]:
        page = Page(path, rewrite)
        page.check(os.environ.get("DIMSCOPE", "./dimscope"))
        passed, failed = passed + page.passed, failed + page.failed
    print(f"{passed} passed, {failed} failed")
    return failed > 0


sys.exit(main())
