#include "core/rules/registry.h"
#include "tests/unit/rule_text.h"

static RuleCase rows[] = {
    {"scatter_elements", "y <- ScatterElements f32[4,5,6] i64[4,3,6] f32[4,3,6] axis=1",
     "d0 5 d2, d0 3 d2, d0 3 d2 -> d0 5 d2 | f32[4,5,6]", 0},
    {"scatter_elements of fewer", "y <- ScatterElements f32[4,5] i64[2,3] f32[2,3] axis=-1",
     "4 5, 2 3, 2 3 -> 4 5 | f32[4,5]", 0},
    {"scatter_elements that adds",
     "y <- ScatterElements f32[4,5] i64[4,3] f32[4,3] axis=1 reduction=\"add\"",
     "d0 5, d0 u1+, d0 u1+ -> d0 5 | f32[4,5]", 0},
    {"scatter_elements, the largest",
     "y <- ScatterElements f32[4,5] i64[4,3] f32[4,3] axis=1 reduction=\"max\"",
     "d0 5, d0 u1+, d0 u1+ -> d0 5  u1:max | f32[4,5]", 0},
    {"scatter_elements that multiplies",
     "y <- ScatterElements f32[4,5] i64[4,3] f32[4,3] axis=1 reduction=\"mul\"",
     "d0 5, d0 3, d0 3 -> d0 5 | f32[4,5]", 0},
    {"scatter of old", "y <- Scatter f32[4,5] i64[2,5] f32[2,5]",
     "4 d1, 2 d1, 2 d1 -> 4 d1 | f32[4,5]", 9},
    {"updates that differ", "y <- ScatterElements f32[4] i64[3] f32[4]",
     "its input 1 is [3], and its input 2 [4]", 0},
    {"longer than the data", "y <- ScatterElements f32[4,5] i64[5,5] f32[5,5] axis=1",
     "dim 0 of its input 1 is 5, and of its input 0 only 4", 0},
    {"a reduction nobody knows", "y <- ScatterElements f32[4] i64[4] f32[4] reduction=\"avg\"",
     "unknown reduction 'avg'", 0},
    {"scatter_nd", "y <- ScatterND f32[4,5,6] i64[7,2] f32[7,6]",
     "4 5 e2, 7 2, 7 e2 -> 4 5 e2 | f32[4,5,6]", 0},
    {"scatter_nd that adds", "y <- ScatterND f32[4,6] i64[3,7,1] f32[3,7,6] reduction=\"add\"",
     "4 e1, i0+ i1+ 1, i0+ i1+ e1 -> 4 e1 | f32[4,6]", 0},
    {"scatter_nd, updates do not fit", "y <- ScatterND f32[4,6] i64[3,1] f32[3,5]",
     "its input 2 is [3,5], and needs to be [3,6]", 0},

    {"top k", "y i <- TopK f32[2,9,4] i64[1]{3} axis=1",
     "d0 d^ d2, 1 -> d0 3 d2, d0 3 d2 | f32[2,3,4] i64[2,3,4]", 0},
    {"top k, an attribute", "y i <- TopK f32[2,9] k=3", "d0 d^ -> d0 3, d0 3 | f32[2,3] i64[2,3]",
     9},
    {"top of more than there are", "y i <- TopK f32[2] i64[1]{3}", "it selects 3 of 2", 0},
    {"top of what the run says", "y i <- TopK f32[2,9] i64[1]",
     "2 9, 1 -> ?, ? | f32[2,?] i64[2,?]", 0},
    {"one hot", "y <- OneHot i64[2,3] i64[]{7} f32[2]", "i0 i1, , 2 -> i0 i1 7 | f32[2,3,7]", 0},
    {"one hot in front", "y <- OneHot i64[2,3] i64[1]{7} f16[2] axis=0",
     "i0 i1, 1, 2 -> 7 i0 i1 | f16[7,2,3]", 0},
    {"compress", "y <- Compress f32[4,5] bool[4]{0,1,0,0} axis=1", "d0 5, 4 -> d0 1 | f32[4,1]", 0},
    {"compress by the run", "y <- Compress f32[4,5] bool[5] axis=1", "4 5, 5 -> ? | f32[4,?]", 0},
    {"compress of all", "y <- Compress f32[4,5] bool[20]", "4 5, 20 -> ? | f32[?]", 0},
    {"non-zero", "y <- NonZero f32[4,5,6]", "4 5 6 -> ? | i64[3,?]", 0},
    {"unique", "y i v n <- Unique f32[4,5]", "4 5 -> ?, ?, ?, ? | f32[?] i64[?] i64[20] i64[?]", 0},
    {"unique rows", "y i v n <- Unique f32[4,5] axis=0",
     "4 5 -> ?, ?, ?, ? | f32[?,5] i64[?] i64[4] i64[?]", 0},
    {"boxes kept", "y <- NonMaxSuppression f32[1,6,4] f32[1,2,6]", "1 6 4, 1 2 6 -> ? | i64[?,3]",
     0},
    {"reverse sequence", "y <- ReverseSequence f32[9,4,3] i64[4]",
     "t^ b d2, b -> t^ b d2 | f32[9,4,3]", 0},
    {"reverse sequence, batch first",
     "y <- ReverseSequence f32[4,9] i64[4] time_axis=1 batch_axis=0", "b t^, b -> b t^ | f32[4,9]",
     0},
    {"reverse sequence of one axis", "y <- ReverseSequence f32[4,9] i64[4] time_axis=1",
     "its time and batch axes are the same", 0},
    {"eye like", "y <- EyeLike f32[3,4] dtype=7", "3 4 -> 3 4 | i64[3,4]", 0},
    {"determinant", "y <- Det f32[2,3,4,4]", "d0 d1 4 4 -> d0 d1 | f32[2,3]", 0},
    {"determinant of no square", "y <- Det f32[3,4]",
     "dim 0 of its input 0 is 3, and dim 1 of its input 0 is 4", 0},
    {"features", "y <- ai.onnx.ml::ArrayFeatureExtractor f32[3,4] i64[2]",
     "d0 4, 2 -> d0 2 | f32[3,2]", 0},
    {"a feature by a scalar", "y <- ai.onnx.ml::ArrayFeatureExtractor f32[3,4] i64[]",
     "d0 4,  -> d0 1 | f32[3,1]", 0},
    {"features of a vector", "y <- ai.onnx.ml::ArrayFeatureExtractor f32[4] i64[1,2]",
     "4, 1 2 -> 1 2 | f32[1,2]", 0},
};

typedef struct {
    const char *name, *text, *want; /* per input: alone, together or no; `once` where added once */
} Flags;

static Flags flags[] = {
    {"replaces", "y <- ScatterElements f32[4] i64[2] f32[2]", "together no together"},
    {"adds", "y <- ScatterElements f32[4] i64[2] f32[2] reduction=\"add\"",
     "together once no together"},
    {"the largest", "y <- ScatterND f32[4] i64[2,1] f32[2] reduction=\"max\"", "no no no"},
    {"adds rows", "y <- ScatterND f32[4,3] i64[2,1] f32[2,3] reduction=\"add\"",
     "together once no together"},
    {"reversed", "y <- ReverseSequence f32[9,4] i64[4]", "alone no"},
};

static void flags_are(void **state)
{
    static const char *const names[] = {
        [LINEAR_NO] = "no", [LINEAR_ALONE] = "alone", [LINEAR_TOGETHER] = "together"};
    const Flags *row = *state;
    Arena *arena = arena_new();
    RuleCall call;
    Error err = {0};
    assert_true(apply_rule(arena, row->text, 24, &call, &err));
    Buf got = buf_new(arena);
    for (int i = 0; i < call.n_inputs; i++)
        buf_printf(&got, "%s%s%s", i > 0 ? " " : "", names[call.space->operand[i].linear],
                   call.space->operand[i].once ? " once" : "");
    assert_string_equal(got.s, row->want);
    arena_free(arena);
}

int main(void)
{
    return run_rows("scatter", rows, rule_says) + run_rows("flags", flags, flags_are);
}
