#include "core/explain/why_not.h"

#include "core/plan/json_forms.h"
#include "core/plan/origin.h"
#include "core/plan/window_cut.h"
#include "core/space/dim_part.h"

#include <assert.h>
#include <inttypes.h>

/* ORDER STOP: what would let the axis through. */
static const char *const hints[STOP_COUNT] = {
    "",
    "unpin that dim, or pin it open",
    "remove the mark, or give the pins the same priority",
    ("pin that other dim whole, or pin this one: an axis can shard only one dim of a tensor and "
     "one index dim of an op"),
    "pin the dim so that one list of axes continues the other",
    ("use a number of devices that divides it, a sub-axis such as tp:(1)4, or keep whole blocks "
     "with unit="),
    "the op needs that dim whole; shard another dim",
    "the op reads that dim whole; shard another dim",
    "the op would need rows of neighbouring shards; shard another dim",
    "the op takes no part in propagation along it; pin both sides",
    "pin the index dim if you want the reduction",
    "pin the parameter, or the index dim of the op that reads it",
    "the barrier on the tensor stops it; remove it or reverse its direction",
    "pin the dim so that its major part divides",
    "register a rule for the operator (register_op)",
    "pin the dim; `dimscope rule` with --trace or --profile shows what its rule allows",
};

static const char *hint_of(Stop stop)
{
    assert(stop < STOP_COUNT);
    return hints[stop];
}

static const char *index_name(const Plan *plan, const StopRecord *at)
{
    return at->index < 0 ? "?" : program_space(plan->inferred, at->op)->index[at->index].name;
}

static void say_taken(const Plan *plan, const WhyNotStop *stop, Buf *out)
{
    const Graph *graph = plan->inferred->graph;
    const StopRecord *at = &stop->at;
    if ((at->leaving || stop->beside) && at->other >= 0) {
        buf_printf(out, "the axis shards %s there",
                   program_space(plan->inferred, at->op)->index[at->other].name);
        if (op_copies_partition(plan, at->op)) {
            buf_puts(out, " as in ");
            reason_put_op(graph, graph->of[at->op], out);
        }
        buf_puts(out, ", and can shard only one index dim of an op");
    } else if (at->other >= 0)
        buf_printf(out,
                   "the axis shards dim %d of that tensor, and can shard only one dim of a tensor",
                   at->other);
    else
        buf_puts(out, "the axis shards another dim there");
}

/* Paddle completes shardings by rules of ops; torch and veScale decide op by op, in program order
 * only. */
static void say_rule(const Plan *plan, const StopRecord *at, Buf *out)
{
    if (plan->propagator->rule_says)
        buf_puts(out, plan->propagator->rule_says);
    else if (!plan->propagator->by_op)
        buf_printf(out, "the propagator %s does not pass it on", plan->propagator->name);
    else if (at->leaving)
        buf_puts(out, "the strategy chosen for the op needs it in another sharding");
    else if (at->op >= 0 && at->operand >= plan->inferred->graph->ops[at->op].n_inputs)
        buf_puts(out, "the strategy chosen for the op produces it in another sharding");
    else
        buf_puts(
            out,
            "an op reshards its inputs as its strategy needs them, and propagates nothing back");
}

/* "12 x 64 does not divide by tp=8"; "it is 3 parts of 768, and sharding it by tp=4 splits across
 * them". Nothing for a single index dim, or a loop. */
static void say_nesting(const Plan *plan, const StopRecord *at, Buf *out)
{
    const OpSpace *space = at->op < 0 ? NULL : program_space(plan->inferred, at->op);
    const DimFactors *factors =
        space && at->operand >= 0 ? &space->operand[at->operand].factors[at->dim] : NULL;
    int64_t sizes[DIGITS_MAX];
    int n_parts = at->index < 0 || !space ? 0 : dim_parts(space, at->index, sizes, DIGITS_MAX);
    if (n_parts > 0) {
        buf_puts(out, "it is ");
        dim_parts_format(sizes, n_parts, out);
        buf_puts(out, ", and sharding it by ");
        mesh_format_sizes(plan->mesh, at->atoms, out);
        buf_puts(out, " splits across them");
        return;
    }
    if (!factors || factors->n < 2) {
        buf_puts(out, "the shards do not end at the boundaries of its index dims");
        return;
    }
    const IndexDim *first = &space->index[factors->index[0]];
    if (first->role == ROLE_FROZEN && first->size > 0) {
        buf_printf(out, "it is %" PRId64 " parts of %" PRId64 ", and sharding it by ", first->size,
                   space->operand[at->operand].shape.dim[at->dim] / first->size);
        mesh_format_sizes(plan->mesh, at->atoms, out);
        buf_puts(out, " splits across them");
        return;
    }
    for (int f = 0; f < factors->n; f++)
        buf_printf(out, "%s%" PRId64, f ? " x " : "", space->index[factors->index[f]].size);
    buf_puts(out, " does not divide by ");
    mesh_format_sizes(plan->mesh, at->atoms, out);
}

/* Whether the op reads that dim in windows that reach further than the parts beside its own: *read.
 */
static bool needs_far(const Plan *plan, const StopRecord *at, Cut *read)
{
    const OpSpace *space = at->op < 0 ? NULL : program_space(plan->inferred, at->op);
    if (!space || at->operand < 0 || at->operand >= space->n_inputs)
        return false;
    int32_t t = op_inputs(plan->inferred->graph, at->op)[at->operand];
    return t >= 0 && plan->moved->sharding[t] >= 0 &&
           window_is_wide(space, at->operand, at->dim, &plan_sharding(plan, t)->dim[at->dim],
                          plan->mesh, read);
}

static void say_window(const Plan *plan, const StopRecord *at, Buf *out)
{
    DimPart part;
    bool joins = at->op >= 0 && at->operand >= 0 &&
                 dim_part(program_space(plan->inferred, at->op), at->operand, at->dim, &part) &&
                 part.of_index;
    Cut read;
    if (needs_far(plan, at, &read)) {
        buf_puts(out, "the op needs ");
        window_format_wide(&read, plan->mesh, out);
        return;
    }
    buf_printf(out,
               joins ? "the other parts along %s are not sharded by that axis"
                     : "the op reads it in windows along %s",
               index_name(plan, at));
}

void why_not_format_stop(const Plan *plan, const WhyNotStop *stop, Buf *out)
{
    const StopRecord *at = &stop->at;
    const char *index = at->op < 0 ? "" : index_name(plan, at);
    switch (at->stop) {
    case STOP_NONE:
    case STOP_COUNT:
        break;
    case STOP_CLOSED:
        buf_puts(out, at->leaving ? "that index dim is pinned" : "the dim is pinned");
        if (stop->pin && stop->pin->origin.kind == ORIGIN_POLICY) {
            buf_puts(out, " by ");
            origin_put_place(&stop->pin->origin, out);
        }
        break;
    case STOP_REPLICATED:
        buf_puts(out, "a decision keeps the axis from sharding this tensor");
        break;
    case STOP_TAKEN:
        say_taken(plan, stop, out);
        break;
    case STOP_ORDER:
        buf_puts(out, "other axes shard it there");
        break;
    case STOP_NESTING:
        say_nesting(plan, at, out);
        break;
    case STOP_FROZEN:
        buf_printf(out, "the op cannot run sharded along %s", index);
        break;
    case STOP_WHOLE:
        buf_puts(out, "the op reads that dim whole");
        break;
    case STOP_WINDOW:
        say_window(plan, at, out);
        break;
    case STOP_BLOCKED:
        buf_printf(out, "%s takes no part in propagation", index);
        break;
    case STOP_REDUCE:
        buf_printf(out, "the op sums over %s, and reducing would move more than gathering", index);
        break;
    case STOP_PARAMETER:
        buf_puts(out, "only pinned dims of parameters and constants propagate");
        break;
    case STOP_BARRIER:
        buf_puts(out, "a barrier on the tensor blocks that direction");
        break;
    case STOP_OVERFLOW:
        buf_puts(out, "a more major part of the dim is not divisible by its axes");
        break;
    case STOP_NO_RULE:
        buf_puts(out, "the operator has no sharding rule");
        break;
    case STOP_RULE:
        say_rule(plan, at, out);
        break;
    }
}

static void say_place(const Plan *plan, const WhyNotStop *stop, int axis, Buf *out)
{
    const Graph *graph = plan->inferred->graph;
    const StopRecord *at = &stop->at;
    mesh_put_axis(plan->mesh, axis, out);
    if (at->op < 0) {
        buf_printf(out, "  stops where a loop carries %s", tensor_name(graph, stop->tensor));
        return;
    }
    const char *op_type = op_operator(graph, at->op), *label = op_path_or_name(graph, at->op);
    if (stop->beside) {
        buf_printf(out, " is %s %s %s, %s", at->stop == STOP_TAKEN ? "at" : "nowhere near; at",
                   op_type, label, at->leaving ? "which reads it" : "which makes it");
        if (at->index >= 0)
            buf_printf(out, " along %s", index_name(plan, at));
        return;
    }
    buf_printf(out, " stops at %s %s", op_type, label);
    if (at->leaving)
        buf_printf(out, ", which does not accept it from dim %d of %s", at->dim,
                   tensor_name(graph, stop->tensor));
    else
        buf_printf(out, ", which has it on %s but not on dim %d of %s", index_name(plan, at),
                   at->dim, tensor_name(graph, stop->tensor));
    if (stop->n_ops > 0)
        buf_printf(out, " (%d op%s from here)", stop->n_ops, stop->n_ops > 1 ? "s" : "");
}

static void format_stop(const Plan *plan, const WhyNotStop *stop, int axis, bool chain, Buf *out)
{
    buf_puts(out, "  ");
    say_place(plan, stop, axis, out);
    buf_puts(out, stop->beside ? ": " : "\n    because ");
    why_not_format_stop(plan, stop, out);
    buf_putc(out, '\n');
    if (!stop->beside)
        buf_printf(out, "    to let it through: %s\n", hint_of(stop->at.stop));
    if (chain && stop->has_chain) {
        buf_puts(out, "    ");
        mesh_put_axis(plan->mesh, axis, out);
        buf_puts(out, " came there this way:\n");
        reason_format_chain(plan, &stop->from, "    ", out);
    }
}

static void format_dim(const Plan *plan, const WhyNotDim *dim, const WhyNot *of, bool chain,
                       Buf *out)
{
    const Sharding *made = shardings_at(plan->shardings, plan->moved->made[of->tensor]);
    int64_t size = cut_size(&made->dim[dim->dim]), n_parts = plan->mesh->axes[of->axis].size;
    buf_printf(out, "dim %d  %" PRId64 "\n", dim->dim, size);
    bool all = dim->here == mesh_axis_atoms(plan->mesh, of->axis);
    if (dim->here) {
        buf_puts(out, "  ");
        mesh_format_set(plan->mesh, dim->here, ".", out);
        buf_puts(out, " shards it: see `why`\n");
    } else if (dim->other_dim >= 0) {
        buf_puts(out, "  ");
        mesh_put_axis(plan->mesh, of->axis, out);
        buf_printf(out, " already shards dim %d, and can shard only one dim of a tensor\n",
                   dim->other_dim);
    } else if (size < n_parts) {
        buf_printf(out, "  it has fewer elements than the %" PRId64 " parts of ", n_parts);
        mesh_put_axis(plan->mesh, of->axis, out);
        buf_putc(out, '\n');
    }
    for (int i = 0; i < dim->n_stops; i++)
        format_stop(plan, &dim->stop[i], of->axis, chain && i == 0, out);
    if (!all && dim->n_stops > 0 && dim->stop[0].beside) {
        buf_puts(out, "    to let it through: pin this dim by ");
        mesh_put_axis(plan->mesh, of->axis, out);
        buf_putc(out, '\n');
    }
}

/* No pin leads the axis there, and no op would stop it. */
static bool is_free(const Plan *plan, const WhyNot *of, const WhyNotDim *dim)
{
    return dim->n_stops == 0 && dim->other_dim < 0 &&
           dim->here != mesh_axis_atoms(plan->mesh, of->axis);
}

/* Those dims together: "dim 0, dim 1". */
static void format_free(const Plan *plan, const WhyNot *of, Buf *out)
{
    const char *comma = "";
    for (int i = 0; i < of->n_dims; i++)
        if (is_free(plan, of, &of->dim[i])) {
            buf_printf(out, "%sdim %d", comma, of->dim[i].dim);
            comma = ", ";
        }
    if (!comma[0])
        return;
    buf_puts(out, "\n  no pin leads ");
    mesh_put_axis(plan->mesh, of->axis, out);
    buf_puts(out, " to any dim linked with these\n    to let it through: pin the dim by ");
    mesh_put_axis(plan->mesh, of->axis, out);
    buf_putc(out, '\n');
}

/* The dim with the nearest stop of all, whose chain is shown. */
static int nearest_dim(const WhyNot *answer)
{
    int best = -1;
    for (int i = 0; i < answer->n_dims; i++)
        if (answer->dim[i].n_stops > 0 &&
            (best < 0 || answer->dim[i].stop[0].n_ops < answer->dim[best].stop[0].n_ops))
            best = i;
    return best;
}

void why_not_format(const Plan *plan, int32_t tensor, int dim, int axis, Buf *out)
{
    Arena *scratch = arena_new();
    WhyNot answer = why_not(scratch, plan, tensor, dim, axis);
    buf_printf(out, "why is %s not sharded by ", tensor_name(plan->inferred->graph, tensor));
    mesh_put_axis(plan->mesh, axis, out);
    buf_puts(out, "?\n");
    if (answer.n_dims == 0 && plan->moved->made[tensor] < 0) {
        buf_puts(out, "  part of its shape is unknown: ");
        inferred_put_shape(plan->inferred, tensor, out);
        buf_putc(out, '\n');
    } else if (plan->mesh->axes[axis].size == 1) {
        buf_puts(out, "  ");
        mesh_put_axis(plan->mesh, axis, out);
        buf_puts(out, " has size 1: it shards nothing\n");
    } else {
        if (answer.partial) {
            buf_puts(out, "its op makes it partial over ");
            mesh_put_axis(plan->mesh, axis, out);
            buf_puts(out, ": `why` says which sum makes it so\n");
        }
        int nearest = nearest_dim(&answer);
        for (int i = 0; i < answer.n_dims; i++)
            if (!is_free(plan, &answer, &answer.dim[i]))
                format_dim(plan, &answer.dim[i], &answer, i == nearest, out);
        format_free(plan, &answer, out);
    }
    arena_free(scratch);
}

static Json *stop_json(const Plan *plan, const WhyNotStop *stop, int axis)
{
    const Graph *graph = plan->inferred->graph;
    int32_t op = stop->at.op;
    Arena *scratch = arena_new();
    Buf text = buf_new(scratch);
    Json *out = json_object(), *lines = json_array();
    json_set(out, "op", op < 0 ? json_null() : json_from_str(str_from(op_name(graph, op))));
    json_set(out, "path", op < 0 ? json_null() : json_from_str(str_from(op_path(graph, op))));
    json_set(out, "operator",
             op < 0 ? json_null() : json_from_str(str_from(op_operator(graph, op))));
    json_set_str(out, "tensor", tensor_name(graph, stop->tensor));
    json_set_int(out, "dim", stop->at.dim);
    json_set_str(out, "stop", stop_name(stop->at.stop));
    why_not_format_stop(plan, stop, &text);
    json_set(out, "text", json_from_str(buf_str(&text)));
    json_set_str(out, "hint", hint_of(stop->at.stop));
    json_set_int(out, "ops_away", stop->n_ops);
    json_set_bool(out, "beside", stop->beside);
    for (int s = stop->has_chain ? stop->from.n_steps - 1 : -1; s >= 0; s--) {
        Buf line = buf_new(scratch);
        reason_format(plan, &stop->from.step[s], axis, &line);
        json_add(lines, json_from_str(buf_str(&line)));
    }
    json_set(out, "from", lines);
    arena_free(scratch);
    return out;
}

Json *why_not_json(const Plan *plan, int32_t tensor, int dim, int axis)
{
    Arena *scratch = arena_new();
    WhyNot answer = why_not(scratch, plan, tensor, dim, axis);
    Json *out = json_object(), *dims = json_array();
    json_set_str(out, "tensor", tensor_name(plan->inferred->graph, tensor));
    json_set_str(out, "axis", plan->mesh->axes[axis].name);
    json_set_bool(out, "partial", answer.partial);
    for (int i = 0; i < answer.n_dims; i++) {
        Json *row = json_object(), *stops = json_array();
        const Sharding *made = shardings_at(plan->shardings, plan->moved->made[tensor]);
        json_set_int(row, "dim", answer.dim[i].dim);
        json_set_int(row, "size", cut_size(&made->dim[answer.dim[i].dim]));
        json_set(row, "here", json_of_atom_set(answer.dim[i].here, plan->mesh));
        json_set(row, "other_dim",
                 answer.dim[i].other_dim < 0 ? json_null()
                                             : json_from_int(answer.dim[i].other_dim));
        for (int s = 0; s < answer.dim[i].n_stops; s++)
            json_add(stops, stop_json(plan, &answer.dim[i].stop[s], axis));
        json_set(row, "stops", stops);
        json_add(dims, row);
    }
    json_set(out, "dims", dims);
    arena_free(scratch);
    return out;
}
