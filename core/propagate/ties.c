#include "core/propagate/ties.h"

#include "core/base/intern.h"
#include "core/space/dim_part.h"

#include <stdlib.h>

/* A Slice that reads a part of a dim. */
typedef struct {
    int32_t op, tensor; /* what it makes */
    int64_t start, end;
} SlicePart;

typedef struct {
    Arena *arena;
    const Inferred *inferred;
    Intern *space_ids;
    Vec(bool) valid; /* per space: its rows are those of an op */
    Vec(SlicePart) parts;
    Ties ties;
} TieFinder;

static const char *const dim_names[] = {"d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8", "d9"};
_Static_assert(sizeof dim_names / sizeof *dim_names == DIMS_MAX, "each dim has a name");

/* ---- the index space of a tie ---- */

/* An index dim for each dim other than `axis` that all operands have in one size. */
static void share_dims(OpSpace *space, int axis)
{
    int n = space->n_inputs + space->n_outputs;
    const Shape *first = &space->operand[0].shape;
    for (int d = 0; d < first->n_dims; d++) {
        bool shared = d != axis;
        for (int o = 1; o < n; o++) {
            const Shape *other = &space->operand[o].shape;
            shared &= d < other->n_dims && other->dim[d] == first->dim[d];
        }
        if (!shared)
            continue;
        int index = opspace_add_index(space, dim_names[d], first->dim[d], ROLE_MAP, REDUCE_NONE);
        for (int o = 0; o < n; o++)
            row_unit(&space->operand[o].projection.row[d], index);
    }
}

/* Outputs are the parts of `axis`, as in Split (core/rules/operators/shape.c). */
static void divide_axis(OpSpace *space, int axis)
{
    Row *whole = &space->operand[0].projection.row[axis];
    int64_t first = opspace_output(space, 0)->shape.dim[axis], start = 0;
    bool equal = true;
    for (int o = 1; o < space->n_outputs; o++)
        equal &= opspace_output(space, o)->shape.dim[axis] == first;
    int index[2] = {opspace_add_index(space, equal ? "p" : "n",
                                      equal ? space->n_outputs : space->operand[0].shape.dim[axis],
                                      ROLE_FROZEN, REDUCE_NONE)};
    if (equal) {
        index[1] = opspace_add_index(space, "j", first, ROLE_MAP, REDUCE_NONE);
        row_radix(whole, space, index, 2);
    } else {
        row_unit(whole, index[0]);
    }
    for (int o = 1; o <= space->n_outputs; o++) {
        Projection *part = &space->operand[o].projection;
        row_unit(&part->row[axis], index[equal]);
        part->row[axis].offset = equal ? 0 : -start;
        part->clip = !equal;
        start += space->operand[o].shape.dim[axis];
    }
}

static OpSpace *make_space(TieFinder *f, const int32_t *tensors, int n, int axis)
{
    OpSpace *space = opspace_new(f->arena, 1, n - 1);
    space->id = f->inferred->n_spaces + f->ties.spaces.n;
    space->early = true;
    for (int o = 0; o < n; o++) {
        Operand *operand = &space->operand[o];
        operand->shape = *program_shape(f->inferred, tensors[o]);
        operand->projection.n_dims = (uint8_t)operand->shape.n_dims;
        for (int d = 0; d < operand->shape.n_dims; d++)
            row_whole(&operand->projection.row[d], operand->shape.dim[d]);
    }
    share_dims(space, axis);
    if (axis >= 0)
        divide_axis(space, axis);
    return space;
}

/* Adds a tie of the first tensor with the others, which are its parts along `axis`; -1: it has no
 * parts. Ties of equal shapes have one space. */
static void add_tie(TieFinder *f, const int32_t *tensors, int n, int axis, bool on_parameters)
{
    int32_t *key = arena_array(f->arena, int32_t, n + 1);
    key[0] = axis;
    for (int o = 0; o < n; o++)
        key[1 + o] = f->inferred->shape[tensors[o]];
    int32_t id = intern_put(f->space_ids, key, (size_t)(n + 1) * sizeof *key);
    if (id == f->ties.spaces.n) {
        OpSpace *space = make_space(f, tensors, n, axis);
        vec_push(f->arena, &f->ties.spaces, space);
        vec_push(f->arena, &f->valid, opspace_finish(space, NULL));
    }
    if (!f->valid.at[id])
        return;
    Tie tie = {f->inferred->n_spaces + id, f->ties.tensors.n, n - 1, on_parameters};
    vec_push(f->arena, &f->ties.ties, tie);
    for (int o = 0; o < n; o++)
        vec_push(f->arena, &f->ties.tensors, tensors[o]);
}

/* ---- Slices of one tensor ---- */

/* The dim of which ops of this space read a part while they keep all others: of Slice along one
 * dim, in steps of 1; else -1. */
static int sliced_dim(const OpSpace *space)
{
    int found = -1;
    if (space->no_rule || space->n_inputs < 1 || space->n_outputs != 1)
        return -1;
    const Operand *from = &space->operand[0], *to = opspace_output(space, 0);
    if (from->shape.n_dims != to->shape.n_dims || from->absent || from->ignored)
        return -1;
    for (int d = 0; d < from->shape.n_dims; d++) {
        DimPart part;
        bool is_part = dim_part(space, 0, d, &part) && !part.of_index;
        const DimFactors *made = &to->factors[d], *read = &from->factors[d];
        if ((is_part && found >= 0) || made->n != 1 || !made->exact || read->n != 1 ||
            made->index[0] != read->index[0] || (!is_part && !read->exact))
            return -1;
        found = is_part ? d : found;
    }
    return found;
}

static int compare_parts(const void *a, const void *b)
{
    const SlicePart *x = a, *y = b;
    return x->start != y->start ? (x->start > y->start) - (x->start < y->start)
                                : (x->op > y->op) - (x->op < y->op);
}

/* Ties a tensor to the Slices of it along `axis` if together they are all of it. Of Slices of the
 * same part the first counts. */
static void tie_slices(TieFinder *f, int32_t tensor, int axis, const int8_t *sliced)
{
    const Inferred *inferred = f->inferred;
    const Graph *graph = inferred->graph;
    f->parts.n = 0;
    for (int32_t u = graph->tensors[tensor].use; u < graph->tensors[tensor + 1].use; u++) {
        int32_t op = graph->uses[u], space = inferred->space[op];
        DimPart part;
        if (space < 0 || sliced[space] != axis ||
            graph->operands[graph->ops[op].input + 0] != tensor ||
            !dim_part(inferred->spaces[space], 0, axis, &part))
            continue;
        int32_t made = graph->operands[graph->ops[op].input + inferred->spaces[space]->n_inputs];
        vec_push(f->arena, &f->parts, (SlicePart){op, made, part.start, part.end});
    }
    if (f->parts.n < 2 || f->parts.n >= OPERANDS_MAX)
        return;
    qsort(f->parts.at, (size_t)f->parts.n, sizeof *f->parts.at, compare_parts);
    int32_t *tensors = arena_array(f->arena, int32_t, f->parts.n + 1);
    int64_t end = 0;
    int n = 0;
    tensors[n++] = tensor;
    for (int i = 0; i < f->parts.n; i++) {
        const SlicePart *part = &f->parts.at[i];
        if (i > 0 && part->start == part[-1].start && part->end == part[-1].end)
            continue;
        if (part->start != end)
            return;
        end = part->end;
        tensors[n++] = part->tensor;
    }
    if (end == program_shape(inferred, tensor)->dim[axis])
        add_tie(f, tensors, n, axis, inferred->on_parameters[f->parts.at[0].op]);
}

static void find_slices(TieFinder *f)
{
    const Inferred *inferred = f->inferred;
    const Graph *graph = inferred->graph;
    Arena *scratch = arena_new();
    int8_t *sliced = arena_array(scratch, int8_t, inferred->n_spaces);
    bool *seen = arena_array(scratch, bool, graph->n_tensors);
    for (int i = 0; i < inferred->n_spaces; i++)
        sliced[i] = (int8_t)sliced_dim(inferred->spaces[i]);
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        int axis = (int)sliced[inferred->space[op]];
        if (axis < 0 || seen[graph->operands[graph->ops[op].input + 0]])
            continue;
        int32_t tensor = graph->operands[graph->ops[op].input + 0];
        seen[tensor] = true;
        tie_slices(f, tensor, axis, sliced);
    }
    arena_free(scratch);
}

Ties ties_find(Arena *arena, const Inferred *inferred)
{
    TieFinder finder = {.arena = arena, .inferred = inferred, .space_ids = intern_new(arena)};
    const Graph *graph = inferred->graph;
    for (int i = 0; i < graph->n_carries; i++) {
        int32_t pair[2] = {graph->carries[i].next, graph->carries[i].in};
        if (pair[0] >= 0 && pair[1] >= 0 && inferred_shape(inferred, pair[0]) &&
            inferred_shape(inferred, pair[1]))
            add_tie(&finder, pair, 2, -1, false);
    }
    find_slices(&finder);
    return finder.ties;
}
