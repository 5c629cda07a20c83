# part_nnscaler.sh - plans as policies for nnScaler, which is not on PyPI: $NNSCALER is a checkout of
# it (0.8 or 0.9), and what it needs is in a virtual environment. It traces small models with the
# modules of the samples; local shapes are held against the plan, and it makes the code of every rank.
#
# What nnScaler has no cut for: q, k and v in one weight, each cut for itself (GPT-2's c_attn).
. tests/differential/lib.sh
[ -n "$NNSCALER" ] || skip nnscaler "NNSCALER names no checkout of nnScaler"
venv nnscaler torch==2.15.0 dill more-itertools numpy matplotlib psutil pulp pyyaml tqdm regex \
    safetensors

compare() { # WHAT gpt|llama LINES SKIPPED EXPORT-ARGUMENTS...
    what=$1 kind=$2 least=$3 skipped=$4
    shift 4
    if ! "$DIMSCOPE" export "$@" --to nnscaler -o "$WORK/policy.py" 2>"$WORK/said" ||
        ! "$DIMSCOPE" export "$@" --csv --table parts -o "$WORK/parts.csv" 2>"$WORK/said" ||
        ! PYTHONPATH="$NNSCALER" "$PYTHON" tests/differential/part_nnscaler.py "$what" "$kind" \
            "$WORK/policy.py" "$WORK/parts.csv" "$least" $skipped 2>"$WORK/said"; then
        echo "not ok $what: $(tail -1 "$WORK/said")"
    fi
}

models=samples/models
fused="transformer.h.0.attn.c_attn transformer.h.1.attn.c_attn"
compare "llama megatron" llama 84 "" $models/llama-tiny.onnx -m dp=2,tp=2 -p megatron
compare "llama megatron_sp" llama 80 "" $models/llama-tiny.onnx -m tp=2 -p megatron_sp
compare "llama tp" llama 84 "" $models/llama-tiny.onnx -m tp=2 -p tp
compare "llama dp" llama 42 "" $models/llama-tiny.onnx -m dp=2 -p dp
compare "llama stages" llama 42 "" $models/llama-tiny.onnx -m pp=2 -p pipeline
compare "llama 2x2x2" llama 84 "" $models/llama-tiny.onnx -m pp=2,dp=2,tp=2 -p hybrid3d
compare "gpt dp" gpt 44 "" $models/tiny-gpt.onnx -m dp=2 -p dp
compare "gpt megatron" gpt 76 "$fused" $models/tiny-gpt.onnx -m dp=2,tp=2 -p megatron
compare "gpt stages" gpt 44 "" $models/tiny-gpt.onnx -m pp=2 -p pipeline
compare "gpt megatron, a step" gpt 76 "$fused" $models/tiny-gpt.onnx -m dp=2,tp=2 -p megatron --train adamw
compare "gpt stages, a step" gpt 44 "" $models/tiny-gpt.onnx -m pp=2 -p pipeline --train adamw --set micro_batches=2
