#!/bin/sh
# run.sh - policies on families of models: checks the collectives of each plan, and that ranks compute
# the same as one device. Ends with "N passed, N failed".
#
# tests/families/table  a line a plan: model, mesh, policy with its options, all-reduces,
#                       all-gathers, other collectives; "run": it is verified too
# The ONNX files are exports of tiny models of two layers, the JSON files configs of such models for
# the builders; NAME.lua is structures.lua with STRUCTURE set to NAME. Counts are those of Megatron-LM, forward: one all-reduce after each row matmul
# (two a layer; one where attention and MLP are added in one sum), and one after the embedding when
# the vocabulary is sharded.
cd "$(dirname "$0")/../.." || exit 1
DIMSCOPE=${DIMSCOPE:-./dimscope}
OUT=$(mktemp -d) || exit 1
trap 'rm -rf "$OUT"' EXIT
passed=0
failed=0

# moved MODEL MESH POLICY ..: "ALL_REDUCES ALL_GATHERS OTHERS"
moved()
{
    model=$1 mesh=$2
    shift 2
    "$DIMSCOPE" plan "$model" -m "$mesh" -p "$@" --json | python3 -c '
import collections, json, sys
n = collections.Counter(step["kind"] for it in json.load(sys.stdin)["reshards"]
                        for step in it["steps"] if step["kind"] != "slice")
print(n.pop("all_reduce", 0), n.pop("all_gather", 0), sum(n.values()))'
}

count()
{
    if [ "$1" = "$2" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$3: '$1', not '$2'"
    fi
}

while read -r model mesh policy option reduces gathers others run; do
    case $model in '' | '#'*) continue ;; esac
    title="$model -m $mesh -p $policy $option"
    path=tests/families/$model
    case $model in
    *.lua)
        path=$OUT/$model
        { printf 'STRUCTURE = "%s" ' "${model%.lua}"; cat tests/families/structures.lua; } >"$path"
        ;;
    esac
    set -- "$path" "$mesh" "$policy"
    [ "$option" = - ] || set -- "$@" --set "$option"
    count "$(moved "$@")" "$reduces $gathers $others" "$title"
    [ "$run" = run ] || continue
    model=$1 mesh=$2
    shift 2
    "$DIMSCOPE" run "$model" -m "$mesh" -p "$@" --verify --seed 3 >/dev/null 2>&1
    count $? 0 "$title: run --verify exits"
done <tests/families/table

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
