/* Operators on numbers of few bits. */
#include "tests/unit/rule_text.h"

static RuleCase rows[] = {
    {"one scale", "y <- QuantizeLinear f32[4,6] f32[] u8[]", "d0 d1, ,  -> d0 d1 | u8[4,6]", 0},
    {"no zero point", "y <- QuantizeLinear f32[4,6] f32[]", "d0 d1,  -> d0 d1 | u8[4,6]", 0},
    {"type by name", "y <- QuantizeLinear f32[4,6] f32[] output_dtype=3",
     "d0 d1,  -> d0 d1 | i8[4,6]", 0},
    {"a scale a column", "y <- QuantizeLinear f32[4,6] f32[6] i8[6]",
     "d0 d1, d1, d1 -> d0 d1 | i8[4,6]", 0},
    {"a scale a row", "y <- DequantizeLinear i8[4,6] f16[4] i8[4] axis=0",
     "d0 d1, d0, d0 -> d0 d1 | f16[4,6]", 0},
    {"blocks", "y <- DequantizeLinear i8[4,6] f32[4,2] axis=1 block_size=3",
     "d0 (n1 k1), d0 n1 -> d0 (n1 k1) | f32[4,6]", 0},
    {"blocks, the last short", "y <- DequantizeLinear i8[4,7] f32[4,3] axis=1 block_size=3",
     "d0 d1, d0 3 -> d0 d1 | f32[4,7]", 0},
    {"blocks of no size", "y <- DequantizeLinear i8[4,6] f32[4,2] axis=1 block_size=2",
     "its input 1 is not of blocks of 2 of dim 1 of its input 0", 0},
    {"scales of another length", "y <- QuantizeLinear f32[4,6] f32[4]",
     "dim 1 of its input 0 is 6, and dim 0 of its input 1 is 4", 0},
    {"zero points of another length", "y <- QuantizeLinear f32[4,6] f32[6] u8[4]",
     "its input 1 is [6], and its input 2 [4]", 0},
    {"to a type", "y <- DequantizeLinear i8[4] f32[] output_dtype=10", "d0,  -> d0 | f16[4]", 0},
    {"by its own range", "y s z <- DynamicQuantizeLinear f32[4,6]",
     "d0^ d1^ -> d0^ d1^, ,  | u8[4,6] f32[] u8[]", 0},
    {"cast like", "y <- CastLike f32[4,6] i64[1]", "d0 d1, 1 -> d0 d1 | i64[4,6]", 0},
    {"bits of another type", "y <- BitCast f32[4,6] to=6", "d0 d1 -> d0 d1 | i32[4,6]", 26},
    {"bits of another width", "y <- BitCast f32[4,6] to=7", "f32 and i64 do not have as many bits",
     26},
    {"integers", "y <- MatMulInteger u8[4,8] i8[8,6] u8[4] i8[6]",
     "m k+, k+ n, m, n -> m n | i32[4,6]", 0},
    {"integers by a weight", "y <- MatMulInteger u8[2,4,8] i8[8,6] u8[] i8[]",
     "b s k+, k+ n, ,  -> b s n | i32[2,4,6]", 0},
    {"quantized product", "y <- QLinearMatMul u8[2,4,8] f32[] u8[] i8[8,6] f32[6] i8[6] f32[] u8[]",
     "b s k^, , , k^ n, n, n, ,  -> b s n | u8[2,4,6]", 0},
    {"zero points that do not fit", "y <- MatMulInteger u8[4,8] i8[8,6] u8[] i8[5]",
     "its input 3 does not have one number for each n", 0},
    {"product with a transpose",
     "y <- com.microsoft::FusedMatMul f32[2,8,4] f32[2,6,8] transA=1 transB=1",
     "b0 k+ m, b0 n k+ -> b0 m n | f32[2,4,6]", 0},
    {"quantized sum",
     "y <- com.microsoft::QLinearAdd u8[4,6] f32[] u8[] u8[6] f32[] u8[] f32[] u8[]",
     "d0 d1, , , d1, , , ,  -> d0 d1 | u8[4,6]", 0},
};

int main(void)
{
    return run_rows("quantize", rows, rule_says);
}
