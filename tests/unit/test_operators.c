#include "core/base/error.h"
#include "core/base/str.h"
#include "core/rules/registry.h"
#include "tests/unit/unit.h"
#include "tests/unit/graph_text.h"

#include "core/rules/infer.h"

#include <inttypes.h>

/* ---- what an operator's rule says, as text ---- */

static Inferred *infer_text(Arena *arena, const char *text, int64_t opset)
{
    DimBindings none = {0};
    Error err = {0};
    Inferred *inferred =
        infer(arena, graph_from_text(arena, text, opset), registry_new(arena), &none, false, &err);
    if (!inferred)
        fail_msg("%s: %s", text, err.text);
    return inferred;
}

/* The op space of the last op, the dtypes and shapes of its outputs, its kernel: or the finding. */
static const char *rule_text(Arena *arena, const Inferred *inferred)
{
    const Graph *graph = inferred->graph;
    int32_t op = graph->n_ops - 1;
    const OpSpace *space = inferred_space(inferred, op);
    Buf out = buf_new(arena);
    if (inferred->findings.n > 0) {
        const Finding *finding = &inferred->findings.at[0];
        const char *colon = strstr(finding->text, ": ");
        bool names_op = strcmp(finding->code, "unknown-size") != 0; /* "Op 'name': what is wrong" */
        return names_op && colon ? colon + 2 : finding->text;
    }
    assert_non_null(space);
    opspace_format(space, &out);
    buf_puts(&out, " |");
    for (int o = 0; o < graph->ops[op].n_outputs; o++) {
        int32_t t = op_outputs(graph, op)[o];
        const Shape *shape = t < 0 ? NULL : inferred_shape(inferred, t);
        buf_printf(&out, " %s[", t < 0 ? "-" : dtype_name((Dtype)inferred->dtype[t]));
        for (int64_t d = 0; shape && d < shape->n_dims; d++)
            buf_printf(&out, "%s%" PRId64, d > 0 ? "," : "", shape->dim[d]);
        buf_puts(&out, "]");
    }
    if (space->kernel)
        buf_printf(&out, " %s", space->kernel);
    return out.s;
}

typedef struct {
    const char *name, *text, *want;
    int64_t opset; /* 0: 18 */
} Case;

static const Case rows[] = {
    /* element-wise */
    {"unary", "y <- Tanh f32[4,1,8]", "d0 1 d2 -> d0 1 d2 | f32[4,1,8]", 0},
    {"scalar", "y <- Tanh f32[]", " ->  | f32[]", 0},
    {"empty", "y <- Tanh f32[4,0]", "d0 d1 -> d0 d1 | f32[4,0]", 0},
    {"broadcast", "y <- Add f32[4,1,8] f32[6,1]", "d0 1 d2, d1 1 -> d0 d1 d2 | f32[4,6,8]", 0},
    {"comparison", "y <- Less f32[4] f32[]", "d0,  -> d0 | bool[4]", 0},
    {"where", "y <- Where bool[4,1] f32[] f32[5]", "d0 1, , d1 -> d0 d1 | f32[4,5]", 0},
    {"max of three", "y <- Max f32[4] f32[1] f32[4]", "d0, 1, d0 -> d0 | f32[4]", 0},
    {"cast", "y <- Cast f32[4] to=7", "d0 -> d0 | i64[4]", 0},
    {"is not a number", "y <- IsNaN f32[4]", "d0 -> d0 | bool[4]", 0},
    {"identity", "y <- Identity f32[4]", "d0 -> d0 | f32[4] view", 0},
    {"dropout with mask", "y m <- Dropout f32[4,5] f32[]{0.5}",
     "d0 d1,  -> d0 d1, d0 d1 | f32[4,5] "
     "bool[4,5]",
     0},
    {"dropout, mask not wanted", "y - <- Dropout f32[4,5]", "d0 d1 -> d0 d1, ? | f32[4,5] -[]", 0},
    {"clip without least", "y <- Clip f32[4] - f32[]{1}", "d0, ?,  -> d0 | f32[4]", 0},
    {"clip of a scalar", "y <- Clip f32[] f32[1]{0}", ", 1 ->  | f32[]", 0},
    {"clip by a tensor", "y <- Clip f32[4] f32[4]", "its input 1 is not one element", 0},
    {"expand groups", "y <- Expand f32[2,4,1,3] i64[4]{2,4,2,3}",
     "d0 d1 1 d3, 4 -> d0 d1 d2 d3 | f32[2,4,2,3]", 0},
    {"expand to fewer", "y <- Expand f32[3,2] i64[1]{1}", "d0 d1, 1 -> d0 d1 | f32[3,2]", 0},
    {"shapes that differ", "y <- Add f32[4] f32[5]",
     "dim 0 of operand 1 is 5, and dim 0 of operand 0 is 4", 0},
    {"too many operands", "y <- Tanh f32[4] f32[4]", "it has 2 inputs, and takes 1", 0},
    {"too few operands", "y <- Add f32[4]", "it has 1 input, and takes 2", 0},
    {"absent operand", "y <- Add f32[4] -", "its input 1 is absent", 0},
    {"too many outputs", "y z <- Tanh f32[4]", "it has 2 outputs, and gives 1 to 1", 0},

    /* products */
    {"matmul", "y <- MatMul f32[4,8] f32[8,6]", "m k+, k+ n -> m n | f32[4,6]", 0},
    {"matmul by a weight", "y <- MatMul f32[2,4,8] f32[8,6]", "b s k+, k+ n -> b s n | f32[2,4,6]",
     0},
    {"batched matmul", "y <- MatMul f32[2,3,4,8] f32[3,8,6]",
     "b0 b1 m k+, b1 k+ n -> b0 b1 m n | f32[2,3,4,6]", 0},
    {"batch of one", "y <- MatMul f32[1,3,4,8] f32[2,1,8,6]",
     "1 b1 m k+, b0 1 k+ n -> b0 b1 m n | f32[2,3,4,6]", 0},
    {"vector by matrix", "y <- MatMul f32[8] f32[2,8,6]", "k+, b0 k+ n -> b0 n | f32[2,6]", 0},
    {"matrix by vector", "y <- MatMul f32[2,4,8] f32[8]", "b0 m k+, k+ -> b0 m | f32[2,4]", 0},
    {"vectors", "y <- MatMul f32[8] f32[8]", "k+, k+ ->  | f32[]", 0},
    {"outer product", "y <- MatMul f32[4,1] f32[1,6]", "m 1, 1 n -> m n | f32[4,6]", 0},
    {"inner sizes differ", "y <- MatMul f32[4,8] f32[7,6]",
     "dim 1 of its input 0 is 8, and dim 0 of its input 1 is 7", 0},
    {"matmul of a scalar", "y <- MatMul f32[] f32[7,6]",
     "its input 0 has 0 dims, and needs 1 or more", 0},
    {"gemm", "y <- Gemm f32[4,8] f32[8,6] f32[6]", "m k+, k+ n, n -> m n | f32[4,6]", 0},
    {"gemm transposed", "y <- Gemm f32[8,4] f32[6,8] f32[4,1] transA=1 transB=1",
     "k+ m, n k+, m 1 -> m n | f32[4,6]", 0},
    {"gemm without C", "y <- Gemm f32[4,8] f32[8,6]", "m k+, k+ n -> m n | f32[4,6]", 0},
    {"gemm with a larger C", "y <- Gemm f32[1,8] f32[8,6] f32[4,6]",
     "its input 2 is larger than the product", 0},
    {"einsum", "y <- Einsum f32[2,4,8] f32[2,6,8] equation=\"bij,bkj->bik\"",
     "b i j+, b k j+ -> b i k | f32[2,4,6]", 0},

    /* folds */
    {"mean of the last dim", "y <- ReduceMean f32[2,4,8] i64[1]{-1}",
     "d0 d1 d+, 1 -> d0 d1 1 | f32[2,4,1]", 0},
    {"mean, axes an attribute", "y <- ReduceMean f32[2,4,8] axes=[0,2] keepdims=0",
     "d0+ d1 d2+ -> d1 | f32[4]", 13},
    {"sum of all", "y <- ReduceSum f32[2,4]", "d0+ d1+ -> 1 1 | f32[1,1]", 0},
    {"sum of none", "y <- ReduceSum f32[2,4] noop_with_empty_axes=1", "d0 d1 -> d0 d1 | f32[2,4]",
     0},
    {"max", "y <- ReduceMax f32[2,4] i64[1]{0} keepdims=0", "d+ d1, 1 -> d1  d:max | f32[4]", 0},
    {"norm", "y <- ReduceL2 f32[2,4] i64[1]{1}", "d0 d^, 1 -> d0 1 | f32[2,1]", 0},
    {"mean of integers", "y <- ReduceMean i32[2,4] i64[1]{1}", "d0 d^, 1 -> d0 1 | i32[2,1]", 0},
    {"axes from the run", "y <- ReduceSum f32[2,4] i64[1]",
     "1 op is replicated, since sizes are known only at run time: ReduceSum_0.0, ReduceSum_0.1", 0},
    {"axis twice", "y <- ReduceSum f32[2,4] i64[2]{1,-1}", "axis 1 is given twice", 0},
    {"argmax", "y <- ArgMax f32[2,4] axis=1 keepdims=0", "d0 d^ -> d0 | i64[2]", 0},
    {"cumulative sum", "y <- CumSum f32[2,4] i64[]{1}", "d0 d^,  -> d0 d^ | f32[2,4]", 0},
    {"cumulative sum, axis from the run", "y <- CumSum f32[2,4] i64[]",
     "d0^ d1^,  -> d0^ d1^ | f32[2,4]", 0},

    /* norms */
    {"layer norm", "y <- LayerNormalization f32[2,4,8] f32[8] f32[8]",
     "d0 d1 d^, d^, d^ -> d0 d1 d^ | f32[2,4,8]", 0},
    {"layer norm over two dims, all outputs",
     "y m s <- LayerNormalization f16[2,4,8] f16[4,8] axis=1",
     "d0 d1^ d2^, d1^ d2^ -> d0 d1^ d2^, d0 1 1, d0 1 1 | f16[2,4,8] f32[2,1,1] f32[2,1,1]", 0},
    {"rms norm", "y <- RMSNormalization f32[2,8] f32[8]", "d0 d^, d^ -> d0 d^ | f32[2,8]", 23},
    {"scale too large", "y <- LayerNormalization f32[1,8] f32[4,8]",
     "its input 1 or 2 is larger than its input 0", 0},
    {"softmax", "y <- Softmax f32[2,4,8]", "d0 d1 d^ -> d0 d1 d^ | f32[2,4,8]", 0},
    {"softmax of old", "y <- Softmax f32[2,4,8]", "d0 d1^ d2^ -> d0 d1^ d2^ | f32[2,4,8]", 11},

    /* shapes */
    {"flatten batch", "y <- Reshape f32[2,4,8] i64[2]{-1,8}", "a b c, 2 -> (a b) c | f32[8,8] view",
     0},
    {"split heads", "y <- Reshape f32[2,4,12] i64[4]{0,0,3,-1}",
     "a b (c d), 4 -> a b c d | f32[2,4,3,4] view", 0},
    {"zero is a size", "y <- Reshape f32[0,4] i64[2]{4,0} allowzero=1",
     "0 4, 2 -> 4 0 | f32[4,0] view", 0},
    {"sizes that do not nest", "y <- Reshape f32[4,6] i64[2]{3,8}", "4 6, 2 -> 3 8 | f32[3,8] view",
     0},
    {"reshape to other elements", "y <- Reshape f32[4,6] i64[1]{23}",
     "element counts differ: [4,6] and [23]", 0},
    {"reshape copies a dim that is not there", "y <- Reshape f32[4,6] i64[3]{4,6,0}",
     "its target copies dim 2 of 2 dims", 0},
    {"reshape with two unknowns", "y <- Reshape f32[4,6] i64[2]{-1,-1}", "its target has two -1",
     0},
    {"unknown that does not divide", "y <- Reshape f32[4,6] i64[2]{-1,5}",
     "24 elements are no multiple of the 5 that its target names beside -1", 0},
    {"reshape by the run", "y <- Reshape f32[4,6] i64[2]",
     "1 op is replicated, since sizes are known only at run time: Reshape_0.0, Reshape_0.1", 0},
    {"flatten", "y <- Flatten f32[2,4,8]", "a b c -> a (b c) | f32[2,32] view", 0},
    {"flatten at the end", "y <- Flatten f32[2,4] axis=2", "a b -> (a b) 1 | f32[8,1] view", 0},
    {"squeeze", "y <- Squeeze f32[1,4,1] i64[1]{2}", "1 a 1, 1 -> 1 a | f32[1,4] view", 0},
    {"squeeze, axes an attribute", "y <- Squeeze f32[1,4,1] axes=[0]",
     "1 a 1 -> a 1 | f32[4,1] view", 11},
    {"squeeze a longer dim", "y <- Squeeze f32[1,4] i64[1]{1}",
     "dim 1 has size 4 and cannot be squeezed", 0},
    {"unsqueeze", "y <- Unsqueeze f32[4] i64[2]{0,2}", "a, 2 -> 1 a 1 | f32[1,4,1] view", 0},
    {"transpose", "y <- Transpose f32[2,4,8] perm=[0,2,1]", "d0 d1 d2 -> d0 d2 d1 | f32[2,8,4]", 0},
    {"transpose all", "y <- Transpose f32[2,4]", "d0 d1 -> d1 d0 | f32[4,2]", 0},
    {"perm twice", "y <- Transpose f32[2,4] perm=[0,0]", "axis 0 is given twice", 0},
    {"split in three", "a b c <- Split f32[2,12] axis=1 num_outputs=3",
     "d0 (p^ j) -> d0 j, d0 j, d0 j | f32[2,4] f32[2,4] f32[2,4]", 0},
    {"split by sizes", "a b <- Split f32[2,12] i64[2]{4,8} axis=-1",
     "d0 n^, 2 -> d0 {n}, d0 {n-4} | f32[2,4] f32[2,8]", 0},
    {"split by equal sizes", "a b <- Split f32[2,12] i64[2]{6,6} axis=1",
     "d0 (p^ j), 2 -> d0 j, d0 j | f32[2,6] f32[2,6]", 0},
    {"split, sizes an attribute", "a b <- Split f32[12] split=[4,8]",
     "n^ -> {n}, {n-4} | f32[4] f32[8]", 11},
    {"split with a short rest", "a b c <- Split f32[7] num_outputs=3",
     "n^ -> {n}, {n-3}, 1 | f32[3] f32[3] f32[1]", 0},
    {"split into ones", "a b <- Split f32[2] num_outputs=2", "p^ -> 1, 1 | f32[1] f32[1]", 0},
    {"split that does not divide", "a b <- Split f32[7]", "7 does not split into 2 equal parts",
     13},
    {"split to a wrong sum", "a b <- Split f32[7] i64[2]{3,3}",
     "its sizes do not add up to the 7 of dim 0", 0},
    {"slice", "y <- Slice f32[4,8] i64[1]{1} i64[1]{9223372036854775807} i64[1]{1}",
     "d0 {s1+1}, 1, 1, 1 -> d0 s1 | f32[4,7]", 0},
    {"slice of all", "y <- Slice f32[4,8] i64[1]{0} i64[1]{9} i64[1]{1}",
     "d0 d1, 1, 1, 1 -> d0 d1 | f32[4,8]", 0},
    {"slice reversed", "y <- Slice f32[4] i64[1]{-1} i64[1]{-9} i64[1]{0} i64[1]{-1}",
     "{-s0+3}, 1, 1, 1, 1 -> s0 | f32[4]", 0},
    {"slice, attributes", "y <- Slice f32[4,8] starts=[0,-2] ends=[4,99]",
     "d0 {s1+6} -> d0 s1 | f32[4,2]", 9},
    {"slice an axis twice", "y <- Slice f32[2,4] i64[2]{0,0} i64[2]{1,1} i64[2]{1,-1}",
     "axis 1 is given twice", 0},
    {"slice by the run", "y <- Slice f32[4] i64[1] i64[1]",
     "1 op is replicated, since sizes are known only at run time: Slice_0.0", 0},
    {"concat", "y <- Concat f32[2,4] f32[2,8] axis=1", "d0 {n}, d0 {n-4} -> d0 n | f32[2,12]", 0},
    {"concat of unlike", "y <- Concat f32[2,4] f32[3,4] axis=1",
     "operands do not fit beside each other: [2,4] and [3,4]", 0},
    {"tile", "y <- Tile f32[2,4] i64[2]{1,3}", "d0 d1, 2 -> d0 (t1 d1) | f32[2,12]", 0},
    {"trilu", "y <- Trilu f32[2,4,4]", "d0 d1^ d2^ -> d0 d1^ d2^ | f32[2,4,4]", 0},
    {"range of the run", "y <- Range i64[] i64[] i64[]",
     "1 op is replicated, since sizes are known only at run time: Range_0.0", 0},

    /* picks */
    {"gather by vocabulary", "y <- Gather f32[50,8] i64[2,4]",
     "v+ e1, i0 i1 -> i0 i1 e1 | f32[2,4,8]", 0},
    {"gather of an inner dim", "y <- Gather f32[3,50,8] i64[4] axis=1",
     "e0 v+ e2, i0 -> e0 i0 e2 | f32[3,4,8]", 0},
    {"gather of bools", "y <- Gather bool[50] i64[4]", "v+, i0 -> i0  v:any | bool[4]", 0},
    {"gather of one", "y <- Gather f32[50,8] i64[]", "50 e1,  -> e1 | f32[8]", 0},
    {"gather all in order", "y <- Gather f32[4,8] i64[1,4]{0,1,2,3}",
     "i1 e1, 1 i1 -> 1 i1 e1 | f32[1,4,8] project", 0},
    {"gather in rows", "y <- Gather f32[6] i64[2,1,3]{0,1,2,3,4,5}",
     "(i0 i2), i0 1 i2 -> i0 1 i2 | f32[2,1,3] project", 0},
    {"gather some in order", "y <- Gather f32[5] i64[4]{0,1,2,3}", "v+, i0 -> i0 | f32[4]", 0},
    {"gather reversed", "y <- Gather f32[4] i64[4]{3,2,1,0}", "v+, i0 -> i0 | f32[4]", 0},
    {"gather out of order", "y <- Gather f32[4] i64[4]{0,1,3,2}", "v+, i0 -> i0 | f32[4]", 0},
    {"gather_nd", "y <- GatherND f32[4,5,6] i64[7,2]", "4 5 e2, i0 2 -> i0 e2 | f32[7,6]", 0},
    {"gather_nd by batch", "y <- GatherND f32[4,5,6] i64[4,1] batch_dims=1",
     "b0 5 e2, b0 1 -> b0 e2 | f32[4,6]", 0},
    {"gather_nd of coordinates", "y <- GatherND f32[2,3] i64[2,1,3,2]{0,0,0,1,0,2,1,0,1,1,1,2}",
     "i0 i2, i0 1 i2 2 -> i0 1 i2 | f32[2,1,3] project", 0},
    {"gather_nd of coordinates swapped",
     "y <- GatherND f32[3,2] i64[2,3,2]{0,0,1,0,2,0,0,1,1,1,2,1}",
     "i1 i0, i0 i1 2 -> i0 i1 | f32[2,3] project", 0},
    {"gather_nd of a longer dim", "y <- GatherND f32[3,3] i64[2,3,2]{0,0,0,1,0,2,1,0,1,1,1,2}",
     "3 3, i0 i1 2 -> i0 i1 | f32[2,3]", 0},
    {"gather_nd from the end", "y <- GatherND f32[2] i64[2,1]{-2,-1}", "2, i0 1 -> i0 | f32[2]", 0},
    {"gather_nd along a diagonal", "y <- GatherND f32[2,2] i64[2,2]{0,0,1,1}",
     "2 2, i0 2 -> i0 | f32[2]", 0},
    {"gather_nd too deep", "y <- GatherND f32[2] i64[2,2]",
     "0 batch dims and indices of 2 do not fit 1 dims", 0},
    {"gather_elements", "y <- GatherElements f32[4,5,6] i64[4,7,3] axis=1",
     "d0 5 6, d0 d1 d2^ -> d0 d1 d2^ | f32[4,7,3]", 0},
};

static void rules(void **state)
{
    const Case *row = *state;
    Arena *arena = arena_new();
    Inferred *inferred = infer_text(arena, row->text, row->opset ? row->opset : 18);
    assert_string_equal(rule_text(arena, inferred), row->want);
    arena_free(arena);
}

/* ---- which operands may stay partial, and what is early ---- */

typedef struct {
    const char *name, *text, *want; /* per input: alone, together or no; then early or late */
    double flops;
} Flags;

static const Flags flags[] = {
    {"reshape", "y <- Reshape f32[4] i64[1]{4}", "alone no early", 0},
    {"transpose", "y <- Transpose f32[4,2]", "alone early", 0},
    {"slice", "y <- Slice f32[4] i64[1]{1} i64[1]{3}", "alone no no early", 0},
    {"split", "a b <- Split f32[4]", "alone early", 0},
    {"neg", "y <- Neg f32[4]", "alone early", 4},
    {"tanh", "y <- Tanh f32[4]", "no early", 16},
    {"cast", "y <- Cast f32[4] to=1", "no early", 4},
    {"expand that grows", "y <- Expand f32[1] i64[1]{4}", "no no early", 0},
    {"expand that does not", "y <- Expand f32[4] i64[2]{1,4}", "alone no early", 0},
    {"scale by one element", "y <- Mul f32[4] f32[1]", "alone no early", 4},
    {"scale from the left", "y <- Mul f32[] f32[4]", "no alone early", 4},
    {"product", "y <- Mul f32[4] f32[4]", "no no early", 4},
    {"quotient", "y <- Div f32[4] f32[]", "alone no early", 4},
    {"inverse", "y <- Div f32[] f32[4]", "no no early", 4},
    {"quotient of integers", "y <- Div i32[4] i32[]", "no no early", 4},
    {"sum", "y <- Add f32[4] f32[4]", "together together early", 4},
    {"sum that broadcasts", "y <- Add f32[4] f32[1]", "no no early", 4},
    {"sum of three", "y <- Sum f32[4] f32[4] f32[4]", "together together together early", 4},
    {"sum of one", "y <- Sum f32[4]", "alone early", 4},
    {"matmul", "y <- MatMul f32[4,8] f32[8,2]", "no no late", 128},
    {"gather", "y <- Gather f32[4] i64[2]", "no no late", 0},
    {"gather that is a view", "y <- Gather f32[2] i64[2]{0,1}", "alone no early", 0},
    {"reduce", "y <- ReduceSum f32[4]", "no late", 4},
    {"softmax", "y <- Softmax f32[4]", "no early", 32},
};

static void flags_are(void **state)
{
    const Flags *row = *state;
    Arena *arena = arena_new();
    Inferred *inferred = infer_text(arena, row->text, 18);
    const OpSpace *space = inferred_space(inferred, 0);
    static const char *const names[] = {
        [LINEAR_NO] = "no", [LINEAR_ALONE] = "alone", [LINEAR_TOGETHER] = "together"};
    Buf got = buf_new(arena);
    for (int i = 0; i < space->n_inputs; i++)
        buf_printf(&got, "%s ", names[space->operand[i].linear]);
    buf_puts(&got, space->early ? "early" : "late");
    assert_string_equal(got.s, row->want);
    assert_true(space->flops >= row->flops && space->flops <= row->flops);
    arena_free(arena);
}

/* ---- the rest ---- */

static void gemm_adds_c_once(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const OpSpace *space =
        inferred_space(infer_text(arena, "y <- Gemm f32[4,8] f32[8,6] f32[6]", 18), 0);
    assert_true(space->operand[2].once);
    assert_false(space->operand[0].once || space->operand[1].once);
    arena_free(arena);
}

static void users_rows_come_first(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Registry *registry = registry_new(arena);
    int n = registry_count(registry);
    assert_true(n > 100);
    assert_string_equal(registry_find(registry, STR("MatMul"))->family, "matmul");
    assert_null(registry_find(registry, STR("Matmul")));

    char anno[] = "a b, b c -> a c", name[] = "MatMul";
    const char *const annos[] = {anno, NULL};
    AnnoSource source = {.annos = annos, .file = "policy.lua", .line = 3};
    Operator mine = {.name = name, .anno = &source, .flags = OPERATOR_SAME_DTYPE};
    registry_add(registry, &mine);
    anno[0] = name[0] = '?';
    const Operator *found = registry_find(registry, STR("MatMul"));
    assert_string_equal(found->anno->annos[0], "a b, b c -> a c");
    assert_ptr_equal(registry_at(registry, 0), found);
    assert_int_equal(registry_count(registry), n + 1);
    name[0] = 'M';
    registry_add(registry, &mine);
    assert_int_equal(registry_count(registry), n + 1);
    arena_free(arena);
}

static const char *anno_of_op(void *context, const RuleCall *call, Error *err)
{
    (void)context, (void)err;
    return call->n_inputs == 1 ? "a b -> a" : "a, a -> a";
}

static Inferred *infer_with(Arena *arena, const Operator *op_type, const char *text)
{
    Registry *registry = registry_new(arena);
    DimBindings none = {0};
    registry_add(registry, op_type);
    return infer(arena, graph_from_text(arena, text, 18), registry, &none, false, NULL);
}

static void annotations_are_rules(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const char *const annos[] = {"(h t^) k+, k+ n -> (h t^) n", NULL};
    AnnoSource texts = {.annos = annos};
    Operator mine = {.name = "Mine",
                     .anno = &texts,
                     .flags = OPERATOR_SAME_DTYPE | OPERATOR_EARLY,
                     .flops_per_point = 2};
    Inferred *inferred = infer_with(arena, &mine, "y <- Mine f16[12,8] f16[8,6] h=3");
    assert_string_equal(rule_text(arena, inferred), "(h t^) k+, k+ n -> (h t^) n | f16[12,6]");
    assert_true(inferred_space(inferred, 0)->early);
    assert_true(inferred_space(inferred, 0)->flops > 1151);

    AnnoSource maker = {.make = anno_of_op};
    mine.anno = &maker;
    inferred = infer_with(arena, &mine, "y <- Mine f32[12,8]");
    assert_string_equal(rule_text(arena, inferred), "a b^ -> a | f32[12]");
    inferred = infer_with(arena, &mine, "y z <- Mine f32[12] f32[12]");
    assert_string_equal(rule_text(arena, inferred), "its annotation has 1 outputs, it has 2");
    arena_free(arena);
}

/* ---- every operator on anything: an op space that stands, or a refusal ---- */

static uint64_t random_state = 88172645463325252u;

static int any(int lo, int hi)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return lo + (int)(random_state % (uint64_t)(hi - lo + 1));
}

/* Mostly small, now and then at the ends of the type. */
static void put_int(Buf *out)
{
    static const char *const far[] = {"9223372036854775807", "-9223372036854775808", "4294967296",
                                      "1152921504606846976"};
    if (any(0, 15) == 0)
        buf_puts(out, far[any(0, (int)COUNT_OF(far) - 1)]);
    else
        buf_printf(out, "%d", any(-3, 4));
}

static void put_ints(int n, Buf *out)
{
    for (int i = 0; i < n; i++) {
        buf_puts(out, i > 0 ? "," : "");
        put_int(out);
    }
}

static void put_operand(Buf *out)
{
    static const char *const dtypes[] = {"f32", "i64", "i64", "bool", "f16"};
    int n = 1, rank = any(0, 4);
    if (any(0, 11) == 0) {
        buf_puts(out, " -");
        return;
    }
    if (any(0, 2) == 0) {
        n = any(0, 4);
        buf_printf(out, " i64[%d]{", n);
        put_ints(n, out);
        buf_puts(out, "}");
        return;
    }
    buf_printf(out, " %s[", dtypes[any(0, (int)COUNT_OF(dtypes) - 1)]);
    for (int d = 0; d < rank; d++)
        buf_printf(out, "%s%d", d > 0 ? "," : "", any(0, 9) == 0 ? any(0, 1) : any(1, 4));
    buf_puts(out, any(0, 3) == 0 ? "]!" : "]");
}

static void put_attr(Buf *out)
{
    static const char *const names[] = {"axis",       "axes",        "perm",     "keepdims",
                                        "batch_dims", "num_outputs", "to",       "allowzero",
                                        "transA",     "transB",      "equation", "split",
                                        "value",      "start",       "end",      "stash_type"};
    const char *name = names[any(0, (int)COUNT_OF(names) - 1)];
    buf_printf(out, " %s=", name);
    if (strcmp(name, "equation") == 0) {
        buf_puts(out, any(0, 1) ? "\"ij,jk->ik\"" : "\"...i,i->...\"");
    } else if (any(0, 2) == 0) {
        buf_puts(out, "[");
        put_ints(any(1, 4), out);
        buf_puts(out, "]");
    } else {
        put_int(out);
    }
}

/* What opspace_finish() says when a rule is wrong, not its operands. */
static bool blames_rule(const char *text)
{
    static const char *const faults[] = {"cover",           "read outside", "freeze",
                                         "reaches too far", "rows for",     "does not say how",
                                         "two index dims"};
    for (size_t i = 0; i < COUNT_OF(faults); i++)
        if (strstr(text, faults[i]))
            return true;
    return false;
}

static void no_operator_breaks(void **state)
{
    (void)state;
    static const int64_t opsets[] = {9, 11, 13, 18, 23};
    Arena *rows_arena = arena_new();
    const Registry *registry = registry_new(rows_arena);
    int n_ruled = 0;
    for (int i = 0; i < registry_count(registry); i++)
        for (int trial = 0; trial < 150; trial++) {
            Arena *arena = arena_new();
            const Operator *row = registry_at(registry, i);
            Buf text = buf_new(arena);
            int n_inputs = any(row->inputs_min, row->inputs_min + 1);
            buf_puts(&text, any(0, 5) == 0 ? "y z <- " : "y <- ");
            buf_puts(&text, row->name);
            for (int k = 0; k < n_inputs; k++)
                put_operand(&text);
            for (int k = any(0, 2); k > 0; k--)
                put_attr(&text);
            Inferred *inferred =
                infer_text(arena, text.s, opsets[any(0, (int)COUNT_OF(opsets) - 1)]);
            bool ruled = true;
            for (int f = 0; f < inferred->findings.n; f++) {
                if (blames_rule(inferred->findings.at[f].text))
                    fail_msg("%s: %s", text.s, inferred->findings.at[f].text);
                ruled &= strcmp(inferred->findings.at[f].code, "rule-refused") != 0;
            }
            n_ruled += ruled;
            arena_free(arena);
        }
    assert_true(n_ruled > 5000);
    arena_free(rows_arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_operator_breaks),
        cmocka_unit_test(gemm_adds_c_once),
        cmocka_unit_test(users_rows_come_first),
        cmocka_unit_test(annotations_are_rules),
    };
    static Case rule_rows[COUNT_OF(rows)];
    static Flags flag_rows[COUNT_OF(flags)];
    memcpy(rule_rows, rows, sizeof rows);
    memcpy(flag_rows, flags, sizeof flags);
    return run_rows("rules", rule_rows, rules) + run_rows("flags", flag_rows, flags_are) +
           cmocka_run_group_tests(tests, NULL, NULL);
}
