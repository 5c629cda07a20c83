#!/bin/bash
# Arguments of Megatron-LM as its examples write them.
export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS_PER_NODE=8
TP=2
PP="2"   # stages
MODEL_PARALLEL_ARGS=(
    --tensor-model-parallel-size $TP
    --pipeline-model-parallel-size ${PP}
    --sequence-parallel
    --use-distributed-optimizer
)
GPT_ARGS="
    --num-layers 4 \
    --hidden-size 128 --num-attention-heads 8
    --seq-length ${SEQ:-16}
    --micro-batch-size 2
    --global-batch-size=16
    --lr 6.0e-5
"
torchrun --nproc_per_node $GPUS_PER_NODE pretrain_gpt.py \
    ${MODEL_PARALLEL_ARGS[@]} $GPT_ARGS --bf16 --recompute-activations --num-layers-per-virtual-pipeline-stage 1
