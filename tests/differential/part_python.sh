# part_python.sh - the package of Python with torch and JAX: it is installed, exports modules without
# their weights, shards them, and compares what they move with the plan.
. tests/differential/lib.sh
venv torch torch==2.15.0 transformers==5.24.0
TORCH=$PYTHON
venv orbax jax==0.10.2 numpy orbax-checkpoint==0.12.8

DIMSCOPE=$(command -v "$DIMSCOPE")
export DIMSCOPE
cp -r scripts/python "$WORK/source"
for python in "$TORCH" "$PYTHON"; do
    "$python" -m pip -q install --no-deps --target "$WORK/installed" --upgrade "$WORK/source" >"$WORK/said" 2>&1 ||
        echo "not ok pip install: $(tail -1 "$WORK/said")"
done
PYTHONPATH=$WORK/installed
export PYTHONPATH

"$TORCH" -W ignore tests/differential/part_python.py torch 2>"$WORK/said" || echo "not ok torch: $(tail -1 "$WORK/said")"
XLA_FLAGS=--xla_force_host_platform_device_count=4 JAX_PLATFORMS=cpu \
    "$PYTHON" tests/differential/part_python.py jax 2>"$WORK/said" || echo "not ok jax: $(tail -1 "$WORK/said")"
