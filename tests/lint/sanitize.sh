#!/bin/sh
# sanitize.sh FILE.. - the unit tests that belong to changed files, with sanitizers. All objects but those
# named here are of build/release. Each of the three takes $SANITIZE_SECONDS (60) at most: what is not built
# or has not ended by then is stopped, and the tests that were not run to their end are named. Prints what
# fails; exit 1 if something does.
#   addresses  the address and the undefined behaviour sanitizer in the first 20 changed sources, in the
#              arenas, which then guard each piece, and in the test. A test belongs to a source whose
#              header it includes, and to itself.
#   threads    the thread sanitizer, if a source changed in a folder where threads meet: in all of these
#              folders, since it must see what they wait for each other with, and in their tests.
#   fuzz       the fuzzers that include a header of the first 20 changed sources, each 10 s from the inputs
#              that are kept and 10 s from none.
#
# `make test MODE=debug` and `make test MODE=tsan` have the sanitizers in everything.
cd "$(dirname "$0")/../.." || exit 1
export ASAN_OPTIONS="${ASAN_OPTIONS:-handle_segv=2}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"
make="${MAKE:-make} -s --no-print-directory"
libraries="$($make print LIST=TEST_LIBS) $($make print LIST=LIBS)"
meeting='^(core/base|core/run|core/search|tui/state/jobs)/'
meeting_tests="ring progress job beside run verify_moves right_plans search"
status=0

# Runs a command until the time is over; 124 when it was stopped, or not begun.
in_time()
{
    left=$((ends - $(date +%s)))
    [ $left -gt 0 ] || return 124
    timeout -k 2 $left "$@"
}

no_time()
{
    echo "$mode sanitizers: no time for $*"
}

# link SOURCE OPTION_OR_OBJECT..: $folder/$name, its log is $log
link()
{
    source=$1
    shift
    eval in_time "$compile" -Wl,--as-needed "$source" "$@" build/release/faces.a -rdynamic \
        build/release/core.a "$libraries" -o "$folder/$name" >"$log" 2>&1
}

# fuzz INPUTS..: what it finds new goes into the first folder, which is not that of kept inputs.
fuzz()
{
    new=$folder/new-by-$name
    rm -rf "$new"
    mkdir "$new"
    in_time "$folder/$name" -seed=1 -max_total_time=10 -timeout=30 \
        -artifact_prefix="$folder/found-by-$name-" "$new" "$@" >"$log" 2>&1
}

# run SOURCE OBJECT..
run()
{
    name=$(basename "$1" .c)
    log=$folder/$name.log
    kept=tests/fuzz/corpus/${name#fuzz_}
    case $mode in
    fuzz) link "$@" -fsanitize=fuzzer && fuzz $([ ! -d "$kept" ] || echo "$kept") && fuzz ;;
    *) link "$@" && in_time "$folder/$name" >"$log" 2>&1 ;;
    esac
    result=$?
    rm -f "$folder/$name"
    case $result in
    0) ;;
    124 | 137) not_run="$not_run $name" ;;
    *) status=1; echo "--- $name with $mode sanitizers: exit $result"; tail -n 60 "$log" ;;
    esac
}

# sanitize MODE SOURCES TESTS
sanitize()
{
    mode=$1
    ends=$(($(date +%s) + ${SANITIZE_SECONDS:-60}))
    folder=build/$mode/changed
    mkdir -p "$folder"
    compile=$($make MODE=$mode print LIST=COMPILE)
    objects=$(for file in $2; do echo "build/$mode/${file%.c}.o"; done | sort -u)
    in_time $make MODE=$mode -k -j"$(nproc)" $objects
    case $? in
    0) ;;
    124 | 137) no_time $3; return ;;
    *) status=1; return ;;
    esac
    not_run=
    for test in $3; do
        run "$test" $objects
    done
    [ -z "$not_run" ] || no_time $not_run
}

# those_of PATTERN FILE..: the files of tests that changed, and those that include the header of the first
# 20 changed sources.
those_of()
{
    pattern=$1
    shift
    {
        for file; do case $file in $pattern) echo "$file" ;; esac; done
        for file in $first; do grep -lF "\"${file%.c}.h\"" $pattern; done
    } | grep -vE '/(test_(cuda|fake)|fuzz_mpi)' | awk '!seen[$0]++'
}

sources=$(for file; do case $file in core/run/cuda/* | core/run/mpi/* | tui/main.c | *.h) ;; core/*.c | tui/*.c | viz/*.c | scripts/*.c) echo "$file" ;; esac; done)
first=$(echo "$sources" | head -n 20)
guarded="core/base/arena.c $first"
tests=$(those_of 'tests/unit/test_*.c' "$@")
fuzzers=$(those_of 'tests/fuzz/fuzz_*.c' "$@")
[ -z "$tests" ] || sanitize debug "$guarded" "$tests"
if echo "$sources" | grep -qE "$meeting"; then
    sanitize tsan "$($make print LIST=SOURCES | tr ' ' '\n' | grep -E "$meeting" | grep -vE '/(cuda|mpi)/')" \
        "$(for name in $meeting_tests; do echo "tests/unit/test_$name.c"; done)"
fi
[ -z "$fuzzers" ] || ! command -v clang >/dev/null || sanitize fuzz "$guarded" "$fuzzers"
exit $status
