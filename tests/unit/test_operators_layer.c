/* Layers: norms of images, attention, recurrent cells, operators of com.microsoft. */
#include "core/rules/registry.h"
#include "tests/unit/rule_text.h"

static RuleCase rows[] = {
    {"batch norm", "y <- BatchNormalization f32[2,3,4,5] f32[3] f32[3] f32[3] f32[3]",
     "b c h w, c, c, c, c -> b c h w | f32[2,3,4,5]", 0},
    {"batch norm in training",
     "y m v <- BatchNormalization f32[2,3,4,5] f32[3] f32[3] f32[3] f32[3] training_mode=1",
     "b^ c h^ w^, c, c, c, c -> b^ c h^ w^, c, c | f32[2,3,4,5] f32[3] f32[3]", 0},
    {"batch norm of old, with statistics",
     "y m v a b <- BatchNormalization f32[2,3,4] f32[3] f32[3] f32[3] f32[3]",
     "b^ c w^, c, c, c, c -> b^ c w^, c, c, c, c | f32[2,3,4] f32[3] f32[3] f32[3] f32[3]", 9},
    {"batch norm, a number an element",
     "y <- BatchNormalization f32[2,3,4] f32[3,4] f32[3,4] f32[3,4] f32[3,4] spatial=0",
     "b c w, c w, c w, c w, c w -> b c w | f32[2,3,4]", 7},
    {"batch norm of rows", "y <- BatchNormalization f32[2,3] f32[3] f32[3] f32[3] f32[3]",
     "b c, c, c, c, c -> b c | f32[2,3]", 0},
    {"batch norm of other channels", "y <- BatchNormalization f32[2,3] f32[2] f32[3] f32[3] f32[3]",
     "its input 1 is [2], and needs to be [3]", 0},
    {"instance norm", "y <- InstanceNormalization f32[2,3,4,5] f32[3] f32[3]",
     "b c h^ w^, c, c -> b c h^ w^ | f32[2,3,4,5]", 0},
    {"group norm", "y <- GroupNormalization f32[2,6,4] f32[6] f32[6] num_groups=2",
     "b (g c^) w^, (g c^), (g c^) -> b (g c^) w^ | f32[2,6,4]", 0},
    {"group norm, a number a group",
     "y <- GroupNormalization f32[2,6,4] f32[2] f32[2] num_groups=2",
     "b (g c^) w^, g, g -> b (g c^) w^ | f32[2,6,4]", 18},
    {"group norm that does not divide",
     "y <- GroupNormalization f32[2,6,4] f32[6] f32[6] num_groups=4",
     "6 channels are not 4 equal groups", 0},
    {"lp norm", "y <- LpNormalization f32[2,3,4] axis=1", "d0 d1^ d2 -> d0 d1^ d2 | f32[2,3,4]", 0},
    {"mean and variance", "y <- MeanVarianceNormalization f32[2,3,4,5]",
     "d0^ d1 d2^ d3^ -> d0^ d1 d2^ d3^ | f32[2,3,4,5]", 0},
    {"hardmax", "y <- Hardmax f32[2,3]", "d0 d^ -> d0 d^ | f32[2,3]", 0},
    {"hardmax of old", "y <- Hardmax f32[2,3,4]", "d0 d1^ d2^ -> d0 d1^ d2^ | f32[2,3,4]", 11},
    {"simplified layer norm", "y i <- SimplifiedLayerNormalization f32[2,3,4] f32[4]",
     "d0 d1 d^, d^ -> d0 d1 d^, d0 d1 1 | f32[2,3,4] f32[2,3,1]", 0},
    {"swiglu", "y <- SwiGLU f32[2,3] f32[2,3]", "d0 d1, d0 d1 -> d0 d1 | f32[2,3]", 28},
    {"swiglu does not broadcast", "y <- SwiGLU f32[2,3] f32[3]",
     "its input 0 is [2,3], and its input 1 [3]", 28},
    {"cache", "y <- TensorScatter f32[2,4,16,8] f32[2,4,3,8] i64[2]",
     "d0 d1 16 d3, d0 d1 3 d3, d0 -> d0 d1 16 d3 | f32[2,4,16,8]", 0},
    {"cache too short", "y <- TensorScatter f32[2,4,2,8] f32[2,4,3,8]",
     "dim 2 of its input 0 is 2, and dim 2 of its input 1 is 3", 0},
    {"attention", "y <- Attention f32[2,8,5,16] f32[2,4,7,16] f32[2,4,7,12]",
     "b (h g) s d^, b h t^ d^, b h t^ e -> b (h g) s e | f32[2,8,5,12]", 0},
    {"attention of packed heads",
     "y <- Attention f32[2,5,64] f32[2,7,64] f32[2,7,64] q_num_heads=4 kv_num_heads=4",
     "b s (h d^), b t^ (h d^), b t^ (h e) -> b s (h e) | f32[2,5,64]", 0},
    {"attention with all",
     "y k v qk <- Attention f32[2,5,64] f32[2,7,32] f32[2,7,32] f32[5,10] f32[2,2,3,16] "
     "f32[2,2,3,16] q_num_heads=4 kv_num_heads=2",
     "b s (h g d^), b t^ (h d^), b t^ (h e), s 10, b h 3 d^, b h 3 e -> b s (h g e), b h 10 d^, b "
     "h 10 e, b (h g) s 10 | f32[2,5,64] f32[2,2,10,16] f32[2,2,10,16] f32[2,4,5,10]",
     0},
    {"attention by a mask a head",
     "y <- Attention f32[2,8,5,16] f32[2,8,7,16] f32[2,8,7,16] f32[1,8,5,7]",
     "b h s d^, b h t^ d^, b h t^ e, 1 h s 7 -> b h s e | f32[2,8,5,16]", 0},
    {"attention of unlike heads", "y <- Attention f32[2,8,5,16] f32[2,3,7,16] f32[2,3,7,16]",
     "8 query heads are not a multiple of 3 key heads", 0},
    {"attention without its heads", "y <- Attention f32[2,5,64] f32[2,7,64] f32[2,7,64]",
     "its input 0 has 64 numbers for 0 heads", 0},
    {"attention by a mask that does not fit",
     "y <- Attention f32[2,8,5,16] f32[2,8,7,16] f32[2,8,7,16] f32[4,7]",
     "its input 3, the mask, does not broadcast to [2,8,5,7]", 0},
    {"flex attention",
     "y <- ai.onnx.preview::FlexAttention f32[2,8,5,16] f32[2,4,7,16] f32[2,4,7,16]",
     "b (h g) s d^, b h t^ d^, b h t^ e -> b (h g) s e | f32[2,8,5,16]", 0},
    {"linear attention",
     "y s <- LinearAttention f32[2,5,64] f32[2,5,32] f32[2,5,24] f32[2,2,16,12] f32[2,5,32] "
     "f32[2,5,2] q_num_heads=4 kv_num_heads=2",
     "b t^ (h g d^), b t^ (h d^), b t^ (h e), b h d^ e, b t^ (h d^), b t^ h -> b t^ (h g e), b h "
     "d^ e | f32[2,5,48] f32[2,2,16,12]",
     27},
    {"rotary", "y <- RotaryEmbedding f32[2,4,5,16] f32[2,5,8] f32[2,5,8]",
     "b h s d^, b s 8, b s 8 -> b h s d^ | f32[2,4,5,16]", 0},
    {"rotary of packed heads",
     "y <- RotaryEmbedding f32[2,5,64] f32[99,8] f32[99,8] i64[2,5] num_heads=4",
     "b s (h d^), 99 8, 99 8, b s -> b s (h d^) | f32[2,5,64]", 0},
    {"rnn", "y h <- RNN f32[5,2,3] f32[1,4,3] f32[1,4,4]",
     "s^ b i^, 1 h^ i^, 1 h^ p^ -> s^ 1 b h^, 1 b h^ | f32[5,1,2,4] f32[1,2,4]", 0},
    {"gru", "y h <- GRU f32[5,2,3] f32[1,12,3] f32[1,12,4] f32[1,24]",
     "s^ b i^, 1 (3 h^) i^, 1 (3 h^) p^, 1 (6 h^) -> s^ 1 b h^, 1 b h^ | f32[5,1,2,4] f32[1,2,4]",
     0},
    {"lstm both ways",
     "y h c <- LSTM f32[5,2,3] f32[2,16,3] f32[2,16,4] f32[2,32] i32[2] f32[2,2,4] f32[2,2,4] "
     "f32[2,12] direction=\"bidirectional\"",
     "s^ b i^, r (4 h^) i^, r (4 h^) p^, r (8 h^), b, r b h^, r b h^, r (3 h^) -> s^ r b h^, r b "
     "h^, r b h^ | f32[5,2,2,4] f32[2,2,4] f32[2,2,4]",
     0},
    {"lstm, batch first", "y - c <- LSTM f32[2,5,3] f32[1,16,3] f32[1,16,4] layout=1",
     "b s^ i^, 1 (4 h^) i^, 1 (4 h^) p^ -> b s^ 1 h^, b 1 h^, b 1 h^ | f32[2,5,1,4] f32[2,1,4] "
     "f32[2,1,4]",
     0},
    {"lstm of other gates", "y <- LSTM f32[5,2,3] f32[1,12,3] f32[1,12,4]",
     "its input 1 is [1,12,3], and needs to be [1,16,3]", 0},
    {"lstm of no direction", "y <- LSTM f32[5,2,3] f32[1,16,3] f32[1,16,4] direction=\"up\"",
     "its direction is 'up'", 0},
    {"contrib gelu", "y <- com.microsoft::BiasGelu f32[2,3,4] f32[4]",
     "d0 d1 d2, d2 -> d0 d1 d2 | f32[2,3,4]", 0},
    {"contrib split gelu", "y <- com.microsoft::BiasSplitGelu f32[2,3,8] f32[8]",
     "d0 d1 (2 d2), (2 d2) -> d0 d1 d2 | f32[2,3,4]", 0},
    {"contrib skip norm",
     "y - - s <- com.microsoft::SkipLayerNormalization f32[2,3,4] f32[2,3,4] f32[4] f32[4]",
     "d0 d1 d^, d0 d1 d^, d^, d^ -> d0 d1 d^, d0 d1 1, d0 d1 1, d0 d1 d^ | f32[2,3,4] f32[2,3,1] "
     "f32[2,3,1] f32[2,3,4]",
     0},
    {"contrib embeddings",
     "y m <- com.microsoft::EmbedLayerNormalization i32[2,5] i32[2,5] f32[99,8] f32[16,8] f32[2,8] "
     "f32[8] f32[8]",
     "b s^, b s^, 99 d^, 16 d^, 2 d^, d^, d^ -> b s^ d^, b | f32[2,5,8] i32[2]", 0},
    {"contrib multi-head",
     "y k v <- com.microsoft::MultiHeadAttention f32[2,5,64] f32[2,7,64] f32[2,7,64] num_heads=4",
     "b s (h d^), b t^ (h d^), b t^ (h e) -> b s (h e), b h 7 d^, b h 7 e | f32[2,5,64] "
     "f32[2,4,7,16] f32[2,4,7,16]",
     0},
    {"contrib packed", "y <- com.microsoft::MultiHeadAttention f32[2,5,4,3,16] num_heads=4",
     "its queries, keys and values are packed in one", 0},
    {"contrib grouped",
     "y k v <- com.microsoft::GroupQueryAttention f32[2,1,64] f32[2,1,32] f32[2,1,32] "
     "f32[2,2,9,16] f32[2,2,9,16] i32[2] i32[]{12} num_heads=4 kv_num_heads=2",
     "b 1 (h g d^), b 1 (h d^), b 1 (h e), b h 9 d^, b h 9 e, b,  -> b 1 (h g e), b h 12 d^, b h "
     "12 e | f32[2,1,64] f32[2,2,12,16] f32[2,2,12,16]",
     0},
    {"contrib grouped, length by the run",
     "y k v <- com.microsoft::GroupQueryAttention f32[2,1,64] f32[2,1,32] f32[2,1,32] "
     "f32[2,2,9,16] f32[2,2,9,16] i32[2] i32[] num_heads=4 kv_num_heads=2",
     "2 1 64, 2 1 32, 2 1 32, 2 2 9 16, 2 2 9 16, 2,  -> ?, ?, ? | f32[2,1,64] f32[2,2,?,16] "
     "f32[2,2,?,16]",
     0},
    {"contrib attention",
     "y p <- com.microsoft::Attention f32[2,5,8] f32[8,24] f32[24] num_heads=2",
     "b s^ i^, i^ (3 h d^), (3 h d^) -> b s^ (h d^), 2 b h 5 4 | f32[2,5,8] f32[2,2,2,5,4]", 0},
    {"contrib rotary",
     "y <- com.microsoft::RotaryEmbedding f32[2,5,64] i64[2,5] f32[99,8] f32[99,8] num_heads=4",
     "b s (h d^), b s, 99 8, 99 8 -> b s (h d^) | f32[2,5,64]", 0},
    {"contrib few bits",
     "y <- com.microsoft::MatMulNBits f32[2,3,64] u8[10,2,16] f32[20] K=64 N=10 bits=4 "
     "block_size=32",
     "d0 d1 (kb+ kk^), n kb+ 16, (n kb+) -> d0 d1 n | f32[2,3,10]", 0},
    {"weights of few bits, with zero points",
     "y <- com.microsoft::MatMulNBits f32[2,3,128] u8[10,4,16] f32[40] u8[20] K=128 N=10 bits=4 "
     "block_size=32",
     "d0 d1 (kb+ kz^ kk^), n (kb+ kz^) 16, (n kb+ kz^), (n kb+) -> d0 d1 n | f32[2,3,10]", 0},
};

/* A product over frozen dims is no multiple of the points of its index space. */
static void attention_and_cells_count_their_products(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double flops;
    } cases[] = {
        {"y <- Attention f32[2,8,5,16] f32[2,4,7,16] f32[2,4,7,12]", 2.0 * 2 * 8 * 5 * 7 * 28},
        {"y <- LinearAttention f32[2,5,64] f32[2,5,32] f32[2,5,24] q_num_heads=4 kv_num_heads=2",
         2.0 * 2 * 5 * (4 + 2) * 16 * 12},
        {"y <- LinearAttention f32[2,5,64] f32[2,5,32] f32[2,5,24] f32[2,2,16,12] f32[2,5,2] "
         "f32[2,5,2] q_num_heads=4 kv_num_heads=2",
         2.0 * 2 * 5 * (4 + 2 * 2) * 16 * 12},
        {"y <- LSTM f32[5,2,3] f32[1,16,3] f32[1,16,4]", 2.0 * 5 * 4 * 2 * 4 * 7},
        {"y <- Conv f32[2,6,8] f32[4,3,3] group=2", 2.0 * 2 * 4 * 6 * 3 * 3},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Arena *arena = arena_new();
        RuleCall call;
        Error err = {0};
        assert_true(apply_rule(arena, cases[i].text, 27, &call, &err));
        assert_true(call.space->flops >= cases[i].flops && call.space->flops <= cases[i].flops);
        arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_and_cells_count_their_products),
    };
    return run_rows("layers", rows, rule_says) + cmocka_run_group_tests(tests, NULL, NULL);
}
