#include "tests/unit/rule_text.h"

#define MS "com.microsoft::"
#define SCALE " f32[] u8[]"

static RuleCase rows[] = {
    {"an activation after a convolution",
     "y <- " MS "FusedConv f32[3,4,7,8] f32[6,4,3,3] f32[6] f32[3,6,5,6] activation=\"Relu\"",
     "b ci^ {oh+kh} {ow+kw}, co ci^ kh^ kw^, co, b co oh ow -> b co oh ow | f32[3,6,5,6]", 0},
    {"none: it is a sum", "y <- " MS "FusedConv f32[3,4,7,8] f32[6,4,1,1] f32[6]",
     "b ci+ oh ow, co ci+ 1 1, co -> b co oh ow | f32[3,6,7,8]", 0},
    {"channels last", "y <- " MS "NhwcConv f32[3,7,8,4] f32[6,1,1,4] f32[6]",
     "b oh ow ci+, co 1 1 ci+, co -> b oh ow co | f32[3,7,8,6]", 0},
    {"quantized, channels last",
     "y <- " MS "QLinearConv u8[3,7,8,4]" SCALE " i8[6,4,1,1] f32[6] i8[6]" SCALE
     " i32[6] channels_last=1",
     "b oh ow ci^, , , co ci^ 1 1, co, co, , , co -> b oh ow co | u8[3,7,8,6]", 0},
    {"pool, channels last", "y <- " MS "NhwcMaxPool u8[3,8,8,4] kernel_shape=[2,2] strides=[2,2]",
     "b (oh kh+) (ow kw+) c -> b oh ow c  kh:max  kw:max | u8[3,4,4,4]", 0},
    {"rounded mean of windows",
     "y <- " MS "QLinearAveragePool u8[3,4,8]" SCALE SCALE " kernel_shape=[2] strides=[2]",
     "b c (ow kw^), , , ,  -> b c ow | u8[3,4,4]", 0},
    {"rounded mean",
     "y <- " MS "QLinearGlobalAveragePool u8[3,7,8,4]" SCALE SCALE " channels_last=1",
     "b h^ w^ c, , , ,  -> b 1 1 c | u8[3,1,1,4]", 0},
    {"bent product", "y <- " MS "FusedGemm f32[5,6] f32[7,6] f32[7] transB=1 activation=\"Relu\"",
     "m k^, n k^, n -> m n | f32[5,7]", 0},
    {"rounded product",
     "y <- " MS "QGemm u8[5,6]" SCALE " i8[7,6] f32[7] i8[7] i32[7]" SCALE " transB=1",
     "m k^, , , n k^, n, n, n, ,  -> m n | u8[5,7]", 0},
    {"product of integers, to f32", "y <- " MS "QGemm u8[5,6]" SCALE " i8[6,7] f32[] i8[]",
     "m k^, , , k^ n, ,  -> m n | f32[5,7]", 0},
    {"integers to f32",
     "y <- " MS "MatMulIntegerToFloat u8[3,5,6] i8[6,7] f32[] f32[7] u8[] i8[7] "
     "f32[7]",
     "b s k+, k+ n, , n, , n, n -> b s n | f32[3,5,7]", 0},
    {"one scale for all rows", "y <- " MS "DynamicQuantizeMatMul f32[5,6] i8[6,7] f32[7] i8[7]",
     "m^ k^, k^ n, n, n -> m^ n | f32[5,7]", 0},
    {"lstm with swapped weights",
     "y h c <- " MS "DynamicQuantizeLSTM f32[5,3,4] i8[1,4,24] i8[1,6,24] f32[1,48] - - - - f32[1] "
     "i8[1] f32[1] i8[1] hidden_size=6",
     "s^ b i^, 1 i^ (4 h^), 1 p^ (4 h^), 1 (8 h^), ?, ?, ?, ?, 1, 1, 1, 1 -> s^ 1 b h^, 1 b h^, 1 "
     "b h^ | f32[5,1,3,6] f32[1,3,6] f32[1,3,6]",
     0},
    {"concat", "y <- " MS "QLinearConcat" SCALE " u8[5,6]" SCALE " u8[5,4]" SCALE " axis=1",
     ", , d0 {n}, , , d0 {n-6}, ,  -> d0 n | u8[5,10]", 0},
    {"mean", "y <- " MS "QLinearReduceMean u8[5,6,4]" SCALE SCALE " axes=[1]",
     "d0 d^ d2, , , ,  -> d0 1 d2 | u8[5,1,4]", 0},
    {"where", "y <- " MS "QLinearWhere bool[5,6] u8[5,6]" SCALE " u8[6]" SCALE SCALE,
     "d0 d1, d0 d1, , , d1, , , ,  -> d0 d1 | u8[5,6]", 0},
    {"softmax", "y <- " MS "QLinearSoftmax u8[5,6]" SCALE SCALE " axis=-1",
     "d0 d^, , , ,  -> d0 d^ | u8[5,6]", 0},
    {"distances", "y <- " MS "CDist f32[5,6] f32[7,6]", "m k^, n k^ -> m n | f32[5,7]", 0},
    {"group norm", "y <- " MS "GroupNorm f32[3,5,4,8] f32[8] f32[8] groups=4",
     "d0 d1^ d2^ (g c^), (g c^), (g c^) -> d0 d1^ d2^ (g c^) | f32[3,5,4,8]", 0},
    {"group norm of a sum",
     "y s <- " MS "SkipGroupNorm f32[3,8,5,4] f32[8] f32[8] f32[3,8,5,4] groups=4 channels_last=0",
     "d0 (g c^) d2^ d3^, (g c^), (g c^), d0 (g c^) d2^ d3^ -> d0 (g c^) d2^ d3^, d0 (g c^) d2^ d3^ "
     "| f32[3,8,5,4] f32[3,8,5,4]",
     0},
    {"experts", "y <- " MS "MoE f32[3,5,6] f32[15,4] f32[4,6,8] - f32[4,8,6]",
     "d0 d1 6, (d0 d1) 4, e+ 6 8, ?, e+ 8 6 -> d0 d1 6 | f32[3,5,6]", 0},
    {"into blocks, channels that fill them", "y <- com.microsoft.nchwc::ReorderInput f32[3,16,7,5]",
     "b 16 7 5 -> b 16 7 5 | f32[3,16,7,5]", 0},
    {"channels that do not", "y <- com.microsoft.nchwc::ReorderInput f32[3,10,7,5]",
     "3 10 7 5 -> ? | f32[3,?,7,5]", 0},
    {"out of blocks",
     "y <- com.microsoft.nchwc::ReorderOutput f32[3,16,7,5] channels=10 channels_last=1",
     "b 16 7 5 -> b 7 5 10 | f32[3,7,5,10]", 0},
    {"blocks", "y <- com.microsoft.nchwc::Upsample f32[3,8,7,5] scales=[1,1,2,2]",
     "d0 d1 7 5 -> d0 d1 o2 o3 | f32[3,8,14,10]", 0},
};

int main(void)
{
    return run_rows("variants", rows, rule_says);
}
