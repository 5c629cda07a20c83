/* Plans side by side: what is listed differs, what is not listed is equal, whichever is first. */
#include "tests/unit/diff_sessions.h"

/* ---- brute force: every thing as text, and what is listed ---- */

static const char *sharding_text(Arena *arena, const Session *session, int32_t id)
{
    Buf text = buf_new(arena);
    if (id >= 0)
        sharding_format(shardings_at(session->plan->shardings, id), session->mesh, VIEW_OURS_ASCII,
                        &text, NULL);
    return text.s;
}

static bool same_op(Arena *arena, const Session *a, const Session *b, int32_t op)
{
    Buf x = buf_new(arena), y = buf_new(arena);
    const OpCut *cut[2] = {program_cut(a->plan, op), program_cut(b->plan, op)};
    for (int i = 0; i < cut[0]->n; i++) {
        cut_format(&cut[0]->index[i], a->mesh, &x);
        cut_format(&cut[1]->index[i], b->mesh, &y);
    }
    return strcmp(x.s, y.s) == 0;
}

/* The layouts that its readers take a tensor in are a set. */
static bool needs_within(Arena *arena, const Session *a, const Session *b, int32_t tensor)
{
    const Graph *graph = a->graph;
    for (int i = 0; i < a->inferred->n_program; i++) {
        const GraphOp *op = &graph->ops[a->inferred->program[i]];
        for (int32_t o = op->input; o < op->input + op->n_inputs; o++) {
            if (graph->operands[o] != tensor)
                continue;
            const char *need = sharding_text(arena, a, a->plan->moved->need[o]);
            bool found = false;
            for (int j = 0; j < b->inferred->n_program && !found; j++) {
                const GraphOp *other = &graph->ops[b->inferred->program[j]];
                for (int32_t p = other->input; p < other->input + other->n_inputs; p++)
                    found |= graph->operands[p] == tensor &&
                             strcmp(sharding_text(arena, b, b->plan->moved->need[p]), need) == 0;
            }
            if (!found)
                return false;
        }
    }
    return true;
}

static bool same_tensor(Arena *arena, const Session *a, const Session *b, int32_t t)
{
    return strcmp(sharding_text(arena, a, a->plan->moved->made[t]),
                  sharding_text(arena, b, b->plan->moved->made[t])) == 0 &&
           strcmp(sharding_text(arena, a, a->plan->moved->sharding[t]),
                  sharding_text(arena, b, b->plan->moved->sharding[t])) == 0 &&
           needs_within(arena, a, b, t) && needs_within(arena, b, a, t);
}

static const char *reshard_text(Arena *arena, const Session *session, int32_t i)
{
    Buf text = buf_new(arena);
    const Reshard *r = &session->plan->moved->reshards[i];
    buf_printf(&text, "%s %s %s", tensor_name(session->graph, r->tensor),
               sharding_text(arena, session, r->from), sharding_text(arena, session, r->to));
    for (int s = 0; s < r->path->n_steps; s++)
        buf_printf(&text, " %d %u", (int)r->path->step[s].kind, r->path->step[s].atoms);
    return text.s;
}

static void check_reshards(Arena *arena, const PlanDiff *diff, int side)
{
    const Session *mine = diff->side[side], *other = diff->side[1 - side];
    for (int i = 0; i < mine->plan->moved->n_reshards; i++) {
        const char *text = reshard_text(arena, mine, i);
        bool found = false;
        for (int j = 0; j < other->plan->moved->n_reshards; j++)
            found |= strcmp(text, reshard_text(arena, other, j)) == 0;
        assert_int_equal(is_listed(&diff->list[DIFF_RESHARDS], side, i), !found);
    }
}

static int count_text(const Session *session, const Finding *finding)
{
    int n = 0;
    for (int i = 0; i < session->plan->findings.n; i++) {
        const Finding *other = &session->plan->findings.at[i];
        n += finding->level == other->level && strcmp(finding->code, other->code) == 0 &&
             strcmp(finding->text, other->text) == 0;
    }
    return n;
}

/* Of findings with one text, as many are listed as the other side has fewer. */
static void check_findings(const PlanDiff *diff, int side)
{
    const DiffList *list = &diff->list[DIFF_FINDINGS];
    const Session *mine = diff->side[side], *other = diff->side[1 - side];
    for (int i = 0; i < mine->plan->findings.n; i++) {
        const Finding *finding = &mine->plan->findings.at[i];
        int listed = 0, more = count_text(mine, finding) - count_text(other, finding);
        for (int e = 0; e < list->n_entries; e++) {
            int32_t id = list->entries[e].id[side];
            listed += id >= 0 && strcmp(mine->plan->findings.at[id].code, finding->code) == 0 &&
                      strcmp(mine->plan->findings.at[id].text, finding->text) == 0;
        }
        assert_int_equal(listed, more > 0 ? more : 0);
    }
}

static void check_by_force(Arena *arena, const PlanDiff *diff)
{
    const Session *a = diff->side[0], *b = diff->side[1];
    for (int i = 0; i < a->inferred->n_program; i++) {
        int32_t op = a->inferred->program[i];
        assert_int_equal(is_listed(&diff->list[DIFF_OPS], 0, op), !same_op(arena, a, b, op));
    }
    for (int32_t t = 0; t < a->graph->n_tensors; t++) {
        const GraphTensor *tensor = &a->graph->tensors[t];
        bool host = tensor->maker >= 0 && inferred_is_host(a->inferred, tensor->maker);
        if (host || a->plan->moved->sharding[t] < 0 || b->plan->moved->sharding[t] < 0)
            continue;
        bool same = same_tensor(arena, a, b, t);
        if (is_listed(&diff->list[DIFF_TENSORS], 0, t) == same)
            fail_msg("%s", tensor_name(a->graph, t));
    }
    for (int side = 0; side < 2; side++) {
        check_reshards(arena, diff, side);
        check_findings(diff, side);
    }
}

/* Rows stand where their first ops do in the program. */
static void check_order(const PlanDiff *diff)
{
    const DiffList *ops = &diff->list[DIFF_OPS];
    const Inferred *inferred = diff->side[0]->inferred;
    int at = 0;
    for (int r = 0; r < ops->n_rows; r++) {
        while (at < inferred->n_program &&
               inferred->program[at] != ops->entries[ops->rows[r].first].id[0])
            at++;
        assert_true(at < inferred->n_program);
    }
}

static void check_mirrored(const PlanDiff *ab, const PlanDiff *ba)
{
    assert_int_equal(ab->fork, ba->fork);
    assert_int_equal(ab->same, ba->same);
    for (int kind = 0; kind < DIFF_LIST_COUNT; kind++) {
        const DiffList *x = &ab->list[kind], *y = &ba->list[kind];
        assert_int_equal(x->n_entries, y->n_entries);
        assert_int_equal(x->n_compared, y->n_compared);
        assert_int_equal(x->n_rows, y->n_rows);
        for (int i = 0; i < x->n_entries; i++) {
            assert_int_equal(x->entries[i].id[0], y->entries[i].id[1]);
            assert_int_equal(x->entries[i].id[1], y->entries[i].id[0]);
        }
        for (int r = 0; r < x->n_rows; r++)
            assert_int_equal(x->rows[r].n, y->rows[r].n);
    }
}

static void random_plans_differ_where_listed(void **state)
{
    (void)state;
    enum { PAIRS = 40 };
    for (uint32_t seed = 1; seed <= PAIRS; seed++) {
        Arena *arena = arena_new();
        Session *a = open_seed(seed), *b = open_seed(seed % 3 ? seed + 100 : seed + 3);
        const PlanDiff *ab = plan_diff(arena, a, b);
        assert_false(ab->same);
        check_by_force(arena, ab);
        check_order(ab);
        check_mirrored(ab, plan_diff(arena, b, a));
        session_close(a);
        session_close(b);
        arena_free(arena);
    }
}

static void a_plan_is_the_same_as_itself(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed <= 4; seed++) {
        Arena *arena = arena_new();
        Session *a = open_seed(seed), *b = open_seed(seed);
        const PlanDiff *diff = plan_diff(arena, a, b);
        assert_true(diff->same && diff->same_result);
        assert_int_equal(diff->n_requests, 0);
        assert_int_equal(diff->fork, -1);
        assert_null(diff_first_op(diff));
        for (int kind = 0; kind < DIFF_LIST_COUNT; kind++)
            assert_int_equal(diff->list[kind].n_entries + diff->list[kind].n_rows, 0);
        assert_int_equal(diff->list[DIFF_OPS].n_compared, a->inferred->n_program);
        session_close(a);
        session_close(b);
        arena_free(arena);
    }
}

/* ---- rows ---- */

static void repeated_layers_are_one_row(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Session *a = open_pins(FC("0") ";" FC("1")), *b = open_pins("");
    const PlanDiff *diff = plan_diff(arena, a, b);
    const DiffList *ops = &diff->list[DIFF_OPS];
    Buf name = buf_new(arena), text = buf_new(arena);
    assert_true(ops->n_rows > 0);
    assert_int_equal(ops->n_entries, 2 * ops->n_rows); /* of two layers */
    diff_format_row(diff, DIFF_OPS, 0, &name);
    assert_string_equal(name.s, "transformer.h[0..1].mlp.c_fc");
    diff_format_op(a, diff_first_op(diff)->id[0], &text);
    buf_puts(&text, " | ");
    diff_format_op(b, diff_first_op(diff)->id[1], &text);
    assert_string_equal(text.s, "n/tp | whole");
    for (int r = 0; r < ops->n_rows; r++)
        assert_int_equal(ops->rows[r].n, 2);
    session_close(a);
    session_close(b);
    arena_free(arena);
}

/* One layer differs in other ops too: what differs alike in both is one row all the same. */
static void layers_need_not_be_alike_as_a_whole(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Session *a = open_pins(FC("0") ";" FC("1") "; transformer.h.0.attn.c_attn.weight 1 192/tp");
    Session *b = open_pins("");
    const PlanDiff *diff = plan_diff(arena, a, b);
    bool found = false;
    for (int r = 0; r < diff->list[DIFF_OPS].n_rows; r++) {
        Buf name = buf_new(arena);
        diff_format_row(diff, DIFF_OPS, r, &name);
        found |= strcmp(name.s, "transformer.h[0..1].mlp.c_fc") == 0;
    }
    assert_true(found);
    assert_true(diff->list[DIFF_OPS].n_entries < 2 * diff->list[DIFF_OPS].n_rows);
    session_close(a);
    session_close(b);
    arena_free(arena);
}

static void a_layer_that_differs_otherwise_is_a_row_of_its_own(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Session *a = open_pins(FC("0")), *b = open_pins(FC("1"));
    const PlanDiff *diff = plan_diff(arena, a, b);
    const DiffList *ops = &diff->list[DIFF_OPS];
    assert_true(ops->n_rows > 1);
    for (int r = 0; r < ops->n_rows; r++)
        assert_int_equal(ops->rows[r].n, 1);
    Buf why = buf_new(arena);
    diff_format_why(diff, 0, "", &why);
    assert_non_null(strstr(why.s, "n sharded by tp, back to its pin:"));
    assert_non_null(strstr(why.s, "policy.lua:1"));
    why = buf_new(arena);
    diff_format_why(diff, 1, "", &why);
    assert_string_equal(why.s, "");
    session_close(a);
    session_close(b);
    arena_free(arena);
}

/* ---- the fork ---- */

typedef struct {
    const char *name, *a, *b;
    int fork;
    const char *decisions; /* of both at the fork */
} ForkRow;

static ForkRow fork_rows[] = {
    {"none", FC("0"), FC("0"), -1, "- | -"},
    {"nothing at all", "", "", -1, "- | -"},
    {"the first", FC("0"), FC("1"), 0,
     "pin transformer.h.0.mlp.c_fc.weight dim 1 256/tp | pin transformer.h.1.mlp.c_fc.weight dim 1 "
     "256/tp"},
    {"the second", FC("0") ";" FC("1"), FC("0") "; input_ids 0 2/dp", 1,
     "pin transformer.h.1.mlp.c_fc.weight dim 1 256/tp | pin input_ids dim 0 2/dp"},
    {"one goes on", FC("0"), FC("0") ";" FC("1"), 1,
     "- | pin transformer.h.1.mlp.c_fc.weight dim 1 256/tp"},
    {"another cut", "input_ids 0 2/dp", "input_ids 0 2/tp:(1)2", 0,
     "pin input_ids dim 0 2/dp | pin input_ids dim 0 2/tp:(1)2"},
    {"another priority", "input_ids 0 2/dp", "input_ids 0 2/dp later", 0,
     "pin input_ids dim 0 2/dp | pin input_ids dim 0 2/dp, priority 1"},
    {"another order", FC("0") ";" FC("1"), FC("1") ";" FC("0"), 0,
     "pin transformer.h.0.mlp.c_fc.weight dim 1 256/tp | pin transformer.h.1.mlp.c_fc.weight dim 1 "
     "256/tp"},
};

static void the_first_decision_that_differs(void **state)
{
    const ForkRow *row = *state;
    Arena *arena = arena_new();
    Session *side[2] = {open_pins(row->a), open_pins(row->b)};
    const PlanDiff *diff = plan_diff(arena, side[0], side[1]);
    Buf text = buf_new(arena);
    for (int s = 0; s < 2; s++) {
        const Decision *decision = diff_fork(diff, s);
        buf_puts(&text, s ? " | " : "");
        if (decision)
            decision_format(side[s], decision, &text);
        else
            buf_putc(&text, '-');
    }
    assert_int_equal(diff->fork, row->fork);
    assert_string_equal(text.s, row->decisions);
    assert_false(row->fork >= 0 && diff->same);
    session_close(side[0]);
    session_close(side[1]);
    arena_free(arena);
}

/* ---- the request ---- */

typedef struct {
    const char *name, *mesh, *machine, *dims, *model;
    const Propagator *propagator;
    const char *want;
    bool same_result;
} RequestRow;

static RequestRow request_rows[] = {
    {"alike", "dp=2,tp=4", "h", "batch=2", MODEL, &propagator_explain, "", true},
    {"mesh", "dp=2,tp=2", "h", "batch=2", MODEL, &propagator_explain,
     "mesh: dp=2,tp=4 | dp=2,tp=2\n", false},
    {"machine", "dp=2,tp=4", "slow", "batch=2", MODEL, &propagator_explain, "machine: h | slow\n",
     false},
    {"dims", "dp=2,tp=4", "h", "batch=4", MODEL, &propagator_explain,
     "dims: batch=2 seq=16 | batch=4 seq=16\n", false},
    {"refusal", "dp=2,tp=4", "h", "batch=2", MODEL, &propagator_explain,
     "no_redistribute: no | yes\n", true},
    {"profile", "dp=2,tp=4", "h", "batch=2", MODEL, &propagator_shardy,
     "profile: explain | shardy\n", true},
    {"propagator", "dp=2,tp=4", "h", "batch=2", MODEL, &propagator_spmd,
     "propagate: factor | spmd\nprofile: explain | paddle\n", true},
};

static void what_was_asked_otherwise(void **state)
{
    const RequestRow *row = *state;
    Arena *arena = arena_new();
    Wanted wanted = {"input_ids 0 2/dp;" FC("0"), 0};
    DimBindings dims = {0};
    vec_push(arena, &dims, (DimBinding){STR("batch"), row->dims[6] - '0'});
    if (row->dims[6] == '4')
        wanted.pins = "input_ids 0 4/dp;" FC("0");
    SessionOptions options = {
        .mesh = row->mesh, .machine = row->machine, .propagator = row->propagator};
    options.dims = dims;
    options.model = row->model;
    options.no_redistribute = str_starts(str_from(row->want), STR("no_redistribute"));
    Wanted base_wanted = {"input_ids 0 2/dp;" FC("0"), 0};
    Session *base = open_with(&base_wanted, (SessionOptions){.machine = "h"});
    Session *other = open_with(&wanted, options);
    const PlanDiff *diff = plan_diff(arena, base, other);
    Buf text = buf_new(arena);
    for (int r = 0; r < diff->n_requests; r++)
        buf_printf(&text, "%s: %s | %s\n", diff->request[r].what, diff->request[r].text[0],
                   diff->request[r].text[1]);
    assert_string_equal(text.s, row->want);
    assert_int_equal(diff->fork, -1);
    if (row->propagator == &propagator_explain) /* what others come to is theirs */
        assert_int_equal(diff->same_result, row->same_result);
    assert_int_equal(diff->same, row->want[0] == '\0');
    session_close(base);
    session_close(other);
    arena_free(arena);
}

/* Sizes that both plans have otherwise are no difference of an op. */
static void other_sizes_are_no_other_cuts(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Wanted two = {"input_ids 0 2/dp", 0}, four = {"input_ids 0 4/dp", 0};
    SessionOptions options = {0};
    vec_push(arena, &options.dims, (DimBinding){STR("batch"), 4});
    Session *a = open_with(&two, (SessionOptions){0}), *b = open_with(&four, options);
    const PlanDiff *diff = plan_diff(arena, a, b);
    assert_int_equal(diff->list[DIFF_OPS].n_entries, 0);
    assert_int_equal(diff->list[DIFF_TENSORS].n_entries, 0);
    assert_false(diff->same);
    session_close(a);
    session_close(b);
    arena_free(arena);
}

/* ---- other models, more sides ---- */

static void models_are_matched_by_name(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Wanted none = {"", 0};
    SessionOptions other = {.model = "tests/golden/errors/plain.onnx"};
    vec_push(arena, &other.dims, (DimBinding){STR("batch"), 8});
    Session *a = open_with(&none, (SessionOptions){0}), *b = open_with(&none, other);
    const PlanDiff *diff = plan_diff(arena, a, b), *mirrored = plan_diff(arena, b, a);
    const DiffList *ops = &diff->list[DIFF_OPS];
    assert_int_equal(ops->n_entries, a->inferred->n_program + b->inferred->n_program);
    assert_string_equal(diff->request[0].what, "model");
    for (int i = 0; i < ops->n_entries; i++)
        assert_true((ops->entries[i].id[0] < 0) != (ops->entries[i].id[1] < 0));
    check_mirrored(diff, mirrored);
    session_close(a);
    session_close(b);
    arena_free(arena);
}

static void three_sides_list_what_any_has_otherwise(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Session *sides[3] = {open_pins(FC("0") ";" FC("1")), open_pins(FC("0")), open_pins("")};
    const PlanDiff *all = plan_diff_sides(arena, (const Session *const *)sides, 3);
    const PlanDiff *ends = plan_diff(arena, sides[0], sides[2]);
    assert_int_equal(all->n_sides, 3);
    assert_int_equal(all->fork, 0);
    assert_int_equal(all->list[DIFF_OPS].n_entries, ends->list[DIFF_OPS].n_entries);
    assert_true(all->list[DIFF_OPS].n_rows > ends->list[DIFF_OPS].n_rows); /* layers differ */
    for (int s = 0; s < 3; s++)
        session_close(sides[s]);
    arena_free(arena);
}

/* ---- JSON ---- */

static void the_json_has_the_rows(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b"};
    Arena *arena = arena_new();
    Session *a = open_pins(FC("0") ";" FC("1")), *b = open_pins("");
    const PlanDiff *diff = plan_diff(arena, a, b);
    Json *json = diff_json(diff, names);
    assert_false(json_bool(json_get(json, "same"), true));
    const Json *ops = json_get(json, "ops"), *row = json_at(ops, 0);
    assert_int_equal(json_size(ops), diff->list[DIFF_OPS].n_rows);
    assert_int_equal(json_int(json_get(row, "n"), 0), 2);
    assert_int_equal(json_size(json_get(row, "names")), 2);
    assert_true(str_eq(json_str(json_at(json_get(row, "sides"), 0), ""), STR("n/tp")));
    assert_true(str_eq(json_str(json_at(json_get(row, "sides"), 1), ""), STR("whole")));
    assert_int_equal(json_int(json_get(json_get(json, "fork"), "at"), -1), 0);
    assert_true(json_is_null(json_at(json_get(json_get(json, "fork"), "decisions"), 1)));
    assert_int_equal(json_size(json_get(json, "totals")), 2);
    json_free(json);
    session_close(a);
    session_close(b);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_is_the_same_as_itself),
        cmocka_unit_test(random_plans_differ_where_listed),
        cmocka_unit_test(repeated_layers_are_one_row),
        cmocka_unit_test(layers_need_not_be_alike_as_a_whole),
        cmocka_unit_test(a_layer_that_differs_otherwise_is_a_row_of_its_own),
        cmocka_unit_test(other_sizes_are_no_other_cuts),
        cmocka_unit_test(models_are_matched_by_name),
        cmocka_unit_test(three_sides_list_what_any_has_otherwise),
        cmocka_unit_test(the_json_has_the_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) +
           run_rows("fork", fork_rows, the_first_decision_that_differs) +
           run_rows("request", request_rows, what_was_asked_otherwise);
}
