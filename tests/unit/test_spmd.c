/* Merging by letters, aligning, transforms of dims, what is refused, the trace. Whole rules are
 * asked by the facts in tests/conformance/spmd.jsonl. */
#include "core/peers/paddle/align.h"
#include "core/peers/paddle/dim_trans.h"
#include "core/peers/paddle/eval_spmd.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A call without an op, on the mesh of a row. */
static SpmdCall make_call(Arena *arena, const char *mesh, bool exact)
{
    Source source = {.name = "mesh", .text = str_from(mesh)};
    SpmdCall call = {.arena = arena, .name = "test", .exact = exact};
    call.mesh = mesh_parse(arena, &source, NULL);
    assert_non_null(call.mesh);
    return call;
}

/* "16x8 x.y,-": sizes, and per dim its axes by name. */
static SpmdTensor read_tensor(const SpmdCall *call, const char *text)
{
    SpmdTensor tensor = {0};
    while (*text && *text != ' ') {
        char *end;
        tensor.shape.dim[tensor.shape.n_dims++] = strtol(text, &end, 10);
        text = end + (*end == 'x');
    }
    tensor.n_dims = (int)tensor.shape.n_dims;
    for (int d = 0; *text; text++) {
        d += *text == ',';
        int axis = mesh_find_axis(call->mesh, (Str){text, 1});
        if (axis >= 0)
            spmd_axes_push(&tensor.dim[d], axis);
        else
            assert_non_null(strchr(" ,.-", *text));
    }
    return tensor;
}

/* ---- merging ---- */

typedef struct {
    const char *name;
    SpmdMergeKind kind;
    const char *mesh;
    const char *letters[3], *tensor[3];
    const char *want; /* axes of a, b, c, ..; or the kind of the error */
    bool exact;
} MergeRow;

static MergeRow merge_rows[] = {
    {"one axis a letter", SPMD_CLASSIC, "x=2,y=2", {"ab", "b"}, {"8x8 x,-", "8 y"}, "x y", false},
    {"a letter that asks for nothing yields",
     SPMD_CLASSIC,
     "x=2,y=2",
     {"a", "a"},
     {"8 -", "8 x"},
     "x",
     false},
    {"two axes for one letter",
     SPMD_CLASSIC,
     "x=2,y=2",
     {"a", "a"},
     {"8 x", "8 y"},
     "conflict",
     false},
    {"the first claim holds",
     SPMD_CLASSIC,
     "x=2",
     {"ab", "ab"},
     {"4x64 x,-", "4x64 -,x"},
     "x -",
     false},
    {"strict refuses it",
     SPMD_STRICT,
     "x=2",
     {"ab", "ab"},
     {"8x8 x,-", "8x8 -,x"},
     "conflict",
     false},
    {"an axis need not divide", SPMD_CLASSIC, "x=2", {"a"}, {"7 x"}, "x", false},
    {"a dim of size 1 takes an axis, as any other",
     SPMD_CLASSIC,
     "x=2",
     {"1a", "a"},
     {"1x8 x,-", "8 x"},
     "-",
     false},
    {"other dims than letters", SPMD_CLASSIC, "x=2", {"ab"}, {"8 x"}, "rank", false},
    {"lists are joined, the longest first",
     SPMD_BY_LISTS,
     "x=2,y=2,z=2",
     {"a", "a"},
     {"8 z", "8 x.y"},
     "x.y.z",
     false},
    {"lists lose what does not divide",
     SPMD_BY_LISTS,
     "x=2,y=2,z=2",
     {"a", "a"},
     {"12 x", "12 y.z"},
     "y.z",
     false},
    {"an axis stays with the larger dim",
     SPMD_BY_LISTS,
     "x=2",
     {"ab", "ab"},
     {"4x64 x,-", "4x64 -,x"},
     "- x",
     false},
    {"of equals with the first",
     SPMD_BY_LISTS,
     "x=2",
     {"abcd", "abcd"},
     {"4x4x4x4 -,-,x,-", "4x4x4x4 -,-,-,x"},
     "- - x -",
     false},
    {"of equals with that of upstream's hash table",
     SPMD_BY_LISTS,
     "x=2",
     {"abcd", "abcd"},
     {"4x4x4x4 -,-,x,-", "4x4x4x4 -,-,-,x"},
     "- - - x",
     true},
    {"sizes that differ", SPMD_BY_LISTS, "x=2", {"a", "a"}, {"8 x", "4 -"}, "conflict", false},
    {"size 1 is broadcast", SPMD_BY_LISTS, "x=2", {"a", "a"}, {"1 -", "8 x"}, "x", false},
    {"the operand split more is followed",
     SPMD_BY_FOLLOWED,
     "x=2,y=2,z=2",
     {"ab", "ab"},
     {"32x48 x,y.z", "32x48 y,-"},
     "x y.z",
     false},
    {"what the other asks for is appended",
     SPMD_BY_FOLLOWED,
     "x=2,y=2,z=2",
     {"ab", "ab"},
     {"32x48 x.y,-", "32x48 -,z"},
     "x.y z",
     false},
    {"where it divides", SPMD_BY_FOLLOWED, "x=2,y=4", {"a", "a"}, {"12 x", "12 y"}, "y", false},
    {"the followed operand has fewer dims",
     SPMD_BY_FOLLOWED,
     "x=2,y=2",
     {"b", "ab"},
     {"8 x.y", "8x8 -,-"},
     "- x.y",
     false},
    {"to which upstream has no answer",
     SPMD_BY_FOLLOWED,
     "x=2,y=2",
     {"b", "ab"},
     {"8 x.y", "8x8 -,-"},
     "invalid",
     true},
};

static void merges(void **state)
{
    const MergeRow *row = *state;
    Arena *arena = arena_new();
    SpmdCall call = make_call(arena, row->mesh, row->exact);
    SpmdTensor tensor[3];
    SpmdOperand operand[3];
    int n = 0;
    for (; n < 3 && row->letters[n]; n++) {
        tensor[n] = read_tensor(&call, row->tensor[n]);
        operand[n] = (SpmdOperand){row->letters[n], &tensor[n]};
    }
    SpmdLetters merged;
    Error err = {0};
    Buf got = buf_new(arena);
    if (!spmd_merge(&call, row->kind, operand, n, &merged, &err))
        buf_puts(&got, error_kind_name(err.kind));
    for (int letter = 'a'; letter <= 'z' && got.n < 100 && !error_is_set(&err); letter++)
        if (merged.known[letter])
            buf_printf(&got, "%s%s", got.n ? " " : "", spmd_show_axes(&call, &merged.axes[letter]));
    assert_string_equal(got.s, row->want);
    arena_free(arena);
}

static void letters_left_out_make_partial(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    SpmdCall call = make_call(arena, "x=2,y=2", false);
    SpmdTensor a = read_tensor(&call, "8x8 x,y"), out = {0};
    SpmdOperand operand = {"mk", &a};
    SpmdLetters merged;
    assert_true(spmd_merge(&call, SPMD_CLASSIC, &operand, 1, &merged, NULL));
    spmd_set_letters(&out, "m1", &merged);
    spmd_partial_of_letters(&out, "m1", &merged, REDUCE_SUM);
    assert_string_equal(spmd_show(&call, &out), "[x,-] sum(y)");
    arena_free(arena);
}

/* ---- aligning ---- */

typedef struct {
    const char *name, *mesh, *letters;
    const char *tensor[3];
    const char *want;
} AlignRow;

static AlignRow align_rows[] = {
    {"what all are stays", "x=2,y=2", "ab", {"8x8 x,y", "4x8 x,y"}, "[x,y] [x,y]"},
    {"but not on other letters", "x=2,y=2", "b", {"8x8 x,y", "4x8 x,y"}, "[-,y] [-,y]"},
    {"where they differ the letter that moves least",
     "x=2,y=2",
     "bc",
     {"16x16x16 -,x,y", "4x16x16 -,y,x", "2x16x16 -,-,x"},
     "[-,y,x] [-,y,x] [-,y,x]"},
    {"a dim that is too small is none", "x=4", "ab", {"16x2 x,-", "16x2 -,x"}, "[x,-] [x,-]"},
    {"none at all", "x=4", "b", {"16x2 x,-", "16x2 -,x"}, "[-,-] [-,-]"},
    {"an empty tensor has no say", "x=2", "ab", {"0x8 -,-", "8x8 -,x"}, "[-,x] [-,x]"},
    {"lists in the order of the first",
     "x=2,y=2",
     "ab",
     {"8x8 y.x,-", "8x8 y.x,-"},
     "[y.x,-] [y.x,-]"},
};

static void aligns(void **state)
{
    const AlignRow *row = *state;
    Arena *arena = arena_new();
    SpmdCall call = make_call(arena, row->mesh, false);
    SpmdTensor tensor[3], aligned[3];
    SpmdOperand operand[3];
    int n = 0;
    for (; n < 3 && row->tensor[n]; n++) {
        tensor[n] = read_tensor(&call, row->tensor[n]);
        operand[n] = (SpmdOperand){spmd_letters(&call, tensor[n].n_dims, 'a'), &tensor[n]};
    }
    spmd_align(&call, operand, n, row->letters, true, aligned);
    Buf got = buf_new(arena);
    for (int i = 0; i < n; i++)
        buf_printf(&got, "%s%s", i ? " " : "", spmd_show(&call, &aligned[i]));
    assert_string_equal(got.s, row->want);
    arena_free(arena);
}

static void only_shared_sums_stay_partial(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    SpmdCall call = make_call(arena, "x=2,y=2,z=2", false);
    SpmdTensor tensor[2], aligned[2];
    SpmdOperand operand[2];
    for (int i = 0; i < 2; i++) {
        tensor[i] = read_tensor(&call, "1x1 -,-");
        tensor[i].partial[0] = REDUCE_SUM;
        tensor[i].partial[1] = REDUCE_MAX;
        tensor[i].partial[2] = i ? REDUCE_SUM : REDUCE_NONE;
        operand[i] = (SpmdOperand){"ab", &tensor[i]};
    }
    spmd_align(&call, operand, 2, "ab", true, aligned);
    assert_string_equal(spmd_show(&call, &aligned[1]), "[-,-] sum(x)");
    spmd_align(&call, operand, 2, "ab", false, aligned);
    assert_string_equal(spmd_show(&call, &aligned[0]), "[-,-]");
    arena_free(arena);
}

/* ---- transforms ---- */

typedef struct {
    const char *name, *mesh;
    const char *from, *to; /* to: sizes only */
    const char *trans;     /* NULL: not looked at */
    const char *need, *out, *loosely;
} TransRow;

static TransRow trans_rows[] = {
    {"unchanged", "x=2", "4x6 -,x", "4x6", "InputDim(0) InputDim(1)", "[-,x]", "[-,x]", "[-,x]"},
    {"merged", "x=2", "4x6x8 x,-,-", "192", "Flatten(InputDim(0), InputDim(1), InputDim(2))",
     "[x,-,-]", "[x]", "[x]"},
    {"only the leftmost passes", "x=2", "4x6x8 -,-,x", "192", NULL, "[-,-,-]", "[-]", "[-]"},
    {"neighbours join it", "x=2,y=2", "4x6x8 x,y,-", "192", NULL, "[x.y,-,-]", "[x.y]", "[x.y]"},
    {"where all divide it", "x=2,y=2", "2x12x8 x,y,-", "192", NULL, "[x,-,-]", "[x]", "[x.y]"},
    {"a leftmost dim that is not divided", "x=2", "3x4 x,-", "12", NULL, "[-,-]", "[-]", "[x]"},
    {"in pieces", "x=2", "12 x", "4x3",
     "Split(InputDim(0), (4, 3), 0) Split(InputDim(0), (4, 3), 1)", "[x]", "[x,-]", "[x,-]"},
    {"a list in pieces", "x=2,y=2", "24 x.y", "8x3", NULL, "[x.y]", "[x.y,-]", "[x,-]"},
    {"that do not divide", "x=2,y=2", "24 x.y", "6x4", NULL, "[-]", "[-,-]", "[x,-]"},
    {"merged and in pieces", "x=2,y=2", "4x6 x,y", "8x3",
     "Split(Flatten(InputDim(0), InputDim(1)), (8, 3), 0) Split(Flatten(InputDim(0), "
     "InputDim(1)), (8, 3), 1)",
     "[x.y,-]", "[x.y,-]", "[x,-]"},
    {"a new 1", "x=2", "4x6 x,-", "4x1x6", "InputDim(0) Singleton InputDim(1)", "[x,-]", "[x,-,-]",
     "[x,-,-]"},
    {"a 1 that goes takes its axis along", "x=2", "4x1x6 -,x,-", "4x6", "InputDim(0) InputDim(2)",
     "[-,-,-]", "[-,-]", "[-,-]"},
    {"a 1 that stays keeps it", "x=2", "4x1 -,x", "4x1", "InputDim(0) InputDim(1)", "[-,x]",
     "[-,x]", "[-,x]"},
    {"pieces after a leading 1", "x=2", "1x24 -,x", "6x4", NULL, "[-,x]", "[x,-]", "[x,-]"},
    {"a scalar", "x=2", "1 -", "", "", "[-]", "[]", "[]"},
};

static void carries(void **state)
{
    const TransRow *row = *state;
    Arena *arena = arena_new();
    SpmdCall call = make_call(arena, row->mesh, false);
    SpmdTensor from = read_tensor(&call, row->from), to = read_tensor(&call, row->to), need, out;
    DimTrans trans[DIMS_MAX];
    assert_true(dim_trans_of_reshape(&from.shape, &to.shape, trans, NULL));
    Buf text = buf_new(arena);
    for (int d = 0; d < to.n_dims; d++) {
        buf_puts(&text, d ? " " : "");
        dim_trans_format(&trans[d], &text);
    }
    if (row->trans)
        assert_string_equal(text.n ? text.s : "", row->trans);
    dim_trans_apply(&call, &from, trans, &to.shape, &need, &out);
    assert_string_equal(spmd_show(&call, &need), row->need);
    assert_string_equal(spmd_show(&call, &out), row->out);
    dim_trans_apply_loosely(&call, &from, trans, &to.shape, &need, &out);
    assert_string_equal(spmd_show(&call, &out), row->loosely);
    arena_free(arena);
}

static void shapes_of_other_sizes_have_no_transforms(void **state)
{
    (void)state;
    static const Shape pairs[][2] = {{{1, {4}}, {1, {5}}},
                                     {{2, {4, 3}}, {1, {13}}},
                                     {{1, {0}}, {2, {0, 5}}},
                                     {{0, {0}}, {1, {2}}}};
    DimTrans trans[DIMS_MAX];
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        Error err = {0};
        assert_false(dim_trans_of_reshape(&pairs[i][0], &pairs[i][1], trans, &err));
        assert_int_equal(err.kind, ERROR_INVALID);
    }
}

/* ---- requests ---- */

typedef struct {
    const char *name;
    const char *request; /* without do and mesh: x=2, y=3 */
    const char *want;    /* the answer, or the kind of the error */
} EvalRow;

#define X8 "{\"shape\":[8],\"dims_mapping\":[0]}"

static EvalRow eval_rows[] = {
    {"an op nobody knows", "\"op\":\"frobnicate\",\"inputs\":[]", "unknown_op"},
    {"no op", "\"inputs\":[]", "invalid"},
    {"a mode nobody knows", "\"op\":\"relu\",\"mode\":\"lazy\",\"inputs\":[" X8 "]", "unsupported"},
    {"too few inputs", "\"op\":\"add\",\"inputs\":[" X8 "]", "rank"},
    {"an input that must be there", "\"op\":\"add\",\"inputs\":[" X8 ",null]", "rank"},
    {"an axis the mesh lacks", "\"op\":\"relu\",\"inputs\":[{\"shape\":[8],\"dims_mapping\":[2]}]",
     "out_of_range"},
    {"an axis twice", "\"op\":\"relu\",\"inputs\":[{\"shape\":[8,8],\"dims_mapping\":[0,0]}]",
     "invalid"},
    {"a mapping of other dims",
     "\"op\":\"relu\",\"inputs\":[{\"shape\":[8,8],\"dims_mapping\":[0]}]", "rank"},
    {"a reduction nobody knows",
     "\"op\":\"relu\",\"inputs\":[{\"shape\":[8],\"partial\":{\"1\":\"mode\"}}]", "invalid"},
    {"an axis that is not there", "\"op\":\"sum\",\"attrs\":{\"axis\":[3]},\"inputs\":[" X8 "]",
     "invalid"},
    {"a shape that does not fit",
     "\"op\":\"reshape\",\"attrs\":{\"shape\":[3]},\"inputs\":[" X8 "]", "invalid"},
    {"more outputs than there may be",
     "\"op\":\"unbind\",\"attrs\":{\"axis\":0},\"inputs\":[{\"shape\":[1000000]}]", "out_of_range"},
    {"no mapping is whole", "\"op\":\"relu\",\"inputs\":[{\"shape\":[8,8]}]",
     "{\"inputs\":[{\"dims_mapping\":[-1,-1],\"partial\":{}}],"
     "\"outputs\":[{\"dims_mapping\":[-1,-1],\"partial\":{}}]}"},
    {"lists where they are asked for", "\"op\":\"relu\",\"mode\":\"coshard\",\"inputs\":[" X8 "]",
     "{\"inputs\":[{\"dims_mapping\":[[0]],\"partial\":{}}],"
     "\"outputs\":[{\"dims_mapping\":[[0]],\"partial\":{}}]}"},
};

static void answers(void **state)
{
    const EvalRow *row = *state;
    Arena *arena = arena_new();
    const char *text =
        arena_printf(arena, "{\"mesh\":{\"axes\":[[\"x\",2],[\"y\",3]]},%s}", row->request);
    Source source = {.name = "request", .text = str_from(text)};
    Error err = {0};
    Json *request = json_parse(&source, &err), *answer = json_object();
    assert_non_null(request);
    Buf got = buf_new(arena);
    if (eval_spmd("spmd.forward", arena, request, answer, &err))
        json_write(answer, &got);
    else
        buf_puts(&got, error_kind_name(err.kind));
    assert_string_equal(got.s, row->want);
    json_free(request);
    json_free(answer);
    arena_free(arena);
}

/* ---- rules of users, the trace ---- */

static bool replicate_all(SpmdCall *call, Error *err)
{
    (void)err;
    spmd_replicate(spmd_need(call, &call->input[0]));
    spmd_out_whole(call, *(int *)call->rule->context);
    return true;
}

static void a_rule_of_a_user_comes_first(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    int n_dims = 3;
    SpmdRules *rules = spmd_rules_new(arena);
    SpmdRule rule = {
        .names = "mine relu", .forward = replicate_all, .inputs = {1, 1}, .context = &n_dims};
    spmd_rules_add(rules, &rule);
    SpmdCall call = make_call(arena, "x=2", false);
    SpmdTensor x = read_tensor(&call, "8 x");
    call.input = &x;
    call.n_inputs = 1;
    assert_true(spmd_apply(spmd_rules_find(rules, STR("relu")), &call, NULL));
    assert_string_equal(spmd_show(&call, call.out.at[0]), "[-,-,-]");
    assert_non_null(spmd_rules_find(rules, STR("mine")));
    assert_non_null(spmd_rules_find(rules, STR("matmul")));
    assert_null(spmd_rules_find(NULL, STR("mine")));
    assert_null(spmd_rules_find(NULL, STR("relu abs")));
    arena_free(arena);
}

static void the_trace_says_who_lost(void **state)
{
    (void)state;
    static const char *const lines[] = {"letters: ab, ab",
                                        "axis x: b loses it to a, which claimed it first",
                                        "input 1: [x,-], given [-,x]", "output 0: [x,-]"};
    Arena *arena = arena_new();
    SpmdCall call = make_call(arena, "x=2", false);
    SpmdTensor input[2] = {read_tensor(&call, "8x8 x,-"), read_tensor(&call, "8x8 -,x")};
    Buf trace = buf_new(arena);
    call.trace = &trace;
    call.input = input;
    call.n_inputs = 2;
    assert_true(spmd_apply(spmd_rules_find(NULL, STR("add")), &call, NULL));
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        if (str_find(buf_str(&trace), str_from(lines[i])) < 0)
            fail_msg("'%s' is not in:\n%s", lines[i], trace.s);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(letters_left_out_make_partial),
        cmocka_unit_test(only_shared_sums_stay_partial),
        cmocka_unit_test(shapes_of_other_sizes_have_no_transforms),
        cmocka_unit_test(a_rule_of_a_user_comes_first),
        cmocka_unit_test(the_trace_says_who_lost),
    };
    return run_rows("merge", merge_rows, merges) + run_rows("align", align_rows, aligns) +
           run_rows("transforms", trans_rows, carries) + run_rows("requests", eval_rows, answers) +
           cmocka_run_group_tests(tests, NULL, NULL);
}
