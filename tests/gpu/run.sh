#!/bin/sh
# run.sh [test|bench] [NAME] - the CUDA runner of $DIMSCOPE (./dimscope, with dimscope_cuda.so beside
# it) on the GPUs of this machine. The first line names them and the day; without one it says what
# is missing, and ends well.
#
#   test    the sample models under plans of one rank to eight, on as many GPUs as there are, their
#           training steps (`run.sh test trains` runs these alone), and ONNX's node tests (libonnx-testdata), each with every op's cuts on ranks that may share
#           a GPU; those whose name contains NAME; closes with "N passed, N failed"
#   bench   NAME VALUE UNIT: the time of a pass, captured and replayed, what was predicted, what the
#           host took to begin it; what $BENCH (bench_gpu.c) and torch_block.py measure
#
# DRY=1: on the CUDA that is none, whose plugin $DIMSCOPE_PLUGINS names. Everything is gone through
# at small sizes; what is correct shows, figures say nothing.
cd "$(dirname "$0")/../.." || exit 1
DIMSCOPE=${DIMSCOPE:-./dimscope}
models=samples/models
said=$("$DIMSCOPE" run $models/tiny-gpt.onnx --backend cuda 2>&1) || {
    echo "skipped: $(echo "$said" | sed -n 's/^error: //p' | head -n 1)"
    exit 0
}
device_line()
{
    [ -z "$DRY" ] || { echo "dry run on a CUDA that is none: no figure here means anything"; return; }
    nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null |
        sort | uniq -c | sed 's/^ *//' | grep . || echo "a GPU that nvidia-smi does not name"
}
echo "# $(device_line | paste -sd ';'), $(date -u +%Y-%m-%d)"

passed=0
failed=0
check()
{
    if said=$("$DIMSCOPE" "$@" 2>&1); then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "--- $*"
        echo "$said" | head -n 20
    fi
}

# matches TEXT: the test is one of those asked for.
matches()
{
    case $1 in
    *"$only"*) return 0 ;;
    esac
    return 1
}

run_tests()
{
    for model in tiny-gpt llama-tiny; do
        for mesh in tp=1 tp=2 dp=2,tp=2 dp=2,tp=4; do
            matches "$model $mesh" || continue
            check run $models/$model.onnx -m $mesh -p megatron --backend cuda --verify --repeat 4
        done
    done
    ! matches tiny-conv ||
        check run $models/tiny-conv.onnx -m dp=2 -p dp --backend cuda --verify --repeat 4
    for model in tiny-gpt llama-tiny; do
        for mesh in tp=1 dp=2,tp=2; do
            matches "trains $model $mesh" || continue
            check run $models/$model.onnx -m $mesh -p megatron --train adamw,clip=1.0 \
                --backend cuda --verify
        done
    done
    ! matches "trains tiny-conv" ||
        check run $models/tiny-conv.onnx -m dp=2 -p dp --train momentum --backend cuda --verify
    data=${ONNX_NODE_TESTS:-/usr/share/libonnx-testdata/data/node}
    for folder in "$data"/test_*; do
        name=$(basename "$folder")
        matches "$name" && [ -d "$folder" ] && ! grep -q "^[a-z]* $name\( \|$\)" tests/onnx/list.txt || continue
        check run --onnx-test "$folder" -m x=2 --cuts all --backend cuda
    done
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}

run_bench()
{
    bench_models="tiny-gpt llama-tiny gpt2 resnet50 vit_b_16"
    [ -z "$DRY" ] || bench_models=tiny-gpt
    for model in $bench_models; do
        "$DIMSCOPE" run $models/$model.onnx --backend cuda --repeat 30 --json |
            python3 -c "
import json, sys
run = json.load(sys.stdin)
for name, field in ('pass', 'median_us'), ('begin', 'begin_us'), ('predicted', 'predicted_us'):
    print('$model.' + name, run[field], 'us')" || return 1
    done
    DIMSCOPE_PLUGINS=${DIMSCOPE_PLUGINS:-$(dirname "$DIMSCOPE")} "$BENCH" ${DRY:+--dry} &&
        python3 tests/gpu/torch_block.py
}

only=$2
case ${1:-test} in
test) run_tests ;;
bench) run_bench ;;
*) echo "run.sh test|bench"; exit 2 ;;
esac
