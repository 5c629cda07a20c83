#!/bin/sh
# Reports in a real browser: no errors, no network access, narrow and dark screens, with and without
# scripts, printed.
. tests/differential/lib.sh
for browser in chromium chromium-browser google-chrome; do
    command -v "$browser" >/dev/null && break
done
command -v "$browser" >/dev/null || skip html "there is no chromium"
command -v python3 >/dev/null || skip html "there is no python3"

cat >"$WORK/odd.lua" <<'LUA'
local odd = 'a"b\\<i>&amp;]]></td>{|}%n`@x` --> <script>alert(1)</script>'
function MODEL(model, config)
    local x = model:input(odd, "f32", {8, 64})
    local y = model:module(odd, function()
        return model:op("MatMul", {x, model:param("\u{202e}w", {64, 64})})
    end)
    model:output(model:op("Relu", {y}), string.rep("long", 99))
end
LUA
$DIMSCOPE plan samples/models/gpt2.onnx -m dp=2,tp=4 -p megatron -o "$WORK/a.json" >/dev/null
$DIMSCOPE plan samples/models/gpt2.onnx -m dp=8 -p fsdp -o "$WORK/b.json" >/dev/null
$DIMSCOPE export samples/models/gpt2.onnx -m dp=2,tp=4 -p megatron --html -o "$WORK/gpt2.html" &&
    $DIMSCOPE export samples/models/gpt2.onnx -m pp=2,dp=2,tp=2 -p hybrid3d --html \
        -o "$WORK/stages.html" &&
    $DIMSCOPE export samples/models/llama-3-8b.json -m pp=2,dp=2,tp=4 -p hybrid3d --train --html \
        -o "$WORK/step.html" &&
    $DIMSCOPE export samples/models/mixtral-8x7b.json -m dp=2,ep=4,tp=2 -p expert --train --html \
        -o "$WORK/experts.html" 2>/dev/null &&
    $DIMSCOPE export samples/models/vit_b_16.onnx -m dp=2,tp=4 -p megatron --train --html \
        -o "$WORK/vit.html" 2>/dev/null &&
    $DIMSCOPE export "$WORK/a.json" "$WORK/b.json" --html -o "$WORK/diff.html" &&
    $DIMSCOPE export samples/models/deepseek-v3.json -m dp=2,tp=4 -p megatron --html \
        -o "$WORK/deepseek.html" &&
    $DIMSCOPE export samples/models/gpt2.onnx -m dp=2,tp=4 -p megatron --svg --kind block \
        -o "$WORK/block.svg" &&
    $DIMSCOPE export "$WORK/odd.lua" -m dp=2 -p dp --html -o "$WORK/odd.html" || exit 1
python3 tests/differential/part_html.py "$browser" "$WORK" gpt2 stages step experts vit diff deepseek odd
