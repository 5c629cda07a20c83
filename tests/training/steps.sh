#!/bin/sh
# steps.sh - training steps in a row: each schedule executed with micro-batches, every value compared
# with one device's; and one loss curve under seven plans. Ends with "N passed, N failed".
cd "$(dirname "$0")/../.." || exit 1
DIMSCOPE=${DIMSCOPE:-./dimscope}
model=tests/training/gpt.json
train=adamw,lr=0.003,clip=1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
passed=0
failed=0

# expect TITLE COMMAND..: it succeeds
expect()
{
    title=$1
    shift
    if said=$("$@" 2>&1); then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$title: $said"
    fi
}

# The tied embedding is on the first stage and on the last one.
while read -r schedule stages plan; do
    case $schedule in '') continue ;; esac
    # shellcheck disable=SC2086
    expect "schedule $schedule" "$DIMSCOPE" run $model --dim batch=2,seq=8 --train $train --steps 2 \
        --verify $plan --set micro_batches=4 --set "schedule=$schedule" --set "virtual=$stages"
done <<'ROWS'
gpipe                    1 -m pp=4 -p pipeline
1f1b                     1 -m pp=2,dp=2 -p pipeline
eager_1f1b               1 -m pp=4 -p pipeline
1f1b_plus                1 -m pp=4 -p pipeline
1f1b_interleaved         2 -m pp=2,tp=2 -p hybrid3d
looped_bfs               2 -m pp=2 -p pipeline
interleaved_zero_bubble  2 -m pp=2 -p pipeline
zb1p                     1 -m pp=4 -p pipeline
zb2p                     1 -m pp=2,dp=2 -p pipeline
zbv                      2 -m pp=2,tp=2 -p hybrid3d
dualpipev                2 -m pp=2,dp=2 -p pipeline
dualpipe                 1 -m pp=4 -p pipeline
dualpipe                 1 -m pp=4,tp=2 -p hybrid3d
dualpipe                 1 -m pp=2,dp=2 -p pipeline --set micro_batch=1
ROWS

# Gradients in fp16 that are too small for the type: each addend of a rank is rounded to a multiple of
# 2^-24.
expect "small gradients in fp16" "$DIMSCOPE" run samples/models/llama-3-tiny.json --dim batch=16,seq=8 \
    --train auto -m dp=8 -p dp --set micro_batches=2 --set precision=fp16 --verify
# A part of a product may be much larger than its sum with the bias, which alone is rounded.
expect "parts of products in fp16" "$DIMSCOPE" run $model --dim batch=4,seq=12 --train auto -m tp=2 \
    -p megatron --set precision=fp16 --verify

# One weight on every stage: each updates its own, by the sum of the gradients of all. What is made of
# a weight comes from one stage.
while read -r model_of_one plan; do
    case $plan in '') continue ;; esac
    # shellcheck disable=SC2086
    expect "$model_of_one, $plan" "$DIMSCOPE" run "tests/training/$model_of_one" --steps 2 --verify $plan
done <<'ROWS'
one_weight.lua --train clip=1 -m pp=4 -p pipeline --set micro_batches=4
one_weight.lua --train clip=1 -m pp=3 -p pipeline --set micro_batches=2
one_weight.lua --train momentum -m pp=2,dp=2 -p hybrid3d --set micro_batches=2 --set zero=1
one_weight.lua --train auto -m pp=2 -p pipeline --set micro_batches=2 --set virtual=2 --set schedule=1f1b_interleaved
alias.lua --train auto -m pp=2 -p pipeline --set micro_batches=4 --set virtual=2 --set schedule=1f1b_interleaved
alias.lua --train auto -m pp=2 -p pipeline --set micro_batches=4 --set virtual=2 --set schedule=zbv
made.lua --train sgd -m pp=2 -p pipeline --set micro_batches=4
made.lua --train auto -m pp=2 -p pipeline --set micro_batches=8 --set virtual=2 --set schedule=zbv
made.lua --train auto -m pp=2,dp=2 -p hybrid3d --set micro_batches=2 --set recompute=full --set virtual=2 --set schedule=1f1b_interleaved
ROWS

# A loss that is no number is named, and has no sign.
"$DIMSCOPE" run $model --dim batch=4,seq=8 --train sgd,lr=1e30 --steps 3 -m dp=2 -p dp \
    --loss-csv "$folder/nan.csv" >"$folder/said" 2>&1
if grep -qx "note: the loss of step 2 is not finite" "$folder/said" &&
    [ "$(cut -d, -f2 "$folder/nan.csv" | tail -n 1)" = nan ]; then
    passed=$((passed + 1))
else
    failed=$((failed + 1))
    echo "a loss that is no number: $(grep note: "$folder/said")"
fi

# 16 bits: what ranks hold in addends is rounded more often than on one device.
while read -r spec plan; do
    case $spec in '') continue ;; esac
    # shellcheck disable=SC2086
    expect "16 bits, $spec $plan" "$DIMSCOPE" run samples/models/llama-3-tiny.json --dim \
        batch=4,seq=8 --steps 2 --verify --train $spec $plan
done <<'ROWS'
adamw,precision=bf16,grads=f32      --dtype bf16 -m dp=2,tp=2 -p megatron --set zero=1
adamw,precision=bf16,grads=f32      --dtype bf16 -m tp=4 -p megatron_sp
adamw,scale=dynamic,clip=1          --dtype f16 -m dp=4 -p fsdp
ROWS

# curve NAME PLAN..: 200 steps
curve()
{
    name=$1
    shift
    "$DIMSCOPE" run $model --dim batch=4,seq=16 --train $train --steps 200 --loss-csv \
        "$folder/$name" "$@" >"$folder/said" 2>&1 || cat "$folder/said"
}

# alike A B: the losses of each step, and the model learns
alike()
{
    awk -F, -v steps=200 '
        FNR == 1 { file++; next }
        file == 1 { loss[FNR] = $2 }
        file == 2 {
            n++
            off = ($2 - loss[FNR]) / loss[FNR]
            worst = off * off > worst * worst ? off : worst
            first = FNR == 2 ? $2 : first
            last = $2
        }
        END {
            if (n != steps || worst * worst > 1e-8 || last > 0.6 * first) {
                print n " steps, differing by up to " worst ", from " first " to " last
                exit 1
            }
        }' "$folder/$1" "$folder/$2"
}

curve one -m dp=1 -p dp
curve four -m dp=1 -p tests/training/micro_batches.lua
while read -r name like plan; do
    case $name in '') continue ;; esac
    # shellcheck disable=SC2086
    curve "$name" $plan
    expect "200 steps under $name" alike "$like" "$name"
done <<'ROWS'
dp     one  -m dp=4 -p dp
zero1  one  -m dp=4 -p dp --set zero=1
zero2  one  -m dp=4 -p dp --set zero=2
fsdp   one  -m dp=4 -p fsdp
tp_sp  one  -m dp=2,tp=2 -p megatron_sp
pp     four -m pp=4 -p pipeline --set micro_batches=4
ROWS

# bits FILE FILTER PLAN..: after two steps, of the outputs that pass the filter in Python.
bits()
{
    file=$1
    filter=$2
    shift 2
    "$DIMSCOPE" run $model --dim batch=2,seq=8 --train adamw --steps 2 --deterministic --verify --json "$@" |
        python3 -c "import json, sys
print([(o['name'], o['bits']) for o in json.load(sys.stdin)['outputs'] if $filter])" >"$folder/$file"
    [ "$(wc -c <"$folder/$file")" -gt 30 ]
}

# Schedules change the order of the work, and storage where values lie, not the order of the sums:
# the same bits. Checksums are of all copies on all ranks, so of stored values they differ.
pipeline="-m pp=4 -p pipeline --set micro_batches=4"
# shellcheck disable=SC2086
bits want True $pipeline --set schedule=gpipe
for schedule in 1f1b zb1p; do
    # shellcheck disable=SC2086
    bits got True $pipeline --set schedule=$schedule
    expect "$schedule has the bits of gpipe" cmp "$folder/got" "$folder/want"
done
computed="o['name'] in ('logits', 'loss')"
bits want "$computed" -m dp=2 -p dp
for setting in zero=1 zero=3 recompute=full; do
    bits got "$computed" -m dp=2 -p dp --set $setting
    expect "$setting has the bits of plain dp" cmp "$folder/got" "$folder/want"
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
