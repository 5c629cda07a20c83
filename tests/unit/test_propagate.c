/* The factor propagator on small graphs whose right answer can be said in a line, and its promises
 * (fixed point, pins kept, every axis explained) on the samples. */
#include "tests/unit/planning.h"

#include "core/propagate/propagate.h"
#include "core/explain/reason.h"
#include "core/session/make.h"

/* ---- made graphs: "operator out = in, in" lines over inputs and weights ---- */

typedef struct {
    const char *op_type, *out, *in[4];
} Line;

typedef struct {
    const char *name; /* "w:": a parameter; else a graph input */
    int64_t dim[4];
} Tensor;

static Planning *made(const Tensor *tensors, const Line *lines, const char *output,
                      const char *mesh)
{
    Arena *arena = arena_new();
    Planning *p = arena_make(arena, Planning);
    p->arena = arena;
    GraphBuilder *builder = graph_builder_new(arena, "made");
    for (const Tensor *t = tensors; t->name; t++) {
        bool parameter = strncmp(t->name, "w:", 2) == 0;
        int32_t id = graph_tensor(builder, str_from(t->name + (parameter ? 2 : 0)));
        Shape shape = {0};
        DeclaredDim dims[4];
        while (shape.n_dims < 4 && t->dim[shape.n_dims]) {
            dims[shape.n_dims] = (DeclaredDim){.size = t->dim[shape.n_dims]};
            shape.dim[shape.n_dims] = t->dim[shape.n_dims];
            shape.n_dims++;
        }
        if (parameter)
            graph_add_initializer(builder, id, DT_F32, &shape, (TensorData){.form = DATA_ABSENT});
        else
            graph_add_input(builder, id, DT_F32, dims, (int)shape.n_dims);
    }
    for (const Line *line = lines; line->op_type; line++) {
        int32_t in[4], out = graph_tensor(builder, str_from(line->out));
        int n = 0;
        while (n < 4 && line->in[n]) {
            in[n] = graph_tensor(builder, str_from(line->in[n]));
            n++;
        }
        graph_add_op(builder, str_from(line->op_type), str_from(line->out), STR(""), in, n, &out, 1,
                     graph_add_attrs(builder, NULL, 0));
    }
    graph_add_output(builder, graph_tensor(builder, str_from(output)));
    Error err = {0};
    p->graph = graph_seal(builder, &err);
    if (!p->graph)
        planning_fail(&err);
    planning_infer(p, "", mesh);
    return p;
}

static const Tensor mlp_tensors[] = {
    {"x", {8, 16, 32}}, {"w:up", {32, 64}}, {"w:down", {64, 32}}, {0}};
static const Line mlp_lines[] = {{"MatMul", "a", {"x", "up"}},
                                 {"Relu", "b", {"a"}},
                                 {"MatMul", "c", {"b", "down"}},
                                 {"Add", "y", {"c", "x"}},
                                 {0}};

static void column_then_row_is_one_all_reduce(void **state)
{
    (void)state;
    Planning *p = made(mlp_tensors, mlp_lines, "y", "dp=2,tp=4");
    planning_pin(p, "x", 0, "dp", 1, false);
    planning_pin(p, "up", 1, "tp", 1, false);
    planning_pin(p, "down", 0, "tp", 1, false);
    planning_make(p);
    assert_string_equal(planning_sharding(p, "b", false), "8/dp,16,64/tp");
    assert_string_equal(planning_sharding(p, "c", true), "8/dp,16,32 +tp");
    assert_string_equal(planning_sharding(p, "y", false), "8/dp,16,32");
    assert_string_equal(planning_collectives(p), "all_reduce tp 1 x 8192");
    planning_close(p);
}

static void a_cut_reader_makes_it_a_reduce_scatter(void **state)
{
    (void)state;
    Planning *p = made(mlp_tensors, mlp_lines, "y", "tp=4");
    planning_pin(p, "up", 1, "tp", 1, false);
    planning_pin(p, "down", 0, "tp", 1, false);
    planning_pin(p, "y", 1, "tp", 1, false);
    planning_make(p);
    assert_string_equal(planning_sharding(p, "c", true), "8,16,32 +tp");
    assert_string_equal(planning_collectives(p),
                        "all_gather tp 1 x 16384; reduce_scatter tp 1 x 16384");
    planning_close(p);
}

static void unpinned_parameters_take_cuts_but_hand_none_on(void **state)
{
    (void)state;
    const Tensor tensors[] = {{"x", {8, 32}}, {"z", {8, 32}}, {"w:w", {32, 64}}, {0}};
    const Line lines[] = {
        {"MatMul", "a", {"x", "w"}}, {"MatMul", "b", {"z", "w"}}, {"Concat", "y", {"a", "b"}}, {0}};
    Planning *p = made(tensors, lines, "b", "tp=4");
    planning_pin(p, "a", 1, "tp", 1, false);
    planning_make(p);
    assert_string_equal(planning_sharding(p, "a", false), "8,64/tp");
    assert_string_equal(planning_sharding(p, "b", false), "8,64");  /* not leaked through w */
    assert_string_equal(planning_sharding(p, "w", false), "32,64"); /* its uses do not agree */
    planning_close(p);
}

static void what_is_made_from_parameters_hands_none_on(void **state)
{
    (void)state;
    const Tensor tensors[] = {{"x", {8, 32}}, {"z", {8, 32}}, {"w:w", {64, 32}}, {0}};
    const Line lines[] = {
        {"Transpose", "t", {"w"}}, {"MatMul", "a", {"x", "t"}}, {"MatMul", "b", {"z", "t"}}, {0}};
    Planning *p = made(tensors, lines, "b", "tp=4");
    planning_pin(p, "a", 1, "tp", 1, false);
    planning_make(p);
    assert_string_equal(planning_sharding(p, "a", false), "8,64/tp");
    assert_string_equal(planning_sharding(p, "b", false), "8,64"); /* not leaked through t */
    planning_close(p);
}

/* An all-reduce moves the output twice, a gather the operand once: 2 * 8 * N against 8 * 32. */
static void a_sum_is_cut_where_that_moves_no_more(void **state)
{
    (void)state;
    const Tensor tensors[] = {{"x", {8, 32}}, {"w:w", {32, 16}}, {"w:wide", {32, 17}}, {0}};
    const Line lines[] = {
        {"Relu", "a", {"x"}}, {"MatMul", "b", {"a", "w"}}, {"MatMul", "c", {"a", "wide"}}, {0}};
    Planning *p = made(tensors, lines, "c", "tp=4");
    planning_pin(p, "x", 1, "tp", 1, false);
    planning_make(p);
    assert_string_equal(planning_sharding(p, "b", true), "8,16 +tp");
    assert_string_equal(planning_sharding(p, "c", true), "8,17");
    planning_close(p);
}

static void an_output_is_summed_before_its_reader(void **state)
{
    (void)state;
    const Tensor tensors[] = {{"x", {8, 32}}, {"w:w", {32, 64}}, {0}};
    const Line lines[] = {{"MatMul", "a", {"x", "w"}}, {"Neg", "b", {"a"}}, {0}};
    Planning *p = made(tensors, lines, "a", "tp=4");
    planning_pin(p, "w", 0, "tp", 1, false);
    planning_make(p);
    assert_string_equal(planning_sharding(p, "a", true), "8,64 +tp");
    assert_string_equal(planning_sharding(p, "b", true), "8,64");
    assert_int_equal(p->plan->moved->n_reshards, 1);
    planning_close(p);
}

/* The largest of what is negated is not the negated largest. */
static void only_sums_stay_partial(void **state)
{
    (void)state;
    const Tensor tensors[] = {{"x", {8, 32}}, {0}};
    const Line lines[] = {{"ReduceMax", "a", {"x"}}, {"Neg", "b", {"a"}}, {0}};
    Planning *p = made(tensors, lines, "b", "tp=4");
    planning_pin(p, "x", 1, "tp", 1, false);
    planning_make(p);
    assert_string_equal(planning_sharding(p, "b", true), "1,1");
    assert_string_equal(planning_collectives(p), "all_reduce tp 1 x 4");
    planning_close(p);
}

static void a_partial_value_passes_linear_ops_only(void **state)
{
    (void)state;
    const Tensor tensors[] = {{"x", {8, 32}}, {"w:w", {32, 64}}, {0}};
    const Line lines[] = {{"MatMul", "a", {"x", "w"}},
                          {"Neg", "b", {"a"}},
                          {"Transpose", "c", {"b"}},
                          {"Relu", "d", {"c"}},
                          {0}};
    Planning *p = made(tensors, lines, "d", "tp=4");
    planning_pin(p, "w", 0, "tp", 1, false);
    planning_make(p);
    assert_string_equal(planning_sharding(p, "b", true), "8,64 +tp");
    assert_string_equal(planning_sharding(p, "c", true), "64,8 +tp");
    assert_string_equal(planning_sharding(p, "d", true), "64,8");
    assert_int_equal(p->plan->moved->n_reshards, 1);
    planning_close(p);
}

static void a_second_reader_stops_a_partial_value(void **state)
{
    (void)state;
    const Tensor tensors[] = {{"x", {8, 32}}, {"w:w", {32, 64}}, {0}};
    const Line lines[] = {
        {"MatMul", "a", {"x", "w"}}, {"Neg", "b", {"a"}}, {"Add", "y", {"a", "b"}}, {0}};
    Planning *p = made(tensors, lines, "y", "tp=4");
    planning_pin(p, "w", 0, "tp", 1, false);
    planning_make(p);
    assert_string_equal(planning_sharding(p, "b", true), "8,64");
    assert_string_equal(planning_collectives(p), "all_reduce tp 1 x 2048"); /* once, shared */
    planning_close(p);
}

static void sums_of_partial_values_are_reduced_once(void **state)
{
    (void)state;
    const Tensor tensors[] = {{"x", {8, 32}}, {"w:v", {32, 64}}, {"w:w", {32, 64}}, {0}};
    const Line lines[] = {
        {"MatMul", "a", {"x", "v"}}, {"MatMul", "b", {"x", "w"}}, {"Add", "y", {"a", "b"}}, {0}};
    Planning *p = made(tensors, lines, "y", "tp=4");
    planning_pin(p, "v", 0, "tp", 1, false);
    planning_pin(p, "w", 0, "tp", 1, false);
    planning_make(p);
    assert_string_equal(planning_sharding(p, "y", true), "8,64 +tp");
    assert_string_equal(planning_collectives(p), "all_reduce tp 1 x 2048");
    planning_close(p);
}

static void a_pin_on_a_view_is_a_pin_on_the_parameter(void **state)
{
    (void)state;
    const Tensor tensors[] = {{"x", {8, 32}}, {"w:w", {64, 32}}, {0}};
    const Line lines[] = {{"Transpose", "t", {"w"}}, {"MatMul", "y", {"x", "t"}}, {0}};
    Planning *p = made(tensors, lines, "y", "tp=4");
    planning_pin(p, "t", 1, "tp", 1, false);
    planning_make(p);
    assert_string_equal(planning_sharding(p, "w", false), "64/tp,32");
    assert_string_equal(planning_sharding(p, "y", false), "8,64/tp");
    planning_close(p);
}

static void a_whole_pin_holds_against_the_rest(void **state)
{
    (void)state;
    Planning *p = made(mlp_tensors, mlp_lines, "y", "dp=2,tp=4");
    planning_pin(p, "x", 0, "dp", 1, false);
    planning_pin(p, "b", 0, "", 1, false);
    planning_make(p);
    assert_string_equal(planning_sharding(p, "b", false), "8,16,64");
    assert_string_equal(planning_sharding(p, "b", true), "8/dp,16,64");
    assert_string_equal(planning_collectives(p), "all_gather dp 1 x 32768");
    planning_close(p);
}

static void an_axis_on_two_dims_is_an_error_finding(void **state)
{
    (void)state;
    Planning *p = made(mlp_tensors, mlp_lines, "y", "tp=4");
    planning_pin(p, "up", 0, "tp", 1, false);
    planning_pin(p, "up", 1, "tp", 1, false);
    planning_make(p);
    assert_false(plan_is_legal(p->plan));
    assert_string_equal(p->plan->findings.at[0].code, "axis-twice");
    assert_int_equal(p->plan->findings.at[0].line, 2);
    planning_close(p);
}

/* ---- promises, on the samples ---- */

typedef struct {
    const char *name, *model, *dims, *mesh;
} Sample;

static Sample samples[] = {
    {"gpt2", "gpt2", "batch=8,seq=1024", "dp=2,tp=4"},
    {"gpt2-dynamo", "gpt2-dynamo", "batch=8,seq=1024", "dp=2,tp=4"},
    {"tiny-gpt", "tiny-gpt", "batch=4,seq=16", "dp=2,tp=2"},
    {"llama-tiny, odd mesh", "llama-tiny", "batch=6,seq=15", "dp=3,tp=4"},
};

/* Every module weight cut on its last dim by tp and inputs by dp: many conflicts, no sense. */
static Planning *stressed(const Sample *sample)
{
    Planning *p = planning_open(sample->model, sample->dims, sample->mesh);
    for (int i = 0; i < p->graph->n_inputs; i++)
        planning_pin(p, tensor_name(p->graph, p->graph->inputs[i]), 0, "dp", 1, false);
    for (int i = 0; i < naming_n_paths(p->naming); i++) {
        int32_t w = naming_part(p->naming, str_from(naming_path(p->naming, i)), PART_WEIGHT, NULL);
        if (w >= 0 && inferred_shape(p->inferred, w)->n_dims == 2)
            planning_pin(p, tensor_name(p->graph, w), i % 2, "tp", 1, false);
    }
    planning_make(p);
    return p;
}

static void the_sweeps_end_at_a_fixed_point(void **state)
{
    Planning *p = stressed(*state);
    Propagation *propagation = propagation_new(p->arena, p->inferred, p->mesh);
    PlanRequest request = planning_request(p);
    request.propagation = propagation;
    Plan *plan = plan_make(&request, NULL);
    assert_false(propagation_sweep_all(propagation));
    plan_free(plan);
    planning_close(p);
}

static void the_same_decisions_give_the_same_plan(void **state)
{
    Planning *p = stressed(*state);
    PlanRequest request = planning_request(p);
    Plan *other = plan_make(&request, NULL);
    assert_int_equal(other->moved->n_reshards, p->plan->moved->n_reshards);
    size_t bytes = (size_t)p->graph->n_tensors * sizeof *other->moved->sharding;
    assert_memory_equal(other->moved->sharding, p->plan->moved->sharding, bytes);
    plan_free(other);
    planning_close(p);
}

static void every_axis_on_every_dim_ends_at_a_pin(void **state)
{
    Planning *p = stressed(*state);
    const Plan *plan = p->plan;
    int n_chains = 0;
    for (int32_t t = 0; t < p->graph->n_tensors; t++) {
        if (plan->moved->sharding[t] < 0)
            continue;
        const Sharding *sharding = plan_sharding(plan, t);
        for (int d = -1; d < sharding->n_dims; d++) {
            const Sharding *made = shardings_at(plan->shardings, plan->moved->made[t]);
            AtomSet atoms = d < 0 ? sharding_partials(made)
                                  : cut_atoms(&sharding->dim[d]) | cut_atoms(&made->dim[d]);
            int want = 0;
            for (int axis = 0; axis < p->mesh->n_axes; axis++)
                want += (atoms & mesh_axis_atoms(p->mesh, axis)) != 0;
            Arena *scratch = arena_new();
            ReasonChain *chains;
            assert_int_equal(why_tensor_dim(scratch, plan, t, d, &chains), want);
            for (int i = 0; i < want; i++) {
                assert_int_equal(chains[i].step[0].kind, REASON_PIN);
                assert_non_null(chains[i].step[0].pin);
                n_chains++;
            }
            arena_free(scratch);
        }
    }
    assert_true(n_chains > 20);
    planning_close(p);
}

static void pins_are_kept(void **state)
{
    Planning *p = stressed(*state);
    for (int i = 0; i < p->plan->decided->n_pins; i++) {
        const Decision *pin = p->plan->decided->pins[i];
        assert_true(
            cut_equal(&plan_sharding(p->plan, pin->place)->dim[pin->dim], decision_cut(pin)));
    }
    planning_close(p);
}

/* A chain of Relus: a long one, of which the steps nearest to the question are told. */
static void a_long_chain_is_told_by_its_ends(void **state)
{
    (void)state;
    enum { N = 500 };
    Arena *arena = arena_new();
    Line *lines = arena_array(arena, Line, N + 1);
    for (int i = 0; i < N; i++)
        lines[i] =
            (Line){"Relu", arena_printf(arena, "r%d", i + 1), {arena_printf(arena, "r%d", i)}};
    const Tensor tensors[] = {{"r0", {8, 32}}, {0}};
    Planning *p = made(tensors, lines, "r500", "tp=4");
    planning_pin(p, "r0", 0, "tp", 1, false);
    planning_make(p);
    ReasonChain *chains;
    int32_t last = naming_find(p->naming, STR("r500"), NULL);
    assert_int_equal(why_tensor_dim(arena, p->plan, last, 0, &chains), 1);
    assert_int_equal(chains[0].n_steps, REASON_STEPS_MAX);
    assert_int_equal(chains[0].n_steps + chains[0].n_left_out, N + 1);
    assert_int_equal(chains[0].step[0].kind, REASON_PIN);
    assert_int_equal(chains[0].step[REASON_STEPS_MAX - 1].tensor, last);
    planning_close(p);
    arena_free(arena);
}

static int count_findings(const Plan *plan, const char *code)
{
    int n = 0;
    for (int i = 0; i < plan->findings.n; i++)
        n += strcmp(plan->findings.at[i].code, code) == 0;
    return n;
}

static const Line softmax_lines[] = {{"Softmax", "y", {"x"}}, {0}};

static void no_pin_cuts_a_frozen_dim(void **state)
{
    (void)state;
    Planning *p = made(mlp_tensors, softmax_lines, "y", "dp=2,tp=4");
    const OpSpace *space = program_space(p->inferred, 0);
    int dim = 0;
    while (dim + 1 < space->n_index && space->index[dim].role != ROLE_FROZEN)
        dim++;
    assert_int_equal(space->index[dim].role, ROLE_FROZEN);
    Decision pin = {.kind = PIN_INDEX_DIM, .dim = dim};
    pin.cut = (Cut[]){planning_cut(p, space->index[dim].size, "tp", 1)};
    pin.origin = (Origin){.kind = ORIGIN_USER, .file = "", .text = ""};
    journal_add(&p->journal, p->arena, &pin);
    planning_make(p);
    assert_int_equal(count_findings(p->plan, "frozen-pin"), 1);
    assert_false(plan_is_legal(p->plan));
    assert_null(plan_pin_of(p->plan, PIN_INDEX_DIM, 0, dim));
    assert_string_equal(planning_sharding(p, "y", true), "8,16,32");
    planning_close(p);
}

static void only_parameters_are_stored(void **state)
{
    (void)state;
    Planning *p = made(mlp_tensors, mlp_lines, "y", "dp=2,tp=4");
    planning_pin(p, "b", 0, "dp", 1, true);
    planning_pin(p, "x", 0, "dp", 1, true);
    planning_make(p);
    assert_int_equal(count_findings(p->plan, "store-ignored"), 2);
    assert_int_equal(p->plan->decided->n_pins, 0);
    planning_close(p);
}

/* Tensor parallel in use, and its other dim stored in parts: gathered over dp alone. */
static void a_parameter_is_stored_beside_its_use(void **state)
{
    (void)state;
    Planning *p = made(mlp_tensors, mlp_lines, "y", "dp=2,tp=4");
    planning_pin(p, "x", 0, "dp", 1, false);
    planning_pin(p, "up", 1, "tp", 1, false);
    planning_pin(p, "up", 0, "dp", 1, true);
    planning_pin(p, "down", 0, "tp", 1, false);
    planning_make(p);
    assert_string_equal(planning_sharding(p, "up", false), "32/dp,64/tp");
    assert_string_equal(planning_collectives(p), "all_gather dp 1 x 2048; all_reduce tp 1 x 8192");
    planning_pin(p, "up", 0, "tp", 1, true); /* the axis of its use: it lies on this dim alone */
    planning_make(p);
    assert_string_equal(planning_sharding(p, "up", false), "32/tp,64");
    assert_int_equal(count_findings(p->plan, "axis-twice"), 0);
    planning_close(p);
}

/* The newest pin is refused, however old its dim's first one is. A store pin replaces an earlier
 * store pin, but not the pin of the use. */
static void pins_keep_the_order_of_the_journal(void **state)
{
    (void)state;
    Planning *p = made(mlp_tensors, mlp_lines, "y", "dp=2,tp=4");
    planning_pin(p, "up", 0, "dp", 1, false);
    planning_pin(p, "up", 1, "tp", 1, false);
    planning_pin(p, "up", 0, "tp", 1, false);
    planning_make(p);
    int32_t up = naming_find(p->naming, STR("up"), NULL);
    assert_non_null(plan_pin_of(p->plan, PIN_TENSOR_DIM, up, 1));
    assert_null(plan_pin_of(p->plan, PIN_TENSOR_DIM, up, 0));
    assert_int_equal(count_findings(p->plan, "axis-twice"), 1);
    assert_int_equal(count_findings(p->plan, "pin-replaced"), 1);
    planning_pin(p, "up", 0, "tp", 1, true);
    planning_make(p);
    assert_int_equal(count_findings(p->plan, "pin-replaced"), 1);
    planning_pin(p, "up", 0, "dp", 1, true);
    planning_make(p);
    assert_int_equal(count_findings(p->plan, "pin-replaced"), 2);
    assert_non_null(plan_store_pin_of(p->plan, up, 0));
    planning_close(p);
}

/* ---- what is said of whole tensors, and priorities ---- */

static void mark(Planning *p, DecisionKind kind, const char *name, const char *text, Pass pass)
{
    int32_t tensor = naming_find(p->naming, str_from(name), NULL);
    assert_true(tensor >= 0);
    Decision decision = {.kind = kind, .place = tensor, .dim = -1, .pass = pass};
    if (kind == PIN_GROUP)
        decision.group = text;
    else if (text)
        decision.axes = mesh_axis_atoms(p->mesh, mesh_find_axis(p->mesh, str_from(text)));
    journal_add(&p->journal, p->arena, &decision);
}

static const Line chain_lines[] = {{"MatMul", "a", {"x", "up"}},
                                   {"Relu", "b", {"a"}},
                                   {"Neg", "c", {"b"}},
                                   {"MatMul", "y", {"c", "down"}},
                                   {0}};

static const char *flow_of(const Planning *p, const char *name)
{
    int32_t tensor = naming_find(p->naming, str_from(name), NULL);
    Buf text = buf_new(p->arena);
    sharding_format(shardings_at(p->plan->shardings, plan_reached(p->plan, tensor)), p->mesh,
                    VIEW_OURS, &text, NULL);
    return text.s;
}

static void a_replicated_axis_does_not_cut_the_tensor(void **state)
{
    (void)state;
    Planning *p = made(mlp_tensors, chain_lines, "y", "dp=2,tp=4");
    planning_pin(p, "up", 1, "tp", 1, false);
    planning_pin(p, "x", 0, "dp", 1, false);
    mark(p, PIN_REPLICATED, "b", "tp", PASS_NONE);
    planning_make(p);
    assert_string_equal(flow_of(p, "a"), "8/dp,16,64/tp");
    assert_string_equal(flow_of(p, "b"), "8/dp,16,64");
    assert_string_equal(flow_of(p, "c"), "8/dp,16,64");
    planning_close(p);
}

static void a_barrier_lets_axes_pass_one_way(void **state)
{
    (void)state;
    static const struct {
        Pass pass;
        const char *before, *after;
    } rows[] = {{PASS_BOTH, "8/dp,16,64", "8/dp,16,64"},
                {PASS_FORWARD, "8,16,64", "8/dp,16,64"},
                {PASS_BACKWARD, "8/dp,16,64", "8/dp,16,64"},
                {PASS_NONE, "8,16,64", "8/dp,16,64"}};
    for (int i = 0; i < 4; i++) { /* y is pinned: what comes back to a? */
        Planning *p = made(mlp_tensors, chain_lines, "y", "dp=2");
        planning_pin(p, "y", 0, "dp", 1, false);
        mark(p, PIN_BARRIER, "b", NULL, rows[i].pass);
        planning_make(p);
        assert_string_equal(flow_of(p, "a"), rows[i].before);
        assert_string_equal(flow_of(p, "c"), rows[i].after);
        planning_close(p);
    }
    for (int i = 0; i < 4; i++) { /* x is pinned: what goes on to c? */
        Planning *p = made(mlp_tensors, chain_lines, "y", "dp=2");
        planning_pin(p, "x", 0, "dp", 1, false);
        mark(p, PIN_BARRIER, "b", NULL, rows[i].pass);
        planning_make(p);
        bool passes = rows[i].pass == PASS_BOTH || rows[i].pass == PASS_FORWARD;
        assert_string_equal(flow_of(p, "c"), passes ? "8/dp,16,64" : "8,16,64");
        planning_close(p);
    }
}

static void tensors_of_a_group_have_one_sharding(void **state)
{
    (void)state;
    const Tensor tensors[] = {{"x", {8, 16}}, {"z", {8, 16}}, {"v", {16, 8}}, {0}};
    const Line lines[] = {{"Relu", "a", {"x"}}, {"Relu", "b", {"z"}}, {"Relu", "c", {"v"}}, {0}};
    Planning *p = made(tensors, lines, "a", "tp=4");
    planning_pin(p, "a", 1, "tp", 1, false);
    mark(p, PIN_GROUP, "a", "one", PASS_NONE);
    mark(p, PIN_GROUP, "z", "one", PASS_NONE);
    mark(p, PIN_GROUP, "c", "one", PASS_NONE); /* of another shape */
    planning_make(p);
    assert_string_equal(flow_of(p, "z"), "8,16/tp");
    assert_string_equal(flow_of(p, "b"), "8,16/tp");
    assert_string_equal(flow_of(p, "c"), "16,8");
    assert_int_equal(count_findings(p->plan, "group-shape"), 1);
    planning_close(p);
}

/* x wants dim 0 by tp, y dim 2: who is earlier has tp in what is between. */
static void an_earlier_priority_wins(void **state)
{
    (void)state;
    for (int later = 0; later < 2; later++) {
        const Tensor tensors[] = {{"x", {8, 64}}, {0}};
        const Line lines[] = {{"Relu", "a", {"x"}}, {"Neg", "b", {"a"}}, {"Relu", "y", {"b"}}, {0}};
        Planning *p = made(tensors, lines, "y", "tp=4");
        planning_pin(p, "x", 0, "tp", 1, false);
        planning_pin(p, "y", 1, "tp", 1, false);
        p->journal.decisions.at[later].priority = 1;
        planning_make(p);
        assert_string_equal(flow_of(p, "a"), later ? "8/tp,64" : "8,64/tp");
        assert_string_equal(flow_of(p, "b"), later ? "8/tp,64" : "8,64/tp");
        assert_string_equal(flow_of(p, "x"), "8/tp,64");
        assert_string_equal(flow_of(p, "y"), "8,64/tp");
        planning_close(p);
    }
}

static void an_unreduced_output_stays_partial(void **state)
{
    (void)state;
    Planning *p = made(mlp_tensors, chain_lines, "y", "tp=4");
    planning_pin(p, "down", 0, "tp", 1, false);
    planning_make(p);
    assert_string_equal(planning_sharding(p, "y", false), "8,16,32");
    mark(p, PIN_UNREDUCED, "y", "tp", PASS_NONE);
    planning_make(p);
    assert_string_equal(planning_sharding(p, "y", false), "8,16,32 +tp");
    assert_int_equal(count_findings(p->plan, "not-partial"), 0);
    p->journal.n_done = 0;
    mark(p, PIN_UNREDUCED, "y", "tp", PASS_NONE); /* of what nothing sums over tp */
    planning_make(p);
    assert_int_equal(count_findings(p->plan, "not-partial"), 1);
    planning_close(p);
}

/* Who is given the output is a reader of it too. */
static void a_reader_of_an_unreduced_output_has_the_sum(void **state)
{
    (void)state;
    const Tensor tensors[] = {{"x", {8, 32}}, {"w:w", {32, 64}}, {0}};
    const Line lines[] = {{"MatMul", "a", {"x", "w"}}, {"Neg", "b", {"a"}}, {0}};
    Planning *p = made(tensors, lines, "a", "tp=4");
    planning_pin(p, "w", 0, "tp", 1, false);
    mark(p, PIN_UNREDUCED, "a", "tp", PASS_NONE);
    planning_make(p);
    assert_string_equal(planning_sharding(p, "a", false), "8,64 +tp");
    assert_string_equal(planning_sharding(p, "b", true), "8,64");
    planning_close(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(column_then_row_is_one_all_reduce),
        cmocka_unit_test(a_cut_reader_makes_it_a_reduce_scatter),
        cmocka_unit_test(unpinned_parameters_take_cuts_but_hand_none_on),
        cmocka_unit_test(what_is_made_from_parameters_hands_none_on),
        cmocka_unit_test(a_sum_is_cut_where_that_moves_no_more),
        cmocka_unit_test(an_output_is_summed_before_its_reader),
        cmocka_unit_test(only_sums_stay_partial),
        cmocka_unit_test(a_partial_value_passes_linear_ops_only),
        cmocka_unit_test(a_second_reader_stops_a_partial_value),
        cmocka_unit_test(sums_of_partial_values_are_reduced_once),
        cmocka_unit_test(a_pin_on_a_view_is_a_pin_on_the_parameter),
        cmocka_unit_test(a_whole_pin_holds_against_the_rest),
        cmocka_unit_test(an_axis_on_two_dims_is_an_error_finding),
        cmocka_unit_test(a_long_chain_is_told_by_its_ends),
        cmocka_unit_test(no_pin_cuts_a_frozen_dim),
        cmocka_unit_test(only_parameters_are_stored),
        cmocka_unit_test(a_parameter_is_stored_beside_its_use),
        cmocka_unit_test(pins_keep_the_order_of_the_journal),
        cmocka_unit_test(a_replicated_axis_does_not_cut_the_tensor),
        cmocka_unit_test(a_barrier_lets_axes_pass_one_way),
        cmocka_unit_test(tensors_of_a_group_have_one_sharding),
        cmocka_unit_test(an_earlier_priority_wins),
        cmocka_unit_test(an_unreduced_output_stays_partial),
        cmocka_unit_test(a_reader_of_an_unreduced_output_has_the_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) +
           run_rows("fixed point", samples, the_sweeps_end_at_a_fixed_point) +
           run_rows("deterministic", samples, the_same_decisions_give_the_same_plan) +
           run_rows("explained", samples, every_axis_on_every_dim_ends_at_a_pin) +
           run_rows("pins kept", samples, pins_are_kept);
}
