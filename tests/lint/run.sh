#!/bin/sh
# run.sh all|changed - the checks of the source; prints what they find, closes with
# "N passed, N failed", one count a check; exit 1 when one failed.
#
# changed: the slow tools see only the files that tests/lint/changed.sh names, at most $LINT_MOST
# (120) of them, and none if it cannot tell; what is not installed is skipped. The quick checks see
# everything, on the objects of build/release; the tests of these files run with sanitizers.
cd "$(dirname "$0")/../.." || exit 1
which=$1
most=${LINT_MOST:-120}
passed=0
failed=0
unset MAKEFLAGS # its jobs are not shared with the make that began it
make="${MAKE:-make} -s --no-print-directory"

# check TITLE TOOL COMMAND...
check()
{
    title=$1
    tool=$2
    shift 2
    if [ "$which" = changed ] && ! command -v "$tool" >/dev/null; then
        echo "skipped: $title, $tool is not here"
        return
    fi
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "--- $title: failed"
    fi
}
list() # a variable of the Makefile
{
    $make print LIST="$1"
}

sources=$(list SOURCES)
headers=$(list HEADERS)
tests=$(list TEST_SOURCES)
if [ "$which" = changed ]; then
    objects=build/release
    changed=$(tests/lint/changed.sh) || echo "what was changed is not known here: the quick checks alone"
    n=$(echo "$changed" | grep -c .)
    [ "$n" -le "$most" ] || echo "$n files were changed: the first $most are looked into"
    changed=" $(echo "$changed" | head -n "$most" | tr '\n' ' ') "
    among() { for file; do case $changed in *" $file "*) echo "$file" ;; esac; done; }
    deep=$(among $sources)
    deep_tests=$(among $tests)
    $make MODE=release -k -j"$(nproc)" all fakes
else
    objects=build/lint
    deep=$sources
    deep_tests=$tests
fi
check compilers clang-tidy $make -k -j"$(nproc)" lint-files LINT_SOURCES="$(echo $deep)" \
    LINT_TESTS="$(echo $deep_tests)"
[ -z "$deep" ] || check cppcheck cppcheck cppcheck -q -j"$(nproc)" --std=c11 -D_GNU_SOURCE -I. \
    --enable=warning,portability,performance --inline-suppr \
    --suppressions-list=tests/lint/cppcheck.txt --error-exitcode=1 $deep
[ "$which" = all ] || check sanitizers "${CC:-cc}" tests/lint/sanitize.sh $deep $deep_tests
check format clang-format $make format-check
all_objects=$(for source in $sources; do echo "$objects/${source%.c}.o"; done)
check layers nm tests/lint/layers.sh $objects $sources $headers
check exported nm tests/lint/exported.sh $all_objects
check globals nm tests/lint/globals.sh $(for source in $(list CORE_SOURCES); do echo "$objects/${source%.c}.o"; done)
check lengths ctags tests/lint/lengths.sh $sources $headers
mkdir -p build/lint
echo "$passed passed, $failed failed" | tee build/lint/summary
[ $failed -eq 0 ]
