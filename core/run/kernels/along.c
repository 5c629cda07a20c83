/* along.c - operators along one unsharded dim: ArgMax, ArgMin, CumSum, CumProd, TopK,
 * ReverseSequence. */
#include "core/rules/args.h"
#include "core/run/kernel.h"

#include <inttypes.h>
#include <stdlib.h>

/* Place of the first element of a row. */
static int64_t row_start(const DimRows *rows, int64_t row)
{
    return row / rows->step * rows->step * rows->n + row % rows->step;
}

/* The op's axis, which is that input (-1: none) or else an attribute; -1: all elements are one row.
 */
static bool read_axis(const KernelCall *call, int64_t rank, int input, int *axis, Error *err)
{
    RuleCall rule = kernel_rule_call(call);
    int64_t given = args_int(&rule, "axis", 0);
    *axis = -1;
    if (args_all_as_one_row(&rule))
        return true;
    if (input >= 0 && kernel_input(call, input) && !kernel_scalar(call->input[input], &given, err))
        return false;
    return args_axis(given, rank, axis, err);
}

/* The rows of `local` along that axis. */
static bool axis_rows(const KernelCall *call, const Local *local, int input, DimRows *rows,
                      Error *err)
{
    int axis;
    if (!read_axis(call, local->shape.n_dims, input, &axis, err))
        return false;
    if (axis >= 0)
        return kernel_rows(local, axis, rows, err);
    *rows = (DimRows){shape_elements(&local->shape), 1, 1};
    return kernel_whole(local, 0, local->shape.n_dims, err);
}

/* Whether element a wins over b, which came before it; NaN wins. */
static bool is_better(const Local *in, int64_t a, int64_t b, bool least, bool later)
{
    NumberBlock x, y;
    Number number = dtype_is_float(in->dtype) ? NUMBER_F64 : NUMBER_I64;
    local_load(in, a, 1, 1, number, &x);
    local_load(in, b, 1, 1, number, &y);
    integers_order(in->dtype, x.i64, number == NUMBER_I64);
    integers_order(in->dtype, y.i64, number == NUMBER_I64);
    if (number == NUMBER_I64)
        return least ? x.i64[0] < y.i64[0] + later : x.i64[0] > y.i64[0] - later;
    if (y.f64[0] != y.f64[0])
        return false;
    return x.f64[0] != x.f64[0] || (least ? x.f64[0] < y.f64[0] : x.f64[0] > y.f64[0]) ||
           (later && x.f64[0] == y.f64[0]);
}

static bool arg_most(const KernelCall *call, Error *err)
{
    const Graph *graph = kernel_graph(call);
    DimRows rows = {0};
    if (!kernel_numeric(call, 1, err) || !axis_rows(call, call->input[0], -1, &rows, err))
        return false;
    const Local *in = call->input[0];
    Local *out = call->output[0];
    if (rows.n == 0 || out->dtype != DT_I64 || shape_elements(&out->shape) != rows.n_rows)
        return error_kind(err, ERROR_RUN, "output and input shapes do not match");
    bool later = op_attr_int(graph, call->op, "select_last_index", 0) != 0;
    for (int64_t row = 0; row < rows.n_rows; row++) {
        int64_t start = row_start(&rows, row), best = 0;
        for (int64_t i = 1; i < rows.n; i++)
            if (is_better(in, start + i * rows.step, start + best * rows.step,
                          call->kernel->row != NULL, later))
                best = i;
        ((int64_t *)out->data)[row] = best;
    }
    return true;
}

/* A running sum or product: rows of the input and of the result. Place i of a result's row takes
 * place i + shift of the input's, if it is there: the one before or behind it where results leave
 * out their own element. */
typedef struct {
    DimRows in, out;
    int64_t shift;
    bool product, reverse;
} Cumulation;

/* Floats are summed in double, integers wrap. */
static void cumulate_row(const Local *in, Local *out, const Cumulation *c, int64_t row)
{
    bool is_float = dtype_is_float(in->dtype);
    Number number = is_float ? NUMBER_F64 : NUMBER_I64;
    int64_t from = row_start(&c->in, row), to = row_start(&c->out, row);
    double real = c->product ? 1 : 0;
    uint64_t integer = c->product;
    for (int64_t i = 0; i < c->out.n; i++) {
        int64_t place = c->reverse ? c->out.n - 1 - i : i, read = place + c->shift;
        NumberBlock x = {0};
        bool there = 0 <= read && read < c->in.n;
        if (there)
            local_load(in, from + read * c->in.step, 1, 1, number, &x);
        if (there && is_float)
            real = c->product ? real * x.f64[0] : real + x.f64[0];
        else if (there)
            integer = c->product ? integer * (uint64_t)x.i64[0] : integer + (uint64_t)x.i64[0];
        local_store(out, to + place * c->out.step, 1, number,
                    is_float ? (const void *)&real : (const void *)&integer);
    }
}

/* Whether parts of the dim are summed by themselves: another rank's sums are added afterwards. */
static bool sums_parts(const KernelCall *call)
{
    const OpSpace *space = program_space(call->inferred, call->op);
    for (int j = 0; j < space->n_index; j++)
        if (space->index[j].carries)
            return true;
    return false;
}

/* The rows of an input or a result, of a part where its dim is cut, and where it starts in the
 * whole dim. */
static bool cumulated_rows(const KernelCall *call, const Local *local, DimRows *rows,
                           int64_t *start, Error *err)
{
    Local own = *local;
    int axis;
    *start = 0;
    if (!sums_parts(call))
        return axis_rows(call, local, 1, rows, err);
    if (!read_axis(call, local->shape.n_dims, 1, &axis, err))
        return false;
    own.whole = own.shape;
    for (int64_t d = 0; d < own.shape.n_dims; d++)
        own.runs[d] = runs_whole(call->scratch, own.shape.dim[d]);
    if (axis >= 0 && local->runs[axis].n > 0)
        *start = local->runs[axis].at[0].start;
    return axis_rows(call, &own, 1, rows, err);
}

/* From `in` to `out`; turned: the other way round. */
static bool cumulate_all(const KernelCall *call, const Local *in, Local *out, bool turned,
                         Error *err)
{
    const Graph *graph = kernel_graph(call);
    Cumulation c = {.product = call->kernel->row != NULL};
    int64_t in_start, out_start;
    if (shape_elements(&in->whole) != shape_elements(&out->whole))
        return error_kind(err, ERROR_RUN, "output and input shapes do not match");
    if (!cumulated_rows(call, in, &c.in, &in_start, err) ||
        !cumulated_rows(call, out, &c.out, &out_start, err))
        return false;
    if (c.in.n_rows != c.out.n_rows)
        return error_kind(err, ERROR_RUN, "output and input shapes do not match");
    c.reverse = (op_attr_int(graph, call->op, "reverse", 0) != 0) != turned;
    c.shift = out_start - in_start;
    if (op_attr_int(graph, call->op, "exclusive", 0) != 0)
        c.shift += c.reverse ? 1 : -1;
    for (int64_t row = 0; row < c.out.n_rows; row++)
        cumulate_row(in, out, &c, row);
    return true;
}

static bool cumulate(const KernelCall *call, Error *err)
{
    return kernel_numeric(call, 1, err) &&
           cumulate_all(call, call->input[0], call->output[0], false, err);
}

/* Each element was added to all sums behind it. */
static bool cumulate_back(const KernelCall *call, Error *err)
{
    return kernel_numeric(call, 1, err) &&
           cumulate_all(call, call->input[0], call->output[0], true, err);
}

/* Of a running product, element by element: the products behind it without it. Where it is not 0
 * they are the results divided by it. d, x, y, dx: rows in the order of the product. */
static void product_back(const double *d, const double *x, const double *y, double *dx, int64_t n,
                         bool exclusive)
{
    double behind = 0, before = 1;
    for (int64_t i = n - 1; i >= 0; i--) {
        behind += exclusive ? 0 : d[i] * y[i];
        dx[i] = x[i] == 0 ? 0 : behind / x[i];
        behind += exclusive ? d[i] * y[i] : 0;
    }
    for (int64_t i = 0; i < n; before *= x[i++]) {
        double product = before;
        for (int64_t k = i; k < n && x[i] == 0; k++) {
            product *= k == i ? 1 : x[k];
            if (k + exclusive < n)
                dx[i] += d[k + exclusive] * product;
        }
    }
}

/* Reads the gradient, the input, the axis and the result. */
static bool cumulate_product_back(const KernelCall *call, Error *err)
{
    const Graph *graph = kernel_graph(call);
    DimRows rows = {0};
    Local *made = call->output[0];
    if (!kernel_numeric(call, 2, err))
        return false;
    if (!kernel_input(call, 3))
        return error_kind(err, ERROR_RUN, "input 3 is absent");
    if (!axis_rows(call, made, 2, &rows, err))
        return false;
    static const int from[3] = {0, 1, 3}; /* gradient, input, result */
    bool exclusive = op_attr_int(graph, call->op, "exclusive", 0) != 0;
    bool reverse = op_attr_int(graph, call->op, "reverse", 0) != 0;
    double *row[4];
    for (int k = 0; k < 4; k++)
        row[k] = arena_array(call->scratch, double, rows.n);
    for (int64_t r = 0; r < rows.n_rows; r++) {
        for (int64_t i = 0; i < rows.n; i++)
            for (int k = 0; k < 3; k++)
                local_load(call->input[from[k]],
                           row_start(&rows, r) + (reverse ? rows.n - 1 - i : i) * rows.step, 1, 1,
                           NUMBER_F64, &row[k][i]);
        product_back(row[0], row[1], row[2], row[3], rows.n, exclusive);
        for (int64_t i = 0; i < rows.n; i++)
            local_store(made, row_start(&rows, r) + (reverse ? rows.n - 1 - i : i) * rows.step, 1,
                        NUMBER_F64, &row[3][i]);
    }
    return true;
}

/* An element to sort: its number and its place. */
typedef struct {
    double real;
    int64_t integer, place;
} Ranked;

/* Larger first, NaN before all, then by place. */
static int rank_down(const void *left, const void *right)
{
    const Ranked *a = left, *b = right;
    bool a_nan = a->real != a->real, b_nan = b->real != b->real;
    if (a_nan != b_nan)
        return a_nan ? -1 : 1;
    if (!a_nan && a->real != b->real)
        return a->real > b->real ? -1 : 1;
    if (a->integer != b->integer)
        return a->integer > b->integer ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

static int rank_up(const void *left, const void *right)
{
    const Ranked *a = left, *b = right;
    Ranked x = *a, y = *b;
    x.place = b->place;
    y.place = a->place;
    return rank_down(&y, &x);
}

static void rank_row(const Local *in, const DimRows *rows, int64_t start, bool largest, Ranked *out)
{
    bool is_float = dtype_is_float(in->dtype);
    for (int64_t i = 0; i < rows->n; i++) {
        const void *at = local_at(in, start + i * rows->step);
        out[i] = (Ranked){.place = i};
        elements_load(in->dtype, at, 1, 1, is_float ? NUMBER_F64 : NUMBER_I64,
                      is_float ? (void *)&out[i].real : (void *)&out[i].integer);
        integers_order(in->dtype, &out[i].integer, 1);
    }
    qsort(out, (size_t)rows->n, sizeof *out, largest ? rank_down : rank_up);
}

/* Always sorted; equal elements in their order. */
static bool top_k(const KernelCall *call, Error *err)
{
    const Graph *graph = kernel_graph(call);
    const Local *in = call->input[0];
    const Local *shaped = call->output[0] ? call->output[0] : call->output[1];
    int64_t axis;
    DimRows rows = {0};
    if (!kernel_numeric(call, 1, err) || !kernel_axis(call, -1, in->shape.n_dims, &axis, err) ||
        !kernel_rows(in, axis, &rows, err))
        return false;
    DimRows kept = rows;
    kept.n = shaped->shape.dim[axis];
    if (kept.n > rows.n || shape_elements(&shaped->shape) != rows.n_rows * kept.n)
        return error_kind(err, ERROR_RUN, "output and input shapes do not match");
    bool largest = op_attr_int(graph, call->op, "largest", 1) != 0;
    Ranked *ranked = arena_array(call->scratch, Ranked, rows.n);
    Picks picks =
        picks_new(call->scratch, &(Shape){.n_dims = 1, .dim = {shape_elements(&shaped->shape)}});
    for (int64_t row = 0; row < rows.n_rows; row++) {
        int64_t from = row_start(&rows, row), to = row_start(&kept, row);
        rank_row(in, &rows, from, largest, ranked);
        for (int64_t i = 0; i < kept.n; i++, to += kept.step) {
            picks.from[0][to] = from + ranked[i].place * rows.step;
            if (kernel_output(call, 1) && !call->sink)
                ((int64_t *)call->output[1]->data)[to] = ranked[i].place;
        }
    }
    if (call->output[0])
        kernel_pick(call, call->output[0], in, &picks);
    return true;
}

/* ---- ReverseSequence ---- */

/* Reverses the first elements of each row along the time axis, as many as the batch element's
 * length. */
static bool reverse_sequence(const KernelCall *call, Error *err)
{
    RuleCall rule = kernel_rule_call(call);
    int time, batch;
    DimRows rows = {0};
    if (!kernel_needs(call, 2, err) || !kernel_computes(call->input[1], err))
        return false;
    const Local *in = call->input[0], *lengths = call->input[1];
    Local *out = call->output[0];
    const Shape *shape = &in->shape;
    if (!args_axis(args_int(&rule, "time_axis", 0), shape->n_dims, &time, err) ||
        !args_axis(args_int(&rule, "batch_axis", 1), shape->n_dims, &batch, err) ||
        !kernel_rows(in, time, &rows, err))
        return false;
    if (!shape_equal(shape, &out->shape) || in->dtype != out->dtype ||
        shape_elements(&lengths->shape) != shape->dim[batch])
        return error_kind(err, ERROR_RUN, "operand shapes do not match");
    int64_t stride[DIMS_MAX], length;
    Picks picks = picks_new(call->scratch, &(Shape){.n_dims = 1, .dim = {shape_elements(shape)}});
    row_major_strides(shape, stride);
    for (int64_t row = 0; row < rows.n_rows; row++) {
        int64_t start = row_start(&rows, row);
        local_load(lengths, start / stride[batch] % shape->dim[batch], 1, 1, NUMBER_I64, &length);
        if (length < 0 || length > rows.n)
            return error_kind(err, ERROR_RUN,
                              "a sequence of %" PRId64 " is longer than the %" PRId64 " there are",
                              length, rows.n);
        for (int64_t i = 0; i < rows.n; i++)
            picks.from[0][start + i * rows.step] =
                start + (i < length ? length - 1 - i : i) * rows.step;
    }
    kernel_pick(call, out, in, &picks);
    return true;
}

const Kernel kernels_along[] = {
    {"ArgMax", arg_most, NULL, 0, ROUNDING_EXACT},
    {"ArgMin", arg_most, "least", 0, ROUNDING_EXACT},
    {"CumSum", cumulate, NULL, 0, ROUNDING_SUM},
    {"CumSumBackward", cumulate_back, NULL, 0, ROUNDING_SUM},
    {"CumProd", cumulate, "product", 0, ROUNDING_SENSITIVE},
    {"CumProdBackward", cumulate_product_back, NULL, 0, ROUNDING_SENSITIVE},
    {"TopK", top_k, NULL, 1, ROUNDING_EXACT},
    {"ReverseSequence", reverse_sequence, NULL, 0, ROUNDING_EXACT},
    {0},
};
