#!/bin/sh
# run.sh BUILD_DIR [NAME] - runs every test, or those whose name contains NAME, as many at once as there
# are processors (JOBS=n: n), and those that need the machine for themselves one after another.
#
# Prints what failed, which tests took the most time of a processor (BUILD_DIR/times has all), and
# closes with "N passed, N failed"; exit 1 when something failed.
#   unit      each binary of tests/unit/test_*.c, one count per cmocka test; one that did not build
#             is one failure
#   the rest  tests/PART/run.sh, which prints what failed, and "skipped: why" for what cannot run
#             here, and closes with "N passed, N failed"
# The program under test is $DIMSCOPE (empty: not built). BUILT=no says that something did not
# build, so that what was built before does not pass in its place. TEST_SECONDS ends a test (1200;
# with sanitizers 6000, which take five times as long).
cd "$(dirname "$0")/.." || exit 1
case $1 in */debug | */tsan) at_most=6000 ;; *) at_most=1200 ;; esac
TEST_SECONDS=${TEST_SECONDS:-$at_most}
export DIMSCOPE TEST_SECONDS
export ASAN_OPTIONS="${ASAN_OPTIONS:-handle_segv=2}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"

# They measure time, or drive terminals, whose programs answer in time.
ALONE="test_beside test_clipboard test_hostile test_job test_progress test_term test_term_jobs test_watch shell python mpi"
PARTS="golden docs seeds shell faults open exports python families training broken mpi conformance onnx contributed stablehlo cuda"

# A crash hides the tests behind it: those planned ("1..N") that did not pass have failed.
run_unit()
{
    CMOCKA_MESSAGE_OUTPUT=TAP timeout "$TEST_SECONDS" "$build/tests/$name" >"$log" 2>&1
    status=$?
    ok=$(grep -c '^ok ' "$log")
    skipped=$(grep -c '^not ok [0-9]* # SKIP' "$log") # cmocka's word for a test that does not apply
    planned=$(awk -F'[.]+' '/^1\.\.[0-9]+$/ { n += $2 } END { print n + 0 }' "$log")
    bad=$((planned - ok - skipped))
    [ "$bad" -eq 0 ] || said=$(grep -av '^ok ' "$log" | head -n 100)
}

run_part()
{
    timeout "$TEST_SECONDS" "tests/$name/run.sh" $only >"$log" 2>&1
    status=$?
    summary=$(grep -aE '^[0-9]+ passed, [0-9]+ failed$' "$log" | tail -n 1)
    said=$(grep -a '^skipped: ' "$log")
    set -- ${summary:-0 passed, 1 failed}
    ok=$1
    bad=$3
    [ "$bad" -eq 0 ] || said=$(head -n 200 "$log")
}

# run_one BUILD_DIR NAME [ONLY]: its log, its counts "OK BAD SECONDS" and what is said of it are files
# of BUILD_DIR/results.
run_one()
{
    build=$1
    name=$2
    only=$3
    log=$build/results/$name.log
    said=
    case $name in
    build) ok=0 bad=1 status=1 ;;
    test_*)
        if [ "$build/tests/$name" -nt "tests/unit/$name.c" ]; then
            run_unit
        else
            ok=0 bad=1 status=1 name="$name (not built)"
        fi
        ;;
    *) run_part ;;
    esac
    # A failing exit without a failed test is a failure too.
    [ "$status" -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
    [ "$bad" -eq 0 ] || said="--- $name: $bad failed, exit $status
$said"
    [ -z "$said" ] || echo "$said" >"$build/results/$2.said"
    times >"$build/results/$2.times" # the second line is what its processes took: "0m1.20s 0m0.10s"
    echo "$ok $bad $(awk -F'[ms ]+' 'NR == 2 { print $1 * 60 + $2 + $3 * 60 + $4 }' "$build/results/$2.times")" \
        >"$build/results/$2.count"
}

if [ "$1" = --one ]; then
    shift
    run_one "$@"
    exit 0
fi

build=$1
only=$2
rm -rf "$build/results"
mkdir -p "$build/results"

# WITHOUT: systems that are not built in. Tests that include them are left out, and so are the parts
# that run the whole program.
chosen()
{
    [ "$BUILT" != no ] || echo build
    left_out=$([ -z "$WITHOUT" ] || tests/needs_peers.sh $WITHOUT | tr '\n' ' ')
    for source in tests/unit/test_*"$only"*.c; do
        case " $left_out " in *" $source "*) continue ;; esac
        [ ! -e "$source" ] || basename "$source" .c
    done
    [ -z "$WITHOUT" ] || return 0
    for part in $PARTS; do
        case $part in
        golden | conformance | *"$only"*) ;; # the first two know what NAME is; all contain no NAME
        *) continue ;;
        esac
        [ ! -x "tests/$part/run.sh" ] || [ -z "$DIMSCOPE" ] || echo "$part"
    done
}

# Those that took longest the last time begin, so that none of them is alone at the end.
longest_first()
{
    touch "$build/times"
    awk 'FILENAME != "-" { last[$2] = $1; next } { print ($1 in last ? last[$1] : 0), $1 }' "$build/times" - |
        sort -rn | cut -d ' ' -f 2
}

names=$(chosen)
alone=$(for name in $names; do case " $ALONE " in *" $name "*) echo "$name" ;; esac; done)
together=$(for name in $names; do case " $ALONE " in *" $name "*) ;; *) echo "$name" ;; esac; done | longest_first)
for group in "${JOBS:-$(nproc 2>/dev/null || echo 1)} $together" "1 $alone"; do
    set -- $group
    at_once=$1
    shift
    [ $# -eq 0 ] || printf '%s\n' "$@" | xargs -P "$at_once" -I '{}' "tests/run.sh" --one "$build" '{}' "$only"
done

for name in $names; do
    [ -e "$build/results/$name.count" ] || echo "0 1 0" >"$build/results/$name.count"
    [ ! -e "$build/results/$name.said" ] || cat "$build/results/$name.said"
done
for name in $names; do
    echo "$(cut -d ' ' -f 3 "$build/results/$name.count") $name"
done | sort -rn >"$build/results/times"
[ -n "$only" ] || cp "$build/results/times" "$build/times"
awk '{ all += $1 } NR <= 12 { most = most sprintf("%s%s %.0f", NR > 1 ? ", " : "", $2, $1) }
    END { printf "processor time: %.0f s, most of it: %s\n", all, most }' "$build/results/times"
set -- $(cd "$build/results" && cat $(printf '%s.count ' $names) </dev/null | awk '{ ok += $1; bad += $2 } END { print ok + 0, bad + 0 }')
echo "$1 passed, $2 failed" | tee "$build/summary"
[ "$2" -eq 0 ]
