#!/bin/sh
# run.sh - modules of jax: what they compute, under every cut by a mesh of two devices, and the
# shardings that XLA chose. Ends with "N passed, N failed".
#
#   NAME.stablehlo.mlir   jax's text    NAME.io/in_I.npy out_I.npy   one run of it in jax
#   NAME.grad/index.json  files of inputs, cotangents and the gradients of jax.vjp
#   NAME.values.tsv       each value as jaxlib's parser has it (tests/unit/test_stablehlo.c)
#   NAME.shardings.txt    the PartitionSpec of each argument and result after propagation in XLA
cd "$(dirname "$0")/../.." || exit 1
DIMSCOPE=${DIMSCOPE:-./dimscope}
HERE=tests/stablehlo
COPY=$(mktemp --suffix .mlir)
trap 'rm -f "$COPY"' EXIT
passed=0
failed=0

# check TITLE STATUS OUTPUT
check()
{
    if [ "$2" -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "--- $1"
        echo "$3"
    fi
}

for data in "$HERE"/*.io; do
    name=$(basename "$data" .io)
    said=$("$DIMSCOPE" run "$HERE/$name.stablehlo.mlir" --vectors "$data" -m x=2 --cuts all 2>&1)
    check "$name: other results" $? "$said"
done

for data in "$HERE"/*.grad; do
    name=$(basename "$data" .grad)
    said=$("$DIMSCOPE" run "$HERE/$name.stablehlo.mlir" --grad-vectors "$data" -m x=2 --cuts all 2>&1)
    check "$name: other gradients than jax.vjp's" $? "$said"
done

for want in "$HERE"/*.shardings.txt; do
    name=$(basename "$want" .shardings.txt)
    model=$HERE/$name.stablehlo.mlir
    said=$({
        "$DIMSCOPE" info "$model" --json
        "$DIMSCOPE" plan "$model" --propagate factor --profile shardy --json
    } | python3 "$HERE/shardings.py" "$want" 2>&1)
    check "$name: other shardings than XLA's" $? "$said"
done

# Arguments that are parameters: a policy finds the matmuls of weights, and the plan holds when run.
model=samples/models/jax-gpt2-tiny.mlir
said=$("$DIMSCOPE" plan $model -m dp=2,tp=2 2>&1)
echo "$said" | grep -qF -e "--set parameters='p.*' makes these its parameters"
check "$model: the note on its arguments" $? "$said"
said=$("$DIMSCOPE" plan $model -m dp=2,tp=2 -p megatron --set parameters='p.*' 2>&1)
[ "$(echo "$said" | grep -c 'note: \(embedding\|column\|row\|head\) ')" -eq 6 ]
check "$model: megatron on its parameters" $? "$said"
said=$("$DIMSCOPE" run $model -m dp=2,tp=2 -p megatron --set parameters='p.*' --verify 2>&1)
check "$model: megatron's run" $? "$said"
said=$("$DIMSCOPE" plan $model -m dp=2,tp=2 --set parameters='q.*' 2>&1)
[ $? -eq 2 ] && [ "$(echo "$said" | wc -l)" -eq 2 ]
check "$model: parameters that are none of its inputs" $? "$said"

# An op of another dialect is an error with its place, or what a policy has registered; one of a known
# dialect without a row is one replicated op.
model=$HERE/other_dialect.mlir
said=$("$DIMSCOPE" plan "$model" -m tp=2 2>&1)
[ $? -eq 3 ] && [ "$(echo "$said" | head -1)" = \
    "$model:3:10: error: 'tt.dot' is of the dialect 'tt', which is not read" ] &&
    echo "$said" | grep -q '^hint: lower it to StableHLO, or .*register_op(.*name = "tt.dot"})$'
check "$model: an unknown dialect" $? "$said"
said=$("$DIMSCOPE" run "$model" -m tp=2 -p "$HERE/other_dialect.lua" --verify 2>&1)
check "$model: an op that a policy has registered" $? "$said"
said=$(sed 's/dot %arg0/for %i = %arg0/' "$model" >"$COPY" && "$DIMSCOPE" plan "$COPY" 2>&1)
echo "$said" | grep -q "^hint: 'tt.for' is of the dialect 'tt', whose forms are not read"
check "$model: a form of an unknown dialect" $? "$said"
said=$(sed 's/tt\.dot/stablehlo.dot_by_magic/' "$model" >"$COPY" && "$DIMSCOPE" check "$COPY" 2>&1)
echo "$said" | grep -q 'stablehlo.dot_by_magic has no rule: 1 op is replicated.*\[no-rule\]'
check "$model: an unknown op of a known dialect" $? "$said"

# A type that cannot be read is skipped with what it stands in; those behind it are still their own.
model=tests/fuzz/corpus/mlir/empty_type
cp $model "$COPY"
said=$("$DIMSCOPE" info "$COPY" 2>&1)
[ $? -eq 3 ] && echo "$said" | grep -q ':8:10: error: this type has no element type'
check "$model: a type that failed" $? "$said"

# A file that holds a training step has its phases; no other step is derived of it.
said=$("$DIMSCOPE" estimate "$HERE/jax_momentum.named.mlir" 2>&1)
[ $? -eq 2 ] && echo "$said" | grep -q '^error: jax_momentum.named.mlir already is a training step' &&
    echo "$said" | grep -q '^hint: run plan without --train to see what its phases cost; diff MODEL --joint' &&
    "$DIMSCOPE" plan "$HERE/jax_momentum.named.mlir" | grep -q '^phases   forward .*, backward .*, update '
check "jax_momentum: what is said of the step that it holds" $? "$said"

said=$("$HERE/stated_types.py" "$DIMSCOPE" 2>&1)
check "types that are stated wrongly" $? "$said"

for file in jax_mlp.stablehlo.bc jax_mlp.jaxexport.bin; do
    said=$("$DIMSCOPE" info "$HERE/$file" 2>&1)
    [ $? -eq 3 ] && [ "$(echo "$said" | wc -l)" -eq 2 ]
    check "$file: not refused with a hint" $? "$said"
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
