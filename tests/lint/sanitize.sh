#!/bin/sh
# sanitize.sh FILE.. - the unit tests that belong to changed files, with the address and the undefined
# behaviour sanitizer in these files, in the arenas, which then guard each piece, and in the test itself.
# All else is of build/release, so that it takes a minute: of the first 20 files, no test begins after
# $SANITIZE_SECONDS (40), and what is left out is said. Prints what fails; exit 1 if something does.
#
# A test belongs to a source whose header it includes, and to itself. `make test MODE=debug` has the
# sanitizers in everything.
cd "$(dirname "$0")/../.." || exit 1
make="${MAKE:-make} -s --no-print-directory MODE=debug"
seconds=${SANITIZE_SECONDS:-40}
began=$(date +%s)
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

objects=$(for file in core/base/arena.c $sources; do echo "build/debug/${file%.c}.o"; done | sort -u)
$make -k -j"$(nproc)" $objects || exit 1
compile=$($make print LIST=COMPILE)
libraries="$($make print LIST=TEST_LIBS) $($make print LIST=LIBS)"
status=0
left=
for source in $tests; do
    name=$(basename "$source" .c)
    if [ $(($(date +%s) - began)) -ge "$seconds" ]; then
        left="$left $name"
        continue
    fi
    eval "$compile" -Wl,--as-needed "$source" $objects build/release/faces.a -rdynamic build/release/core.a \
        $libraries -o "$folder/$name" >"$folder/$name.log" 2>&1 &&
        timeout 120 "$folder/$name" >"$folder/$name.log" 2>&1
    result=$?
    rm -f "$folder/$name"
    [ $result -eq 0 ] || { status=1; echo "--- $name with sanitizers: exit $result"; tail -n 60 "$folder/$name.log"; }
done
[ -z "$left" ] || echo "sanitizers: no time for$left"
exit $status
