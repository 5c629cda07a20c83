#!/bin/sh
# sanitize.sh FILE.. - the unit tests that belong to changed files, with the address and the undefined
# behaviour sanitizer in these files, in the arenas, which then guard each piece, and in the test itself.
# All else is of build/release. It takes $SANITIZE_SECONDS (60) at most, of the first 20 files: what is
# not built or has not ended by then is stopped, and the tests that were not run to their end are named.
# Prints what fails; exit 1 if something does.
#
# A test belongs to a source whose header it includes, and to itself. `make test MODE=debug` has the
# sanitizers in everything.
cd "$(dirname "$0")/../.." || exit 1
make="${MAKE:-make} -s --no-print-directory MODE=debug"
ends=$(($(date +%s) + ${SANITIZE_SECONDS:-60}))
folder=build/debug/changed
mkdir -p "$folder"
export ASAN_OPTIONS="${ASAN_OPTIONS:-handle_segv=2}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"

sources=$(for file; do case $file in core/run/cuda/* | core/run/mpi/* | tui/main.c | *.h) ;; core/*.c | tui/*.c | viz/*.c | scripts/*.c) echo "$file" ;; esac; done | head -n 20)
tests=$(
    for file; do case $file in tests/unit/test_*.c) echo "$file" ;; esac; done
    for file in $sources; do grep -lF "\"${file%.c}.h\"" tests/unit/test_*.c; done
)
tests=$(echo "$tests" | grep -v '/test_\(cuda\|fake\)' | awk 'NF && !seen[$0]++')
[ -n "$tests" ] || exit 0

# Runs a command until the time is over; 124 when it was stopped, or not begun.
in_time()
{
    left=$((ends - $(date +%s)))
    [ $left -gt 0 ] || return 124
    timeout -k 2 $left "$@"
}

objects=$(for file in core/base/arena.c $sources; do echo "build/debug/${file%.c}.o"; done | sort -u)
in_time $make -k -j"$(nproc)" $objects
case $? in
0) ;;
124 | 137)
    echo "sanitizers: no time for" $(basename -s .c $tests)
    exit 0
    ;;
*) exit 1 ;;
esac
compile=$($make print LIST=COMPILE)
libraries="$($make print LIST=TEST_LIBS) $($make print LIST=LIBS)"
status=0
not_run=
for source in $tests; do
    name=$(basename "$source" .c)
    eval in_time "$compile" -Wl,--as-needed "$source" $objects build/release/faces.a -rdynamic \
        build/release/core.a $libraries -o "$folder/$name" >"$folder/$name.log" 2>&1 &&
        in_time "$folder/$name" >"$folder/$name.log" 2>&1
    result=$?
    rm -f "$folder/$name"
    case $result in
    0) ;;
    124 | 137) not_run="$not_run $name" ;;
    *) status=1; echo "--- $name with sanitizers: exit $result"; tail -n 60 "$folder/$name.log" ;;
    esac
done
[ -z "$not_run" ] || echo "sanitizers: no time for$not_run"
exit $status
