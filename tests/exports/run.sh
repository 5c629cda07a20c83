#!/bin/sh
# run.sh - exports as programs read them: every format of hostile, empty and plain models is parsed
# back, twice the same, written whole or not at all. Closes with "N passed, N failed".
cd "$(dirname "$0")/../.." || exit 1
exec python3 tests/exports/exports.py
