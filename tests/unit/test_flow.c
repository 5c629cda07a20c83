/* Branches, loops and sequences lowered to programs, and run: on one device and sharded, against
 * numbers worked out by hand. */
#include "tests/unit/planning_text.h"

#include "tests/unit/onnx_made.h"
#include "tests/unit/program_text.h"
#include "tests/unit/vectors_made.h"

#include "core/run/run.h"

#include <stdio.h>

static Planning *planning_made(const Body *body, const char *mesh)
{
    Error err = {0};
    Planning *p = arena_make(body->arena, Planning);
    p->arena = body->arena;
    p->graph = onnx_read(body->arena, "made.onnx", model_bytes(body, 18, NULL, 0), &err);
    if (!p->graph)
        planning_fail(&err);
    planning_infer(p, "", mesh);
    return p;
}

static void pin_op(Planning *p, const char *name, int index, const char *axes)
{
    int32_t op = graph_find_op(p->graph, str_from(name));
    if (op < 0)
        fail_msg("there is no op %s", name);
    const OpSpace *space = inferred_space(p->inferred, op);
    Decision pin = {.kind = PIN_INDEX_DIM, .place = op, .dim = index};
    pin.cut = (Cut[]){planning_cut(p, space->index[index].size, axes, 1)};
    pin.origin = (Origin){.kind = ORIGIN_USER, .file = "", .text = ""};
    journal_add(&p->journal, p->arena, &pin);
}

/* ---- models ---- */

/* y = c ? Relu(x) : Neg(x) */
static Body branches(Arena *arena)
{
    Body then = body_new(arena), otherwise = body_new(arena), body = body_new(arena);
    body_node(&then, "Relu -: x -> t");
    body_output(&then, "t");
    body_node(&otherwise, "Neg neg: x -> e");
    body_output(&otherwise, "e");
    Buf node = node_begin(arena, "If if: c -> y");
    node_graph(&node, "then_branch", &then);
    node_graph(&node, "else_branch", &otherwise);
    body_input(&body, "c", DT_BOOL, "");
    body_input(&body, "x", DT_F32, "4,8");
    body_add(&body, &node);
    body_output(&body, "y");
    return body;
}

static Body loop_body(Arena *arena, const char *step, const char *condition)
{
    Body inside = body_new(arena);
    body_input(&inside, "i", DT_I64, "");
    body_input(&inside, "ci", DT_BOOL, "");
    body_input(&inside, "v", DT_F32, "4,8");
    body_node(&inside, step);
    body_node(&inside, condition);
    body_node(&inside, "Neg -: v2 -> r");
    body_output(&inside, "co");
    body_output(&inside, "v2");
    body_output(&inside, "r");
    return inside;
}

/* v = v + v, at most n times while c: y is the last, all have each, negated. */
static Body doubling(Arena *arena)
{
    Body inside = loop_body(arena, "Add add: v v -> v2", "Identity -: ci -> co");
    Body body = body_new(arena);
    Buf node = node_begin(arena, "Loop loop: n c x -> y all");
    node_graph(&node, "body", &inside);
    body_input(&body, "n", DT_I64, "");
    body_input(&body, "c", DT_BOOL, "");
    body_input(&body, "x", DT_F32, "4,8");
    body_add(&body, &node);
    body_output(&body, "y");
    body_output(&body, "all");
    return body;
}

/* a, b = b, a + b */
static Body fibonacci(Arena *arena)
{
    Body inside = body_new(arena), body = body_new(arena);
    body_input(&inside, "i", DT_I64, "");
    body_input(&inside, "ci", DT_BOOL, "");
    body_input(&inside, "a", DT_F32, "4,8");
    body_input(&inside, "b", DT_F32, "4,8");
    body_node(&inside, "Add add: a b -> sum");
    body_output(&inside, "ci");
    body_output(&inside, "b");
    body_output(&inside, "sum");
    Buf node = node_begin(arena, "Loop loop: n c x x -> y z");
    node_graph(&node, "body", &inside);
    body_input(&body, "n", DT_I64, "");
    body_input(&body, "c", DT_BOOL, "");
    body_input(&body, "x", DT_F32, "4,8");
    body_add(&body, &node);
    body_output(&body, "y");
    body_output(&body, "z");
    return body;
}

/* Two doublings in each of n iterations. */
static Body nested(Arena *arena)
{
    Body inner = loop_body(arena, "Add add: v v -> v2", "Identity -: ci -> co");
    Body outer = body_new(arena), body = body_new(arena);
    body_input(&outer, "i", DT_I64, "");
    body_input(&outer, "ci", DT_BOOL, "");
    body_input(&outer, "v", DT_F32, "4,8");
    Buf within = node_begin(arena, "Loop inner: two ci v -> w2 each");
    node_graph(&within, "body", &inner);
    body_add(&outer, &within);
    body_output(&outer, "ci");
    body_output(&outer, "w2");
    body_output(&outer, "w2");
    Buf node = node_begin(arena, "Loop loop: n c x -> y all");
    node_graph(&node, "body", &outer);
    body_input(&body, "n", DT_I64, "");
    body_input(&body, "c", DT_BOOL, "");
    body_input(&body, "x", DT_F32, "4,8");
    body_ints(&body, "two", "2", true);
    body_add(&body, &node);
    body_output(&body, "y");
    body_output(&body, "all");
    return body;
}

/* ---- lowering ---- */

static const char *lowered(Planning *p)
{
    Program program;
    Error err = {0};
    planning_make(p);
    if (!program_lower(p->arena, p->plan, &program, &err))
        planning_fail(&err);
    return program_text(p->arena, p->plan, &program);
}

static void a_branch_is_left_out_by_a_jump(void **state)
{
    (void)state;
    Body body = branches(arena_new());
    Planning *p = planning_made(&body, "x=2");
    assert_string_equal(lowered(p),
                        "load c; load x; | branch c is true -> 4; op Relu; branch c is false -> 6; "
                        "op Neg; op If; free if/then/t; free if/else/e");
    planning_close(p);
}

static void a_loop_goes_back_with_what_it_carries(void **state)
{
    (void)state;
    Body body = doubling(arena_new());
    Planning *p = planning_made(&body, "x=2");
    assert_string_equal(
        lowered(p),
        "load n; load c; load x; | op LoopCarry; op LoopCarry; loop -> 15; op LoopIndex; "
        "free loop/0; op Add; op Identity; op Neg; collect loop/r for all; free loop/r; "
        "next -> 15; back -> 6 (loop/co to loop/1, loop/v2 to loop/2); free loop/1; "
        "free loop/2; free loop/co; op LoopResult; free loop/v2; op LoopStack; free all");
    planning_close(p);
}

/* The next a is b as it was found, which is read again: it is copied, the sum is not. */
static void what_is_carried_is_moved_at_once(void **state)
{
    (void)state;
    Body body = fibonacci(arena_new());
    Planning *p = planning_made(&body, "x=2");
    const char *text = lowered(p);
    if (!strstr(text, "loop/3 copied to loop/2, loop/sum to loop/3"))
        fail_msg("%s", text);
    planning_close(p);
}

/* The sum of rows is cut by columns, the next iteration reads it cut by rows. */
static void a_back_edge_has_its_reshard(void **state)
{
    (void)state;
    Body body = doubling(arena_new());
    Planning *p = planning_made(&body, "x=2");
    pin_op(p, "loop/LoopCarry_2", 0, "x");
    pin_op(p, "loop/add", 1, "x");
    const char *text = lowered(p);
    const char *next = strstr(text, "next ->"), *back = strstr(text, "back ->");
    const char *step = next ? strstr(next, "step loop/v2") : NULL;
    if (!step || !back || step > back || !strstr(step, "free loop/v2; back ->"))
        fail_msg("%s", text);
    planning_close(p);
}

/* ---- running ---- */

typedef struct {
    const char *name;
    Body (*make)(Arena *arena);
    const char *mesh;
    struct {
        const char *op;
        int index;
        const char *axes;
    } pin[3];
    int64_t n;   /* iterations; of a branch nothing */
    bool holds;  /* the condition */
    double y, z; /* what outputs are, times x; z: of the last of what is stacked */
    int n_all;   /* that are stacked; -1: the second output is a value too; -2: there is none */
} FlowRow;

enum { N_X = 32 };

static void write_outputs(Arena *arena, const FlowRow *row, const char *folder, const float *x)
{
    Shape shape = {2, {4, 8}}, stacked = {3, {row->n_all, 4, 8}};
    int n = row->n_all < 0 ? 1 : row->n_all;
    float y[N_X], *z = arena_array(arena, float, N_X *(n + 1));
    for (int i = 0; i < N_X; i++)
        y[i] = (float)row->y * x[i];
    for (int k = 0; k < n; k++)
        for (int i = 0; i < N_X; i++)
            z[k * N_X + i] = x[i] * (float)(row->n_all < 0 ? row->z : row->z / (1 << (n - 1 - k)));
    vectors_write(arena, folder, "output", 0, DT_F32, &shape, (Str){(const char *)y, sizeof y});
    if (row->n_all > -2)
        vectors_write(arena, folder, "output", 1, DT_F32, row->n_all < 0 ? &shape : &stacked,
                      (Str){(const char *)z, sizeof(float) * (size_t)(n * N_X)});
}

static const char *write_vectors(Arena *arena, const FlowRow *row, const Graph *graph)
{
    const char *folder = vectors_folder(arena);
    Shape scalar = {0}, shape = {2, {4, 8}};
    float x[N_X];
    for (int i = 0; i < N_X; i++)
        x[i] = (float)(i + 1);
    for (int i = 0; i < graph->n_inputs; i++) {
        Str name = str_from(tensor_name(graph, graph->inputs[i]));
        if (str_eq(name, STR("x")))
            vectors_write(arena, folder, "input", i, DT_F32, &shape,
                          (Str){(const char *)x, sizeof x});
        else if (str_eq(name, STR("n")))
            vectors_write(arena, folder, "input", i, DT_I64, &scalar,
                          (Str){(const char *)&row->n, sizeof row->n});
        else
            vectors_write(arena, folder, "input", i, DT_BOOL, &scalar,
                          (Str){(const char *)&row->holds, 1});
    }
    write_outputs(arena, row, folder, x);
    return folder;
}

static FlowRow flow_rows[] = {
    {"branch taken", branches, "x=1", {{0}}, 0, true, 1, 0, -2},
    {"other branch", branches, "x=1", {{0}}, 0, false, -1, 0, -2},
    {"branch cut", branches, "x=2", {{"if", 0, "x"}}, 0, false, -1, 0, -2},
    {"cut otherwise than it is read",
     branches,
     "x=2",
     {{"if", 0, "x"}, {"if/else/neg", 1, "x"}},
     0,
     false,
     -1,
     0,
     -2},
    {"five iterations", doubling, "x=1", {{0}}, 5, true, 32, -32, 5},
    {"one iteration", doubling, "x=2", {{"loop/add", 0, "x"}}, 1, true, 2, -2, 1},
    {"no iteration", doubling, "x=2", {{"loop/add", 0, "x"}}, 0, true, 1, 0, 0},
    {"condition false at first", doubling, "x=2", {{"loop/add", 1, "x"}}, 5, false, 1, 0, 0},
    {"cut by columns, carried by rows",
     doubling,
     "x=2",
     {{"loop/LoopCarry_2", 0, "x"}, {"loop/add", 1, "x"}},
     3,
     true,
     8,
     -8,
     3},
    {"cut by both axes",
     doubling,
     "x=2,y=2",
     {{"loop/LoopCarry_2", 0, "x"}, {"loop/add", 1, "x,y"}},
     3,
     true,
     8,
     -8,
     3},
    {"two carried", fibonacci, "x=1", {{0}}, 5, true, 8, 13, -1},
    {"two carried, cut", fibonacci, "x=2", {{"loop/add", 0, "x"}}, 5, true, 8, 13, -1},
    {"two carried, none moved", fibonacci, "x=2", {{"loop/add", 0, "x"}}, 0, true, 1, 1, -1},
    {"loop in a loop", nested, "x=1", {{0}}, 3, true, 64, 0, -3},
    {"loop in a loop, cut",
     nested,
     "x=2,y=2",
     {{"loop/inner/add", 0, "x"}, {"loop/inner/add", 1, "y"}},
     3,
     true,
     64,
     0,
     -3},
    {"loop in no loop", nested, "x=2", {{"loop/inner/add", 1, "x"}}, 0, true, 1, 0, -3},
};

static void flow_gives_its_numbers(void **state)
{
    const FlowRow *row = *state;
    Body body = row->make(arena_new());
    Planning *p = planning_made(&body, row->mesh);
    RunOptions options = {.verify = true, .seed = 3, .repeat = 2};
    RunReport report;
    Error err = {0};
    for (size_t i = 0; i < COUNT_OF(row->pin) && row->pin[i].op; i++)
        pin_op(p, row->pin[i].op, row->pin[i].index, row->pin[i].axes);
    const char *folder = write_vectors(p->arena, row, p->graph);
    planning_make(p);
    bool ran = run_onnx_test(p->arena, p->plan, folder, &options, &report, &err);
    vectors_remove(p->arena, folder);
    if (!ran)
        planning_fail(&err);
    if (!report.ok)
        fail_msg("'%s' differs",
                 report.first_bad < 0 ? "an output" : tensor_name(p->graph, report.first_bad));
    planning_close(p);
}

/* ---- sequences ---- */

typedef struct {
    const char *name, *text; /* inputs: 1, 2, 3 .. of f32, n of i64 */
    int64_t n;
    Shape shape; /* of the output */
    const char *want;
} SequenceRow;

static SequenceRow sequence_rows[] = {
    {"split and joined",
     "s <- SplitToSequence f32[4,2] i64[]{3} axis=0; y <- ConcatFromSequence s axis=0",
     0,
     {2, {4, 2}},
     "1 2 3 4 5 6 7 8"},
    {"joined along another",
     "s <- SplitToSequence f32[4,2] i64[]{2} axis=0; y <- ConcatFromSequence s axis=1",
     0,
     {2, {2, 4}},
     "1 2 5 6 3 4 7 8"},
    {"stacked",
     "s <- SplitToSequence f32[4,2] axis=0 keepdims=0; y <- ConcatFromSequence s axis=1 new_axis=1",
     0,
     {2, {2, 4}},
     "1 3 5 7 2 4 6 8"},
    {"the last part",
     "s <- SplitToSequence f32[4,2] i64[2]{1,3}; y <- SequenceAt s i64[]{-1}",
     0,
     {2, {3, 2}},
     "3 4 5 6 7 8"},
    {"columns",
     "s <- SplitToSequence f32[2,4] axis=-1; y <- SequenceAt s i64[]",
     -2,
     {2, {2, 1}},
     "3 7"},
    {"erased",
     "s <- SplitToSequence f32[4,1]; e <- SequenceErase s i64[]; y <- ConcatFromSequence e axis=0",
     1,
     {2, {3, 1}},
     "1 3 4"},
    {"erased at the end",
     "s <- SplitToSequence f32[4,1]; e <- SequenceErase s; y <- ConcatFromSequence e axis=0",
     0,
     {2, {3, 1}},
     "1 2 3"},
    {"inserted",
     "a <- Neg f32[1,2]; s <- SplitToSequence f32[2,2]; t <- SequenceInsert s a i64[]; "
     "y <- ConcatFromSequence t axis=0",
     1,
     {2, {3, 2}},
     "1 2 -1 -2 3 4"},
    {"constructed",
     "a <- Neg f32[1,2]; b <- Abs f32[2,2]; s <- SequenceConstruct a b; "
     "y <- ConcatFromSequence s axis=0",
     0,
     {2, {3, 2}},
     "-1 -2 1 2 3 4"},
    {"from none",
     "e <- SequenceEmpty dtype=1; a <- Neg f32[1,2]; s <- SequenceInsert e a; y <- SequenceAt s "
     "i64[]",
     0,
     {2, {1, 2}},
     "-1 -2"},
    {"passed on",
     "s <- SplitToSequence f32[4,1]; t <- Identity s; y <- SequenceAt t i64[]",
     2,
     {2, {1, 1}},
     "3"},
    {"an optional's value",
     "a <- Neg f32[2]; o <- Optional a; y <- OptionalGetElement o",
     0,
     {1, {2}},
     "-1 -2"},
};

static void give_numbers(const Planning *p, const char *folder, int64_t n)
{
    for (int i = 0; i < p->graph->n_inputs; i++) {
        int32_t t = p->graph->inputs[i];
        const Shape *shape = inferred_shape(p->inferred, t);
        float numbers[N_X];
        for (int k = 0; k < N_X; k++)
            numbers[k] = (float)(k + 1);
        Str elements = {(const char *)numbers, sizeof *numbers * (size_t)shape_elements(shape)};
        if (p->inferred->dtype[t] == DT_I64)
            elements = (Str){(const char *)&n, sizeof n};
        vectors_write(p->arena, folder, "input", i, (Dtype)p->inferred->dtype[t], shape, elements);
    }
}

static void sequence_gives_its_numbers(void **state)
{
    const SequenceRow *row = *state;
    Planning *p = planning_text(row->text, "x=2");
    float want[N_X];
    char *end = NULL;
    int64_t n = shape_elements(&row->shape);
    const char *text = row->want;
    for (int64_t i = 0; i < n; i++, text = end)
        want[i] = strtof(text, &end);
    assert_int_equal(*end, 0);
    const char *folder = vectors_folder(p->arena);
    give_numbers(p, folder, row->n);
    vectors_write(p->arena, folder, "output", 0, DT_F32, &row->shape,
                  (Str){(const char *)want, sizeof *want * (size_t)n});
    RunReport report;
    Error err = {0};
    RunOptions options = {.verify = true, .seed = 3, .repeat = 1};
    planning_make(p);
    bool ran = run_onnx_test(p->arena, p->plan, folder, &options, &report, &err);
    vectors_remove(p->arena, folder);
    if (!ran)
        planning_fail(&err);
    assert_true(report.ok);
    planning_close(p);
}

typedef struct {
    const char *name, *text;
    int64_t n;
    const char *want;
} FailingRow;

static FailingRow failing_rows[] = {
    {"no such place", "s <- SplitToSequence f32[4,2]; y <- SequenceAt s i64[]", 4,
     "op 'SequenceAt_1' (SequenceAt): its position is out of range for 4 elements"},
    {"nothing to join", "s <- SequenceEmpty dtype=1; y <- ConcatFromSequence s axis=0", 0,
     "there are no elements to join"},
    {"elements that differ",
     "a <- Neg f32[1,2]; b <- Abs f32[2,3]; s <- SequenceConstruct a b; y <- ConcatFromSequence s "
     "axis=0",
     0, "its elements differ in more than dim 0"},
    {"an empty optional", "o <- Optional; y <- OptionalGetElement o", 0, "the optional is empty"},
    {"a part of no size", "s <- SplitToSequence f32[4,2] i64[]; y <- ConcatFromSequence s axis=0",
     0, "its parts have the size 0"},
    {"an operator on tensors", "s <- SplitToSequence f32[4,2]; y <- Neg s", 0,
     "op 'Neg_1' cannot be run: it reads 's', a sequence or an optional"},
    {"a graph that changes scores",
     "y <- ai.onnx.preview::FlexAttention f32[1,1,2,4] f32[1,1,2,4] f32[1,1,2,4] score_mod=1", 0,
     "op 'ai.onnx.preview::FlexAttention_0' cannot be run: no kernel for this form of "
     "ai.onnx.preview::"},
    {"results without a loop", "y <- LoopResult f32[2] f32[2]", 0,
     "op 'LoopResult_0' cannot be run: LoopResult belongs to no loop"},
};

static void sequence_fails_by_name(void **state)
{
    const FailingRow *row = *state;
    Planning *p = planning_text(row->text, "x=2");
    const char *folder = vectors_folder(p->arena);
    RunOptions options = {.seed = 3, .repeat = 1};
    options.inputs = p->graph->n_inputs > 0 ? folder : NULL;
    RunReport report;
    Error err = {0};
    give_numbers(p, folder, row->n);
    planning_make(p);
    assert_false(run_plan(p->arena, p->plan, &options, &report, &err));
    vectors_remove(p->arena, folder);
    if (!strstr(err.text, row->want))
        fail_msg("%s", err.text);
    planning_close(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_branch_is_left_out_by_a_jump),
        cmocka_unit_test(a_loop_goes_back_with_what_it_carries),
        cmocka_unit_test(what_is_carried_is_moved_at_once),
        cmocka_unit_test(a_back_edge_has_its_reshard),
    };
    return run_rows("flow", flow_rows, flow_gives_its_numbers) +
           run_rows("sequence", sequence_rows, sequence_gives_its_numbers) +
           run_rows("failing", failing_rows, sequence_fails_by_name) +
           cmocka_run_group_tests_name("flow", tests, NULL, NULL);
}
