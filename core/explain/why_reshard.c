#include "core/explain/why_reshard.h"

#include "core/plan/routed.h"

#include "core/cost/ring.h"
#include "core/cost/gradient_reduces.h"
#include "core/plan/plan_findings.h"
#include "core/plan/stage.h"

#include "core/base/units.h"
#include "core/propagate/propagate.h"
#include "core/explain/sites.h"
#include "core/plan/plan_machine.h"

/* ---- the reader's side ---- */

static int operand_of(const Plan *plan, int32_t op, int32_t tensor)
{
    const GraphOp *at = &plan->inferred->graph->ops[op];
    for (int o = 0; o < at->n_inputs; o++)
        if (op_inputs(plan->inferred->graph, op)[o] == tensor)
            return o;
    return -1;
}

/* The chains of the axes that shard a dim for the reader but not in the value. */
static void find_wanted(Arena *arena, const Plan *plan, int operand, int dim, AtomSet new,
                        WhyReshard *out)
{
    const OpCut *cut = plan_cut(plan, out->op);
    const DimFactors *factors =
        &program_space(plan->inferred, out->op)->operand[operand].factors[dim];
    for (int a = 0; a < plan->mesh->n_axes; a++) {
        AtomSet atoms = mesh_axis_atoms(plan->mesh, a) & new;
        WantedAxis *at = &out->wanted[out->n_wanted];
        for (int f = 0; cut && atoms && f < factors->n; f++)
            if (cut_atoms(&cut->index[factors->index[f]]) & atoms &&
                why_axis(arena, plan, a, -1, out->op, factors->index[f], &at->chain)) {
                at->dim = dim;
                out->n_wanted++;
                break;
            }
    }
}

static void find_dropped(const Plan *plan, int operand, int dim, AtomSet gone,
                         const StopRecord *records, int n, WhyReshard *out)
{
    DroppedAxes *at = &out->dropped[out->n_dropped++];
    *at = (DroppedAxes){.dim = dim, .atoms = gone};
    for (int i = 0; i < n && !at->found; i++) {
        const StopRecord *record = &records[i];
        if (record->operand != operand || record->dim != dim || !record->leaving ||
            !(record->atoms & gone))
            continue;
        at->found = true;
        at->stop = (WhyNotStop){.at = *record, .tensor = out->reshard->tensor};
        if (record->stop == STOP_CLOSED)
            at->stop.pin = plan_pin_of(plan, PIN_INDEX_DIM, out->op, record->index);
    }
    if (!at->found)
        at->found = why_not_at(plan, out->op, operand, dim, gone, &at->stop);
}

const ReshardPath *why_reshard_other(const Plan *plan, const Reshard *reshard)
{
    Dtype dtype = (Dtype)plan->inferred->dtype[reshard->tensor];
    if (reshard->from_devices != reshard->to_devices)
        return NULL;
    double fill = routed_move_fill(plan->routed, reshard->tensor,
                                   shardings_at(plan->shardings, reshard->from),
                                   shardings_at(plan->shardings, reshard->to), plan->mesh);
    return reshard_runner_up(plan_resharder_of(plan, reshard->to_devices), dtype, reshard->from,
                             reshard->to, fill);
}

WhyReshard why_reshard(Arena *arena, const Plan *plan, const Reshard *reshard)
{
    WhyReshard out = {.reshard = reshard, .op = -1, .joined = reshard_joins(plan, reshard)};
    const Sharding *from = shardings_at(plan->shardings, reshard->from);
    const Sharding *to = shardings_at(plan->shardings, reshard->to);
    out.summed = sharding_partials(from) & ~sharding_partials(to);
    if (reshard->n_uses == 0)
        return out;
    out.op = plan->moved->reshard_uses[reshard->use];
    int operand = operand_of(plan, out.op, reshard->tensor);
    if (operand < 0)
        return out;
    out.wanted = arena_array(arena, WantedAxis, from->n_dims * plan->mesh->n_axes + 1);
    out.dropped = arena_array(arena, DroppedAxes, from->n_dims);
    StopRecord *records;
    int n = propagate_stops(arena, plan, out.op, &records);
    for (int d = 0; d < from->n_dims; d++) {
        AtomSet before = cut_atoms(&from->dim[d]), after = cut_atoms(&to->dim[d]);
        if (after & ~before)
            find_wanted(arena, plan, operand, d, after & ~before, &out);
        if (before & ~after)
            find_dropped(plan, operand, d, before & ~after, records, n, &out);
    }
    return out;
}

/* ---- the maker's side ---- */

/* The first index dim that an op sums over and that the axes shard; -1 if none. */
static int summed_index(const Plan *plan, int32_t op, AtomSet atoms)
{
    const OpSpace *space = inferred_space(plan->inferred, op);
    const OpCut *cut = plan_cut(plan, op);
    for (int j = 0; space && cut && j < space->n_index; j++)
        if (space->index[j].role == ROLE_REDUCE && cut_atoms(&cut->index[j]) & atoms)
            return j;
    return -1;
}

static int32_t partial_input(const Plan *plan, int32_t op, AtomSet atoms)
{
    const GraphOp *at = &plan->inferred->graph->ops[op];
    for (int32_t i = at->input; i < at->input + at->n_inputs; i++)
        if (plan->inferred->graph->operands[i] >= 0 && plan->moved->need[i] >= 0 &&
            sharding_partials(shardings_at(plan->shardings, plan->moved->need[i])) & atoms)
            return plan->inferred->graph->operands[i];
    return -1;
}

int32_t why_summed_by(const Plan *plan, int32_t tensor, AtomSet atoms, int *index)
{
    enum { HANDED_ON_MAX = 1000 };
    for (int i = 0; tensor >= 0 && i < HANDED_ON_MAX; i++) {
        int32_t op = plan->inferred->graph->tensors[tensor].maker;
        int summed = op < 0 ? -1 : summed_index(plan, op, atoms);
        if (summed >= 0) {
            if (index)
                *index = summed;
            return op;
        }
        tensor = op < 0 ? -1 : partial_input(plan, op, atoms);
    }
    return -1;
}

/* ---- as text ---- */

static void format_steps(const Plan *plan, const ReshardPath *path, Buf *out)
{
    for (int s = 0; s < path->n_steps; s++) {
        const Step *step = &path->step[s];
        buf_printf(out, "%s %s", s ? "," : "", step_kind_mark(step->kind));
        buf_puts(out, step->atoms ? " " : "");
        mesh_format_set(plan->mesh, step->atoms, ".", out);
        if (step->bytes) {
            buf_putc(out, ' ');
            units_format_bytes(step->bytes, out);
            if (step->turns > 0)
                buf_printf(out, " \xc3\x97%d", step->turns);
            buf_putc(out, ' ');
            units_format_us(step->us, out);
        }
    }
}

static void format_margins(const Plan *plan, const WhyReshard *why, Buf *out)
{
    const ReshardPath *path = why->reshard->path;
    if (path->us <= 0)
        return;
    buf_puts(out, "  at least ");
    units_format_us(path->bound_us, out);
    buf_puts(out, path->proven ? ", no path is cheaper; peak per rank " : "; peak per rank ");
    units_format_bytes(path->peak_bytes, out);
    if (why->runner_up) {
        buf_puts(out, "; next best ");
        units_format_us(why->runner_up->us, out);
        buf_putc(out, ':');
        format_steps(plan, why->runner_up, out);
    }
    buf_putc(out, '\n');
}

static void format_devices(const Plan *plan, const WhyReshard *why, Buf *out)
{
    int32_t maker = plan->inferred->graph->tensors[why->reshard->tensor].maker;
    if (why->reshard->from_devices == why->reshard->to_devices || maker < 0)
        return;
    buf_puts(out, "  made on ");
    stage_format(plan, maker, out);
    if (why->op < 0) {
        buf_puts(out, "; a stage in between passes it on");
    } else {
        buf_puts(out, "; read on ");
        stage_format(plan, why->op, out);
    }
    buf_putc(out, '\n');
}

void why_reshard_format_joined(const Plan *plan, const WhyReshard *why, Buf *out)
{
    if (why->joined < 0)
        return;
    buf_printf(out, "part of one all-reduce: ");
    submesh_format(plan->mesh, plan->decided->submeshes[why->reshard->from_devices], out);
    buf_puts(out, " and ");
    submesh_format(plan->mesh, plan->decided->submeshes[why->reshard->to_devices], out);
    buf_printf(out, " both hold %s, and its gradient is summed once a step",
               plan_value_name(plan, why->joined));
}

static void format_reader(const Plan *plan, const WhyReshard *why, Buf *out)
{
    for (int i = 0; i < why->n_dropped; i++) {
        const DroppedAxes *at = &why->dropped[i];
        if (!at->found)
            continue;
        buf_puts(out, "  it does not accept ");
        mesh_format_set(plan->mesh, at->atoms, ".", out);
        buf_printf(out, " from dim %d: ", at->dim);
        why_not_format_stop(plan, &at->stop, out);
        buf_putc(out, '\n');
    }
    for (int i = 0; i < why->n_wanted; i++) {
        const WantedAxis *at = &why->wanted[i];
        buf_printf(out, "  it shards dim %d by ", at->dim);
        mesh_put_axis(plan->mesh, at->chain.axis, out);
        buf_printf(out, ", back to %s:\n", reason_root(&at->chain));
        reason_format_chain(plan, &at->chain, "  ", out);
    }
}

/* "1 element before and 2 behind each part of dim 2 by h" */
static void format_border(const Plan *plan, const Cut *cut, int dim, Buf *out)
{
    if (cut->before > 0)
        buf_printf(out, "%d before", cut->before);
    if (cut->after > 0)
        buf_printf(out, "%s%d after", cut->before > 0 ? " and " : "", cut->after);
    buf_printf(out, " each shard of dim %d, by ", dim);
    mesh_format_set(plan->mesh, cut_atoms(cut), ".", out);
}

/* Whether a rank of the dim needs more than what its next neighbours hold. */
static bool reaches_far(const Plan *plan, const Cut *cut)
{
    AtomSet atoms = cut_atoms(cut);
    int64_t n = mesh_atoms_size(plan->mesh, atoms), lo = 0, hi = 0;
    bool far = false;
    for (int64_t i = 1; i + 1 < n; i++) {
        digit_interval(&cut->digit[0], plan->mesh, mesh_group_member(plan->mesh, atoms, 0, i), &lo,
                       &hi);
        far |= cut->before > hi - lo || cut->after > hi - lo;
    }
    return far;
}

/* Parts that go around, and how much of their way the op hides. */
static void format_ring(const Plan *plan, const Reshard *reshard, const Cut *cut, int dim, Buf *out)
{
    bool home = sharding_has_ring(shardings_at(plan->shardings, reshard->from));
    buf_printf(out, "  shards of dim %d go around a ring over ", dim);
    mesh_format_set(plan->mesh, cut_atoms(cut), ".", out);
    buf_puts(out, home ? ": each rank adds to a shard and sends it on, the last one sends it home"
                  : cut->after > 1
                      ? ", twice: for the sums over all of them, and for the gradients"
                      : ": the op computes on one shard while the next one is being sent");
    buf_puts(out, "; hidden ");
    units_format_us(ring_hidden_us(plan, reshard), out);
    buf_puts(out, " of ");
    units_format_us(reshard->path->us, out);
    buf_putc(out, '\n');
}

static void format_borders(const Plan *plan, const WhyReshard *why, Buf *out)
{
    const Sharding *from = shardings_at(plan->shardings, why->reshard->from);
    const Sharding *to = shardings_at(plan->shardings, why->reshard->to);
    for (int d = 0; d < from->n_dims; d++) {
        bool back = cut_has_halo(&from->dim[d]);
        const Cut *cut = back ? &from->dim[d] : &to->dim[d];
        if (cut_is_ring(cut))
            format_ring(plan, why->reshard, cut, d, out);
        if (cut_carries(cut))
            buf_printf(
                out,
                "  a running sum along dim %d: each shard receives the sum of the shards %s it\n",
                d, cut->after == CUT_CARRY ? "before" : "behind");
        if (!cut_has_halo(cut) || cut_carries(cut) || cut_is_ring(cut))
            continue;
        buf_puts(out, back ? "  windows overlap: its results for " : "  its windows read ");
        format_border(plan, cut, d, out);
        buf_puts(out,
                 back ? ", go back to the neighbours, which add them" : ": the neighbours send it");
        if (reaches_far(plan, cut))
            buf_puts(out, ", and ranks beyond them");
        buf_putc(out, '\n');
    }
}

void why_reshard_format(const Plan *plan, const Reshard *reshard, Buf *out)
{
    Arena *scratch = arena_new();
    WhyReshard why = why_reshard(scratch, plan, reshard);
    why.runner_up = why_reshard_other(plan, reshard);
    buf_puts(out, "reshard to ");
    sharding_format(shardings_at(plan->shardings, reshard->to), plan->mesh, VIEW_OURS, out, NULL);
    buf_putc(out, ':');
    format_steps(plan, reshard->path, out);
    if (why.op >= 0)
        buf_printf(out, "  for %s %s", op_operator(plan->inferred->graph, why.op),
                   op_path_or_name(plan->inferred->graph, why.op));
    if (reshard->n_uses > 1)
        buf_printf(out, " and %d more", reshard->n_uses - 1);
    buf_putc(out, '\n');
    format_devices(plan, &why, out);
    if (why.joined >= 0) {
        buf_puts(out, "  ");
        why_reshard_format_joined(plan, &why, out);
        buf_putc(out, '\n');
    }
    format_margins(plan, &why, out);
    format_borders(plan, &why, out);
    format_reader(plan, &why, out);
    arena_free(scratch);
}
