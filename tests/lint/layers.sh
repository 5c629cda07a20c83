#!/bin/sh
# layers.sh BUILD_DIR SOURCE... - which room may use which: checked on #include lines and on the
# linker's symbols of the objects.
#
# A room uses itself and the rooms to its left on its line; the sides tui, viz and scripts
# use all of core, and each other only through the files named below. A room is a folder with the
# folders under it that have no row of their own. One place sees each foreign library; core neither
# prints nor exits.
rooms='
core/base core/solve core/model core/space core/rules core/rules/operators core/fuse core/step core/layout core/reshard core/plan core/propagate
core/cost core/explain core/session core/summary core/search core/code core/run core/run/kernels core/run/hlo core/run/mpi core/run/cuda core/prove core/peers
tui/screen tui/help tui/state tui/views tui/app tui/cli tui
viz viz/draw viz/report
scripts
'
# The files that name what they put together: other systems, drawings, exports, the faces.
roots='^(core/peers/peers[.][ch]|viz/(diagram|export)[.]c|tui/main[.]c)$'
# What a header declares for every room and a later room defines: the lists of peers (core/base/peer.h),
# tables of operators (core/rules/registry.h), kernels and what the runner asks of them (core/run/kernel.h).
listed='^((built|known)_peers|operators_[a-z_]+|kernels_[a-z_]+|kernel_(combine|scale|multiply|draws))$'
# The files of tui that may also use viz and scripts.
meeting='^tui/(main[.]c|cli/)'

[ $# -ge 2 ] || { echo "usage: $0 BUILD_DIR SOURCE..." >&2 && exit 2; }
build=$1
shift
facts=$(mktemp) || exit 1
trap 'rm -f "$facts" "$facts.found"' EXIT

nm -D --defined-only "$(gcc -print-file-name=libncursesw.so.6)" \
    "$(gcc -print-file-name=libtinfo.so.6)" 2>/dev/null |
    awk 'NF == 3 && $2 ~ /[TDBR]/ { sub(/@.*/, "", $3); print "curses", "-", $3 }' >"$facts"
for source; do
    case $source in *.c) echo "$build/${source%.c}.o" ;; esac
done | xargs nm -A -g | awk -v build="$build/" '{
    file = substr($1, length(build) + 1)
    sub(/[.]o:.*/, ".c", file)
    if (NF == 3 && $2 ~ /[Uw]/) print "uses", file, $3
    else if (NF == 3) print "has", file, $3 }' >>"$facts"
grep -H '^#include "' "$@" | sed -E 's/^([^:]+):#include "([^"]+)".*/includes \1 \2/' >>"$facts"

awk -v rooms="$rooms" -v listed="$listed" -v roots="$roots" -v meeting="$meeting" '
BEGIN {
    n = split(rooms, name)
    for (i = 1; i <= n; i++) rank[name[i]] = i
    # place: the only files that may name such a symbol
    place["^luaL?_"] = "^scripts/"
    place["^(ag[a-z]+|gv[A-Z].*)$"] = "^viz/dot[.]c$"
    place["^json_"] = "^core/base/json[.]c$"
    place["^(cblas|openblas)_"] = "^core/run/"
    place["^(cuda[A-Z]|cublas|nccl|nvrtc)"] = "^core/run/cuda/"
    place["^MPI_"] = "^core/run/mpi/"
    place["^cu[A-Z]"] = "^$"
    place["^(exit|_Exit|quick_exit|printf|vprintf|puts|putchar|perror|stdout|stderr)$"] = "^(tui|viz|scripts)/"
    place["^_exit$"] = "^((tui|viz|scripts)/|core/run/(supervise[.]c$|mpi/|cuda/))"
    place["^__v?printf_chk$"] = "^(tui|viz|scripts)/"
    place["^abort$"] = "^core/(base/|run/kernels/blas_memory[.]c$)"
}
function room(file)
{
    while (!(file in rank) && sub(/\/[^\/]*$/, "", file))
        ;
    return file
}
function side(file) { return substr(file, 1, index(file, "/") - 1) }
function peer(file) { return match(file, /^core\/peers\/[^\/]+\//) ? substr(file, 1, RLENGTH) : "" }
function bad(file, what) { print file ": " what }

# Why `file` may not use `home`; "" when it may.
function wrong(file, home)
{
    if (!(room(file) in rank))
        return "is in a folder that has no row in tests/lint/layers.sh"
    if (file ~ roots && (side(home) == side(file) || file ~ meeting || side(home) == "core"))
        return ""
    if (side(home) == side(file) && rank[room(home)] > rank[room(file)])
        return "uses a room to the right of its own"
    if (side(home) == side(file))
        return peer(file) != "" && peer(home) != "" && peer(home) != peer(file) ? "uses another system" : ""
    if (side(home) == "core" || (file ~ meeting && side(file) == "tui"))
        return ""
    return side(file) == "core" ? "uses a face" : "uses another face"
}
$1 == "curses" { curses[$3] = 1 }
$1 == "has" { owner[$3] = $2 }
$1 == "uses" { uses[++n_uses] = $2 " " $3 }
$1 == "includes" && $3 ~ /^(core|tui|viz|scripts)\// {
    why = wrong($2, $3)
    if (why != "") bad($2, why ": includes " $3)
}
END {
    for (i = 1; i <= n_uses; i++) {
        split(uses[i], part, " ")
        file = part[1]; symbol = part[2]
        if (symbol in owner) {
            if (symbol ~ listed) continue
            why = wrong(file, owner[symbol])
            if (why != "") bad(file, why ": " symbol " of " owner[symbol])
            continue
        }
        if (symbol in curses && file != "tui/screen/term.c")
            bad(file, "names " symbol " of curses")
        for (pattern in place)
            if (symbol ~ pattern && file !~ place[pattern])
                bad(file, "names " symbol ", which may only stand in " place[pattern])
    }
}' "$facts" | sort -u >"$facts.found"
cat "$facts.found"
[ ! -s "$facts.found" ]
