#include "core/summary/ranges.h"

#include "core/layout/runs.h"

#include <inttypes.h>

/* The rank's part of the index space; whole along index dims with a cut of several digits, whose
 * parts are no intervals. */
static Box index_box(const OpSpace *space, const OpCut *cut, const Mesh *mesh, int64_t position)
{
    Box box = {.n = space->n_index};
    for (int j = 0; j < space->n_index; j++) {
        box.hi[j] = space->index[j].size;
        if (cut->index[j].n == 1 && !cut_is_blocks(&cut->index[j]))
            cut_interval(&cut->index[j], mesh, position, &box.lo[j], &box.hi[j]);
    }
    for (int j = 0; j < space->n_index; j++) {
        const IndexDim *dim = &space->index[j];
        if (dim->follows == 0 || !cut_is_whole(&cut->index[j]))
            continue;
        box.lo[j] = clamp(box.lo[dim->follows - 1] - dim->before, 0, dim->size);
        box.hi[j] = clamp(box.hi[dim->follows - 1] + dim->after, box.lo[j], dim->size);
    }
    return box;
}

/* A dim that is the mixed radix of index dims: its part under the op's cut. */
static TouchedDim radix_range(const Cut *cut, const Mesh *mesh, int64_t position)
{
    Arena *scratch = arena_new();
    Runs runs = cut_runs(scratch, cut, mesh, position);
    TouchedDim range = {.touched = runs.local_size};
    if (runs.local_size > 0) {
        const Run *last = &runs.at[runs.n - 1];
        range.lo = runs.at[0].start;
        range.hi = last->start + last->length;
    }
    arena_free(scratch);
    return range;
}

/* Elements of [lo, hi) that windows along the row's index dim leave out between them. */
static int64_t skipped(const OpSpace *space, const Row *row, const Box *index)
{
    Row folded;
    int main = row_main_index(space, row, &folded);
    int64_t n = main < 0 ? 0 : index->hi[main] - index->lo[main];
    return n > 1 ? (n - 1) * row_waste(&folded, main) : 0;
}

static TouchedDim dim_range(const Plan *plan, const OpSpace *space, const OpCut *cut, int operand,
                            int d, const Box *index, const Box *range, int64_t position)
{
    const Operand *o = &space->operand[operand];
    const DimFactors *factors = &o->factors[d];
    bool around = factors->n == 1 && cut_is_ring(&cut->index[factors->index[0]]);
    Cut part;
    bool follows = factors->n == 1 && space->index[factors->index[0]].follows > 0 &&
                   cut_is_whole(&cut->index[factors->index[0]]);
    if (factors->exact && !follows) {
        if (around || !op_cut_project(space, cut, operand, d, plan->mesh, &part))
            part = cut_whole(o->shape.dim[d]);
        return radix_range(&part, plan->mesh, position);
    }
    TouchedDim out = {clamp(range->lo[d], 0, o->shape.dim[d]),
                      clamp(range->hi[d], 0, o->shape.dim[d]), 0, 0};
    out.touched = out.hi - out.lo - skipped(space, &o->projection.row[d], index);
    out.touched = out.touched < 0 ? 0 : out.touched;
    return out;
}

bool operand_range(const Plan *plan, int32_t op, int operand, int64_t position, OperandRange *out)
{
    const Graph *graph = plan->inferred->graph;
    const OpSpace *space = inferred_space(plan->inferred, op);
    if (!space || space->no_rule || !plan_cut(plan, op))
        return false;
    const Operand *o = &space->operand[operand];
    bool reads = operand < space->n_inputs;
    int32_t tensor =
        reads ? op_inputs(graph, op)[operand] : op_outputs(graph, op)[operand - space->n_inputs];
    if (o->absent || o->ignored || tensor < 0)
        return false;
    int32_t as =
        reads ? plan->moved->need[graph->ops[op].input + operand] : plan->moved->made[tensor];
    const OpCut *cut = plan_cut(plan, op);
    Box index = index_box(space, cut, plan->mesh, position), range;
    projection_range(&o->projection, &o->shape, &index, &range);
    *out = (OperandRange){.n_dims = (int)o->shape.n_dims, .touched = 1, .held = 1};
    for (int d = 0; d < out->n_dims; d++) {
        TouchedDim *dim = &out->dim[d];
        *dim = dim_range(plan, space, cut, operand, d, &index, &range, position);
        dim->held = as < 0 ? o->shape.dim[d]
                           : cut_local_size(&shardings_at(plan->shardings, as)->dim[d], plan->mesh,
                                            position);
        out->touched *= dim->touched;
        out->held *= dim->held;
    }
    return true;
}

void operand_range_format(const OperandRange *range, Buf *out)
{
    for (int d = 0; d < range->n_dims; d++) {
        const TouchedDim *dim = &range->dim[d];
        buf_printf(out, "%s%" PRId64 ":%" PRId64, d > 0 ? "," : "", dim->lo, dim->hi);
        if (dim->touched != dim->hi - dim->lo)
            buf_printf(out, " (%" PRId64 ")", dim->touched);
    }
    if (range->n_dims == 0)
        buf_puts(out, "scalar");
}

double operand_range_waste(const OperandRange *range)
{
    int64_t waste = range->held - range->touched;

    return waste > 0 ? (double)waste / (double)range->held : 0;
}
