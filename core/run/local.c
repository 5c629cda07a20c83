#include "core/run/local.h"

#include <assert.h>
#include <stdlib.h>

static Local *make(Dtype dtype, const Shape *whole)
{
    Arena *arena = arena_new();
    Local *local = arena_make(arena, Local);
    *local = (Local){.arena = arena, .dtype = dtype, .whole = *whole};
    local->shape.n_dims = whole->n_dims;
    return local;
}

static Local *with_data(Local *local)
{
    int64_t n_bytes = local_bytes(local);
    local->data = arena_alloc(local->arena, (size_t)n_bytes);
    return local;
}

Local *local_new_empty(Dtype dtype, const Shape *whole, const Sharding *sharding, const Mesh *mesh,
                       int64_t position)
{
    Local *local = make(dtype, whole);
    for (int64_t d = 0; d < whole->n_dims; d++) {
        local->runs[d] = cut_runs(local->arena, &sharding->dim[d], mesh, position);
        local->shape.dim[d] = local->runs[d].local_size;
    }
    return local;
}

/* Uses calloc, since an arena aborts when memory is out. */
bool local_alloc(Local *local)
{
    size_t n_bytes = (size_t)local_bytes(local);
    local->own = calloc(1, n_bytes > 0 ? n_bytes : 1);
    local->data = local->own;
    return local->own != NULL;
}

Local *local_new(Dtype dtype, const Shape *whole, const Sharding *sharding, const Mesh *mesh,
                 int64_t position)
{
    return with_data(local_new_empty(dtype, whole, sharding, mesh, position));
}

Local *local_new_whole(Dtype dtype, const Shape *shape)
{
    Local *local = make(dtype, shape);
    Run *run = arena_array(local->arena, Run, DIMS_MAX);
    for (int64_t d = 0; d < shape->n_dims; d++) {
        run[d] = (Run){0, shape->dim[d]};
        local->runs[d] = (Runs){.n = shape->dim[d] > 0, .local_size = shape->dim[d], .at = &run[d]};
        local->shape.dim[d] = shape->dim[d];
    }
    return with_data(local);
}

void local_free(Local *local)
{
    if (!local)
        return;
    for (int i = 0; i < local->items.n; i++)
        local_free(local->items.at[i]);
    free(local->own);
    arena_free(local->arena);
}

/* ---- sequences and optionals ---- */

Local *local_new_sequence(Dtype dtype)
{
    Local *local = make(dtype, &(Shape){0});
    local->sequence = true;
    return local;
}

Local *local_new_nothing(Dtype dtype)
{
    Local *local = make(dtype, &(Shape){0});
    local->nothing = true;
    return local;
}

int64_t local_length(const Local *local)
{
    return local->nothing ? LIST_NOTHING : local->sequence ? local->items.n : LIST_TENSOR;
}

void local_append(Local *sequence, Local *item)
{
    assert(sequence->sequence);
    vec_push(sequence->arena, &sequence->items, item);
}

static bool copy_items(Local *to, const Local *from)
{
    for (int i = 0; i < from->items.n; i++) {
        Local *item = local_copy(from->items.at[i]);
        if (!item)
            return false;
        local_append(to, item);
    }
    return true;
}

static bool copy_elements(Local *to, const Local *from)
{
    for (int64_t d = 0; d < from->shape.n_dims; d++)
        to->runs[d] = runs_copy(to->arena, &from->runs[d]);
    to->shape = from->shape;
    if (!local_alloc(to))
        return false;
    memcpy(to->data, from->data, (size_t)local_bytes(from));
    return true;
}

Local *local_copy(const Local *from)
{
    Local *to = make(from->dtype, &from->whole);
    to->sequence = from->sequence;
    to->nothing = from->nothing;
    if (from->nothing || (from->sequence ? copy_items(to, from) : copy_elements(to, from)))
        return to;
    local_free(to);
    return NULL;
}

bool local_same_type(const Local *a, const Local *b)
{
    if (a->sequence != b->sequence || a->nothing != b->nothing || a->items.n != b->items.n)
        return false;
    for (int i = 0; i < a->items.n; i++)
        if (!local_same_type(a->items.at[i], b->items.at[i]))
            return false;
    bool typed = !a->nothing && (!a->sequence || a->items.n > 0);
    return (!typed || a->dtype == b->dtype) && shape_equal(&a->whole, &b->whole);
}

int64_t local_bytes(const Local *local)
{
    int64_t n_bytes = 0;
    for (int i = 0; i < local->items.n; i++)
        n_bytes += local_bytes(local->items.at[i]);
    if (local->sequence || local->nothing)
        return n_bytes;
    return shape_elements(&local->shape) * element_bytes(local->dtype);
}

Picks picks_new(Arena *arena, const Shape *target)
{
    Picks picks = {.arena = arena, .n_dims = (int)target->n_dims};
    for (int d = 0; d < picks.n_dims; d++) {
        picks.size[d] = target->dim[d];
        picks.from[d] = arena_array(arena, int64_t, target->dim[d]);
    }
    return picks;
}

void picks_match(Picks *picks, int d, const Runs *target, int64_t start, int64_t step,
                 const Runs *source, int64_t stride)
{
    int64_t i = 0;
    for (int r = 0; r < target->n; r++)
        for (int64_t k = 0; k < target->at[r].length; k++) {
            int64_t place = runs_find(source, start + step * (target->at[r].start + k));
            picks->from[d][i++] = place < 0 ? PICK_NONE : place * stride;
        }
    assert(i == picks->size[d]);
}

void picks_global(Picks *picks, int d, const Runs *target, int64_t stride)
{
    int64_t i = 0;
    for (int r = 0; r < target->n; r++)
        for (int64_t k = 0; k < target->at[r].length; k++)
            picks->from[d][i++] = (target->at[r].start + k) * stride;
    assert(i == picks->size[d]);
}

Picks picks_between(Arena *arena, const Local *to, const Local *from)
{
    Picks picks = picks_new(arena, &to->shape);
    int64_t stride[DIMS_MAX];
    row_major_strides(&from->shape, stride);
    for (int d = 0; d < picks.n_dims; d++)
        picks_match(&picks, d, &to->runs[d], 0, 1, &from->runs[d], stride[d]);
    return picks;
}

Picks picks_whole(Arena *arena, const Local *part)
{
    Picks picks = picks_new(arena, &part->shape);
    int64_t stride[DIMS_MAX] = {0};
    row_major_strides(&part->whole, stride);
    for (int d = 0; d < picks.n_dims; d++)
        picks_global(&picks, d, &part->runs[d], stride[d]);
    return picks;
}

int64_t picks_count(const Picks *picks)
{
    int64_t n = 1;
    for (int d = 0; d < picks->n_dims; d++) {
        int64_t n_here = 0;
        for (int64_t i = 0; i < picks->size[d]; i++)
            n_here += picks->from[d][i] != PICK_NONE;
        n *= n_here;
    }
    return n;
}

/* The places of the last dim as arithmetic sequences; a scalar is a sequence of one element. */
static int inner_stretches(const Picks *picks, const Stretch **out)
{
    static const int64_t zero = 0;
    int last = picks->n_dims - 1;
    const int64_t *from = last < 0 ? &zero : picks->from[last];
    int64_t size = last < 0 ? 1 : picks->size[last];
    Vec(Stretch) rows = {0};

    for (int64_t i = 0; i < size;) {
        if (from[i] == PICK_NONE) {
            i++;
            continue;
        }
        Stretch row = {i, from[i], 1, 1};
        if (i + 1 < size && from[i + 1] != PICK_NONE)
            row.step = from[i + 1] - from[i];
        while (i + row.n < size && from[i + row.n] == row.from + row.n * row.step)
            row.n++;
        i += row.n;
        vec_push(picks->arena, &rows, row);
    }
    *out = rows.at;
    return rows.n;
}

/* Sets base and row from the outer coordinates. */
static void outer_place(PickScan *scan)
{
    scan->base = 0;
    int64_t row = 0;
    int last = scan->picks->n_dims - 1;
    for (int d = 0; d < last; d++) {
        int64_t from = scan->picks->from[d][scan->at[d]];
        scan->base = from == PICK_NONE || scan->base == PICK_NONE ? PICK_NONE : scan->base + from;
        row = row * scan->picks->size[d] + scan->at[d];
    }
    scan->row = last < 0 ? 0 : row * scan->picks->size[last];
    scan->next = scan->base == PICK_NONE ? scan->n_inner : 0;
}

static void outer_advance(PickScan *scan)
{
    int d = scan->picks->n_dims - 2;
    while (d >= 0 && ++scan->at[d] == scan->picks->size[d])
        scan->at[d--] = 0;
    scan->end = d < 0;
    if (!scan->end)
        outer_place(scan);
}

PickScan picks_scan(const Picks *picks)
{
    PickScan scan = {.picks = picks};
    for (int d = 0; d < picks->n_dims; d++)
        if (picks->size[d] == 0)
            scan.end = true;
    if (!scan.end) {
        scan.n_inner = inner_stretches(picks, &scan.inner);
        scan.end = scan.n_inner == 0;
        outer_place(&scan);
    }
    return scan;
}

bool picks_next(PickScan *scan, Stretch *out)
{
    while (!scan->end && scan->next == scan->n_inner)
        outer_advance(scan);
    if (scan->end)
        return false;
    *out = scan->inner[scan->next++];
    out->to += scan->row;
    out->from += scan->base;
    return true;
}

int64_t local_pick(Local *to, const Local *from, const Picks *picks)
{
    assert(to->dtype == from->dtype);
    int64_t n = 0;
    Stretch stretch;
    for (PickScan scan = picks_scan(picks); picks_next(&scan, &stretch); n += stretch.n)
        elements_copy(to->dtype, local_at(to, stretch.to), local_at(from, stretch.from),
                      stretch.step, stretch.n);
    return n;
}
