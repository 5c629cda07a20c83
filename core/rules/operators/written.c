/* written.c - operators of onnxruntime that are always written out as others
 * (core/rules/written/written.h); those with a rule of their own are in variants.c and
 * contributed.c. */
#include "core/rules/written/written.h"

#define FAMILY "written"

/* A row: name, least and most inputs, attributes. */
#define WRITTEN(name_, min, max, attrs_)                                                           \
    OP("com.microsoft::" name_, written_rule, 0, min, max), OWN(attrs_, "")

const Operator operators_written[] = {
    {WRITTEN("MatMulNBitsMlp", 1, 9, "K N accuracy_level activation bits block_size epsilon"),
     .outputs_max = 2,
     .examples = "3x5x32,-,32,8x1x16:u8,8,8,8x1x16:u8,8,8 K=32 N=8 bits=4 block_size=32"},
    {WRITTEN("MatMulNBitsQkv", 1, 12, "K Nkv Nq accuracy_level bits block_size epsilon"),
     .outputs_max = 4,
     .examples = "3x5x32,-,32,8x1x16:u8,8,-,4x1x16:u8,4,-,4x1x16:u8,4,- K=32 Nq=8 Nkv=4 bits=4 "
                 "block_size=32 -> 3"},
    {WRITTEN("MatMulNBitsQLoRA", 7, 7,
             "K N accuracy_level bits block_size lora_bits lora_block_size"),
     .examples = "3x5x32,8x1x16:u8,8,3x1x32:u8,3,8x1x32:u8,8 K=32 N=8"},
    {WRITTEN("MatMulBlockQuantizedFp8Weight", 3, 5, "block_size"),
     .examples = "3x8:f16,6x8:f8e4m3fn,6x2,-,6:f16 block_size=4"},
    {WRITTEN("MatMulBlockQuantizedFp4Weight", 4, 6, "block_size"),
     .examples = "3x8:f16,6x4:u8,6x2:u8,scalar block_size=4"},
    {WRITTEN("QEmbedLayerNormalization", 1, 18, "epsilon"), .outputs_max = 2,
     .examples = "3x5:i32,-,9x8:u8,7x8:u8,-,8:u8,8:u8,-,scalar,scalar,-,scalar,scalar,scalar:u8,"
                 "scalar:u8,-,scalar:u8,scalar:u8"},
    {WRITTEN("BitmaskDropout", 1, 3, "seed"), .outputs_max = 2, .examples = "3x5"},
    {WRITTEN("BitmaskBiasDropout", 2, 5, "seed"), .outputs_max = 2, .examples = "3x5,5,3x5"},
    {WRITTEN("ScaledSiLU", 1, 2, "alpha"), .examples = "3x5 alpha=1.5"},
    {WRITTEN("LinearAttentionGate", 3, 4, ""), .outputs_max = 2,
     .examples = "3x5x4,4,4,3x5x4 -> 2"},
    {WRITTEN("BranchwiseRMSNorm", 1, 2, "epsilon num_branches"),
     .examples = "3x5x8,8 num_branches=2"},
    {WRITTEN("HyperConnectionPreMix", 2, 2, "num_branches reduction_scale"),
     .examples = "3x5x8,3x5x2 num_branches=2"},
    {WRITTEN("HyperConnectionPostMix", 3, 4, "num_branches"),
     .examples = "3x5x8,3x5x4,3x5x2,3x5x2x2 num_branches=2"},
    {WRITTEN("HyperConnectionLowRankMix", 5, 7,
             "epsilon gate_div gate_mul num_branches reduction_scale silu_alpha"),
     .outputs_max = 3, .examples = "3x5x8,8,8x3,3x8,8x2,3x5x4,3x5x2 num_branches=2 -> 3"},
    {WRITTEN("RouterGateUpProj", 2, 2,
             "activation activation_alpha activation_beta limit router_size"),
     .outputs_max = 2, .examples = "3x5x6,6x14 router_size=4 -> 2"},
    {WRITTEN("GatedDeltaNet", 3, 11,
             "beta_activation chunk_size gate_activation gate_lower_bound qk_l2_norm scale "
             "state_update_capacity update_rule"),
     .outputs_max = 3,
     .examples = "2x5x2x4,2x5x2x4,2x5x4x3,-,2x5x4,2x5x4,2x4x3x4 qk_l2_norm=1 -> 2"},
    {WRITTEN("MoEGroupRouter", 2, 3, "group_topk n_group router_sentinel top_k topk_group"),
     .outputs_max = 3, .examples = "5x8,8 n_group=4 topk_group=2 top_k=3"},
    {WRITTEN("MRotaryEmbedding", 4, 4,
             "interleaved is_packed_batching mrope_layout mrope_section num_heads "
             "rotary_embedding_dim scale"),
     .examples = "2x4x5x8,3x2x5:i64,9x4,9x4 mrope_section=[2,1,1]"},
    {WRITTEN("IsAllFinite", 1, OPERATOR_ANY, "isinf_only isnan_only"), .examples = "3x5,4"},
    {WRITTEN("WordConvEmbedding", 4, 4, "char_embedding_size conv_window_size embedding_size"),
     .examples = "6x5:i32,6x1x3x4,6,7x4"},
    {WRITTEN("ConvTransposeWithDynamicPads", 2, 4,
             "auto_pad dilations group kernel_shape output_padding strides"),
     .reads = 1 << 2, .examples = "3x2x4x5,2x3x3x3,=[1,0,1,2],3 strides=[2,2]"},
    {WRITTEN("VarlenCausalConvWithState", 5, 8,
             "activation delta_offset dilation group_size state_update_capacity"),
     .outputs_max = 3, .examples = "7x4,4x1x3,4:i32,4,3x4x2 -> 2"},
    {WRITTEN("VarlenNGramHashMapping", 4, 10,
             "max_ngram_size n_head_per_ngram pad_id reset_on_eos state_update_capacity"),
     .outputs_max = 4,
     .examples = "7:i64,3:i64,4:i64,4:i32 max_ngram_size=3 n_head_per_ngram=2 pad_id=0 -> 2"},
    {WRITTEN("UnfoldTensor", 1, 1, "dim size step"), .examples = "3x8 size=3 step=2"},
    {0},
};
