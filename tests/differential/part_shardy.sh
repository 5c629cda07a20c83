# part_shardy.sh - plans as modules of MLIR, read by the real parser and lowered by the real Shardy.
. tests/differential/lib.sh
venv jax jax==0.10.2 numpy

# WHAT MODEL MESH POLICY
compare() {
    what=$1 model=samples/models/$2 mesh=$3 policy=$4
    if ! "$DIMSCOPE" export "$model" -m "$mesh" -p "$policy" --to shardy -o "$WORK/plan.mlir" 2>"$WORK/notes" ||
        ! "$DIMSCOPE" export "$model" -m "$mesh" -p "$policy" --csv --table tensors -o "$WORK/tensors.csv" ||
        ! "$DIMSCOPE" export "$model" -m "$mesh" -p "$policy" --csv --table reshards -o "$WORK/reshards.csv" ||
        ! "$DIMSCOPE" export "$model" -m "$mesh" -p "$policy" --csv --table parts -o "$WORK/parts.csv"; then
        echo "not ok $what: it is not exported"
        return
    fi
    "$PYTHON" tests/differential/part_shardy.py "$what" "$WORK/plan.mlir" "$WORK/tensors.csv" "$WORK/parts.csv" "$mesh" \
        "$WORK/reshards.csv" 2>"$WORK/said" || echo "not ok $what: $(tail -1 "$WORK/said")"
}

compare "shardy tiny-gpt megatron" tiny-gpt.onnx dp=2,tp=4 megatron
compare "shardy tiny-gpt megatron_sp" tiny-gpt.onnx dp=2,tp=2 megatron_sp
compare "shardy tiny-gpt dp" tiny-gpt.onnx dp=2 dp
compare "shardy tiny-gpt fsdp" tiny-gpt.onnx dp=8 fsdp
compare "shardy tiny-gpt uneven" tiny-gpt.onnx tp=3 megatron
compare "shardy gpt2 megatron" gpt2.onnx dp=2,tp=4 megatron
compare "shardy gpt2 fsdp" gpt2.onnx dp=8 fsdp
compare "shardy gpt2 uneven" gpt2.onnx tp=3 megatron
compare "shardy gpt2 stages" gpt2.onnx pp=2,dp=2,tp=2 hybrid3d
compare "shardy gpt2 context" gpt2.onnx cp=8 context
compare "shardy llama-tiny megatron" llama-tiny.onnx dp=2,tp=4 megatron
compare "shardy llama-tiny megatron_sp" llama-tiny.onnx dp=2,tp=2 megatron_sp
compare "shardy llama-tiny parts of an axis" llama-tiny.onnx dp=2,tp=8 megatron
compare "shardy mixtral experts" mixtral-8x7b.json ep=8,tp=2 expert
compare "shardy odd names" ../../tests/differential/odd_names.lua dp=2,tp=2 tests/differential/odd_names.lua
