/* Operands and attributes that do not fit an operator: the finding names the op, the input by its
 * number, the dim and the sizes; and numbers at the ends of their range do no harm. */
#include "core/rules/registry.h"
#include "tests/unit/unit.h"

#include "core/rules/infer.h"
#include "core/rules/one_op.h"

typedef struct {
    const char *name;
    const char *op_type, *operands, *attrs; /* as core/rules/example.h has them */
    int n_outputs;
    const char *want; /* what the first finding says, or its hint; NULL: there is none */
} Refusal;

#define MAX "9223372036854775807"

/* clang-format off */
static Refusal refusals[] = {
    {"inner sizes of a product", "MatMul", "4x8,7x6", NULL, 1, "dim 1 of its input 0 is 8, and dim 0 of its input 1 is 7"},
    {"the op is named", "MatMul", "4x8,7x6", NULL, 1, "MatMul 'op': "},
    {"its inputs are told", "MatMul", "4x8,7x6", NULL, 1, "its inputs are [4,8], [7,6]"},
    {"an absent input is told", "Clip", "4x8,-,3", NULL, 1, "its inputs are [4,8], none, [3]"},
    {"broadcasting", "Add", "4x8,4x1x7", NULL, 1, "dim 2 of operand 1 is 7, and dim 1 of operand 0 is 8"},
    {"rank of a weight", "Linear", "4x8,8", NULL, 1, "its input 1 has 1 dim, and needs 2"},
    {"rank of a matrix", "Det", "4", NULL, 1, "its input 0 has 1 dim, and needs 2 or more"},
    {"rank in a range", "Diag", "4x8x2", NULL, 1, "its input 0 has 3 dims, and needs 1 to 2"},
    {"a whole shape", "ScatterND", "5x6x4,3x2:i64,3x5", NULL, 1, "its input 2 is [3,5], and needs to be [3,4]"},
    {"shapes that are the same", "MseLoss", "4x8,4x7", NULL, 1, "its input 0 is [4,8], and its input 1 [4,7]"},
    {"heads", "Attention", "3x4x5x6,3x3x7x6,3x3x7x8", NULL, 1, "4 query heads are not a multiple of 3 key heads"},
    {"queries and keys", "Attention", "3x4x5x6,3x2x7x5,3x2x7x8", NULL, 1, "its queries and keys differ in numbers a head: 6 and 5"},
    {"kept keys", "com.microsoft::GroupQueryAttention", "3x5x24,3x5x12,3x5x12,3x2x9x5,3x2x9x6,3:i32,=9", "num_heads=4 kv_num_heads=2", 1, "its input 3 is [3,2,9,5], and needs to be [3,2,9,6]"},
    {"another system's order of operands", "torch::addmm", "5x7,5x6,5x7", NULL, 1, "dim 1 of its input 1 is 6, and dim 0 of its input 2 is 5"},
    {"sizes that StableHLO shares", "stablehlo.dot_general", "4x8,7x6->4x6", "contracting_dims=[[1],[0]]", 1, "': dim 1 of input 0 has size 8, dim 0 of input 1 has size 7"},
    {"a result of another size", "stablehlo.complex", "4x8,4x8->4x7:c64", NULL, 1, "': dim 1 of input 0 has size 8, dim 1 of result 0 has size 7"},
    {"a result of another rank", "stablehlo.slice", "4x8->4", NULL, 1, "': result 0 has 1 dim but input 0 has 2"},
    {"an input that our rule needs", "com.microsoft::FusedConv", "1x3x4x4,-,4", NULL, 1, "its input 1 is absent"},
    {"an axis", "Softmax", "4x8", "axis=2", 1, "axis 2 is out of range for 2 dims"},
    {"channels that are no groups", "GroupNormalization", "3x5x4x3,5,5", "num_groups=3", 1, "5 channels are not 3 equal groups"},
    {"a window too long", "MaxPool", "1x1x4", "kernel_shape=[5]", 1, "a window that reaches over 5 does not fit spatial dim 0 of size 4"},

    {"a scale of three dims", "com.microsoft::MatMulNBits", "5x32,7x2x8:u8,7x2x1", "K=32 N=7 block_size=16", 1, "its input 2 is [7,2,1], and needs to be [7,2]"},
    {"blocks without end", "com.microsoft::MatMulNBits", "5x32,7x2x8:u8,14", "K=32 N=" MAX " block_size=1", 1, "it has too many blocks"},
    {"heads without end", "com.microsoft::Attention", "3x5x8,8x36,36", "num_heads=" MAX, 1, "its weight is not three equal parts of heads"},
    {"chunks without end", "Chunk", "5x9", "axis=1 chunks=" MAX, 3, "its 3 outputs do not make up the 9 of their axis"},
    {"a length of no number", "com.microsoft::GroupQueryAttention", "3x5x24,3x5x12,3x5x12,3x2x9x6,3x2x9x6,3:i32,=[]", "num_heads=4 kv_num_heads=2", 3, "known only at run time"},
    {"a step without end", "Slice", "7x9,=8,=9,=1,=" MAX, NULL, 1, NULL},
    {"an optimizer that gives less", "ai.onnx.preview.training::Momentum", "scalar,scalar:i64,5x6,7,5x6,7,5x6,7", NULL, 1, NULL},
    {"one value of a branch", "If", "scalar:bool,5,5", NULL, 2, "it has 2 outputs, and gives 1"},
};
/* clang-format on */

static bool says(const Inferred *inferred, const char *want)
{
    for (int f = 0; f < inferred->findings.n; f++)
        if (strstr(inferred->findings.at[f].text, want) ||
            strstr(inferred->findings.at[f].hint, want))
            return true;
    return false;
}

static void refuses(void **state)
{
    const Refusal *row = *state;
    Arena *arena = arena_new();
    Error err = {0};
    const DimBindings none = {0};
    OneOp op = {.op_type = str_from(row->op_type), .n_outputs = row->n_outputs};
    if (!one_op_operands(arena, str_from(row->operands), &op, &err))
        fail_msg("%s", err.text);
    OneOpBuilder *builder = one_op_new(arena, &op);
    for (const char *at = row->attrs ? row->attrs : ""; *at;) {
        size_t n = strcspn(at, " ");
        assert_true(one_op_attr_text(builder, arena_str(arena, (Str){at, n}), &err));
        at += n + strspn(at + n, " ");
    }
    const Graph *graph = one_op_graph(builder, &err);
    const Inferred *inferred = infer(arena, graph, registry_new(arena), &none, false, &err);
    if (!inferred)
        fail_msg("%s", err.text);
    const char *first = inferred->findings.n > 0 ? inferred->findings.at[0].text : NULL;
    if (!row->want && first)
        fail_msg("%s", first);
    if (row->want && !says(inferred, row->want))
        fail_msg("%s", first ? first : "it says nothing");
    arena_free(arena);
}

int main(void)
{
    return run_rows("refusals", refusals, refuses);
}
