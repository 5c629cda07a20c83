"""cases.py - runs the features of the five documents: see README.md.

A case of a file NAME.txt is a line "LINE TITLE", a line "$ COMMAND", and what must come of it:

    > TEXT      the output contains the text; blanks count as one
    not TEXT    the output does not contain it
    ? TEXT      it should contain it and does not yet; once it does, the mark must become >
"""
import os
import re
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "docs"))

from pages import furnish, run  # noqa: E402


def plain(text):
    return " ".join(text.split())


def outcome(mark, text, got):
    """What is wrong with it, or None."""
    found = plain(text) in got
    if mark == ">" and not found:
        return "does not print: " + text
    if mark == "not" and found:
        return "prints: " + text
    if mark == "?" and found:
        return "prints now, so that its mark must be >: " + text
    return None


class Cases:
    def __init__(self, folder, only):
        self.folder, self.only = folder, only
        self.passed = self.failed = self.open = 0

    def case(self, name, block):
        title, command, wants = block[0], block[1], block[2:]
        if self.only not in name + " " + title:
            return
        if not re.match(r"\d+ \S", title) or not command.startswith("$ ") or not wants:
            sys.exit("%s: not a case: %s" % (name, title))
        got, code = run(command[2:], self.folder)
        shown = plain(" ".join(got))
        for want in wants:
            mark, text = want.split(" ", 1)
            wrong = outcome(mark, text, shown)
            if code != 0 and mark == ">" and not wrong:
                wrong = "exits with %d" % code
            self.open += mark == "?"
            self.passed += not wrong
            self.failed += bool(wrong)
            if wrong:
                print("%s:%s\n  %s\n  %s" % (name, title, command, wrong), *got[:30], sep="\n    ")

    def file(self, path):
        name = os.path.basename(path)[:-4]
        with open(path, encoding="utf-8") as file:
            for block in file.read().strip().split("\n\n"):
                self.case(name, block.split("\n"))


def main():
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    with tempfile.TemporaryDirectory() as folder:
        furnish(folder, os.environ.get("DIMSCOPE", "./dimscope"))
        for name in os.listdir(HERE):
            if not name.endswith((".py", ".sh", ".md")):
                shutil.copy(os.path.join(HERE, name), folder)
        cases = Cases(folder, only)
        for name in sorted(os.listdir(HERE)):
            if name.endswith(".txt"):
                cases.file(os.path.join(HERE, name))
    print("%d of these wait for their feature" % cases.open)
    print("%d passed, %d failed" % (cases.passed, cases.failed))
    return cases.failed > 0


sys.exit(main())
