# part_autodist.sh - nnScaler's own planner beside ours, on one graph and at the same prices.
# $NNSCALER is a checkout of nnScaler 0.8, which is not on PyPI; its solver is built here from its
# source, in a copy. It needs a compiler for C++.
. tests/differential/lib.sh
[ -n "$NNSCALER" ] || skip autodist "NNSCALER names no checkout of nnScaler"
venv autodist torch==2.15.0 dill more-itertools numpy matplotlib psutil pulp pyyaml tqdm regex \
    safetensors pybind11 setuptools

mkdir "$WORK/nnscaler"
cp -r "$NNSCALER/nnscaler" "$NNSCALER/setup.py" "$WORK/nnscaler" &&
    python=$(cd "$(dirname "$PYTHON")" && pwd)/python &&
    (cd "$WORK/nnscaler" && "$python" setup.py -q build_ext --inplace) >"$WORK/said" 2>&1 ||
    skip autodist "its solver cannot be built: $(tail -1 "$WORK/said")"
for layers in 1 2 4; do
    mkdir "$WORK/$layers"
    PYTHONPATH="$WORK/nnscaler" "$PYTHON" -W ignore tests/differential/part_autodist.py "$DIMSCOPE" \
        "$WORK/$layers" $layers 2>"$WORK/said" ||
        echo "not ok nnScaler's planner, $layers layers: $(tail -1 "$WORK/said")"
done
