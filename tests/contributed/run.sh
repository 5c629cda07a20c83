#!/bin/sh
# run.sh [NAME] - runs $DIMSCOPE on calls of operators of onnxruntime and of ai.onnx.ml (cases.jsonl): on
# one device, then under every cut of their ops on a mesh of 2 devices, each against the outputs of the
# case; and those that say so as training steps, whose gradients are those of one device. The models in
# models/, with outputs of onnxruntime too, have sequences: in loops and branches, of unknown length,
# empty, as inputs and outputs of the model; each runs also with those as tensors that can be (--fuse).
cd "$(dirname "$0")/../.." || exit 1
DIMSCOPE=${DIMSCOPE:-./dimscope}
case $1 in
contributed) wanted= ;;
*) wanted=$1 ;;
esac
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

python3 tests/contributed/write_cases.py "$work" "$wanted" || exit 1
for folder in tests/contributed/models/*"$wanted"*/; do
    [ ! -d "$folder" ] || cp -r "$folder" "$work/"
done

# check FOLDER OPTIONS
check()
{
    folder=$1
    shift
    "$DIMSCOPE" run --onnx-test "${folder%/}" -m x=2 --cuts all "$@" </dev/null >"$work/said" 2>&1
    if grep -qx '1 passed, 0 failed' "$work/said" && { [ ! -f "$folder/trains" ] ||
        "$DIMSCOPE" run "$folder/model.onnx" -m x=2 --train loss=outputs --verify </dev/null >"$work/said" 2>&1; }; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        head -n 3 "$work/said" | sed "s,$work/,,"
    fi
}
for folder in "$work"/*/; do
    [ -d "$folder" ] || continue
    check "$folder" --fuse sequences
    [ ! -d "tests/contributed/models/$(basename "$folder")" ] || check "$folder"
done
echo "${passed:-0} passed, ${failed:-0} failed"
[ -z "$failed" ]
