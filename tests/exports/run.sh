#!/bin/sh
# run.sh - exports hostile, empty and plain models in every format and parses the files; exports twice
# and compares; a failed export leaves no file. Ends with "N passed, N failed".
cd "$(dirname "$0")/../.." || exit 1
exec python3 tests/exports/exports.py
