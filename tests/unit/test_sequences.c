/* Sequences: what is inferred of their elements, how these are sharded, what is refused. */
#include "tests/unit/control_text.h"

#include "core/cost/cost.h"

/* Six elements [4,8] of a sequence: each lies as its dims say, bytes are of all, and a reader that
 * needs them otherwise has each moved. */
static void elements_of_a_sequence_are_sharded(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Body inside = body_new(arena), body = body_new(arena);
    Buf split = node_begin(arena, "SplitToSequence -: x -> q");
    node_int(&split, "keepdims", 0);
    body_add(&body, &split);
    body_input(&inside, "e", DT_F32, NULL);
    body_node(&inside, "Softmax -: e -> r"); /* along the last dim: needs all of it */
    body_output(&inside, "r");
    Buf map = node_begin(arena, "SequenceMap -: q -> m");
    node_graph(&map, "body", &inside);
    body_add(&body, &map);
    Buf node = node_begin(arena, "ConcatFromSequence -: m -> y");
    node_int(&node, "axis", 1);
    body_add(&body, &node);
    body_input(&body, "x", DT_F32, "6,4,8");
    body_output(&body, "y");
    const Inferred *inferred = inferred_of(&body);
    int32_t x = tensor_of(inferred->graph, "x"), q = tensor_of(inferred->graph, "q");
    assert_int_equal(inferred_bytes(inferred, q), 6 * 4 * 8 * 4);

    Plan *rows = plan_sharded(arena, inferred, x, 1);
    Buf text = buf_new(arena);
    sharding_format(shardings_at(rows->shardings, rows->moved->made[q]), rows->mesh,
                    VIEW_OURS_ASCII, &text, NULL);
    assert_string_equal(text.s, "4/tp,8");
    assert_int_equal(plan_local_bytes(rows, q, rows->moved->made[q]), 6 * 8 * 4);
    assert_int_equal(rows->moved->n_reshards, 0);
    plan_free(rows);

    Plan *columns = plan_sharded(arena, inferred, x, 2);
    int n_lists = 0;
    for (int r = 0; r < columns->moved->n_reshards; r++) { /* in the loop of 6, or of 6 elements */
        const Reshard *reshard = &columns->moved->reshards[r];
        assert_true(reshard_repeat(columns, reshard) == 6);
        n_lists += inferred_is_list(inferred, reshard->tensor);
    }
    assert_int_equal(n_lists, 1);
    plan_free(columns);
    arena_free(arena);
}

/* A length and sizes that only the run knows are given by name. */
static void what_the_run_tells_of_a_sequence_is_assumed(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Body body = body_new(arena);
    body_node(&body, "SplitToSequence split: x k -> q");
    Buf node = node_begin(arena, "ConcatFromSequence joined: q -> y");
    node_int(&node, "axis", 1);
    body_add(&body, &node);
    body_node(&body, "SequenceAt at: q k -> z");
    body_input(&body, "x", DT_F32, "6,8");
    body_input(&body, "k", DT_I64, "");
    body_output(&body, "y");
    body_output(&body, "z");
    const char *text = text_of(&body, "");
    assert_non_null(strstr(text, "SplitToSequence q f32[sequence of ?: ?,8] whole\n"));
    assert_non_null(strstr(text,
                           "3 ops on sequences or optionals are replicated, since the elements "
                           "of 'q' have a size in dim 0 that is known only at run time"));
    text = text_of(&body, "split.0=2,q.n=3,joined.1=24");
    assert_non_null(strstr(text, "SplitToSequence q f32[sequence of ?: 2,8] rule\n"));
    assert_non_null(strstr(text, "ConcatFromSequence y f32[2,24] rule\n"));
    assert_non_null(strstr(text, "SequenceAt z f32[2,8] rule\n"));
    assert_non_null(strstr(text, "'q.n' is assumed to be 3"));
    assert_null(strstr(text, "sequence-length"));
    text = text_of(&body, "split.0=2");
    assert_non_null(strstr(text,
                           "sequence-length: 1 sequence has a length that is known only at run "
                           "time, the first is 'q'"));
    arena_free(arena);
}

static void elements_that_differ_are_said(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Body body = body_new(arena);
    body_node(&body, "SplitToSequence split: x three -> q");
    body_node(&body, "SequenceAt -: q i -> z");
    body_input(&body, "x", DT_F32, "7,8");
    body_input(&body, "i", DT_I64, "");
    body_ints(&body, "three", "3", true);
    body_output(&body, "z");
    assert_non_null(strstr(text_of(&body, ""), "since the elements of 'q' differ in dim 0\n"));
    arena_free(arena);
}

static void sequences_pass_through(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Body body = body_new(arena);
    Buf node = node_begin(arena, "SplitToSequence -: x -> q");
    node_int(&node, "axis", 1);
    body_add(&body, &node);
    body_node(&body, "SequenceAt -: q one -> a");
    body_node(&body, "SequenceLength -: q -> n");
    body_node(&body, "SequenceConstruct -: a x -> r");
    body_node(&body, "SequenceInsert -: r x zero -> r2");
    body_node(&body, "SequenceErase -: r2 one -> r3");
    node = node_begin(arena, "ConcatFromSequence -: r3 -> z");
    node_int(&node, "axis", 1);
    body_add(&body, &node);
    body_node(&body, "SequenceAt -: r2 i -> any");
    body_node(&body, "Relu -: z -> y");
    body_node(&body, "Optional -: r3 -> o");
    body_node(&body, "OptionalGetElement -: o -> e");
    body_node(&body, "SequenceAt -: e zero -> f");
    body_input(&body, "x", DT_F32, "4,6");
    body_input(&body, "i", DT_I64, "");
    body_ints(&body, "one", "1", true);
    body_ints(&body, "zero", "0", true);
    body_output(&body, "y");
    assert_string_equal(
        text_of(&body, "SequenceAt_7.1=6"),
        "SplitToSequence q f32[sequence of 6: 4,1] rule\n"
        "SequenceAt a f32[4,1] rule\n"
        "SequenceLength n i64[scalar] rule\n"
        "SequenceConstruct r f32[sequence of 2: 4,?] whole\n"
        "SequenceInsert r2 f32[sequence of 3: 4,?] whole\n"
        "SequenceErase r3 f32[sequence of 2: 4,6] whole\n"
        "ConcatFromSequence z f32[4,12] rule\n"
        "SequenceAt any f32[4,6] whole\n"
        "Relu y f32[4,12] rule\n"
        "Optional o f32[optional sequence of 2: 4,6] rule\n"
        "OptionalGetElement e f32[sequence of 2: 4,6] rule\n"
        "SequenceAt f f32[4,6] rule\n"
        "assumed-size: 'SequenceAt_7.1' is assumed to be 6: known only at run time\n"
        "sequence: SequenceConstruct 'SequenceConstruct_3': 4 ops on sequences or optionals are "
        "replicated, since the elements of 'r' differ in dim 1\n");
    arena_free(arena);
}

/* Sizes that no tensor has are refused. */
static void parts_of_a_sequence_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *rows, *parts;
        bool scalar;
        const char *want;
    } splits[] = {
        {"6,2", "4,2", false, "ConcatFromSequence y f32[6,2] whole"},
        {"6,2", "4", true, "ConcatFromSequence y f32[6,2] whole"},
        {"6,2", "-3,9", false, "its part 0 has the size -3"},
        {"6,2", "4,4", false, "its parts add up to 8, not 6"},
        {"6,2", "0", true, "its parts have the size 0"},
        {"6,2", "9223372036854775807", true, "ConcatFromSequence y f32[6,2] rule"},
        {"6,2", "9223372036854775807,9223372036854775807", false, "its part 1 has the size 9223"},
        {"500,1125899906842624", "1", true, "ConcatFromSequence y f32[500,1125899906842624] rule"},
    };
    for (size_t i = 0; i < sizeof splits / sizeof *splits; i++) {
        Arena *arena = arena_new();
        Body body = body_new(arena);
        body_input(&body, "x", DT_F32, splits[i].rows);
        body_ints(&body, "parts", splits[i].parts, splits[i].scalar);
        body_node(&body, "SplitToSequence -: x parts -> q");
        Buf node = node_begin(arena, "ConcatFromSequence y: q -> y");
        node_int(&node, "axis", 0);
        body_add(&body, &node);
        body_output(&body, "y");
        const char *text = text_of(&body, "");
        if (!strstr(text, splits[i].want))
            fail_msg("want %s in\n%s", splits[i].want, text);
        arena_free(arena);
    }
}

static void sequences_too_large_to_join_are_refused(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Body body = body_new(arena);
    Buf words = buf_new(arena);
    buf_puts(&words, "SequenceConstruct -:");
    for (int i = 0; i < 300; i++)
        buf_puts(&words, " x");
    buf_puts(&words, " -> q");
    body_input(&body, "x", DT_F32, "576460752303423488"); /* 2^59 */
    body_node(&body, words.s);
    Buf node = node_begin(arena, "ConcatFromSequence -: q -> y");
    node_int(&node, "axis", 0);
    body_add(&body, &node);
    body_node(&body, "SequenceConstruct -: x x x x -> few");
    node = node_begin(arena, "ConcatFromSequence -: few -> z");
    node_int(&node, "axis", 0);
    body_add(&body, &node);
    body_output(&body, "y");
    const char *text = text_of(&body, "");
    assert_non_null(strstr(text, "ConcatFromSequence y f32[?] whole\n"));
    assert_non_null(strstr(text, "ConcatFromSequence z f32[?] whole\n"));
    assert_non_null(strstr(text, "rule-refused"));
    arena_free(arena);
}

static void a_sequence_may_be_mapped_and_carried(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Body inside = body_new(arena), looped = body_new(arena), body = body_new(arena);
    body_input(&inside, "e", DT_F32, NULL);
    body_node(&inside, "Transpose -: e -> t");
    body_output(&inside, "t");
    Buf node = node_begin(arena, "SequenceMap map: q -> m");
    node_graph(&node, "body", &inside);
    body_node(&body, "SplitToSequence -: x -> q");
    body_add(&body, &node);
    body_input(&looped, "i", DT_I64, "");
    body_input(&looped, "c", DT_BOOL, "");
    body_input(&looped, "s", DT_F32, NULL);
    body_node(&looped, "Identity -: c -> c2");
    body_node(&looped, "SequenceInsert -: s y0 -> s2");
    body_output(&looped, "c2");
    body_output(&looped, "s2");
    node = node_begin(arena, "Loop loop: n _ m -> all");
    node_graph(&node, "body", &looped);
    body_add(&body, &node);
    node = node_begin(arena, "ConcatFromSequence -: all -> y");
    node_int(&node, "axis", 0);
    node_int(&node, "new_axis", 1);
    body_add(&body, &node);
    body_input(&body, "x", DT_F32, "4,6");
    body_input(&body, "y0", DT_F32, "6,1");
    body_ints(&body, "n", "3", true);
    body_output(&body, "y");
    const char *text = text_of(&body, "");
    assert_non_null(strstr(text, "SequenceElement map/0 f32[1,6] rule x4\n"
                                 "Transpose map/t f32[6,1] rule x4\n"));
    assert_non_null(strstr(text, "ConcatFromSequence y f32[ConcatFromSequence_10.0,6,1] whole\n"));
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_of_a_sequence_are_sharded),
        cmocka_unit_test(what_the_run_tells_of_a_sequence_is_assumed),
        cmocka_unit_test(elements_that_differ_are_said),
        cmocka_unit_test(sequences_pass_through),
        cmocka_unit_test(parts_of_a_sequence_are_checked),
        cmocka_unit_test(sequences_too_large_to_join_are_refused),
        cmocka_unit_test(a_sequence_may_be_mapped_and_carried),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
