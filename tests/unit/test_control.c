#include "tests/unit/control_text.h"

#include "core/fuse/fuse.h"

/* y = c ? Relu(x) : OTHER, where `other` is a node that makes "e". */
static Body branches(Arena *arena, const char *other)
{
    Body then = body_new(arena), otherwise = body_new(arena), body = body_new(arena);
    body_node(&then, "Relu -: x -> t");
    body_output(&then, "t");
    body_node(&otherwise, other);
    body_output(&otherwise, "e");
    Buf node = node_begin(arena, "If if: c -> y");
    node_graph(&node, "then_branch", &then);
    node_graph(&node, "else_branch", &otherwise);
    body_input(&body, "x", DT_F32, "n,8");
    body_node(&body, "Identity -: x -> before");
    body_add(&body, &node);
    body_output(&body, "y");
    return body;
}

static void branches_of_one_shape_are_tied(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Body body = branches(arena, "Neg -: x -> e");
    body_input(&body, "c", DT_BOOL, "");
    assert_string_equal(text_of(&body, "n=4"), "Identity before f32[4,8] rule\n"
                                               "Relu if/then/t f32[4,8] rule\n"
                                               "Neg if/else/e f32[4,8] rule\n"
                                               "If y f32[4,8] rule\n");
    arena_free(arena);
}

static void sizes_that_differ_are_told_by_the_run(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Body body = branches(arena, "Transpose -: x -> e");
    body_input(&body, "c", DT_BOOL, "");
    assert_string_equal(
        text_of(&body, "n=4,if.1=8"),
        "Identity before f32[4,8] rule\n"
        "Relu if/then/t f32[4,8] rule\n"
        "Transpose if/else/e f32[8,4] rule\n"
        "If y f32[if.0,8] whole\n"
        "assumed-size: 'if.1' is assumed to be 8: known only at run time\n"
        "unknown-size: 1 op is replicated, since sizes are known only at run time: if.0\n");
    arena_free(arena);
}

/* What exporters make of a Squeeze: a branch for each shape, and the condition is of shapes. */
static void a_branch_that_is_not_taken_is_left_out(void **state)
{
    (void)state;
    for (int ones = 0; ones < 2; ones++) {
        Arena *arena = arena_new();
        Body whole = body_new(arena), then = body_new(arena), otherwise = body_new(arena);
        body_node(&then, "Squeeze -: x zero -> t");
        body_output(&then, "t");
        body_node(&otherwise, "Identity -: x -> e");
        body_output(&otherwise, "e");
        Buf node = node_begin(arena, "If if: c -> y");
        node_graph(&node, "then_branch", &then);
        node_graph(&node, "else_branch", &otherwise);
        body_input(&whole, "x", DT_F32, "n,8");
        body_ints(&whole, "zero", "0", false);
        body_ints(&whole, "one", "1", true);
        body_node(&whole, "Shape -: x -> s");
        body_node(&whole, "Gather -: s zero -> n");
        body_node(&whole, "Equal -: n one -> c");
        body_add(&whole, &node);
        body_output(&whole, "y");
        assert_string_equal(text_of(&whole, ones ? "n=1" : "n=4"),
                            ones ? "Shape s i64[2] host\n"
                                   "Gather n i64[1] host\n"
                                   "Equal c bool[1] host\n"
                                   "Squeeze if/then/t f32[8] rule\n"
                                   "Identity if/else/e none[?] host\n"
                                   "If y f32[8] rule\n"
                                 : "Shape s i64[2] host\n"
                                   "Gather n i64[1] host\n"
                                   "Equal c bool[1] host\n"
                                   "Squeeze if/then/t none[?] host\n"
                                   "Identity if/else/e f32[4,8] rule\n"
                                   "If y f32[4,8] rule\n");
        arena_free(arena);
    }
}

/* v = NODE(v), while the condition goes on; n iterations at most. */
static Body loop(Arena *arena, const char *node_text, const char *condition, bool counted)
{
    Body inside = body_new(arena), body = body_new(arena);
    body_input(&inside, "i", DT_I64, "");
    body_input(&inside, "c", DT_BOOL, "");
    body_input(&inside, "v", DT_F32, NULL);
    body_node(&inside, condition);
    Buf step = node_begin(arena, node_text);
    node_int(&step, "axis", 0);
    body_add(&inside, &step);
    body_node(&inside, "Relu -: v2 -> r");
    body_output(&inside, "c2");
    body_output(&inside, "v2");
    body_output(&inside, "r");
    Buf node =
        node_begin(arena, counted ? "Loop loop: n _ x -> y all" : "Loop loop: _ _ x -> y all");
    node_graph(&node, "body", &inside);
    body_input(&body, "x", DT_F32, "4,8");
    body_weight(&body, "w", "8,8");
    body_ints(&body, "n", "5", true);
    body_add(&body, &node);
    body_output(&body, "y");
    body_output(&body, "all");
    return body;
}

static void a_loop_of_known_length_stacks_what_it_yields(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Body body = loop(arena, "MatMul -: v w -> v2", "Identity -: c -> c2", true);
    const char *text = text_of(&body, "");
    assert_non_null(strstr(text, "LoopCarry loop/2 f32[4,8] rule x5\n"));
    assert_non_null(strstr(text, "MatMul loop/v2 f32[4,8] rule x5\n"));
    assert_non_null(strstr(text, "LoopResult y f32[4,8] rule\n"
                                 "LoopStack all f32[5,4,8] rule\n"));
    arena_free(arena);
}

/* The sequence is a carried value of a loop of 5; `reads`: what is done with it behind the loop. */
static Body filling(Arena *arena, const char *inserts, const char *reads)
{
    Body inside = body_new(arena), body = body_new(arena);
    body_input(&inside, "i", DT_I64, "");
    body_input(&inside, "c", DT_BOOL, "");
    body_input(&inside, "v", DT_F32, NULL);
    body_input(&inside, "s", DT_F32, NULL);
    body_node(&inside, "Identity -: c -> c2");
    body_node(&inside, "MatMul -: v w -> v2");
    body_node(&inside, inserts);
    body_output(&inside, "c2");
    body_output(&inside, "v2");
    body_output(&inside, "s2");
    Buf node = node_begin(arena, "Loop loop: n _ x none -> y all");
    node_graph(&node, "body", &inside);
    body_input(&body, "x", DT_F32, "4,8");
    body_weight(&body, "w", "8,8");
    body_ints(&body, "n", "5", true);
    body_ints(&body, "zero", "0", true);
    body_node(&body, "SequenceEmpty -: -> none");
    body_add(&body, &node);
    body_node(&body, reads);
    body_output(&body, "y");
    body_output(&body, "z");
    return body;
}

static const struct {
    const char *inserts, *reads, *want; /* NULL: it stays a sequence */
} fillings[] = {
    {"SequenceInsert -: s v2 -> s2", "SequenceAt -: all zero -> z",
     "LoopStack all.stacked f32[5,4,8] rule\nGather z f32[4,8] rule\n"},
    {"SequenceInsert -: s v2 -> s2", "SequenceLength -: all -> z",
     "LoopStack all.stacked f32[5,4,8] rule\n"},
    {"SequenceInsert -: s v2 -> s2", "ConcatFromSequence -: all -> z",
     "Transpose z.moved f32[5,4,8] rule\nReshape z f32[20,8] rule\n"},
    {"SequenceInsert -: s v2 zero -> s2", "SequenceAt -: all zero -> z", NULL}, /* at its begin */
    {"Identity -: s -> s2", "SequenceAt -: all zero -> z", NULL},
    {"SequenceInsert -: s v2 -> s2", "SequenceErase -: all zero -> z", NULL},
};

static void sequences_that_loops_fill_become_tensors(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(fillings); i++) {
        Arena *arena = arena_new();
        Body body = filling(arena, fillings[i].inserts, fillings[i].reads);
        const DimBindings none = {0};
        Findings notes = {0};
        Graph *graph = NULL;
        Error err = {0};
        Graph *read = onnx_read(arena, "made.onnx", model_bytes(&body, 18, NULL, 0), &err);
        Inferred *inferred =
            read ? infer(arena, read, registry_new(arena), &none, false, &err) : NULL;
        if (!inferred || !fuse_sequences(inferred, NULL, &notes, &graph, &err))
            fail_msg("%s", err.text);
        assert_int_equal(graph != NULL, fillings[i].want != NULL);
        if (graph) {
            const char *text =
                inferred_text(infer(arena, graph, registry_new(arena), &none, false, &err));
            if (!strstr(text, fillings[i].want))
                fail_msg("%s", text);
            assert_null(strstr(text, "Sequence"));
        }
        arena_free(arena);
    }
}

/* v2 is pinned; nobody reads what the loop leaves, so only the tie takes the axis to v. */
static void axes_go_round_a_loop(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Body inside = body_new(arena), body = body_new(arena);
    body_input(&inside, "i", DT_I64, "");
    body_input(&inside, "c", DT_BOOL, "");
    body_input(&inside, "v", DT_F32, NULL);
    body_node(&inside, "Identity -: c -> c2");
    body_node(&inside, "MatMul -: v w -> v2");
    body_node(&inside, "Relu -: v -> r");
    body_output(&inside, "c2");
    body_output(&inside, "v2");
    body_output(&inside, "r");
    Buf node = node_begin(arena, "Loop loop: n _ x -> _ all");
    node_graph(&node, "body", &inside);
    body_input(&body, "x", DT_F32, "4,8");
    body_weight(&body, "w", "8,8");
    body_ints(&body, "n", "5", true);
    body_add(&body, &node);
    body_output(&body, "all");
    DimBindings none = {0};
    Error err = {0};
    Graph *graph = onnx_read(arena, "made.onnx", model_bytes(&body, 18, NULL, 0), &err);
    assert_non_null(graph);
    Inferred *inferred = infer(arena, graph, registry_new(arena), &none, false, &err);
    int32_t in = -1, next = -1;
    for (int i = 0; i < graph->n_carries; i++) {
        in = graph->carries[i].in;
        next = graph->carries[i].next;
    }
    Plan *plan = plan_sharded(arena, inferred, next, 1);
    const Sharding *flow = shardings_at(plan->shardings, plan_reached(plan, in));
    assert_false(cut_is_whole(&flow->dim[1]));
    plan_free(plan);
    arena_free(arena);
}

static void what_an_iteration_changes_is_not_known(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Body body = loop(arena, "Concat -: v v -> v2", "Identity -: c -> c2", true);
    const char *text = text_of(&body, "");
    assert_non_null(strstr(text, "LoopCarry loop/2 f32[loop/LoopCarry_2.0,8] whole x5\n"));
    assert_non_null(strstr(text, "Concat loop/v2 f32[2*loop/LoopCarry_2.0,8] whole x5\n"));
    assert_non_null(strstr(text, "LoopResult y f32[loop.0,8] whole\n"));
    arena_free(arena);
}

static void a_loop_that_may_end_before_is_counted_once(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Body body = loop(arena, "MatMul -: v w -> v2", "Not -: c -> c2", true);
    const char *text = text_of(&body, "");
    assert_non_null(strstr(text, "MatMul loop/v2 f32[4,8] rule\n"));
    assert_non_null(strstr(text, "LoopStack all f32[loop_1.0,4,8] whole\n"));
    assert_non_null(strstr(
        text, "unknown-trips: LoopResult 'loop': 1 loop runs a number of times known only "
              "at run time, and is counted once; the rows that it stacks, and what is made of "
              "them, have no size\n"));
    text = text_of(&body, "loop_1.0=7");
    assert_non_null(strstr(text, "LoopStack all f32[7,4,8] rule\n"));
    assert_non_null(strstr(text, "MatMul loop/v2 f32[4,8] rule x7\n"));
    assert_non_null(strstr(text, "'loop_1.0' is assumed to be 7"));
    assert_null(strstr(text, "unknown-trips"));
    arena_free(arena);

    arena = arena_new();
    body = loop(arena, "MatMul -: v w -> v2", "Identity -: c -> c2", false);
    assert_non_null(strstr(text_of(&body, ""), "unknown-trips"));
    arena_free(arena);
}

/* The condition is false before the first iteration, or after it; the count may be an exporter's
 * word for "until the condition says so". */
static void a_loop_runs_as_often_as_its_condition_lets_it(void **state)
{
    (void)state;
    static const struct {
        const char *most, *begins, *goes_on, *want;
    } runs[] = {
        {"5", "1", "1", "f32[5,4]"},  {"5", "0", "1", "f32[0,4]"},
        {"5", "1", "0", "f32[1,4]"},  {"0", "1", "0", "f32[0,4]"},
        {"-3", "1", "1", "f32[0,4]"}, {"9223372036854775807", "1", "0", "f32[1,4]"},
    };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        Arena *arena = arena_new();
        Body inside = body_new(arena), body = body_new(arena);
        body_input(&inside, "i", DT_I64, "");
        body_input(&inside, "c", DT_BOOL, "");
        body_node(&inside, "Identity -: after -> c2");
        body_node(&inside, "Relu -: x -> r");
        body_output(&inside, "c2");
        body_output(&inside, "r");
        Buf node = node_begin(arena, "Loop loop: n before -> y");
        node_graph(&node, "body", &inside);
        body_input(&body, "x", DT_F32, "4");
        body_ints(&body, "n", runs[i].most, true);
        body_ints(&body, "before", runs[i].begins, true);
        body_ints(&body, "after", runs[i].goes_on, true);
        body_add(&body, &node);
        body_output(&body, "y");
        const char *text = text_of(&body, "");
        const char *want = arena_printf(arena, "LoopStack y %s rule\n", runs[i].want);
        if (!strstr(text, want))
            fail_msg("want %s in\n%s", want, text);
        arena_free(arena);
    }
}

/* 2^63 - 1 iterations in each of many loops: what is counted of it stays a number. */
static void many_iterations_are_counted_to_a_limit(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Body inner = body_new(arena);
    body_input(&inner, "i", DT_I64, "");
    body_input(&inner, "c", DT_BOOL, "");
    body_input(&inner, "v", DT_F32, NULL);
    body_node(&inner, "Relu -: v -> v2");
    body_output(&inner, "c");
    body_output(&inner, "v2");
    for (int depth = 0; depth < 16; depth++) {
        Body outer = body_new(arena);
        body_input(&outer, "i", DT_I64, "");
        body_input(&outer, "c", DT_BOOL, "");
        body_input(&outer, "v", DT_F32, NULL);
        Buf node = node_begin(arena, "Loop l: most _ v -> v2");
        node_graph(&node, "body", &inner);
        body_add(&outer, &node);
        body_output(&outer, "c");
        body_output(&outer, "v2");
        inner = outer;
    }
    Body body = body_new(arena);
    Buf node = node_begin(arena, "Loop l: most _ x -> y");
    node_graph(&node, "body", &inner);
    body_input(&body, "x", DT_F32, "4");
    body_ints(&body, "most", "9223372036854775807", true);
    body_add(&body, &node);
    body_output(&body, "y");
    const char *text = text_of(&body, "");
    assert_null(strstr(text, "xinf"));
    assert_non_null(strstr(text, "f32[4] rule x9.0072e+15\n"));
    arena_free(arena);
}

static void a_scan_takes_slices(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Body inside = body_new(arena), body = body_new(arena);
    body_input(&inside, "h", DT_F32, NULL);
    body_input(&inside, "x", DT_F32, NULL);
    body_node(&inside, "Add -: h x -> h2");
    body_node(&inside, "Tanh -: h2 -> y2");
    body_output(&inside, "h2");
    body_output(&inside, "y2");
    Buf node = node_begin(arena, "Scan scan: h0 xs -> hn ys");
    node_int(&node, "num_scan_inputs", 1);
    node_graph(&node, "body", &inside);
    body_input(&body, "h0", DT_F32, "4,8");
    body_input(&body, "xs", DT_F32, "10,4,8");
    body_add(&body, &node);
    body_output(&body, "hn");
    body_output(&body, "ys");
    assert_string_equal(text_of(&body, ""), "LoopCarry scan/0 f32[4,8] rule x10\n"
                                            "LoopSlice scan/1 f32[4,8] rule x10\n"
                                            "Add scan/h2 f32[4,8] rule x10\n"
                                            "Tanh scan/y2 f32[4,8] rule x10\n"
                                            "LoopResult hn f32[4,8] rule\n"
                                            "LoopStack ys f32[10,4,8] rule\n");
    arena_free(arena);
}

/* The scanned tensor tells LoopStack how many rows there are: no rank reads it for that. */
static void what_only_counts_is_not_gathered(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Body inside = body_new(arena), body = body_new(arena);
    body_input(&inside, "h", DT_F32, NULL);
    body_input(&inside, "x", DT_F32, NULL);
    body_node(&inside, "Add -: h x -> h2");
    body_node(&inside, "Tanh -: h2 -> y2");
    body_output(&inside, "h2");
    body_output(&inside, "y2");
    Buf node = node_begin(arena, "Scan scan: h0 xs -> hn ys");
    node_int(&node, "num_scan_inputs", 1);
    node_graph(&node, "body", &inside);
    body_input(&body, "h0", DT_F32, "4,8");
    body_input(&body, "xs", DT_F32, "10,4,8");
    body_add(&body, &node);
    body_output(&body, "hn");
    body_output(&body, "ys");
    const Inferred *inferred = inferred_of(&body);
    Plan *plan = plan_sharded(arena, inferred, tensor_of(inferred->graph, "xs"), 2);
    assert_int_equal(plan->moved->n_reshards, 0);
    plan_free(plan);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(branches_of_one_shape_are_tied),
        cmocka_unit_test(sizes_that_differ_are_told_by_the_run),
        cmocka_unit_test(a_branch_that_is_not_taken_is_left_out),
        cmocka_unit_test(a_loop_of_known_length_stacks_what_it_yields),
        cmocka_unit_test(sequences_that_loops_fill_become_tensors),
        cmocka_unit_test(axes_go_round_a_loop),
        cmocka_unit_test(what_an_iteration_changes_is_not_known),
        cmocka_unit_test(a_loop_that_may_end_before_is_counted_once),
        cmocka_unit_test(a_loop_runs_as_often_as_its_condition_lets_it),
        cmocka_unit_test(many_iterations_are_counted_to_a_limit),
        cmocka_unit_test(a_scan_takes_slices),
        cmocka_unit_test(what_only_counts_is_not_gathered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
