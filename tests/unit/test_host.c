#include "tests/unit/unit.h"
#include "tests/unit/graph_text.h"

#include "core/rules/host.h"

#include <inttypes.h>

/* ---- evaluating a graph, op by op ---- */

typedef struct {
    Arena *arena;
    const Graph *graph;
    Values *values;
    const Value **value; /* per tensor */
    Error err;
} Run;

static bool run_op(Run *run, int32_t op)
{
    const GraphOp *node = &run->graph->ops[op];
    const Shape *shape[16];
    const Value *value[16], *out[16] = {0};
    Dtype dtype[16], out_dtype[16];
    Shape out_shape[16];
    for (int i = 0; i < node->n_inputs; i++) {
        int32_t t = op_inputs(run->graph, op)[i];
        value[i] = t < 0 ? NULL : run->value[t];
        shape[i] = value[i] ? &value[i]->shape : NULL;
        dtype[i] = value[i] ? value[i]->dtype : DT_NONE;
    }
    RuleCall call = {.arena = run->arena,
                     .graph = run->graph,
                     .op = op,
                     .n_inputs = node->n_inputs,
                     .n_outputs = node->n_outputs,
                     .shape = shape,
                     .dtype = dtype,
                     .value = value,
                     .opset = run->graph->opset,
                     .out_shape = out_shape,
                     .out_dtype = out_dtype};
    if (!host_evaluate(run->values, &call, out, &run->err))
        return false;
    for (int o = 0; o < node->n_outputs; o++)
        run->value[op_outputs(run->graph, op)[o]] = out[o];
    return true;
}

static Run run_graph(Arena *arena, const char *text, int64_t limit)
{
    Run run = {arena, graph_from_text(arena, text, 18), values_new(arena), NULL, {0}};
    const Graph *graph = run.graph;
    values_set_limit(run.values, limit);
    run.value = arena_array(arena, const Value *, graph->n_tensors);
    for (int32_t t = 0; t < graph->n_tensors; t++) {
        const GraphTensor *tensor = &graph->tensors[t];
        if (tensor->kind != TENSOR_INITIALIZER)
            continue;
        Shape shape = {.n_dims = tensor->n_declared};
        for (int d = 0; d < tensor->n_declared; d++)
            shape.dim[d] = graph->declared[tensor->declared + d].size;
        run.value[t] =
            host_constant(run.values, &graph->data[tensor->data], (Dtype)tensor->dtype, &shape);
    }
    for (int32_t op = 0; op < graph->n_ops && run_op(&run, op); op++)
        continue;
    return run;
}

/* ---- values as text ---- */

static void put_row(const Affine *row, int64_t n_dims, Buf *out)
{
    buf_printf(out, "%" PRId64, row->offset);
    for (int64_t d = 0; d < n_dims; d++)
        if (row->coef[d] != 0)
            buf_printf(out, "%+" PRId64 "*x%" PRId64, row->coef[d], d);
}

static void put_value(const Value *value, Buf *out)
{
    int64_t n = shape_elements(&value->shape);
    buf_printf(out, "%s[", dtype_name(value->dtype));
    for (int64_t d = 0; d < value->shape.n_dims; d++)
        buf_printf(out, "%s%" PRId64, d > 0 ? "," : "", value->shape.dim[d]);
    buf_puts(out, "]");
    if (value->ints || value->floats) {
        buf_puts(out, "{");
        for (int64_t i = 0; i < n; i++)
            if (value->ints)
                buf_printf(out, "%s%" PRId64, i > 0 ? "," : "", value->ints[i]);
            else
                buf_printf(out, "%s%.9g", i > 0 ? "," : "", value->floats[i]);
        buf_puts(out, "}");
    } else if (value->affine) {
        buf_puts(out, " ");
        put_row(&value->row, value->shape.n_dims, out);
    } else if (value->n_components > 0) {
        for (int c = 0; c < value->n_components; c++) {
            buf_puts(out, c > 0 ? " | " : " ");
            put_row(&value->component[c], value->shape.n_dims, out);
        }
    } else {
        buf_puts(out, " deferred");
    }
}

static const char *result_text(Run *run)
{
    Buf out = buf_new(run->arena);
    if (error_is_set(&run->err))
        return run->err.text;
    for (int i = 0; i < run->graph->n_outputs; i++) {
        const Value *value = run->value[run->graph->outputs[i]];
        buf_puts(&out, i > 0 ? " " : "");
        if (value)
            put_value(value, &out);
        else
            buf_puts(&out, "not evaluated");
    }
    return out.s;
}

/* ---- each operator ---- */

typedef struct {
    const char *name, *text, *want;
    int64_t limit; /* 0: the usual one */
} Case;

static const Case rows[] = {
    {"shape", "y <- Shape i64[2,3]{0,0,0,0,0,0}", "i64[2]{2,3}", 0},
    {"shape from the end", "y <- Shape i64[1,1,2]{0,0} start=-1", "i64[1]{2}", 0},
    {"shape, start past end", "y <- Shape i64[1,1,2]{0,0} start=2 end=1", "i64[0]{}", 0},
    {"size", "y <- Size i64[2,2]{0,0,0,0}", "i64[]{4}", 0},
    {"constant tensor", "y <- Constant value=i32[2]{5,-1}", "i32[2]{5,-1}", 0},
    {"constant int", "y <- Constant value_int=7", "i64[]{7}", 0},
    {"constant ints", "y <- Constant value_ints=[7,8]", "i64[2]{7,8}", 0},
    {"constant float", "y <- Constant value_float=0.5", "f32[]{0.5}", 0},
    {"floats of rank 1 are no value", "y <- Constant value=f32[1]{1}", "not evaluated", 0},
    {"constant of shape", "y <- ConstantOfShape i64[2]{2,2} value=i64[1]{3}", "i64[2,2]{3,3,3,3}",
     0},
    {"constant of shape, float 0", "y <- ConstantOfShape i64[1]{2}", "f32[2]{0,0}", 0},
    {"constant of shape, not computed with", "y <- ConstantOfShape i64[2]{2,3} value=f16[1]{1}",
     "f16[2,3] deferred", 0},
    {"constant of shape, negative", "y <- ConstantOfShape i64[1]{-2}", "dim 0 has the size -2", 0},
    {"range", "y <- Range i64[]{2} i64[]{9} i64[]{3}", "i64[3]{2,5,8}", 0},
    {"range down", "y <- Range i64[]{2} i64[]{-3} i64[]{-2}", "i64[3]{2,0,-2}", 0},
    {"range to itself", "y <- Range i64[]{2} i64[]{2} i64[]{0}", "its step is 0", 0},
    {"empty range", "y <- Range i64[]{2} i64[]{0} i64[]{1}", "i64[0]{}", 0},
    {"float range", "y <- Range f32[]{0} f32[]{1} f32[]{0.4}", "f32[3]{0,0.400000006,0.800000012}",
     0},
    {"reshape", "y <- Reshape i64[4]{0,1,2,3} i64[2]{2,-1}", "i64[2,2]{0,1,2,3}", 0},
    {"flatten at the end", "y <- Flatten i64[2,1]{5,6} axis=2", "i64[2,1]{5,6}", 0},
    {"squeeze all", "y <- Squeeze i64[1,1]{5}", "i64[]{5}", 0},
    {"unsqueeze", "y <- Unsqueeze i64[2]{5,6} i64[2]{0,-1}", "i64[1,2,1]{5,6}", 0},
    {"transpose", "y <- Transpose i64[2,3]{0,1,2,3,4,5}", "i64[3,2]{0,3,1,4,2,5}", 0},
    {"expand", "y <- Expand i64[2,1]{7,8} i64[2]{1,2}", "i64[2,2]{7,7,8,8}", 0},
    {"slice back",
     "y <- Slice i64[4]{0,1,2,3} i64[1]{-1} i64[1]{-9223372036854775808} i64[1]{0} "
     "i64[1]{-2}",
     "i64[2]{3,1}", 0},
    {"slice to huge", "y <- Slice i64[3]{4,5,6} i64[1]{1} i64[1]{9223372036854775807}",
     "i64[2]{5,6}", 0},
    {"slice every other", "y <- Slice i64[5]{4,5,6,7,8} i64[1]{0} i64[1]{5} i64[1]{0} i64[1]{2}",
     "i64[3]{4,6,8}", 0},
    {"slice back from before the start",
     "y <- Slice i64[2]{4,5} i64[1]{-9} i64[1]{-99} i64[1]{0} i64[1]{-1}", "i64[0]{}", 0},
    {"slice nothing", "y <- Slice i64[3]{4,5,6} i64[1]{3} i64[1]{1}", "i64[0]{}", 0},
    {"split", "a b <- Split i64[5]{1,2,3,4,5} i64[2]{2,3}", "i64[2]{1,2} i64[3]{3,4,5}", 0},
    {"gather", "y <- Gather i64[3]{4,5,6} i64[2]{-1,0}", "i64[2]{6,4}", 0},
    {"gather inner", "y <- Gather i64[2,2]{4,5,6,7} i64[]{1} axis=1", "i64[2]{5,7}", 0},
    {"gather outside", "y <- Gather i64[3]{4,5,6} i64[]{3}",
     "index 3 is out of range for 3 elements", 0},
    {"concat", "y <- Concat i64[1]{4} i64[2]{5,6} axis=0", "i64[3]{4,5,6}", 0},
    {"concat inner", "y <- Concat i64[2,1]{1,2} i64[2,1]{3,4} axis=-1", "i64[2,2]{1,3,2,4}", 0},
    {"cast to bool", "y <- Cast i64[3]{0,2,-1} to=9", "bool[3]{0,1,1}", 0},
    {"cast to i8 wraps", "y <- Cast i64[2]{200,-200} to=2", "u8[2]{200,56}", 0},
    {"cast to i32 wraps", "y <- Cast i64[1]{4294967295} to=6", "i32[1]{-1}", 0},
    {"cast to float", "y <- Cast i64[2]{16777217,-3} to=1", "f32[2]{16777216,-3}", 0},
    {"cast towards zero", "y <- Cast f32[]{-1.9} to=7", "i64[]{-1}", 0},
    {"cast infinity", "y <- Cast f32[]{-inf} to=7", "i64[]{-9223372036854775808}", 0},
    {"cast to what is not known", "y <- Cast i64[1]{1} to=99",
     "its attribute 'to' is not an element type: 99", 0},
    {"add", "y <- Add i64[2,1]{10,20} i64[3]{1,2,3}", "i64[2,3]{11,12,13,21,22,23}", 0},
    {"add wraps", "y <- Add i32[1]{2147483647} i32[1]{1}", "i32[1]{-2147483648}", 0},
    {"sub", "y <- Sub i64[1]{1} i64[1]{3}", "i64[1]{-2}", 0},
    {"div towards zero", "y <- Div i64[2]{-7,7} i64[1]{2}", "i64[2]{-3,3}", 0},
    {"div least by -1", "y <- Div i64[]{-9223372036854775808} i64[]{-1}",
     "i64[]{-9223372036854775808}", 0},
    {"div by zero", "y <- Div i64[1]{1} i64[1]{0}", "it divides by zero", 0},
    {"float div by zero", "y <- Div f32[]{1} f32[]{0}", "f32[]{inf}", 0},
    {"mod of Python", "y <- Mod i64[2]{-7,7} i64[2]{3,-3}", "i64[2]{2,-2}", 0},
    {"mod of C", "y <- Mod i64[2]{-7,7} i64[2]{3,-3} fmod=1", "i64[2]{-1,1}", 0},
    {"mod by zero", "y <- Mod i64[1]{1} i64[1]{0}", "it divides by zero", 0},
    {"pow", "y <- Pow i64[3]{2,-3,-1} i64[3]{10,3,-3}", "i64[3]{1024,-27,-1}", 0},
    {"max of three", "y <- Max i64[2]{1,5} i64[1]{3} i64[2]{0,9}", "i64[2]{3,9}", 0},
    {"min of one", "y <- Min i64[2]{1,5}", "i64[2]{1,5}", 0},
    {"not", "y <- Not bool[2]{1,0}", "bool[2]{0,1}", 0},
    {"and", "y <- And bool[2]{1,1} bool[2]{1,0}", "bool[2]{1,0}", 0},
    {"xor", "y <- Xor bool[2]{1,1} bool[2]{1,0}", "bool[2]{0,1}", 0},
    {"equal", "y <- Equal i64[2]{1,2} i64[]{2}", "bool[2]{0,1}", 0},
    {"less or equal of floats", "y <- LessOrEqual f32[]{1} f32[]{1}", "bool[]{1}", 0},
    {"where", "y <- Where bool[2]{1,0} i64[1]{5} i64[2]{6,7}", "i64[2]{5,7}", 0},
    {"sqrt rounds to f32", "y <- Sqrt f32[]{2}", "f32[]{1.41421354}", 0},
    {"sqrt of an integer is not ours", "y <- Sqrt i64[]{2}", "not evaluated", 0},
    {"reduce max of floats",
     "f <- Cast i64[3]{2,-3,4} to=1; y <- ReduceMax f keepdims=0; z <- Cast y to=7", "i64[]{4}", 0},
    {"pad", "y <- Pad i64[2]{5,6} i64[2]{1,2} i64[]{9}", "i64[5]{9,5,6,9,9}", 0},
    {"pad rows with zeros, take away a column", "y <- Pad i64[2,2]{1,2,3,4} i64[4]{1,0,0,-1}",
     "i64[3,1]{0,1,3}", 0},
    {"reduce prod", "y <- ReduceProd i64[3]{2,3,4} keepdims=0", "i64[]{24}", 0},
    {"reduce max keeps dims", "y <- ReduceMax i64[2,2]{2,3,4,1} i64[1]{1}", "i64[2,1]{3,4}", 0},
    {"shapes that do not fit", "y <- Add i64[2]{1,2} i64[3]{1,2,3}",
     "dim 0 of operand 1 is 3, and dim 0 of operand 0 is 2", 0},

    {"arange stays a row", "y <- Range i64[]{0} i64[]{100} i64[]{2}", "i64[50] 0+2*x0", 8},
    {"what is small is held",
     "r <- Range i64[]{0} i64[]{100} i64[]{2}; "
     "y <- Slice r i64[1]{10} i64[1]{13}",
     "i64[3]{20,22,24}", 8},
    {"outer sum",
     "r <- Range i64[]{0} i64[]{9} i64[]{1}; b <- Unsqueeze r i64[1]{1}; "
     "m <- Mul b i64[]{9}; y <- Add m r",
     "i64[9,9] 0+9*x0+1*x1", 8},
    {"rows through reshape", "r <- Range i64[]{0} i64[]{60} i64[]{1}; y <- Reshape r i64[2]{4,15}",
     "i64[4,15] 0+15*x0+1*x1", 8},
    {"rows joined by reshape",
     "r <- Range i64[]{3} i64[]{63} i64[]{1}; s <- Reshape r i64[3]{4,5,3}; "
     "y <- Reshape s i64[2]{20,3}",
     "i64[20,3] 3+3*x0+1*x1", 8},
    {"rows that do not join",
     "r <- Range i64[]{0} i64[]{60} i64[]{1}; s <- Reshape r i64[2]{4,15}; "
     "t <- Transpose s; y <- Reshape t i64[1]{60}",
     "i64[60] deferred", 8},
    {"expand adds a dim", "r <- Range i64[]{0} i64[]{9} i64[]{1}; y <- Expand r i64[2]{9,9}",
     "i64[9,9] 0+1*x1", 8},
    {"slice of a row",
     "r <- Range i64[]{0} i64[]{60} i64[]{1}; "
     "y <- Slice r i64[1]{-1} i64[1]{-99} i64[1]{0} i64[1]{-2}",
     "i64[30] 59-2*x0", 8},
    {"gather of a row by a row",
     "r <- Range i64[]{5} i64[]{65} i64[]{1}; "
     "i <- Range i64[]{0} i64[]{40} i64[]{4}; y <- Gather r i",
     "i64[10] 5+4*x0", 8},
    {"gather beyond a row",
     "r <- Range i64[]{5} i64[]{15} i64[]{1}; "
     "i <- Range i64[]{0} i64[]{40} i64[]{4}; y <- Gather r i",
     "i64[10] deferred", 8},
    {"coordinates side by side",
     "r <- Range i64[]{0} i64[]{9} i64[]{1}; b <- Unsqueeze r i64[1]{1}; "
     "x <- Expand b i64[2]{9,9}; y <- Expand r i64[2]{9,9}; u <- Unsqueeze x i64[1]{-1}; "
     "v <- Unsqueeze y i64[1]{-1}; z <- Concat u v axis=-1",
     "i64[9,9,2] 0+1*x0 | 0+1*x1", 8},
    {"a row leaves its dtype",
     "r <- Range i32[]{0} i32[]{20} i32[]{1}; "
     "y <- Mul r i32[]{1000000000}",
     "i32[20] deferred", 8},
    {"a product of rows is none", "r <- Range i64[]{0} i64[]{20} i64[]{1}; y <- Mul r r",
     "i64[20] deferred", 8},
    {"a mask is deferred",
     "r <- Range i64[]{0} i64[]{9} i64[]{1}; b <- Unsqueeze r i64[1]{1}; "
     "y <- LessOrEqual r b",
     "bool[9,9] deferred", 8},
    {"a billion elements cost nothing",
     "r <- Range i64[]{0} i64[]{32768} i64[]{1}; b <- Unsqueeze r i64[1]{1}; "
     "y <- LessOrEqual r b",
     "bool[32768,32768] deferred", 0},
};

static void evaluates(void **state)
{
    const Case *row = *state;
    Arena *arena = arena_new();
    Run run = run_graph(arena, row->text, row->limit ? row->limit : VALUE_ELEMENTS_MAX);
    assert_string_equal(result_text(&run), row->want);
    arena_free(arena);
}

/* ---- rows against elements, on random programs ---- */

static uint64_t random_state = 88172645463325252u;

static int any(int lo, int hi)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return lo + (int)(random_state % (uint64_t)(hi - lo + 1));
}

/* One more statement, on the matrix a[n,m]; what it makes is again a matrix of these sizes, or of
 * them swapped. */
static void add_statement(Buf *text, int step, int *n, int *m)
{
    int from = step - 1, other = any(0, step - 1);
    switch (any(0, 8)) {
    case 0:
        buf_printf(text, "a%d <- Add a%d i64[]{%d}; ", step, from, any(-5, 5));
        break;
    case 1:
        buf_printf(text, "a%d <- Mul a%d i64[1,1]{%d}; ", step, from, any(-3, 3));
        break;
    case 2:
        buf_printf(text, "a%d <- Sub a%d i64[1]{%d}; ", step, from, any(0, 9));
        break;
    case 3:
        buf_printf(text, "a%d <- Transpose a%d; ", step, from);
        other = *n, *n = *m, *m = other;
        break;
    case 4:
        buf_printf(text, "t%d <- Reshape a%d i64[3]{%d,%d,%d}; a%d <- Reshape t%d i64[2]{%d,%d}; ",
                   step, from, *n, *m / 2, 2, step, step, *m, *n);
        other = *n, *n = *m, *m = other;
        break;
    case 5:
        buf_printf(text, "a%d <- Slice a%d i64[1]{-1} i64[1]{-99} i64[1]{%d} i64[1]{-1}; ", step,
                   from, any(0, 1));
        break;
    case 6:
        buf_printf(text,
                   "t%d <- Slice a%d i64[1]{%d} i64[1]{99} i64[1]{1}; u%d <- Slice t%d i64[1]{0} "
                   "i64[1]{1} i64[1]{1}; a%d <- Expand u%d i64[2]{%d,%d}; ",
                   step, from, any(0, 1), step, step, step, step, *n, *m);
        break;
    case 7:
        buf_printf(text, "t%d <- Cast a%d to=6; a%d <- Cast t%d to=7; ", step, from, step, step);
        break;
    default:
        buf_printf(text, "i%d <- Range i64[]{0} i64[]{%d} i64[]{1}; a%d <- Gather a%d i%d axis=1; ",
                   step, *m, step, from, step);
    }
}

static void rows_agree_with_elements(void **state)
{
    (void)state;
    int n_rows = 0;
    for (int trial = 0; trial < 3000; trial++) {
        Arena *arena = arena_new();
        Buf text = buf_new(arena);
        int n = 4, m = 6;
        buf_puts(&text, "r <- Range i64[]{3} i64[]{27} i64[]{1}; a0 <- Reshape r i64[2]{4,6}; ");
        for (int step = 1; step <= 5; step++)
            add_statement(&text, step, &n, &m);
        Run held = run_graph(arena, text.s, 1 << 20), rowed = run_graph(arena, text.s, 4);
        assert_string_equal(held.err.text, "");
        assert_string_equal(rowed.err.text, "");
        for (int32_t t = 0; t < held.graph->n_tensors; t++) {
            const Value *want = held.value[t], *got = rowed.value[t];
            if (!want || value_is_deferred(got))
                continue;
            assert_true(shape_equal(&want->shape, &got->shape));
            n_rows += !got->ints;
            for (int64_t i = 0, element; i < shape_elements(&want->shape); i++) {
                assert_true(value_int_at(got, i, &element));
                if (element != want->ints[i])
                    fail_msg("%s: %s at %" PRId64, text.s, tensor_name(held.graph, t), i);
            }
        }
        arena_free(arena);
    }
    assert_true(n_rows > 10000);
}

/* ---- values ---- */

static void equal_values_are_one(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Values *values = values_new(arena);
    int64_t ints[3] = {0, 1, 2}, others[3] = {0, 1, 2};
    Value a = {.dtype = DT_I64, .shape = {.n_dims = 1, .dim = {3}}, .ints = ints};
    Value b = {.dtype = DT_I64, .shape = {.n_dims = 1, .dim = {3}}, .ints = others};
    Value row = {.dtype = DT_I64, .shape = {.n_dims = 1, .dim = {3}}, .affine = true, .coef = {1}};
    const Value *put = values_put(values, &a);
    assert_ptr_equal(put, values_put(values, &b));
    assert_ptr_equal(put, values_put(values, &row));
    assert_true(put->affine && value_is_iota(put));
    others[2] = 3;
    assert_ptr_not_equal(put, values_put(values, &b));
    b.dtype = DT_I32;
    assert_int_not_equal(values_put(values, &b)->id, put->id);

    Value unknown = {.dtype = DT_BOOL, .shape = {.n_dims = 2, .dim = {1 << 20, 1 << 20}}};
    const Value *first = values_put(values, &unknown), *second = values_put(values, &unknown);
    assert_true(value_is_deferred(first));
    assert_int_not_equal(first->id, second->id);
    arena_free(arena);
}

static void iota_counts_in_row_major_order(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Values *values = values_new(arena);
    int64_t counted[6] = {0, 1, 2, 3, 4, 5}, by_column[6] = {0, 2, 4, 1, 3, 5}, zero = 0;
    Value a = {.dtype = DT_I64, .shape = {.n_dims = 4, .dim = {2, 1, 3, 1}}, .ints = counted};
    Value b = {.dtype = DT_I64, .shape = {.n_dims = 2, .dim = {2, 3}}, .ints = by_column};
    Value scalar = {.dtype = DT_I64, .ints = &zero};
    assert_true(value_is_iota(values_put(values, &a)));
    assert_false(value_is_iota(values_put(values, &b)));
    assert_true(values_put(values, &b)->affine);
    assert_true(value_is_iota(values_put(values, &scalar)));
    Value even = {.dtype = DT_I64, .shape = {.n_dims = 1, .dim = {3}}, .ints = by_column};
    assert_false(value_is_iota(values_put(values, &even)));
    arena_free(arena);
}

static void constants_of_every_dtype(void **state)
{
    (void)state;
    static const struct {
        Dtype dtype;
        const char *bytes;
        double want;
    } cases[] = {{DT_BOOL, "\2", 1},
                 {DT_I8, "\xff", -1},
                 {DT_U8, "\xff", 255},
                 {DT_I16, "\xfe\xff", -2},
                 {DT_U16, "\xfe\xff", 65534},
                 {DT_I32, "\xfd\xff\xff\xff", -3},
                 {DT_U32, "\xfd\xff\xff\xff", 4294967293.0},
                 {DT_I64, "\xfc\xff\xff\xff\xff\xff\xff\xff", -4},
                 {DT_I4, "\x0f", -1},
                 {DT_U4, "\x0f", 15},
                 {DT_F32, "\0\0\0\xbf", -0.5},
                 {DT_F16, "\0\x3c", 1},
                 {DT_F16, "\1\0", 0x1p-24},
                 {DT_BF16, "\x80\x3f", 1},
                 {DT_F64, "\0\0\0\0\0\0\0\x40", 2}};
    Arena *arena = arena_new();
    Values *values = values_new(arena);
    const Shape scalar = {0}, pair = {.n_dims = 1, .dim = {2}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        size_t n = (size_t)dtype_bytes(cases[i].dtype, 1);
        TensorData data = {.form = DATA_RAW, .bytes = {cases[i].bytes, n}};
        const Value *value = host_constant(values, &data, cases[i].dtype, &scalar);
        assert_non_null(value);
        double got = value->floats ? value->floats[0] : (double)value->ints[0];
        assert_true(got >= cases[i].want && got <= cases[i].want);
        data.bytes.n--;
        assert_null(host_constant(values, &data, cases[i].dtype, &scalar));
    }
    TensorData floats = {.form = DATA_RAW, .bytes = {"\0\0\0\0\0\0\0\0", 8}};
    assert_null(host_constant(values, &floats, DT_F32, &pair));
    TensorData absent = {.form = DATA_ABSENT};
    assert_null(host_constant(values, &absent, DT_I64, &pair));
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_agree_with_elements),
        cmocka_unit_test(equal_values_are_one),
        cmocka_unit_test(iota_counts_in_row_major_order),
        cmocka_unit_test(constants_of_every_dtype),
    };
    static Case table[COUNT_OF(rows)];
    memcpy(table, rows, sizeof rows);
    return run_rows("host", table, evaluates) + cmocka_run_group_tests(tests, NULL, NULL);
}
