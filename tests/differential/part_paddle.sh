# part_paddle.sh - plans as placements of Paddle: what each rank gets of every parameter, input and
# value of a module, and a small model that Paddle shards.
. tests/differential/lib.sh
venv paddle paddlepaddle==3.3.1

# WHAT EXPORT-ARGUMENTS...: the module, and the plan's own tables
export_plan() {
    what=$1
    shift
    "$DIMSCOPE" export "$@" --to paddle -o "$WORK/plan.py" 2>"$WORK/notes" &&
        "$DIMSCOPE" export "$@" --csv --table tensors -o "$WORK/tensors.csv" 2>"$WORK/notes" &&
        "$DIMSCOPE" export "$@" --csv --table parts -o "$WORK/parts.csv" 2>"$WORK/notes" && return
    echo "not ok $what: $(head -1 "$WORK/notes")"
    return 1
}

python() { # WHAT ARGUMENTS...
    what=$1
    shift
    "$PYTHON" tests/differential/part_paddle.py "$@" 2>"$WORK/said" ||
        echo "not ok $what: $(tail -1 "$WORK/said")"
}

compare() {
    export_plan "$@" || return
    python "$1" compare "$1" "$WORK/plan.py" "$WORK/tensors.csv" "$WORK/parts.csv"
}

models=samples/models
compare "tiny-gpt megatron" $models/tiny-gpt.onnx -m dp=2,tp=2 -p megatron
compare "tiny-gpt megatron_sp" $models/tiny-gpt.onnx -m dp=2,tp=4 -p megatron_sp
compare "tiny-gpt fsdp" $models/tiny-gpt.onnx --dim batch=4,seq=16 -m dp=4 -p fsdp
compare "tiny-gpt fsdp, ranks without a sample" $models/tiny-gpt.onnx -m dp=4 -p fsdp
compare "tiny-gpt stages" $models/tiny-gpt.onnx -m pp=2,dp=2,tp=2 -p hybrid3d
compare "tiny-gpt on other ranks" $models/tiny-gpt.onnx -m "dp,tp=[[3,1],[0,2]]" -p megatron
compare "tiny-gpt, uneven" $models/tiny-gpt.onnx --dim batch=3,seq=7 -m dp=2,tp=3 -p megatron
compare "llama-tiny megatron" $models/llama-tiny.onnx -m dp=2,tp=2 -p megatron
compare "llama-tiny fsdp, uneven" $models/llama-tiny.onnx -m dp=3 -p fsdp
compare "tiny-conv dp" $models/tiny-conv.onnx -m dp=2 -p dp

export_plan "layers of Paddle" $models/tiny-gpt.onnx -m dp=2,tp=2 -p megatron &&
    python "layers of Paddle" apply "layers of Paddle" "$WORK/plan.py"
export_plan "a step of Paddle" $models/tiny-gpt.onnx --dim batch=4,seq=16 -m dp=2,tp=2 -p hybrid3d --train --set zero=1 &&
    python "a step of Paddle" states "a step of Paddle" "$WORK/plan.py"
