#include "core/propagate/propagate.h"

#include "core/base/intern.h"
#include "core/propagate/engine.h"
#include "core/propagate/flow_visit.h"
#include "core/plan/plan_findings.h"
#include "core/propagate/propagators.h"
#include "core/propagate/ties.h"
#include "core/plan/stage.h"

#include <assert.h>

/* ORDER FLOW_MODE */
static const char *const pass_names[MODE_COUNT] = {
    "ops on parameters", "ops beside pins", "early ops", "map dims", "reduce dims",
};

/* Rules of the engine: twice the op space, and one more for ops on parameters alone; the last one
 * is that of host ops. Its ops are the graph's, then the ties. */
struct Propagation {
    Arena *arena;
    const Inferred *inferred;
    const Mesh *mesh;
    const OpSpace **spaces; /* of the model's ops, then of ties */
    int n_spaces;
    Intern *flow_ids, *state_ids;
    Vec(const Flow *) flows;
    Vec(const FlowState *) states;
    FlowGraph graph;
    Engine *engine;
    int32_t *start; /* per tensor: its state when nothing is pinned; -1: it has no shape */
    bool *takes_part[MODE_COUNT], *again[MODE_COUNT]; /* per rule */
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

static int32_t put_state(Propagation *p, const FlowState *state)
{
    size_t n_bytes = offsetof(FlowState, cut.index) + (size_t)state->cut.n * sizeof(Cut);
    int32_t id = intern_put(p->state_ids, state, n_bytes);
    if (id == p->states.n) {
        FlowState *kept = arena_make(p->arena, FlowState);
        memcpy(kept, state, n_bytes);
        vec_push(p->arena, &p->states, kept);
    }
    return id;
}

static int32_t host_rule(const Propagation *p)
{
    return 2 * p->n_spaces;
}

/* ---- visits, which the engine calls ---- */

static FlowVisitCase begin_case(const Propagation *p, const OpSpace *space, int mode,
                                const int32_t *state, const Flow **flow)
{
    FlowVisitCase visit = {.space = space, .mesh = p->mesh, .mode = (FlowMode)mode, .flow = flow};
    visit.state = *p->states.at[state[0]];
    for (int o = 0; o < space->n_inputs + space->n_outputs; o++)
        flow[o] = state[1 + o] < 0 ? NULL : p->flows.at[state[1 + o]];
    return visit;
}

/* Carries pins through an op on parameters alone: from its pinned operands to all others. */
static void pass_pins(Propagation *p, const OpSpace *space, int32_t *state)
{
    const Flow *flow[OPERANDS_MAX];
    FlowVisitCase visit = begin_case(p, space, MODE_PARAMETERS, state, flow);
    int n = space->n_inputs + space->n_outputs;
    for (int o = 0; o < n; o++)
        flow_take(&visit, o);
    for (int o = 0; o < n; o++) {
        if (!flow[o])
            continue;
        Flow given = *flow[o];
        for (int d = 0; d < given.n_dims; d++) {
            Cut cut;
            if (given.pinned >> d & 1 ||
                !op_cut_project(space, &visit.state.cut, o, d, p->mesh, &cut))
                continue;
            AtomSet used = cuts_used(given.dim, given.n_dims, d) | given.barred;
            cut = cut_without(&cut, used, p->mesh);
            if (cut_is_whole(&cut))
                continue; /* nothing pinned there, or another pin has the axis */
            given.dim[d] = cut;
            given.pinned |= 1u << d;
            given.closed |= 1u << d;
        }
        state[1 + o] = put_flow(p, &given);
    }
}

/* Takes from the operands upstream and gives to those downstream; beside pins, takes from all and
 * gives to none. */
static void flow_through(Propagation *p, const OpSpace *space, int mode, bool forward,
                         int32_t *state)
{
    const Flow *flow[OPERANDS_MAX];
    FlowVisitCase visit = begin_case(p, space, mode, state, flow);
    int n = space->n_inputs + space->n_outputs;
    for (int o = 0; o < n; o++)
        if (mode == MODE_PINNED || (o < space->n_inputs) == forward)
            flow_take(&visit, o);
    for (int o = 0; o < n && mode != MODE_PINNED; o++)
        if (flow[o] && (o < space->n_inputs) != forward) {
            Flow given = flow_give(&visit, o);
            state[1 + o] = put_flow(p, &given);
        }
    state[0] = put_state(p, &visit.state);
}

/* Repeats until nothing changes: a cut that joins late may let earlier operands join more. */
static void visit_op(void *context, int32_t rule, int pass, FlowDirection direction, int32_t *state,
                     int n_inputs, int n_outputs)
{
    Propagation *p = context;
    int32_t before[OPERANDS_MAX + 1];
    size_t n_bytes = (size_t)(1 + n_inputs + n_outputs) * sizeof *before;
    do {
        memcpy(before, state, n_bytes);
        if (pass == MODE_PARAMETERS)
            pass_pins(p, p->spaces[rule / 2], state);
        else
            flow_through(p, p->spaces[rule / 2], pass, direction == FLOW_FORWARD, state);
    } while (memcmp(before, state, n_bytes) != 0);
}

/* ---- making ---- */

static bool has_reduce_dim(const OpSpace *space)
{
    for (int i = 0; i < space->n_index; i++)
        if (space->index[i].role == ROLE_REDUCE)
            return true;
    return false;
}

static void find_passes(Propagation *p)
{
    int n = host_rule(p) + 1;
    for (int mode = 0; mode < MODE_COUNT; mode++) {
        p->takes_part[mode] = arena_array(p->arena, bool, n);
        p->again[mode] = arena_array(p->arena, bool, n);
    }
    for (int rule = 0; rule < host_rule(p); rule++) {
        const OpSpace *space = p->spaces[rule / 2];
        if (space->no_rule)
            continue; /* never visited */
        bool early = space->early, on_parameters = rule % 2;
        p->takes_part[MODE_PARAMETERS][rule] = p->again[MODE_PARAMETERS][rule] = on_parameters;
        p->takes_part[MODE_PINNED][rule] = p->again[MODE_PINNED][rule] = true;
        p->takes_part[MODE_EARLY][rule] = p->again[MODE_EARLY][rule] = early;
        p->takes_part[MODE_MAP][rule] = p->takes_part[MODE_REDUCE][rule] = true;
        p->again[MODE_MAP][rule] = !early;
        p->again[MODE_REDUCE][rule] = has_reduce_dim(space);
    }
}

static void start_state(Propagation *p, const OpSpace *space, int32_t *own)
{
    int32_t *state = &own[2 * (int64_t)space->id];
    if (*state >= 0)
        return;
    FlowState whole = {.cut.n = space->n_index};
    for (int d = 0; d < space->n_index; d++)
        whole.cut.index[d] = cut_whole(space->index[d].size);
    state[0] = state[1] = put_state(p, &whole);
}

/* Per rule: the state its ops start with, nothing cut. Ids are given in program order. */
static const int32_t *start_states(Propagation *p)
{
    const Inferred *inferred = p->inferred;
    int32_t *own = arena_array(p->arena, int32_t, host_rule(p) + 1);
    memset(own, -1, (size_t)(host_rule(p) + 1) * sizeof *own);
    for (int i = 0; i < inferred->n_program; i++)
        start_state(p, program_space(inferred, inferred->program[i]), own);
    for (int i = inferred->n_spaces; i < p->n_spaces; i++)
        start_state(p, p->spaces[i], own);
    return own;
}

static FlowRole role_of(const Inferred *inferred, int32_t tensor)
{
    int32_t maker = inferred->graph->tensors[tensor].maker;
    if (inferred->graph->tensors[tensor].kind == TENSOR_INITIALIZER ||
        inferred_value(inferred, tensor) || (maker >= 0 && inferred_is_host(inferred, maker)))
        return FLOW_LEAF;
    return maker >= 0 && inferred->on_parameters[maker] ? FLOW_SINK : FLOW_OPEN;
}

static void start_flows(Propagation *p)
{
    const Inferred *inferred = p->inferred;
    int32_t n_shapes = 0;
    for (int t = 0; t < inferred->graph->n_tensors; t++)
        n_shapes = inferred->shape[t] >= n_shapes ? inferred->shape[t] + 1 : n_shapes;
    Arena *scratch = arena_new();
    int32_t(*known)[FLOW_LEAF + 1] =
        arena_alloc(scratch, arena_array_bytes((size_t)n_shapes, sizeof *known));
    for (int t = 0; t < inferred->graph->n_tensors; t++) {
        const Shape *shape = inferred_shape(inferred, t);
        p->start[t] = -1;
        if (!shape)
            continue;
        FlowRole role = role_of(inferred, t);
        int32_t *id = &known[inferred->shape[t]][role];
        if (*id == 0) {
            Flow flow = {.n_dims = shape->n_dims, .role = (int32_t)role, .pass = PASS_BOTH};
            for (int d = 0; d < shape->n_dims; d++)
                flow.dim[d] = cut_whole(shape->dim[d]);
            *id = put_flow(p, &flow) + 1;
        }
        p->start[t] = *id - 1;
    }
    arena_free(scratch);
}

static void add_spaces(Propagation *p, const Ties *ties)
{
    const Inferred *inferred = p->inferred;
    p->spaces = inferred->spaces;
    p->n_spaces = inferred->n_spaces + ties->spaces.n;
    if (ties->spaces.n == 0)
        return;
    p->spaces = arena_array(p->arena, const OpSpace *, p->n_spaces);
    memcpy(p->spaces, inferred->spaces, (size_t)inferred->n_spaces * sizeof(OpSpace *));
    memcpy(p->spaces + inferred->n_spaces, ties->spaces.at,
           (size_t)ties->spaces.n * sizeof(OpSpace *));
}

/* Rules of the graph's ops, then of ties. */
static int32_t *rules_of_ops(const Propagation *p, const Ties *ties)
{
    const Inferred *inferred = p->inferred;
    int n_ops = inferred->graph->n_ops;
    int32_t *rule = arena_array(p->arena, int32_t, n_ops + ties->ties.n);
    for (int op = 0; op < n_ops; op++)
        rule[op] = inferred_is_host(inferred, op)
                       ? host_rule(p)
                       : 2 * inferred->space[op] + inferred->on_parameters[op];
    for (int i = 0; i < ties->ties.n; i++)
        rule[n_ops + i] = 2 * ties->ties.at[i].space + ties->ties.at[i].on_parameters;
    return rule;
}

/* Copies of the columns with the ties behind them. A tensor that is an output of a tie has two
 * makers: its op and the tie. */
static void add_ties(Propagation *p, const Ties *ties)
{
    const Graph *graph = p->inferred->graph;
    int n_ops = graph->n_ops, n = graph->n_operands;
    GraphOp *op = arena_array(p->arena, GraphOp, n_ops + ties->ties.n);
    int32_t *tensor = arena_array(p->arena, int32_t, n + ties->tensors.n);
    memcpy(op, graph->ops, (size_t)n_ops * sizeof *op);
    memcpy(tensor, graph->operands, (size_t)n * sizeof *tensor);
    memcpy(tensor + n, ties->tensors.at, (size_t)ties->tensors.n * sizeof *tensor);
    for (int i = 0; i < ties->ties.n; i++) {
        const Tie *tie = &ties->ties.at[i];
        op[n_ops + i] = (GraphOp){
            .input = n + tie->tensor, .n_inputs = 1, .n_outputs = (uint16_t)tie->n_outputs};
    }
    p->graph.n_ops += ties->ties.n;
    p->graph.n_operands += ties->tensors.n;
    p->graph.op = op;
    p->graph.tensor = tensor;
    p->graph.tensors = NULL;
    p->graph.uses = NULL;
}

static void build_graph(Propagation *p)
{
    const Graph *graph = p->inferred->graph;
    Ties ties = ties_find(p->arena, p->inferred);
    add_spaces(p, &ties);
    p->graph = (FlowGraph){.n_ops = graph->n_ops,
                           .n_tensors = graph->n_tensors,
                           .n_operands = graph->n_operands,
                           .op = graph->ops,
                           .rule = rules_of_ops(p, &ties),
                           .tensor = graph->operands,
                           .tensors = graph->tensors,
                           .uses = graph->uses};
    if (ties.ties.n > 0)
        add_ties(p, &ties);
}

Propagation *propagation_new(Arena *arena, const Inferred *inferred, const Mesh *mesh)
{
    inferred = inferred->forward ? inferred->forward : inferred;
    Propagation *p = arena_make(arena, Propagation);
    *p = (Propagation){.arena = arena, .inferred = inferred, .mesh = mesh};
    p->flow_ids = intern_new(arena), p->state_ids = intern_new(arena);
    p->start = arena_array(arena, int32_t, inferred->graph->n_tensors);
    build_graph(p);
    start_flows(p);
    find_passes(p);
    p->engine = engine_new(arena, &p->graph, start_states(p), visit_op, p);
    return p;
}

/* ---- decisions ---- */

/* The run of one plan. */
typedef struct {
    Plan *plan;
    Propagation *p;
    int32_t *start; /* per tensor: its state before any pin, with the marks on the whole tensor */
    int32_t *group;
    int n_groups;
    int32_t *end; /* per tensor: its state */
    int32_t *op;  /* per op of the engine: its state */
} EngineRun;

static int last_priority(const Plan *plan)
{
    int last = 0;
    for (int i = 0; i < plan->decided->n_pins; i++)
        last = plan->decided->pins[i]->priority > last ? plan->decided->pins[i]->priority : last;
    return last;
}

static bool same_dims(const Inferred *inferred, int32_t a, int32_t b)
{
    const Shape *x = inferred_shape(inferred, a), *y = inferred_shape(inferred, b);
    return x && y && x->n_dims == y->n_dims &&
           memcmp(x->dim, y->dim, (size_t)x->n_dims * sizeof *x->dim) == 0;
}

static void refuse_member(Plan *plan, const Decision *mark, int32_t first, bool shape)
{
    const char *hint = shape ? "tensors of a group have one sharding, so they need one shape"
                             : "pin one tensor of the group";
    plan_find(plan, LEVEL_WARNING, shape ? "group-shape" : "group-pin", -1, mark->place, hint,
              "%s is %s %s, so it is not in group '%s'", plan_value_name(plan, mark->place),
              shape ? "of another shape than" : "pinned differently from",
              plan_value_name(plan, first), mark->group);
    plan_found_at(plan, &mark->origin);
}

/* Tensors of one group: the state they start with, and the pins on any of them. */
typedef struct {
    int32_t first;
    Flow flow;
    uint32_t pinned; /* dims */
    Cut cut[DIMS_MAX];
    AtomSet axes; /* of all these cuts */
} RuleGroup;

/* Adds the pins of one more tensor. Returns false, adding none, if they contradict the others: a
 * dim pinned in two ways, an axis on two dims, or an axis that may not shard a member. */
static bool join_pins(const Plan *plan, RuleGroup *group, const Flow *more, int32_t tensor)
{
    RuleGroup joined = *group;
    joined.flow.barred |= more->barred;
    for (int i = 0; i < plan->decided->n_pins; i++) {
        const Decision *pin = plan->decided->pins[i];
        if (pin->kind != PIN_TENSOR_DIM || pin->store || pin->place != tensor)
            continue;
        AtomSet axes = cut_atoms(decision_cut(pin));
        bool again = joined.pinned >> pin->dim & 1;
        if (again ? !cut_equal(decision_cut(pin), &joined.cut[pin->dim])
                  : (axes & joined.axes) != 0)
            return false;
        joined.pinned |= 1u << pin->dim;
        joined.cut[pin->dim] = *decision_cut(pin);
        joined.axes |= axes;
    }
    if (joined.axes & joined.flow.barred)
        return false;
    *group = joined;
    return true;
}

/* All members start with one state: the marks on any of them, and the most open role. */
static void join_flow(Flow *flow, const Flow *more)
{
    flow->barred |= more->barred;
    flow->pass &= more->pass;
    flow->role = more->role < flow->role ? more->role : flow->role;
}

static void make_groups(EngineRun *run)
{
    Plan *plan = run->plan;
    Propagation *p = run->p;
    Intern *names = intern_new(plan->arena);
    Vec(RuleGroup) groups = {0};
    for (int i = 0; i < plan->decided->n_marks; i++) {
        const Decision *mark = plan->decided->marks[i];
        if (mark->kind != PIN_GROUP || run->start[mark->place] < 0)
            continue;
        if (!run->group) {
            run->group = arena_array(plan->arena, int32_t, p->graph.n_tensors);
            memset(run->group, -1, (size_t)p->graph.n_tensors * sizeof *run->group);
        }
        const Flow *flow = p->flows.at[run->start[mark->place]];
        int32_t id = intern_put(names, mark->group, strlen(mark->group));
        if (id == groups.n)
            vec_push(plan->arena, &groups, (RuleGroup){.first = mark->place, .flow = *flow});
        assert(groups.at);
        RuleGroup *group = &groups.at[id];
        bool shape = same_dims(plan->inferred, group->first, mark->place);
        if (!shape || !join_pins(plan, group, flow, mark->place)) {
            refuse_member(plan, mark, group->first, !shape);
            continue;
        }
        join_flow(&group->flow, flow);
        run->group[mark->place] = id;
    }
    for (int t = 0; groups.n > 0 && t < p->graph.n_tensors; t++)
        if (run->group[t] >= 0)
            run->start[t] = put_flow(p, &groups.at[run->group[t]].flow);
    run->n_groups = groups.n;
}

/* The axes that distinguish the devices of stages shard no tensor of these stages. */
static void bar_axes_of_stages(EngineRun *run)
{
    Propagation *p = run->p;
    Arena *scratch = arena_new();
    const AtomSet *barred = stages_barred(scratch, run->plan);
    for (int t = 0; barred && t < p->graph.n_tensors; t++) {
        if (barred[t] == 0 || run->start[t] < 0)
            continue;
        Flow flow = *p->flows.at[run->start[t]];
        flow.barred |= barred[t];
        run->start[t] = put_flow(p, &flow);
    }
    arena_free(scratch);
}

/* Marks on whole tensors hold from the start, whatever the priorities of pins. */
static void start_run(EngineRun *run)
{
    Plan *plan = run->plan;
    Propagation *p = run->p;
    run->start = p->start;
    if (plan->decided->n_marks == 0 && !plan->decided->devices)
        return;
    run->start = arena_array(plan->arena, int32_t, p->graph.n_tensors);
    memcpy(run->start, p->start, (size_t)p->graph.n_tensors * sizeof *run->start);
    for (int i = 0; i < plan->decided->n_marks; i++) {
        const Decision *mark = plan->decided->marks[i];
        if (run->start[mark->place] < 0)
            continue;
        Flow flow = *p->flows.at[run->start[mark->place]];
        if (mark->kind == PIN_REPLICATED || mark->kind == PIN_UNREDUCED)
            flow.barred |= mark->axes;
        else if (mark->kind == PIN_BARRIER)
            flow.pass = (int32_t)mark->pass;
        run->start[mark->place] = put_flow(p, &flow);
    }
    bar_axes_of_stages(run);
    make_groups(run);
}

/* Sets a pin whose priority is reached; one of a later priority closes its dim and bars its axes.
 */
static void pin_dim(const Decision *pin, bool later, Cut *cut, uint32_t *closed, AtomSet *barred)
{
    uint32_t dim = 1u << pin->dim;
    AtomSet axes = cut_atoms(decision_cut(pin));
    if (!later)
        *cut = *decision_cut(pin);
    *closed = later || !pin->open ? *closed | dim : *closed & ~dim;
    if (later)
        *barred |= axes;
    else if (pin->priority > 0)
        *barred &= ~axes;
}

static void set_tensor_pin(EngineRun *run, const Decision *pin, bool later)
{
    Propagation *p = run->p;
    Flow flow = *p->flows.at[engine_tensor(p->engine, pin->place)];
    pin_dim(pin, later, &flow.dim[pin->dim], &flow.closed, &flow.barred);
    if (!later)
        flow.pinned |= 1u << pin->dim;
    engine_set(p->engine, -1, pin->place, put_flow(p, &flow));
}

static void set_index_pin(EngineRun *run, const Decision *pin, bool later)
{
    Propagation *p = run->p;
    FlowState state = *p->states.at[engine_op(p->engine, pin->place)];
    pin_dim(pin, later, &state.cut.index[pin->dim], &state.closed, &state.barred);
    engine_set(p->engine, pin->place, -1, put_state(p, &state));
}

static void set_pins(EngineRun *run, int priority)
{
    for (int i = 0; i < run->plan->decided->n_pins; i++) {
        const Decision *pin = run->plan->decided->pins[i];
        bool later = pin->priority > priority;
        if (pin->store || pin->priority < priority || (later && priority > 0))
            continue;
        if (pin->kind == PIN_TENSOR_DIM)
            set_tensor_pin(run, pin, later);
        else
            set_index_pin(run, pin, later);
    }
}

static bool has_pin_of(const Plan *plan, int priority)
{
    for (int i = 0; i < plan->decided->n_pins; i++)
        if (plan->decided->pins[i]->priority == priority)
            return true;
    return priority == 0;
}

/* ---- running ---- */

/* A log can be replayed when its passes were the same: no groups, no priorities. */
static const FlowLog *usable_past(const EngineRun *run, const Plan *before)
{
    if (!before || before->propagated->log.context != run->p || run->group ||
        last_priority(run->plan) > 0 || last_priority(before) > 0)
        return NULL;
    for (int i = 0; i < before->decided->n_marks; i++)
        if (before->decided->marks[i]->kind == PIN_GROUP)
            return NULL;
    return before->propagated->log.flow;
}

static void run_passes(EngineRun *run)
{
    Propagation *p = run->p;
    for (int priority = 0, last = last_priority(run->plan); priority <= last; priority++) {
        if (!has_pin_of(run->plan, priority))
            continue;
        set_pins(run, priority);
        for (int mode = 0; mode < MODE_COUNT; mode++)
            engine_sweep(p->engine, &(FlowPass){.pass = mode,
                                                .takes_part = p->takes_part[mode],
                                                .again = p->again[mode],
                                                .once = mode == MODE_PINNED});
    }
}

static int n_sweeps(const FlowLog *log)
{
    int turns = 0;
    for (int i = 0; i < log->turns.n; i++)
        turns += log->turns.at[i].pass >= MODE_EARLY;
    return turns / 2;
}

static int32_t sharding_of(const void *context, Shardings *shardings, int32_t state)
{
    const Propagation *p = context;
    if (state < 0)
        return -1;
    Sharding s = {.n_dims = p->flows.at[state]->n_dims};
    memcpy(s.dim, p->flows.at[state]->dim, (size_t)s.n_dims * sizeof(Cut));
    return shardings_put(shardings, &s);
}

static const OpCut *cut_of(const void *context, int32_t state)
{
    const Propagation *p = context;
    return &p->states.at[state]->cut;
}

/* Hands the fixed point to the plan: cuts of ops, and what each state of a tensor is. */
static void publish(EngineRun *run, Propagated *out)
{
    Plan *plan = run->plan;
    const Propagation *p = run->p;
    int n_tensors = p->graph.n_tensors;
    out->n_cuts = p->states.n;
    out->cuts = arena_array(plan->arena, const OpCut *, p->states.n);
    for (int i = 0; i < p->states.n; i++)
        out->cuts[i] = &p->states.at[i]->cut;
    if (run->op != out->cut)
        memcpy(out->cut, run->op, (size_t)plan->inferred->graph->n_ops * sizeof *out->cut);

    ReachedState *ends = arena_array(plan->arena, ReachedState, p->flows.n);
    for (int i = 0; i < p->flows.n; i++)
        ends[i] = (ReachedState){-1, p->flows.at[i]->pinned};
    for (int t = 0; t < n_tensors; t++) {
        int32_t state = run->end[t];
        if (state >= 0 && ends[state].sharding < 0)
            ends[state].sharding = sharding_of(p, plan->shardings, state);
    }
    out->ends = ends;
    out->group = run->group;
    out->log = (PlanLog){.flow = engine_log(p->engine),
                         .end = run->end,
                         .pass_name = pass_names,
                         .context = p,
                         .sharding_of = sharding_of,
                         .cut_of = cut_of};
    out->sweeps = n_sweeps(out->log.flow);
}

static void run_factor(Plan *plan, Propagated *out, const PlanRequest *request)
{
    Propagation *propagation = request->propagation;
    if (!propagation)
        propagation = propagation_new(plan->arena, plan->inferred, plan->mesh);
    const FlowGraph *graph = &propagation->graph;
    EngineRun run = {.plan = plan, .p = propagation, .op = out->cut};
    run.end = arena_array(plan->arena, int32_t, graph->n_tensors);
    if (graph->n_ops > plan->inferred->graph->n_ops)
        run.op = arena_array(plan->arena, int32_t, graph->n_ops);
    start_run(&run);
    engine_begin(propagation->engine, &(FlowRun){.log_arena = plan->arena,
                                                 .tensor = run.end,
                                                 .op = run.op,
                                                 .start = run.start,
                                                 .group = run.group,
                                                 .n_groups = run.n_groups,
                                                 .progress = plan->progress,
                                                 .past = usable_past(&run, request->before)});
    run_passes(&run);
    publish(&run, out);
    engine_end(propagation->engine);
}

/* ---- stops ---- */

static int stops_of(Arena *arena, const Plan *plan, int32_t op, StopRecord **out)
{
    const Propagation *p = plan->propagated->log.context;
    StopRecords stops = {0};
    *out = NULL;
    const Inferred *forward = plan->inferred->forward;
    if (plan->propagated->cut[op] < 0 || (forward && op >= forward->graph->n_ops))
        return 0;
    const OpSpace *space = program_space(plan->inferred, op);
    const GraphOp *at = &p->graph.op[op];
    int n = space->n_inputs + space->n_outputs;
    int32_t *state = arena_array(arena, int32_t, n + 1);
    const Flow **flow = arena_array(arena, const Flow *, n);
    state[0] = plan->propagated->cut[op];
    for (int o = 0; o < n; o++) {
        int32_t tensor = space->no_rule ? -1 : p->graph.tensor[at->input + o];
        state[1 + o] = tensor < 0 ? -1 : plan->propagated->log.end[tensor];
    }
    FlowVisitCase visit = begin_case(p, space, MODE_REDUCE, state, flow);
    visit.stops = &stops;
    visit.arena = arena;
    for (int o = 0; o < n; o++)
        flow_take(&visit, o);
    visit.state = *p->states.at[state[0]];
    for (int o = 0; o < n; o++)
        if (flow[o])
            flow_give(&visit, o);
    for (int i = 0; i < stops.n; i++)
        stops.at[i].op = op;
    *out = stops.at;
    return stops.n;
}

const Propagator propagator_explain = {
    .name = "factor",
    .profile = "explain",
    .about = "axes spread both ways between the dims of tensors and the index dims of ops "
             "until nothing changes; every axis that spread or stopped has a reason",
    .run = run_factor,
    .stops = stops_of,
    .by_states = true,
    .incremental = true,
    .obeys = OBEYS_PINS | OBEYS_MARKS,
};

bool propagation_sweep_all(Propagation *propagation)
{
    FlowPass all = {.pass = MODE_REDUCE, .takes_part = propagation->takes_part[MODE_REDUCE]};
    bool moved = engine_sweep_all(propagation->engine, &all);
    engine_end(propagation->engine);
    return moved;
}

int64_t propagation_n_visits(const Propagation *propagation)
{
    return engine_n_visits(propagation->engine);
}
