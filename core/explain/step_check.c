#include "core/explain/step_check.h"

#include "core/base/units.h"
#include "core/cost/gradient_reduces.h"
#include "core/plan/assume.h"
#include "core/plan/plan_findings.h"
#include "core/rules/registry.h"
#include "core/plan/plan_machine.h"

#include <inttypes.h>

/* ---- assumptions that ops contradict ---- */

typedef enum { OF_PARAMETER, OF_ACTIVATION, OF_NORM, OF_VALUE, DRAWN, ABOUT_COUNT } About;

enum {
    PARAMETER = 1 << OF_PARAMETER,
    ACTIVATION = 1 << OF_ACTIVATION,
    NORM = 1 << OF_NORM,
    VALUE = 1 << OF_VALUE,
    RANDOM = 1 << DRAWN,
    ANY = (1 << ABOUT_COUNT) - 1
};

/* What an op makes of a value over an axis. */
typedef enum { MADE_COMPLETE, MADE_PARTIAL, MADE_OTHERWISE, MADE_SHARDED } MadeAs;

typedef enum { HINT_SUM, HINT_NO_SUM, HINT_NO_MEAN, HINT_DRAW, HINT_NONE } StepHint;

/* The first row that fits counts. %s in `so`: the op that reads the value first; %d: the ranks
 * along the axes. */
typedef struct {
    unsigned about;
    MadeAs made;
    unsigned assumed; /* by bit */
    Level level;
    const char *code, *so;
    StepHint hint;
} Contradiction;

enum {
    REDUCED = 1 << ASSUMED_REDUCED,
    SUMMED = 1 << ASSUMED_PARTIAL,
    AVERAGED = 1 << ASSUMED_MEAN,
    EVERY = REDUCED | SUMMED | AVERAGED,
    BY_RANK = 1 << ASSUMED_DRAWN_BY_RANK,
    ALIKE = 1 << ASSUMED_DRAWN_ALIKE
};

#define DRAWS_NOTHING(made_)                                                                       \
    {                                                                                              \
        ANY & ~RANDOM, made_, BY_RANK | ALIKE, LEVEL_NOTE, "draws-nothing",                        \
            "its op draws no numbers: the assumption changes nothing", HINT_NONE                   \
    }
static const Contradiction rows[] = {
    {RANDOM, MADE_COMPLETE, BY_RANK, LEVEL_ERROR, "drawn-apart",
     "ranks hold the same elements but draw different numbers, so their copies differ", HINT_DRAW},
    {RANDOM, MADE_SHARDED, ALIKE, LEVEL_ERROR, "drawn-repeated",
     "each rank draws the same numbers for its shard, so the same pattern occurs %d times",
     HINT_DRAW},
    DRAWS_NOTHING(MADE_COMPLETE),
    DRAWS_NOTHING(MADE_PARTIAL),
    DRAWS_NOTHING(MADE_OTHERWISE),
    DRAWS_NOTHING(MADE_SHARDED),
    {ANY, MADE_SHARDED, EVERY, LEVEL_NOTE, "assumed-sharded", "the assumption changes nothing",
     HINT_NONE},
    {PARAMETER, MADE_PARTIAL, REDUCED, LEVEL_ERROR, "gradient-unsummed",
     "ops sharded by the axis use the parameter, nothing sums its gradient, and %s reads each "
     "rank's partial sum",
     HINT_SUM},
    {ACTIVATION, MADE_PARTIAL, REDUCED, LEVEL_ERROR, "gradient-partial",
     "%s reads each rank's partial sum", HINT_SUM},
    {NORM, MADE_PARTIAL, REDUCED, LEVEL_ERROR, "norm-misses-shards",
     "the norm of all gradients contains only each rank's own partial sum", HINT_SUM},
    {VALUE, MADE_PARTIAL, REDUCED, LEVEL_ERROR, "value-partial", "%s reads each rank's partial sum",
     HINT_SUM},
    {NORM, MADE_COMPLETE, SUMMED, LEVEL_ERROR, "norm-counts-replicas",
     "the norm of all gradients counts it %d times", HINT_NO_SUM},
    {PARAMETER | ACTIVATION, MADE_COMPLETE, SUMMED, LEVEL_ERROR, "gradient-doubled",
     "summing it makes it %d times too large", HINT_NO_SUM},
    {VALUE, MADE_COMPLETE, SUMMED, LEVEL_ERROR, "value-doubled",
     "summing it makes it %d times too large", HINT_NO_SUM},
    {PARAMETER | ACTIVATION, MADE_PARTIAL, AVERAGED, LEVEL_ERROR, "gradient-averaged-twice",
     "the loss already is a mean over the whole batch, so the gradient becomes %d times too small",
     HINT_NO_MEAN},
    {NORM | VALUE, MADE_PARTIAL, AVERAGED, LEVEL_ERROR, "wrong-reduction",
     "its partial values must be summed, not averaged: it becomes %d times too small",
     HINT_NO_MEAN},
    {ANY, MADE_COMPLETE, AVERAGED, LEVEL_WARNING, "averaged-needlessly",
     "the value is equal on all ranks, so averaging changes nothing", HINT_NO_SUM},
    {ANY, MADE_OTHERWISE, EVERY, LEVEL_ERROR, "wrong-reduction",
     "its partial values are reduced neither by a sum nor by a mean", HINT_NO_MEAN},
};
#undef DRAWS_NOTHING
enum { N_ROWS = sizeof rows / sizeof *rows };

static const char *const made_words[] = {[MADE_COMPLETE] = "complete on every rank of",
                                         [MADE_PARTIAL] = "partial over",
                                         [MADE_OTHERWISE] = "partial over",
                                         [MADE_SHARDED] = "sharded by"};

static bool is_drawn(const Plan *plan, int32_t tensor)
{
    const Inferred *inferred = plan->inferred;
    int32_t maker = inferred->graph->tensors[tensor].maker;
    const Operator *row = inferred_operator(inferred, maker);
    return row && row->flags & OPERATOR_DRAWS;
}

static About about_of(const Plan *plan, int32_t tensor, Assumed assumed)
{
    const Graph *graph = plan->inferred->graph;
    const Shape *shape = inferred_shape(plan->inferred, tensor);
    if (assumed_draws(assumed) && is_drawn(plan, tensor))
        return DRAWN;
    if (graph->gradient_of && graph->gradient_of[tensor] >= 0)
        return gradient_is_of_parameters(plan, tensor) ? OF_PARAMETER : OF_ACTIVATION;
    bool sums = plan_phase(plan, graph->tensors[tensor].maker) == 1 + PHASE_UPDATE && shape &&
                shape->n_dims == 0;
    return sums ? OF_NORM : OF_VALUE;
}

static MadeAs made_over(const Sharding *computed, int atom)
{
    if (cuts_used(computed->dim, computed->n_dims, -1) >> atom & 1)
        return MADE_SHARDED;
    ReduceOp reduce = (ReduceOp)computed->partial[atom];
    return reduce == REDUCE_NONE  ? MADE_COMPLETE
           : reduce == REDUCE_SUM ? MADE_PARTIAL
                                  : MADE_OTHERWISE;
}

static int row_of(About about, MadeAs made, Assumed assumed)
{
    for (int i = 0; i < N_ROWS; i++)
        if (rows[i].about >> about & 1 && rows[i].made == made && rows[i].assumed >> assumed & 1)
            return i;
    return -1;
}

/* Values of which one decision contradicts the ops likewise; the first of them. */
typedef struct {
    const Decision *decision;
    int row, count;
    AtomSet axes;
    int32_t tensor, computed;
} Contradicted;

typedef Vec(Contradicted) ContradictedList;

static void add_contradicted(Plan *plan, ContradictedList *list, const Contradicted *new)
{
    for (int i = 0; i < list->n; i++) {
        Contradicted *it = &list->at[i];
        if (it->decision != new->decision || it->row != new->row || it->axes != new->axes)
            continue;
        it->count++;
        return;
    }
    vec_push(plan->arena, list, *new);
}

static void compare_assumption(Plan *plan, int at, ContradictedList *list)
{
    const Assumption *assumption = &plan->decided->assumptions->at[at];
    const Decision *decision = assumption->decision;
    int32_t computed = plan->moved->computed[at];
    AtomSet axes[N_ROWS] = {0};
    if (computed < 0)
        return;
    About about = about_of(plan, assumption->tensor, decision->assumed);
    bool draws = assumed_draws(decision->assumed);
    for (int a = 0; a < plan->mesh->n_atoms; a++) {
        AtomSet atom = (AtomSet)1 << a;
        const Decision *last = draws ? assumed_drawn(plan, assumption->tensor, atom)
                                     : assumed_over(plan, assumption->tensor, atom);
        if (!(decision->axes & atom) || last != decision)
            continue; /* a later one holds */
        MadeAs made = made_over(shardings_at(plan->shardings, computed), a);
        int row = row_of(about, made, decision->assumed);
        if (row >= 0)
            axes[row] |= atom;
    }
    for (int i = 0; i < N_ROWS; i++)
        if (axes[i])
            add_contradicted(
                plan, list, &(Contradicted){decision, i, 1, axes[i], assumption->tensor, computed});
}

static const char *first_reader(const Plan *plan, int32_t tensor)
{
    const Graph *graph = plan->inferred->graph;
    return tensor_n_uses(graph, tensor) > 0
               ? op_operator(graph, graph->uses[graph->tensors[tensor].use])
               : "the caller";
}

static void put_price(const ReshardPath *path, const Mesh *mesh, Buf *out)
{
    reshard_format_steps(path, mesh, out);
    buf_puts(out, ", ");
    units_format_bytes(path->wire_bytes, out);
    buf_puts(out, ", ");
    units_format_us(path->us, out);
}

/* What summing the value over the axes would cost, or what the plan pays for doing so. */
static const char *hint_of(Plan *plan, const Contradicted *it)
{
    int32_t t = it->tensor, from = it->computed, to;
    Buf out = buf_new(plan->arena);
    Sharding sharding = *shardings_at(plan->shardings, from);
    StepHint hint = rows[it->row].hint;
    if (hint == HINT_NONE)
        return "";
    if (hint == HINT_DRAW)
        return "remove the assumption: each element is then drawn by its position in the whole "
               "tensor";
    if (hint == HINT_NO_MEAN)
        return "remove the assumption: it is then summed";
    for (int a = 0; a < ATOMS_MAX; a++)
        if (it->axes >> a & 1)
            sharding.partial[a] =
                (uint8_t)(hint == HINT_SUM ? REDUCE_NONE : assumed_reduce(it->decision->assumed));
    to = shardings_put(plan->shardings, &sharding);
    int devices = plan_devices(plan, plan->inferred->graph->tensors[t].maker);
    const ReshardPath *path =
        reshard_inside(plan_resharder_of(plan, devices), (Dtype)plan->inferred->dtype[t],
                       hint == HINT_SUM ? from : to, hint == HINT_SUM ? to : from,
                       plan->decided->submeshes[devices].fixed);
    buf_puts(&out, hint == HINT_SUM ? "remove the assumption: it is then summed ("
                                    : "remove the assumption: that saves ");
    put_price(path, plan->mesh, &out);
    buf_puts(&out, hint == HINT_SUM ? ")" : "");
    return out.s;
}

static void put_consequence(const Plan *plan, const Contradicted *it, Buf *out)
{
    const char *so = rows[it->row].so;
    const char *place = strchr(so, '%');
    if (!place) {
        buf_puts(out, so);
        return;
    }
    buf_printf(out, "%.*s", (int)(place - so), so);
    if (place[1] == 's')
        buf_puts(out, first_reader(plan, it->tensor));
    else
        buf_printf(out, "%" PRId64, mesh_atoms_size(plan->mesh, it->axes));
    buf_puts(out, place + 2);
}

static void find_contradicted(Plan *plan, const Contradicted *it)
{
    Buf axes = buf_new(plan->arena), so = buf_new(plan->arena);
    mesh_format_set(plan->mesh, it->axes, "+", &axes);
    put_consequence(plan, it, &so);
    if (it->count > 1)
        buf_printf(&so, " (and %d more like it)", it->count - 1);
    plan_find(plan, rows[it->row].level, rows[it->row].code, -1, it->tensor, hint_of(plan, it),
              "%s is %s %s but %s assumes it to be %s%s: %s", plan_value_name(plan, it->tensor),
              made_words[rows[it->row].made], axes.s,
              plan_origin_text(plan->arena, &it->decision->origin),
              it->decision->assumed == ASSUMED_MEAN ? "a " : "",
              assumed_name(it->decision->assumed), so.s);
    plan_found_at(plan, &it->decision->origin);
}

/* ---- reductions of each micro-batch ---- */

/* A decision about the tensor; NULL if there is none. *stores: it says how the gradient of a
 * parameter is stored. */
static const Decision *decision_about(const Plan *plan, int32_t tensor, bool *stores)
{
    int n_dims = (int)plan_sharding(plan, tensor)->n_dims;
    for (int d = 0; d < n_dims; d++) {
        const Decision *pin = plan_store_pin_of(plan, tensor, d);
        *stores = pin != NULL;
        if (pin)
            return pin;
    }
    for (int i = 0; i < plan_n_held(plan); i++) {
        const Decision *decision = plan_held(plan, i);
        if (decision_is_on_tensor(decision->kind) && decision->place == tensor)
            return decision;
    }
    return NULL;
}

static void find_repeated(Plan *plan)
{
    GradientReduces reduces = gradient_reduces(plan);
    if (reduces.n_each == 0 || reduces.n_micro_batches < 2)
        return;
    int32_t tensor = plan->moved->reshards[reduces.first_each].tensor;
    bool stores = false;
    const Decision *decision = decision_about(plan, tensor, &stores);
    int more = reduces.n_micro_batches - 1;
    Buf cost = buf_new(plan->arena);
    units_format_bytes(reduces.each_bytes * more, &cost);
    buf_puts(&cost, ", ");
    units_format_us(reduces.each_us * more, &cost);
    if (reduces.n_each > 1)
        buf_printf(&cost, " (with %d more like it)", reduces.n_each - 1);
    plan_find(plan, LEVEL_WARNING, "reduced-each-micro-batch", -1, tensor,
              stores ? "store the optimizer states alone (zero=1): gradients are then added up "
                       "before they are reduced"
                     : "leave the gradient partial until the update reads it",
              "%s is reduced in each of %d micro-batches: reducing it once a step would save %s",
              plan_value_name(plan, tensor), reduces.n_micro_batches, cost.s);
    if (decision)
        plan_found_at(plan, &decision->origin);
}

void step_check(Plan *plan)
{
    const Assumptions *assumptions = plan->decided->assumptions;
    ContradictedList list = {0};
    for (int i = 0; assumptions && i < assumptions->n; i++)
        compare_assumption(plan, i, &list);
    for (int i = 0; i < list.n; i++)
        find_contradicted(plan, &list.at[i]);
    if (plan->inferred->forward)
        find_repeated(plan);
}
