/* Operators of onnxruntime told by forms: shapes and cuts as its schemas say them. */
#include "tests/unit/rule_text.h"

#define MS "com.microsoft::"

static RuleCase rows[] = {
    {"packed tokens: heads alone can be cut",
     "y <- " MS "PackedAttention f32[7,8] f32[8,36] f32[36] i32[3,5] i32[4] - num_heads=4",
     "t^ i^, i^ (3 num_heads d^), (3 num_heads d^), b^ s^, c^, ? -> t^ (num_heads d^) | f32[7,12]",
     0},
    {"a bias of one head is not cut",
     "y <- " MS
     "PackedAttention f32[7,8] f32[8,36] f32[36] i32[3,5] i32[4] f32[1,1,5,5] num_heads=4",
     "t^ i^, i^ (3 num_heads d^), (3 num_heads d^), b^ s^, c^, 1 1 u^ v^ -> t^ (num_heads d^) | "
     "f32[7,12]",
     0},
    {"queries, keys and values in one",
     "y <- " MS "PackedMultiHeadAttention f32[7,4,3,5] - - - i32[3,5] i32[4] num_heads=4",
     "t^ num_heads 3 d^, ?, ?, ?, b^ s^, c^ -> t^ (num_heads d^) | f32[7,20]", 0},
    {"layouts that take turns keep the heads together",
     "y k v <- " MS "SparseAttention f32[3,5,24] f32[3,5,12] f32[3,5,12] f32[3,2,9,6] f32[3,2,9,6] "
     "i32[2,3] i32[2,3] i32[] i32[3] kv_num_heads=2 num_heads=4 sparse_block_size=16",
     "b s^ (kv_num_heads^ g^ d^), b t^ (kv_num_heads^ d^), b t^ (kv_num_heads^ d^), b "
     "kv_num_heads^ "
     "p^ d^, b kv_num_heads^ p^ d^, l^ r^, l^ c^, ?, b -> b s^ (kv_num_heads^ g^ d^), b "
     "kv_num_heads^ p^ d^, b kv_num_heads^ p^ d^ | f32[3,5,24] f32[3,2,9,6] f32[3,2,9,6]",
     0},
    {"keys are kept, and the new one behind them",
     "y p <- " MS "DecoderMaskedSelfAttention f32[3,1,8] f32[8,36] f32[36] i32[3,7] f32[2,3,4,6,3] "
     "num_heads=4",
     "b s^ i^, i^ (3 num_heads d^), (3 num_heads d^), b m^, 2 b num_heads k^ d^ -> b s^ (num_heads "
     "d^), 2 b num_heads total^ d^ | f32[3,1,12] f32[2,3,4,7,3]",
     0},
    {"a buffer for both is as long",
     "y p <- " MS "DecoderMaskedSelfAttention f32[3,1,8] f32[8,36] f32[36] i32[3,7] f32[2,3,4,6,3] "
     "num_heads=4 past_present_share_buffer=1",
     "b s^ i^, i^ (3 num_heads d^), (3 num_heads d^), b m^, 2 b num_heads k^ d^ -> b s^ (num_heads "
     "d^), 2 b num_heads total^ d^ | f32[3,1,12] f32[2,3,4,6,3]",
     0},
    {"heads of a norm", "y <- " MS "GatedRMSNorm f32[3,5,8] f32[4] f32[3,5,8]",
     "a b (h c^), c^, a b (h c^) -> a b (h c^) | f32[3,5,8]", 0},
    {"real to half as many complex numbers", "y <- " MS "Rfft f32[3,8] signal_ndim=1",
     "a n^ -> a half^ 2 | f32[3,5,2]", 0},
    {"and back", "y <- " MS "Irfft f32[3,5,2] signal_ndim=1", "a half^ 2 -> a n^ | f32[3,8]", 0},
    {"bytes of two numbers, in blocks",
     "y <- " MS "GatherBlockQuantized u8[9,32] i64[3,5] f32[9,4] bits=4 block_size=16",
     "v^ (c packed^), a b, v^ c -> a b (c k^) | f32[3,5,64]", 0},
    {"bias of places", "y <- " MS "RelativePositionBias f32[8,4] i64[]{5} i64[]{6} max_distance=9",
     "k^ h, ?, ? -> 1 h s^ t^ | f32[1,4,5,6]", 0},
    {"padding comes back", "y <- " MS "RestorePadding f32[7,4] i32[3,5]",
     "t^ d, b^ s^ -> b^ s^ d | f32[3,5,4]", 0},
    {"the state is what the kernel looks back to",
     "y s <- " MS "CausalConvWithState f32[3,4,9] f32[4,1,3] f32[4] - dilation=2",
     "b c l^, c 1 k^, c, ? -> b c l^, b c kept^ | f32[3,4,9] f32[3,4,4]", 0},
    {"boxes", "y <- " MS "CropAndResize f32[2,3,8,9] f32[5,4] i32[5] i32[2]{4,6}",
     "n^ c h^ w^, r 4, r, w3_0^ -> r c y x | f32[5,3,4,6]", 0},
};

int main(void)
{
    return run_rows("contributed", rows, rule_says);
}
