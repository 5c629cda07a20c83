#!/bin/sh
# run.sh [NAME] - compares core/run/cuda/cuda_api.h with the headers of the CUDA toolkit and NCCL, and
# runs tests/gpu/run.sh on the simulated CUDA of tests/fakecuda.
#
# It compiles one C file that includes their headers and then checks ours: a constant is an assertion
# on its value, a struct one on its size and the places of its fields (one with an `opaque` field
# may be larger), and each typedef and prototype is declared again, which C allows only if both are
# the same.
# Prints what failed, "skipped: why" where there are no headers, and "N passed, N failed".
cd "$(dirname "$0")/../.." || exit 1
passed=0
failed=0
verdict()
{
    [ "$1" -eq 0 ] && passed=$((passed + 1)) || failed=$((failed + 1))
}

include=${CUDA_HOME:-/usr/local/cuda}/include
has_headers()
{
    for header in cuda_runtime_api.h cublasLt.h nvrtc.h nccl.h; do
        [ -f "$include/$header" ] && continue
        echo "skipped: cuda_api.h is not held against the toolkit, there is no $include/$header"
        return 1
    done
}

checks()
{
    awk '
    function assert(what) { print "_Static_assert(" what ", \"" NR ": " name "\");" }
    { sub(/[ \t]*\/\*.*\*\/[ \t]*$/, "") }
    /^\/\*/, /\*\// { next }
    /^ \*/ || /^#/ { next }
    /^enum { [A-Za-z]+ = [0-9]+ };$/ { name = $3; assert($3 " == " $5); next }
    /^(typedef )?enum [A-Za-z_]* ?\{$/ { kind = "enum"; next }
    /^(typedef )?struct [A-Za-z0-9_]* ?\{$/ {
        kind = "struct"; name = $2 == "{" || $3 == "{" ? $(NF - 1) : $2
        body = "{"; n = 0; opaque = 0; bare = $1 == "struct"
        next
    }
    kind == "enum" && /^}/ { kind = ""; next }
    kind == "enum" { sub(/,$/, ""); name = $1; assert($1 " == " $3); next }
    kind == "struct" && /^}/ {
        kind = ""
        theirs = bare ? "struct " name : $2; sub(/;$/, "", theirs)
        name = theirs; ours = theirs; sub(/^struct /, "", ours); ours = "struct our_" ours
        print ours " " body " };"
        assert("sizeof(" ours ")" (opaque ? " >= " : " == ") "sizeof(" theirs ")")
        for (i = 1; i <= n; i++)
            assert("offsetof(" ours ", " field[i] ") == offsetof(" theirs ", " field[i] ")")
        next
    }
    kind == "struct" {
        body = body " " $0
        if (/opaque/) { opaque = 1; next }
        line = $0; gsub(/\[[0-9]+\]|;/, "", line)
        count = split(line, part, /, */)
        for (i = 1; i <= count; i++) { m = split(part[i], word, " "); field[++n] = word[m] }
        next
    }
    { print }' core/run/cuda/cuda_api.h
}

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
check_api()
{
    {
        for header in cuda_runtime_api.h cublasLt.h nvrtc.h nccl.h; do
            echo "#include <$header>"
        done
        echo '#include <stddef.h>'
        checks
    } >"$work/api.c"
    "${CC:-gcc}" -std=c11 -Werror -isystem "$include" -c "$work/api.c" -o "$work/api.o" \
        2>"$work/log" && return
    head -n 60 "$work/log"
    return 1
}

# As many assertions as cuda_api.h has constants, structs and fields: fewer were read, or a
# declaration is gone, which lowers the number here too.
count_assertions()
{
    n=$(checks | grep -c '^_Static_assert')
    [ "$n" -ge 149 ] && return
    echo "only $n assertions are made from cuda_api.h, 149 are expected"
    return 1
}

# dry WANT ARGS..: tests/gpu/run.sh on the fake says that it is none, and a line that is WANT.
dry()
{
    want=$1
    shift
    DRY=1 DIMSCOPE_PLUGINS=$PWD/$build/fake BENCH=$build/fake/bench_gpu tests/gpu/run.sh "$@" \
        >"$work/dry" 2>&1 && head -n 1 "$work/dry" | grep -q '^# dry run' &&
        grep -qx "$want" "$work/dry" && return
    echo "--- tests/gpu/run.sh $*"
    head -n 40 "$work/dry"
    return 1
}

case cuda_api in
*"$1"*)
    count_assertions
    verdict $?
    ! has_headers || {
        check_api
        verdict $?
    }
    ;;
esac
export DIMSCOPE="${DIMSCOPE:-./dimscope}"
build=${DIMSCOPE%/*}
[ "$build" != . ] || build=build/release
case cuda_dry in
*"$1"*)
    [ ! -e "$build/fake/dimscope_cuda.so" ] || {
        dry '1 passed, 0 failed' test test_relu
        verdict $?
        dry '6 passed, 0 failed' test llama-tiny
        verdict $?
        dry '5 passed, 0 failed' test trains
        verdict $?
        dry 'block.copied_ops 0 ops' bench
        verdict $?
    }
    ;;
esac
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
