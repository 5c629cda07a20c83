# part_torchtitan.sh - settings that torchtitan itself reads and checks.
. tests/differential/lib.sh
venv torchtitan torch==2.15.0 torchtitan==0.3.0 triton

settings() { # EXPORT-ARGUMENTS...
    if "$DIMSCOPE" export samples/models/llama-3-8b.json "$@" --to torchtitan -o "$WORK/plan.py" 2>"$WORK/notes"; then
        "$PYTHON" tests/differential/part_torchtitan.py "torchtitan $*" "$WORK/plan.py" 2>"$WORK/said" ||
            echo "not ok torchtitan $*: $(tail -1 "$WORK/said")"
    else
        echo "not ok torchtitan $*: $(head -1 "$WORK/notes")"
    fi
}

settings -m dp=2,tp=4 -p megatron_sp --set zero=3 --set recompute=full
settings -m pp=2,dp=2,tp=2 -p hybrid3d --set micro_batches=4
settings -m dp=2,sh=4 -p fsdp --set zero_axis=sh
