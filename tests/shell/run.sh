#!/bin/bash
# run.sh [NAME] - tests the program with other programs: completion by three shells, the
# manual pages by groff, and a real terminal multiplexer, which says what state it was left in.
cd "$(dirname "$0")/../.." || exit 1
export LC_ALL=C.UTF-8
DIMSCOPE=${DIMSCOPE:-./dimscope}
dir=$(mktemp -d) || exit 1
socket=dimscope-test-$$
trap 'tmux -L "$socket" kill-server 2>/dev/null; rm -rf "$dir"' EXIT
passed=0
failed=0

# same WHAT GOT WANT
same()
{
    if [ "$2" = "$3" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf '%s\n  got:  %s\n  want: %s\n' "$1" "$2" "$3"
    fi
}

# ---- completion: "what is typed = what comes", words in the order the shell gives them

cat >"$dir/cases" <<'END'
dimscope pla = plan
dimscope plan --prop = --propagate
dimscope plan --propagate s = spmd strategy
dimscope plan model -p meg = megatron megatron_sp
dimscope plan --machine h = h100x8 h100x8_fa2 h100x8_fa3 h100x8_pods h200x8
dimscope help pol = policies
dimscope help lua.graph.part = lua.graph.partition
dimscope reshard --to = --to-mesh
dimscope export model --kind ne = neighbourhood
dimscope export model --table par = parameters parts
dimscope export model --to sh = shardy
dimscope help dra = drawings
END

for shell in bash zsh fish; do
    "$DIMSCOPE" help --completion $shell >"$dir/$shell"
done
mkdir "$dir/zsh-functions" && cp "$dir/zsh" "$dir/zsh-functions/_dimscope"

complete_bash()
{
    (
        . "$dir/bash"
        read -ra COMP_WORDS <<<"$1"
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _dimscope
        echo "${COMPREPLY[*]}"
    )
}

complete_fish()
{
    fish --no-config -c "source '$dir/fish'; complete -C '$1'" 2>&1 | cut -f1 | tr '\n' ' ' | sed 's/ $//'
}

# zsh completes in its line editor alone: the longest common part, if there are several
complete_zsh()
{
    zsh -f tests/shell/complete.zsh "$1" "$dir/zsh-functions"
}

common_part()
{
    local first=$1 n
    for ((n = ${#first}; n > 0; n--)); do
        for word; do [[ $word == "${first:0:n}"* ]] || continue 2; done
        echo "${first:0:n}"
        return
    done
}

while read -r line; do
    typed=${line% = *}
    want=${line#* = }
    same "bash: $typed" "$(complete_bash "$typed")" "$want"
    if command -v fish >/dev/null; then
        same "fish: $typed" "$(complete_fish "$typed")" "$want"
    fi
    if command -v zsh >/dev/null; then
        same "zsh: $typed" "$(complete_zsh "$typed")" "${typed% *} $(common_part $want)"
    fi
done <"$dir/cases"
same "another shell" "$("$DIMSCOPE" help --completion tcsh 2>&1 | head -n 1)" \
    "error: --completion supports bash, zsh and fish, not 'tcsh'"

# ---- rules: all that have a kernel are proven; what is wrong upstream and kept is in deviations.md

same "every rule with a kernel is proven" "$("$DIMSCOPE" rule --check | tail -n 1 |
    sed 's/^[1-9][0-9]* proven, 0 wrong, 0 not proven, .*/all/')" all
same "no rule of dims_mappings is wrong" "$("$DIMSCOPE" rule --check --trace | grep WRONG)" ""
for profile in torch vescale; do
    same "wrong rules of $profile" \
        "$("$DIMSCOPE" rule --check --profile $profile | awk '/ WRONG /{print $1}' | sort -u)" \
        "$(awk -F' *[|] *' -v p=$profile '$2 == p {print $3}' tests/conformance/deviations.md)"
done

# The gradient of an input of one element along the axis is cut along the other dims.
same "gradient of a part of one element" \
    "$("$DIMSCOPE" rule Concat --gradient --shapes 4x6,4x1 --attr axis=1 | grep -Fxc '  d0 n^ -> d0 1')" 1

# A batch that does not divide is on the page of a step, sizes of weights that do not are not.
for form in "" "--json"; do
    # shellcheck disable=SC2086
    same "estimate $form warns of an axis for experts that are not there" \
        "$("$DIMSCOPE" estimate samples/models/llama-3-tiny.json -m dp=2,ep=2 $form |
            grep -o "no matmul of stacked experts was found")" "no matmul of stacked experts was found"
done
same "estimate tells an uneven batch" \
    "$("$DIMSCOPE" estimate samples/models/tiny-gpt.onnx -m dp=3 -p dp --dim batch=8 |
        grep -c "dim 0 of input_ids is uneven: .* 3 on the first rank")" 1

# A gradient that is not the derivative: refused by the name of its operator.
sed 's/, slope), mul(dy/, sigmoid), mul(dy/' samples/gradient/fused.lua >"$dir/wrong.lua"
same "gradients of operators in a file" \
    "$("$DIMSCOPE" rule --check samples/gradient/fused.lua --gradient | tail -n 1)" \
    "2 proven, 0 wrong, 0 not proven"
same "a wrong gradient" "$("$DIMSCOPE" rule --check "$dir/wrong.lua" --gradient | awk '/WRONG/{print $1}'
    echo "${PIPESTATUS[0]}")" "$(printf 'my::swiglu\n1')"

# ---- weights of four bits: columns and rows as of any other matmul

cat >"$dir/int4.lua" <<'END'
function MODEL(model, config)
    local function linear(x, k, n)
        return model:op("com.microsoft::MatMulNBits",
            {x, model:param("w" .. k, {n, k // 32, 16}, "u8"), model:param("s" .. k, {n, k // 32}),
             model:param("z" .. k, {n, k // 64}, "u8")},
            {K = k, N = n, bits = 4, block_size = 32})
    end
    local x = model:input("x", "f32", {2, 16, 256})
    model:output(linear(model:op("Gelu", {linear(x, 256, 512)}), 512, 256), "y")
end
END
same "megatron cuts weights of four bits" "$("$DIMSCOPE" plan "$dir/int4.lua" -m tp=2 -p megatron 2>&1 |
    awk '/^all_reduce/{print $1, $2, $3}')" "all_reduce tp 1"

# ---- manual pages

for section in 1 5 7 glossary; do
    "$DIMSCOPE" help --man $section >"$dir/page.$section"
    same "title of section $section" "$(grep -cE "^\.TH DIMSCOPE(-LUA|-GLOSSARY)? [157] " "$dir/page.$section")" 1
    if command -v groff >/dev/null; then
        same "groff on section $section" "$(groff -man -Tutf8 -ww -z "$dir/page.$section" 2>&1)" ""
    fi
done
same "methods are in section 7" "$(grep -c '^\.B graph:partition(node: node' "$dir/page.7")" 1
same "annotations for language servers" "$("$DIMSCOPE" help lua --annotations | head -n 1)" "---@meta"
same "plan.json is in section 5" "$(grep -c '^\.SH WHAT A SAVED PLAN HOLDS' "$dir/page.5")" 1

# ---- tmux: what the terminal is left as

t() { tmux -L "$socket" -f /dev/null "$@"; }
flags() { t display -p '#{alternate_on} #{mouse_any_flag} #{cursor_flag} #{keypad_flag}'; }

# until PATTERN: waits until it is on the screen
until_screen()
{
    for ((i = 0; i < 200; i++)); do
        t capture-pane -p | grep -qF -- "$1" && return
        sleep 0.05
    done
    echo "never came: $1"
    t capture-pane -p
}

explore="$DIMSCOPE samples/models/tiny-gpt.onnx -m dp=2,tp=4 -p megatron"
export XDG_CONFIG_HOME=$dir XDG_STATE_HOME=$dir
if command -v tmux >/dev/null; then
    # dash does not mend a terminal, as bash does: a fault would show
    t new-session -d -x 80 -y 24 "cd '$PWD' && exec dash -i"
    tty=$(t display -p '#{pane_tty}')
    modes=
    for how in q Q C-z TERM HUP QUIT; do
        t send-keys "clear; echo began" Enter
        until_screen began
        [ -n "$modes" ] || modes=$(stty -F "$tty" -a) # once the shell is at its prompt
        t send-keys "$explore" Enter
        until_screen "? help"
        same "$how: in the alternate screen" "$(flags | cut -c1)" 1
        case $how in
        q | Q) t send-keys "$how" ;;
        C-z)
            t send-keys C-z
            until_screen "topped"
            same "stopped: the terminal" "$(flags)" "0 0 1 0"
            t resize-window -x 100 -y 30
            t send-keys "fg" Enter
            until_screen "? help"
            t resize-window -x 80 -y 24
            until_screen "? help"
            t send-keys q
            ;;
        *)
            rm -f "$dir"/dimscope/*
            pkill -"$how" -P "$(t display -p '#{pane_pid}')"
            ;;
        esac
        # what is typed while the explorer still ends would be its own
        for ((i = 0; i < 200; i++)); do pgrep -P "$(t display -p '#{pane_pid}')" >/dev/null || break; sleep 0.05; done
        case $how in
        TERM | HUP) same "$how: where it ended is kept" "$(head -qn 1 "$dir"/dimscope/* 2>&1)" "dimscope state 1" ;;
        QUIT) same "$how: nothing is kept" "$(ls "$dir"/dimscope)" "" ;;
        esac
        t send-keys "echo and" "ed" Enter
        until_screen anded
        for ((i = 0; i < 100; i++)); do
            [ "$(flags)" = "0 0 1 0" ] && [ "$(stty -F "$tty" -a)" = "$modes" ] && break
            sleep 0.05
        done
        same "$how: the terminal after it" "$(flags)" "0 0 1 0"
        same "$how: its modes" "$(stty -F "$tty" -a)" "$modes"
    done

    # while a job works, at any size of the window
    for job in ":search" ":run verify"; do
        t send-keys "clear; echo began" Enter
        until_screen began
        t send-keys "$explore" Enter
        until_screen "? help"
        t send-keys "$job" Enter
        t resize-window -x 12 -y 3
        t resize-window -x 80 -y 24
        pkill -TERM -P "$(t display -p '#{pane_pid}')"
        for ((i = 0; i < 200; i++)); do pgrep -P "$(t display -p '#{pane_pid}')" >/dev/null || break; sleep 0.05; done
        same "TERM during $job: the terminal after it" "$(flags)" "0 0 1 0"
    done
fi

# ---- one word of more options than the command has words

same "many options in one word" "$("$DIMSCOPE" "-$(printf 'h%.0s' {1..20000})" 2>&1 | head -n 1)" \
    "$("$DIMSCOPE" -h 2>&1 | head -n 1)"

# ---- a machine file of this machine, and a plan with it; a trace that is JSON

"$DIMSCOPE" calibrate samples/models/tiny-gpt.onnx -m tp=2 -p megatron --repeat 2 \
    -o "$dir/here.lua" >"$dir/calibrated" 2>&1
same "calibrate says where it wrote" "$(tail -n 1 "$dir/calibrated")" \
    "wrote $dir/here.lua: --machine $dir/here.lua"
"$DIMSCOPE" calibrate samples/models/tiny-gpt.onnx --train -m x=1 --repeat 1 -o "$dir/step.lua" \
    >"$dir/calibrated" 2>&1
same "calibrate --train writes tables" "$(grep -c 'operator = "MatMul~d1"' "$dir/step.lua")" 1
same "a plan with tables" "$("$DIMSCOPE" plan samples/models/tiny-gpt.onnx \
    --train -m x=1 --machine "$dir/step.lua" --json | grep -c '"step_us"')" 1
sed 's/dtype = "f32"/dtype = "f33"/' "$dir/step.lua" >"$dir/broken.lua"
same "a broken table" "$("$DIMSCOPE" plan samples/models/tiny-gpt.onnx -m x=1 \
    --machine "$dir/broken.lua" 2>&1 | head -n 1 | sed 's/^.*error/error/')" \
    "error: 'measured' has an unknown element type 'f33'"
same "a calibrated machine plans" "$("$DIMSCOPE" plan samples/models/tiny-gpt.onnx -m tp=2 \
    --machine "$dir/here.lua" --json 2>&1 | cut -c1-9)" '{"method"'
mkdir "$dir/a:b" && cp "$dir/here.lua" "$dir/a:b"
same "a machine in a folder whose name has a colon" "$("$DIMSCOPE" plan samples/models/tiny-gpt.onnx -m tp=2 \
    --machine "$dir/a:b/here.lua" --json 2>&1 | cut -c1-9)" '{"method"'
"$DIMSCOPE" run samples/models/tiny-gpt.onnx -m tp=2 --trace "$dir/trace.json" >/dev/null 2>&1
same "a trace has events of both ranks" "$(python3 -c "
import json, sys
events = json.load(open(sys.argv[1]))['traceEvents']
print(sorted({e['tid'] for e in events if e['pid'] == 2 and e['ph'] == 'X' and e['cat'] == 'op'}))" \
    "$dir/trace.json" 2>&1)" "[1, 3]"

# ---- a run that takes long says so before it starts, and C-c stops it; what cannot fit is refused

long="samples/models/gpt2.onnx -m dp=2,tp=4 -p megatron"
numbers() { sed -E 's/[0-9]+(\.[0-9]+)?/N/g; s/N (s|min|h) /N T /g; s/N (MiB|GiB)/N B/g'; }
set -m
"$DIMSCOPE" run $long --verify >/dev/null 2>"$dir/long" &
for ((i = 0; i < 200; i++)); do
    [ -s "$dir/long" ] && break
    sleep 0.05
done
kill -INT $!
wait $!
same "C-c ends a long run" $? 130
same "a long run says how long, and what is short" "$(numbers <"$dir/long")" \
    "the run takes about N T on this machine, N B; with --dim batch=N,seq=N about N T on this machine, N B"
dims=$(grep -o 'batch=[^ ]*' "$dir/long")
"$DIMSCOPE" run $long --verify --dim "$dims" >"$dir/short" 2>&1
same "the sizes it names are run" $? 0
same "and are short" "$(grep -c '^the run takes' "$dir/short")" 0
"$DIMSCOPE" run $long --dim batch=4096 >"$dir/short" 2>&1
same "what does not fit is refused" $? 2
same "with the sizes that do" "$(numbers <"$dir/short")" "error: the ranks need N B, this machine has N
hint: --dim seq=N,batch=N needs N B"
ask() { "$DIMSCOPE" $long --size 120x30 --script "9:run<Enter>$1" --screen - | numbers; }
same "the explorer asks first" "$(ask '' | grep -o '║ [rst]  [a-z]*')" "║ r  run
║ s  open
║ t  a"
same "it opens the model with these sizes" "$(ask s | grep -c 'read again: N ops')" 1
same "and runs them at once" "$(ask 's:run fast repeat 1<Enter>' | grep -c 'the run takes')" 0

# ---- a run without memory names the tensor

if ! nm "$DIMSCOPE" 2>/dev/null | grep -q __asan_init; then
    same "out of memory names the tensor" "$( (ulimit -v 700000
        "$DIMSCOPE" run samples/models/gpt2.onnx --dim batch=8,seq=256 -m x=2 2>&1) |
        sed "/^the run takes/d; s/rank [01]/rank R/; s/for '.*/for T/")" "error: rank R: out of memory for T"
fi

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
