# part_models.sh - the models that scripts/models builds compute what those of transformers do.
. tests/differential/lib.sh
venv models torch==2.15.0 transformers==5.24.0 numpy

"$PYTHON" tests/differential/part_models.py "$DIMSCOPE" "$WORK/models" 2>"$WORK/said" ||
    echo "not ok models: $(tail -1 "$WORK/said")"
