#!/bin/sh
# run.sh - the collectives of training steps: counts by phase, kind and axes of each plan in the
# table; gradients of models against torch's; steps whose states are stored sharded. Ends with
# "N passed, N failed".
#
# tests/training/facts.jsonl  FLOPs, bytes and parameters as papers and tools print them (facts.py)
# tests/training/calculon.py  the values that Calculon validates itself with, its errors and ours
# tests/training/NAME.grad  gradients of samples/models/NAME.onnx by torch, in float64 (gradients.py made
#                       them); plans.py compares them under generated plans, PLANS=20 of each model;
#                       4 if it is not set
# tests/training/table  a line a plan: model of samples/models (.onnx where it has no ending), free dims, mesh, policy and an option
#                       of it or fuse=NAME (several: a;b), --train, then the phases forward, again, backward and update:
#                       "25AG:tp,1AR:dp" is 25 all-gathers over tp and an all-reduce over dp, "-"
#                       none. A last reshard of a gradient, which no op reads, is of the update.
#                       Counts are of one micro-batch. A last number: reductions of gradients in a step.
#                       A collective of a type other than f32 has that behind it: "8AR:tp/bf16".
#                       With precision=bf16 the model is built of bf16 (--dtype).
# Steps that recompute are run, and each value compared with one device's.
# AR all_reduce, AG all_gather, RS reduce_scatter, A2A all_to_all; others have their names.
# Slices move nothing.
cd "$(dirname "$0")/../.." || exit 1
DIMSCOPE=${DIMSCOPE:-./dimscope}
passed=0
failed=0

# moved MODEL ..: "FORWARD AGAIN BACKWARD UPDATE REDUCTIONS"
moved()
{
    "$DIMSCOPE" plan "$@" --json | python3 -c '
import collections, json, sys
short = {"all_reduce": "AR", "all_gather": "AG", "reduce_scatter": "RS", "all_to_all": "A2A"}
count = {phase: collections.Counter() for phase in ("forward", "again", "backward", "update")}
plan = json.load(sys.stdin)
dtype = {it["name"]: it["dtype"] for it in plan["tensors"]}
for it in plan["reshards"]:
    end = "" if dtype[it["tensor"]] == "f32" else "/" + dtype[it["tensor"]]
    ends = it["phase"] == "backward" and not it["uses"]
    for step in it["steps"]:
        if step["kind"] != "slice":
            name = short.get(step["kind"], step["kind"]) + ":" + "+".join(step["axes"]) + end
            count["update" if ends else it["phase"]][name] += 1
print(*(",".join(f"{n}{name}" for name, n in sorted(of.items())) or "-" for of in count.values()),
      plan["training"]["gradient_reductions"])'
}

# Layers that are alike are one row in each pass: printed once, not 32 times.
got=$("$DIMSCOPE" plan samples/models/llama-3-8b.json -m dp=2,tp=4 -p megatron --set zero=1 --train adamw |
    grep -oE '^ +layers(\[[0-9.]+\]|[.][0-9]+)( ×[0-9]+)?' | tr -s '\n ' ' ')
want=" layers[0..31] ×32 layers.31 layers[30..0] ×31 layers[0..31] ×32 "
if [ "$got" = "$want" ]; then
    passed=$((passed + 1))
else
    failed=$((failed + 1))
    printf 'layers of a step\n  got:  %s\n  want: %s\n' "$(echo "$got" | cut -c1-200)" "$want"
fi

while read -r model dims mesh policy option train forward again backward update reductions; do
    case $model in '' | '#'*) continue ;; esac
    case $model in
    */*) ;;
    *.json) model=samples/models/$model ;;
    *) model=samples/models/$model.onnx ;;
    esac
    set -- "$model" -m "$mesh" -p "$policy" --train "$train"
    [ "$dims" = - ] || set -- "$@" --dim "$dims"
    while [ "$option" != - ] && [ -n "$option" ]; do
        one=${option%%;*}
        option=${option#"$one"}
        option=${option#;}
        case $one in
        fuse=*) set -- "$@" --fuse "${one#fuse=}" ;;
        *) set -- "$@" --set "$one" ;;
        esac
    done
    case $train in *precision=bf16*) set -- "$@" --dtype bf16 ;; esac
    got=$(moved "$@")
    [ -n "$reductions" ] || got=${got% *}
    if [ "$got" = "$forward $again $backward $update${reductions:+ $reductions}" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "plan $*: '$got', not '$forward $again $backward $update $reductions'"
    fi
done <tests/training/table

# On one device, then on ranks.
for folder in tests/training/*.grad; do
    model=$(basename "$folder" .grad)
    for plan in "" "-m dp=2,tp=2 -p dp" "-m dp=2,tp=2 -p tp" "-m dp=2 -p fsdp" "-m tp=2 -p megatron_sp" \
        "-m dp=2,tp=2 -p dp --propagate strategy" \
        "--f64" "--f64 -m dp=2,tp=2 -p tp"; do
        case $model:$plan in tiny-conv:*megatron*) continue ;; esac # it is no transformer
        # shellcheck disable=SC2086
        said=$("$DIMSCOPE" run "samples/models/$model.onnx" --grad-vectors "$folder" $plan 2>&1)
        case $? in
        0) passed=$((passed + 1)) ;;
        *)
            failed=$((failed + 1))
            echo "run $model.onnx --grad-vectors $folder $plan: $said"
            ;;
        esac
    done
done

# Steps in which ops run again.
while read -r model dims plan; do
    for what in full selective "{*.mlp,block,head.*}"; do
        case $model:$what in *tiny-conv*:full | *tiny-conv*:selective | *dropout*:[!f]*) continue ;; esac
        # shellcheck disable=SC2086
        said=$("$DIMSCOPE" run "$model" --dim "$dims" $plan --set "recompute=$what" \
            --train adamw --verify 2>&1)
        status=$?
        case $status:$said in
        0:*"PASS: "*) passed=$((passed + 1)) ;;
        *)
            failed=$((failed + 1))
            echo "run $model $plan --set recompute=$what --train adamw --verify: $said"
            ;;
        esac
    done
done <<'ROWS'
samples/models/tiny-gpt.onnx batch=4,seq=8 -m dp=2 -p fsdp
samples/models/tiny-gpt.onnx batch=4,seq=8 -m tp=2 -p megatron
samples/models/tiny-gpt.onnx batch=4,seq=8 -m pp=2 -p pipeline --set micro_batches=1
samples/models/llama-tiny.onnx batch=4,seq=8 -m tp=2 -p megatron_sp
samples/models/tiny-conv.onnx batch=4 -m dp=2 -p dp
tests/training/dropout.lua batch=8 -m dp=2 -p dp
ROWS

# Steps with stored states, gradients and parameters: every value is compared with one device. dp=3
# divides few dims.
for model in tiny-gpt llama-tiny; do
    for plan in "dp=2,tp=2 -p megatron --set zero=1" "dp=2,tp=2 -p megatron --set zero=2" \
        "dp=2,tp=2 -p megatron_sp --set zero=3" "dp=3 -p fsdp" "dp=3 -p dp --set zero=1" \
        "dp=2,sh=2 -p fsdp --set zero_axis=sh" "dp=2 -p fsdp --set keep=true" \
        "dp=2,tp=2 -p megatron_sp --set keep_gathered=true --set micro_batches=3" \
        "dp=3,tp=2 -p megatron --set zero=2 --set micro_batches=3" \
        "dp=2,sh=3 -p fsdp --set zero_axis=sh --set micro_batches=2" \
        "pp=2,dp=2 -p pipeline --set zero=3 --set micro_batches=2"; do
        # shellcheck disable=SC2086
        said=$("$DIMSCOPE" run "samples/models/$model.onnx" --dim batch=6,seq=16 -m $plan \
            --train adamw,clip=1 --verify 2>&1)
        case $?:$said in
        0:*PASS*) passed=$((passed + 1)) ;;
        *)
            failed=$((failed + 1))
            echo "run $model.onnx -m $plan --train adamw,clip=1 --verify: $said"
            ;;
        esac
    done
done

# The page behind a plan is that of estimate: where the time goes, and which settings would help.
set -- samples/models/llama-3-tiny.json -m pp=2,dp=2,tp=2 -p hybrid3d --train --set micro_batches=4
for part in "WHERE THE TIME GOES" "WOULD HELP"; do
    of_plan=$("$DIMSCOPE" plan "$@" | sed -n "/^$part/,/^\$/p")
    of_estimate=$("$DIMSCOPE" estimate "$@" | sed -n "/^$part/,/^\$/p")
    if [ -n "$of_plan" ] && [ "$of_plan" = "$of_estimate" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "plan and estimate $*: '$of_plan', '$of_estimate'"
    fi
done

# What is zero but for rounding is bounded by what cancels in it.
for plan in "a=2 --set draw=1" "a=4 --set draw=1" "a=2,b=2 --set draw=4" "a=4 --set draw=3"; do
    # shellcheck disable=SC2086
    said=$("$DIMSCOPE" run tests/training/key_bias.lua -p tests/training/any.lua -m $plan --seed 1 \
        --train adamw --verify 2>&1)
    case $?:$said in
    0:*"PASS: "*) passed=$((passed + 1)) ;;
    *)
        failed=$((failed + 1))
        echo "run key_bias.lua -m $plan --train adamw --verify: $said"
        ;;
    esac
done

# What dropout keeps is drawn by the place of each element: on the ranks as on one device, bit by bit.
while read -r plan; do
    # shellcheck disable=SC2086
    said=$("$DIMSCOPE" run tests/training/masks.lua --dim batch=6 -m $plan --steps 2 --train sgd --verify --json \
        2>&1 | python3 -c '
import json, sys
run = json.load(sys.stdin)
masks = [it["max_abs"] for it in run["outputs"] if it["name"][:5] in ("inner", "outer")]
print(run["verdict"], masks)')
    if [ "$said" = "pass [0.0, 0.0, 0.0, 0.0]" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "run masks.lua -m $plan --train sgd --verify: $said"
    fi
done <<'END'
dp=2 -p dp --set recompute=full
dp=4 -p fsdp
dp=2,tp=2 -p megatron
pp=2 -p pipeline --set micro_batches=2
s=3 -p tests/training/by_place.lua
b=2,s=2,h=2 -p tests/training/by_place.lua
END

# Experts without a capacity: by ep, with tensor parallelism inside, over stages, in parts that do
# not divide, beside shared experts.
while read -r plan; do
    # shellcheck disable=SC2086
    said=$("$DIMSCOPE" run tests/mpi/experts.json --dim batch=12,seq=6 -m $plan --train adamw --verify 2>&1)
    case $?:$said in
    0:*"PASS: "*) passed=$((passed + 1)) ;;
    *)
        failed=$((failed + 1))
        echo "run experts.json -m $plan --train adamw --verify: $said"
        ;;
    esac
done <<END
dp=2,tp=2,ep=2 -p hybrid3d
ep=3 -p expert --set load=worst --set zero=1
pp=2,ep=2 -p samples/policies/moe_papers.lua --set virtual=1 --set schedule=1f1b --set micro_batches=4
ep=2 -p expert --set capacity=0.5
END

tests/training/steps.sh >build/steps.log
python3 tests/training/facts.py >build/facts.log
python3 tests/training/plans.py >build/plans.log
python3 tests/training/calculon.py >build/calculon.log
for log in build/steps.log build/facts.log build/plans.log build/calculon.log; do
    sed '$d' $log
    passed=$((passed + $(tail -n 1 $log | cut -d' ' -f1)))
    failed=$((failed + $(tail -n 1 $log | cut -d' ' -f3)))
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
