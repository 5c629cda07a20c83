# part_jax.sh - plans as modules of JAX: NamedShardings beside what the plan says every device holds.
. tests/differential/lib.sh
venv jax jax==0.10.2 numpy

SET=
XLA_FLAGS=--xla_force_host_platform_device_count=16 JAX_PLATFORMS=cpu
export XLA_FLAGS JAX_PLATFORMS

# WHAT MODEL MESH POLICY [place]; SET: settings of the policy
compare() {
    what=$1 model=samples/models/$2 mesh=$3 policy=$4
    shift 4
    if ! "$DIMSCOPE" export "$model" -m "$mesh" -p "$policy" $SET --to jax -o "$WORK/plan.py" 2>"$WORK/notes" ||
        ! "$DIMSCOPE" export "$model" -m "$mesh" -p "$policy" $SET --csv --table tensors -o "$WORK/tensors.csv" ||
        ! "$DIMSCOPE" export "$model" -m "$mesh" -p "$policy" $SET --csv --table parts -o "$WORK/parts.csv"; then
        echo "not ok $what: it is not exported"
        return
    fi
    "$PYTHON" tests/differential/part_jax.py "$what" "$WORK/plan.py" "$WORK/tensors.csv" "$WORK/parts.csv" "$mesh" \
        "$@" 2>"$WORK/said" || echo "not ok $what: $(tail -1 "$WORK/said")"
}

compare "jax tiny-gpt megatron" tiny-gpt.onnx dp=2,tp=4 megatron place
compare "jax tiny-gpt megatron_sp" tiny-gpt.onnx dp=2,tp=2 megatron_sp place
compare "jax tiny-gpt dp" tiny-gpt.onnx dp=2 dp place
compare "jax tiny-gpt fsdp" tiny-gpt.onnx dp=8 fsdp place
compare "jax tiny-gpt uneven" tiny-gpt.onnx tp=3 megatron place
compare "jax gpt2 megatron" gpt2.onnx dp=2,tp=4 megatron
compare "jax gpt2 fsdp" gpt2.onnx dp=8 fsdp
compare "jax gpt2 uneven" gpt2.onnx tp=3 megatron
compare "jax gpt2 stages" gpt2.onnx pp=2,dp=2,tp=2 hybrid3d
compare "jax gpt2 context" gpt2.onnx cp=8 context
compare "jax llama-tiny megatron" llama-tiny.onnx dp=2,tp=4 megatron place
SET="--set recompute=full"
compare "jax llama-3-tiny recomputed" llama-3-tiny.json dp=2,tp=4 megatron place
SET="--train adamw --set zero=1"
compare "jax llama-3-tiny, states over dp" llama-3-tiny.json dp=2,tp=4 megatron place
SET=
compare "jax llama-tiny megatron_sp" llama-tiny.onnx dp=2,tp=2 megatron_sp place
compare "jax llama-tiny parts of an axis" llama-tiny.onnx dp=2,tp=8 megatron place
compare "jax mixtral experts" mixtral-8x7b.json ep=8,tp=2 expert
compare "jax odd names" ../../tests/differential/odd_names.lua dp=2,tp=2 tests/differential/odd_names.lua place
