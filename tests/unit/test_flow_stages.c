/* Branches and loops in pipelines: cut into two stages at every place, a plan runs as on one
 * device, and what decides a branch or is captured by a body is sent in the plan. */
#include "tests/unit/planning.h"

#include "tests/unit/onnx_made.h"

#include "core/plan/stage.h"
#include "core/run/run.h"

#include <stdio.h>

/* ---- models ---- */

static Body begun(Arena *arena)
{
    Body body = body_new(arena);
    body_input(&body, "x", DT_F32, "4,8");
    body_node(&body, "ReduceSum sum: x -> s");
    body_node(&body, "Neg neg: x -> w");
    body_node(&body, "Greater decide: s s -> c");
    return body;
}

/* Both branches read w, and a branch returns it. */
static Body branch(Arena *arena)
{
    Body then = body_new(arena), otherwise = body_new(arena), body = begun(arena);
    body_node(&then, "Add sum2: x w -> t");
    body_output(&then, "t");
    body_output(&then, "w");
    body_node(&otherwise, "Mul -: w w -> e");
    body_node(&otherwise, "Abs abs: e -> f");
    body_output(&otherwise, "f");
    body_output(&otherwise, "e");
    Buf node = node_begin(arena, "If if: c -> y z");
    node_graph(&node, "then_branch", &then);
    node_graph(&node, "else_branch", &otherwise);
    body_add(&body, &node);
    body_node(&body, "Add last: y z -> r");
    body_node(&body, "Add end: r w -> out");
    body_output(&body, "out");
    return body;
}

/* A loop while `less`, an If in it; it captures w, and carries it on. */
static Body loop(Arena *arena)
{
    Body then = body_new(arena), otherwise = body_new(arena), inside = body_new(arena);
    Body body = begun(arena);
    body_node(&then, "Add -: v w -> t");
    body_output(&then, "t");
    body_node(&otherwise, "Mul -: u w -> e");
    body_output(&otherwise, "e");
    body_input(&inside, "i", DT_I64, "");
    body_input(&inside, "ci", DT_BOOL, "");
    body_input(&inside, "v", DT_F32, "4,8");
    body_input(&inside, "u", DT_F32, "4,8");
    body_node(&inside, "Less less: i two -> co");
    Buf within = node_begin(arena, "If if: c -> v2");
    node_graph(&within, "then_branch", &then);
    node_graph(&within, "else_branch", &otherwise);
    body_add(&inside, &within);
    body_node(&inside, "Neg row: v2 -> r");
    body_output(&inside, "co");
    body_output(&inside, "v2");
    body_output(&inside, "w");
    body_output(&inside, "r");
    body_ints(&body, "two", "2", true);
    body_node(&body, "Not not: c -> go");
    Buf node = node_begin(arena, "Loop loop: _ go x x -> y u2 rows");
    node_graph(&node, "body", &inside);
    body_add(&body, &node);
    body_node(&body, "Add last: y u2 -> out");
    body_node(&body, "Neg end: out -> out2");
    body_output(&body, "out2");
    return body;
}

/* Rows of x, and of w, which is captured as a whole too. */
static Body scan(Arena *arena)
{
    Body inside = body_new(arena), body = begun(arena);
    body_input(&inside, "h", DT_F32, "4,8");
    body_input(&inside, "row", DT_F32, "8");
    body_node(&inside, "Add add: h row -> h1");
    body_node(&inside, "Mul mul: h1 w -> h2");
    body_node(&inside, "Tanh tanh: row -> y");
    body_output(&inside, "h2");
    body_output(&inside, "y");
    Buf node = node_begin(arena, "Scan scan: x w -> hn ys");
    node_int(&node, "num_scan_inputs", 1);
    node_graph(&node, "body", &inside);
    body_add(&body, &node);
    body_node(&body, "Add last: hn ys -> out");
    body_node(&body, "Neg end: out -> out2");
    body_output(&body, "out2");
    return body;
}

/* Parts of x in a sequence, which one more joins, and what is made of them. */
static Body sequence(Arena *arena)
{
    Body body = begun(arena);
    body_ints(&body, "zero", "0", true);
    body_node(&body, "SplitToSequence parts: x -> rows");
    body_node(&body, "SequenceInsert insert: rows w -> more");
    body_node(&body, "SequenceAt first: more zero -> row");
    Buf node = node_begin(arena, "ConcatFromSequence join: more -> all");
    node_int(&node, "axis", 0);
    body_add(&body, &node);
    body_node(&body, "Mul last: all row -> out");
    body_node(&body, "Neg end: out -> out2");
    body_output(&body, "out2");
    return body;
}

/* ---- stages ---- */

static Planning *planning_of(Body (*make)(Arena *arena), const char *mesh)
{
    Error err = {0};
    Arena *arena = arena_new();
    Body body = make(arena);
    Planning *p = arena_make(arena, Planning);
    p->arena = arena;
    p->graph = onnx_read(arena, "made.onnx", model_bytes(&body, 18, NULL, 0), &err);
    if (!p->graph)
        planning_fail(&err);
    planning_infer(p, "", mesh);
    return p;
}

/* The second of two stages begins at the op: `before` and after it on different halves of pp. */
static void cut_at(Planning *p, int32_t op, int before)
{
    uint8_t atom[ATOMS_MAX];
    int n = 0;
    Source source = {.name = "axis", .text = STR("pp")};
    Scan scan = scan_begin(&source, NULL);
    assert_true(mesh_parse_atoms(p->mesh, &scan, atom, &n));
    AtomSet pp = (AtomSet)1 << atom[0];
    int other = (int)mesh_group_member(p->mesh, pp, 0, 1);
    Origin origin = {.kind = ORIGIN_USER, .file = "", .text = ""};
    for (int half = 0; half < 2; half++) {
        Decision on = {.kind = PIN_DEVICES,
                       .place = half ? op : 0,
                       .last = half ? p->graph->n_ops - 1 : op - 1,
                       .devices = {pp, half == before ? 0 : other},
                       .origin = origin};
        journal_add(&p->journal, p->arena, &on);
        Decision begins = {.kind = PIN_STAGE, .place = half ? op : 0, .origin = origin};
        journal_add(&p->journal, p->arena, &begins);
    }
    planning_make(p);
}

static void must_run(const Planning *p, int32_t op)
{
    RunOptions options = {.verify = true, .seed = 3, .repeat = 1};
    RunReport report;
    Error err = {0};
    assert_true(plan_is_legal(p->plan));
    if (!run_plan(p->arena, p->plan, &options, &report, &err))
        fail_msg("cut at %s: %s", op_name(p->graph, op), err.text);
    if (!report.ok)
        fail_msg("cut at %s: %s differs", op_name(p->graph, op),
                 report.first_bad < 0 ? "an output" : tensor_name(p->graph, report.first_bad));
}

typedef struct {
    const char *name;
    Body (*make)(Arena *arena);
    const char *mesh;
} CutRow;

static CutRow cut_rows[] = {
    {"a branch", branch, "pp=2"},
    {"a loop with a branch in it", loop, "pp=2"},
    {"a scan", scan, "pp=2"},
    {"a branch, cut too", branch, "dp=2,pp=2"},
    {"a loop, cut too", loop, "dp=2,pp=2"},
    {"a scan, cut too", scan, "dp=2,pp=2"},
};

static void control_flow_runs_cut_at_every_place(void **state)
{
    const CutRow *row = *state;
    Planning *first = planning_of(row->make, row->mesh);
    int n_ops = first->graph->n_ops;
    planning_close(first);
    for (int32_t op = 1; op < n_ops; op++) {
        Planning *p = planning_of(row->make, row->mesh);
        if (strstr(row->mesh, "dp"))
            planning_pin(p, "w", 1, "dp", 1, false);
        cut_at(p, op, op % 2);
        must_run(p, op);
        planning_close(p);
    }
}

/* A sequence that a stage reads from another one is refused by name; elsewhere stages run. */
static void sequences_stay_in_a_stage(void **state)
{
    (void)state;
    int n_run = 0, n_refused = 0;
    Planning *first = planning_of(sequence, "dp=2,pp=2");
    int n_ops = first->graph->n_ops;
    planning_close(first);
    for (int32_t op = 1; op < n_ops; op++) {
        Planning *p = planning_of(sequence, "dp=2,pp=2");
        const Finding *error = NULL;
        planning_pin(p, "w", 1, "dp", 1, false);
        cut_at(p, op, op % 2);
        for (int i = 0; i < p->plan->findings.n && !error; i++)
            if (p->plan->findings.at[i].level == LEVEL_ERROR)
                error = &p->plan->findings.at[i];
        if (error) {
            assert_non_null(strstr(error->text, "from other devices"));
            assert_true(strstr(error->text, "'rows'") || strstr(error->text, "'more'"));
            assert_non_null(strstr(error->hint, "run both ops on the same devices"));
            n_refused++;
        } else {
            must_run(p, op);
            n_run++;
        }
        planning_close(p);
    }
    assert_true(n_run > 1 && n_refused > 1);
}

static int32_t op_of(const Planning *p, const char *name)
{
    int32_t op = graph_find_op(p->graph, str_from(name));
    if (op < 0)
        fail_msg("there is no op %s", name);
    return op;
}

/* The names of what is sent, in program order. */
static const char *sent(const Planning *p)
{
    Buf text = buf_new(p->arena);
    for (int i = 0; i < p->plan->moved->n_reshards; i++) {
        const Reshard *reshard = &p->plan->moved->reshards[i];
        if (reshard->from_devices != reshard->to_devices)
            buf_printf(&text, "%s%s", text.n > 0 ? " " : "",
                       tensor_name(p->graph, reshard->tensor));
    }
    return text.s;
}

static void conditions_and_captured_values_are_sent(void **state)
{
    (void)state;
    static const struct {
        Body (*make)(Arena *arena);
        const char *at, *sent;
    } rows[] = {
        {branch, "if/then/sum2", "c w"},
        {branch, "last", "y z w"},
        {loop, "loop/LoopIndex_0", "go c w"},
        {scan, "scan/LoopCarry_0", "w"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Planning *p = planning_of(rows[i].make, "pp=2");
        cut_at(p, op_of(p, rows[i].at), 0);
        assert_string_equal(sent(p), rows[i].sent);
        planning_close(p);
    }
}

/* It begins after the branch, and a finding says so. */
static void a_stage_in_a_branch_begins_after_it(void **state)
{
    (void)state;
    Planning *p = planning_of(branch, "pp=2");
    cut_at(p, op_of(p, "if/else/abs"), 0);
    const Stages *stages = p->plan->decided->stages;
    assert_int_equal(stages->n, 2);
    assert_string_equal(op_name(p->graph, p->inferred->program[stages->at[1].first]), "last");
    const Finding *found = &p->plan->findings.at[0];
    for (int i = 0; i < p->plan->findings.n; i++)
        if (strcmp(p->plan->findings.at[i].code, "control-in-stages") == 0)
            found = &p->plan->findings.at[i];
    assert_string_equal(found->code, "control-in-stages");
    assert_int_equal(found->op, op_of(p, "if/else/abs"));
    planning_close(p);
}

/* Rows of a loop whose end only the run knows have no size to be sent by. */
static void what_has_no_size_is_not_sent(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Body body = loop(arena);
    body_node(&body, "Neg rest: rows -> out3");
    body_output(&body, "out3");
    Planning *p = arena_make(arena, Planning);
    Error err = {0};
    p->arena = arena;
    p->graph = onnx_read(arena, "made.onnx", model_bytes(&body, 18, NULL, 0), &err);
    planning_infer(p, "", "pp=2");
    cut_at(p, op_of(p, "rest"), 0);
    assert_false(plan_is_legal(p->plan));
    RunOptions options = {.seed = 3, .repeat = 1};
    RunReport report;
    assert_false(run_plan(p->arena, p->plan, &options, &report, &err));
    assert_int_equal(err.kind, ERROR_USAGE);
    assert_non_null(strstr(err.text, "the plan is illegal: rest reads 'rows' from other devices"));
    planning_close(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequences_stay_in_a_stage),
        cmocka_unit_test(conditions_and_captured_values_are_sent),
        cmocka_unit_test(a_stage_in_a_branch_begins_after_it),
        cmocka_unit_test(what_has_no_size_is_not_sent),
    };
    return run_rows("cut", cut_rows, control_flow_runs_cut_at_every_place) +
           cmocka_run_group_tests_name("stages", tests, NULL, NULL);
}
