#!/bin/sh
# run.sh [PART...] - checks exports with the real systems: each part is a script in this folder that
# exports plans, loads them into the system, and prints "ok WHAT" or "not ok WHAT: why" lines.
#
# DIMSCOPE   the program (./dimscope)
# VENVS      where virtual environments are made and kept (build/differential)
# A part whose system cannot be installed prints "skipped PART: why" and does not fail.
cd "$(dirname "$0")/../.." || exit 1
: "${DIMSCOPE:=./dimscope}" "${VENVS:=build/differential}"
export DIMSCOPE VENVS
passed=0 failed=0 skipped=0
parts=${*:-$(for f in tests/differential/part_*.sh; do basename "$f" .sh | sed 's/^part_//'; done)}
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT
for part in $parts; do
    sh "tests/differential/part_$part.sh" >"$out" 2>&1
    status=$?
    cat "$out"
    passed=$((passed + $(grep -c '^ok ' "$out")))
    failed=$((failed + $(grep -c '^not ok ' "$out")))
    if [ $status -eq 77 ]; then
        skipped=$((skipped + 1))
    elif [ $status -ne 0 ] && ! grep -q '^not ok ' "$out"; then
        echo "not ok $part: ended with status $status"
        failed=$((failed + 1))
    elif ! grep -q '^ok \|^not ok ' "$out"; then
        echo "not ok $part: it checked nothing"
        failed=$((failed + 1))
    fi
done
[ $skipped -eq 0 ] || echo "$skipped skipped"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
