#!/bin/sh
# run.sh - plans with a known bug of training are rejected by check, by name and with the line of the
# policy, and by run --verify, by value; those without one are not. Ends with "N passed, N failed".
#
# tests/broken/table  a line a policy of samples/broken: the code of its finding, a model, a mesh,
#                     and the first wrong value of a run of it
cd "$(dirname "$0")/../.." || exit 1
DIMSCOPE=${DIMSCOPE:-./dimscope}
passed=0
failed=0
codes='\[(gradient|norm|value)-[a-z-]*\]|\[(drawn-apart|drawn-repeated|draws-nothing|wrong-reduction|averaged-needlessly|assumed-sharded|reduced-each-micro-batch)\]'

# expect TITLE CONDITION ..: counts one test.
expect()
{
    title=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$title: $(echo "$said" | tail -n 5 | cut -c 1-400)"
    fi
}

# says STATUS TEXT: of the last command.
says()
{
    [ "$status" -eq "$1" ] && echo "$said" | grep -qF -- "$2"
}

finds_nothing()
{
    [ "$status" -eq 0 ] && ! echo "$said" | grep -qE "$codes"
}

dimscope()
{
    said=$("$DIMSCOPE" "$@" 2>&1)
    status=$?
}

for file in samples/broken/*.lua; do
    case $file in */each_micro_batch.lua | */states_apart.lua) continue ;; esac
    grep -q "^$(basename "$file" .lua) " tests/broken/table || expect "$file is not in the table" false
done

while read -r policy code model mesh value; do
    case $policy in '' | '#'*) continue ;; esac
    set -- "$model" -m "$mesh" -p "samples/broken/$policy.lua"
    [ "$model" = samples/models/tiny-gpt.onnx ] || set -- "$@" --dim batch=8
    set -- "$@" --train adamw,clip=1
    line=$(grep -n 'graph:assume' "samples/broken/$policy.lua" | head -n 1 | cut -d: -f1)
    dimscope check "$@"
    expect "check $policy, $code" says 1 "[$code]"
    expect "check $policy, line" says 1 "$policy.lua:$line: error: $value is"
    dimscope run "$@" --verify
    expect "run $policy, $value" says 1 "FAIL: the first wrong value is $value,"
    grep -q "^-- Check: $code\.  Run: the first wrong value is $value\.\$" "samples/broken/$policy.lua" ||
        expect "the comment of $policy.lua says otherwise" false
done <tests/broken/table

# DTensor's strategies shard the norms along the sequence: there the sum of doubled_norms is right.
set -- samples/models/tiny-gpt.onnx -m dp=2,tp=2 -p samples/broken/doubled_norms.lua
set -- "$@" --train adamw,clip=1 --propagate strategy
dimscope check "$@"
expect "an assumption that is true" finds_nothing
dimscope run "$@" --verify
expect "an assumption that is true, by value" says 0 "PASS: "

# Draws by rank are right for what is sharded, equal ones for what is replicated.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
while read -r drawn value; do
    sed "s|\\*Dropout\\*out|$value|" "samples/broken/dropout_$drawn.lua" >"$folder/right.lua"
    set -- tests/training/dropout.lua -m dp=2,tp=2 --dim batch=8 -p "$folder/right.lua" --train adamw
    dimscope check "$@"
    expect "drawn $drawn where that is right" finds_nothing
    dimscope run "$@" --verify
    expect "drawn $drawn where that is right, by value" says 0 "PASS: "
done <<'END'
by_rank Dropout out
alike Dropout_1 out
END

# The last assumption about a value and an axis holds: here it is what the op makes.
sed 's/^    return graph/    graph:assume("*.weight~grad", "reduced", "tp")\n&/' \
    samples/broken/doubled_norms.lua >"$folder/replaced.lua"
dimscope check samples/models/tiny-gpt.onnx -m dp=2,tp=2 -p "$folder/replaced.lua" --train adamw
expect "a later assumption" says 1 "transformer.ln_f.bias~grad is complete"
expect "a later assumption, of 10" says 1 "(and 4 more like it) [gradient-doubled]"

# Reductions that each micro-batch repeats: the values are right, the budget is not.
set -- samples/models/tiny-gpt.onnx -m dp=2,pp=2 --train adamw,clip=1 --max-grad-reduces 29 -p
dimscope check "$@" samples/broken/each_micro_batch.lua
expect "each micro-batch reduces" says 1 "[reduced-each-micro-batch]"
expect "its line" says 1 "each_micro_batch.lua:15: warning: /transformer/Cast_1_output_0~grad is reduced in each of 16"
expect "28 once a step, one for each micro-batch" says 1 "OVER  grad-reduces 44 of 29"
dimscope check "$@" pipeline
expect "one reduction a step" says 0 "ok    grad-reduces 29 of 29"

# States of one parameter that lie apart: the values are right, and the update moves them.
set -- samples/models/tiny-gpt.onnx -m dp=2,tp=2 --train adamw,clip=1 -p
dimscope check "$@" samples/broken/states_apart.lua
expect "states apart" says 0 "[states-differ]"
expect "their line" says 0 "states_apart.lua:14: warning: transformer.h.0.mlp.c_fc.weight~v is stored as"
dimscope check "$@" megatron
expect "states alike" finds_nothing
expect "no state lies apart" test "${said##*states-differ*}"

# What is legal and needless, wrong before the backward pass, or without effect.
while read -r level code pattern as axes; do
    as=$(echo "$as" | tr _ ' ')
    cat >"$folder/assume.lua" <<END
include "megatron"
local megatron = PAS
function PAS(graph, resource)
    megatron(graph, resource)
    graph:assume("$pattern", "$as", "$axes")
    return graph
end
END
    dimscope check samples/models/tiny-gpt.onnx -m dp=2,tp=2 -p "$folder/assume.lua" --train adamw
    [ "$level" = error ] && code_of=1 || code_of=0
    expect "$pattern $as over $axes: $level $code" says "$code_of" "[$code]"
    expect "$pattern $as over $axes: line" says "$code_of" "assume.lua:5: $level: "
done <<'END'
warning averaged-needlessly *.ln_f.weight~grad mean tp
note assumed-sharded *.ln_f.out~grad partial dp
error value-partial */c_proj/Gemm_output_0 reduced tp
error value-doubled */ln_1/*_output_0 partial tp
error wrong-reduction */c_proj/Gemm_output_0 mean tp
error wrong-reduction loss~max reduced tp
note draws-nothing loss~max drawn_by_rank tp
END

# why names the line of the assumption, not a way on which the value became partial.
set -- samples/models/tiny-gpt.onnx -m dp=2,tp=2 --train adamw transformer.ln_f.weight~grad -p
dimscope why "$@" samples/broken/doubled_norms.lua
expect "why it is partial" says 0 "1 pin  transformer.ln_f.weight~grad assumed partial  doubled_norms.lua:14"
dimscope why "$@" samples/broken/unsummed_norms.lua
expect "why it is not" says 0 "1 pin  transformer.ln_f.weight~grad assumed reduced  unsummed_norms.lua:14"

# Assumptions go through a plan file. Gradients are values of a training step alone.
dimscope plan samples/models/tiny-gpt.onnx -m dp=2,tp=2 -p samples/broken/doubled_norms.lua \
    -o "$folder/plan.json"
dimscope check "$folder/plan.json" --train adamw
expect "a plan file with an assumption" says 1 "[gradient-doubled]"
dimscope check samples/models/tiny-gpt.onnx -m dp=2,tp=2 -p samples/broken/doubled_norms.lua
expect "gradients without --train" says 0 "add --train"

# Plans without a bug: what the shipped policies make of a step.
while read -r model mesh policy; do
    dimscope check "samples/models/$model" -m "$mesh" -p "$policy" --train adamw,clip=1
    expect "check $model -m $mesh -p $policy" finds_nothing
done <<'END'
tiny-gpt.onnx dp=2,tp=4 dp
tiny-gpt.onnx dp=2,tp=4 tp
tiny-gpt.onnx dp=2,tp=4 megatron
tiny-gpt.onnx dp=2,tp=4 megatron_sp
tiny-gpt.onnx dp=4 fsdp
tiny-gpt.onnx dp=2,cp=2 context
tiny-gpt.onnx dp=2,pp=2 pipeline
tiny-gpt.onnx dp=2,tp=2,pp=2 hybrid3d
llama-tiny.onnx dp=2,tp=4 megatron_sp
llama-tiny.onnx dp=2,tp=4 fsdp
llama-3-8b.json dp=2,tp=2,pp=2 hybrid3d
END

# The budget of reductions: 29 parameters.
set -- samples/models/tiny-gpt.onnx -m dp=2,tp=2 -p megatron
dimscope check "$@" --train adamw --max-grad-reduces 29
expect "29 reductions" says 0 "ok    grad-reduces 29 of 29"
dimscope check "$@" --train adamw --max-grad-reduces 28
expect "29 reductions, 28 allowed" says 1 "OVER  grad-reduces 29 of 28"
dimscope check "$@" --max-grad-reduces 28
expect "reductions without --train" says 2 "add --train"
dimscope check "$@" --train adamw --max-grad-reduces many
expect "a budget that is no number" says 2 "--max-grad-reduces cannot be 'many'"

# What was not counted is not called ok.
set -- samples/models/tiny-gpt.onnx -m dp=2,pp=2 -p pipeline --max-peak 1GiB
dimscope check "$@"
expect "the peak of a schedule that trains, forward only" says 1 "?     peak"
dimscope check "$@" --train adamw
expect "the peak of a training step" says 0 "ok    peak"
dimscope check "$@" --set training=false
expect "the peak of inference" says 0 "ok    peak"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
