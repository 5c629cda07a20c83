#include "core/peers/torch/family.h"

#include <assert.h>

/* ---- making ---- */

void strategy_rows_begin(const StrategyCall *call, int n_outputs, StrategyRows *rows)
{
    rows->arena = call->arena;
    rows->n_outputs = n_outputs;
    rows->n_inputs = call->n_inputs;
}

StrategyCell *strategy_row(StrategyRows *rows)
{
    StrategyCell *row = arena_array(rows->arena, StrategyCell, rows->n_outputs + rows->n_inputs);
    vec_push(rows->arena, &rows->row, row);
    return row;
}

StrategyCell cell_shard(int64_t dim)
{
    return (StrategyCell){CELL_ANY_SHARD, {.kind = PLACE_SHARD, .dim = (int)dim, .factor = 1}};
}

StrategyCell cell_plain_shard(int64_t dim)
{
    return (StrategyCell){CELL_FIXED, {.kind = PLACE_SHARD, .dim = (int)dim, .factor = 1}};
}

StrategyCell cell_partial(ReduceOp reduce)
{
    return (StrategyCell){CELL_FIXED, {.kind = PLACE_PARTIAL, .factor = 1, .reduce = reduce}};
}

StrategyCell cell_none(void)
{
    return (StrategyCell){.kind = CELL_NONE};
}

void strategy_rows_pass(StrategyRows *rows, unsigned reduces)
{
    static const ReduceOp order[] = {REDUCE_SUM, REDUCE_AVG, REDUCE_MIN, REDUCE_MAX};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        if (!(reduces & 1u << order[i]))
            continue;
        StrategyCell *row = strategy_row(rows);
        for (int t = 0; t < rows->n_outputs + rows->n_inputs; t++)
            row[t] = cell_partial(order[i]);
    }
}

/* ---- text: "s(1), s(0) -> P(sum)" ---- */

static bool scan_cell(Scan *scan, StrategyCell *out)
{
    *out = (StrategyCell){0};
    if (scan_accept(scan, '-')) {
        *out = cell_none();
        return true;
    }
    int64_t dim;
    if (!scan_accept_text(scan, STR("s(")))
        return placement_scan(scan, DIMS_MAX, &out->placement);
    if (!scan_int(scan, &dim) || !scan_char(scan, ')'))
        return false;
    if (dim < 0 || dim >= DIMS_MAX)
        return scan_fail(scan, "a dim must be 0 to %d", DIMS_MAX - 1);
    *out = cell_shard(dim);
    return true;
}

typedef struct {
    Vec(StrategyCell) in, out;
} RowText;

/* row = cell { "," cell } "->" cell { "," cell } */
static bool scan_row(Arena *arena, Scan *scan, RowText *out)
{
    StrategyCell cell;
    do {
        if (!scan_cell(scan, &cell))
            return false;
        vec_push(arena, &out->in, cell);
    } while (scan_accept(scan, ','));
    if (!scan_char(scan, '-') || !scan_char(scan, '>'))
        return false;
    do {
        if (!scan_cell(scan, &cell))
            return false;
        vec_push(arena, &out->out, cell);
    } while (scan_accept(scan, ','));
    return true;
}

static void add_text_row(StrategyRows *rows, const RowText *text)
{
    StrategyCell *row = strategy_row(rows);
    for (int i = 0; i < text->out.n; i++)
        *row_output(row, i) = text->out.at[i];
    for (int i = 0; i < text->in.n; i++)
        *row_input(rows, row, i) = text->in.at[i];
}

bool strategy_row_read(StrategyRows *rows, const Source *source, Error *err)
{
    Scan scan = scan_begin(source, err);
    RowText text = {0};
    if (!scan_row(rows->arena, &scan, &text) || !scan_end(&scan))
        return false;
    if (text.in.n != rows->n_inputs || text.out.n != rows->n_outputs)
        return error_kind(err, ERROR_RANK, "a row of this op has %d inputs and %d outputs",
                          rows->n_inputs, rows->n_outputs);
    add_text_row(rows, &text);
    return true;
}

void strategy_rows_text(StrategyRows *rows, const char *text)
{
    if (!text)
        return;
    Error err = {0};
    Source source = {"rows", str_from(text)};
    Scan scan = scan_begin(&source, &err);
    do {
        RowText row = {0};
        bool read = scan_row(rows->arena, &scan, &row);
        assert(read);
        if (row.in.n == rows->n_inputs && row.out.n == rows->n_outputs)
            add_text_row(rows, &row);
    } while (scan_accept(&scan, ';'));
}

static void format_cell(const StrategyCell *cell, Buf *out)
{
    if (cell->kind == CELL_NONE)
        buf_putc(out, '-');
    else if (cell->kind == CELL_ANY_SHARD)
        buf_printf(out, "s(%d)", cell->placement.dim);
    else
        placement_format(&cell->placement, false, out);
}

void strategy_row_format(const StrategyRows *rows, const StrategyCell *row, Buf *out)
{
    for (int i = 0; i < rows->n_inputs; i++) {
        buf_puts(out, i ? "," : "");
        format_cell(&row[rows->n_outputs + i], out);
    }
    buf_puts(out, " -> ");
    for (int i = 0; i < rows->n_outputs; i++) {
        buf_puts(out, i ? "," : "");
        format_cell(&row[i], out);
    }
}

/* ---- from index spaces ---- */

OpSpace *strategy_space(const StrategyCall *call, int n_outputs)
{
    OpSpace *space = opspace_new(call->arena, call->n_inputs, n_outputs);
    for (int i = 0; i < call->n_inputs; i++)
        space->operand[i].absent = call->input[i].shape.n_dims < 0;
    for (int i = 0; i < call->n_inputs + n_outputs; i++)
        space->operand[i].projection.n_dims = DIMS_MAX;
    return space;
}

int strategy_index(OpSpace *space, int64_t size, ReduceOp reduce)
{
    return opspace_add_index(space, "i", size, reduce ? ROLE_REDUCE : ROLE_MAP, reduce);
}

void strategy_unit(OpSpace *space, int operand, int dim, int index)
{
    if (index >= 0 && !space->operand[operand].absent)
        row_unit(&space->operand[operand].projection.row[dim], index);
}

/* The dim of the operand that contains the index dim, and the number of pieces of its shard; -1 if
 * there is none or no placement expresses it. */
static int dim_of_index(const OpSpace *space, const Operand *operand, int index, int64_t *pieces)
{
    for (int d = 0; d < operand->projection.n_dims; d++) {
        const Row *row = &operand->projection.row[d];
        if (row->coef[index] <= 0 || row->window != 1 || row->offset != 0 || row->divisor > 1)
            continue;
        *pieces = 1;
        for (int i = 0; i < space->n_index; i++)
            if (row->coef[i] > row->coef[index])
                *pieces *= space->index[i].size;
        return d;
    }
    return -1;
}

static StrategyCell cell_of(const OpSpace *space, const Operand *operand, int index, bool output)
{
    int64_t pieces = 1;
    int dim =
        operand->absent || operand->ignored ? -1 : dim_of_index(space, operand, index, &pieces);
    if (dim >= 0 && pieces == 1)
        return cell_shard(dim);
    if (dim >= 0)
        return (StrategyCell){CELL_FIXED, {PLACE_STRIDED, dim, pieces, REDUCE_NONE}};
    if (output && space->index[index].role == ROLE_REDUCE)
        return cell_partial(space->index[index].reduce);
    return (StrategyCell){0};
}

void strategy_rows_of_space(const OpSpace *space, StrategyRows *rows)
{
    for (int index = 0; index < space->n_index; index++) {
        if (space->index[index].role == ROLE_FROZEN)
            continue;
        StrategyCell *row = strategy_row(rows);
        for (int i = 0; i < rows->n_outputs; i++)
            row[i] = cell_of(space, opspace_output(space, i), index, true);
        for (int i = 0; i < rows->n_inputs; i++)
            *row_input(rows, row, i) = cell_of(space, &space->operand[i], index, false);
    }
}

static void add_linear(const OpSpace *space, StrategyRows *rows, int input, ReduceOp reduce)
{
    StrategyCell *row = strategy_row(rows);
    for (int i = 0; i < rows->n_outputs; i++)
        row[i] = cell_partial(reduce);
    for (int i = 0; i < rows->n_inputs; i++)
        if (i == input || (input < 0 && space->operand[i].linear == LINEAR_TOGETHER))
            *row_input(rows, row, i) = cell_partial(reduce);
}

void strategy_rows_linear(const OpSpace *space, StrategyRows *rows)
{
    for (ReduceOp reduce = REDUCE_SUM; reduce <= REDUCE_AVG; reduce++) {
        bool together = false;
        for (int i = 0; i < rows->n_inputs; i++) {
            if (space->operand[i].linear == LINEAR_ALONE)
                add_linear(space, rows, i, reduce);
            together |= space->operand[i].linear == LINEAR_TOGETHER;
        }
        if (together)
            add_linear(space, rows, -1, reduce);
    }
}

void strategy_rows_dims(const StrategyCall *call, unsigned active, ReduceOp reduce, bool removes,
                        StrategyRows *rows)
{
    const Shape *shape = strategy_shape_of(call, 0);
    OpSpace *space = strategy_space(call, rows->n_outputs);
    int out_dim = 0;
    for (int d = 0; d < shape->n_dims; d++) {
        bool is_active = active & 1u << d;
        int index = strategy_index(space, shape->dim[d], is_active ? reduce : REDUCE_NONE);
        if (is_active && reduce == REDUCE_NONE)
            space->index[index].role = ROLE_FROZEN;
        for (int i = 0; i < call->n_inputs; i++)
            strategy_unit(space, i, d, index);
        if (is_active && (removes || reduce != REDUCE_NONE)) {
            out_dim += !removes;
            continue;
        }
        for (int i = 0; i < rows->n_outputs; i++)
            strategy_unit(space, strategy_output(space, i), out_dim, index);
        out_dim++;
    }
    strategy_rows_of_space(space, rows);
}

/* ---- attributes ---- */

bool strategy_need(const StrategyCall *call, int n, Error *err)
{
    for (int i = 0; i < n; i++)
        if (!strategy_has_input(call, i))
            return error_set(err, "%s needs %d tensors", call->op, n);
    return true;
}

int64_t strategy_int(const StrategyCall *call, const char *name, int64_t fallback)
{
    return op_attr_int(call->graph, call->graph_op, name, fallback);
}

double strategy_number(const StrategyCall *call, const char *name, double fallback)
{
    const Attr *attr = op_attr(call->graph, call->graph_op, name);
    if (attr && attr->type == ATTR_INT)
        return (double)attr->i;
    return attr && attr->type == ATTR_FLOAT ? attr->f : fallback;
}

const int64_t *strategy_ints(const StrategyCall *call, const char *name, int *n)
{
    const Attr *attr = op_attr(call->graph, call->graph_op, name);
    bool is_list = attr && attr->type == ATTR_INTS;
    *n = is_list ? attr->n : 0;
    return is_list ? attr->ints : NULL;
}

static bool normalize_dim(const StrategyCall *call, int64_t n_dims, int64_t *dim, Error *err)
{
    if (n_dims == 0 && (*dim == 0 || *dim == -1)) {
        *dim = 0;
        return true;
    }
    if (*dim < -n_dims || *dim >= n_dims)
        return error_kind(err, ERROR_OUT_OF_RANGE, "%s: no dim %lld in a tensor of %lld", call->op,
                          (long long)*dim, (long long)n_dims);
    *dim += *dim < 0 ? n_dims : 0;
    return true;
}

bool strategy_dim(const StrategyCall *call, const char *name, int64_t n_dims, int64_t fallback,
                  int64_t *out, Error *err)
{
    *out = strategy_int(call, name, fallback);
    return normalize_dim(call, n_dims, out, err);
}

bool strategy_dims(const StrategyCall *call, const char *name, int64_t n_dims, unsigned *out,
                   Error *err)
{
    const Attr *attr = op_attr(call->graph, call->graph_op, name);
    *out = ~0u;
    if (!attr || (attr->type != ATTR_INT && attr->type != ATTR_INTS))
        return true;
    int n = attr->type == ATTR_INT ? 1 : attr->n;
    const int64_t *dims = attr->type == ATTR_INT ? &attr->i : attr->ints;
    *out = 0;
    for (int i = 0; i < n; i++) {
        int64_t dim = dims[i];
        if (!normalize_dim(call, n_dims, &dim, err))
            return false;
        *out |= 1u << dim;
    }
    return true;
}
