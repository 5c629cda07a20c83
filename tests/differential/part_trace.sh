# Traces, opened by Perfetto's own trace processor: what it reads is what was written, and it
# complains of nothing. Its program comes from the net on first use, beside the package of PyPI.
. tests/differential/lib.sh
venv perfetto perfetto==0.59.1

check() {
    name=$1
    shift
    "$PYTHON" tests/differential/trace.py "$name" "$WORK/trace.json" 2>"$WORK/said"
    status=$?
    [ $status -ne 77 ] || skip trace "Perfetto's trace_processor cannot be fetched"
    [ $status -eq 0 ] || cat "$WORK/said"
    return $status
}

M=samples/models
"$DIMSCOPE" export $M/gpt2.onnx -m dp=2,tp=4 -p megatron --trace -o "$WORK/trace.json"
check "gpt2, predicted"
"$DIMSCOPE" export $M/tiny-gpt.onnx -m pp=2,dp=2,tp=2 -p hybrid3d --trace -o "$WORK/trace.json"
check "stages, predicted"
"$DIMSCOPE" run $M/tiny-gpt.onnx -m dp=2,tp=2 -p megatron --trace "$WORK/trace.json" >/dev/null
check "tiny-gpt on four ranks, measured"
