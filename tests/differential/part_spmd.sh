# part_spmd.sh - plans as types of spmd_types: code with collectives of its own, right and wrong.
. tests/differential/lib.sh
venv spmd torch==2.15.0 numpy spmd_types==0.3.1

mlp=tests/differential/mlp.lua
if "$DIMSCOPE" export $mlp -p $mlp -m dp=2,tp=2 --to spmd_types -o "$WORK/plan.py" 2>"$WORK/notes"; then
    "$PYTHON" tests/differential/part_spmd.py "$WORK/plan.py" 2>"$WORK/said" ||
        echo "not ok spmd_types: $(tail -1 "$WORK/said")"
else
    echo "not ok spmd_types: $(head -1 "$WORK/notes")"
fi
