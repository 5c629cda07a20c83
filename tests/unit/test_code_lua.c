/* A plan as a policy: the policy makes the same plan again, whoever decided and whatever made it.
 */
#include "core/propagate/propagators.h"
#include "core/cost/pipeline.h"
#include "tests/unit/code_plans.h"

/* ---- beside each other ---- */

static int differing_tensors(const Plan *a, const Plan *b)
{
    int n = 0;
    for (int32_t t = 0; t < a->inferred->graph->n_tensors; t++) {
        bool has = a->moved->sharding[t] >= 0 || b->moved->sharding[t] >= 0;
        bool both = a->moved->sharding[t] >= 0 && b->moved->sharding[t] >= 0;
        n += has && !(both && sharding_equal(plan_sharding(a, t), plan_sharding(b, t)));
    }
    return n;
}

static int differing_cuts(const Plan *a, const Plan *b)
{
    int n = 0;
    for (int i = 0; i < a->inferred->n_program; i++) {
        int32_t op = a->inferred->program[i];
        const OpCut *x = program_cut(a, op), *y = program_cut(b, op);
        bool same = x->n == y->n && submesh_equal(a->decided->submeshes[plan_devices(a, op)],
                                                  b->decided->submeshes[plan_devices(b, op)]);
        for (int64_t d = 0; same && d < x->n; d++)
            same = cut_equal(&x->index[d], &y->index[d]);
        n += !same;
    }
    return n;
}

static bool same_plan(const Plan *a, const Plan *b, const char *what)
{
    int cuts = differing_cuts(a, b), tensors = differing_tensors(a, b);
    bool totals = memcmp(&a->priced->totals, &b->priced->totals, sizeof a->priced->totals) == 0 &&
                  plan_step_us(a) == plan_step_us(b);
    if (cuts || tensors || !totals)
        print_message("%s: %d cuts, %d tensors, %.3f and %.3f us\n", what, cuts, tensors,
                      a->priced->totals.step_us, b->priced->totals.step_us);
    return !cuts && !tensors && totals;
}

/* The plan of a fixture, out of the policy that is exported from it. */
static PlanFixture replay(PlanFixture *f, Graph *graph, const PlanCase *it, bool *noted)
{
    char path[] = "/tmp/dimscope-test-XXXXXX.lua";
    int fd = mkstemps(path, 4);
    assert_true(fd >= 0);
    close(fd);
    Error err = {0};
    ExportNotes notes;
    Str text = plan_export(f, "lua", &notes);
    *noted = notes_have(&notes, "does not reproduce the plan");
    assert_true(file_write(path, text, &err));
    bool own = str_find(text, STR("-- Run it with --propagate")) >= 0;
    const Propagator *propagator = own ? f->session->plan->propagator : &propagator_explain;
    PlanCase again = {it->model, it->mesh, path};
    PlanFixture b = plan_open_graph(graph, &again, propagator, &err);
    unlink(path);
    if (!b.session) {
        print_message("%.*s\n", STR_ARG(text));
        fail_msg("%s %s: line %d: %s", it->model ? it->model : "", it->mesh, err.line, err.text);
    }
    return b;
}

static void check_replay(const PlanCase *it, const Propagator *propagator)
{
    Error err = {0};
    bool noted;
    PlanFixture a = plan_open(it, propagator, &err);
    if (a.session) {
        PlanFixture b = replay(&a, NULL, it, &noted);
        const char *what = arena_printf(a.arena, "%s %s %s %s", it->model, it->mesh, it->policy,
                                        propagator->profile);
        assert_true(same_plan(a.session->plan, b.session->plan, what));
        assert_false(noted);
        plan_close(&b);
    }
    plan_close(&a);
}

static void a_policy_makes_the_plan_again(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(plan_cases); i++)
        check_replay(&plan_cases[i], &propagator_explain);
}

static void so_it_does_for_other_propagators(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(plan_cases); i++)
        for (int m = 1; propagator_at(m); m++)
            check_replay(&plan_cases[i], propagator_at(m));
}

/* Layers that are alike are a loop: the file stays short. */
static void layers_are_a_loop(void **state)
{
    (void)state;
    PlanFixture f = plan_need(&(PlanCase){"llama-3-8b.json", "dp=2,tp=8", "megatron"});
    ExportNotes notes;
    Str text = plan_export(&f, "lua", &notes);
    int lines = 0;
    for (size_t i = 0; i < text.n; i++)
        lines += text.s[i] == '\n';
    assert_in_range(lines, 8, 40);
    assert_true(str_find(text, STR("for i = 0, 31 do")) >= 0);
    assert_true(str_find(text, STR("-- megatron.lua:")) >= 0);
    plan_close(&f);
}

/* ---- any decisions ---- */

typedef struct {
    uint64_t state;
} Dice;

static int roll(Dice *dice, int n)
{
    dice->state = dice->state * 6364136223846793005u + 1442695040888963407u;
    return n > 0 ? (int)((dice->state >> 33) % (uint64_t)n) : 0;
}

static Cut some_cut(Dice *dice, const Mesh *mesh, int64_t size)
{
    uint8_t atom[ATOMS_MAX];
    int n = 0, parts = roll(dice, 4) == 0 && size % 2 == 0 ? 2 : 1;
    for (int a = 0; a < mesh->n_atoms; a++)
        if (roll(dice, 2))
            atom[n++] = (uint8_t)a;
    Cut major = cut_whole(parts), minor = cut_by(size / parts, atom, n, mesh), cut;
    const Cut *both[2] = {&major, &minor};
    return cut_concat(both, 2, mesh, &cut) ? cut : cut_whole(size);
}

static void put_cut(Dice *dice, const Session *session, int64_t size, Decision *decision)
{
    Cut cut = some_cut(dice, session->mesh, size);
    decision->cut = cut_keep(intern_new(session->journal_arena), &cut);
    decision->open = roll(dice, 4) == 0;
    decision->priority = roll(dice, 6) == 0;
}

static bool some_pin(Dice *dice, const Session *session, Decision *decision)
{
    const Inferred *inferred = session->inferred;
    if (roll(dice, 2)) {
        decision->kind = PIN_INDEX_DIM;
        decision->place = inferred->program[roll(dice, inferred->n_program)];
        const OpSpace *space = program_space(inferred, decision->place);
        decision->dim = roll(dice, space->n_index);
        if (space->n_index == 0)
            return false;
        put_cut(dice, session, space->index[decision->dim].size, decision);
        return true;
    }
    decision->kind = PIN_TENSOR_DIM;
    decision->place = roll(dice, session->graph->n_tensors);
    const Shape *shape = inferred_shape(inferred, decision->place);
    if (!shape || shape->n_dims == 0)
        return false;
    decision->dim = roll(dice, (int)shape->n_dims);
    put_cut(dice, session, shape->dim[decision->dim], decision);
    decision->store =
        roll(dice, 3) == 0 && session->graph->tensors[decision->place].kind == TENSOR_INITIALIZER;
    return true;
}

static bool some_mark(Dice *dice, const Session *session, Decision *decision)
{
    static const DecisionKind kinds[] = {PIN_REPLICATED, PIN_GROUP, PIN_BARRIER};
    decision->kind = kinds[roll(dice, 3)];
    decision->place = roll(dice, session->graph->n_tensors);
    decision->dim = -1;
    decision->axes = 1u << roll(dice, session->mesh->n_atoms);
    decision->group = decision->kind == PIN_GROUP ? "g \"1\"" : "";
    decision->pass = (Pass)roll(dice, PASS_BOTH);
    return inferred_shape(session->inferred, decision->place) != NULL;
}

static bool some_place(Dice *dice, const Session *session, Decision *decision)
{
    const Inferred *inferred = session->inferred;
    int first = roll(dice, inferred->n_program);
    decision->kind = roll(dice, 2) ? PIN_STAGE : PIN_SCHEDULE;
    decision->place = decision->kind == PIN_STAGE ? inferred->program[first] : 0;
    decision->last = decision->place;
    decision->dim = -1;
    decision->relay = roll(dice, 2);
    decision->number = 1 + roll(dice, 4);
    decision->schedule = "1f1b";
    return true;
}

static void decide(PlanFixture *f, Dice *dice)
{
    Error err = {0};
    for (int i = 1 + roll(dice, 8); i > 0; i--) {
        Decision decision = {.origin = {.kind = ORIGIN_USER, .file = "", .text = ""}};
        int kind = roll(dice, 8);
        bool made = kind < 6    ? some_pin(dice, f->session, &decision)
                    : kind == 6 ? some_mark(dice, f->session, &decision)
                                : some_place(dice, f->session, &decision);
        if (made && !session_apply(f->session, &decision, 1, &err))
            fail_msg("%s", err.text);
    }
}

/* A plan that is legal comes back, a contradiction may be noted; the policy is one that runs. */
static void any_decisions_come_back(void **state)
{
    (void)state;
    static const PlanCase models[] = {{"tiny-gpt.onnx", "dp=2,tp=4", NULL},
                                      {"llama-tiny.onnx", "a=2,b=2,c=2", NULL},
                                      {"tiny-conv.onnx", "dp=3,tp=2", NULL}};
    int n_legal = 0;
    for (int seed = 0; seed < 120; seed++) {
        const PlanCase *it = &models[seed % 3];
        Dice dice = {(uint64_t)seed};
        PlanFixture a = plan_need(it);
        bool noted;
        decide(&a, &dice);
        PlanFixture b = replay(&a, NULL, it, &noted);
        const char *what = arena_printf(a.arena, "%s, %d", it->model, seed);
        bool legal = plan_is_legal(a.session->plan);
        if (!noted)
            assert_true(same_plan(a.session->plan, b.session->plan, what));
        if (legal && noted)
            fail_msg("%s: a legal plan does not come back", what);
        n_legal += legal;
        plan_close(&b);
        plan_close(&a);
    }
    assert_true(n_legal > 60);
}

static void names_stay_names(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Graph *graph = hostile_graph(arena);
    PlanCase it = {NULL, "dp=2,tp=2", NULL};
    Error err = {0};
    bool noted;
    PlanFixture a = plan_open_graph(graph, &it, &propagator_explain, &err);
    assert_non_null(a.session);
    hostile_decide(&a);
    PlanFixture b = replay(&a, graph, &it, &noted);
    assert_true(same_plan(a.session->plan, b.session->plan, "hostile"));
    assert_false(noted);
    assert_true(b.session->plan->decided->n_pins >= 12);
    plan_close(&b);
    plan_close(&a);
    arena_free(arena);
}

static void equal_plans_are_equal_bytes(void **state)
{
    (void)state;
    static const char *const systems[] = {"lua", "jax", "shardy"};
    for (size_t i = 0; i < COUNT_OF(plan_cases); i += 5)
        for (size_t s = 0; s < COUNT_OF(systems); s++) {
            PlanFixture a = plan_need(&plan_cases[i]), b = plan_need(&plan_cases[i]);
            ExportNotes notes;
            Str first = plan_export(&a, systems[s], &notes);
            assert_true(str_eq(first, plan_export(&a, systems[s], &notes)));
            assert_true(str_eq(first, plan_export(&b, systems[s], &notes)));
            plan_close(&b);
            plan_close(&a);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_policy_makes_the_plan_again),
        cmocka_unit_test(so_it_does_for_other_propagators),
        cmocka_unit_test(layers_are_a_loop),
        cmocka_unit_test(any_decisions_come_back),
        cmocka_unit_test(names_stay_names),
        cmocka_unit_test(equal_plans_are_equal_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
