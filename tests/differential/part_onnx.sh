# ONNX's multi-device annotations, read by the onnx package and checked by its checker.
. tests/differential/lib.sh
venv jax onnx==1.23.2 numpy jax==0.10.2

check() {
    name=$1
    shift
    "$DIMSCOPE" export "$@" --onnx -o "$WORK/model.onnx" 2>/dev/null &&
        "$DIMSCOPE" export "$@" --csv --table parts -o "$WORK/parts.csv" &&
        "$PYTHON" tests/differential/onnx_devices.py "$name" "$1" "$WORK/model.onnx" "$WORK/parts.csv"
}

M=samples/models
check "tiny-gpt megatron" $M/tiny-gpt.onnx -m dp=2,tp=2 -p megatron
check "tiny-gpt on devices 3 1 2 0" $M/tiny-gpt.onnx -m "dp,tp=[[3,1],[2,0]]" -p megatron
check "gpt2 megatron_sp" $M/gpt2.onnx -m dp=2,tp=4 -p megatron_sp
check "gpt2 in stages" $M/gpt2.onnx -m pp=2,dp=2,tp=2 -p hybrid3d
check "llama-tiny fsdp" $M/llama-tiny.onnx -m dp=2 -p fsdp
check "resnet50 dp" $M/resnet50.onnx -m dp=4 -p dp
