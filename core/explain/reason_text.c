#include "core/explain/why_reshard.h"

#include "core/base/file.h"
#include "core/base/span.h"
#include "core/base/units.h"
#include "core/plan/assume.h"
#include "core/plan/origin.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ORDER REASON_KIND */
static const struct {
    const char *word, *name;
} kinds[] = {{"pin", "pin"},     {"fwd", "forward"}, {"bwd", "backward"},
             {"use", "use"},     {"sum", "partial"}, {"pass", "pass"},
             {"of", "gradient"}, {"loop", "loop"},   {"row", "chosen"}};

const char *reason_kind_name(ReasonKind kind)
{
    return kinds[kind].name;
}

const char *reason_root(const ReasonChain *chain)
{
    return chain->step[0].kind == REASON_CHOSEN ? "the op that chose it" : "its pin";
}

static void format_sharding(const Plan *plan, int32_t sharding, Buf *out)
{
    sharding_format(shardings_at(plan->shardings, sharding), plan->mesh, VIEW_OURS, out, NULL);
}

static void format_pin(const Plan *plan, const ReasonStep *step, Buf *out)
{
    const Graph *graph = plan->inferred->graph;
    if (step->tensor >= 0 && step->dim < 0)
        buf_printf(out, "%s assumed %s", tensor_name(graph, step->tensor),
                   assumed_name(step->pin->assumed));
    else if (step->tensor >= 0) {
        buf_printf(out, "%s dim %d", tensor_name(graph, step->tensor), step->dim);
        if (step->pin)
            decision_format_store(step->pin, out);
    } else
        buf_printf(out, "%s %s", op_path_or_name(plan->inferred->graph, step->op),
                   program_space(plan->inferred, step->op)->index[step->dim].name);
    if (!step->pin) {
        buf_puts(out, "  (follows the parameter that it is a view of)");
        return;
    }
    const Origin *origin = &step->pin->origin;
    buf_puts(out, "  ");
    if (origin->kind == ORIGIN_POLICY)
        origin_put_place(origin, out);
    else
        buf_puts(out, origin->kind == ORIGIN_USER ? "by the user" : "by search");
    buf_puts(out, "  ");
    origin_put_lua(plan->mesh, str_from(origin->text), out);
}

static void format_choice(const OpChoice *choice, Buf *out)
{
    buf_puts(out, ": its own choice");
    if (choice->us < 0 || isinf(choice->us))
        return;
    buf_puts(out, ", ");
    units_format_us(choice->us, out);
    buf_puts(out, " of resharding");
    if (isinf(choice->next_us))
        return;
    buf_puts(out, " (next best ");
    units_format_us(choice->next_us, out);
    buf_putc(out, ')');
}

/* "MatMul_2 h.0", the second part the module: its own name in it where that is the operator with a
 * number, which tells it from its neighbours; else "MatMul h.0", by the operator. */
void reason_put_op(const Graph *graph, int32_t op, Buf *out)
{
    const char *type = op_operator(graph, op), *own = path_base(op_name(graph, op));
    size_t n = strlen(type);
    bool numbered = op_path(graph, op)[0] && strncmp(own, type, n) == 0 && own[n] == '_' &&
                    own[n + 1] && strspn(own + n + 1, "0123456789") == strlen(own + n + 1);
    buf_printf(out, "%s %s", numbered ? own : type, op_path_or_name(graph, op));
}

void reason_format(const Plan *plan, const ReasonStep *step, int axis, Buf *out)
{
    const Graph *graph = plan->inferred->graph;
    buf_printf(out, "%-4s ", kinds[step->kind].word);
    if (step->kind == REASON_PIN) {
        format_pin(plan, step, out);
        return;
    }
    reason_put_op(graph, step->op, out);
    buf_puts(out, "  ");
    if (step->kind == REASON_USE || step->kind == REASON_CHOSEN || step->kind == REASON_GRADIENT) {
        const IndexDim *index = &program_space(plan->inferred, step->op)->index[step->dim];
        buf_printf(out, "%s%s sharded by ", index->name, index->role == ROLE_REDUCE ? "+" : "");
        mesh_put_axis(plan->mesh, axis, out);
        if (step->kind == REASON_GRADIENT) {
            buf_puts(out, " as in ");
            reason_put_op(graph, graph->of[step->op], out);
        }
        if (step->kind == REASON_CHOSEN)
            format_choice(&plan->propagated->choice[step->op], out);
        return;
    }
    buf_puts(out, "-> ");
    if (step->kind == REASON_BACKWARD || graph->ops[step->op].n_outputs > 1)
        buf_printf(out, "%s ", tensor_name(graph, step->tensor)); /* else the op's only output */
    bool resharded = step->dim >= 0 && plan_reached(plan, step->tensor) >= 0 &&
                     plan->moved->sharding[step->tensor] != plan_reached(plan, step->tensor);
    if (resharded && !(cut_atoms(&plan_sharding(plan, step->tensor)->dim[step->dim]) &
                       mesh_axis_atoms(plan->mesh, axis)))
        format_sharding(plan, plan_reached(plan, step->tensor), out);
    else
        format_sharding(plan,
                        step->dim < 0 ? plan->moved->made[step->tensor]
                                      : plan->moved->sharding[step->tensor],
                        out);
}

void reason_format_chain(const Plan *plan, const ReasonChain *chain, const char *indent, Buf *out)
{
    int64_t number = 1;
    for (int i = chain->n_steps - 1; i >= 0; i--, number++) {
        if (i == 0 && chain->n_left_out > 0) {
            buf_printf(out, "%s   .. %" PRId64 " more\n", indent, chain->n_left_out);
            number += chain->n_left_out;
        }
        size_t from = out->n;
        buf_printf(out, "%s%2" PRId64 " ", indent, number);
        buf_mark(out, from, SPAN_STEP, 0);
        reason_format(plan, &chain->step[i], chain->axis, out);
        buf_putc(out, '\n');
    }
}

/* "dim 1  768  whole": with the pin that makes it so, or the note that only its readers shard it.
 */
static void format_whole(const Plan *plan, int32_t tensor, int dim, Buf *out)
{
    const Decision *pin = plan_pin_of(plan, PIN_TENSOR_DIM, tensor, dim);
    int32_t reached = plan_reached(plan, tensor);
    buf_printf(out, "dim %d  %" PRId64 "  whole", dim,
               cut_size(&plan_sharding(plan, tensor)->dim[dim]));
    if (pin && !cut_is_whole(decision_cut(pin))) {
        buf_puts(out,
                 tensor_is_known(plan->inferred, tensor)
                     ? ", because every rank holds the whole constant; ops read it as pinned by "
                     : ", although a pin shards it: ");
        origin_put_place(&pin->origin, out);
    } else if (pin) {
        buf_puts(out, ", pinned whole by ");
        origin_put_place(&pin->origin, out);
    } else if (reached >= 0 && !cut_is_whole(&shardings_at(plan->shardings, reached)->dim[dim])) {
        buf_puts(out, " as its op produces it; its readers need it sharded");
    }
}

static const Cut *made_cut(const Plan *plan, int32_t tensor, int dim)
{
    return &shardings_at(plan->shardings, plan->moved->made[tensor])->dim[dim];
}

static void format_dim(const Plan *plan, int32_t tensor, int dim, Buf *out)
{
    const Cut *made = made_cut(plan, tensor, dim);
    ReasonChain *chains;
    Arena *scratch = arena_new();
    int n = why_tensor_dim(scratch, plan, tensor, dim, &chains);
    for (int i = 0; i < n; i++) {
        buf_printf(out, "dim %d  ", dim);
        AtomSet atoms = mesh_axis_atoms(plan->mesh, chains[i].axis);
        bool lies = cut_atoms(&plan_sharding(plan, tensor)->dim[dim]) & atoms;
        cut_format(lies ? &plan_sharding(plan, tensor)->dim[dim] : made, plan->mesh, out);
        buf_puts(out, lies ? "  sharded by " : "  as its op produces it, sharded by ");
        mesh_put_axis(plan->mesh, chains[i].axis, out);
        buf_printf(out, ", back to %s:\n", reason_root(&chains[i]));
        reason_format_chain(plan, &chains[i], "  ", out);
    }
    if (n == 0) {
        buf_printf(out, "dim %d  ", dim);
        cut_format(&plan_sharding(plan, tensor)->dim[dim], plan->mesh, out);
        buf_puts(out, "  sharded by the propagator itself: no chain leads back to a pin\n");
    }
    arena_free(scratch);
}

/* The dims that are sharded, each with its chains, then the whole ones in one line. */
static void format_dims(const Plan *plan, int32_t tensor, int dim, Buf *out)
{
    const Sharding *sharding = plan_sharding(plan, tensor);
    const char *between = "";
    for (int d = 0; d < sharding->n_dims; d++)
        if ((dim == -2 || dim == d) &&
            !(cut_is_whole(&sharding->dim[d]) && cut_is_whole(made_cut(plan, tensor, d))))
            format_dim(plan, tensor, d, out);
    for (int d = 0; d < sharding->n_dims; d++)
        if ((dim == -2 || dim == d) && cut_is_whole(&sharding->dim[d]) &&
            cut_is_whole(made_cut(plan, tensor, d))) {
            buf_puts(out, between);
            format_whole(plan, tensor, d, out);
            between = "   ";
        }
    if (between[0])
        buf_putc(out, '\n');
}

static void format_partial(const Plan *plan, int32_t tensor, Buf *out)
{
    ReasonChain *chains;
    Arena *scratch = arena_new();
    int n = why_tensor_dim(scratch, plan, tensor, -1, &chains);
    for (int i = 0; i < n; i++) {
        buf_puts(out, "partial over ");
        mesh_put_axis(plan->mesh, chains[i].axis, out);
        buf_putc(out, '\n');
        reason_format_chain(plan, &chains[i], "  ", out);
    }
    arena_free(scratch);
}

static void format_reshards(const Plan *plan, int32_t tensor, Buf *out)
{
    for (int i = 0; i < plan->moved->n_reshards; i++)
        if (plan->moved->reshards[i].tensor == tensor)
            why_reshard_format(plan, &plan->moved->reshards[i], out);
}

/* What is assumed to be reduced has no partial axis to explain. */
static void format_assumed(const Plan *plan, int32_t tensor, Buf *out)
{
    for (int axis = 0; axis < plan->mesh->n_axes; axis++) {
        const Decision *assumed = assumed_over(plan, tensor, mesh_axis_atoms(plan->mesh, axis));
        if (!assumed || assumed->assumed != ASSUMED_REDUCED)
            continue;
        buf_puts(out, "reduced over ");
        mesh_put_axis(plan->mesh, axis, out);
        buf_puts(out, "\n   1 ");
        ReasonStep step = {
            .kind = REASON_PIN, .tensor = tensor, .op = -1, .dim = -1, .pin = assumed};
        reason_format(plan, &step, axis, out);
        buf_putc(out, '\n');
    }
}

void why_format(const Plan *plan, int32_t tensor, int dim, Buf *out)
{
    const Inferred *inferred = plan->inferred;
    buf_printf(out, "%s  ", tensor_name(inferred->graph, tensor));
    if (plan->moved->sharding[tensor] < 0) {
        inferred_put_shape(inferred, tensor, out);
        buf_puts(out, "  replicated, because part of its shape is unknown\n");
        return;
    }
    buf_printf(out, "%s  ", dtype_name((Dtype)inferred->dtype[tensor]));
    format_sharding(plan, plan->moved->sharding[tensor], out);
    Shape local;
    sharding_local_shape(plan_sharding(plan, tensor), plan->mesh, 0, &local);
    buf_puts(out, "  local ");
    shape_format(&local, out);
    if (plan->moved->made[tensor] != plan->moved->sharding[tensor]) {
        buf_puts(out, "  made as ");
        format_sharding(plan, plan->moved->made[tensor], out);
    }
    int32_t gradient = plan_gradient(plan, tensor);
    if (gradient >= 0 && plan->moved->made[gradient] >= 0) {
        buf_puts(out, "  gradient ");
        format_sharding(plan, plan->moved->made[gradient], out);
    }
    buf_putc(out, '\n');
    if (dim == -2 || dim == -1) /* ORDER WHY: what has to be reduced first, then dims */
        format_partial(plan, tensor, out);
    format_dims(plan, tensor, dim, out);
    if (dim == -2 || dim == -1)
        format_assumed(plan, tensor, out);
    format_reshards(plan, tensor, out);
}
