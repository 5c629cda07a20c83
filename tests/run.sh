#!/bin/sh
# run.sh BUILD_DIR [NAME] - runs every test, or those whose name contains NAME.
#
# Prints what failed and closes with "N passed, N failed"; exit 1 when something failed.
#   unit      each binary of tests/unit/test_*.c, one count per cmocka test; one that did not build
#             is one failure
#   the rest  tests/PART/run.sh, which prints what failed, and "skipped: why" for what cannot run
#             here, and closes with "N passed, N failed"
# The program under test is $DIMSCOPE (empty: not built). BUILT=no says that something did not
# build, so that what was built before does not pass in its place.
cd "$(dirname "$0")/.." || exit 1
build=$1
only=$2
passed=0
failed=0
log=$build/test.log
export DIMSCOPE
export ASAN_OPTIONS="${ASAN_OPTIONS:-handle_segv=2}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"

# count OK BAD STATUS TITLE: a failing exit without a failed test is a failure too.
count()
{
    bad=$2
    [ "$3" -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
    passed=$((passed + $1))
    failed=$((failed + bad))
    [ "$bad" -eq 0 ] || echo "--- $4: $bad failed, exit $3"
}

# A crash hides the tests behind it: those planned ("1..N") that did not pass have failed.
run_unit()
{
    CMOCKA_MESSAGE_OUTPUT=TAP timeout 600 "$1" >"$log" 2>&1
    status=$?
    ok=$(grep -c '^ok ' "$log")
    skipped=$(grep -c '^not ok [0-9]* # SKIP' "$log") # cmocka's word for a test that does not apply
    planned=$(awk -F'[.]+' '/^1\.\.[0-9]+$/ { n += $2 } END { print n + 0 }' "$log")
    count "$ok" $((planned - ok - skipped)) $status "$2"
    [ "$bad" -eq 0 ] || grep -av '^ok ' "$log" | head -n 100
}

[ "$BUILT" != no ] || count 0 1 1 build

# WITHOUT: systems that are not built in. Tests that include them are left out, and so are the parts
# that run the whole program.
left_out=$([ -z "$WITHOUT" ] || tests/needs_peers.sh $WITHOUT | tr '\n' ' ')
for source in tests/unit/test_*"$only"*.c; do
    [ -e "$source" ] || continue
    name=$(basename "$source" .c)
    case " $left_out " in *" $source "*) continue ;; esac
    if [ "$build/tests/$name" -nt "$source" ]; then
        run_unit "$build/tests/$name" "$name"
    else
        count 0 1 1 "$name (not built)"
    fi
done

[ -z "$WITHOUT" ] || parts=none
for part in ${parts:-golden docs seeds shell faults open exports python families training broken mpi conformance onnx stablehlo cuda}; do
    case $part in
    golden | conformance | *"$only"*) ;; # the first two know what NAME is; all contain no NAME
    *) continue ;;
    esac
    [ -x "tests/$part/run.sh" ] && [ -n "$DIMSCOPE" ] || continue
    timeout 600 "tests/$part/run.sh" $only >"$log" 2>&1
    status=$?
    summary=$(grep -aE '^[0-9]+ passed, [0-9]+ failed$' "$log" | tail -n 1)
    grep -a '^skipped: ' "$log"
    set -- ${summary:-0 passed, 1 failed}
    count "$1" "$3" $status "$part"
    [ "$bad" -eq 0 ] || head -n 200 "$log"
done

echo "$passed passed, $failed failed" | tee "$build/summary"
[ "$failed" -eq 0 ]
