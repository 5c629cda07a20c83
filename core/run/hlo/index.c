/* index.c - gather and scatter in their general form, sort.
 *
 * Dims are global: where a cut dim has no place for an index here, another rank has it. Source: the
 * StableHLO specification, gather and scatter.
 */
#include "core/run/hlo/scalar.h"

#include <stdlib.h>

typedef struct {
    int n;
    const int64_t *at;
} IndexList;

static IndexList list_of(const KernelCall *call, const char *name)
{
    const Attr *attr = op_attr(kernel_graph(call), call->op, name);
    bool list = attr && attr->type == ATTR_INTS;
    return (IndexList){list ? attr->n : 0, list ? attr->ints : NULL};
}

static int place_in(IndexList list, int64_t item)
{
    int n = list.n;
    while (n > 0 && list.at[n - 1] != item)
        n--;
    return n - 1;
}

/* How indices and windows lie in the operand, and in the other side: gather's result, scatter's
 * updates. */
typedef struct {
    const Local *operand, *indices, *side;
    IndexList window;    /* dims of the side that are of the window */
    IndexList collapsed; /* dims of the operand that the window lacks */
    IndexList map;       /* dims of the operand that an index vector moves along */
    IndexList operand_batch, index_batch;
    int64_t vector; /* the dim of the indices that holds a vector; their rank: each is one */
    int64_t index_stride[DIMS_MAX], operand_stride[DIMS_MAX];
    const int64_t *global[DIMS_MAX]; /* of the side's places */
} Indexing;

static bool open_indexing(const KernelCall *call, const char *const names[5], const Local *operand,
                          const Local *indices, const Local *side, Indexing *x, Error *err)
{
    *x = (Indexing){.operand = operand, .indices = indices, .side = side};
    IndexList *const lists[] = {&x->window, &x->collapsed, &x->map, &x->operand_batch,
                                &x->index_batch};
    for (int i = 0; i < 5; i++)
        *lists[i] = list_of(call, names[i]);
    x->vector = op_attr_int(kernel_graph(call), call->op, "index_vector_dim", 0);
    row_major_strides(&indices->shape, x->index_stride);
    row_major_strides(&operand->shape, x->operand_stride);
    for (int d = 0; d < side->shape.n_dims; d++)
        x->global[d] = kernel_globals(call->scratch, &side->runs[d]);
    int64_t n_window = operand->shape.n_dims - x->collapsed.n - x->operand_batch.n;
    bool fits = x->vector >= 0 && x->vector <= indices->shape.n_dims && n_window == x->window.n &&
                side->shape.n_dims - x->window.n ==
                    indices->shape.n_dims - (x->vector < indices->shape.n_dims);
    for (int i = 0; i < x->map.n; i++)
        fits &= x->map.at[i] >= 0 && x->map.at[i] < operand->shape.n_dims;
    if (x->vector < indices->shape.n_dims && indices->shape.dim[x->vector] != x->map.n)
        fits = false;
    return fits || error_kind(err, ERROR_RUN, "its dimension numbers do not fit its operands");
}

/* Element i of the side: its coordinates; those of its index vector among the indices, and the
 * place of its first number, -1 if it is on another rank. */
static int64_t vector_place(const Indexing *x, int64_t i, int64_t at[DIMS_MAX],
                            int64_t batch[DIMS_MAX])
{
    const Shape *shape = &x->side->shape;
    int64_t place = 0, d = 0;
    for (int64_t k = shape->n_dims - 1; k >= 0; i /= shape->dim[k--])
        at[k] = x->global[k][i % shape->dim[k]];
    for (int64_t k = 0; k < shape->n_dims; k++) {
        if (place_in(x->window, k) >= 0)
            continue;
        d += d == x->vector;
        int64_t local = runs_find(&x->indices->runs[d], at[k]);
        if (local < 0)
            return -1;
        batch[d] = at[k];
        place += local * x->index_stride[d];
        d++;
    }
    return place;
}

/* Where the window of an index vector begins in each dim of the operand. */
static void window_start(const Indexing *x, int64_t vector, const int64_t batch[DIMS_MAX],
                         int64_t start[DIMS_MAX])
{
    int64_t step = x->vector < x->indices->shape.n_dims ? x->index_stride[x->vector] : 0;
    for (int64_t d = 0; d < x->operand->shape.n_dims; d++)
        start[d] = 0;
    for (int i = 0; i < x->map.n; i++)
        local_load(x->indices, vector + i * step, 1, 1, NUMBER_I64, &start[x->map.at[i]]);
    for (int i = 0; i < x->operand_batch.n && i < x->index_batch.n; i++)
        start[x->operand_batch.at[i]] = batch[x->index_batch.at[i]];
}

/* Adds the coordinate inside of the window to each dim of the operand. */
static void add_window(const Indexing *x, const int64_t at[DIMS_MAX], int64_t start[DIMS_MAX])
{
    int w = 0;
    for (int64_t d = 0; d < x->operand->shape.n_dims && w < x->window.n; d++)
        if (place_in(x->collapsed, d) < 0 && place_in(x->operand_batch, d) < 0)
            start[d] += at[x->window.at[w++]];
}

/* The place of global coordinates in a part like the operand; -1: it is elsewhere. */
static int64_t operand_place(const Indexing *x, const int64_t start[DIMS_MAX])
{
    int64_t place = 0;
    for (int64_t d = 0; d < x->operand->shape.n_dims; d++) {
        int64_t local = start[d] < 0 || start[d] >= x->operand->whole.dim[d]
                            ? -1
                            : runs_find(&x->operand->runs[d], start[d]);
        if (local < 0)
            return -1;
        place += local * x->operand_stride[d];
    }
    return place;
}

static bool gather(const KernelCall *call, Error *err)
{
    static const char *const names[] = {"offset_dims", "collapsed_slice_dims", "start_index_map",
                                        "operand_batching_dims", "start_indices_batching_dims"};
    Indexing x;
    if (!kernel_needs(call, 2, err) ||
        !open_indexing(call, names, call->input[0], call->input[1], call->output[0], &x, err))
        return false;
    IndexList sizes = list_of(call, "slice_sizes");
    if (!kernel_takes_terms(call, err))
        return false;
    Local *out = call->output[0];
    int64_t at[DIMS_MAX] = {0}, batch[DIMS_MAX] = {0}, start[DIMS_MAX];
    if (sizes.n != x.operand->shape.n_dims || out->dtype != x.operand->dtype)
        return error_kind(err, ERROR_RUN, "its slice_sizes do not fit its operand");
    for (int64_t i = 0; i < shape_elements(&out->shape); i++) {
        int64_t vector = vector_place(&x, i, at, batch);
        if (vector < 0)
            return error_kind(err, ERROR_RUN, "an index is on another rank");
        window_start(&x, vector, batch, start);
        for (int d = 0; d < sizes.n; d++) { /* moved so that the window is inside */
            int64_t most = x.operand->whole.dim[d] - sizes.at[d];
            start[d] = start[d] > most ? most : start[d];
            start[d] = start[d] < 0 ? 0 : start[d];
        }
        add_window(&x, at, start);
        int64_t place = operand_place(&x, start);
        if (place < 0 && call->reduce_cut) /* another rank's addend has it */
            continue;
        if (place < 0)
            return error_kind(err, ERROR_RUN, "an element is on another rank");
        if (call->sink)
            kernel_term(call, out, i, x.operand, place, 1);
        else
            elements_copy(out->dtype, local_at(out, i), local_at(x.operand, place), 1, 1);
    }
    return true;
}

/* Where update i goes in the result; -1: outside of it, or to another rank. -2: an index is on
 * another rank. */
static int64_t update_place(const Indexing *x, int64_t i)
{
    int64_t at[DIMS_MAX] = {0}, batch[DIMS_MAX] = {0}, start[DIMS_MAX];
    int64_t vector = vector_place(x, i, at, batch);
    if (vector < 0)
        return -2;
    window_start(x, vector, batch, start);
    add_window(x, at, start);
    return operand_place(x, start);
}

/* What the elements of a scattered result are made of: the operand's where nothing replaces it, and
 * updates: the last one, where they replace, all of them where they add. */
static bool scatter_terms(const KernelCall *call, const Indexing *x, RegionKind kind, Error *err)
{
    const Local *out = call->output[0];
    int64_t n = shape_elements(&out->shape), n_updates = shape_elements(&x->side->shape);
    int64_t *last = arena_array(call->scratch, int64_t, n);
    if (kind != REGION_REPLACES && kind != REGION_ADDS)
        return error_kind(err, ERROR_RUN, "the derivative of its region is not known");
    for (int64_t i = 0; i < n_updates; i++) {
        int64_t place = update_place(x, i);
        if (place == -2)
            return error_kind(err, ERROR_RUN, "an index is on another rank");
        if (place >= 0 && kind == REGION_ADDS)
            kernel_term(call, out, place, x->side, i, 1);
        else if (place >= 0)
            last[place] = i + 1;
    }
    for (int64_t i = 0; i < n; i++)
        if (last[i])
            kernel_term(call, out, i, x->side, last[i] - 1, 1);
        else if (call->first) /* the operand is added once */
            kernel_term(call, out, i, call->input[0], i, 1);
    return true;
}

static bool scatter(const KernelCall *call, Error *err)
{
    static const char *const names[] = {"update_window_dims", "inserted_window_dims",
                                        "scatter_dims_to_operand_dims", "input_batching_dims",
                                        "scatter_indices_batching_dims"};
    Indexing x;
    if (call->n_outputs != 1)
        return error_kind(err, ERROR_RUN, "it scatters several operands");
    if (!kernel_needs(call, 3, err) ||
        !open_indexing(call, names, call->output[0], call->input[1], call->input[2], &x, err))
        return false;
    Local *out = call->output[0];
    const Dtype types[2] = {out->dtype, out->dtype};
    const ScalarCode *code;
    if (!kernel_computes(out, err) || !scalar_code_read(call, types, 2, &code, err))
        return false;
    if (call->sink)
        return kernel_takes_terms(call, err) &&
               scatter_terms(call, &x, scalar_code_kind(call, code), err);
    bool adds = scalar_code_kind(call, code) == REGION_ADDS; /* the operand, once */
    if (call->first || !call->reduce_cut || !adds)
        elements_copy(out->dtype, out->data, call->input[0]->data, 1, shape_elements(&out->shape));
    for (int64_t i = 0; i < shape_elements(&x.side->shape); i++) {
        int64_t place = update_place(&x, i);
        if (place == -2)
            return error_kind(err, ERROR_RUN, "an index is on another rank");
        if (place < 0) /* it is dropped */
            continue;
        Scalar args[2] = {scalar_load(out, place), scalar_load(x.side, i)};
        scalar_code_run(code, args, args);
        scalar_store(out, place, args[0]);
    }
    return true;
}

/* ---- sort ---- */

typedef struct {
    const KernelCall *call;
    const ScalarCode *code;
    int64_t base, step; /* of the row */
    Scalar *args;
} Sorting;

static bool comes_before(const Sorting *s, int64_t a, int64_t b)
{
    for (int k = 0; k < s->call->n_inputs; k++) {
        s->args[2 * k] = scalar_load(s->call->input[k], s->base + a * s->step);
        s->args[2 * k + 1] = scalar_load(s->call->input[k], s->base + b * s->step);
    }
    Scalar before;
    scalar_code_run(s->code, s->args, s->args);
    before = s->args[0];
    return before.whole != 0;
}

/* Merges sorted halves, equal ones in their order. */
static void merge_sort(const Sorting *s, int64_t *order, int64_t *room, int64_t n)
{
    for (int64_t width = 1; width < n; width *= 2) {
        for (int64_t from = 0; from < n; from += 2 * width) {
            int64_t middle = from + width < n ? from + width : n;
            int64_t end = from + 2 * width < n ? from + 2 * width : n;
            for (int64_t i = from, a = from, b = middle; i < end; i++) {
                bool right = a == middle || (b < end && comes_before(s, order[b], order[a]));
                room[i] = right ? order[b++] : order[a++];
            }
        }
        memcpy(order, room, (size_t)n * sizeof *order);
    }
}

static void put_sorted(const KernelCall *call, int k, int64_t to, int64_t from)
{
    if (call->sink)
        kernel_term(call, call->output[k], to, call->input[k], from, 1);
    else
        elements_copy(call->input[k]->dtype, local_at(call->output[k], to),
                      local_at(call->input[k], from), 1, 1);
}

static bool sort(const KernelCall *call, Error *err)
{
    int n = call->n_inputs;
    if (!kernel_needs(call, n, err) || n == 0 || n != call->n_outputs)
        return error_kind(err, ERROR_RUN, "it has as many results as operands");
    if (!kernel_takes_terms(call, err))
        return false;
    Arena *arena = call->scratch;
    int64_t axis = op_attr_int(kernel_graph(call), call->op, "dimension", -1);
    axis += axis < 0 ? call->input[0]->shape.n_dims : 0;
    Sorting s = {.call = call, .args = arena_array(arena, Scalar, 2 * n)};
    Dtype *types = arena_array(arena, Dtype, 2 * n);
    DimRows rows;
    for (int k = 0; k < 2 * n; k++)
        types[k] = call->input[k / 2]->dtype;
    if (!scalar_code_read(call, types, 2 * n, &s.code, err) ||
        !kernel_rows(call->input[0], axis, &rows, err))
        return false;
    s.step = rows.step;
    int64_t *order = arena_array(arena, int64_t, rows.n),
            *room = arena_array(arena, int64_t, rows.n);
    for (int64_t row = 0; row < rows.n_rows; row++) {
        s.base = row / rows.step * rows.step * rows.n + row % rows.step;
        for (int64_t i = 0; i < rows.n; i++)
            order[i] = i;
        merge_sort(&s, order, room, rows.n);
        for (int64_t i = 0; i < rows.n; i++)
            for (int k = 0; k < n; k++)
                put_sorted(call, k, s.base + i * s.step, s.base + order[i] * s.step);
    }
    return true;
}

const Kernel kernels_hlo_index[] = {
    {"stablehlo.gather", gather, NULL, 0, ROUNDING_EXACT},
    {"stablehlo.scatter", scatter, NULL, 0, ROUNDING_SUM},
    {"stablehlo.sort", sort, NULL, 0, ROUNDING_EXACT},
    {0},
};
