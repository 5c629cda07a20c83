#include "core/peers/shardy/flow.h"

#include "core/base/intern.h"

/* Key of the engine's memo: a visit depends only on this and its states. */
typedef struct {
    const FactorRule *rule;
    const ManualBorder *border;
    int32_t class, pass, elementwise, multi_use;
} RuleKey;

struct ShardyFlow {
    Arena *arena;
    Intern *states; /* packed */
    Vec(const TensorSharding *) unpacked;
    Intern *rules;                /* RuleKey */
    const ShardyProgram *program; /* of the run */
};

/* ---- states ---- */

ShardyFlow *shardy_flow_new(Arena *arena)
{
    ShardyFlow *flow = arena_make(arena, ShardyFlow);
    *flow = (ShardyFlow){.arena = arena, .states = intern_new(arena), .rules = intern_new(arena)};
    return flow;
}

int32_t shardy_put(ShardyFlow *flow, const TensorSharding *sharding)
{
    Arena *scratch = arena_new();
    Buf bytes = buf_new(scratch);
    tensor_sharding_pack(sharding, &bytes);
    int32_t id = intern_put(flow->states, bytes.s, bytes.n);
    arena_free(scratch);
    if (id == flow->unpacked.n) {
        TensorSharding *kept = arena_make(flow->arena, TensorSharding);
        *kept = *sharding;
        vec_push(flow->arena, &flow->unpacked, kept);
    }
    return id;
}

const TensorSharding *shardy_at(const ShardyFlow *flow, int32_t state)
{
    return flow->unpacked.at[state];
}

/* ---- meshes ---- */

static bool same_mesh(const Mesh *a, const Mesh *b)
{
    return a == b || (meshes_same_axes(a, b) && meshes_same_devices(a, b));
}

/* The mesh of all tensors that have a sharding on a mesh with axes, or -1 if there is none or they
 * differ. */
static int common_mesh(const FactorMeshes *meshes, const TensorSharding *const *shardings, int n)
{
    int mesh = MESH_NONE;
    for (int t = 0; t < n; t++) {
        int own = shardings[t]->mesh;
        if (own == MESH_NONE)
            continue;
        if (mesh == MESH_NONE || meshes->at[mesh]->n_axes == 0)
            mesh = own;
        else if (meshes->at[own]->n_axes > 0 && !same_mesh(meshes->at[own], meshes->at[mesh]))
            return MESH_NONE;
    }
    return mesh;
}

/* ---- borders of manual computations ---- */

static int manual_axes_in(const AxisList *axes, const AxisList *manual)
{
    for (int i = 0; i < axes->n; i++) {
        bool is_manual = false;
        for (int m = 0; m < manual->n; m++)
            is_manual |= manual->at[m].axis == axes->at[i].axis;
        if (!is_manual)
            return i;
    }
    return axes->n;
}

static void erase(AxisList *axes, const AxisList *manual, bool from_anywhere)
{
    AxisList kept = {0};
    int n = manual_axes_in(axes, manual);
    for (int i = from_anywhere ? 0 : n; i < axes->n; i++) {
        AxisList one = {1, {axes->at[i]}};
        if (!from_anywhere || manual_axes_in(&one, manual) == 0)
            axis_list_add(&kept, axes->at[i]);
    }
    *axes = kept;
}

/* Removes the leading manual axes. */
TensorSharding shardy_erase_manual(const ManualBorder *border, const TensorSharding *sharding)
{
    TensorSharding inner = *sharding;
    for (int d = 0; d < inner.n_dims; d++)
        erase(&inner.dim[d].axes, &border->manual, false);
    erase(&inner.replicated, &border->manual, true);
    erase(&inner.unreduced, &border->manual, true);
    return inner;
}

/* Adds the manual axes of the border. */
static TensorSharding add_manual(const ManualBorder *border, const TensorSharding *sharding)
{
    TensorSharding outer = *sharding;
    for (int d = 0; d < outer.n_dims; d++) {
        AxisList axes = border->border.dim[d].axes;
        axes.n = manual_axes_in(&axes, &border->manual);
        for (int i = 0; i < sharding->dim[d].axes.n; i++)
            axis_list_add(&axes, sharding->dim[d].axes.at[i]);
        outer.dim[d].axes = axes;
    }
    outer.replicated = border->border.replicated;
    outer.unreduced = border->border.unreduced;
    return outer;
}

static TensorSharding edge_to_sources(const ManualBorder *border, const TensorSharding *edge)
{
    return border->into ? add_manual(border, edge) : shardy_erase_manual(border, edge);
}

static TensorSharding sources_to_edge(const ManualBorder *border, const TensorSharding *sources)
{
    return border->into ? shardy_erase_manual(border, sources) : add_manual(border, sources);
}

/* ---- a visit ---- */

static Pass direction_in(const RuleKey *key, int factor, int pass)
{
    bool through = key->rule->factor[factor].type == FACTOR_PASS_THROUGH;
    Pass later = key->class == SHARDY_BROADCAST ? PASS_BACKWARD : PASS_BOTH;
    if (key->class == SHARDY_BARRIER)
        return (Pass)key->pass;
    if (pass == SHARDY_PASSES - 1)
        return PASS_BOTH;
    if (pass == 3 || (pass == 2 && through))
        return later;
    if (key->multi_use && pass == 0)
        return PASS_NONE;
    if (key->class == SHARDY_VIEW || key->class == SHARDY_EDGE)
        return PASS_BOTH;
    return key->class == SHARDY_CHOSEN ? PASS_FORWARD : PASS_NONE;
}

static FactorStep step_in(const ShardyProgram *program, const RuleKey *key, int pass,
                          bool aggressive, Pass *direction)
{
    for (int f = 0; f < key->rule->n_factors; f++)
        direction[f] = direction_in(key, f, pass);
    bool tied = key->class == SHARDY_BARRIER || key->class == SHARDY_EDGE;
    return (FactorStep){.rule = key->rule,
                        .direction = direction,
                        .aggressive = aggressive,
                        .elementwise = key->elementwise,
                        .conservative = program->conservative && !tied};
}

static void key_of(const ShardyOp *op, RuleKey *key)
{
    memset(key, 0, sizeof *key);
    key->rule = op->rule;
    key->border = op->border;
    key->class = (int32_t)op->class;
    key->pass = (int32_t)op->pass;
    key->elementwise = op->elementwise;
    key->multi_use = op->multi_use;
}

FactorStep shardy_step_of(const ShardyProgram *program, const ShardyOp *op, int pass,
                          bool aggressive, const TensorSharding *const *shardings, Pass *direction)
{
    RuleKey key;
    key_of(op, &key);
    FactorStep step = step_in(program, &key, pass, aggressive, direction);
    int mesh = common_mesh(program->meshes, shardings, op->n_inputs + op->n_outputs);
    step.mesh = mesh == MESH_NONE ? NULL : program->meshes->at[mesh];
    return step;
}

/* Updates the states of the op's n tensors. */
static bool visit(ShardyFlow *flow, const RuleKey *key, int pass, bool aggressive, int32_t *state,
                  int n)
{
    Arena *scratch = arena_new();
    TensorSharding *shardings = arena_array(scratch, TensorSharding, n);
    TensorSharding **at = arena_array(scratch, TensorSharding *, n);
    const TensorSharding **seen = arena_array(scratch, const TensorSharding *, n);
    bool *changed = arena_array(scratch, bool, n), any = false;
    for (int t = 0; t < n; t++) {
        shardings[t] = *shardy_at(flow, state[t]);
        if (key->border && t == n - 1)
            shardings[t] = edge_to_sources(key->border, &shardings[t]);
        seen[t] = at[t] = &shardings[t];
    }
    int mesh = common_mesh(flow->program->meshes, seen, n);
    if (mesh != MESH_NONE) {
        Pass *direction = arena_array(scratch, Pass, key->rule->n_factors);
        FactorStep step = step_in(flow->program, key, pass, aggressive, direction);
        step.mesh = flow->program->meshes->at[mesh];
        any = factor_step(scratch, &step, mesh, at, changed);
    }
    for (int t = 0; t < n; t++) {
        if (!changed[t])
            continue;
        if (key->border && t == n - 1)
            shardings[t] = sources_to_edge(key->border, &shardings[t]);
        state[t] = shardy_put(flow, &shardings[t]);
    }
    arena_free(scratch);
    return any;
}

/* A pass number of the engine: 0 to 4, plus 8 if aggressive. */
enum { AGGRESSIVE = 8 };

const char *const *shardy_pass_names(void)
{
    static const char *const names[AGGRESSIVE + SHARDY_PASSES] = {
        "elementwise ops and views with one reader, basic",
        "elementwise ops and views, basic",
        "pass-through factors, basic",
        "all factors but broadcasts forward, basic",
        "everything, basic",
        "",
        "",
        "",
        "elementwise ops and views with one reader",
        "elementwise ops and views",
        "pass-through factors",
        "all factors but broadcasts forward",
        "everything",
    };
    return names;
}

static void visit_op(void *context, int32_t rule, int pass, FlowDirection direction, int32_t *state,
                     int n_inputs, int n_outputs)
{
    ShardyFlow *flow = context;
    (void)direction;
    RuleKey key;
    memcpy(&key, intern_key(flow->rules, rule, NULL), sizeof key);
    visit(flow, &key, pass % AGGRESSIVE, pass >= AGGRESSIVE, state + 1, n_inputs + n_outputs);
}

/* ---- a run ---- */

typedef struct {
    ShardyFlow *flow;
    ShardyProgram *program;
    Arena *arena;
    Engine *engine;
    ShardyObserver *seen;
    void *context;
    int32_t *reported; /* states after the last event reported */
    int n_reported;    /* number of log events reported */
    int pass;
    bool aggressive;
} ShardyRun;

static const FlowGraph *engine_graph(ShardyRun *run)
{
    const ShardyProgram *program = run->program;
    FlowGraph *graph = arena_make(run->arena, FlowGraph);
    GraphOp *op = arena_array(run->arena, GraphOp, program->n_ops);
    int32_t *rule = arena_array(run->arena, int32_t, program->n_ops);
    Vec(int32_t) operands = {0};
    for (int i = 0; i < program->n_ops; i++) {
        const ShardyOp *from = &program->op[i];
        RuleKey key;
        key_of(from, &key);
        rule[i] = intern_put(run->flow->rules, &key, sizeof key);
        op[i] = (GraphOp){.input = operands.n,
                          .n_inputs = (uint16_t)from->n_inputs,
                          .n_outputs = (uint16_t)from->n_outputs};
        for (int t = 0; t < from->n_inputs + from->n_outputs; t++)
            vec_push(run->arena, &operands, from->tensor[t]);
    }
    *graph = (FlowGraph){.n_ops = program->n_ops,
                         .n_tensors = program->n_tensors,
                         .n_operands = operands.n,
                         .op = op,
                         .rule = rule,
                         .tensor = operands.at};
    return graph;
}

static void report_change(ShardyRun *run, int op, const int32_t *before, const int32_t *after,
                          int n)
{
    Arena *scratch = arena_new();
    const TensorSharding **was = arena_array(scratch, const TensorSharding *, n);
    const TensorSharding **is = arena_array(scratch, const TensorSharding *, n);
    for (int t = 0; t < n; t++) {
        was[t] = shardy_at(run->flow, before[t]);
        is[t] = shardy_at(run->flow, after[t]);
    }
    run->seen(run->context, &(ShardyEvent){op, run->pass, run->aggressive, was, is});
    arena_free(scratch);
}

/* Reports the events [first, end) of one visit. */
static void report_visit(ShardyRun *run, const FlowLog *log, int first, int end)
{
    int at = log->events.at[first].op;
    if (at < 0) {
        for (int e = first; e < end; e++)
            run->reported[log->events.at[e].tensor] = log->events.at[e].after;
        return;
    }
    const ShardyOp *op = &run->program->op[at];
    int n = op->n_inputs + op->n_outputs;
    Arena *scratch = arena_new();
    int32_t *states = arena_array(scratch, int32_t, 2 * n);
    for (int t = 0; t < n; t++)
        states[t] = run->reported[op->tensor[t]];
    for (int e = first; e < end; e++)
        run->reported[log->events.at[e].tensor] = log->events.at[e].after;
    for (int t = 0; t < n; t++)
        states[n + t] = run->reported[op->tensor[t]];
    if (op->border)
        for (int t = n - 1; t < 2 * n; t += n) {
            TensorSharding seen = edge_to_sources(op->border, shardy_at(run->flow, states[t]));
            states[t] = shardy_put(run->flow, &seen);
        }
    report_change(run, at, states, states + n, n);
    arena_free(scratch);
}

static void report_events(ShardyRun *run)
{
    const FlowLog *log = engine_log(run->engine);
    while (run->seen && run->n_reported < log->events.n) {
        int first = run->n_reported, end = first + 1;
        while (end < log->events.n && log->events.at[end].op == log->events.at[first].op)
            end++;
        report_visit(run, log, first, end);
        run->n_reported = end;
    }
}

ShardyOp shardy_result_op(const ShardyResult *result)
{
    return (ShardyOp){.rule = result->rule,
                      .class = SHARDY_BARRIER,
                      .pass = PASS_BOTH,
                      .n_inputs = 1,
                      .n_outputs = 1};
}

/* Propagates between the returned tensors and the results of the function. */
static void pass_results(ShardyRun *run, bool aggressive)
{
    for (int i = 0; i < run->program->n_results; i++) {
        ShardyResult *result = &run->program->result[i];
        RuleKey key;
        ShardyOp op = shardy_result_op(result);
        key_of(&op, &key);
        int32_t before[2] = {engine_tensor(run->engine, result->tensor), result->state};
        int32_t after[2] = {before[0], before[1]};
        if (!result->rule || !visit(run->flow, &key, SHARDY_PASSES - 1, aggressive, after, 2))
            continue;
        report_events(run);
        if (run->seen)
            report_change(run, -1 - i, before, after, 2);
        result->state = after[1];
        if (after[0] != before[0])
            engine_set(run->engine, -1, result->tensor, after[0]);
    }
}

static void run_pass(ShardyRun *run, int pass, bool aggressive)
{
    run->pass = pass;
    run->aggressive = aggressive;
    pass_results(run, aggressive);
    engine_stack(run->engine, pass + (aggressive ? AGGRESSIVE : 0));
    pass_results(run, aggressive);
    report_events(run);
}

static void run_passes(ShardyRun *run, ShardyMethod method)
{
    for (int pass = method.op_priorities ? 0 : SHARDY_PASSES - 1; pass < SHARDY_PASSES; pass++)
        for (int aggressive = !method.basic; aggressive <= method.aggressive; aggressive++)
            run_pass(run, pass, aggressive);
}

/* ---- user priorities ---- */

static int priority_of(const DimSharding *dim)
{
    return dim->priority == PRIORITY_NONE ? 0 : dim->priority;
}

/* The sharding before the first priority: dims of later priorities are empty and closed, their axes
 * replicated. */
static TensorSharding hide_priorities(const TensorSharding *given)
{
    TensorSharding felt = *given;
    for (int d = 0; d < felt.n_dims; d++) {
        DimSharding *dim = &felt.dim[d];
        if (priority_of(dim) > 0) {
            for (int i = 0; i < dim->axes.n; i++)
                axis_list_add(&felt.replicated, dim->axes.at[i]);
            *dim = (DimSharding){.open = false};
        }
        dim->priority = PRIORITY_NONE;
    }
    axis_list_sort(&felt.replicated);
    return felt;
}

/* Sets the dims of this priority to their initial sharding. */
static TensorSharding reveal_priority(const TensorSharding *now, const TensorSharding *given,
                                      int priority)
{
    TensorSharding felt = *now;
    AxisList kept = {0}, freed = {0};
    for (int d = 0; d < felt.n_dims; d++) {
        if (priority_of(&given->dim[d]) != priority)
            continue;
        felt.dim[d] = given->dim[d];
        felt.dim[d].priority = PRIORITY_NONE;
        for (int i = 0; i < felt.dim[d].axes.n; i++)
            axis_list_add(&freed, felt.dim[d].axes.at[i]);
    }
    for (int i = 0; i < felt.replicated.n; i++) {
        bool is_freed = false;
        for (int j = 0; j < freed.n; j++)
            is_freed |= axis_ref_equal(&felt.replicated.at[i], &freed.at[j]);
        if (!is_freed)
            axis_list_add(&kept, felt.replicated.at[i]);
    }
    felt.replicated = kept;
    return felt;
}

static bool has_priority(const TensorSharding *given, int priority)
{
    for (int d = 0; d < given->n_dims; d++)
        if (priority_of(&given->dim[d]) == priority)
            return true;
    return false;
}

/* The smallest priority of a dim greater than `after`, or INT_MAX. */
static int next_in(const TensorSharding *given, int after, int next)
{
    for (int d = 0; d < given->n_dims; d++) {
        int priority = priority_of(&given->dim[d]);
        if (priority > after && priority < next)
            next = priority;
    }
    return next;
}

typedef struct {
    int32_t *tensor, *result; /* initial states */
} InitialStates;

static int next_priority(ShardyRun *run, const InitialStates *given, int after)
{
    int next = INT32_MAX;
    for (int t = 0; t < run->program->n_tensors; t++)
        next = next_in(shardy_at(run->flow, given->tensor[t]), after, next);
    for (int i = 0; i < run->program->n_results; i++)
        next = next_in(shardy_at(run->flow, given->result[i]), after, next);
    return next;
}

/* hide_priorities() of a state, memoized. */
static int32_t hidden_state(ShardyRun *run, int32_t *known, int32_t state)
{
    if (known[state] == 0) {
        TensorSharding felt = hide_priorities(shardy_at(run->flow, state));
        known[state] = shardy_put(run->flow, &felt) + 1;
    }
    return known[state] - 1;
}

static InitialStates hide_all(ShardyRun *run)
{
    ShardyProgram *program = run->program;
    InitialStates given = {arena_array(run->arena, int32_t, program->n_tensors),
                           arena_array(run->arena, int32_t, program->n_results)};
    int32_t *known = arena_array(run->arena, int32_t, run->flow->unpacked.n); /* 1 + state */
    for (int t = 0; t < program->n_tensors; t++) {
        given.tensor[t] = program->state[t];
        program->state[t] = hidden_state(run, known, program->state[t]);
    }
    for (int i = 0; i < program->n_results; i++) {
        given.result[i] = program->result[i].state;
        program->result[i].state = hidden_state(run, known, given.result[i]);
    }
    return given;
}

static void reveal_all(ShardyRun *run, const InitialStates *given, int priority)
{
    ShardyFlow *flow = run->flow;
    for (int t = 0; t < run->program->n_tensors; t++) {
        const TensorSharding *was = shardy_at(flow, given->tensor[t]);
        if (!has_priority(was, priority))
            continue;
        TensorSharding felt =
            reveal_priority(shardy_at(flow, engine_tensor(run->engine, t)), was, priority);
        engine_set_alone(run->engine, t, shardy_put(flow, &felt));
    }
    for (int i = 0; i < run->program->n_results; i++) {
        const TensorSharding *was = shardy_at(flow, given->result[i]);
        int32_t *state = &run->program->result[i].state;
        if (!has_priority(was, priority))
            continue;
        TensorSharding felt = reveal_priority(shardy_at(flow, *state), was, priority);
        *state = shardy_put(flow, &felt);
    }
}

void shardy_run(ShardyFlow *flow, ShardyProgram *program, ShardyMethod method, ShardyObserver *seen,
                void *context)
{
    Arena *arena = arena_new();
    ShardyRun run = {
        .flow = flow, .program = program, .arena = arena, .seen = seen, .context = context};
    flow->program = program;
    InitialStates given = {0};
    if (method.user_priorities)
        given = hide_all(&run);
    run.reported = arena_array(arena, int32_t, program->n_tensors);
    Arena *log_arena = program->log_arena ? program->log_arena : arena;
    int32_t *start = arena_array(log_arena, int32_t, program->n_tensors);
    for (int t = 0; t < program->n_tensors; t++)
        start[t] = run.reported[t] = program->state[t];
    const FlowGraph *graph = engine_graph(&run);
    const int32_t *own = arena_array(arena, int32_t, intern_count(flow->rules));
    run.engine = engine_new(arena, graph, own, visit_op, flow);
    engine_begin(run.engine, &(FlowRun){.log_arena = log_arena,
                                        .tensor = arena_array(arena, int32_t, program->n_tensors),
                                        .op = arena_array(arena, int32_t, program->n_ops),
                                        .start = start,
                                        .progress = program->progress,
                                        .group = program->group,
                                        .n_groups = program->n_groups});
    run_passes(&run, method);
    int priority = method.user_priorities ? next_priority(&run, &given, 0) : INT32_MAX;
    for (; priority < INT32_MAX; priority = next_priority(&run, &given, priority)) {
        reveal_all(&run, &given, priority);
        run_passes(&run, method);
    }
    for (int t = 0; t < program->n_tensors; t++)
        program->state[t] = engine_tensor(run.engine, t);
    program->log = program->log_arena ? engine_log(run.engine) : NULL;
    engine_end(run.engine);
    arena_free(arena);
}
