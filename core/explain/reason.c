#include "core/explain/reason.h"

#include "core/plan/assume.h"
#include "core/explain/sites.h"

enum { LOOK_EVERY = 4096 }; /* sites between two checks for cancellation */

/* The sites that one axis reached. They are few, so a bit marks those that were reached, and the
 * columns below hold them in site order. */
typedef struct {
    uint64_t *reached; /* bit per site; NULL if not computed yet */
    int32_t *before;   /* per word of reached: the number of reached sites in earlier words */
    int32_t *parent;   /* the site that the axis came from; a pin's own site at a pin */
    int32_t *hops;     /* distance from its pin */
    int32_t *root;     /* and the site of that pin */
} AxisReach;

struct Reasons {
    Arena *arena; /* entries of the columns below; NULL until a question is asked */
    Sites *sites;
    AxisReach walk[MESH_AXES_MAX];
};

Reasons *reasons_new(Arena *arena)
{
    return arena_make(arena, Reasons);
}

void reasons_forget(Reasons *reasons)
{
    arena_free(reasons->arena);
    *reasons = (Reasons){0};
}

static bool was_reached(const AxisReach *walk, int32_t site)
{
    return walk->reached[site >> 6] >> (site & 63) & 1;
}

static int32_t place_of(const AxisReach *walk, int32_t site)
{
    uint64_t below = walk->reached[site >> 6] & (((uint64_t)1 << (site & 63)) - 1);
    return walk->before[site >> 6] + __builtin_popcountll(below);
}

static int32_t parent_of(const AxisReach *walk, int32_t site)
{
    return walk->parent[place_of(walk, site)];
}

static int32_t hops_of(const AxisReach *walk, int32_t site)
{
    return walk->hops[place_of(walk, site)];
}

static int32_t root_of(const AxisReach *walk, int32_t site)
{
    return walk->root[place_of(walk, site)];
}

/* ---- the links that propagation uses ---- */

typedef struct {
    const Plan *plan;
    const Sites *sites;
    int32_t *parent; /* per site; -1 if not reached */
    AtomSet atoms;   /* of the axis */
    int32_t *queue;
    int32_t n_queued, at; /* at: the site being left */
    bool through; /* an op whose index dim has not the axis, by a rule of the propagator's own */
} ChainSearch;

static bool hands_on(const Plan *plan, int32_t tensor, int dim)
{
    const Inferred *inferred = plan->inferred;
    int32_t maker = inferred->graph->tensors[tensor].maker;
    bool given =
        inferred->graph->tensors[tensor].kind == TENSOR_INITIALIZER ||
        inferred_value(inferred, tensor) ||
        (maker >= 0 && (inferred_is_host(inferred, maker) || inferred->on_parameters[maker]));
    return !given || (plan_pinned(plan, tensor) >> dim & 1);
}

static void reach(ChainSearch *s, int32_t site, int32_t parent)
{
    if (s->parent[site] >= 0)
        return;
    s->parent[site] = parent;
    s->queue[s->n_queued++] = site;
}

/* From what an op makes into it, or out of it to what it reads. Views of parameters are cut with
 * them whatever the propagator. */
static bool is_backward(const ChainSearch *s, int32_t site, int32_t op)
{
    const Inferred *inferred = s->plan->inferred;
    int32_t from = site_owner(s->sites, s->at), to = site_owner(s->sites, site);
    if (op < 0 || inferred->on_parameters[op])
        return false;
    return from >= 0 ? inferred->graph->tensors[from].maker == op
                     : inferred->graph->tensors[to].maker != op;
}

/* From a parameter, only pinned dims propagate to its maker. */
static void leave(void *context, int32_t site, int32_t op)
{
    ChainSearch *s = context;
    int32_t owner = site_owner(s->sites, s->at);
    bool to_reader = owner >= 0 && op != s->plan->inferred->graph->tensors[owner].maker;
    if ((s->plan->propagator->by_op && is_backward(s, site, op)) ||
        !site_takes_from(s->plan, s->sites, site, s->at, op))
        return;
    bool passes = s->through && site_owner(s->sites, site) < 0;
    if ((passes || site_has(s->plan, s->sites, site, s->atoms)) &&
        (!to_reader || hands_on(s->plan, owner, site_dim(s->sites, s->at))))
        reach(s, site, s->at);
}

static bool is_stopped(const ChainSearch *s, int32_t i)
{
    return (i & (LOOK_EVERY - 1)) == 0 && progress_stopped(s->plan->progress);
}

static void walk_on(ChainSearch *s, int32_t from)
{
    for (int32_t i = from; i < s->n_queued && !is_stopped(s, i); i++) {
        s->at = s->queue[i];
        sites_joined(s->plan, s->sites, s->at, leave, s);
    }
}

/* In program order: a site that has the axis and was not reached is one where an op chose it. */
static void walk_from_choices(ChainSearch *s)
{
    const Inferred *inferred = s->plan->inferred;
    for (int i = 0; i < inferred->n_program && !is_stopped(s, i); i++) {
        int32_t op = inferred->program[i];
        for (int32_t site = s->sites->op[op]; site < s->sites->op[op + 1]; site++) {
            int32_t from = s->n_queued;
            if (s->parent[site] < 0 && site_has(s->plan, s->sites, site, s->atoms))
                reach(s, site, site);
            walk_on(s, from);
        }
    }
}

const Sites *plan_sites(const Plan *plan)
{
    Reasons *r = plan->reasons;
    if (!r->arena)
        r->arena = arena_new();
    if (!r->sites)
        r->sites = sites_new(r->arena, plan);
    return r->sites;
}

/* Sites were queued after the sites they have the axis from. Drops everything if the search was
 * cancelled. */
static void keep_walk(Arena *arena, const ChainSearch *s, AxisReach *out)
{
    int32_t n_words = s->sites->n / 64 + 1;
    AxisReach walk;
    walk.reached = arena_array(arena, uint64_t, n_words);
    walk.before = arena_array(arena, int32_t, n_words);
    walk.parent = arena_array(arena, int32_t, s->n_queued);
    walk.hops = arena_array(arena, int32_t, s->n_queued);
    walk.root = arena_array(arena, int32_t, s->n_queued);
    for (int32_t i = 0; i < s->n_queued; i++)
        walk.reached[s->queue[i] >> 6] |= (uint64_t)1 << (s->queue[i] & 63);
    for (int32_t w = 1; w < n_words; w++)
        walk.before[w] = walk.before[w - 1] + __builtin_popcountll(walk.reached[w - 1]);
    for (int32_t i = 0; i < s->n_queued && !is_stopped(s, i); i++) {
        int32_t site = s->queue[i], parent = s->parent[site], at = place_of(&walk, site);
        walk.parent[at] = parent;
        walk.hops[at] = parent == site ? 0 : hops_of(&walk, parent) + 1;
        walk.root[at] = parent == site ? site : root_of(&walk, parent);
    }
    if (!progress_stopped(s->plan->progress))
        *out = walk;
}

static const AxisReach *walk_axis(const Plan *plan, int axis)
{
    Reasons *r = plan->reasons;
    plan_sites(plan);
    AxisReach *walk = &r->walk[axis];
    if (walk->reached)
        return walk;
    int32_t n = r->sites->n;
    Arena *scratch = arena_new();
    ChainSearch s = {.plan = plan, .sites = r->sites};
    s.parent = arena_array(scratch, int32_t, n);
    memset(s.parent, -1, (size_t)n * sizeof *s.parent);
    s.atoms = mesh_axis_atoms(plan->mesh, axis);
    s.queue = arena_array(scratch, int32_t, n);
    for (int i = 0; i < plan->decided->n_pins; i++) {
        const Decision *pin = plan->decided->pins[i];
        int32_t site = pin->kind == PIN_TENSOR_DIM ? site_of_tensor(s.sites, pin->place, pin->dim)
                                                   : site_of_op(s.sites, pin->place, pin->dim);
        if (!pin->store && (cut_atoms(decision_cut(pin)) & s.atoms))
            reach(&s, site, site);
    }
    walk_on(&s, 0);
    s.through = plan->propagator->own_rules;
    if (s.through)
        walk_on(&s, 0);
    if (plan->propagator->by_op)
        walk_from_choices(&s);
    keep_walk(r->arena, &s, walk);
    arena_free(scratch);
    return walk;
}

bool reasons_known(const Plan *plan)
{
    for (int axis = 0; axis < plan->mesh->n_axes; axis++)
        if (!plan->reasons->walk[axis].reached)
            return false;
    return true;
}

bool reasons_find(const Plan *plan, Reasons *out, Progress *progress, Error *err)
{
    Plan apart = *plan;
    apart.reasons = out;
    apart.progress = progress;
    progress_stage(progress, "finding reasons", plan->mesh->n_axes);
    for (int axis = 0; axis < plan->mesh->n_axes && progress_goes_on(progress, err); axis++) {
        walk_axis(&apart, axis);
        progress_add(progress, 1);
    }
    return progress_goes_on(progress, err);
}

void reasons_take(const Plan *plan, Reasons *found)
{
    reasons_forget(plan->reasons);
    *plan->reasons = *found;
    *found = (Reasons){0};
}

/* ---- chains ---- */

/* A step to a site: through which op, in which direction. */
static ReasonStep step_to(const Plan *plan, const AxisReach *walk, int32_t site)
{
    const Sites *sites = plan->reasons->sites;
    int32_t owner = site_owner(sites, site), from = site_owner(sites, parent_of(walk, site));
    int dim = site_dim(sites, site);
    if (owner < 0 && from < 0)
        return (ReasonStep){.kind = REASON_GRADIENT, .tensor = -1, .op = ~owner, .dim = dim};
    if (owner < 0)
        return (ReasonStep){.kind = REASON_USE, .tensor = -1, .op = ~owner, .dim = dim};
    ReasonStep step = {.tensor = owner, .op = from < 0 ? ~from : -1, .dim = dim};
    int32_t maker = plan->inferred->graph->tensors[owner].maker;
    if (from >= 0) { /* a tensor dim is reached through an op, or through a loop's tie */
        step.kind = REASON_LOOP;
        step.op = maker;
    } else {
        step.kind = maker == ~from ? REASON_FORWARD : REASON_BACKWARD;
    }
    return step;
}

static ReasonStep pin_at(const Plan *plan, int32_t site)
{
    const Sites *sites = plan->reasons->sites;
    int32_t owner = site_owner(sites, site);
    bool tensor = owner >= 0;
    ReasonStep step = {
        .kind = REASON_PIN, .tensor = tensor ? owner : -1, .op = tensor ? -1 : ~owner};
    step.dim = site_dim(sites, site);
    step.pin = plan_pin_of(plan, tensor ? PIN_TENSOR_DIM : PIN_INDEX_DIM, tensor ? owner : ~owner,
                           step.dim);
    if (!tensor && !step.pin && plan->propagator->by_op)
        step.kind = REASON_CHOSEN;
    return step;
}

/* The chain to a site, from its pin. Index dims between two tensors are no steps of their own; of
 * a long chain the steps nearest to the site are kept, and the pin. */
static ReasonChain chain_to(Arena *arena, const Plan *plan, int axis, int32_t site)
{
    const AxisReach *walk = walk_axis(plan, axis);
    ReasonChain chain = {.axis = axis};
    ReasonStep *steps = arena_array(arena, ReasonStep, REASON_STEPS_MAX);
    int at = REASON_STEPS_MAX;
    int32_t s = site;
    for (; parent_of(walk, s) != s && at > 1; s = parent_of(walk, s))
        if (site_owner(plan->reasons->sites, s) >= 0 || s == site ||
            site_owner(plan->reasons->sites, parent_of(walk, s)) < 0)
            steps[--at] = step_to(plan, walk, s);
    if (parent_of(walk, s) != s) /* tensors and ops alternate on the way */
        chain.n_left_out = (hops_of(walk, s) + (site_owner(plan->reasons->sites, s) >= 0)) / 2;
    steps[--at] = pin_at(plan, root_of(walk, site));
    chain.step = steps + at;
    chain.n_steps = REASON_STEPS_MAX - at;
    return chain;
}

static void add_step(Arena *arena, ReasonChain *chain, ReasonStep step)
{
    ReasonStep *steps = arena_array(arena, ReasonStep, chain->n_steps + 1);
    for (int i = 0; i < chain->n_steps; i++)
        steps[i] = chain->step[i];
    steps[chain->n_steps++] = step;
    chain->step = steps;
}

/* dim -1: of an assumption about the tensor. */
static ReasonChain chain_of_pin(Arena *arena, int axis, int32_t tensor, int dim,
                                const Decision *pin)
{
    ReasonChain chain = {.axis = axis};
    add_step(arena, &chain,
             (ReasonStep){.kind = REASON_PIN, .tensor = tensor, .op = -1, .dim = dim, .pin = pin});
    return chain;
}

/* The nearest index dim that explains a tensor dim whose own site was not reached: of a parameter
 * that takes the sharding its uses need, or of an op's output that is resharded after propagation;
 * behind the model, of the op that makes it. */
static int32_t nearest_index(const Plan *plan, const AxisReach *walk, AtomSet atoms, int32_t tensor,
                             int dim)
{
    const Graph *graph = plan->inferred->graph;
    const Sites *sites = plan->reasons->sites;
    const Inferred *forward = plan->inferred->forward;
    int32_t best = -1, maker = graph->tensors[tensor].maker, first = graph->tensors[tensor].use - 1;
    bool by_maker = forward && tensor >= forward->graph->n_tensors && maker >= 0;
    int32_t end = by_maker ? first + 1 : graph->tensors[tensor + 1].use;
    for (int32_t u = first; u < end; u++) {
        int32_t op = u == first ? maker : graph->uses[u];
        const OpSpace *space = op < 0 ? NULL : inferred_space(plan->inferred, op);
        for (int o = 0; space && o < space->n_inputs + space->n_outputs; o++) {
            if (op_operand(graph, op, o) != tensor)
                continue;
            const DimFactors *factors = &space->operand[o].factors[dim];
            for (int f = 0; f < factors->n; f++) {
                int32_t site = site_of_op(sites, op, factors->index[f]);
                if ((cut_atoms(&program_cut(plan, op)->index[factors->index[f]]) & atoms) &&
                    was_reached(walk, site) &&
                    (best < 0 || hops_of(walk, site) < hops_of(walk, best)))
                    best = site;
            }
        }
    }
    return best;
}

static bool chain_of_dim(Arena *arena, const Plan *plan, int axis, int32_t tensor, int dim,
                         ReasonChain *out);
static bool chain_of_partial(Arena *arena, const Plan *plan, int axis, int32_t tensor,
                             ReasonChain *out);

/* Where an op of the update has the axis from: the pin by which a value of its parameter is stored,
 * else the parameter. */
static bool chain_of_update(Arena *arena, const Plan *plan, int axis, int32_t op, int dim,
                            ReasonChain *out)
{
    AtomSet atoms = mesh_axis_atoms(plan->mesh, axis);
    int32_t parameter = op < 0 ? -1 : stored_updated(plan->inferred->graph, op);
    for (int i = 0; parameter >= 0 && i < STORED_KINDS; i++) {
        const Decision *pin = plan_store_pin_for(plan, parameter, dim, (Stored)(1 << i));
        if (!pin || !(cut_atoms(decision_cut(pin)) & atoms))
            continue;
        *out = chain_of_pin(arena, axis, parameter, dim, pin);
        return true;
    }
    return parameter >= 0 && chain_of_dim(arena, plan, axis, parameter, dim, out);
}

/* The op of the update that makes a value, or that keeps it as a state; -1 if none. */
static int32_t updater_of(const Graph *graph, int32_t tensor)
{
    int32_t maker = graph->tensors[tensor].maker, of;
    bool state = maker < 0 && stored_value(graph, tensor, &of) == STORED_STATES;
    return state ? graph->uses[graph->tensors[tensor].use] : maker;
}

static bool chain_of_dim(Arena *arena, const Plan *plan, int axis, int32_t tensor, int dim,
                         ReasonChain *out)
{
    const AxisReach *walk = walk_axis(plan, axis);
    AtomSet atoms = mesh_axis_atoms(plan->mesh, axis);
    int32_t site = site_of_tensor(plan->reasons->sites, tensor, dim);
    const Decision *stored = plan_store_pin_of(plan, tensor, dim);
    if (stored && cut_atoms(decision_cut(stored)) & atoms) {
        *out = chain_of_pin(arena, axis, tensor, dim, stored);
        return true;
    }
    if (was_reached(walk, site)) {
        *out = chain_to(arena, plan, axis, site);
        return true;
    }
    int32_t index = nearest_index(plan, walk, atoms, tensor, dim);
    int32_t op = index < 0 ? updater_of(plan->inferred->graph, tensor)
                           : ~site_owner(plan->reasons->sites, index);
    if (index >= 0)
        *out = chain_to(arena, plan, axis, index);
    else if (!chain_of_update(arena, plan, axis, op, dim, out)) /* or windows that overlap: */
        return chain_of_partial(arena, plan, axis, tensor, out);
    bool made = plan->inferred->graph->tensors[tensor].maker == op;
    add_step(arena, out,
             (ReasonStep){.kind = made ? REASON_FORWARD : REASON_BACKWARD,
                          .tensor = tensor,
                          .op = op,
                          .dim = dim});
    return true;
}

/* Of an op of the update, the dim of what it reads first. */
static bool chain_of_index(Arena *arena, const Plan *plan, int axis, int32_t op, int index,
                           ReasonChain *out)
{
    const AxisReach *walk = walk_axis(plan, axis);
    const Operand *first = &program_space(plan->inferred, op)->operand[0];
    int32_t site = site_of_op(plan->reasons->sites, op, index);
    if (was_reached(walk, site)) {
        *out = chain_to(arena, plan, axis, site);
        return true;
    }
    for (int d = 0; d < first->shape.n_dims; d++)
        if (first->factors[d].n == 1 && first->factors[d].index[0] == index &&
            chain_of_update(arena, plan, axis, op, d, out)) {
            add_step(arena, out,
                     (ReasonStep){.kind = REASON_USE, .tensor = -1, .op = op, .dim = index});
            return true;
        }
    return false;
}

/* Why a value is partial over an axis: the op that sums over an index dim which the axis shards,
 * found by following back the linear ops that passed it on; or the assumption that it is. */
static bool chain_of_partial(Arena *arena, const Plan *plan, int axis, int32_t tensor,
                             ReasonChain *out)
{
    const Graph *graph = plan->inferred->graph;
    AtomSet atoms = mesh_axis_atoms(plan->mesh, axis);
    int32_t op = graph->tensors[tensor].maker;
    const OpSpace *space = op < 0 ? NULL : inferred_space(plan->inferred, op);
    const Decision *assumed = assumed_over(plan, tensor, atoms);
    if (!space)
        return false;
    if (assumed) {
        *out = chain_of_pin(arena, axis, tensor, -1, assumed);
        return true;
    }
    for (int i = 0; i < space->n_index; i++) {
        if (space->index[i].role != ROLE_REDUCE ||
            !(cut_atoms(&program_cut(plan, op)->index[i]) & atoms))
            continue;
        if (!chain_of_index(arena, plan, axis, op, i, out))
            return false;
        add_step(arena, out,
                 (ReasonStep){.kind = REASON_PARTIAL, .tensor = tensor, .op = op, .dim = -1});
        return true;
    }
    for (int o = 0; o < space->n_inputs; o++) {
        int32_t input = op_inputs(graph, op)[o];
        if (input < 0 || plan->moved->sharding[input] < 0 ||
            !(sharding_partials(plan_sharding(plan, input)) & atoms) ||
            !chain_of_partial(arena, plan, axis, input, out))
            continue;
        add_step(arena, out,
                 (ReasonStep){.kind = REASON_PASS, .tensor = tensor, .op = op, .dim = -1});
        return true;
    }
    return false;
}

int why_tensor_dim(Arena *arena, const Plan *plan, int32_t tensor, int dim, ReasonChain **out)
{
    *out = arena_array(arena, ReasonChain, plan->mesh->n_axes);
    if (plan->moved->sharding[tensor] < 0)
        return 0;
    const Sharding *sharding = plan_sharding(plan, tensor);
    const Sharding *made = shardings_at(plan->shardings, plan->moved->made[tensor]);
    AtomSet atoms = dim < 0 ? sharding_partials(made)
                            : cut_atoms(&sharding->dim[dim]) | cut_atoms(&made->dim[dim]);
    int n = 0;
    for (int axis = 0; axis < plan->mesh->n_axes; axis++) {
        if (!(atoms & mesh_axis_atoms(plan->mesh, axis)))
            continue;
        bool found = dim < 0 ? chain_of_partial(arena, plan, axis, tensor, &(*out)[n])
                             : chain_of_dim(arena, plan, axis, tensor, dim, &(*out)[n]);
        n += found;
    }
    return n;
}

int why_index_dim(Arena *arena, const Plan *plan, int32_t op, int index, ReasonChain **out)
{
    *out = arena_array(arena, ReasonChain, plan->mesh->n_axes);
    const OpCut *cut = plan_cut(plan, op);
    int n = 0;
    for (int axis = 0; cut && axis < plan->mesh->n_axes; axis++) {
        if (!(cut_atoms(&cut->index[index]) & mesh_axis_atoms(plan->mesh, axis)))
            continue;
        const AxisReach *walk = walk_axis(plan, axis);
        int32_t site = site_of_op(plan->reasons->sites, op, index);
        if (was_reached(walk, site))
            (*out)[n++] = chain_to(arena, plan, axis, site);
    }
    return n;
}

bool why_axis(Arena *arena, const Plan *plan, int axis, int32_t tensor, int32_t op, int dim,
              ReasonChain *out)
{
    const AxisReach *walk = walk_axis(plan, axis);
    const Sites *sites = plan->reasons->sites;
    int32_t site = op >= 0 ? site_of_op(sites, op, dim) : site_of_tensor(sites, tensor, dim);
    if (!was_reached(walk, site))
        return false;
    *out = chain_to(arena, plan, axis, site);
    return true;
}

const Decision *why_pin(const Plan *plan, int axis, int32_t tensor, int32_t op, int dim)
{
    const AxisReach *walk = walk_axis(plan, axis);
    if (!walk->reached)
        return NULL;
    const Sites *sites = plan->reasons->sites;
    int32_t site = op >= 0 ? site_of_op(sites, op, dim) : site_of_tensor(sites, tensor, dim);
    if (op < 0 && !was_reached(walk, site))
        site = nearest_index(plan, walk, mesh_axis_atoms(plan->mesh, axis), tensor, dim);
    return site >= 0 && was_reached(walk, site) ? pin_at(plan, root_of(walk, site)).pin : NULL;
}
