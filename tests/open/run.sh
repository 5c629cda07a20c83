#!/bin/sh
# run.sh - models of torch.export: every value against the truth of torch, runs against its vectors
# on one device and under every cut, operators without a rule, faulty archives. Ends with "N passed,
# N failed".
#
# The archives are made by torch 2.15; tests/open/check_pt2.py says what lies beside them.
cd "$(dirname "$0")/../.." || exit 1
DIMSCOPE=${DIMSCOPE:-./dimscope}
passed=0
failed=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# expect TITLE COMMAND ..: counts one test.
expect()
{
    title=$1
    shift
    if said=$("$@" 2>&1); then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$title: $(echo "$said" | tail -n 12 | cut -c 1-400)"
    fi
}

says()
{
    text=$1
    shift
    "$@" 2>&1 | grep -F -- "$text"
}

expect "values and vectors" tests/open/check_pt2.py "$DIMSCOPE" tests/open
for model in complex control_flow kvcache layers recurrent resample scan sizes tied_lm; do
    expect "$model under cuts" "$DIMSCOPE" run tests/open/$model.pt2 --vectors \
        tests/open/$model.io -m x=2 --cuts all
done
expect "gradients through complex numbers" "$DIMSCOPE" run tests/open/complex.pt2 --grad-vectors \
    tests/open/complex.grad -m x=2 --cuts all
custom=tests/open/custom_op.pt2
expect "an operator without a rule" says \
    'register_op("a^ b^ c^ -> a^ b^ 2, a^ b^ 2", {name="mylib::topk_route"})' \
    "$DIMSCOPE" check $custom -m x=2
expect "the lines of the findings" says "the plan is legal" \
    "$DIMSCOPE" check $custom -m x=2 -p tests/open/ops.lua
expect "no finding is left" sh -c \
    "! '$DIMSCOPE' check $custom -m x=2 -p tests/open/ops.lua | grep no-rule"
expect "a loss that no kernel computes as it is called" says \
    "no kernel for torch.export::cross_entropy_loss" \
    "$DIMSCOPE" run tests/open/bare/weighted_loss.pt2 -m x=3
expect "dims by input and axis" says "x.0" "$DIMSCOPE" info tests/open/tied_lm.pt2
expect "other sizes" says "8,4,32" \
    "$DIMSCOPE" info tests/open/tied_lm.pt2 --dim x.0=8,x.1=4
expect "the other name of a tied parameter" says "tok.weight" \
    "$DIMSCOPE" why tests/open/tied_lm.pt2 head.weight.0 -m x=2
expect "the name of a tied parameter in an archive without weights" says "head.weight  f32  12,4" \
    "$DIMSCOPE" why tests/open/bare/tied_bare.pt2 tok.weight -m x=2
expect "styles tie what was one parameter" says "model.head.weight = model.e.weight" \
    "$DIMSCOPE" export tests/open/bare/tied_tp.pt2 -m dp=2,tp=2 -p megatron --to dtensor
for form in inplace mutations; do # torch.export.export(), and the same after run_decompositions()
    expect "what a step changes in place" says "'steps' (and 1 more) is changed in place" \
        "$DIMSCOPE" check tests/open/bare/$form.pt2 -m dp=2 -p dp --train sgd
done
expect "no style prepares the first of several arguments" sh -c "! '$DIMSCOPE' export \
    tests/open/bare/tied_tp.pt2 -m dp=2,tp=2 -p megatron --to dtensor | grep PrepareModuleInput"
expect "buffers are listed apart" says "BUFFERS" "$DIMSCOPE" info tests/open/tied_lm.pt2
expect "buffers do not train" says "trains   3,760 parameters" \
    "$DIMSCOPE" plan tests/open/tied_lm.pt2 -m x=2 --train
expect "no buffer is stored sharded by FSDP" sh -c \
    "'$DIMSCOPE' plan tests/open/tied_lm.pt2 -m dp=2 -p fsdp --train | grep -E '^pos +f32 +64,16 '"
python3 -c '
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as old, zipfile.ZipFile(sys.argv[2], "w") as new:
    for name in old.namelist():
        text = old.read(name)
        if name.endswith("model.json"):
            text = text.replace(b"\"requires_grad\": true", b"\"requires_grad\": false", 1)
        new.writestr(name, text)
' tests/open/loss.pt2 "$scratch/frozen.pt2"
expect "a parameter without a gradient does not train" sh -c "
    of() { '$DIMSCOPE' plan \"\$1\" -m x=2 --train | sed -n 's/^trains *\([0-9,]*\) .*/\1/p'; }
    all=\$(of tests/open/loss.pt2) some=\$(of '$scratch/frozen.pt2')
    test -n \"\$some\" && test \"\$all\" != \"\$some\""
python3 -c '
import json, struct, sys
names = ["tok.weight", "other.weight"]
head = {name: {"dtype": "F32", "shape": [12, 4], "data_offsets": [192 * i, 192 * i + 192]} for i, name in enumerate(names)}
text = json.dumps(head).encode()
rows = struct.pack("<96f", *(i % 7 - 3 for i in range(96)))
open(sys.argv[1], "wb").write(struct.pack("<Q", len(text)) + text + rows)' "$scratch/tied.safetensors"
expect "a checkpoint with the other name of a tied parameter" "$DIMSCOPE" run \
    tests/open/bare/tied_bare.pt2 --weights "$scratch/tied.safetensors" -m x=2 --verify
expect "a training step" "$DIMSCOPE" run tests/open/tied_lm.pt2 --train adamw -m x=2 --verify

expect "files that hold a training step" tests/open/check_step.py "$DIMSCOPE"
expect "a joint graph under cuts" "$DIMSCOPE" run tests/open/loss_joint.pt2 --vectors \
    tests/open/loss_joint.io -m x=2 --cuts all
expect "a tp_plan, a checkpoint's metadata" tests/open/check_pins.py "$DIMSCOPE"

said=$(tests/open/broken_pt2.py "$DIMSCOPE" tests/open/tied_lm.pt2 "$scratch")
counts=$(echo "$said" | tail -n 1)
echo "$said" | sed '$d'
passed=$((passed + ${counts%% *}))
bad=${counts#*, }
failed=$((failed + ${bad%% *}))
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
