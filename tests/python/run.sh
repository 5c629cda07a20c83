#!/bin/sh
# run.sh - the package of Python, without torch and JAX: how it finds the program, what a plan holds.
# tests/differential/part_python.sh has the rest. Ends with "N passed, N failed".
cd "$(dirname "$0")/../.." || exit 1
exec python3 -B tests/python/package.py
