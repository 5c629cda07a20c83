/* variants.c - operators of onnxruntime that compute the same as one of ours, but with additional
 * operands (mostly scales and zero points), channels last, or an activation at the end.
 *
 *     QLinearConcat       , , d0 a, , , d0 b, ,             ->  d0 (a + b)
 *     FusedConv           b c h w, .., (g co), b (g co) oh ow  ->  b (g co) oh ow
 *     NhwcConv            b h w c, co kh kw c, co           ->  b oh ow co
 *     MatMulIntegerToFloat  m k+, k+ n, , n                 ->  m n
 *
 * The rule of our operator runs on the operands that it knows, transposed to its layout; the rows
 * of its op space are then assigned to the operands of the op. A sum that is rounded, or passed to
 * an activation, cannot be computed from partial sums: its dims are frozen. Source: onnxruntime's
 * published schemas of contributed operators.
 */
#include "core/rules/operators/dims.h"

#include <inttypes.h>

/* The layout of an operand. */
typedef enum {
    LAYOUT_OURS,
    LAYOUT_LAST,   /* channels last; ours are dim 1 */
    LAYOUT_SWAPPED /* the last two dims are swapped */
} OperandLayout;

enum { OPERANDS_OF_OURS = 9 };

typedef struct {
    const Operator *table; /* the table that has our operator */
    const char *op_type;
    int n; /* how many operands our operator has, and which operand of the op each is; -1: none */
    int operand[OPERANDS_OF_OURS]; /* n 0: every `step`-th operand of the op, from `first` on */
    int first, step;
    uint16_t turned;      /* bit i: operand i of ours has another `layout` in the op */
    OperandLayout layout; /* the output too, if it is LAYOUT_LAST */
    bool asks;            /* only if the attribute channels_last is 1 */
    bool freezes;         /* sums, as they are rounded; otherwise only if there is an activation */
} Variant;

/* ---- layouts ---- */

/* The dim of the op's operand that corresponds to our dim d. */
static int64_t place_of(OperandLayout layout, int64_t d, int64_t n_dims)
{
    if (layout == LAYOUT_LAST && n_dims > 2)
        return d == 0 ? 0 : d == 1 ? n_dims - 1 : d - 1;
    if (layout == LAYOUT_SWAPPED && n_dims > 1 && d >= n_dims - 2)
        return 2 * n_dims - 3 - d;
    return d;
}

static Shape ours_of(OperandLayout layout, const Shape *theirs)
{
    Shape ours = *theirs;
    for (int64_t d = 0; d < theirs->n_dims; d++)
        ours.dim[d] = theirs->dim[place_of(layout, d, theirs->n_dims)];
    return ours;
}

static void turn_back(OperandLayout layout, Operand *operand)
{
    Operand ours = *operand;
    for (int64_t d = 0; d < ours.shape.n_dims; d++) {
        int64_t at = place_of(layout, d, ours.shape.n_dims);
        operand->shape.dim[at] = ours.shape.dim[d];
        operand->projection.row[at] = ours.projection.row[d];
    }
}

/* ---- our rule on their operands ---- */

static const Operator *row_of(const Operator *table, const char *name)
{
    while (table->name && strcmp(table->name, name) != 0)
        table++;
    return table;
}

static int theirs_of(const Variant *of, int i)
{
    return of->step > 0 ? of->first + i * of->step : of->operand[i];
}

static RuleCall our_call(const RuleCall *call, const Variant *of, OperandLayout layout)
{
    RuleCall ours = *call;
    int n = of->step > 0 ? (call->n_inputs - of->first + of->step - 1) / of->step : of->n;
    const Shape **shape = arena_array(call->arena, const Shape *, n);
    Dtype *dtype = arena_array(call->arena, Dtype, n);
    const Value **value = arena_array(call->arena, const Value *, n);
    ours.n_inputs = 0;
    for (int i = 0; i < n; i++) {
        int theirs = theirs_of(of, i);
        if (theirs < 0 || !args_has(call, theirs))
            continue;
        Shape *turned = arena_make(call->arena, Shape);
        bool turns = i < 16 && (of->turned >> i & 1) != 0;
        *turned = ours_of(turns ? layout : LAYOUT_OURS, call->shape[theirs]);
        shape[i] = turned;
        dtype[i] = call->dtype[theirs];
        value[i] = call->value[theirs];
        ours.n_inputs = i + 1;
    }
    ours.shape = shape;
    ours.dtype = dtype;
    ours.value = value;
    ours.space = NULL;
    return ours;
}

/* Makes the op's space from ours: rows of our operands go to those of the op; other operands are
 * read whole. */
static OpSpace *their_space(RuleCall *call, const Variant *of, OperandLayout layout,
                            const OpSpace *ours, Error *err)
{
    for (int o = 0; o < call->n_outputs && layout == LAYOUT_LAST; o++) {
        Operand out = *opspace_output(ours, o);
        turn_back(layout, &out);
        call->out_shape[o] = out.shape;
    }
    OpSpace *space = rule_space(call, err);
    if (!space)
        return NULL;
    Operand *operand = space->operand;
    *space = *ours;
    space->operand = operand;
    space->n_inputs = call->n_inputs;
    for (int i = 0; i < ours->n_inputs; i++) {
        int theirs = theirs_of(of, i);
        if (theirs < 0 || !args_has(call, theirs))
            continue;
        operand[theirs] = ours->operand[i];
        if (i < 16 && (of->turned >> i & 1) != 0)
            turn_back(layout, &operand[theirs]);
    }
    for (int o = 0; o < call->n_outputs; o++) {
        Operand *out = &operand[call->n_inputs + o];
        *out = *opspace_output(ours, o);
        if (layout == LAYOUT_LAST)
            turn_back(layout, out);
    }
    return space;
}

static void freeze_sums(OpSpace *space)
{
    for (int k = 0; k < space->n_index; k++)
        if (space->index[k].role == ROLE_REDUCE) {
            space->index[k].role = ROLE_FROZEN;
            space->index[k].reduce = REDUCE_NONE;
        }
}

static OpSpace *run_ours(RuleCall *call, const Variant *of, Error *err)
{
    const Operator *row = row_of(of->table, of->op_type);
    bool turns = !of->asks || args_int(call, "channels_last", 0) != 0;
    OperandLayout layout = turns ? of->layout : LAYOUT_OURS;
    RuleCall ours = our_call(call, of, layout);
    for (int i = 0; i < row->inputs_min; i++)
        if (i >= ours.n_inputs || !ours.shape[i]) {
            error_set(err, "its input %d is absent", theirs_of(of, i));
            return NULL;
        }
    if (!row->rule(&ours, err))
        return NULL;
    OpSpace *space = their_space(call, of, layout, ours.space, err);
    if (space && (of->freezes || args_text(call, "activation", "").n > 0))
        freeze_sums(space);
    return space;
}

/* An operand that is added, or that scales, has the rows of the output, or of its last dims. */
static void follow_output(RuleCall *call, int i, bool adds)
{
    if (!args_has(call, i))
        return;
    OpSpace *space = call->space;
    const Operand *out = rule_output(space, 0);
    Operand *operand = &space->operand[i];
    int64_t skip = out->shape.n_dims - operand->shape.n_dims;
    for (int64_t d = 0; d < operand->shape.n_dims; d++)
        if (d + skip >= 0 && operand->shape.dim[d] == out->shape.dim[d + skip])
            operand->projection.row[d] = out->projection.row[d + skip];
    operand->once = adds;
}

/* Defines a rule that needs only its Variant. */
#define RUNS(name, ...)                                                                            \
    static bool name(RuleCall *call, Error *err)                                                   \
    {                                                                                              \
        static const Variant of = {__VA_ARGS__};                                                   \
        return run_ours(call, &of, err) != NULL;                                                   \
    }

/* ---- convolutions, pools ---- */

/* Z, input 3, is added before the activation. */
static bool fused_conv(RuleCall *call, Error *err)
{
    static const Variant of = {operators_window, "Conv", .n = 3, .operand = {0, 1, 2}};
    if (!run_ours(call, &of, err))
        return false;
    follow_output(call, 3, true);
    return true;
}

static bool nhwc_conv(RuleCall *call, Error *err)
{
    static const Variant of = {operators_window,     "Conv",      .n = 3,
                               .operand = {0, 1, 2}, .turned = 3, .layout = LAYOUT_LAST};
    if (!run_ours(call, &of, err))
        return false;
    follow_output(call, 3, true);
    return true;
}

RUNS(quantized_conv, operators_window, "QLinearConv", .n = 9,
     .operand = {0, 1, 2, 3, 4, 5, 6, 7, 8}, .turned = 1, .layout = LAYOUT_LAST, .asks = true)

RUNS(nhwc_max_pool, operators_pool, "MaxPool", .n = 1, .operand = {0}, .turned = 1,
     .layout = LAYOUT_LAST)

/* Between ReorderInput and ReorderOutput channels are in blocks; shapes are as in our operator. */
RUNS(blocked_max_pool, operators_pool, "MaxPool", .n = 1, .operand = {0})

RUNS(blocked_mean_pool, operators_pool, "AveragePool", .n = 1, .operand = {0})

RUNS(blocked_global_pool, operators_pool, "GlobalAveragePool", .n = 1, .operand = {0})

RUNS(blocked_largest, operators_pool, "GlobalMaxPool", .n = 1, .operand = {0})

/* Puts channels into blocks, or back. The number of channels becomes a multiple of the block size,
 * which depends on the processor. Only the batch is sharded. */
static bool reorder(RuleCall *call, bool in, Error *err)
{
    enum { LARGEST_BLOCK = 16 };
    const Shape *x = call->shape[0];
    bool last = args_int(call, "channels_last", 0) != 0;
    if (!args_rank(call, 0, 3, DIMS_MAX, err))
        return false;
    Shape ours = ours_of(in && last ? LAYOUT_LAST : LAYOUT_OURS, x), out = ours;
    if (!in)
        ours.dim[1] = args_int(call, "channels", ours.dim[1]);
    else if (ours.dim[1] % LARGEST_BLOCK != 0)
        ours.dim[1] = -1;
    for (int64_t d = 0; d < x->n_dims; d++)
        out.dim[!in && last ? place_of(LAYOUT_LAST, d, x->n_dims) : d] = ours.dim[d];
    OpSpace *space = rule_space_as(call, &out, call->dtype[0], err);
    if (!space)
        return false;
    int b = rule_index(space, "b", x->dim[0], ROLE_MAP, REDUCE_NONE);
    rule_unit(&space->operand[0], 0, b);
    rule_unit(rule_output(space, 0), 0, b);
    return true;
}

static bool reorder_in(RuleCall *call, Error *err)
{
    return reorder(call, true, err);
}

static bool reorder_out(RuleCall *call, Error *err)
{
    return reorder(call, false, err);
}

static bool blocked_upsample(RuleCall *call, Error *err)
{
    const Shape *x = call->shape[0];
    Ints scales;
    if (!args_ints(call, -1, "scales", &scales, err))
        return false;
    if (scales.n != x->n_dims)
        return error_kind(err, ERROR_RANK, "it has %d scales for its dims", scales.n);
    call->out_shape[0] = *x;
    call->out_dtype[0] = call->dtype[0];
    for (int d = 0; d < scales.n; d++)
        if (scales.at[d] < 1 ||
            __builtin_mul_overflow(x->dim[d], scales.at[d], &call->out_shape[0].dim[d]))
            return error_kind(err, ERROR_OUT_OF_RANGE, "its scale %d is out of range", d);
    OpSpace *space = rule_space(call, err);
    for (int d = 0; space && d < scales.n; d++) {
        bool stays = scales.at[d] == 1;
        int index = rule_index_at(call, stays ? 'd' : 'o', d, call->out_shape[0].dim[d]);
        rule_unit(rule_output(space, 0), d, index);
        if (stays)
            rule_unit(&space->operand[0], d, index);
    }
    return space != NULL;
}

RUNS(quantized_pool, operators_pool, "AveragePool", .n = 1, .operand = {0}, .turned = 1,
     .layout = LAYOUT_LAST, .asks = true, .freezes = true)

RUNS(quantized_global_pool, operators_pool, "GlobalAveragePool", .n = 1, .operand = {0},
     .turned = 1, .layout = LAYOUT_LAST, .asks = true, .freezes = true)

/* ---- products ---- */

RUNS(fused_gemm, operators_matmul, "Gemm", .n = 3, .operand = {0, 1, 2})

RUNS(turned_matmul, operators_matmul, "com.microsoft::FusedMatMul", .n = 2, .operand = {0, 1})

/* Of two factors and a term, then their scales. */
static bool float8_gemm(RuleCall *call, Error *err)
{
    static const Variant of = {operators_matmul, "Gemm", .n = 3, .operand = {0, 1, 2}};
    return run_ours(call, &of, err) && args_dtype(call, "dtype", DT_F32, &call->out_dtype[0], err);
}

/* Rounds, unless the output has no scale. */
static bool quantized_gemm(RuleCall *call, Error *err)
{
    static const Variant of = {operators_matmul, "Gemm", .n = 3, .operand = {0, 3, 6},
                               .freezes = true};
    if (!run_ours(call, &of, err))
        return false;
    call->out_dtype[0] = args_has(call, 8) ? call->dtype[8] : call->dtype[1];
    bool swapped = args_int(call, "transB", 0) != 0;
    for (int i = 4; i < 6; i++) /* one number per column of B */
        if (args_has(call, i) && call->shape[i]->n_dims == 1 && call->shape[i]->dim[0] > 1)
            call->space->operand[i].projection.row[0] =
                call->space->operand[3].projection.row[swapped ? 0 : 1];
    return true;
}

static bool integer_matmul(RuleCall *call, Dtype dtype, const int *columns, int n_columns,
                           bool freezes, Error *err)
{
    Variant of = {operators_matmul, "MatMul", .n = 2, .operand = {0, 1}, .freezes = freezes};
    if (!run_ours(call, &of, err))
        return false;
    call->out_dtype[0] = dtype;
    for (int i = 0; i < n_columns; i++)
        follow_output(call, columns[i], i == n_columns - 1);
    return true;
}

/* a, b, their scales, their zero points, a bias. */
static bool matmul_to_float(RuleCall *call, Error *err)
{
    return integer_matmul(call, call->dtype[2], (int[]){3, 5, 6}, 3, false, err);
}

/* a, b, the scale and zero point of b, a bias. The scale of a depends on all its elements. */
static bool matmul_of_floats(RuleCall *call, Error *err)
{
    if (!integer_matmul(call, DT_F32, (int[]){2, 3, 4}, 3, true, err))
        return false;
    for (int k = 0; k < call->space->n_index; k++)
        for (int64_t d = 0; d < call->shape[0]->n_dims; d++)
            if (call->space->operand[0].projection.row[d].coef[k] != 0)
                call->space->index[k].role = ROLE_FROZEN;
    return true;
}

static bool matmul_of_shorts(RuleCall *call, Error *err)
{
    return integer_matmul(call, DT_I32, NULL, 0, false, err);
}

static bool gemm_gelu(RuleCall *call, Error *err)
{
    return integer_matmul(call, call->dtype[0], (int[]){2}, 1, true, err);
}

/* X, W, R, B, lengths, initial states, peepholes; then scales and zero points. Weights are
 * transposed. */
RUNS(quantized_lstm, operators_recurrent, "LSTM", .n = 8, .operand = {0, 1, 2, 3, 4, 5, 6, 7},
     .turned = 6, .layout = LAYOUT_SWAPPED)

/* ---- places ---- */

/* Scale and zero point of the output; then each operand, with its scale and zero point after it. */
static bool quantized_concat(RuleCall *call, Error *err)
{
    static const Variant of = {operators_shape, "Concat", .first = 2, .step = 3};
    if (!run_ours(call, &of, err))
        return false;
    call->out_dtype[0] = call->dtype[2];
    return true;
}

RUNS(quantized_mean, operators_reduce, "ReduceMean", .n = 1, .operand = {0}, .freezes = true)

RUNS(quantized_where, operators_elementwise, "Where", .n = 3, .operand = {0, 1, 4})

RUNS(masked_pool, operators_pool, "MaxPool", .n = 1, .operand = {0})

RUNS(embedding_rows, operators_index, "Gather", .n = 2, .operand = {0, 1})

RUNS(gathered_places, operators_index, "GatherND", .n = 2, .operand = {0, 1})

RUNS(sampled_grid, operators_resample, "GridSample", .n = 2, .operand = {0, 1})

RUNS(padded, operators_resample, "Pad", .n = 3, .operand = {0, 1, 2})

/* Factors, each with its zero point. */
static bool product_of_bytes(RuleCall *call, Error *err)
{
    static const Variant of = {operators_elementwise, "Mul", .n = 2, .operand = {0, 2}};
    if (!run_ours(call, &of, err))
        return false;
    call->out_dtype[0] = DT_I32;
    return true;
}

static bool sum_of_bytes(RuleCall *call, Error *err)
{
    static const Variant of = {operators_reduce, "ReduceSum", .n = 1, .operand = {0}};
    if (!run_ours(call, &of, err))
        return false;
    call->out_dtype[0] = call->dtype[0] == DT_U8 ? DT_U32 : DT_I32;
    return true;
}

RUNS(triangle, operators_shape, "Trilu", .n = 2, .operand = {0, 1})

static bool softmax_along(RuleCall *call, Error *err)
{
    call->out_dtype[0] = call->dtype[0];
    return dims_along(call, "axis", -1, DIM_FROZEN, err);
}

/* Dropout of a + b, then a residual is added; the second output is the mask. */
static bool dropout_of_sum(RuleCall *call, Error *err)
{
    const Shape *x = call->shape[0];
    for (int o = 0; o < call->n_outputs; o++) {
        call->out_shape[o] = *x;
        call->out_dtype[o] = o == 0 ? call->dtype[0] : DT_BOOL;
    }
    return dims_space(call, x, NULL, NULL, err) != NULL;
}

/* Distances of rows: [m k], [n k] -> [m n]. */
static bool distances(RuleCall *call, Error *err)
{
    const Shape *a = call->shape[0], *b = call->shape[1];
    if (a->n_dims != 2 || b->n_dims != 2 || a->dim[1] != b->dim[1])
        return error_kind(err, ERROR_RANK, "its operands are not rows of as many numbers");
    OpSpace *space = rule_space_as(call, &(Shape){.n_dims = 2, .dim = {a->dim[0], b->dim[0]}},
                                   call->dtype[0], err);
    if (!space)
        return false;
    int m = rule_index(space, "m", a->dim[0], ROLE_MAP, REDUCE_NONE);
    int n = rule_index(space, "n", b->dim[0], ROLE_MAP, REDUCE_NONE);
    int k = rule_index(space, "k", a->dim[1], ROLE_FROZEN, REDUCE_NONE);
    rule_align(&space->operand[0], (int[]){m, k}, 2);
    rule_align(&space->operand[1], (int[]){n, k}, 2);
    rule_align(rule_output(space, 0), (int[]){m, n}, 2);
    return true;
}

/* ---- GroupNorm ---- */

/* X, gamma, beta; with a skip and a bias, their sum with X is output 1. */
static bool group_norm(RuleCall *call, Error *err)
{
    const Shape *x = call->shape[0];
    int64_t groups = args_int(call, "groups", 0), n_dims = x->n_dims;
    int64_t at = args_int(call, "channels_last", 1) != 0 ? n_dims - 1 : 1;
    if (n_dims < 3 || groups < 1 || x->dim[at] % groups != 0)
        return error_kind(err, ERROR_NOT_DIVISIBLE, "its channels are not %" PRId64 " equal groups",
                          groups);
    dims_answer(call, x, call->dtype[0]);
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    int64_t c = x->dim[at];
    int pair[2] = {rule_index(space, "g", groups, ROLE_MAP, REDUCE_NONE),
                   rule_index(space, "c", c / groups, ROLE_FROZEN, REDUCE_NONE)};
    for (int64_t d = 0; d < n_dims; d++) {
        int index = d == at ? -1 : rule_index_at(call, 'd', d, x->dim[d]);
        if (d > 0 && index >= 0)
            space->index[index].role = ROLE_FROZEN;
        for (int i = 0; i < call->n_inputs + call->n_outputs; i++) {
            Operand *operand = &space->operand[i];
            if (operand->absent || operand->shape.n_dims != n_dims ||
                operand->shape.dim[d] != x->dim[d])
                continue;
            if (d == at)
                rule_radix(space, operand, d, pair, 2);
            else
                rule_unit(operand, d, index);
        }
    }
    for (int i = 1; i < call->n_inputs; i++) {
        Operand *operand = &space->operand[i];
        int64_t rank = operand->shape.n_dims;
        if (!operand->absent && (rank == 1 || rank == 2) && operand->shape.dim[rank - 1] == c)
            rule_radix(space, operand, rank - 1, pair, 2);
    }
    return true;
}

/* ---- experts ---- */

/* Each row goes to some of the experts, chosen by its scores. Dim 0 of the operands after the
 * scores is the experts, whose results are summed. */
static bool experts(RuleCall *call, Error *err)
{
    const Shape *x = call->shape[0], *scores = call->shape[1];
    if (x->n_dims < 2 || x->n_dims > 3 || scores->n_dims != 2)
        return error_kind(err, ERROR_RANK, "its rows need 2 or 3 dims, its scores 2");
    dims_answer(call, x, call->dtype[0]);
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    int n_rows = (int)x->n_dims - 1, row[2] = {-1, -1};
    for (int d = 0; d < n_rows; d++) {
        row[d] = rule_index_at(call, 'd', d, x->dim[d]);
        rule_unit(&space->operand[0], d, row[d]);
        rule_unit(rule_output(space, 0), d, row[d]);
    }
    if (scores->dim[0] == (n_rows > 1 ? x->dim[0] * x->dim[1] : x->dim[0]))
        rule_radix(space, &space->operand[1], 0, row, n_rows);
    int e = rule_index(space, "e", scores->dim[1], ROLE_REDUCE, REDUCE_SUM);
    for (int i = 2; i < call->n_inputs; i++)
        if (args_has(call, i) && call->shape[i]->n_dims > 1 &&
            call->shape[i]->dim[0] == scores->dim[1])
            rule_unit(&space->operand[i], 0, e);
    return true;
}

#define FAMILY "variants"

const Operator operators_variants[] = {
    {OP("com.microsoft::FusedConv", fused_conv, 2, 2, 4),
     GRADIENT("0: ConvGrad(x1 y0); 1: ConvWeightGrad(x0 y0); 2: activated(y0); 3: activated(y0)"),
     OWN("activation activation_params auto_pad dilations group kernel_shape pads strides", ""),
     .kernel = "com.microsoft::FusedConv", .examples = "3x4x7x8,6x4x3x3,6,3x6x5x6 activation=Relu"},
    {OP("com.microsoft::NhwcConv", nhwc_conv, 2, 2, 3),
     OWN("auto_pad dilations group kernel_shape pads strides", ""),
     .examples = "3x7x8x4,6x3x3x4,6"},
    {OP("com.microsoft::NhwcFusedConv", nhwc_conv, 2, 2, 4),
     OWN("activation activation_params auto_pad dilations group kernel_shape pads strides", ""),
     .examples = "3x7x8x4,6x3x3x4,6"},
    {OP("com.microsoft::QLinearConv", quantized_conv, 2, 8, 9),
     OWN("auto_pad channels_last dilations group kernel_shape pads strides", ""),
     .examples =
         "3x7x8x4:u8,scalar,scalar:u8,6x4x3x3:i8,6,6:i8,scalar,scalar:u8,6:i32 channels_last=1"},
    {OP("com.microsoft::NhwcMaxPool", nhwc_max_pool, 1, 1, 1),
     OWN("auto_pad ceil_mode dilations kernel_shape pads strides", ""),
     .examples = "3x7x8x4:u8 kernel_shape=[3,3]"},
    {OP("com.microsoft::QLinearAveragePool", quantized_pool, 1, 2, 5),
     OWN("auto_pad ceil_mode channels_last count_include_pad kernel_shape pads strides", ""),
     .examples = "3x7x8x4:u8,scalar,scalar:u8,scalar,scalar:u8 kernel_shape=[3,3] channels_last=1"},
    {OP("com.microsoft::QLinearGlobalAveragePool", quantized_global_pool, 1, 2, 5),
     OWN("channels_last", ""), .examples = "3x4x7x8:u8,scalar,scalar:u8,scalar,scalar:u8"},
    {OP("com.microsoft::FusedGemm", fused_gemm, 2, 2, 3),
     GRADIENT("0: activated(x1 y0) *alpha; 1: activated(x0 y0) *alpha; 2: activated(y0) *beta"),
     OWN("activation activation_alpha activation_beta activation_gamma alpha beta leaky_relu_alpha "
         "transA transB",
         ""),
     .kernel = "com.microsoft::FusedGemm", .examples = "5x6,6x7,7 activation=Relu"},
    {OP("com.microsoft::QGemm", quantized_gemm, 2, 6, 9), OWN("alpha transA transB", ""),
     .examples = "5x6:u8,scalar,scalar:u8,6x7:i8,7,7:i8,7:i32,scalar,scalar:u8"},
    {OP("com.microsoft::MatMulIntegerToFloat", matmul_to_float, 2, 4, 7),
     GRADIENT("2 3: refused its factors are integers, which do not train; 6: contract"),
     OWN("", ""), .kernel = "com.microsoft::MatMulIntegerToFloat",
     .examples = "3x5x6:u8,6x7:i8,scalar,7,scalar:u8,7:i8,7"},
    {OP("com.microsoft::DynamicQuantizeMatMul", matmul_of_floats, 2, 3, 5), OWN("", ""),
     .examples = "3x5x6,6x7:i8,7,7:i8,7"},
    {OP("com.microsoft::MatMulInteger16", matmul_of_shorts, 2, 2, 2), OWN("", ""),
     .kernel = "MatMulInteger", .examples = "3x5x6:i16,3x6x7:i16"},
    {OP("com.microsoft::GemmFastGelu", gemm_gelu, 2, 2, 3), OWN("", ""), .examples = "3x5x6,6x7,7"},
    {OP("com.microsoft::DynamicQuantizeLSTM", quantized_lstm, 0, 3, 12),
     OWN("activation_alpha activation_beta activations clip direction hidden_size input_forget",
         ""),
     .outputs_max = 3,
     .examples = "5x3x4,1x4x24:i8,1x6x24:i8,1x48,-,-,-,-,1,1:i8,1,1:i8 hidden_size=6 -> 3"},
    {OP("com.microsoft::QLinearConcat", quantized_concat, 0, 5, OPERATOR_ANY), OWN("axis", ""),
     EARLY, .examples = "scalar,scalar:u8,5x6:u8,scalar,scalar:u8,5x4:u8,scalar,scalar:u8 axis=1"},
    {OP("com.microsoft::QLinearReduceMean", quantized_mean, 1, 2, 5), OWN("axes keepdims", ""),
     .examples = "5x6x4:u8,scalar,scalar:u8,scalar,scalar:u8 axes=[1]"},
    {OP("com.microsoft::QLinearWhere", quantized_where, 1, 9, 9), OWN("", ""), EARLY,
     .examples = "5x6:bool,5x6:u8,scalar,scalar:u8,6:u8,scalar,scalar:u8,scalar,scalar:u8"},
    {OP("com.microsoft::QLinearSoftmax", softmax_along, 5, 5, 5), OWN("axis opset", ""),
     .flags = OPERATOR_EARLY | OPERATOR_CHOOSES,
     .examples = "5x6x4:u8,scalar,scalar:u8,scalar,scalar:u8"},
    {OP("com.microsoft::BiasSoftmax", softmax_along, 5, 2, 2),
     OWN("axis broadcast_axis is_inner_broadcast softmax_axis", ""),
     .flags = OPERATOR_EARLY | OPERATOR_CHOOSES, .examples = "5x6x4,1x6x4 axis=2"},
    {OP("com.microsoft::BiasDropout", dropout_of_sum, 1, 2, 5), OWN("seed", ""), EARLY_DRAWS,
     .outputs_max = 2, .examples = "5x6,6,5x6 -> 2"},
    {OP("com.microsoft::Trilu", triangle, 0, 1, 2), GRADIENT("0: move(x1)"), OWN("upper", ""),
     EARLY, .kernel = "Trilu", .examples = "5x6x4"},
    {OP("com.microsoft::CDist", distances, 3, 2, 2),
     GRADIENT("0: CDistGrad(x0 x1 y0); 1: CDistGrad(x0 x1 y0)"), OWN("metric", ""),
     .kernel = "com.microsoft::CDist", .examples = "5x6,7x6"},
    {OP("com.microsoft::GroupNorm", group_norm, 8, 3, 3),
     OWN("activation channels_last epsilon groups", ""), EARLY, .examples = "3x5x4x8,8,8 groups=4"},
    {OP("com.microsoft::SkipGroupNorm", group_norm, 8, 4, 5),
     OWN("activation channels_last epsilon groups", ""), EARLY, .outputs_max = 2,
     .examples = "3x8x5x4,8,8,3x8x5x4,8 groups=4 channels_last=0 -> 2"},
    {OP("com.microsoft::MoE", experts, 4, 3, 8),
     OWN("activation_alpha activation_beta activation_type k normalize_routing_weights "
         "swiglu_fusion swiglu_limit swiglu_limit_after_activation use_sparse_mixer",
         ""),
     .examples = "3x5x6,15x4,4x8x6,4x8,4x6x8,4x6 k=2"},
    {OP("com.microsoft::QMoE", experts, 4, 3, 14),
     OWN("accuracy_level activation_alpha activation_beta activation_type block_size "
         "expert_weight_bits k normalize_routing_weights quant_type swiglu_fusion swiglu_limit "
         "use_sparse_mixer weights_prepacked",
         ""),
     .examples = "3x5x6,15x4,4x8x3:u8,4x8,4x8,4x6x4:u8,4x6,4x6 k=2"},
    {OP("com.microsoft.nchwc::Conv", fused_conv, 2, 1, 4),
     OWN("activation activation_params auto_pad dilations group kernel_shape pads strides",
         ".f .f .f .f"),
     .examples = "3x4x7x8,6x4x3x3,6,3x6x5x6 activation=Relu"},
    {OP("com.microsoft.nchwc::MaxPool", blocked_max_pool, 1, 1, 1),
     OWN("activation auto_pad ceil_mode dilations kernel_shape pads storage_order strides", ".f"),
     .examples = "3x4x7x5 kernel_shape=[3,3]"},
    {OP("com.microsoft.nchwc::AveragePool", blocked_mean_pool, 1, 1, 1),
     OWN("activation auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides",
         ".f"),
     .examples = "3x4x7x5 kernel_shape=[3,3]"},
    {OP("com.microsoft::FusedMatMulActivation", turned_matmul, 2, 2, 2),
     OWN("activation activation_alpha activation_axis activation_beta activation_gamma alpha "
         "transA transB transBatchA transBatchB",
         "Af Af"),
     .examples = "3x4x5,3x6x5 transB=1 activation=Relu"},
    {OP("com.microsoft::TransposeMatMul", turned_matmul, 2, 2, 2),
     OWN("alpha transA transB", "Af Af"), .kernel = "com.microsoft::FusedMatMul",
     GRADIENT("0: contract(x1) *alpha; 1: contract(x0) *alpha"),
     .examples = "3x5x4,3x5x6 transA=1"},
    {OP("com.microsoft::SparseToDenseMatMul", turned_matmul, 2, 2, 2),
     OWN("alpha transA transB", "Af Af"), .kernel = "com.microsoft::FusedMatMul",
     GRADIENT("0: contract(x1) *alpha; 1: contract(x0) *alpha"), .examples = "4x6,6x3"},
    {OP("com.microsoft::GemmFloat8", float8_gemm, 2, 2, 6),
     OWN("activation alpha beta dtype transA transB", ""),
     .examples = "3x5,6x5,6 transB=1 dtype=1"},
    {OP("com.microsoft::MaxpoolWithMask", masked_pool, 1, 2, 2),
     OWN("auto_pad kernel_shape pads storage_order strides", ".f .i"),
     .examples = "3x4x7x5,3x4x7x5:i32 kernel_shape=[3,3]"},
    {OP("com.microsoft::TorchEmbedding", embedding_rows, 0, 2, 4), OWN("", ". .i .i .b"),
     .kernel = "Gather", GRADIENT("0: GatherGrad(x1)"), .examples = "9x4,3x5:i64"},
    {OP("com.microsoft::GatherND", gathered_places, 0, 2, 2), OWN("", ". .i"), .reads = 1 << 1,
     .kernel = "GatherND", GRADIENT("0: move(x1)"), .examples = "4x5x6,3x2:i64"},
    {OP("com.microsoft::GridSample", sampled_grid, 8, 2, 2),
     OWN("align_corners mode padding_mode", ""), .kernel = "GridSample",
     GRADIENT("0: move(x1); 1: GridSampleGrad(x0 x1)"), .examples = "3x4x7x5,3x6x2x2"},
    {OP("com.microsoft::Pad", padded, 0, 2, 3), OWN("mode", ""), .reads = 1 << 1, .kernel = "Pad",
     GRADIENT("0: move; 2: move"), .examples = "3x4x5,=[0,1,0,0,1,2]"},
    {OP("com.microsoft::MulInteger", product_of_bytes, 1, 3, 4), OWN("", ""), EARLY,
     .examples = "3x4:u8,scalar:u8,4:u8,scalar:u8"},
    {OP("com.microsoft::ReduceSumInteger", sum_of_bytes, 1, 1, 1), OWN("axes keepdims", ""),
     .examples = "3x4x5:u8 axes=[1] keepdims=0"},
    {OP("com.microsoft.nchwc::GlobalAveragePool", blocked_global_pool, 1, 1, 1),
     OWN("activation", ".f"), .examples = "3x4x7x5"},
    {OP("com.microsoft.nchwc::GlobalMaxPool", blocked_largest, 1, 1, 1), OWN("activation", ".f"),
     .examples = "3x4x7x5"},
    {OP("com.microsoft.nchwc::ReorderInput", reorder_in, 0, 1, 1), OWN("channels_last", ".f"),
     .examples = "3x16x7x5"},
    {OP("com.microsoft.nchwc::ReorderOutput", reorder_out, 0, 1, 1),
     OWN("channels channels_last", ".f"), .examples = "3x16x7x5 channels=10 channels_last=1"},
    {OP("com.microsoft.nchwc::Upsample", blocked_upsample, 1, 1, 1),
     OWN("coordinate_transformation_mode mode scales", ".f"),
     .examples = "3x8x7x5 scales=[1,1,2,2]"},
    {0},
};
