#!/bin/sh
# figures.sh - how large the source is, room by room, and how much of it a file sees: own headers that
# a .c file reaches through its includes, and rooms (of layers.sh) that include each other in a cycle.
cd "$(dirname "$0")/../.." || exit 1
# The same rooms and roots as layers.sh.
eval "$(sed -n "/^rooms='/,/^'/p; /^roots=/p" tests/lint/layers.sh)"
find core tui viz scripts \( -name '*.[ch]' -o -name '*.lua' \) -exec \
    awk '{ n++ } /^#include "/ { split($0, part, "\""); print FILENAME, "includes", part[2] }
        FNR == 1 { print FILENAME, "file" } { print FILENAME, "line" }' {} + | awk -v table="$(echo $rooms)" -v roots="$roots" '
BEGIN { for (i = split(table, part); i > 0; i--) row[part[i]] = 1 }
function folder(file) { sub(/\/[^\/]*$/, "", file); return file }
function room(file)
{
    if (file ~ roots) return "root"
    if (match(file, /^core\/peers\/[^\/]+\//)) return substr(file, 1, RLENGTH - 1)
    while (!(file in row) && sub(/\/[^\/]*$/, "", file))
        ;
    return file
}
function reach(file, seen,    i, n, part)
{
    n = split(includes[file], part)
    for (i = 1; i <= n; i++)
        if (!(part[i] in seen)) {
            seen[part[i]] = 1
            n_seen++
            reach(part[i], seen)
        }
}
# Rooms that `from` leads to.
function follow(from, seen,    to)
{
    for (to in all)
        if (((from, to) in arrow) && !(to in seen)) {
            seen[to] = 1
            follow(to, seen)
        }
}
$2 == "file" { files[folder($1)]++; all[room($1)] = 1; n_files++; if ($1 ~ /[.]c$/) sources[$1] = 1 }
$2 == "line" { lines[folder($1)]++; n_lines++ }
$2 == "includes" {
    includes[$1] = includes[$1] " " $3
    if (room($1) != room($3) && room($1) != "root" && room($3) != "root") arrow[room($1), room($3)] = 1
}
END {
    for (name in lines) printf "%-26s %4d files %7d lines\n", name, files[name], lines[name] | "sort"
    close("sort")
    printf "%-26s %4d files %7d lines\n", "all", n_files, n_lines
    for (file in sources) {
        split("", seen)
        n_seen = 0
        reach(file, seen)
        print n_seen > "/dev/stderr"
    }
    for (name in all) {
        split("", seen)
        follow(name, seen)
        if (name in seen) cyclic = cyclic " " name
    }
    print "rooms in a cycle:" (cyclic == "" ? " none" : cyclic)
}' 2>"${TMPDIR:-/tmp}/fan-in.$$"
sort -n "${TMPDIR:-/tmp}/fan-in.$$" | awk '{ n[NR] = $1 }
    END { print "own headers that a .c reaches: median " n[int((NR + 1) / 2)] ", most " n[NR] }'
rm -f "${TMPDIR:-/tmp}/fan-in.$$"
