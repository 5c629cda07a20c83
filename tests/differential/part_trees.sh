# part_trees.sh - plans for JAX on parameters as Haiku's and Flax's own modules make them: two jitted
# steps of AdamW on four devices, beside one device.
. tests/differential/lib.sh
venv trees jax==0.10.2 numpy flax==0.12.8 dm-haiku==0.0.17 optax==0.2.8

XLA_FLAGS=--xla_force_host_platform_device_count=4 JAX_PLATFORMS=cpu
export XLA_FLAGS JAX_PLATFORMS
if "$DIMSCOPE" export samples/models/llama-3-tiny.json -m dp=2,tp=2 -p megatron --train --to jax \
    -o "$WORK/plan.py" 2>"$WORK/notes"; then
    "$PYTHON" tests/differential/part_trees.py "$WORK/plan.py" 2>"$WORK/said" ||
        echo "not ok trees: $(tail -1 "$WORK/said")"
else
    echo "not ok trees: $(head -1 "$WORK/notes")"
fi
