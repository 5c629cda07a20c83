#include "core/code/repin.h"

#include "core/propagate/propagators.h"
#include "core/summary/decision_lua.h"
#include "core/propagate/propagate.h"
#include "core/plan/stage.h"
#include "core/session/make.h"
#include "core/cost/pipeline.h"

enum { ROUNDS_MAX = 2000 };

typedef struct {
    const Session *session;
    const Plan *want;
    const Propagator *propagator; /* that makes `have` */
    Plan *have;
    Arena *arena, *kept; /* kept: of the propagation */
    Arena *pinned[2];    /* where `have`, and the plan before it, point to */
    int n_made;
    Propagation *propagation;
    Journal journal;
    uint32_t *pinned_op, *pinned_tensor; /* dims that a decision pins, or must not pin */
    AtomSet *cut_op, *cut_tensor, *store_tensor, *barred; /* axes that pins of it use */
    bool *given_up;                                       /* per op */
    int n_inexpressible;
} Repin;

/* Whether a policy can name the op. */
static bool repin_names_op(const Graph *graph, int32_t op)
{
    return graph_find_op(graph, str_from(op_name(graph, op))) == op;
}

/* ---- what a policy can express ---- */

static AtomSet *axes_beside(Repin *r, const Decision *decision)
{
    return decision->kind == PIN_INDEX_DIM ? &r->cut_op[decision->place]
           : decision->store               ? &r->store_tensor[decision->place]
                                           : &r->cut_tensor[decision->place];
}

/* Whether the schedule fits the stages, without which the policy would be refused. */
static bool schedule_fits(const Plan *plan)
{
    for (int i = 0; i < plan->findings.n; i++)
        if (strcmp(plan->findings.at[i].code, "schedule") == 0)
            return false;
    return true;
}

static bool is_expressible(Repin *r, const Decision *decision)
{
    const Graph *graph = r->session->graph;
    bool pins = decision_pins_dim(decision->kind);
    if (decision->kind == PIN_SCHEDULE)
        return schedule_fits(r->want);
    if (decision->kind == PIN_ASSUMED)
        return true;
    if (pins && !cut_has_lua(decision_cut(decision)))
        return false;
    if (decision_is_on_tensor(decision->kind) &&
        tensor_is_known(r->session->inferred, decision->place))
        return false; /* a policy shards no constants */
    if (!decision_is_on_tensor(decision->kind) && !repin_names_op(graph, decision->place))
        return false;
    if ((decision->kind == PIN_DEVICES || decision->kind == PIN_RECOMPUTE) &&
        !repin_names_op(graph, decision->last))
        return false;
    AtomSet axes = pins ? cut_atoms(decision_cut(decision)) : 0;
    if (pins && axes & *axes_beside(r, decision))
        return false;
    bool bars = decision->kind == PIN_REPLICATED || decision->kind == PIN_UNREDUCED;
    if (bars && decision->axes & r->cut_tensor[decision->place])
        return false;
    return !pins || decision->kind == PIN_INDEX_DIM || decision->store ||
           !(axes & r->barred[decision->place]);
}

static bool add(Repin *r, const Decision *decision)
{
    if (!is_expressible(r, decision))
        return false;
    if (decision_pins_dim(decision->kind)) {
        *axes_beside(r, decision) |= cut_atoms(decision_cut(decision));
        uint32_t *dims = decision->kind == PIN_INDEX_DIM ? r->pinned_op : r->pinned_tensor;
        dims[decision->place] |= (uint32_t)1 << decision->dim;
    } else if (decision->kind == PIN_REPLICATED || decision->kind == PIN_UNREDUCED) {
        r->barred[decision->place] |= decision->axes;
    }
    journal_add(&r->journal, r->arena, decision);
    return true;
}

/* Whether the propagator obeys the decision, since another one may have ignored it. */
static bool is_obeyed(const Repin *r, const Decision *decision)
{
    if (r->want->propagator == r->propagator || !decision_pins_dim(decision->kind))
        return true;
    const Cut *now;
    if (decision->kind == PIN_INDEX_DIM)
        now = &program_cut(r->want, decision->place)->index[decision->dim];
    else if (r->want->moved->sharding[decision->place] < 0)
        return true;
    else
        now = &plan_sharding(r->want, decision->place)->dim[decision->dim];
    const Cut *cut = decision_cut(decision);
    return cut_equal(now, cut) || (decision->open && cut_refines(now, cut, r->want->mesh));
}

static void add_own(Repin *r)
{
    for (int i = 0; i < plan_n_held(r->want); i++) {
        const Decision *decision = plan_held(r->want, i);
        if (is_obeyed(r, decision) && !add(r, decision))
            r->n_inexpressible++;
    }
}

/* ---- the resulting plan ---- */

static void make(Repin *r)
{
    Arena **arena = &r->pinned[r->n_made++ % 2];
    arena_free(*arena);
    *arena = arena_new();
    Journal journal = {.n_done = r->journal.n_done, .cuts = r->journal.cuts};
    journal.decisions.n = journal.n_done;
    journal.decisions.at = arena_array(*arena, Decision, journal.n_done);
    if (journal.n_done > 0)
        memcpy(journal.decisions.at, r->journal.decisions.at,
               (size_t)journal.n_done * sizeof(Decision));
    PlanRequest request = session_request(r->session, &journal);
    bool factor = r->propagator == &propagator_explain;
    request.propagator = r->propagator;
    request.propagation = factor ? r->propagation : NULL;
    request.before = factor ? r->have : NULL;
    request.progress = NULL;
    Plan *plan = plan_make(&request, NULL);
    plan_free(r->have);
    r->have = plan;
}

static bool op_differs(const Repin *r, int32_t op)
{
    const OpCut *a = program_cut(r->have, op), *b = program_cut(r->want, op);
    bool same = a->n == b->n;
    for (int64_t i = 0; same && i < a->n; i++)
        same = cut_equal(&a->index[i], &b->index[i]);
    return !same;
}

static bool tensor_differs(const Repin *r, int32_t tensor)
{
    int32_t a = r->have->moved->sharding[tensor], b = r->want->moved->sharding[tensor];
    if (a < 0 || b < 0)
        return a >= 0 || b >= 0;
    return !sharding_equal(shardings_at(r->have->shardings, a),
                           shardings_at(r->want->shardings, b));
}

/* ---- pinning the differences ---- */

static Decision pin_of(DecisionKind kind, int32_t place, int dim, const Cut *cut)
{
    Decision pin = {.kind = kind, .place = place, .dim = dim, .cut = cut};
    pin.origin = (Origin){.kind = ORIGIN_USER, .file = "", .text = ""};
    return pin;
}

/* The index dims in which the op differs; all of them if that no longer helps. */
static bool pin_op(Repin *r, int32_t op, bool all)
{
    const OpCut *have = program_cut(r->have, op), *want = program_cut(r->want, op);
    bool added = false;
    if (!repin_names_op(r->session->graph, op))
        return false;
    for (int64_t i = 0; i < want->n; i++) {
        if (r->pinned_op[op] >> i & 1 || (!all && cut_equal(&have->index[i], &want->index[i])))
            continue;
        Decision pin = pin_of(PIN_INDEX_DIM, op, (int)i, &want->index[i]);
        added |= add(r, &pin);
    }
    return added;
}

/* Pins the first op that differs, and all ops with the same op space and cut. */
static bool pin_ops(Repin *r)
{
    const Inferred *inferred = r->session->inferred;
    bool added = false;
    int32_t space = -1, cut = -1;
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        if ((added && (inferred->space[op] != space || r->want->propagated->cut[op] != cut)) ||
            r->given_up[op] || !op_differs(r, op))
            continue;
        if (!pin_op(r, op, false) && !pin_op(r, op, true)) {
            r->given_up[op] = true;
            continue;
        }
        added = true;
        space = inferred->space[op];
        cut = r->want->propagated->cut[op];
    }
    return added;
}

/* Pins the stored sharding of a parameter, the sharding of a given input, or the sharding of a
 * computed value. */
static bool pin_tensor(Repin *r, int32_t tensor)
{
    const Sharding *want = plan_sharding(r->want, tensor);
    const Sharding *have = plan_sharding(r->have, tensor);
    bool added = false, partial = sharding_partials(have) != sharding_partials(want);
    bool stored = r->session->graph->tensors[tensor].kind == TENSOR_INITIALIZER;
    if (sharding_partials(want))
        return false;
    for (int d = 0; d < want->n_dims; d++) {
        if (r->pinned_tensor[tensor] >> d & 1 ||
            (!partial && cut_equal(&have->dim[d], &want->dim[d])))
            continue;
        Decision pin = pin_of(PIN_TENSOR_DIM, tensor, d, &want->dim[d]);
        pin.store = stored ? STORED_ALL : STORED_NONE;
        added |= add(r, &pin);
    }
    return added;
}

static bool pin_tensors(Repin *r)
{
    bool added = false;
    for (int32_t t = 0; t < r->session->graph->n_tensors; t++)
        if (r->want->moved->sharding[t] >= 0 && r->have->moved->sharding[t] >= 0 &&
            tensor_differs(r, t))
            added |= pin_tensor(r, t);
    return added;
}

/* ---- all of it ---- */

static Repin repin_new(const Session *session, Arena *arena, const Propagator *propagator)
{
    const Graph *graph = session->graph;
    Repin r = {.session = session, .want = session->plan, .arena = arena, .kept = arena_new()};
    r.propagator = propagator;
    r.propagation = propagation_new(r.kept, session->inferred, session->mesh);
    r.journal.cuts = intern_new(arena);
    r.pinned_op = arena_array(arena, uint32_t, graph->n_ops);
    r.pinned_tensor = arena_array(arena, uint32_t, graph->n_tensors);
    r.cut_op = arena_array(arena, AtomSet, graph->n_ops);
    r.cut_tensor = arena_array(arena, AtomSet, graph->n_tensors);
    r.store_tensor = arena_array(arena, AtomSet, graph->n_tensors);
    r.barred = arena_array(arena, AtomSet, graph->n_tensors);
    r.given_up = arena_array(arena, bool, graph->n_ops);
    return r;
}

static void repin_end(Repin *r)
{
    plan_free(r->have);
    arena_free(r->pinned[0]);
    arena_free(r->pinned[1]);
    arena_free(r->kept);
}

Repinned repin(const Session *session, Arena *arena)
{
    Repin r = repin_new(session, arena, &propagator_explain);
    Repinned out = {0};

    add_own(&r);
    out.n_own = r.journal.n_done;
    make(&r);
    for (int i = 0; i < ROUNDS_MAX && (pin_ops(&r) || pin_tensors(&r)); i++)
        make(&r);
    out.n = r.journal.n_done;
    out.decision = r.journal.decisions.at;
    out.n_inexpressible = r.n_inexpressible;
    repin_end(&r);
    return out;
}

Repinned repin_own(const Session *session, Arena *arena)
{
    Repin r = repin_new(session, arena, session->plan->propagator);
    add_own(&r);
    Repinned out = {r.journal.n_done, r.journal.n_done, r.journal.decisions.at, r.n_inexpressible};
    repin_end(&r);
    return out;
}

static bool same_totals(const Plan *a, const Plan *b)
{
    const Totals *x = &a->priced->totals, *y = &b->priced->totals;
    return x->step_us == y->step_us && x->comm_bytes == y->comm_bytes &&
           x->peak_bytes == y->peak_bytes && x->flops == y->flops &&
           plan_step_us(a) == plan_step_us(b);
}

static bool is_moved(const Repin *r, int32_t op)
{
    return !submesh_equal(r->have->decided->submeshes[plan_devices(r->have, op)],
                          r->want->decided->submeshes[plan_devices(r->want, op)]) ||
           stage_of(r->have, op) != stage_of(r->want, op);
}

RepinDifference repin_compare(const Session *session, const Decision *decision, int n,
                              const Propagator *propagator)
{
    Repin r = repin_new(session, arena_new(), propagator);
    const Inferred *inferred = session->inferred;
    RepinDifference out = {0};

    for (int i = 0; i < n; i++)
        journal_add(&r.journal, r.arena, &decision[i]);
    make(&r);
    for (int i = 0; i < inferred->n_program; i++)
        out.n_ops += op_differs(&r, inferred->program[i]);
    for (int32_t t = 0; t < inferred->graph->n_tensors; t++)
        out.n_tensors += tensor_differs(&r, t);
    for (int i = 0; i < inferred->n_program; i++)
        out.n_moved += is_moved(&r, inferred->program[i]);
    out.same =
        out.n_ops == 0 && out.n_tensors == 0 && out.n_moved == 0 && same_totals(r.have, r.want);
    repin_end(&r);
    arena_free(r.arena);
    return out;
}
