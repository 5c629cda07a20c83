#!/bin/sh
# layers.sh BUILD_DIR OBJECT... - who may call whom, asked of the linker's symbols.
#
#   core/base <- core/model <- core/rules <- core/plan <- core/run, and core <- tui, viz, scripts;
#   the faces meet in tui/main and tui/cli alone; each foreign library has one place; core neither
#   prints nor exits.
build=$1
shift
symbols=$(mktemp) || exit 1
trap 'rm -f "$symbols"' EXIT

nm -D --defined-only "$(gcc -print-file-name=libncursesw.so.6)" \
    "$(gcc -print-file-name=libtinfo.so.6)" 2>/dev/null |
    awk 'NF == 3 && $2 ~ /[TDBR]/ { sub(/@.*/, "", $3); print "curses", "-", $3 }' >"$symbols"
for object; do
    nm -g "$object" | awk -v object="${object#"$build"/}" '
        NF == 2 && $1 ~ /[Uw]/ { print "uses", object, $2 }
        NF == 3 { print "has", object, $3 }'
done >>"$symbols"

awk '
BEGIN {
    n = split("core/base core/model core/rules core/plan core/run", folder, " ")
    for (i = 1; i <= n; i++) rank[folder[i]] = i
    # place: the only objects that may name such a symbol
    place["^luaL?_"] = "^scripts/"
    place["^(ag[a-z]+|gv[A-Z].*)$"] = "^viz/dot[.]o$"
    place["^json_"] = "^core/base/json[.]o$"
    place["^(cblas|openblas)_"] = "^core/run/"
    place["^(cuda[A-Z]|cublas|nccl|nvrtc)"] = "^core/run/cuda/"
    place["^MPI_"] = "^core/run/mpi/"
    place["^cu[A-Z]"] = "^$"
    place["^(exit|_Exit|quick_exit|printf|vprintf|puts|putchar|perror|stdout|stderr)$"] = "^(tui|viz|scripts)/"
    place["^_exit$"] = "^((tui|viz|scripts)/|core/run/(supervise[.]o$|mpi/|cuda/))"
    place["^__v?printf_chk$"] = "^(tui|viz|scripts)/"
    place["^abort$"] = "^core/(base/|run/blas_memory[.]o$)"
}
function layer(object)
{
    if (match(object, /^core\/[a-z]+/)) return rank[substr(object, 1, RLENGTH)]
    return 100
}
function face(object) { return substr(object, 1, index(object, "/") - 1) }
function bad(object, what) { print object ": " what; failed = 1 }
$1 == "curses" { curses[$3] = 1 }
$1 == "has" { owner[$3] = $2 }
$1 == "uses" { uses[++n_uses] = $2 " " $3 }
END {
    for (i = 1; i <= n_uses; i++) {
        split(uses[i], part, " ")
        object = part[1]; symbol = part[2]
        if (symbol in owner) {
            home = owner[symbol]
            if (layer(home) > layer(object))
                bad(object, "calls up: " symbol " of " home)
            else if (layer(home) == 100 && face(home) != face(object) && object !~ /^tui\/(main|cli\/[a-z_]+)[.]o$/)
                bad(object, "calls another face: " symbol " of " home)
            continue
        }
        if (symbol in curses && object != "tui/screen/term.o")
            bad(object, "names " symbol " of curses")
        for (pattern in place)
            if (symbol ~ pattern && object !~ place[pattern])
                bad(object, "names " symbol ", which may only stand in " place[pattern])
    }
    exit failed
}' "$symbols"
