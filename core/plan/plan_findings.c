#include "core/plan/plan_findings.h"

#include "core/base/intern.h"
#include "core/base/units.h"

#include <assert.h>
#include <inttypes.h>

typedef enum {
    STOP_NONE,
    STOP_WHOLE,
    STOP_FROZEN,
    STOP_PARTS,
    STOP_NESTING,
    STOP_CONFLICT,
    STOP_UNEVEN,
    STOP_EMPTY,
    STOP_PINNED
} Stop;

/* The first of a set of alike findings. */
typedef struct {
    Stop stop;
    int32_t op, tensor;
    int operand, dim, count;
} Alike;

typedef struct {
    Plan *plan;
    Intern *seen;
    Vec(Alike) alike;
} Gather;

void plan_find(Plan *plan, Level level, const char *code, int32_t op, int32_t tensor,
               const char *hint, const char *format, ...)
{
    Buf text = buf_new(plan->arena);
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    Finding finding = {.level = level, .code = code, .text = text.s, .hint = hint};
    finding.op = op;
    finding.tensor = tensor;
    vec_push(plan->arena, &plan->findings, finding);
}

/* Why the axes that cut a dim of the value do not cut it as the op reads it. */
static Stop stop_of(const Plan *plan, const OpSpace *space, int operand, int dim, const Cut *cut)
{
    const DimFactors *factors = &space->operand[operand].factors[dim];
    if (space->no_rule || factors->n == 0 || !factors->exact)
        return STOP_WHOLE;
    int64_t sizes[FACTORS_MAX];
    Cut part[FACTORS_MAX];
    AtomSet lost;
    for (int f = 0; f < factors->n; f++)
        sizes[f] = space->index[factors->index[f]].size;
    cut_split(cut, sizes, factors->n, plan->mesh, part, &lost);
    if (lost)
        return sizes[0] > 0 && space->index[factors->index[0]].role == ROLE_FROZEN ? STOP_PARTS
                                                                                   : STOP_NESTING;
    for (int f = 0; f < factors->n; f++)
        if (!cut_is_whole(&part[f]) && space->index[factors->index[f]].role == ROLE_FROZEN)
            return STOP_FROZEN;
    return STOP_CONFLICT;
}

static void count_alike(Gather *g, const Alike *alike, const int64_t key[6])
{
    int32_t id = intern_put(g->seen, key, 6 * sizeof *key);
    if (id == g->alike.n)
        vec_push(g->plan->arena, &g->alike, *alike);
    assert(g->alike.at);
    g->alike.at[id].count++;
}

static bool is_stored_pin(const Plan *plan, int32_t tensor, int dim)
{
    const Decision *pin = plan_pin_of(plan, PIN_TENSOR_DIM, tensor, dim);
    return pin && pin->store;
}

static void look_at_use(Gather *g, int32_t op, int operand)
{
    const Plan *plan = g->plan;
    const Graph *graph = plan->inferred->graph;
    int32_t t = op_inputs(graph, op)[operand],
            need = plan->moved->need[graph->ops[op].input + operand];
    if (t < 0 || need < 0 || plan->moved->sharding[t] < 0 || need == plan->moved->sharding[t])
        return;
    const Sharding *from = plan_sharding(plan, t), *to = shardings_at(plan->shardings, need);
    for (int d = 0; d < from->n_dims; d++) {
        if (cut_refines(&to->dim[d], &from->dim[d], plan->mesh))
            continue;
        Alike alike = {.op = op, .tensor = t, .operand = operand, .dim = d};
        alike.stop = stop_of(plan, program_space(plan->inferred, op), operand, d, &from->dim[d]);
        if (is_stored_pin(plan, t, d))
            continue; /* gathered at use is what was asked */
        int64_t key[6] = {alike.stop, plan->inferred->space[op], operand,
                          d,          plan->moved->sharding[t],  need};
        count_alike(g, &alike, key);
    }
}

static void look_at_tensor(Gather *g, int32_t t)
{
    const Plan *plan = g->plan;
    if (plan->moved->sharding[t] < 0)
        return;
    const Sharding *sharding = plan_sharding(plan, t);
    for (int d = 0; d < sharding->n_dims; d++) {
        if (!cut_is_uneven(&sharding->dim[d], plan->mesh))
            continue;
        bool empty = cut_local_size(&sharding->dim[d], plan->mesh, plan->mesh->n_devices - 1) == 0;
        Alike alike = {.stop = empty ? STOP_EMPTY : STOP_UNEVEN, .op = -1, .tensor = t, .dim = d};
        int64_t key[6] = {alike.stop, plan->moved->sharding[t], d, plan->inferred->dtype[t], 0, 0};
        count_alike(g, &alike, key);
    }
}

/* A closed dim that its maker leaves otherwise: the value is moved to where the pin wants it. */
static void look_at_pins(Gather *g)
{
    const Plan *plan = g->plan;
    for (int i = 0; i < plan->decided->n_pins; i++) {
        const Decision *pin = plan->decided->pins[i];
        int32_t t = pin->place;
        if (pin->kind != PIN_TENSOR_DIM || pin->store || plan->moved->sharding[t] < 0 ||
            plan->moved->made[t] == plan->moved->sharding[t])
            continue;
        const Sharding *made = shardings_at(plan->shardings, plan->moved->made[t]);
        if (cut_equal(&made->dim[pin->dim], &plan_sharding(plan, t)->dim[pin->dim]))
            continue;
        Alike alike = {.stop = STOP_PINNED, .op = -1, .tensor = t, .dim = pin->dim};
        int64_t key[6] = {
            STOP_PINNED, plan->moved->made[t], plan->moved->sharding[t], pin->dim, 0, 0};
        count_alike(g, &alike, key);
    }
}

static void others(const Alike *alike, Buf *out)
{
    if (alike->count > 1)
        buf_printf(out, " (and %d more like it)", alike->count - 1);
}

/* "dim 2 of X is 3 parts of 768, and a cut by tp=4 does not keep to them" */
static void say_parts(Plan *plan, const Alike *alike, Buf *out)
{
    const OpSpace *space = program_space(plan->inferred, alike->op);
    const Operand *operand = &space->operand[alike->operand];
    int64_t parts = space->index[operand->factors[alike->dim].index[0]].size;
    buf_printf(out, "%s %s: dim %d of %s is %" PRId64 " parts of %" PRId64 ", and a cut by ",
               op_operator(plan->inferred->graph, alike->op),
               op_path_or_name(plan->inferred->graph, alike->op), alike->dim,
               tensor_name(plan->inferred->graph, alike->tensor), parts,
               operand->shape.dim[alike->dim] / parts);
    mesh_format_sizes(plan->mesh, cut_atoms(&plan_sharding(plan, alike->tensor)->dim[alike->dim]),
                      out);
    buf_puts(out, " does not keep to them: it is moved");
    others(alike, out);
}

/* "768 = 12 x 64 does not divide by tp=8" */
static void say_nesting(Plan *plan, const Alike *alike, Buf *out)
{
    const OpSpace *space = program_space(plan->inferred, alike->op);
    const DimFactors *factors = &space->operand[alike->operand].factors[alike->dim];
    const Cut *cut = &plan_sharding(plan, alike->tensor)->dim[alike->dim];
    buf_printf(out, "%s %s: dim %d of %s is ", op_operator(plan->inferred->graph, alike->op),
               op_path_or_name(plan->inferred->graph, alike->op), alike->dim,
               tensor_name(plan->inferred->graph, alike->tensor));
    for (int f = 0; f < factors->n; f++)
        buf_printf(out, "%s%" PRId64, f ? " x " : "", space->index[factors->index[f]].size);
    buf_puts(out, ", which does not divide by ");
    mesh_format_sizes(plan->mesh, cut_atoms(cut), out);
    buf_puts(out, ": what does not fit is gathered");
    others(alike, out);
}

static void say_gathered(Plan *plan, const Alike *alike, const char *why, Buf *out)
{
    buf_printf(out, "%s %s needs dim %d of %s ", op_operator(plan->inferred->graph, alike->op),
               op_path_or_name(plan->inferred->graph, alike->op), alike->dim,
               tensor_name(plan->inferred->graph, alike->tensor));
    buf_printf(out, "otherwise than it is made: %s", why);
    others(alike, out);
}

static void say_uneven(Plan *plan, const Alike *alike, Buf *out)
{
    const Sharding *sharding = plan_sharding(plan, alike->tensor);
    const Cut *cut = &sharding->dim[alike->dim];
    int64_t last = plan->mesh->n_devices - 1, dim = alike->dim;
    int64_t first_size = cut_local_size(cut, plan->mesh, 0);
    int64_t last_size = cut_local_size(cut, plan->mesh, last);
    Shape local;
    sharding_local_shape(sharding, plan->mesh, last, &local);
    local.dim[dim] = first_size - last_size;
    buf_printf(out, "dim %d of %s is uneven: ", alike->dim,
               tensor_name(plan->inferred->graph, alike->tensor));
    cut_format(cut, plan->mesh, out);
    buf_printf(out, " gives %" PRId64 " on the first rank, %" PRId64 " on the last (", first_size,
               last_size);
    units_format_bytes(
        dtype_bytes((Dtype)plan->inferred->dtype[alike->tensor], shape_elements(&local)), out);
    buf_puts(out, " padded there)");
    others(alike, out);
}

static void say_pinned(Plan *plan, const Alike *alike, Buf *out)
{
    const Sharding *made = shardings_at(plan->shardings, plan->moved->made[alike->tensor]);
    buf_printf(out, "dim %d of %s is pinned ", alike->dim,
               tensor_name(plan->inferred->graph, alike->tensor));
    cut_format(&plan_sharding(plan, alike->tensor)->dim[alike->dim], plan->mesh, out);
    buf_puts(out, ", but made ");
    cut_format(&made->dim[alike->dim], plan->mesh, out);
    buf_puts(out, ": it is moved");
    others(alike, out);
}

void plan_found_at(Plan *plan, const Origin *origin)
{
    Finding *finding = &plan->findings.at[plan->findings.n - 1];
    finding->file = origin->file;
    finding->line = origin->line;
}

/* Where the dim was pinned, if it was. */
static void at_pin(Plan *plan, const Alike *alike)
{
    const Decision *pin =
        alike->tensor < 0 ? NULL : plan_pin_of(plan, PIN_TENSOR_DIM, alike->tensor, alike->dim);
    Finding *finding = &plan->findings.at[plan->findings.n - 1];
    finding->file = pin ? pin->origin.file : NULL;
    finding->line = pin ? pin->origin.line : 0;
}

static void say(Plan *plan, const Alike *alike)
{
    Buf text = buf_new(plan->arena);
    const char *code = "", *hint = "";
    Level level = LEVEL_NOTE;
    switch (alike->stop) {
    case STOP_NESTING:
        say_nesting(plan, alike, &text);
        code = "does-not-divide";
        hint =
            "use a number of devices that divides it, a sub-axis such as tp:(1)4, or unit= to keep "
            "whole blocks on a rank";
        level = LEVEL_WARNING;
        break;
    case STOP_PARTS:
        say_parts(plan, alike, &text);
        code = "does-not-divide";
        hint = "cut each part: {axis=.., interleave=N} with as many parts on the weight before it";
        level = LEVEL_WARNING;
        break;
    case STOP_FROZEN:
        say_gathered(plan, alike, "this op never cuts that dim", &text);
        code = "frozen";
        break;
    case STOP_WHOLE:
        say_gathered(plan, alike, "it reads that dim whole", &text);
        code = "frozen";
        break;
    case STOP_CONFLICT:
        say_gathered(plan, alike,
                     plan->propagator->by_op ? "the row chosen for the op reads it so"
                                             : "the op is cut by other axes there",
                     &text);
        code = "conflict";
        hint = plan->propagator->by_op
                   ? "dimscope rule shows an operator's rows, and what they cost"
                   : "pin the op's index dim, or the value, to choose otherwise";
        break;
    case STOP_UNEVEN:
        say_uneven(plan, alike, &text);
        code = "uneven";
        hint = "the shorter ranks wait; a size that the axes divide wastes nothing";
        break;
    case STOP_EMPTY:
        say_uneven(plan, alike, &text);
        code = "empty";
        hint = "the last ranks hold nothing: use fewer devices there";
        level = LEVEL_WARNING;
        break;
    case STOP_PINNED:
        say_pinned(plan, alike, &text);
        code = "pin-moves";
        hint = "pin it as it is made, leave it open (open = true), or pin the op's index dim";
        break;
    case STOP_NONE:
        return;
    }
    plan_find(plan, level, code, alike->op, alike->tensor, hint, "%s", text.s);
    at_pin(plan, alike);
}

/* A tensor that is to stay partial, which nothing makes so. Other propagators say which marks they
 * do not look at. */
static void look_at_marks(Plan *plan)
{
    for (int i = 0; i < plan->decided->n_marks; i++) {
        const Decision *mark = plan->decided->marks[i];
        if (mark->kind != PIN_UNREDUCED || !plan->propagator->obeys_unreduced ||
            plan->moved->sharding[mark->place] < 0)
            continue;
        AtomSet missing = mark->axes & ~sharding_partials(plan_sharding(plan, mark->place));
        if (missing == 0)
            continue;
        Buf axes = buf_new(plan->arena);
        mesh_format_set(plan->mesh, missing, ".", &axes);
        plan_find(plan, LEVEL_WARNING, "not-partial", -1, mark->place,
                  "cut an index dim by it that the op sums over",
                  "nothing leaves %s partial over %s: the mark only keeps it from being cut so",
                  tensor_name(plan->inferred->graph, mark->place), axes.s);
        plan_found_at(plan, &mark->origin);
    }
}

void plan_add_findings(Plan *plan)
{
    const Inferred *inferred = plan->inferred;
    Gather g = {.plan = plan, .seen = intern_new(plan->arena)};
    for (int i = 0; i < plan->moved->n_reshards; i++)
        for (int u = 0; u < plan->moved->reshards[i].n_uses; u++) {
            int32_t op = plan->moved->reshard_uses[plan->moved->reshards[i].use + u];
            for (int o = 0; o < inferred->graph->ops[op].n_inputs; o++)
                if (op_inputs(inferred->graph, op)[o] == plan->moved->reshards[i].tensor)
                    look_at_use(&g, op, o);
        }
    for (int t = 0; t < inferred->graph->n_tensors; t++)
        look_at_tensor(&g, t);
    look_at_pins(&g);
    for (int i = 0; i < g.alike.n; i++)
        say(plan, &g.alike.at[i]);
    look_at_marks(plan);
}
