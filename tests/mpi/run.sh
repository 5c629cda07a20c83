#!/bin/bash
# run.sh - the program under mpirun: ranks as processes compute the same bits as the host's threads;
# a process that dies, hangs or diverges ends the run, and the error names it.
cd "$(dirname "$0")/../.." || exit 1
DIMSCOPE=${DIMSCOPE:-./dimscope}
models=samples/models
build=$(dirname "$DIMSCOPE")
[ "$build" != . ] || build=build/release
passed=0
failed=0

finish()
{
    [ "$failed" -eq 0 ] || cat "$dir"/failures
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
    exit
}
if ! command -v mpirun >/dev/null || ! [ -e "$(dirname "$DIMSCOPE")/dimscope_mpi.so" ]; then
    echo "skipped: mpi, since Open MPI is not here"
    finish
fi

dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
. tests/mpi/env.sh
# Open MPI keeps some memory; a crash is ours to say.
export ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0:handle_segv=1:verify_asan_link_order=0

# same WHAT GOT WANT
same()
{
    if [ "$2" = "$3" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf '%s\n  got:  %s\n  want: %s\n' "$1" "$2" "$3" >>"$dir/failures"
    fi
}

# over N ARGS: the run on N processes; answers are in $dir/out and $dir/err, its code in $code
over()
{
    timeout 60 mpirun $quiet -n "$1" "$DIMSCOPE" run "${@:2}" --backend mpi </dev/null >"$dir/out" 2>"$dir/err"
    code=$?
}

# What does not depend on how long things took; bits are of all elements of an output on all ranks.
facts()
{
    python3 -c '
import json, sys
report = json.load(sys.stdin)
print(report["ok"], report["ranks"], report["values_checked"], report["peak_bytes"],
      report["first_bad"], [(o["name"], o["bits"]) for o in report["outputs"]],
      len(report["ops"]))' <"$1"
}

# ---- single steps, against the rule they follow

for mesh in a=3,b=2 x=4 a=2,b=2,c=2; do
    ranks=$(($(echo "$mesh" | sed 's/[a-z]*=//g; s/,/*/g')))
    answer=$(timeout 100 mpirun $quiet -n $ranks "$build/mpi/test_steps" $mesh 2>&1)
    same "steps on $mesh" "$answer" "0 failed"
done

# ---- the same bits

while read -r n model mesh policy; do
    what="$model on $mesh by $policy"
    set -- "$model" -m "$mesh" -p "$policy" --deterministic --verify --repeat 2 --json
    "$DIMSCOPE" run "$@" >"$dir/host"
    over "$n" "$@"
    same "$what: ends well" "$code" 0
    same "$what: one process prints" "$(wc -l <"$dir/out")" 1
    same "$what: the bits of the host" "$(facts "$dir/out")" "$(facts "$dir/host")"
done <<END
4 $models/tiny-gpt.onnx tp=4 megatron
8 $models/tiny-gpt.onnx dp=2,tp=4 megatron
8 $models/tiny-gpt.onnx dp=2,tp=4 fsdp
3 $models/tiny-gpt.onnx tp=3 tp
8 $models/tiny-gpt.onnx pp=2,dp=2,tp=2 hybrid3d
4 $models/tiny-gpt.onnx pp=4 pipeline
4 $models/llama-tiny.onnx dp=2,tp=2 megatron
4 $models/llama-tiny.onnx tp=4 megatron_sp
4 $models/tiny-conv.onnx dp=4 dp
4 $models/tiny-conv.onnx dp=2,tp=2 fsdp
1 $models/tiny-conv.onnx dp=1 dp
4 $models/tiny-conv.onnx sp=4 tests/training/rows_of_images.lua
4 tests/mpi/windows.lua sp=4 tests/mpi/rows.lua
END

over 4 tests/mpi/windows.lua -m sp=4 -p tests/mpi/rows.lua --train sgd --verify
same "gradients of windows and of running sums" "$code $(grep -c '^PASS' "$dir/out")" "0 1"

over 4 $models/llama-3-tiny.json --dim batch=2,seq=16 -m cp=4 -p context --set style=ring \
    --train sgd --verify
same "keys and values around a ring" "$code $(grep -c '^PASS' "$dir/out")" "0 1"

over 4 $models/llama-3-tiny.json --dim batch=2,seq=16 -m tp=4 -p tests/mpi/rings.lua --train sgd --verify --json
same "matmuls whose operands and sums go around a ring, and their gradients" \
    "$code $(grep -o '"verdict":"[a-z]*"' "$dir/out") $(grep -o '"RG tp"' "$dir/out" | grep -c .)" '0 "verdict":"pass" 42'

over 2 tests/mpi/collect.onnx -m dp=2 -p tests/mpi/collect.lua --verify
same "values that a loop collects, each rank its part" "$code $(grep -c '^PASS' "$dir/out")" "0 1"

while read -r name op dim; do
    folder=tests/contributed/models/$name
    over 4 $folder/model.onnx --inputs $folder/test_data_set_0 -m p=2,x=2 -p tests/mpi/sequences.lua \
        --set op="$op" --set dim="$dim" --verify
    same "elements of sequences, sharded and sent to another stage: $name" \
        "$code $(grep -c '^PASS' "$dir/out")" "0 1"
done <<END
map_split ConcatFromSequence_4 1
loop_insert_front SequenceErase_10 1
loop_insert_front ConcatFromSequence_12 0
loop_reads_last ConcatFromSequence_10 0
if_sequences_1 SequenceInsert_5 0
if_empty_0 SequenceInsert_4 0
END

over 4 tests/mpi/experts.json --dim batch=8,seq=6 -m dp=2,ep=2 -p expert --train sgd --verify
same "rows that a router sends to experts, and their gradients" \
    "$code $(grep -c '^PASS' "$dir/out")" "0 1"

# ---- an exchange of rows that goes wrong: what the last rank gets is found where it is moved

mpicc -shared -fPIC -o "$dir/libbroken.so" tests/mpi/broken.c -lm || exit 1
ways="4 10"
[ -z "$DIMSCOPE_LONG" ] || ways="0 1 2 3 4 5 6 7 8 9 10"
routed="tests/mpi/experts.json --dim batch=4,seq=6 -m ep=2 -p expert --verify"
while read -r call place; do
    for way in $ways; do
        export BROKEN_CALL=$call BROKEN_WAY=$way BROKEN_FLOATS=16 # a row of either exchange
        # shellcheck disable=SC2086
        LD_PRELOAD="$dir/libbroken.so" over 2 $routed
        same "exchange $call, broken in way $way" "$code $(grep '^FAIL' "$dir/out")" \
            "1 FAIL: the first wrong value is $place, from the load or reshard of $place"
    done
done <<END
0 model.layers.1.mlp.dispatch.out
1 model.layers.1.mlp.experts.down_proj.out
END

# ---- two hosts, which are two network namespaces

while read -r args; do
    # shellcheck disable=SC2086
    set -- $args --deterministic --verify --json
    timeout 100 tests/mpi/two_hosts.sh 4 "$DIMSCOPE" run "$@" --backend mpi </dev/null >"$dir/out" 2>"$dir/err"
    code=$?
    if [ $code = 77 ]; then
        echo "skipped: two hosts, since network namespaces cannot be made here"
        break
    fi
    "$DIMSCOPE" run "$@" >"$dir/host"
    same "two hosts, $args: ends well" "$code" 0
    same "two hosts, $args: the bits of one" "$(facts "$dir/out")" "$(facts "$dir/host")"
    same "two hosts, $args: over the cable" "$(($(tail -n 1 "$dir/err") > 20000))" 1
done <<END
$models/tiny-gpt.onnx -m dp=2,tp=2 -p megatron
tests/mpi/experts.json --dim batch=8,seq=6 -m ep=4 -p expert
END

over 4 $models/tiny-gpt.onnx -m dp=2,tp=2 -p megatron --verify
same "the text says what ran it" "$code $(head -n 1 "$dir/out" | cut -d' ' -f1-5)" "0 4 ranks on the mpi"
same "and that it is right" "$(grep -c '^PASS' "$dir/out")" 1

over 4 $models/tiny-gpt.onnx -m dp=2,tp=2 -p megatron --trace "$dir/trace.json"
same "the trace has all ranks, on one clock" "$(python3 -c '
import json, sys
spans = [e for e in json.load(open(sys.argv[1]))["traceEvents"] if e["ph"] == "X" and e["pid"] == 2]
print(sorted({e["tid"] for e in spans}), all(0 <= e["ts"] < 60e6 for e in spans))' "$dir/trace.json")" \
    "[1, 2, 3, 4, 5, 6, 7, 8] True"

# ---- processes that are too few, too many, or do other things

# refused WHAT CODE TEXT
refused()
{
    same "$1: exit code" "$code" "$2"
    same "$1: says it once" "$(grep -cF -- "$3" "$dir/err")" 1
    same "$1: prints nothing else" "$(cat "$dir/out")" ""
}

gpt="$models/tiny-gpt.onnx -p megatron"
over 3 $gpt -m tp=4
refused "three for four ranks" 2 "3 processes cannot share 4 ranks evenly"
same "and how it is meant" "$(grep ^hint "$dir/err")" "hint: mpirun -n 4 .."
over 2 $gpt -m tp=4
refused "two for four ranks" 2 "4 ranks need as many processes, there are 2"
"$DIMSCOPE" run $gpt -m tp=4 --backend mpi </dev/null >"$dir/out" 2>"$dir/err"
code=$?
refused "without mpirun" 2 "4 ranks need as many processes, there is 1"
same "and how it is meant" "$(grep ^hint "$dir/err")" "hint: mpirun -n 4 dimscope run .. --backend mpi"
"$DIMSCOPE" run --onnx-test "$dir" --backend mpi </dev/null >"$dir/out" 2>"$dir/err"
code=$?
refused "data sets" 2 "--onnx-test runs in one process: start it without mpirun"
mkdir "$dir/bin" && cp "$DIMSCOPE" "$dir/bin/dimscope"
"$dir/bin/dimscope" run $gpt -m tp=4 --backend mpi </dev/null >"$dir/out" 2>"$dir/err"
code=$?
refused "without the plugin" 2 "dimscope_mpi.so is not installed"

# unlike A.. : B..  - process 0 does one thing, process 1 another
unlike()
{
    timeout 60 mpirun $quiet -n 1 "$DIMSCOPE" run $1 --backend mpi : -n 1 "$DIMSCOPE" run $2 \
        --backend mpi </dev/null >"$dir/out" 2>"$dir/err"
    code=$?
}
unlike "$gpt -m tp=2" "$models/tiny-gpt.onnx -p tp -m tp=2"
refused "another policy" 2 "process 1 has another plan than process 0"
unlike "$gpt -m tp=2" "$models/llama-tiny.onnx -m tp=2 -p megatron"
refused "another model" 2 "process 1 has another model than process 0"
unlike "$gpt -m tp=2" "$gpt -m tp=2 --seed 4"
refused "another seed" 2 "process 1 has other options than process 0"
unlike "$gpt -m tp=2" "missing.onnx -m tp=2"
refused "a model that one has not" 3 "missing.onnx"

# ---- a rank that fails, on one of four

cc -shared -fPIC -I core/run -o "$dir/libfault.so" tests/mpi/fault.c || exit 1
here="rank 2 in my::embedding 'my::embedding'"
while IFS="|" read -r fault want text; do
    sed "s|./libembedding.so|$dir/libfault.so|; s|symbol = \"embedding\"|symbol = \"$fault\"|" \
        samples/native/embedding.lua >"$dir/fault.lua"
    over 4 samples/native/model.lua -m tp=4 -p "$dir/fault.lua" --allow-native
    refused "$fault" "$want" "$text"
done <<END
crash|5|$here: died of signal 11
killed|137|$here: its process has ended
ends|1|$here: its process has ended
hang|5|$here: nothing has happened for 3.
stopped|5|$here: its process has not run for 3.
refuse|5|rank 2: op 'my::embedding' (my::embedding): refuse failed with 1: rows are missing
END

finish
