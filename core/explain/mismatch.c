#include "core/explain/mismatch.h"

#include "core/base/units.h"
#include "core/explain/reason.h"
#include "core/plan/plan_findings.h"
#include "core/plan/window_cut.h"
#include "core/space/dim_part.h"

#include <assert.h>
#include <inttypes.h>

/* What is wrong with one dim of a value. ORDER MISMATCH */
typedef enum {
    MISMATCH_WHOLE,
    MISMATCH_WINDOW,
    MISMATCH_FROZEN,
    MISMATCH_CONFLICT,
    MISMATCH_PARTS,
    MISMATCH_NESTING,
    MISMATCH_UNEVEN,
    MISMATCH_EMPTY,
    MISMATCH_PINNED
} Mismatch;

enum { NAMED_MAX = 2 };

/* Findings that differ only in their op and tensor, of which these are the first. Those of uneven
 * dims differ in size too: they are by the same axes. */
typedef struct {
    Mismatch mismatch;
    int32_t op, tensor;
    int32_t from, to; /* Shardings ids: what the value has, and what it is resharded to */
    int operand, dim, count;
    int n_named;
    int32_t named[NAMED_MAX];       /* tensors other than the first */
    const Decision *winner, *loser; /* pins that want the same axis there; NULL if they are not two
                                     */
} FindingGroup;

typedef struct {
    Plan *plan;
    bool pins_behind_forward;
    Intern *seen;
    Vec(FindingGroup) groups;
} FindingGroups;

/* Why the op cannot read the dim with the axes that shard it. */
static Mismatch mismatch_of(const Plan *plan, const OpSpace *space, int operand, int dim,
                            const Cut *cut)
{
    const DimFactors *factors = &space->operand[operand].factors[dim];
    Cut read;
    if (space->no_rule)
        return MISMATCH_WHOLE;
    if (factors->n == 0 || !factors->exact)
        return window_is_wide(space, operand, dim, cut, plan->mesh, &read) ? MISMATCH_WINDOW
                                                                           : MISMATCH_WHOLE;
    int64_t sizes[DIGITS_MAX];
    Cut part[FACTORS_MAX];
    AtomSet lost;
    for (int f = 0; f < factors->n; f++)
        sizes[f] = space->index[factors->index[f]].size;
    cut_split(cut, sizes, factors->n, plan->mesh, part, &lost);
    if (lost)
        return sizes[0] > 0 && space->index[factors->index[0]].role == ROLE_FROZEN
                   ? MISMATCH_PARTS
                   : MISMATCH_NESTING;
    for (int f = 0; f < factors->n; f++)
        if (!cut_is_whole(&part[f]) && space->index[factors->index[f]].role == ROLE_FROZEN)
            return dim_parts(space, factors->index[f], sizes, DIGITS_MAX) ? MISMATCH_PARTS
                                                                          : MISMATCH_FROZEN;
    return MISMATCH_CONFLICT;
}

/* ---- which pin wins ---- */

/* A pin that gave one of the axes to an index dim of the op, of those in the set; NULL if none. */
static const Decision *pin_of_op(const Plan *plan, int32_t op, uint32_t indices, AtomSet atoms)
{
    const OpCut *cut = plan_cut(plan, op);
    for (int a = 0; cut && a < plan->mesh->n_axes; a++)
        for (int i = 0; i < cut->n; i++) {
            AtomSet its = mesh_axis_atoms(plan->mesh, a) & atoms & cut_atoms(&cut->index[i]);
            const Decision *pin = (indices >> i & 1) && its ? why_pin(plan, a, -1, op, i) : NULL;
            if (pin)
                return pin;
        }
    return NULL;
}

/* The pin that the op follows where the value's axes `lost` do not reach it by this dim: it gave
 * them to another index dim, or this dim other axes, or it pins the index dim. */
static const Decision *winner_at(const Plan *plan, int32_t op, int operand, int dim, AtomSet lost,
                                 AtomSet gained)
{
    const OpSpace *space = program_space(plan->inferred, op);
    const DimFactors *factors = &space->operand[operand].factors[dim];
    uint32_t here = 0;
    for (int f = 0; f < factors->n; f++)
        here |= 1u << factors->index[f];
    const Decision *pin = pin_of_op(plan, op, ~0u, lost);
    pin = pin ? pin : pin_of_op(plan, op, here, gained);
    for (int f = 0; f < factors->n && !pin; f++)
        pin = plan_pin_of(plan, PIN_INDEX_DIM, op, factors->index[f]);
    return pin;
}

/* The pin that sharded a dim of a value by one of the axes; NULL if none did. */
static const Decision *pin_of_dim(const Plan *plan, int32_t tensor, int dim, AtomSet atoms)
{
    const Decision *pin = NULL;
    for (int a = 0; a < plan->mesh->n_axes && !pin; a++)
        if (mesh_axis_atoms(plan->mesh, a) & atoms)
            pin = why_pin(plan, a, tensor, -1, dim);
    return pin;
}

static AtomSet atoms_without(const Cut *cut, const Cut *other)
{
    return cut_atoms(cut) & ~cut_atoms(other);
}

static void name_pins(FindingGroup *first, const Decision *winner, const Decision *loser)
{
    if (!winner || !loser || winner == loser)
        return;
    first->winner = winner;
    first->loser = loser;
}

/* Stands for the place of a pin in the key of a group. */
static int64_t pin_key(const Decision *pin)
{
    return pin ? 1 + 4 * (int64_t)pin->origin.line + (int64_t)pin->origin.kind : 0;
}

/* ---- groups ---- */

typedef struct {
    int64_t words[8];
} GroupKey;

static void add_to_group(FindingGroups *g, const FindingGroup *first, GroupKey key)
{
    key.words[6] = pin_key(first->winner);
    key.words[7] = pin_key(first->loser);
    int32_t id = intern_put(g->seen, &key, sizeof key);
    if (id == g->groups.n)
        vec_push(g->plan->arena, &g->groups, *first);
    assert(g->groups.at);
    FindingGroup *group = &g->groups.at[id];
    group->count++;
    int32_t last = group->n_named > 0 ? group->named[group->n_named - 1] : group->tensor;
    if (first->tensor != last && group->n_named < NAMED_MAX)
        group->named[group->n_named++] = first->tensor;
}

static bool is_stored_pin(const Plan *plan, int32_t tensor, int dim)
{
    return plan_store_pin_of(plan, tensor, dim) != NULL;
}

static bool any_pin_behind_forward(const Plan *plan)
{
    for (int i = 0; plan->inferred->graph->phase && i < plan->decided->n_pins; i++)
        if (decision_is_behind_forward(plan->inferred, plan->decided->pins[i]))
            return true;
    return false;
}

/* Whether nobody could decide it otherwise: an op behind the forward pass is sharded as the op that
 * it comes of, and moves back what that one moves, unless a pin behind the forward pass says so. */
static bool only_follows(const Plan *plan, const FindingGroup *first)
{
    const Inferred *inferred = plan->inferred;
    bool is_note = first->mismatch <= MISMATCH_CONFLICT;
    const uint8_t *phase = inferred->graph->phase;
    return is_note && phase && phase[first->op] != PHASE_FORWARD &&
           !(first->winner && (decision_is_behind_forward(inferred, first->winner) ||
                               decision_is_behind_forward(inferred, first->loser)));
}

static void look_at_use(FindingGroups *g, int32_t op, int operand)
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
        if (is_stored_pin(plan, t, d))
            continue; /* the pin asks for a parameter that is gathered where it is used */
        FindingGroup first = {.op = op, .tensor = t, .operand = operand, .dim = d};
        first.from = plan->moved->sharding[t];
        first.to = need;
        first.mismatch =
            mismatch_of(plan, program_space(plan->inferred, op), operand, d, &from->dim[d]);
        if (!g->pins_behind_forward && only_follows(plan, &first))
            continue; /* whatever its pins are */
        AtomSet lost = atoms_without(&from->dim[d], &to->dim[d]);
        if (first.mismatch == MISMATCH_CONFLICT)
            name_pins(
                &first,
                winner_at(plan, op, operand, d, lost, atoms_without(&to->dim[d], &from->dim[d])),
                pin_of_dim(plan, t, d, lost));
        if (only_follows(plan, &first))
            continue;
        add_to_group(
            g, &first,
            (GroupKey){{first.mismatch, plan->inferred->space[op], operand, d, first.from, need}});
    }
}

/* The axes of digits that they do not divide, unless sizes are given; 0 if the cut is even. */
static AtomSet uneven_atoms(const Cut *cut, const Mesh *mesh)
{
    AtomSet uneven = 0;
    for (int i = 0; i < cut->n; i++) {
        AtomSet atoms = 0;
        for (int a = 0; a < cut->digit[i].n; a++)
            atoms |= (AtomSet)1 << cut->digit[i].atom[a];
        if (!cut->digit[i].weights && cut->digit[i].size % mesh_atoms_size(mesh, atoms) != 0)
            uneven |= atoms;
    }
    return uneven;
}

static void look_at_tensor(FindingGroups *g, int32_t t)
{
    const Plan *plan = g->plan;
    if (plan->moved->sharding[t] < 0)
        return;
    const Sharding *sharding = plan_sharding(plan, t);
    for (int d = 0; d < sharding->n_dims; d++) {
        AtomSet uneven = uneven_atoms(&sharding->dim[d], plan->mesh);
        if (uneven == 0)
            continue;
        bool empty = cut_local_size(&sharding->dim[d], plan->mesh, plan->mesh->n_devices - 1) == 0;
        FindingGroup first = {.op = -1, .tensor = t, .dim = d};
        first.mismatch = empty ? MISMATCH_EMPTY : MISMATCH_UNEVEN;
        add_to_group(g, &first, (GroupKey){{first.mismatch, (int64_t)uneven}});
    }
}

/* The pin that the op which makes a value follows instead of the value's own. */
static const Decision *winner_at_maker(const Plan *plan, int32_t tensor, int dim)
{
    const Graph *graph = plan->inferred->graph;
    int32_t op = graph->tensors[tensor].maker;
    if (op < 0 || inferred_is_host(plan->inferred, op))
        return NULL;
    int output = 0;
    while (op_outputs(graph, op)[output] != tensor)
        output++;
    const Cut *pinned = &plan_sharding(plan, tensor)->dim[dim];
    const Cut *made = &shardings_at(plan->shardings, plan->moved->made[tensor])->dim[dim];
    return winner_at(plan, op, graph->ops[op].n_inputs + output, dim, atoms_without(pinned, made),
                     atoms_without(made, pinned));
}

/* Pinned dims that the value's op makes with another sharding: the value is resharded. */
static void look_at_pins(FindingGroups *g)
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
        FindingGroup first = {.mismatch = MISMATCH_PINNED, .op = -1, .tensor = t, .dim = pin->dim};
        first.from = plan->moved->made[t];
        first.to = plan->moved->sharding[t];
        name_pins(&first, winner_at_maker(plan, t, pin->dim), pin);
        add_to_group(g, &first, (GroupKey){{MISMATCH_PINNED, first.from, first.to, pin->dim}});
    }
}

/* ": all-gather over tp inserted (12.0 MiB)": the reshard of the group's first value and the bytes
 * that one rank sends in it. Nothing if there is no such reshard. */
static void put_reshard(const Plan *plan, const FindingGroup *first, Buf *out)
{
    const ReshardPath *path = NULL;
    for (int i = 0; i < plan->moved->n_reshards && !path; i++) {
        const Reshard *reshard = &plan->moved->reshards[i];
        if (reshard->tensor == first->tensor && reshard->from == first->from &&
            reshard->to == first->to)
            path = reshard->path;
    }
    const char *between = ": ";
    for (int s = 0; path && s < path->n_steps; s++) {
        const Step *step = &path->step[s];
        if (step->kind == STEP_SLICE && path->wire_bytes > 0)
            continue;
        buf_puts(out, between);
        for (const char *c = step_kind_name(step->kind); *c; c++)
            buf_putc(out, *c == '_' ? '-' : *c);
        buf_puts(out, step->atoms ? " over " : "");
        mesh_format_set(plan->mesh, step->atoms, ".", out);
        between = ", then ";
    }
    if (!path || path->n_steps == 0)
        return;
    buf_puts(out, " inserted");
    if (path->wire_bytes == 0)
        return;
    buf_puts(out, " (");
    units_format_bytes(path->wire_bytes, out);
    buf_putc(out, ')');
}

/* "dim 2 of X" */
static void put_dim(const Plan *plan, const FindingGroup *first, Buf *out)
{
    buf_printf(out, "dim %d of %s", first->dim, plan_value_name(plan, first->tensor));
}

/* "MatMul h.0.attn" */
static void put_op(const Plan *plan, const FindingGroup *first, Buf *out)
{
    buf_printf(out, "%s %s", op_operator(plan->inferred->graph, first->op),
               op_path_or_name(plan->inferred->graph, first->op));
}

/* Whether a value that was sharded by some axes is needed sharded by others, or whole. */
static bool is_plain(const Cut *from, const Cut *to)
{
    return from->n == 1 && to->n == 1 && cut_atoms(from) != cut_atoms(to);
}

/* "X is sharded on dim 1 by tp but MatMul h.0 needs " */
static void put_has(const Plan *plan, const FindingGroup *first, Buf *out)
{
    const Cut *from = &shardings_at(plan->shardings, first->from)->dim[first->dim];
    bool plain = is_plain(from, &shardings_at(plan->shardings, first->to)->dim[first->dim]);
    buf_printf(out, "%s is sharded on dim %d %s ", plan_value_name(plan, first->tensor), first->dim,
               plain ? "by" : "as");
    if (plain)
        mesh_format_set(plan->mesh, cut_atoms(from), ".", out);
    else
        cut_format(from, plan->mesh, out);
    buf_puts(out, " but ");
    put_op(plan, first, out);
    buf_puts(out, " needs ");
}

/* "X is sharded on dim 1 by tp but MatMul h.0 needs it whole" */
static void put_need(const Plan *plan, const FindingGroup *first, Buf *out)
{
    const Cut *to = &shardings_at(plan->shardings, first->to)->dim[first->dim];
    bool plain = is_plain(&shardings_at(plan->shardings, first->from)->dim[first->dim], to);
    put_has(plan, first, out);
    buf_puts(out, cut_is_whole(to) ? "it whole" : plain ? "it sharded by " : "");
    if (plain)
        mesh_format_set(plan->mesh, cut_atoms(to), ".", out);
    else if (!cut_is_whole(to))
        cut_format(to, plan->mesh, out);
}

/* "dim 2 of X holds 3 parts of 768 for Split h.0, and sharding it by tp=4 splits across them"
 */
static void put_parts(const Plan *plan, const FindingGroup *first, Buf *out)
{
    const OpSpace *space = program_space(plan->inferred, first->op);
    const Operand *operand = &space->operand[first->operand];
    int index = operand->factors[first->dim].index[0];
    int64_t sizes[DIGITS_MAX], parts = space->index[index].size;
    int n = dim_parts(space, index, sizes, DIGITS_MAX);
    put_dim(plan, first, out);
    buf_puts(out, " holds ");
    if (n > 0)
        dim_parts_format(sizes, n, out);
    else
        buf_printf(out, "%" PRId64 " parts of %" PRId64, parts,
                   operand->shape.dim[first->dim] / parts);
    buf_puts(out, " for ");
    put_op(plan, first, out);
    buf_puts(out, ", and sharding it by ");
    mesh_format_sizes(plan->mesh, cut_atoms(&plan_sharding(plan, first->tensor)->dim[first->dim]),
                      out);
    buf_puts(out, " splits across them");
}

/* "dim 2 of X is 12 x 64 for Reshape h.0, which does not divide by tp=8" */
static void put_nesting(const Plan *plan, const FindingGroup *first, Buf *out)
{
    const OpSpace *space = program_space(plan->inferred, first->op);
    const DimFactors *factors = &space->operand[first->operand].factors[first->dim];
    put_dim(plan, first, out);
    for (int f = 0; f < factors->n; f++)
        buf_printf(out, "%s%" PRId64, f ? " x " : " is ", space->index[factors->index[f]].size);
    buf_puts(out, " for ");
    put_op(plan, first, out);
    buf_puts(out, ", which does not divide by ");
    mesh_format_sizes(plan->mesh, cut_atoms(&plan_sharding(plan, first->tensor)->dim[first->dim]),
                      out);
}

/* "X is sharded on dim 1 by tp but Conv h.0 needs a halo of 5 before and 5 after, wider than .." */
static void put_window(const Plan *plan, const FindingGroup *first, Buf *out)
{
    const Cut *from = &shardings_at(plan->shardings, first->from)->dim[first->dim];
    Cut read;
    if (!window_is_wide(program_space(plan->inferred, first->op), first->operand, first->dim, from,
                        plan->mesh, &read))
        return;
    put_has(plan, first, out);
    window_format_wide(&read, plan->mesh, out);
}

static void put_uneven(const Plan *plan, const FindingGroup *first, Buf *out)
{
    const Sharding *sharding = plan_sharding(plan, first->tensor);
    const Cut *cut = &sharding->dim[first->dim];
    int64_t last = plan->mesh->n_devices - 1;
    int64_t first_size = cut_local_size(cut, plan->mesh, 0);
    int64_t last_size = cut_local_size(cut, plan->mesh, last);
    Shape padding;
    sharding_local_shape(sharding, plan->mesh, last, &padding);
    padding.dim[first->dim] = first_size - last_size;
    put_dim(plan, first, out);
    buf_puts(out, " is uneven: ");
    cut_format(cut, plan->mesh, out);
    buf_printf(out, " gives %" PRId64 " on the first rank, %" PRId64 " on the last (", first_size,
               last_size);
    units_format_bytes(
        dtype_bytes((Dtype)plan->inferred->dtype[first->tensor], shape_elements(&padding)), out);
    buf_puts(out, " padded there)");
}

/* "dim 1 of X is pinned 256, but its op produces 256/tp" */
static void put_pinned(const Plan *plan, const FindingGroup *first, Buf *out)
{
    put_dim(plan, first, out);
    buf_puts(out, " is pinned ");
    cut_format(&shardings_at(plan->shardings, first->to)->dim[first->dim], plan->mesh, out);
    buf_puts(out, ", but its op produces ");
    cut_format(&shardings_at(plan->shardings, first->from)->dim[first->dim], plan->mesh, out);
}

/* "the pin of A dim 1 (a.lua:4)" */
static void put_pin(const Plan *plan, const char *the, const Decision *pin, Buf *out)
{
    const Graph *graph = plan->inferred->graph;
    bool tensor = pin->kind == PIN_TENSOR_DIM;
    buf_printf(out, "%s of %s ", the,
               tensor ? plan_value_name(plan, pin->place) : op_path_or_name(graph, pin->place));
    if (tensor)
        buf_printf(out, "dim %d", pin->dim);
    else
        buf_puts(out, program_space(plan->inferred, pin->place)->index[pin->dim].name);
    buf_printf(out, " (%s)", plan_origin_text(plan->arena, &pin->origin));
}

static const struct {
    const char *code;
    Level level;
    void (*put)(const Plan *plan, const FindingGroup *first, Buf *out);
    const char *hint;
} rows[] = {
    /* ORDER MISMATCH */
    {"frozen", LEVEL_NOTE, put_need,
     "the op reads that dim whole: shard another dim of the value to save the reshard"},
    {"frozen", LEVEL_NOTE, put_window,
     "shard it by fewer devices, so that only neighbours exchange borders, or shard another dim"},
    {"frozen", LEVEL_NOTE, put_need,
     "the op cannot take that dim sharded this way: shard another dim of the value to save the "
     "reshard"},
    {"conflict", LEVEL_NOTE, put_need, NULL}, /* hint_of_conflict() */
    {"does-not-divide", LEVEL_WARNING, put_parts,
     "shard each part: {axis=.., interleave=N} with as many parts on the weight before it"},
    {"does-not-divide", LEVEL_WARNING, put_nesting,
     "use a number of devices that divides it, a sub-axis such as tp:(1)4, or unit= to keep "
     "whole blocks on a rank"},
    {"uneven", LEVEL_NOTE, put_uneven,
     "ranks with less work wait; a size that the axes divide wastes nothing"},
    {"empty", LEVEL_WARNING, put_uneven, "the last ranks hold nothing: use fewer devices there"},
    {"pin-moves", LEVEL_NOTE, put_pinned,
     "pin it as its op produces it, leave it open (open = true), or pin the op's index dim"},
};

/* " (and 79 more like it)", " (and 79 more dims by dp: A, B, ..)" */
static void put_more(const Plan *plan, const FindingGroup *first, Buf *out)
{
    int more = first->count - 1;
    if (more == 0)
        return;
    buf_printf(out, " (and %d more ", more);
    if (first->mismatch != MISMATCH_UNEVEN && first->mismatch != MISMATCH_EMPTY) {
        buf_puts(out, "like it)");
        return;
    }
    buf_puts(out, more > 1 ? "dims by " : "dim by ");
    const Cut *cut = &plan_sharding(plan, first->tensor)->dim[first->dim];
    mesh_format_set(plan->mesh, uneven_atoms(cut, plan->mesh), ".", out);
    for (int i = 0; i < first->n_named; i++)
        buf_printf(out, "%s%s", i > 0 ? ", " : ": ", plan_value_name(plan, first->named[i]));
    buf_puts(out, more > first->n_named ? ", ..)" : ")");
}

static const char *hint_of_conflict(const Plan *plan, const FindingGroup *first)
{
    const Cut *from = &shardings_at(plan->shardings, first->from)->dim[first->dim];
    const Cut *to = &shardings_at(plan->shardings, first->to)->dim[first->dim];
    const OpCut *cut = plan_cut(plan, first->op);
    AtomSet lost = atoms_without(from, to);
    if (!cut_is_whole(to))
        return "the op is sharded by other axes on that dim: pin its index dim, or the value, to "
               "choose another sharding";
    for (int i = 0; cut && i < cut->n; i++)
        if (cut_atoms(&cut->index[i]) & lost)
            return "the axis shards another index dim of the op: pin that index dim, or the value, "
                   "to choose another sharding";
    return "the op does not use the axis, since that would cost more, such as a partial sum: pin "
           "its index dim to use it all the same, or pin the value";
}

static const char *hint_of(const Plan *plan, const FindingGroup *first)
{
    if (first->winner)
        return "remove one of the two pins, or use another axis in one of them";
    if (first->mismatch == MISMATCH_CONFLICT && plan->propagator->by_op)
        return "the strategy chosen for the op needs this: dimscope rule shows the strategies of "
               "an operator and what they cost";
    if (first->mismatch == MISMATCH_CONFLICT)
        return hint_of_conflict(plan, first);
    return rows[first->mismatch].hint;
}

static void find_group(Plan *plan, const FindingGroup *first)
{
    Buf text = buf_new(plan->arena);
    rows[first->mismatch].put(plan, first, &text);
    if (first->to != first->from)
        put_reshard(plan, first, &text);
    if (first->winner) {
        put_pin(plan, "; the pin", first->winner, &text);
        put_pin(plan, " wins, the pin", first->loser, &text);
        buf_puts(&text, " loses");
    }
    put_more(plan, first, &text);
    plan_find(plan, rows[first->mismatch].level, rows[first->mismatch].code, first->op,
              first->tensor, hint_of(plan, first), "%s", text.s);
    const Decision *pin =
        first->loser ? first->loser : plan_pin_of(plan, PIN_TENSOR_DIM, first->tensor, first->dim);
    if (pin)
        plan_found_at(plan, &pin->origin);
}

/* Tensors marked unreduced that no op leaves partial. */
static void look_at_marks(Plan *plan)
{
    for (int i = 0; i < plan->decided->n_marks; i++) {
        const Decision *mark = plan->decided->marks[i];
        if (mark->kind != PIN_UNREDUCED || plan->moved->sharding[mark->place] < 0)
            continue;
        AtomSet missing = mark->axes & ~sharding_partials(plan_sharding(plan, mark->place));
        if (missing == 0)
            continue;
        Buf axes = buf_new(plan->arena);
        mesh_format_set(plan->mesh, missing, ".", &axes);
        plan_find(plan, LEVEL_WARNING, "not-partial", -1, mark->place,
                  "shard an index dim that the op sums over by that axis",
                  "%s is marked unreduced over %s but no op leaves it partial: the mark only keeps "
                  "the tensor from being sharded by those axes",
                  plan_value_name(plan, mark->place), axes.s);
        plan_found_at(plan, &mark->origin);
    }
}

void mismatch_find(Plan *plan)
{
    const Inferred *inferred = plan->inferred;
    FindingGroups g = {.plan = plan, .pins_behind_forward = any_pin_behind_forward(plan)};
    g.seen = intern_new(plan->arena);
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
    for (int i = 0; i < g.groups.n; i++)
        find_group(plan, &g.groups.at[i]);
    look_at_marks(plan);
}
