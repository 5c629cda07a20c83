#!/bin/sh
# run.sh [--rewrite] [NAME] - the command line against expected outputs.
#
# tests/golden/CASE/args  one command a line, without "dimscope"; quoted as in a shell; # comments
# tests/golden/CASE/want  for each: "$ ARGS", what it prints, its error output behind "! ", and
#                         "exit N" where N is not 0
# Commands run in the top folder; $OUT is an empty folder, shown as OUT. --rewrite makes what is
# printed today the expectation: read its diff as code.
cd "$(dirname "$0")/../.." || exit 1
rewrite=
[ "$1" = --rewrite ] && { rewrite=yes; shift; }
only=$1
passed=0
failed=0
OUT=$(mktemp -d) || exit 1
export OUT LC_ALL=C.UTF-8
trap 'rm -rf "$OUT" "$OUT.got" "$OUT.err"' EXIT

run_line()
{
    echo "\$ $1"
    eval "timeout 60 \"\$DIMSCOPE\" $1" 2>"$OUT.err" </dev/null
    status=$?
    sed 's/^/! /' "$OUT.err"
    [ $status -eq 0 ] || echo "exit $status"
}

run_case()
{
    rm -rf "${OUT:?}"/*
    while IFS= read -r line; do
        case $line in
        '' | '#'*) ;;
        *) run_line "$line" ;;
        esac
    done <"$1/args" | sed "s|$OUT|OUT|g" >"$OUT.got"
}

DIMSCOPE=${DIMSCOPE:-./dimscope}
for args in tests/golden/*"$only"*/args; do
    [ -e "$args" ] || continue
    dir=$(dirname "$args")
    run_case "$dir"
    [ -z "$rewrite" ] || cp "$OUT.got" "$dir/want"
    if diff -uN --label "$dir/want" --label got "$dir/want" "$OUT.got"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
