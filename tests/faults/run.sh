#!/bin/sh
# run.sh - what the system refuses is an error that is said, never a wrong result or half a file:
# each call that can fail (faults.py), less and less memory, a kill while a file is written. Ends with
# "N passed, N failed". FAULTS=stacks and FAULTS=all let more calls fail (faults.py says which).
cd "$(dirname "$0")/../.." || exit 1
DIMSCOPE=${DIMSCOPE:-./dimscope}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
passed=0
failed=0

# expect TITLE CONDITION ..: counts one test.
expect()
{
    title=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$title: status $status: $(tail -n 2 "$folder/said" 2>/dev/null)"
    fi
}

fails_with_memory()
{
    [ "$status" -ge 1 ] && [ "$status" -le 5 ] && grep -qi memory "$folder/said"
}

works()
{
    [ "$status" -eq 0 ]
}

# An address sanitizer reserves more addresses than any limit, and wants to be the first library.
if nm "$DIMSCOPE" 2>/dev/null | grep -q __asan_init; then
    echo "skipped: faults: the program has a sanitizer of its own"
    echo "0 passed, 0 failed"
    exit 0
fi

# Less and less memory: as soon as it does not suffice, that is said.
enough=0
for mib in 400 200 120 100 80 70 60 50 45 40; do
    (
        ulimit -v $((mib * 1024))
        "$DIMSCOPE" plan samples/models/gpt2.onnx -m dp=2,tp=4 -p megatron --json
    ) >"$folder/out" 2>"$folder/said"
    status=$?
    [ $status -eq 127 ] && break # the loader itself has too little
    [ $status -ne 0 ] || enough=$((enough + 1))
    expect "$mib MiB of addresses" eval 'works || fails_with_memory'
done
status=$enough
expect "some limits suffice" [ "$enough" -gt 0 ]

# Killed at any moment of a write: the old file or the new one, and nothing beside it.
mkdir "$folder/killed"
"$DIMSCOPE" plan samples/models/gpt2.onnx -m dp=2,tp=4 -p megatron -o "$folder/killed/plan.json" >/dev/null
mv "$folder/killed/plan.json" "$folder/new.json" # it names its model by the way from where it is
torn=0
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    echo old >"$folder/killed/plan.json"
    "$DIMSCOPE" plan samples/models/gpt2.onnx -m dp=2,tp=4 -p megatron -o "$folder/killed/plan.json" \
        >/dev/null 2>&1 &
    sleep "0.0$i"
    kill -9 $! 2>/dev/null
    wait $! 2>/dev/null
    [ "$(cat "$folder/killed/plan.json")" = old ] || cmp -s "$folder/killed/plan.json" "$folder/new.json" ||
        torn=$((torn + 1))
    [ "$(ls "$folder/killed")" = plan.json ] || torn=$((torn + 1))
done 2>/dev/null
status=$torn
expect "killed while it writes" [ "$torn" -eq 0 ]

${CC:-cc} -std=c11 -D_GNU_SOURCE -O1 -fPIC -shared tests/faults/fault.c -o "$folder/fault.so" -ldl
status=$?
expect "fault.c" works
DIMSCOPE=$DIMSCOPE python3 tests/faults/faults.py "$folder/fault.so" >"$folder/faults"
grep -v ' passed, ' "$folder/faults"
set -- $(tail -n 1 "$folder/faults")
passed=$((passed + ${1:-0}))
failed=$((failed + ${3:-1}))

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
