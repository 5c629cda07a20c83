# part_dtensor.sh - plans for torch: what each rank gets of every parameter, input and output under
# exact placements, and models that four processes really run: transformers' own trained under torch's
# styles, fully_shard and pipelines, beside one process.
. tests/differential/lib.sh
venv torch torch==2.15.0 transformers==5.24.0 torchvision==0.29.2

# WHAT EXPORT-ARGUMENTS...: the module, and the plan's own parts
export_plan() {
    what=$1
    shift
    "$DIMSCOPE" export "$@" --to dtensor-exact -o "$WORK/plan.py" 2>"$WORK/notes" &&
        "$DIMSCOPE" export "$@" --csv --table parts -o "$WORK/parts.csv" 2>"$WORK/notes" && return
    echo "not ok $what: $(head -1 "$WORK/notes")"
    return 1
}

python() {
    what=$1
    shift
    "$PYTHON" tests/differential/part_dtensor.py "$@" 2>"$WORK/said" ||
        echo "not ok $what: $(tail -1 "$WORK/said")"
}

compare() {
    export_plan "$@" || return
    python "$1" compare "$1" "$WORK/plan.py" "$WORK/parts.csv"
}

apply() { # WHAT linear|conv1d EXPORT-ARGUMENTS...
    what=$1 kind=$2
    shift 2
    export_plan "$what" "$@" || return
    python "$what" apply "$what" "$WORK/plan.py" "$kind"
}

train() { # WHAT CLASS EXPORT-ARGUMENTS...
    what=$1 class=$2
    shift 2
    allowed='runs vit.embeddings in full\|runs what comes before encoder\|torch reduces each'
    if "$DIMSCOPE" export "$@" --to dtensor -o "$WORK/plan.py" 2>"$WORK/notes" &&
        ! grep -v "$allowed" "$WORK/notes" | grep -q .; then
        python "$what" train "$what" "$WORK/plan.py" "$class"
    else
        echo "not ok $what: $(head -1 "$WORK/notes")"
    fi
}

models=samples/models
compare "tiny-gpt megatron" $models/tiny-gpt.onnx -m dp=2,tp=2 -p megatron
compare "tiny-gpt fsdp" $models/tiny-gpt.onnx -m dp=4 -p fsdp
compare "tiny-gpt dp" $models/tiny-gpt.onnx -m dp=2 -p dp
compare "tiny-gpt stages" $models/tiny-gpt.onnx -m pp=2,dp=2,tp=2 -p hybrid3d
compare "tiny-gpt stages alone" $models/tiny-gpt.onnx -m pp=2 -p pipeline
compare "tiny-gpt on other ranks" $models/tiny-gpt.onnx -m "dp,tp=[[3,1],[0,2]]" -p megatron
compare "gpt2 megatron, uneven" $models/gpt2.onnx --dim batch=3,seq=7 -m dp=2,tp=8 -p megatron
compare "gpt2-dynamo fsdp, uneven" $models/gpt2-dynamo.onnx -m dp=3 -p fsdp
compare "llama-tiny megatron_sp" $models/llama-tiny.onnx -m dp=2,tp=2 -p megatron_sp
compare "llama-3-70b 2x2x2" $models/llama-3-70b.json -m dp=2,tp=2,x=2 -p megatron
compare "mixtral experts" $models/mixtral-8x7b.json -m dp=2,ep=2,tp=2 -p expert
compare "vit_b_16 megatron" $models/vit_b_16.onnx -m dp=2,tp=2 -p megatron
compare "resnet50 dp" $models/resnet50.onnx -m dp=4 -p dp
apply "tiny GPT megatron" conv1d $models/tiny-gpt.onnx -m dp=2,tp=2 -p megatron
apply "tiny GPT of Linear, megatron" linear $models/tiny-gpt.onnx -m dp=2,tp=2 -p megatron
apply "tiny GPT megatron_sp" conv1d $models/tiny-gpt.onnx -m dp=2,tp=2 -p megatron_sp
apply "tiny GPT fsdp" conv1d $models/tiny-gpt.onnx --dim batch=4,seq=16 -m dp=4 -p fsdp
train "Llama megatron" llama $models/llama-3-tiny.json -m dp=2,tp=2 -p megatron
train "Llama of ONNX, megatron_sp" llama $models/llama-tiny.onnx -m dp=2,tp=2 -p megatron_sp
train "Llama fsdp, tp, recomputed" llama $models/llama-3-tiny.json -m dp=2,tp=2 -p megatron --set zero=3 --set recompute=full
train "Llama hybrid shards" llama $models/llama-3-tiny.json -m dp=2,sh=2 -p fsdp --set zero_axis=sh
train "Llama stages" llama $models/llama-3-tiny.json -m pp=2,tp=2 -p hybrid3d --set micro_batches=2
train "GPT-2 megatron" gpt2 $models/gpt2.onnx -m dp=2,tp=2 -p megatron
train "GPT-2 megatron_sp, tied" gpt2-tied $models/gpt2-dynamo.onnx -m dp=2,tp=2 -p megatron_sp
train "GPT-2 fsdp" gpt2-tied $models/gpt2.onnx -m dp=4 -p fsdp
train "ViT megatron" tests/differential/configs/vit.json tests/differential/configs/vit.json --dim batch=4 -m dp=2,tp=2 -p megatron
train "ViT megatron_sp" tests/differential/configs/vit.json tests/differential/configs/vit.json --dim batch=4 -m dp=2,tp=2 -p megatron_sp
train "ViT of torchvision, megatron" torchvision $models/vit_b_16.onnx -m dp=2,tp=2 -p megatron
train "ViT of torchvision, megatron_sp" torchvision $models/vit_b_16.onnx -m dp=2,tp=2 -p megatron_sp
train "GPT-2 stages" gpt2 $models/tiny-gpt.onnx -m pp=2,dp=2 -p hybrid3d --set micro_batches=2

# Models of configs/, which transformers reads too. A mixture of experts drops no token there.
train_config() { # NAME EXPORT-ARGUMENTS...
    config=tests/differential/configs/$1.json what=$1 sizes=batch=4,seq=16
    case $1 in t5) sizes=$sizes,target_seq=16 ;; esac
    shift
    train "$what $*" "$config" "$config" --dim $sizes "$@"
}

train_config qwen2 -m dp=2,tp=2 -p megatron
train_config qwen3 -m tp=2 -p megatron_sp
train_config qwen3 -m pp=2,dp=2 -p hybrid3d --set micro_batches=2 --set zero=3
train_config gemma -m tp=2 -p megatron
train_config phi3 -m dp=2 -p fsdp
train_config opt -m dp=2,tp=2 -p megatron
train_config opt -m tp=2 -p megatron_sp
train_config bert -m dp=2,tp=2 -p megatron
train_config bert -m dp=2,tp=2 -p megatron_sp
train_config gpt_neox -m tp=2 -p megatron_sp
train_config mixtral -m dp=2,tp=2 -p megatron
train_config mixtral -m tp=2 -p megatron_sp
train_config mixtral -m dp=2,ep=2 -p expert
train_config qwen2_moe -m tp=2 -p megatron
train_config qwen3_moe -m ep=2 -p expert
train_config deepseek_v3 -m ep=2 -p expert
train_config deepseek_v3 -m dp=2,tp=2 -p megatron
train_config gpt_oss -m ep=2 -p expert
train_config t5 -m dp=2,tp=2 -p megatron
train_config t5 -m tp=2 -p megatron_sp
train_config falcon -m dp=2,tp=2 -p megatron
train_config falcon -m tp=2 -p megatron_sp
train_config falcon_mqa -m dp=2,tp=2 -p megatron
train_config falcon_alibi -m tp=2 -p megatron
train_config mpt -m dp=2,tp=2 -p megatron
train_config mpt -m tp=2 -p megatron_sp
train_config bloom -m dp=2,tp=2 -p megatron
train_config bloom -m tp=2 -p megatron_sp
train_config olmo2 -m dp=2,tp=2 -p megatron
train_config olmo -m tp=2 -p megatron
train_config cohere -m dp=2,tp=2 -p megatron
train_config cohere -m tp=2 -p megatron_sp
train_config stablelm -m tp=2 -p megatron_sp
train_config gptj -m tp=2 -p megatron_sp
train_config phi -m dp=2,tp=2 -p megatron
train_config glm4_moe -m tp=2 -p megatron_sp
train_config granite -m tp=2 -p megatron
