#include "core/propagate/flow_visit.h"

#include "core/plan/window_cut.h"
#include "core/space/dim_part.h"

/* ---- what stops ---- */

static int holder(const Cut *cuts, int64_t n, int self, AtomSet atoms)
{
    for (int i = 0; i < n; i++)
        if (i != self && (cut_atoms(&cuts[i]) & atoms))
            return i;
    return -1;
}

static void stop(const FlowVisitCase *visit, StopRecord record)
{
    if (visit->stops && record.atoms)
        vec_push(visit->arena, visit->stops, record);
}

/* ---- the test of reduce dims ---- */

/* Elements of an operand on one rank, were the index dims cut as in state but for `drop`. */
static double local_elements(const FlowVisitCase *visit, int operand, AtomSet drop)
{
    const Operand *o = &visit->space->operand[operand];
    double elements = (double)shape_elements(&o->shape);
    for (int d = 0; d < o->shape.n_dims; d++)
        for (int f = 0; f < o->factors[d].n; f++) {
            AtomSet atoms = cut_atoms(&visit->state.cut.index[o->factors[d].index[f]]) & ~drop;
            elements /= (double)mesh_atoms_size(visit->mesh, atoms);
        }
    return elements;
}

/* 2 x elements(outputs) <= elements of the operands otherwise gathered. */
static bool reduce_pays(const FlowVisitCase *visit, int index, AtomSet atoms)
{
    double out = 0, gathered = 0;
    for (int o = 0; o < visit->space->n_outputs; o++)
        out += local_elements(visit, visit->space->n_inputs + o, atoms);
    for (int i = 0; i < visit->space->n_inputs; i++) {
        if (!visit->flow[i] || !operand_has_index(&visit->space->operand[i], index))
            continue;
        if (cuts_used(visit->flow[i]->dim, visit->flow[i]->n_dims, -1) & atoms)
            gathered += local_elements(visit, i, atoms);
    }
    return 2 * out <= gathered;
}

/* ---- taking ---- */

/* Why an index dim takes no cut by these axes, in addition to its own; STOP_NONE: it may. */
static Stop may_cut(const FlowVisitCase *visit, int index, const Cut *cut, AtomSet atoms)
{
    int64_t sizes[DIGITS_MAX];
    if (visit->state.closed >> index & 1)
        return STOP_CLOSED;
    if (visit->space->index[index].blocked && visit->mode > MODE_PINNED)
        return STOP_BLOCKED;
    switch (visit->space->index[index].role) {
    case ROLE_FROZEN:
        if (!visit->space->index[index].carries &&
            dim_parts(visit->space, index, sizes, DIGITS_MAX) == 0)
            return STOP_FROZEN;
        return op_cut_of_frozen(visit->space, index, cut, visit->mesh) ? STOP_NONE : STOP_NESTING;
    case ROLE_REDUCE:
        if (visit->mode <= MODE_PINNED)
            return STOP_NONE;
        return visit->mode == MODE_REDUCE && reduce_pays(visit, index, atoms) ? STOP_NONE
                                                                              : STOP_REDUCE;
    case ROLE_MAP:
        return STOP_NONE;
    }
    return STOP_NONE;
}

/* Joins a cut into an index dim, without the axes that already cut another index dim and those
 * kept for pins of later priorities (when stops are recorded, no such pins are left). */
static void take_index(FlowVisitCase *visit, StopRecord at, const Cut *offered)
{
    OpCut *cuts = &visit->state.cut;
    Cut *cut = &cuts->index[at.index], joined;
    AtomSet used = cuts_used(cuts->index, cuts->n, at.index);
    AtomSet had = cut_atoms(cut), new = cut_atoms(offered) & ~had;
    Cut part = cut_without(offered, used | visit->state.barred, visit->mesh);
    if (visit->stops && new) {
        at.other = holder(cuts->index, cuts->n, at.index, new);
        at.atoms = new &used;
        at.stop = STOP_TAKEN;
        stop(visit, at);
        at.other = -1;
    }
    at.atoms = cut_atoms(&part) & ~had;
    if (cut_is_whole(&part) || (visit->stops && !at.atoms))
        return;
    bool joins = cut_join(cut, &part, visit->mesh, &joined);
    at.stop = may_cut(visit, at.index, joins ? &joined : &part, cut_atoms(&part));
    if (at.stop == STOP_NONE && joins) {
        *cut = joined;
        return;
    }
    at.stop = at.stop == STOP_NONE ? STOP_ORDER : at.stop;
    stop(visit, at);
}

static bool gives_only_pins(const FlowVisitCase *visit, int operand)
{
    return visit->mode <= MODE_PINNED ||
           (operand < visit->space->n_inputs && visit->flow[operand]->role != FLOW_OPEN);
}

static bool may_give(const FlowVisitCase *visit, int operand, int dim)
{
    return !gives_only_pins(visit, operand) || (visit->flow[operand]->pinned >> dim & 1);
}

/* The cut of an index dim of which operands hold the parts: by the axes that shard every part. One
 * part alone does not decide for the others, since axes that keep the heads of q apart may divide
 * a head of k. Returns false unless the same axes shard all of them. */
static bool join_parts(const FlowVisitCase *visit, int index, Cut *out)
{
    const OpSpace *space = visit->space;
    int64_t sizes[DIGITS_MAX];
    const Digit *first = NULL;
    int n = dim_parts(space, index, sizes, DIGITS_MAX);
    for (int o = 0; o < space->n_inputs + space->n_outputs; o++)
        for (int d = 0; d < space->operand[o].shape.n_dims; d++) {
            DimPart part;
            if (!dim_part(space, o, d, &part) || part.index != index)
                continue;
            const Cut *cut = visit->flow[o] ? &visit->flow[o]->dim[d] : NULL;
            if (!cut || cut->n != 1 || !cut_is_plain(cut) || !may_give(visit, o, d))
                return false;
            first = first ? first : &cut->digit[0];
            if (cut->digit[0].n != first->n ||
                memcmp(cut->digit[0].atom, first->atom, first->n) != 0)
                return false;
        }
    return n > 0 && first && cut_blocks(sizes, n, first->atom, first->n, visit->mesh, out);
}

/* Through the dim of which the operand holds a part, or the op reads one. */
static bool take_part(FlowVisitCase *visit, StopRecord at)
{
    DimPart part;
    Cut cut;
    if (!dim_part(visit->space, at.operand, at.dim, &part))
        return false;
    const Cut *from = &visit->flow[at.operand]->dim[at.dim];
    if (part.of_index ? !join_parts(visit, part.index, &cut)
                      : !cut_part(from, part.start, part.end, visit->mesh, &cut))
        return false;
    at.index = part.index;
    take_index(visit, at, &cut);
    return true;
}

/* ---- windows ---- */

/* Whether the op can read a dim by the cut of an index dim that moves its window: without the halo,
 * which is narrower than a part, so that only neighbours exchange. */
static bool read_by_window(const FlowVisitCase *visit, const OpCut *cut, int operand, int dim,
                           Cut *out)
{
    if (!op_cut_halo(visit->space, cut, operand, dim, visit->mesh, out))
        return false;
    bool narrow = window_is_narrow(out, visit->mesh);
    out->before = out->after = out->around = 0;
    return narrow;
}

/* Through windows that slide along the dim: the places of the windows are sharded as the dim is, if
 * only neighbours exchange. */
static bool take_window(FlowVisitCase *visit, StopRecord at)
{
    Cut places, read;
    at.index = window_cut(visit->space, at.operand, at.dim, &visit->flow[at.operand]->dim[at.dim],
                          visit->mesh, &places, &read);
    if (at.index < 0 || !window_is_narrow(&read, visit->mesh))
        return false;
    take_index(visit, at, &places);
    return true;
}

void flow_take(FlowVisitCase *visit, int operand)
{
    const Flow *flow = visit->flow[operand];
    const OpSpace *space = visit->space;
    const Operand *o = &space->operand[operand];
    if (!flow || o->ignored)
        return;
    for (int d = 0; d < flow->n_dims; d++) {
        const DimFactors *factors = &o->factors[d];
        StopRecord at = {.operand = operand, .dim = d, .index = -1, .other = -1, .leaving = true};
        at.atoms = cut_atoms(&flow->dim[d]);
        if (!at.atoms)
            continue;
        if (may_give(visit, operand, d) && (take_part(visit, at) || take_window(visit, at)))
            continue;
        if (factors->n == 0 || !factors->exact || !may_give(visit, operand, d)) {
            at.index = factors->n ? factors->index[0] : -1;
            at.stop = factors->n == 0 ? STOP_WHOLE : factors->exact ? STOP_PARAMETER : STOP_WINDOW;
            stop(visit, at);
            continue;
        }
        int64_t sizes[FACTORS_MAX];
        Cut part[FACTORS_MAX];
        for (int f = 0; f < factors->n; f++)
            sizes[f] = space->index[factors->index[f]].size;
        cut_split(&flow->dim[d], sizes, factors->n, visit->mesh, part, &at.atoms);
        at.stop = STOP_NESTING;
        stop(visit, at);
        for (int f = 0; f < factors->n; f++) {
            at.index = factors->index[f];
            take_index(visit, at, &part[f]);
        }
    }
}

/* ---- giving ---- */

/* Whether index dims of the dim are cut, or the one that they follow is. */
static bool any_cut(const FlowVisitCase *visit, const DimFactors *factors)
{
    for (int f = 0; f < factors->n; f++) {
        int index = factors->index[f], follows = visit->space->index[index].follows;
        if (!cut_is_whole(&visit->state.cut.index[index]) ||
            (follows > 0 && !cut_is_whole(&visit->state.cut.index[follows - 1])))
            return true;
    }
    return false;
}

static bool any_blocked(const OpSpace *space, const DimFactors *factors)
{
    for (int f = 0; f < factors->n; f++)
        if (space->index[factors->index[f]].blocked)
            return true;
    return false;
}

/* Why a dim takes nothing at all. */
static Stop shut(const FlowVisitCase *visit, const Flow *flow, int operand, int dim)
{
    Pass needed = operand < visit->space->n_inputs ? PASS_BACKWARD : PASS_FORWARD;
    if (flow->closed >> dim & 1)
        return STOP_CLOSED;
    if (any_blocked(visit->space, &visit->space->operand[operand].factors[dim]))
        return STOP_BLOCKED;
    return (flow->pass & (int32_t)needed) ? STOP_NONE : STOP_BARRIER;
}

static void give_dim(const FlowVisitCase *visit, Flow *flow, int operand, int d)
{
    const Mesh *mesh = visit->mesh;
    StopRecord at = {.operand = operand, .dim = d, .index = -1, .other = -1};
    Cut cut, joined;
    if (!any_cut(visit, &visit->space->operand[operand].factors[d]) ||
        ((!op_cut_project(visit->space, &visit->state.cut, operand, d, mesh, &cut) ||
          cut_is_whole(&cut)) &&
         !read_by_window(visit, &visit->state.cut, operand, d, &cut)))
        return;
    AtomSet new = cut_atoms(&cut) & ~cut_atoms(&flow->dim[d]);
    AtomSet used = cuts_used(flow->dim, flow->n_dims, d);
    at.index = visit->space->operand[operand].factors[d].index[0];
    at.stop = shut(visit, flow, operand, d);
    if (at.stop != STOP_NONE) {
        at.atoms = new;
        stop(visit, at);
        return;
    }
    at.other = holder(flow->dim, flow->n_dims, d, new);
    at.atoms = new &used;
    at.stop = STOP_TAKEN;
    stop(visit, at);
    at.other = -1;
    at.atoms = new & flow->barred & ~used;
    at.stop = STOP_REPLICATED;
    stop(visit, at);
    cut = cut_without(&cut, used | flow->barred, mesh);
    at.atoms = cut_atoms(&cut) & ~cut_atoms(&flow->dim[d]);
    at.stop = STOP_ORDER;
    if (cut_is_whole(&cut))
        return;
    if (cut_join(&flow->dim[d], &cut, mesh, &joined))
        flow->dim[d] = joined;
    else
        stop(visit, at);
}

Flow flow_give(const FlowVisitCase *visit, int operand)
{
    Flow flow = *visit->flow[operand];
    if (flow.role == FLOW_LEAF || visit->space->operand[operand].ignored)
        return flow;
    for (int d = 0; d < flow.n_dims; d++)
        give_dim(visit, &flow, operand, d);
    return flow;
}
