#!/bin/sh
# run.sh [NAME] - runs $DIMSCOPE on ONNX's own tests, as in Debian's libonnx-testdata: node tests of
# operators, models exported by PyTorch, and simple models.
#
# Each runs on one device, then under every cut of its ops on a mesh of 2 devices and on one of 2 by
# 2, and must produce the outputs in its folder. list.txt has the tests that do not pass:
#     refused NAME TEXT    before anything runs, by an error in which TEXT stands
#     gap NAME             fails today
# A listed test that passes is a failure too, and so is a name of which there is no test.
cd "$(dirname "$0")/../.." || exit 1
DIMSCOPE=${DIMSCOPE:-./dimscope}
data=${ONNX_TESTS:-/usr/share/libonnx-testdata/data}
kinds="node pytorch-converted pytorch-operator simple"
case onnx in
*"$1"*) wanted= ;;
*) wanted=$1 ;;
esac
if [ ! -d "$data/node" ]; then
    echo "there are no ONNX tests in $data: install libonnx-testdata"
    echo "0 passed, 1 failed"
    exit 1
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

for kind in $kinds; do
    ls -d "$data/$kind"/test_*"$wanted"* 2>/dev/null
done >"$work/folders"
sed 's,.*/,,' "$work/folders" >"$work/names"

# Every other test, from the $1-th, on both meshes.
run_half()
{
    half=$(awk -v first="$1" 'NR % 2 == first' "$work/folders")
    [ -n "$half" ] || return
    for mesh in x=2 x=2,y=2; do
        # shellcheck disable=SC2086
        "$DIMSCOPE" run --onnx-test $half -m $mesh --cuts all </dev/null 2>&1 |
            sed "s/^/$mesh\\t/"
    done
}

run_half 0 >"$work/even" &
run_half 1 >"$work/odd"
wait $!

# ONNX's light models, one of them under every cut; nobody asked for another name. The logits of
# SqueezeNet's are equal and huge: BLAS kernels that sum the last columns of a matrix in another
# order tell them apart before the Softmax, so OpenBLAS takes its plainest kernel here.
light=
if [ -z "$wanted" ]; then
    light="$(OPENBLAS_CORETYPE=Prescott "$DIMSCOPE" run --onnx-test tests/models/light/*.onnx 2>&1 | tail -n 1), cut: $(
        OPENBLAS_CORETYPE=Prescott "$DIMSCOPE" run --onnx-test tests/models/light/light_squeezenet.onnx -m x=2 --cuts all 2>&1 |
            tail -n 1)"
fi

awk -v all="$wanted" -v light="$light" '
function fail(text) { print text; failed++ }
# "ok  DIR/test_data_set_0  ..": its name and data set, and what is said of it
function take(line) {
    said = line
    sub(/^[A-Za-z]+ +/, "", line)
    name = line
    sub(/\/test_data_set_[0-9]+.*/, "", name)
    sub(/.*\//, "", name)
}
FILENAME ~ /list.txt$/ {
    if ($0 ~ /^#/ || NF == 0) next
    kind[$2] = $1
    text = $0
    sub(/^[^ ]+ +[^ ]+ */, "", text)
    reason[$2] = text
    next
}
FILENAME ~ /names$/ { there[$1] = 1; next }
{ mesh = $0; sub(/\t.*/, "", mesh); line = $0; sub(/^[^\t]*\t/, "", line) }
line ~ /^ok / { take(line); good[name, mesh]++ ; next }
line ~ /^(ERROR|DIFFERS|REFUSED) / { take(line); bad[name, mesh] = said; next }
line ~ /^[0-9]+ passed, [0-9]+ failed$/ { next }
{ fail(line) }
END {
    n = split("x=2 x=2,y=2", meshes, " ")
    for (name in there)
        for (m = 1; m <= n; m++) {
            is_good = (name SUBSEP meshes[m]) in good
            wrong = bad[name, meshes[m]]
            if (!is_good && wrong == "")
                fail(name " did not run on " meshes[m])
            else if (!(name in kind) && wrong != "")
                fail(meshes[m] ": " wrong)
            else if (!(name in kind))
                passed++
            else if (wrong == "")
                fail(name " is listed as " kind[name] ", and passes on " meshes[m])
            else if (kind[name] == "gap")
                gaps++
            else if (wrong !~ /^REFUSED/ || index(wrong, reason[name]) == 0)
                fail(name " is not refused as listed: " wrong)
            else
                passed++
        }
    for (name in kind)
        if (all == "" && !(name in there))
            fail("list.txt has " name ", of which there is no test")
    if (light == "4 passed, 0 failed, cut: 1 passed, 0 failed")
        passed++
    else if (all == "")
        fail("light models: " light)
    if (gaps > 0)
        print gaps / n " gaps"
    print passed + 0 " passed, " failed + 0 " failed"
    exit failed > 0
}' tests/onnx/list.txt "$work/names" "$work/even" "$work/odd"
