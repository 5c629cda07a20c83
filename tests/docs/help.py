"""help.py - runs what the help shows: the command of every word of the glossary, and the examples of
every topic.

A word's page must name a command that exits with 0 and prints what the page says; each of its names
must lead to the page. In a topic an example is a line "$ COMMAND" and what it prints, up to an empty
line and without the empty lines of its own; "..." stands for any lines. "$ cat FILE" shows a file, which is written for the commands below.
"""
import os
import re
import sys
import tempfile

from pages import furnish, run, same_lines


class Help:
    def __init__(self, folder):
        self.folder, self.passed, self.failed = folder, 0, 0

    def check(self, ok, *said):
        self.passed += bool(ok)
        self.failed += not ok
        if not ok:
            print("\n    ".join(said))

    def page(self, name):
        lines, code = run("dimscope help -- '%s'" % name, self.folder)
        self.check(code == 0, "help %s exits with %d" % (name, code))
        return lines

    def word(self, title):
        lines = self.page(title)
        text = "\n".join(lines) + "\n"
        also = re.search(r"^  also      (.*?)^  here ", text, re.M | re.S)
        for name in " ".join(also[1].split()).split(", ") if also else []:
            self.check(run("dimscope help -- '%s'" % name, self.folder)[0] == lines,
                       "help %s is another page than help %s" % (name, title))
        command = re.search(r"^  command   (.*)$", text, re.M)[1]
        prints = re.search(r"^  prints    (.*?)^  explorer ", text, re.M | re.S)[1].split()
        got, code = run(command, self.folder)
        self.check(code == 0 and " ".join(prints) in " ".join(" ".join(got).split()),
                   "help %s: %s" % (title, command), "exits with %d, prints" % code, *got[:20],
                   "and should print", " ".join(prints))

    def topic(self, name):
        lines = [line[2:] for line in self.page(name)]
        i = 0
        while i < len(lines):
            command = lines[i][2:] if lines[i].startswith("$ ") else None
            i += 1
            if not command:
                continue
            start = i
            while i < len(lines) and lines[i]:
                i += 1
            self.example(name, command, lines[start:i])

    def example(self, topic, command, want):
        if command.startswith("cat "):
            with open(os.path.join(self.folder, command[4:]), "w") as file:
                file.write("\n".join(want) + "\n")
            return
        got = [line.rstrip() for line in run(command, self.folder)[0] if line]
        self.check(same_lines(want, got),
                   "help %s: %s prints" % (topic, command), *got[:40], "and should print", *want)


def words(folder):
    """The title of each word."""
    for line in run("dimscope help --man glossary", folder)[0]:
        if line.startswith(".SS "):
            yield line[4:].replace("\\-", "-").replace("\\&", "").rsplit("  (", 1)[0]


def topics(folder):
    for line in run("dimscope help", folder)[0]:
        found = re.match(r"  dimscope help ([a-z_.]+)\b", line)
        if found:
            yield found[1]


def main():
    with tempfile.TemporaryDirectory() as folder:
        furnish(folder, os.environ.get("DIMSCOPE", "./dimscope"))
        pages = Help(folder)
        for title in words(folder):
            pages.word(title)
        for name in topics(folder):
            pages.topic(name)
    print("%d passed, %d failed" % (pages.passed, pages.failed))
    return pages.failed > 0


if __name__ == "__main__":
    sys.exit(main())
