/* Rules of dims_mappings and strategies, executed on simulated ranks: every built-in one whose
 * operator has a kernel, those known to be wrong where they come from, and users' wrong ones, which
 * the proof must find. */
#include "tests/unit/unit.h"

#include "core/peers/paddle/spmd_check.h"
#include "core/peers/torch/strategy_check.h"

#include <stdio.h>

/* ---- built-in rules of dims_mappings ---- */

typedef struct {
    const char *names, *why;
} Known;

/* Wrong in Paddle, and so when it is asked exactly. */
static const Known wrong_exact[] = {
    {"max amax reduce_max min amin prod all", "whole programs sum what is folded, whatever it is"},
    {"frobenius_norm logsumexp", "norms and logarithms of parts do not add up"},
    {"mean mean_all", "the average of uneven averages is another"},
    {"reshape reshape2", "backward, a dim that does not divide is split all the same"},
    {"transpose transpose2 softmax log_softmax", "x stays split where out is not"},
    {"expand concat", "out is not as partial as what it is made of"},
    {"strided_slice", "a rest of the division is dropped"},
    {"instance_norm batch_norm", "scale and bias are whole where the channels are split"},
    {"multiply add_n", "the largest of parts passes as a sum does"},
    {"gather gather_nd", "an axis splits x and the indices"},
    {"take_along_axis_grad", "parts of a sum count as all of it"},
    {"where", "y is not asked, dims of size 1 are split"},
    {"conv2d conv3d conv2d_transpose depthwise_conv2d", "positions of all are one dim"},
};

/* What they answer is not of the call as our op has it. */
static const Known of_another_call[] = {
    {"gather_nd_grad", "of x it takes the shape alone, our op its elements"},
    {"scatter_nd_add", "backward it answers as for scatter: updates have as many dims as x"},
    {"dropout", "without a seed it answers for out alone, our op has a mask beside it"},
};

static const char *known(const Known *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (str_has_word(str_from(list[i].names), str_from(name)))
            return list[i].why;
    return NULL;
}

typedef struct {
    const SpmdRule *rule;
    const char *name;
    bool exact;
} Ruled;

/* The first call that is wrong; the calls proven are counted. */
static const char *first_wrong(Arena *arena, const Ruled *row, int *n_proven)
{
    Error err = {0};
    SystemCalls calls = {0};
    SpmdClaim claim = {row->rule, row->exact, true, true};
    const Registry *registry = registry_new(arena);
    if (known(of_another_call, COUNT_OF(of_another_call), row->name))
        return NULL;
    if (!system_calls(arena, registry, SYSTEM_PADDLE, str_from(row->name), &calls, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < calls.n; i++) {
        RuleProof proof;
        if (!spmd_check(arena, registry, &claim, &calls.at[i], &proof, &err)) {
            assert_int_equal(err.kind, ERROR_UNSUPPORTED);
            continue;
        }
        if (!proof.ok)
            return arena_printf(arena, "%s: %s", calls.at[i].operands, proof.text);
        *n_proven += 1;
    }
    return NULL;
}

static void test_rule(void **state)
{
    const Ruled *row = *state;
    Arena *arena = arena_new();
    int n_proven = 0;
    const char *why = row->exact ? known(wrong_exact, COUNT_OF(wrong_exact), row->name) : NULL;
    const char *wrong = first_wrong(arena, row, &n_proven);
    if (wrong && !why)
        fail_msg("%s %s", row->name, wrong);
    if (!wrong && why)
        fail_msg("%s holds though %s", row->name, why);
    arena_free(arena);
}

/* The proof is of use for most of what the calls are written for. */
static void test_most_rules_are_proven(void **state)
{
    (void)state;
    int n_proven = 0;
    for (const SpmdRule *rule = NULL; (rule = spmd_rules_next(rule));)
        for (Str rest = str_from(rule->names); rest.n > 0;) {
            Arena *arena = arena_new();
            Ruled row = {rule, arena_str(arena, str_take(&rest, ' ')), false};
            assert_null(first_wrong(arena, &row, &n_proven));
            arena_free(arena);
        }
    assert_true(n_proven >= 180);
}

/* ---- built-in strategies ---- */

/* Wrong in torch 2.15 and in veScale; both answer by these rows. */
static const Known wrong_torch[] = {
    {"gather", "of an index that is shorter along a dim other parts are read than are held"},
};
static const Known wrong_vescale[] = {
    {"gather", "as torch"},
    {"all", "a conjunction is summed"},
    {"topk", "of a dim that is sharded each rank has the largest of its own part"},
    {"normal_ uniform_ bernoulli_ rand_like randn_like", "what each draws of a sum adds up"},
};

typedef struct {
    const char *name;
    StrategyProfile profile;
} Strategic;

static void test_strategy(void **state)
{
    const Strategic *row = *state;
    Arena *arena = arena_new();
    Error err = {0};
    SystemCalls calls = {0};
    const char *why = row->profile == STRATEGY_TORCH
                          ? known(wrong_torch, COUNT_OF(wrong_torch), row->name)
                      : row->profile == STRATEGY_VESCALE
                          ? known(wrong_vescale, COUNT_OF(wrong_vescale), row->name)
                          : NULL;
    const Registry *registry = registry_new(arena);
    const Strategies *strategies = strategies_new(arena);
    assert_true(system_calls(arena, registry, SYSTEM_TORCH, str_from(row->name), &calls, &err));
    bool wrong = false;
    for (int i = 0; i < calls.n; i++) {
        RuleProof proof;
        if (!strategy_check(arena, registry, strategies, row->profile, &calls.at[i], &proof, &err))
            assert_int_equal(err.kind, ERROR_UNSUPPORTED);
        else if (!proof.ok && !why)
            fail_msg("%s %s: %s", row->name, calls.at[i].operands, proof.text);
        else
            wrong |= !proof.ok;
    }
    if (why && !wrong)
        fail_msg("%s holds though %s", row->name, why);
    arena_free(arena);
}

/* ---- rules of users ---- */

static bool keep_all(SpmdCall *call, Error *err)
{
    (void)err;
    spmd_need_as_given(call, &call->input[0]);
    spmd_out_as_given(call, &call->input[0]);
    return true;
}

/* The sum is as partial as its first operand. */
static bool one_addend(SpmdCall *call, Error *err)
{
    (void)err;
    const SpmdTensor *x = &call->input[0], *y = &call->input[1];
    if (x->n_dims != y->n_dims)
        return error_kind(err, ERROR_INVALID, "no broadcast");
    spmd_need_as_given(call, x);
    SpmdTensor *need = spmd_need(call, y);
    memcpy(need->dim, x->dim, sizeof need->dim);
    spmd_out_as_given(call, x);
    return true;
}

static bool both_addends(SpmdCall *call, Error *err)
{
    (void)err;
    spmd_replicate(spmd_need_as_given(call, &call->input[0]));
    spmd_replicate(spmd_need_as_given(call, &call->input[1]));
    SpmdTensor *out = spmd_out_whole(call, 2);
    for (int i = 0; i < 2; i++)
        call->need.at[i]->partial[0] = REDUCE_SUM;
    out->partial[0] = REDUCE_SUM;
    return true;
}

/* All of x, by context's reduction. */
static bool fold(SpmdCall *call, Error *err)
{
    (void)err;
    const SpmdTensor *x = &call->input[0];
    spmd_need(call, x);
    SpmdTensor *out = spmd_out_whole(call, 0);
    for (int d = 0; d < x->n_dims; d++)
        spmd_add_partial(out, &x->dim[d], call->rule->reduce);
    return true;
}

static bool backward_to_whole(SpmdCall *call, Error *err)
{
    (void)err;
    spmd_replicate(spmd_need(call, &call->input[0]));
    spmd_out_as_given(call, &call->output[0]);
    return true;
}

static bool backward_by_name(SpmdCall *call, Error *err)
{
    (void)err;
    SpmdTensor *need = spmd_need(call, &call->input[0]);
    memcpy(need->dim, call->output[0].dim, sizeof need->dim);
    spmd_out_as_given(call, &call->output[0]);
    return true;
}

typedef struct {
    const char *label, *name;
    SpmdRule rule;
    const char *says; /* NULL: it holds */
} UsersRule;

#define FORWARD(function)                                                                          \
    {                                                                                              \
        .forward = (function), .inputs = {1, 2}, .outputs = { 1, 1 }                               \
    }
#define BACKWARD(function)                                                                         \
    {                                                                                              \
        .backward = (function), .inputs = {1, 2}, .outputs = { 1, 1 }                              \
    }

static UsersRule users_rules[] = {
    {"backward, x whole", "abs", BACKWARD(backward_to_whole), NULL},
    {"backward, x as out", "abs", BACKWARD(backward_by_name), NULL},
    {"backward, dims by place", "transpose", BACKWARD(backward_by_name), "backward"},
    {"softmax cut along its axis", "softmax", FORWARD(keep_all), "[-,x,-] -> [-,x,-]"},
    {"relu of addends", "relu", FORWARD(keep_all), "[-,-] sum(x) -> [-,-] sum(x)"},
    {"one addend of a sum", "add", FORWARD(one_addend), "sum(x), [-,-] -> [-,-] sum(x)"},
    {"addends of both factors", "matmul", FORWARD(both_addends), "sum(x), [-,-] sum(x)"},
    {"a sum of parts",
     "sum",
     {.forward = fold, .inputs = {1, 1}, .reduce = REDUCE_SUM},
     "differ in number of dims"},
    {"an average of uneven averages",
     "mean_all",
     {.forward = fold, .inputs = {1, 1}, .reduce = REDUCE_AVG},
     "avg(x)"},
    {"the largest of averages",
     "mean_all",
     {.forward = fold, .inputs = {1, 1}, .reduce = REDUCE_MAX},
     "max(x)"},
};

static void test_users_rule(void **state)
{
    const UsersRule *row = *state;
    Arena *arena = arena_new();
    Error err = {0};
    SystemCalls calls = {0};
    RuleProof proof = {.ok = true};
    const Registry *registry = registry_new(arena);
    SpmdClaim claim = {&row->rule, false, true, true};
    assert_true(system_calls(arena, registry, SYSTEM_PADDLE, str_from(row->name), &calls, &err));
    assert_true(calls.n > 0);
    if (!spmd_check(arena, registry, &claim, &calls.at[0], &proof, &err))
        fail_msg("%s", err.text);
    assert_true(proof.n_cuts > 0 || !proof.ok);
    if (proof.ok != !row->says)
        fail_msg("%s", proof.ok ? "it holds" : proof.text);
    if (row->says && !strstr(proof.text, row->says))
        fail_msg("%s", proof.text);
    arena_free(arena);
}

/* ---- strategies of users ---- */

typedef struct {
    const char *label, *name, *row;
    bool holds;
} UsersRow;

static UsersRow users_rows[] = {
    {"products of parts", "mm", "S(1),S(0) -> P(sum)", true},
    {"halves of all", "relu", "s(1) -> s(1)", true},
    {"addends of a difference", "sub", "P(sum),P(sum) -> P(sum)", true},
    {"a product of everything", "prod", "S(1) -> P(product)", true},
    {"a largest of largest", "relu", "P(max) -> P(max)", true},
    {"conjunctions", "all", "S(1) -> P(product)", true},
    {"softmax along its axis", "softmax", "s(1) -> s(1)", false},
    {"one addend of a sum", "add", "P(sum),R -> P(sum)", false},
    {"an average of uneven averages", "mean", "S(0) -> P(avg)", false},
    {"addends of both factors", "mm", "P(sum),P(sum) -> P(sum)", false},
    {"a conjunction summed", "all", "S(1) -> P(sum)", false},
    {"a largest becomes a largest", "neg", "P(max) -> P(max)", false},
    {"a minor shard of a view", "view", "S(1) -> S(0)", false},
    {"a running sum along its dim", "cumsum", "S(1) -> S(1)", false},
    {"rows of a table", "embedding", "S(0),R -> R", false},
    {"rows of an index", "index_select", "S(1),R -> S(1)", false},
    {"the largest summed", "amax", "S(1) -> P(sum)", false},
};

static bool add_text_row(const StrategyCall *call, void *context, StrategyRows *rows, Error *err)
{
    const UsersRow *row = context;
    Source source = {"row", str_from(row->row)};
    (void)call;
    return strategy_row_read(rows, &source, err);
}

static void test_users_row(void **state)
{
    UsersRow *row = *state;
    Arena *arena = arena_new();
    Error err = {0};
    SystemCalls calls = {0};
    RuleProof proof;
    const Registry *registry = registry_new(arena);
    Strategies *strategies = strategies_new(arena);
    strategies_add(strategies, str_from(row->name), add_text_row, row);
    assert_true(system_calls(arena, registry, SYSTEM_TORCH, str_from(row->name), &calls, &err));
    assert_true(calls.n > 0);
    if (!strategy_check(arena, registry, strategies, STRATEGY_TORCH, &calls.at[0], &proof, &err))
        fail_msg("%s", err.text);
    assert_true(proof.n_cuts > 1);
    if (proof.ok != row->holds)
        fail_msg("%s", proof.ok ? "it holds" : proof.text);
    arena_free(arena);
}

/* ---- an operator of a user, whose kernel knows nothing of other ranks ---- */

/* x, index, rows: x with the rows put where the index says, as a local array has them. */
static bool put_rows(const KernelCall *call, Error *err)
{
    const Local *x = call->input[0], *index = call->input[1], *rows = call->input[2];
    Local *out = call->output[0];
    int64_t width = x->shape.dim[1];
    (void)err;
    memcpy(out->data, x->data, (size_t)local_bytes(x));
    for (int64_t i = 0; i < index->shape.dim[0]; i++) {
        int64_t at = ((const int64_t *)index->data)[i];
        if (at < x->shape.dim[0])
            memcpy(local_at(out, at * width), local_at(rows, i * width),
                   (size_t)(width * element_bytes(x->dtype)));
    }
    return true;
}

static void the_indexed_dim_is_not_cut(void **state)
{
    (void)state;
    static const Kernel kernel = {"my.put", put_rows, NULL, 0, ROUNDING_EXACT};
    static const char *const annos[] = {"n^ d, k^, k^ d -> n^ d", NULL};
    static const AnnoSource source = {.annos = annos, .file = "test"};
    static UsersRow columns = {"", "my.put", "S(1),R,S(1) -> S(1)", true},
                    dim = {"", "my.put", "S(0),R,R -> S(0)", false};
    Arena *arena = arena_new();
    Error err = {0};
    Registry *registry = registry_new(arena);
    registry_add(registry, &(Operator){.name = "my.put",
                                       .anno = &source,
                                       .own = &kernel,
                                       .examples = "7x6,3:i64,3x6"});
    UsersRow *const rows[] = {&columns, &dim};
    for (int i = 0; i < 2; i++) {
        SystemCalls calls = {0};
        RuleProof proof;
        Strategies *strategies = strategies_new(arena);
        strategies_add(strategies, STR("my.put"), add_text_row, rows[i]);
        assert_true(system_calls_own(arena, registry_find(registry, STR("my.put")), &calls, &err));
        if (!strategy_check(arena, registry, strategies, STRATEGY_TORCH, &calls.at[0], &proof,
                            &err))
            fail_msg("%s", err.text);
        assert_int_equal(proof.ok, rows[i]->holds);
    }
    arena_free(arena);
}

/* ---- addends ---- */

/* Of every reduction: they combine to the value, also beside a cut, and are no value themselves. */
static void addends_combine(void **state)
{
    (void)state;
    static const ReduceOp reduces[] = {REDUCE_SUM,  REDUCE_AVG, REDUCE_MAX, REDUCE_MIN,
                                       REDUCE_PROD, REDUCE_ANY, REDUCE_ALL};
    Arena *arena = arena_new();
    Source text = {"mesh", STR("x=2,y=3")};
    const Mesh *mesh = mesh_parse(arena, &text, NULL);
    static const uint8_t y = 1;
    for (size_t i = 0; i < COUNT_OF(reduces); i++) {
        bool logical = reduces[i] == REDUCE_ANY || reduces[i] == REDUCE_ALL;
        const char *example = logical ? "5x6:bool" : "5x6";
        Error err = {0};
        RuleProof proof;
        LayoutCheck check;
        SystemCall call = {.name = "Identity", .n_inputs = 1, .n_outputs = 1};
        call.ours = call.theirs = example_graph(arena, "Identity", example, &err);
        call.input = (int[]){0};
        assert_true(layout_check_open(arena, registry_new(arena), &call, &proof, &check, &err));
        layout_check_begin(&check, mesh);
        Sharding *input = layout_check_input(&check, 0), *output = layout_check_output(&check, 0);
        input->partial[0] = output->partial[0] = (uint8_t)reduces[i];
        input->dim[1] = output->dim[1] = cut_by(6, &y, 1, mesh);
        if (!layout_check_try(&check))
            fail_msg("%s: %s", reduce_name(reduces[i]), proof.text);
        output->partial[0] = REDUCE_NONE;
        assert_false(layout_check_try(&check));
        layout_check_close(&check);
    }
    arena_free(arena);
}

/* ---- all ---- */

enum { TESTS_MAX = 3072 };
static struct CMUnitTest tests[TESTS_MAX];
static char names[TESTS_MAX][96];
static Ruled ruled[TESTS_MAX];
static Strategic strategic[TESTS_MAX];

static int add_test(int n, const char *what, const char *name, CMUnitTestFunction function,
                    void *row)
{
    snprintf(names[n], sizeof names[n], "%s %s", what, name);
    tests[n] = (struct CMUnitTest){names[n], function, NULL, NULL, row};
    return n + 1;
}

int main(void)
{
    static const char *const profiles[] = {"torch", "vescale", "rules"};
    Arena *arena = arena_new();
    int n = 0;
    for (const SpmdRule *rule = NULL; (rule = spmd_rules_next(rule));)
        for (Str rest = str_from(rule->names); rest.n > 0;) {
            const char *name = arena_str(arena, str_take(&rest, ' '));
            for (int exact = 0; exact < 2; exact++) {
                ruled[n] = (Ruled){rule, name, exact};
                n = add_test(n, exact ? "exact" : "rule", name, test_rule, &ruled[n]);
            }
        }
    for (int profile = STRATEGY_TORCH; profile <= STRATEGY_RULES; profile++)
        for (int i = 0; strategy_names_at((StrategyProfile)profile, i); i++)
            for (Str rest = str_from(strategy_names_at((StrategyProfile)profile, i)); rest.n > 0;) {
                const char *name = arena_str(arena, str_take(&rest, ' '));
                strategic[n] = (Strategic){name, (StrategyProfile)profile};
                n = add_test(n, profiles[profile], name, test_strategy, &strategic[n]);
            }
    for (size_t i = 0; i < COUNT_OF(users_rules); i++)
        n = add_test(n, "rule:", users_rules[i].label, test_users_rule, &users_rules[i]);
    for (size_t i = 0; i < COUNT_OF(users_rows); i++)
        n = add_test(n, "row:", users_rows[i].label, test_users_row, &users_rows[i]);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_most_rules_are_proven);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(the_indexed_dim_is_not_cut);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(addends_combine);
    int failed = _cmocka_run_group_tests("layout_check", tests, (size_t)n, NULL, NULL);
    arena_free(arena);
    return failed;
}
