/* The engine: a replayed edit is a run from nothing, sweeps over changes are whole sweeps, the
 * stack visits in its order. */
#include "tests/unit/planning.h"

#include "core/propagate/engine.h"
#include "core/propagate/propagate.h"
#include "core/session/make.h"

#include <stdio.h>

/* ---- a toy profile: states are numbers, an op's results take the largest of its inputs ---- */

typedef struct {
    char text[256];
    int n;
} Trace;

static void take_largest(void *context, int32_t rule, int pass, FlowDirection direction,
                         int32_t *state, int n_inputs, int n_outputs)
{
    Trace *trace = context;
    (void)pass;
    if (trace)
        trace->n += snprintf(trace->text + trace->n, sizeof trace->text - (size_t)trace->n, "%d ",
                             (int)rule);
    int n = n_inputs + n_outputs;
    int32_t largest = 0;
    for (int o = 0; o < n; o++) {
        bool source = direction == FLOW_BOTH || (o < n_inputs) == (direction == FLOW_FORWARD);
        largest = source && state[1 + o] > largest ? state[1 + o] : largest;
    }
    for (int o = 0; o < n; o++)
        if (state[1 + o] < largest &&
            (direction == FLOW_BOTH || (o >= n_inputs) == (direction == FLOW_FORWARD)))
            state[1 + o] = largest;
}

/* a chain t0 -> t1 -> t2 -> t3; rules are the ops' numbers, so each visit is computed once. */
static Engine *chain_of(Arena *arena, int n, Trace *trace)
{
    FlowGraph *graph = arena_make(arena, FlowGraph);
    GraphOp *ops = arena_array(arena, GraphOp, n);
    int32_t *tensor = arena_array(arena, int32_t, 2 * n), *own = arena_array(arena, int32_t, n);
    int32_t *rule = arena_array(arena, int32_t, n);
    for (int i = 0; i < n; i++) {
        rule[i] = i;
        ops[i] = (GraphOp){.input = 2 * i, .n_inputs = 1, .n_outputs = 1};
        tensor[2 * i] = i;
        tensor[2 * i + 1] = i + 1;
    }
    *graph = (FlowGraph){n, n + 1, 2 * n, ops, rule, tensor, NULL, NULL};
    return engine_new(arena, graph, own, take_largest, trace);
}

static void the_stack_goes_from_the_change_to_readers_before_the_maker(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Trace trace = {0};
    Engine *engine = chain_of(arena, 3, &trace);
    int32_t start[4] = {0, 0, 5, 0}, now[4], own[3];
    engine_begin(engine, &(FlowRun){.log_arena = arena, .start = start, .tensor = now, .op = own});
    engine_stack(engine, 0);
    /* 0 first; 1 takes t2 back to t1, whose maker is 0; its reader, 1 itself, is not due; 2. */
    assert_string_equal(trace.text, "0 1 0 2 ");
    for (int t = 0; t < 4; t++)
        assert_int_equal(engine_tensor(engine, t), 5);
    engine_end(engine);
    arena_free(arena);
}

static void a_group_has_one_state(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Engine *engine = chain_of(arena, 3, NULL);
    int32_t start[4] = {0}, group[4] = {0, -1, -1, 0}, now[4], own[3];
    engine_begin(engine, &(FlowRun){.log_arena = arena,
                                    .tensor = now,
                                    .op = own,
                                    .start = start,
                                    .group = group,
                                    .n_groups = 1});
    engine_set(engine, -1, 3, 7);
    assert_int_equal(engine_tensor(engine, 0), 7);
    engine_sweep(engine, &(FlowPass){.pass = 1, .once = true});
    assert_int_equal(engine_tensor(engine, 2), 7);
    engine_end(engine);
    arena_free(arena);
}

/* ---- replay, on the samples ---- */

typedef struct {
    const char *name, *model, *dims, *mesh;
} Sample;

static Sample samples[] = {
    {"tiny-gpt", "tiny-gpt", "batch=4,seq=16", "dp=2,tp=2"},
    {"llama-tiny, odd mesh", "llama-tiny", "batch=6,seq=15", "dp=3,tp=4"},
    {"gpt2", "gpt2", "batch=8,seq=1024", "dp=2,tp=4"},
};

static bool same_log(const FlowLog *a, const FlowLog *b)
{
    if (a->events.n != b->events.n || a->turns.n != b->turns.n)
        return false;
    for (int i = 0; i < a->turns.n; i++)
        if (a->turns.at[i].pass != b->turns.at[i].pass ||
            a->turns.at[i].direction != b->turns.at[i].direction ||
            a->turns.at[i].first != b->turns.at[i].first)
            return false;
    return a->events.n == 0 ||
           memcmp(a->events.at, b->events.at, (size_t)a->events.n * sizeof *a->events.at) == 0;
}

static uint32_t random_of(uint64_t *seed, uint32_t n)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33) % n;
}

static const char *random_axis(uint64_t *seed)
{
    static const char *const axes[] = {"dp", "tp", "", "tp", "dp"};
    return axes[random_of(seed, 5)];
}

/* Of some index dim that may be cut. */
static Decision random_of_op(Planning *p, uint64_t *seed)
{
    for (;;) {
        int32_t op = p->inferred->program[random_of(seed, (uint32_t)p->inferred->n_program)];
        const OpSpace *space = program_space(p->inferred, op);
        int index = space->n_index ? (int)random_of(seed, (uint32_t)space->n_index) : 0;
        if (space->n_index == 0 || space->index[index].role == ROLE_FROZEN)
            continue;
        Decision pin = {.kind = random_of(seed, 4) ? PIN_INDEX_DIM : UNPIN_INDEX_DIM, .place = op};
        pin.dim = index;
        Cut cut = planning_cut(p, space->index[index].size, random_axis(seed), 1);
        pin.cut = cut_keep(intern_new(p->arena), &cut);
        return pin;
    }
}

/* A pin or an unpin of some dim of some tensor; sometimes about the tensor as a whole. */
static Decision random_of_tensor(Planning *p, uint64_t *seed)
{
    for (;;) {
        int32_t tensor = (int32_t)random_of(seed, (uint32_t)p->graph->n_tensors);
        const Shape *shape = inferred_shape(p->inferred, tensor);
        int32_t maker = p->graph->tensors[tensor].maker;
        if (!shape || shape->n_dims == 0 || (maker >= 0 && inferred_is_host(p->inferred, maker)))
            continue;
        static const DecisionKind marks[] = {PIN_REPLICATED, PIN_BARRIER, UNPIN_TENSOR, PIN_GROUP};
        Decision pin = {.kind = random_of(seed, 5) ? PIN_TENSOR_DIM : UNPIN_TENSOR_DIM};
        pin.place = tensor;
        pin.dim = (int)random_of(seed, (uint32_t)shape->n_dims);
        Cut cut = planning_cut(p, shape->dim[pin.dim], random_axis(seed), 1);
        pin.cut = cut_keep(intern_new(p->arena), &cut);
        if (random_of(seed, 12) > 0)
            return pin;
        pin = (Decision){.kind = marks[random_of(seed, 4)], .place = tensor, .dim = -1};
        pin.axes = mesh_axis_atoms(p->mesh, (int)random_of(seed, 2));
        pin.pass = (Pass)random_of(seed, 3);
        pin.group = random_of(seed, 2) ? "a" : "b";
        return pin;
    }
}

static void random_edit(Planning *p, uint64_t *seed)
{
    Decision pin = random_of(seed, 4) ? random_of_tensor(p, seed) : random_of_op(p, seed);
    if (pin.kind == PIN_TENSOR_DIM || pin.kind == PIN_INDEX_DIM) {
        pin.open = random_of(seed, 11) == 3;
        pin.priority = (int)random_of(seed, 20) == 1;
    }
    pin.origin = (Origin){.kind = ORIGIN_USER, .file = "", .text = ""};
    journal_add(&p->journal, p->arena, &pin);
}

static void a_replayed_edit_is_a_plan_from_nothing(void **state)
{
    const Sample *sample = *state;
    Planning *p = planning_open(sample->model, sample->dims, sample->mesh);
    Propagation *propagation = propagation_new(p->arena, p->inferred, p->mesh);
    Plan *before = NULL;
    uint64_t seed = 7;
    enum { EDITS = 60 };
    int64_t looked_at = 0, from_nothing = 0;
    for (int i = 0; i < EDITS; i++) {
        random_edit(p, &seed);
        if (i % 9 == 8) /* undo two */
            p->journal.n_done -= 2;
        if (i % 20 == 19) /* and all */
            p->journal.n_done = 0;
        PlanRequest request = planning_request(p);
        request.propagation = propagation;
        Plan *whole = plan_make(&request, NULL);
        from_nothing += propagation_n_visits(propagation);
        request.before = before;
        Plan *replayed = plan_make(&request, NULL);
        looked_at += before ? propagation_n_visits(propagation) : 0;
        if (!same_log(whole->propagated->log.flow, replayed->propagated->log.flow))
            fail_msg("edit %d: the logs differ (%d and %d events)", i,
                     whole->propagated->log.flow->events.n,
                     replayed->propagated->log.flow->events.n);
        size_t n_bytes = (size_t)p->graph->n_tensors * sizeof(int32_t);
        assert_memory_equal(whole->propagated->log.end, replayed->propagated->log.end, n_bytes);
        assert_int_equal(whole->propagated->sweeps, replayed->propagated->sweeps);
        plan_free(whole);
        plan_free(before);
        before = replayed;
    }
    assert_true(looked_at < from_nothing);
    plan_free(before);
    planning_close(p);
}

int main(void)
{
    struct CMUnitTest tests[8] = {
        cmocka_unit_test(the_stack_goes_from_the_change_to_readers_before_the_maker),
        cmocka_unit_test(a_group_has_one_state),
    };
    int n = 2;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        tests[n++] = (struct CMUnitTest){.name = samples[i].name,
                                         .test_func = a_replayed_edit_is_a_plan_from_nothing,
                                         .initial_state = &samples[i]};
    return _cmocka_run_group_tests("engine", tests, (size_t)n, NULL, NULL);
}
