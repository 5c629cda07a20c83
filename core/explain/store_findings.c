#include "core/explain/store_findings.h"

#include "core/cost/gradient_reduces.h"
#include "core/plan/plan_findings.h"
#include "core/plan/stage.h"

/* Parameters whose gradient or states are stored by an axis, and whose gradient is equal along it:
 * neither partial nor sharded. */
typedef struct {
    int n_equal;
    int32_t first;
    const Decision *pin; /* of the first */
} StoredAlong;

/* The axes by which the gradient or the states of the parameter are stored. */
static AtomSet stored_atoms(const Plan *plan, int32_t parameter, const Decision **pin)
{
    const Shape *shape = inferred_shape(plan->inferred, parameter);
    AtomSet atoms = 0;
    for (int d = 0; shape && d < shape->n_dims; d++)
        for (int value = STORED_GRADIENT; value <= STORED_STATES; value *= 2) {
            const Decision *it = plan_store_pin_for(plan, parameter, d, (Stored)value);
            atoms |= it ? cut_atoms(decision_cut(it)) : 0;
            *pin = it ? it : *pin;
        }
    return atoms;
}

static void look_at_gradient(const Plan *plan, int32_t tensor, StoredAlong *along)
{
    int32_t parameter;
    const Decision *pin = NULL;
    const Graph *graph = plan->inferred->graph;
    if (stored_value(graph, tensor, &parameter) != STORED_GRADIENT ||
        plan->moved->made[tensor] < 0 ||
        plan_phase(plan, graph->tensors[tensor].maker) == 1 + PHASE_UPDATE) /* the cast of one */
        return;
    AtomSet atoms = stored_atoms(plan, parameter, &pin);
    const Sharding *made = shardings_at(plan->shardings, plan->moved->made[tensor]);
    AtomSet varies = sharding_partials(made) | sharding_atoms(made);
    for (int a = 0; a < plan->mesh->n_axes; a++) {
        AtomSet axis = mesh_axis_atoms(plan->mesh, a);
        if (!(atoms & axis) || plan->mesh->axes[a].size == 1)
            continue;
        if (varies & axis || along[a].n_equal++ > 0)
            continue;
        along[a].first = parameter;
        along[a].pin = pin;
    }
}

static void report_axis(Plan *plan, int axis, const StoredAlong *along)
{
    const char *name = plan->mesh->axes[axis].name;
    int n_more = along->n_equal - 1;
    plan_find(plan, LEVEL_WARNING, "store-axis", -1, along->first,
              arena_printf(plan->arena,
                           "also shard the batch by %s, or store by an axis that shards the batch",
                           name),
              "%s%s: gradients or states are stored sharded by %s, which does not shard the batch: "
              "every device along %s computes the same gradient, so there is no reduce-scatter",
              plan_value_name(plan, along->first),
              n_more > 0 ? arena_printf(plan->arena, " (and %d more)", n_more) : "", name, name);
    plan_found_at(plan, &along->pin->origin);
}

/* The pin that says how one of the two states is stored; NULL: none does. */
static const Decision *pin_of_states(const Plan *plan, int32_t a, int32_t b)
{
    const Shape *shape = inferred_shape(plan->inferred, a);
    const Decision *pin = NULL;
    for (int d = 0; !pin && shape && d < shape->n_dims; d++) {
        pin = plan_store_pin_of(plan, a, d);
        pin = pin ? pin : plan_store_pin_of(plan, b, d);
    }
    return pin;
}

/* The states that an op of the update renews are stored alike. */
static void look_at_update(Plan *plan, int32_t op)
{
    const Graph *graph = plan->inferred->graph;
    int32_t first = -1, parameter;
    for (int i = 0; i < graph->ops[op].n_inputs; i++) {
        int32_t t = op_inputs(graph, op)[i];
        if (t < 0 || stored_value(graph, t, &parameter) != STORED_STATES)
            continue;
        first = first < 0 ? t : first;
        if (plan->moved->sharding[t] == plan->moved->sharding[first])
            continue;
        Buf text = buf_new(plan->arena);
        sharding_format(plan_sharding(plan, t), plan->mesh, VIEW_OURS, &text, NULL);
        buf_puts(&text, ", ");
        buf_puts(&text, plan_value_name(plan, first));
        buf_puts(&text, " as ");
        sharding_format(plan_sharding(plan, first), plan->mesh, VIEW_OURS, &text, NULL);
        plan_find(
            plan, LEVEL_WARNING, "states-differ", op, t,
            "pin all states of a parameter to the same sharding",
            "%s is stored as %s: the update is sharded like the latter, so the former is resharded",
            plan_value_name(plan, t), text.s);
        const Decision *pin = pin_of_states(plan, first, t);
        if (pin)
            plan_found_at(plan, &pin->origin);
    }
}

/* "pp=0 and pp=3" */
static void format_holders(const Plan *plan, int32_t parameter, Buf *out)
{
    enum { SHOWN = 4 };
    int shown[SHOWN], n = 0;
    for (int at = 0, on; (on = stage_given_on(plan, parameter, &at)) >= 0;) {
        bool new = n <= SHOWN;
        for (int i = 0; i < n && i < SHOWN; i++)
            new &= shown[i] != on;
        if (!new)
            continue;
        if (n < SHOWN)
            shown[n] = on;
        n++;
    }
    for (int i = 0; i < n && i < SHOWN; i++) {
        buf_puts(out, i == 0 ? "" : i + 1 == n ? " and " : ", ");
        submesh_format(plan->mesh, plan->decided->submeshes[shown[i]], out);
    }
    if (n > SHOWN)
        buf_puts(out, " and others");
}

/* Parameters that several parts of the mesh hold. */
static void look_at_parts(Plan *plan)
{
    int32_t first = -1, last = -1;
    int n_more = -1;
    for (int r = 0; r < plan->moved->n_reshards; r++) {
        const Reshard *reshard = &plan->moved->reshards[r];
        int32_t joins = reshard_joins(plan, reshard);
        n_more += joins >= 0 && joins != last; /* reshards of one are in a row */
        last = joins >= 0 ? joins : last;
        first = first < 0 ? joins : first;
    }
    if (first < 0)
        return;
    Buf parts = buf_new(plan->arena);
    format_holders(plan, first, &parts);
    plan_find(plan, LEVEL_NOTE, "held-on-parts", -1, first, "",
              "%s%s is read on %s: each holds the parameter with its gradient and states, and one "
              "all-reduce a step sums the gradients",
              plan_value_name(plan, first),
              n_more > 0 ? arena_printf(plan->arena, " (and %d more)", n_more) : "", parts.s);
}

/* Pins of states and gradients in a plan without any. */
static void look_for_step(Plan *plan)
{
    const Decision *first = NULL;
    int n = 0;
    for (int i = 0; i < plan->decided->n_pins; i++) {
        const Decision *pin = plan->decided->pins[i];
        if (!pin->store || (pin->store & STORED_PARAMETER))
            continue;
        first = first ? first : pin;
        n++;
    }
    if (!first)
        return;
    Buf text = buf_new(plan->arena);
    stored_format(first->store, &text);
    plan_find(plan, LEVEL_NOTE, "store-no-step", -1, first->place,
              "plan the step with --train auto",
              "%s: %d pin%s %s %s stored, but this plan has no update of parameters",
              plan_value_name(plan, first->place), n, n > 1 ? "s say how" : " says how", text.s,
              first->store == STORED_GRADIENT ? "is" : "are");
    plan_found_at(plan, &first->origin);
}

void store_find(Plan *plan)
{
    const Graph *graph = plan->inferred->graph;
    if (!graph->next_of) {
        look_for_step(plan);
        return;
    }
    look_at_parts(plan);
    StoredAlong along[MESH_AXES_MAX] = {{0}};
    for (int32_t t = 0; plan->decided->n_pins > 0 && t < graph->n_tensors; t++)
        look_at_gradient(plan, t, along);
    for (int a = 0; a < plan->mesh->n_axes; a++)
        if (along[a].n_equal > 0)
            report_axis(plan, a, &along[a]);
    for (int32_t op = 0; plan->decided->n_pins > 0 && op < graph->n_ops; op++)
        if (stored_updated(graph, op) >= 0)
            look_at_update(plan, op);
}
