#!/bin/sh
# run.sh [AREA] - sends the required cases of README.md to $DIMSCOPE; prints those that fail.
cd "$(dirname "$0")/../.." || exit 1
DIMSCOPE=${DIMSCOPE:-./dimscope}
set -- tests/conformance/*"$1"*.jsonl
files=
for file; do
    case $file in
    *.optional.jsonl) ;;
    *) [ -e "$file" ] && files="$files $file" ;;
    esac
done
[ -n "$files" ] || { echo "0 passed, 0 failed"; exit 0; }
python3 tests/conformance/conform.py --verbose --dimscope "$DIMSCOPE" $files |
    grep -E '^  FAIL|^[a-z_.]*jsonl|more$|passed'
