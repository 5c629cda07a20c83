/* The outline of two plans: every op, reshard and given tensor once; a fork beside its session. */
#include "tests/unit/diff_sessions.h"

/* ---- the outline ---- */

static bool has_line(const DiffOutline *outline, DiffLineKind kind, int side, int32_t id,
                     const char *marks)
{
    for (int i = 0; i < outline->n_lines; i++)
        if (outline->line[i].kind == kind && outline->line[i].id[side] == id)
            return strchr(marks, outline->line[i].mark) != NULL;
    return false;
}

/* Folded or not, lines stand for every op, reshard and given tensor of both sides once. */
static void check_counts(const DiffOutline *outline, const PlanDiff *diff)
{
    int ops[2] = {0}, reshards[2] = {0}, changes = 0;
    for (int i = 0; i < outline->n_lines; i++) {
        const DiffLine *line = &outline->line[i];
        changes += line->mark != '=';
        for (int s = 0; s < 2; s++) {
            if (line->id[s] < 0)
                continue;
            ops[s] += line->kind == DIFF_LINE_OP ? line->n : 0;
            reshards[s] += line->kind == DIFF_LINE_RESHARD ? line->n : 0;
        }
        assert_true(line->mark != '+' || line->id[0] < 0);
        assert_true(line->mark != '-' || line->id[1] < 0);
        assert_true(strchr("+-", line->mark) || (line->id[0] >= 0 && line->id[1] >= 0));
    }
    assert_int_equal(changes, outline->n_changes);
    for (int s = 0; s < 2; s++) {
        assert_int_equal(ops[s], diff->side[s]->inferred->n_program);
        assert_int_equal(reshards[s], diff->side[s]->plan->moved->n_reshards);
    }
}

static void check_marks(const DiffOutline *outline, const PlanDiff *diff)
{
    for (int e = 0; e < diff->list[DIFF_OPS].n_rows; e++) {
        const DiffRow *row = &diff->list[DIFF_OPS].rows[e];
        int32_t op = diff->list[DIFF_OPS].entries[row->first].id[0];
        bool shown = false;
        for (int i = 0; i < outline->n_lines; i++)
            shown |= outline->line[i].kind == DIFF_LINE_OP && outline->line[i].id[0] == op;
        if (shown)
            assert_true(has_line(outline, DIFF_LINE_OP, 0, op, "~"));
    }
    for (int i = 0; i < outline->n_lines; i++) {
        const DiffLine *line = &outline->line[i];
        int s = line->id[0] < 0 ? 1 : 0;
        if (line->kind == DIFF_LINE_RESHARD)
            assert_int_equal(is_listed(&diff->list[DIFF_RESHARDS], s, line->id[s]),
                             line->mark != '=');
        if (line->kind == DIFF_LINE_GIVEN)
            assert_int_equal(is_listed(&diff->list[DIFF_TENSORS], s, line->id[s]),
                             line->mark != '=');
    }
}

static void the_outline_has_everything_once(void **state)
{
    (void)state;
    enum { PAIRS = 25 };
    for (uint32_t seed = 1; seed <= PAIRS; seed++) {
        Arena *arena = arena_new();
        Session *a = open_seed(seed), *b = open_seed(seed % 5 ? seed + 50 : seed);
        const PlanDiff *diff = plan_diff(arena, a, b);
        DiffOutline outline = diff_outline(arena, diff);
        check_counts(&outline, diff);
        check_marks(&outline, diff);
        assert_int_equal(outline.n_changes == 0, seed % 5 == 0);
        session_close(a);
        session_close(b);
        arena_free(arena);
    }
}

/* Layers that both plans cut alike are one line. */
static void layers_alike_are_one_line(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Session *a = open_pins(""), *b = open_pins(FC("0") ";" FC("1"));
    DiffOutline outline = diff_outline(arena, plan_diff(arena, a, b));
    int n_folded = 0;
    for (int i = 0; i < outline.n_lines; i++)
        n_folded += outline.line[i].kind == DIFF_LINE_GIVEN && outline.line[i].mark == '~' &&
                    outline.line[i].n == 2;
    assert_true(n_folded > 0);
    session_close(a);
    session_close(b);
    arena_free(arena);
}

/* Before the last decisions: beside a session that goes on changing. */
static void a_fork_stays_as_it_was(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Wanted wanted = {FC("0"), 0};
    SessionHooks hooks = {.context = &wanted, .machine = round_machine, .policy = wanted_pins};
    SessionOptions options = {.model = MODEL, .mesh = "dp=2,tp=4", .policy = "pins"};
    Error err = {0};
    Session *session = session_open(&options, &hooks, &err);
    assert_non_null(session);
    Decision pin = session->journal.decisions.at[0];
    pin.origin.kind = ORIGIN_USER;
    pin.kind = UNPIN_TENSOR_DIM;
    Totals before = session->plan->priced->totals;
    assert_true(session_apply(session, &pin, 1, &err));
    Change back = {.kind = CHANGE_STEP, .n = -1};
    Session *fork = session_fork(session, &back, &err);
    assert_non_null(fork);
    assert_true(session_undo(session, &err) && session_apply(session, &pin, 1, &err));
    assert_int_equal(fork->journal.n_done, 1);
    assert_memory_equal(&fork->plan->priced->totals, &before, sizeof before);
    assert_int_equal(plan_diff(arena, session, fork)->fork, 1);
    session_close(fork);
    back.n = -3;
    assert_null(session_fork(session, &back, &err));
    assert_true(error_is_set(&err));
    session_close(session);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_outline_has_everything_once),
        cmocka_unit_test(layers_alike_are_one_line),
        cmocka_unit_test(a_fork_stays_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
