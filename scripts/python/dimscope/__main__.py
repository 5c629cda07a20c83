"""python -m dimscope ARGUMENTS...: the program dimscope."""

import os
import sys

from . import program


def main():
    try:
        path = program.find()
    except program.Error as error:
        sys.exit(f"dimscope: {error}")
    os.execv(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    main()
