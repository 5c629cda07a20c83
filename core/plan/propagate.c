#include "core/plan/propagate.h"

#include "core/base/intern.h"

#include <assert.h>

/* How a tensor takes part. ORDER FLOW_ROLE */
typedef enum {
    FLOW_OPEN, /* takes and gives */
    FLOW_SINK, /* made from parameters alone: takes, gives only what is pinned */
    FLOW_LEAF  /* parameter or constant: its uses decide at the end; gives only what is pinned */
} FlowRole;

/* What is known of a tensor while axes flow. Interned; n_dims cuts are part of the key. */
typedef struct {
    int64_t n_dims;
    uint32_t pinned, closed; /* by dim */
    int64_t role;
    Cut dim[DIMS_MAX];
} Flow;

/* What is known of an op. */
typedef struct {
    int64_t closed; /* by index dim */
    OpCut cut;
} State;

/* ORDER MODE: later modes look at more. */
typedef enum { MODE_PINNED, MODE_EARLY, MODE_MAP, MODE_REDUCE } Mode;

typedef struct {
    int32_t space, operand; /* operand: first place in Propagation.tensor */
    uint16_t n_inputs, n_outputs;
    int32_t last[2];   /* backward, forward: 1 + place in the memo of what it met last */
    bool early, twice; /* twice: one tensor is two operands, so results cannot be looked up */
} Visit;

/* A case seen is an entry in `words`: the length n of its key, whether it changes nothing, the key
 * (space and mode and direction, state, flows) and what it gives (state, flows). */
typedef struct {
    uint32_t *slot; /* place in words + 1, 0 when empty */
    uint32_t n_slots, n_used;
    Vec(int32_t) words;
} Memo;

struct Propagation {
    Plan *plan;
    Arena *arena;
    Intern *flow_ids, *state_ids;
    Vec(const Flow *) flows;
    Vec(const State *) states;
    int n_visits;
    Visit *visit;         /* per op of the program */
    int32_t *tensor;      /* operands with a shape; -1: absent */
    int32_t *flow;        /* per tensor: id */
    int32_t *state;       /* per op of the program: id */
    int32_t *whole_state; /* per op space: 1 + id of the state without cuts */
    Memo memo;
    Mode mode;
    bool changed;
};

static int32_t put_flow(Propagation *p, const Flow *flow)
{
    size_t n_bytes = offsetof(Flow, dim) + (size_t)flow->n_dims * sizeof(Cut);
    int32_t id = intern_put(p->flow_ids, flow, n_bytes);
    if (id == p->flows.n) {
        Flow *kept = arena_make(p->arena, Flow);
        memcpy(kept, flow, n_bytes);
        vec_push(p->arena, &p->flows, kept);
    }
    return id;
}

static int32_t put_state(Propagation *p, const State *state)
{
    size_t n_bytes = offsetof(State, cut.index) + (size_t)state->cut.n * sizeof(Cut);
    int32_t id = intern_put(p->state_ids, state, n_bytes);
    if (id == p->states.n) {
        State *kept = arena_make(p->arena, State);
        memcpy(kept, state, n_bytes);
        vec_push(p->arena, &p->states, kept);
    }
    return id;
}

/* ---- one visit: the arithmetic on cuts, run once per distinct case ---- */

typedef struct {
    Propagation *p;
    const OpSpace *space;
    State state;
    const Flow **flow; /* per operand; NULL: absent or without a shape */
} Case;

static AtomSet used_by_others(const Cut *cuts, int64_t n, int self)
{
    AtomSet used = 0;
    for (int i = 0; i < n; i++)
        if (i != self)
            used |= cut_atoms(&cuts[i]);
    return used;
}

/* Elements of an operand on one rank, were the index dims cut as in state but for `drop`. */
static double local_elements(const Case *c, int operand, AtomSet drop)
{
    const Operand *o = &c->space->operand[operand];
    double elements = (double)shape_elements(&o->shape);
    for (int d = 0; d < o->shape.n_dims; d++)
        for (int f = 0; f < o->factors[d].n; f++) {
            AtomSet atoms = cut_atoms(&c->state.cut.index[o->factors[d].index[f]]) & ~drop;
            elements /= (double)mesh_atoms_size(c->p->plan->mesh, atoms);
        }
    return elements;
}

static bool operand_has_index(const Operand *operand, int index)
{
    for (int d = 0; d < operand->shape.n_dims; d++)
        for (int f = 0; f < operand->factors[d].n; f++)
            if (operand->factors[d].index[f] == index)
                return true;
    return false;
}

/* Phase 3's test: 2 x elements(outputs) <= elements of the operands otherwise gathered. */
static bool reduce_pays(const Case *c, int index, AtomSet atoms)
{
    double out = 0, gathered = 0;
    for (int o = 0; o < c->space->n_outputs; o++)
        out += local_elements(c, c->space->n_inputs + o, atoms);
    for (int i = 0; i < c->space->n_inputs; i++) {
        if (!c->flow[i] || !operand_has_index(&c->space->operand[i], index))
            continue;
        AtomSet held = 0;
        for (int d = 0; d < c->flow[i]->n_dims; d++)
            held |= cut_atoms(&c->flow[i]->dim[d]);
        if (held & atoms)
            gathered += local_elements(c, i, atoms);
    }
    return 2 * out <= gathered;
}

static bool may_cut(const Case *c, int index, AtomSet atoms)
{
    if (c->state.closed >> index & 1)
        return false;
    switch (c->space->index[index].role) {
    case ROLE_FROZEN:
        return false;
    case ROLE_REDUCE:
        return c->p->mode == MODE_PINNED ||
               (c->p->mode == MODE_REDUCE && reduce_pays(c, index, atoms));
    case ROLE_MAP:
        return true;
    }
    return false;
}

/* Joins a cut into an index dim, less the axes that cut another index dim already. */
static void take_index(Case *c, int index, const Cut *offered)
{
    const Mesh *mesh = c->p->plan->mesh;
    Cut *cut = &c->state.cut.index[index], joined;
    Cut part =
        cut_without(offered, used_by_others(c->state.cut.index, c->state.cut.n, index), mesh);
    if (!cut_is_whole(&part) && may_cut(c, index, cut_atoms(&part)) &&
        cut_join(cut, &part, mesh, &joined))
        *cut = joined;
}

static void take_operand(Case *c, int operand)
{
    const Flow *flow = c->flow[operand];
    const Operand *o = &c->space->operand[operand];
    if (!flow || o->ignored)
        return;
    bool pinned_only =
        c->p->mode == MODE_PINNED || (operand < c->space->n_inputs && flow->role != FLOW_OPEN);
    for (int d = 0; d < flow->n_dims; d++) {
        const DimFactors *factors = &o->factors[d];
        if (factors->n == 0 || !factors->exact || cut_is_whole(&flow->dim[d]) ||
            (pinned_only && !(flow->pinned >> d & 1)))
            continue;
        int64_t sizes[FACTORS_MAX];
        Cut part[FACTORS_MAX];
        AtomSet lost;
        for (int f = 0; f < factors->n; f++)
            sizes[f] = c->space->index[factors->index[f]].size;
        cut_split(&flow->dim[d], sizes, factors->n, c->p->plan->mesh, part, &lost);
        for (int f = 0; f < factors->n; f++)
            take_index(c, factors->index[f], &part[f]);
    }
}

bool cut_project(const OpSpace *space, const OpCut *cut, int operand, int dim, const Mesh *mesh,
                 Cut *out)
{
    const DimFactors *factors = &space->operand[operand].factors[dim];
    const Cut *parts[FACTORS_MAX];
    for (int f = 0; f < factors->n; f++)
        parts[f] = &cut->index[factors->index[f]];
    return factors->n > 0 && factors->exact && cut_concat(parts, factors->n, mesh, out);
}

static int32_t push_operand(Case *c, int operand)
{
    const Mesh *mesh = c->p->plan->mesh;
    Flow flow = *c->flow[operand];
    if (flow.role == FLOW_LEAF || c->space->operand[operand].ignored)
        return put_flow(c->p, &flow);
    for (int d = 0; d < flow.n_dims; d++) {
        Cut cut, joined;
        if (flow.closed >> d & 1 || !cut_project(c->space, &c->state.cut, operand, d, mesh, &cut))
            continue;
        cut = cut_without(&cut, used_by_others(flow.dim, flow.n_dims, d), mesh);
        if (!cut_is_whole(&cut) && cut_join(&flow.dim[d], &cut, mesh, &joined))
            flow.dim[d] = joined;
    }
    return put_flow(c->p, &flow);
}

/* Takes from the operands upstream and gives to those downstream. ids: flows of all operands (-1:
 * none), changed in place; returns the op's new state. */
static int32_t visit_case(Propagation *p, const OpSpace *space, bool forward, int32_t state,
                          int32_t *ids)
{
    int n = space->n_inputs + space->n_outputs;
    const Flow *flow[OPERANDS_MAX];
    Case c = {.p = p, .space = space, .flow = flow};
    c.state = *p->states.at[state];
    for (int o = 0; o < n; o++)
        flow[o] = ids[o] < 0 ? NULL : p->flows.at[ids[o]];

    bool pinned = p->mode == MODE_PINNED; /* looks at both sides, gives to none */
    for (int o = 0; o < n; o++)
        if (pinned || (o < space->n_inputs) == forward)
            take_operand(&c, o);
    for (int o = 0; o < n && !pinned; o++)
        if (flow[o] && (o < space->n_inputs) != forward)
            ids[o] = push_operand(&c, o);
    return put_state(p, &c.state);
}

/* ---- looking up what a case gives ---- */

enum { ENTRY_HEAD = 2, KEY_HEAD = 2, KEY_SHORT = 16 };

static uint32_t hash_words(const int32_t *word, int n)
{
    uint64_t h = 0x9E3779B97F4A7C15u;
    for (int i = 0; i < n; i++)
        h = (h ^ (uint32_t)word[i]) * 0xD6E8FEB86659FD93u;
    return (uint32_t)(h >> 32);
}

static inline bool entry_is(const int32_t *entry, const int32_t *key, int n)
{
    if (entry[0] != n)
        return false;
    for (int i = 0; i < n; i++)
        if (entry[ENTRY_HEAD + i] != key[i])
            return false;
    return true;
}

static void memo_grow(Arena *arena, Memo *memo)
{
    uint32_t n = memo->n_slots ? memo->n_slots * 2 : 4096;
    uint32_t *slot = arena_array(arena, uint32_t, n);
    for (uint32_t i = 0; i < memo->n_slots; i++) {
        if (!memo->slot[i])
            continue;
        const int32_t *entry = memo->words.at + memo->slot[i] - 1;
        uint32_t place = hash_words(entry + ENTRY_HEAD, entry[0]) & (n - 1);
        while (slot[place])
            place = (place + 1) & (n - 1);
        slot[place] = memo->slot[i];
    }
    memo->slot = slot;
    memo->n_slots = n;
}

/* The place of an entry in memo->words, or -1. */
static int32_t memo_find(const Memo *memo, const int32_t *key, int n)
{
    if (memo->n_slots == 0)
        return -1;
    uint32_t place = hash_words(key, n) & (memo->n_slots - 1);
    for (; memo->slot[place]; place = (place + 1) & (memo->n_slots - 1))
        if (entry_is(memo->words.at + memo->slot[place] - 1, key, n))
            return (int32_t)memo->slot[place] - 1;
    return -1;
}

/* value: n - 1 words, for the key's words from 1 on. */
static int32_t memo_put(Arena *arena, Memo *memo, const int32_t *key, int n, const int32_t *value)
{
    if (memo->n_used * 2 >= memo->n_slots)
        memo_grow(arena, memo);
    uint32_t place = hash_words(key, n) & (memo->n_slots - 1);
    while (memo->slot[place])
        place = (place + 1) & (memo->n_slots - 1);
    int32_t at = memo->words.n;
    memo->slot[place] = (uint32_t)at + 1;
    memo->n_used++;
    vec_push(arena, &memo->words, n);
    vec_push(arena, &memo->words, memcmp(value, key + 1, (size_t)(n - 1) * sizeof *value) == 0);
    for (int i = 0; i < n; i++)
        vec_push(arena, &memo->words, key[i]);
    for (int i = 0; i < n - 1; i++)
        vec_push(arena, &memo->words, value[i]);
    return at;
}

static void visit_computed(Propagation *p, int at, bool forward)
{
    const Visit *visit = &p->visit[at];
    const int32_t *tensor = p->tensor + visit->operand;
    int n = visit->n_inputs + visit->n_outputs;
    int32_t ids[OPERANDS_MAX] = {0};
    for (int o = 0; o < n; o++)
        ids[o] = tensor[o] < 0 ? -1 : p->flow[tensor[o]];
    int32_t state =
        visit_case(p, p->plan->inferred->spaces[visit->space], forward, p->state[at], ids);
    p->changed |= state != p->state[at];
    p->state[at] = state;
    /* A tensor that is two operands gets one operand's news now, the other's in the next sweep. */
    for (int o = 0; o < n; o++) {
        if (tensor[o] < 0 || ids[o] == p->flow[tensor[o]])
            continue;
        p->flow[tensor[o]] = ids[o];
        p->changed = true;
        if (visit->twice)
            break;
    }
}

/* What the case met gives, computed when it is new. */
static int32_t look_up(Propagation *p, const Visit *visit, bool forward, const int32_t *key, int n)
{
    int32_t found = memo_find(&p->memo, key, n);
    if (found >= 0)
        return found;
    int32_t value[KEY_SHORT];
    memcpy(value, key + 1, (size_t)(n - 1) * sizeof *value);
    value[0] = visit_case(p, p->plan->inferred->spaces[visit->space], forward, key[1], value + 1);
    return memo_put(p->arena, &p->memo, key, n, value);
}

static void visit_looked_up(Propagation *p, int at, bool forward)
{
    Visit *visit = &p->visit[at];
    const int32_t *tensor = p->tensor + visit->operand;
    int n_operands = visit->n_inputs + visit->n_outputs, n = KEY_HEAD + n_operands;
    int32_t key[KEY_SHORT];
    key[0] = visit->space * 8 + (int32_t)p->mode * 2 + forward;
    key[1] = p->state[at];
    for (int o = 0; o < n_operands; o++)
        key[KEY_HEAD + o] = tensor[o] < 0 ? -1 : p->flow[tensor[o]];

    int32_t found = visit->last[forward] - 1;
    if (found < 0 || !entry_is(p->memo.words.at + found, key, n)) {
        found = look_up(p, visit, forward, key, n);
        visit->last[forward] = found + 1;
    }
    const int32_t *entry = p->memo.words.at + found;
    if (entry[1])
        return;
    const int32_t *value = entry + ENTRY_HEAD + n;
    p->changed = true;
    p->state[at] = value[0];
    for (int o = 0; o < n_operands; o++)
        if (tensor[o] >= 0)
            p->flow[tensor[o]] = value[1 + o];
}

static void visit_op(Propagation *p, int at, bool forward)
{
    const Visit *visit = &p->visit[at];
    if (p->mode == MODE_EARLY && !visit->early)
        return;
    if (visit->twice || visit->n_inputs + visit->n_outputs > KEY_SHORT - KEY_HEAD)
        visit_computed(p, at, forward);
    else
        visit_looked_up(p, at, forward);
}

bool propagation_sweep(Propagation *p)
{
    p->changed = false;
    for (int i = 0; i < p->n_visits; i++)
        visit_op(p, i, true);
    for (int i = p->n_visits - 1; i >= 0; i--)
        visit_op(p, i, false);
    return p->changed;
}

/* ---- setting up: pins into flows and states ---- */

static bool has_operand_twice(const int32_t *tensor, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n && n <= KEY_SHORT; j++)
            if (tensor[i] >= 0 && tensor[i] == tensor[j])
                return true;
    return false;
}

/* Nothing cut: the state all ops of an op space start with. */
static int32_t whole_state(Propagation *p, const OpSpace *space)
{
    int32_t *known = &p->whole_state[space->id];
    if (*known == 0) {
        State state = {.cut.n = space->n_index};
        for (int i = 0; i < space->n_index; i++)
            state.cut.index[i] = cut_whole(space->index[i].size);
        *known = put_state(p, &state) + 1;
    }
    return *known - 1;
}

static void add_visit(Propagation *p, int at, int32_t *n_operands)
{
    const Inferred *inferred = p->plan->inferred;
    int32_t op = inferred->program[at];
    const GraphOp *node = &inferred->graph->ops[op];
    Visit *visit = &p->visit[at];
    const OpSpace *space = program_space(inferred, op);
    *visit = (Visit){.space = space->id, .operand = *n_operands, .early = space->early};
    visit->n_inputs = node->n_inputs;
    visit->n_outputs = node->n_outputs;
    int n = node->n_inputs + node->n_outputs;
    for (int o = 0; o < n; o++) {
        const int32_t *from = o < node->n_inputs
                                  ? op_inputs(inferred->graph, op) + o
                                  : op_outputs(inferred->graph, op) + o - node->n_inputs;
        bool shaped = *from >= 0 && inferred->shape[*from] >= 0;
        p->tensor[(*n_operands)++] = shaped && !space->no_rule ? *from : -1;
    }
    visit->twice = has_operand_twice(p->tensor + visit->operand, n);

    p->state[at] = whole_state(p, space);
}

static FlowRole role_of(const Inferred *inferred, int32_t tensor)
{
    int32_t maker = inferred->graph->tensors[tensor].maker;
    if (inferred->graph->tensors[tensor].kind == TENSOR_INITIALIZER || inferred->value[tensor] ||
        (maker >= 0 && inferred_is_host(inferred, maker)))
        return FLOW_LEAF;
    return maker >= 0 && inferred->on_parameters[maker] ? FLOW_SINK : FLOW_OPEN;
}

static void start_flows(Propagation *p)
{
    const Inferred *inferred = p->plan->inferred;
    int32_t n_shapes = 0;
    for (int t = 0; t < inferred->graph->n_tensors; t++)
        n_shapes = inferred->shape[t] >= n_shapes ? inferred->shape[t] + 1 : n_shapes;
    int32_t(*known)[FLOW_LEAF + 1] = arena_alloc(p->arena, sizeof *known * (size_t)n_shapes);
    for (int t = 0; t < inferred->graph->n_tensors; t++) {
        const Shape *shape = inferred_shape(inferred, t);
        p->flow[t] = -1;
        if (!shape)
            continue;
        FlowRole role = role_of(inferred, t);
        int32_t *id = &known[inferred->shape[t]][role];
        if (*id == 0) {
            Flow flow = {.n_dims = shape->n_dims, .role = role};
            for (int d = 0; d < shape->n_dims; d++)
                flow.dim[d] = cut_whole(shape->dim[d]);
            *id = put_flow(p, &flow) + 1;
        }
        p->flow[t] = *id - 1;
    }
}

static int32_t place_in_program(const Inferred *inferred, int32_t op)
{
    int lo = 0, hi = inferred->n_program - 1;
    while (lo < hi) {
        int middle = lo + (hi - lo) / 2;
        if (inferred->program[middle] < op)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

static void apply_pins(Propagation *p)
{
    for (int i = 0; i < p->plan->n_pins; i++) {
        const Decision *pin = p->plan->pins[i];
        if (pin->store)
            continue;
        if (pin->kind == PIN_TENSOR_DIM) {
            Flow flow = *p->flows.at[p->flow[pin->place]];
            flow.dim[pin->dim] = pin->cut;
            flow.pinned |= 1u << pin->dim;
            if (!pin->open)
                flow.closed |= 1u << pin->dim;
            p->flow[pin->place] = put_flow(p, &flow);
        } else {
            int at = place_in_program(p->plan->inferred, pin->place);
            State state = *p->states.at[p->state[at]];
            state.cut.index[pin->dim] = pin->cut;
            if (!pin->open)
                state.closed |= (int64_t)1 << pin->dim;
            p->state[at] = put_state(p, &state);
        }
    }
}

/* Carries pins through one op on parameters alone: from its pinned operands to all others. */
static void pass_pins(Propagation *p, int at)
{
    const Visit *visit = &p->visit[at];
    const OpSpace *space = p->plan->inferred->spaces[visit->space];
    int n = visit->n_inputs + visit->n_outputs;
    int32_t ids[OPERANDS_MAX] = {0};
    for (int o = 0; o < n; o++)
        ids[o] = p->tensor[visit->operand + o] < 0 ? -1 : p->flow[p->tensor[visit->operand + o]];
    p->mode = MODE_PINNED;
    int32_t state = visit_case(p, space, true, p->state[at], ids);
    for (int o = 0; o < n; o++) {
        int32_t tensor = p->tensor[visit->operand + o];
        if (tensor < 0)
            continue;
        Flow flow = *p->flows.at[p->flow[tensor]];
        for (int d = 0; d < flow.n_dims; d++) {
            Cut cut;
            if (flow.pinned >> d & 1 ||
                !cut_project(space, &p->states.at[state]->cut, o, d, p->plan->mesh, &cut))
                continue;
            cut = cut_without(&cut, used_by_others(flow.dim, flow.n_dims, d), p->plan->mesh);
            if (cut_is_whole(&cut))
                continue; /* nothing pinned there, or another pin has the axis */
            flow.dim[d] = cut;
            flow.pinned |= 1u << d;
            flow.closed |= 1u << d;
            p->changed = true;
        }
        p->flow[tensor] = put_flow(p, &flow);
    }
}

static void pass_pins_on_parameters(Propagation *p)
{
    const Inferred *inferred = p->plan->inferred;
    do {
        p->changed = false;
        for (int i = 0; i < p->n_visits; i++)
            if (inferred->on_parameters[inferred->program[i]])
                pass_pins(p, i);
        for (int i = p->n_visits - 1; i >= 0; i--)
            if (inferred->on_parameters[inferred->program[i]])
                pass_pins(p, i);
    } while (p->changed);
}

Propagation *propagation_new(Plan *plan)
{
    const Inferred *inferred = plan->inferred;
    const Graph *graph = inferred->graph;
    Propagation *p = arena_make(plan->arena, Propagation);
    p->plan = plan;
    p->arena = plan->arena;
    p->flow_ids = intern_new(plan->arena);
    p->state_ids = intern_new(plan->arena);
    p->n_visits = inferred->n_program;
    p->visit = arena_array(plan->arena, Visit, p->n_visits);
    p->state = arena_array(plan->arena, int32_t, p->n_visits);
    p->flow = arena_array(plan->arena, int32_t, graph->n_tensors);
    p->whole_state = arena_array(plan->arena, int32_t, inferred->n_spaces);
    int64_t n_operands = 0;
    for (int i = 0; i < p->n_visits; i++) {
        const GraphOp *op = &graph->ops[inferred->program[i]];
        n_operands += op->n_inputs + op->n_outputs;
    }
    p->tensor = arena_array(plan->arena, int32_t, n_operands);
    int32_t next = 0;
    for (int i = 0; i < p->n_visits; i++)
        add_visit(p, i, &next);
    start_flows(p);
    apply_pins(p);
    return p;
}

void propagation_run(Propagation *p)
{
    pass_pins_on_parameters(p);
    p->mode = MODE_PINNED;
    for (int i = 0; i < p->n_visits; i++)
        visit_op(p, i, true);
    for (int mode = MODE_EARLY; mode <= MODE_REDUCE; mode++) {
        p->mode = (Mode)mode;
        do
            p->plan->sweeps++;
        while (propagation_sweep(p));
    }
}

/* Hands the fixed point to the plan: cuts of ops, and each tensor's flow as its sharding so far. */
static void publish(Propagation *p)
{
    Plan *plan = p->plan;
    plan->n_cuts = p->states.n;
    plan->cuts = arena_array(plan->arena, const OpCut *, p->states.n);
    for (int i = 0; i < p->states.n; i++)
        plan->cuts[i] = &p->states.at[i]->cut;
    for (int i = 0; i < p->n_visits; i++)
        plan->cut[plan->inferred->program[i]] = p->state[i];

    int32_t *sharding = arena_array(plan->arena, int32_t, p->flows.n);
    for (int i = 0; i < p->flows.n; i++) {
        Sharding s = {.n_dims = p->flows.at[i]->n_dims};
        memcpy(s.dim, p->flows.at[i]->dim, (size_t)s.n_dims * sizeof(Cut));
        sharding[i] = shardings_put(plan->shardings, &s);
    }
    for (int t = 0; t < plan->inferred->graph->n_tensors; t++) {
        plan->flow[t] = p->flow[t] < 0 ? -1 : sharding[p->flow[t]];
        plan->sharding[t] = plan->flow[t];
        plan->pinned[t] = p->flow[t] < 0 ? 0 : (uint16_t)p->flows.at[p->flow[t]]->pinned;
    }
}

void propagate_factor(Plan *plan)
{
    Propagation *p = propagation_new(plan);
    propagation_run(p);
    publish(p);
}
