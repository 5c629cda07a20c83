/* The solver against all choices of small random problems, and what it says of bad ones. */
#include "tests/unit/looks.h"
#include "tests/unit/unit.h"

#include "core/solve/classes.h"
#include "core/solve/left.h"
#include "core/solve/read.h"
#include "core/solve/solve.h"

#include <math.h>
#include <stdio.h>

enum { NODES_MOST = 7, CHOICES_MOST = 4, TIMES = 16 };

/* ---- random problems ---- */

typedef struct {
    uint64_t state;
} Random;

static int between(Random *random, int least, int most)
{
    random->state = random->state * 6364136223846793005u + 1442695040888963407u;
    return least + (int)((random->state >> 33) % (uint64_t)(most - least + 1));
}

/* Rows of what is drawn: how dear forbidden pairs are and how many uses and limits there are. */
typedef struct {
    const char *name;
    double forbidden; /* the cost of one pair in ten; 0: none */
    int uses_most, limit_least, limit_most;
    bool fractions;
} Kind;

static const double *draw(Random *random, Arena *arena, int n, const Kind *kind, int most)
{
    double *out = arena_array(arena, double, n);
    for (int i = 0; i < n; i++) {
        out[i] = between(random, 0, 1) ? 0 : between(random, 0, most);
        out[i] += kind->fractions ? between(random, 0, 99) / 100.0 : 0;
        if (kind->forbidden > 0 && between(random, 1, 10) == 1)
            out[i] = kind->forbidden;
    }
    return out;
}

static SolveProblem random_problem(Random *random, Arena *arena, const Kind *kind)
{
    SolveProblem out = {.n_nodes = between(random, 1, NODES_MOST)};
    int32_t *n_choices = arena_array(arena, int32_t, out.n_nodes);
    const double **cost = arena_array(arena, const double *, out.n_nodes);
    SolveEdge *edge = arena_array(arena, SolveEdge, NODES_MOST * NODES_MOST);
    SolveUse *use = arena_array(arena, SolveUse, 2 * NODES_MOST);
    SolveLimit *limit = arena_array(arena, SolveLimit, 2);
    Kind plain = {.fractions = kind->fractions};
    for (int n = 0; n < out.n_nodes; n++) {
        n_choices[n] = between(random, 1, CHOICES_MOST);
        cost[n] = draw(random, arena, n_choices[n], kind, 30);
        for (int u = between(random, 0, kind->uses_most); u > 0; u--) {
            int from = between(random, 0, 8);
            use[out.n_uses++] = (SolveUse){n, from, from + between(random, 0, 5),
                                           draw(random, arena, n_choices[n], &plain, 10)};
        }
    }
    for (int a = 0; a < out.n_nodes; a++)
        for (int b = 0; b < out.n_nodes; b++)
            if (between(random, 1, 3) == 1)
                edge[out.n_edges++] =
                    (SolveEdge){a, b, draw(random, arena, n_choices[a] * n_choices[b], kind, 40)};
    for (out.n_limits = 0; out.n_limits < 2; out.n_limits++) {
        int from = between(random, 0, 4);
        limit[out.n_limits] = (SolveLimit){from, from + between(random, 1, TIMES),
                                           between(random, kind->limit_least, kind->limit_most)};
    }
    out.n_choices = n_choices;
    out.cost = cost;
    out.edge = edge;
    out.use = use;
    out.limit = limit;
    return out;
}

static bool keeps_limits(const SolveProblem *problem, const int32_t *choice)
{
    for (int t = 0; t < TIMES; t++) {
        double sum = 0;
        for (int u = 0; u < problem->n_uses; u++)
            if (problem->use[u].from <= t && t < problem->use[u].to)
                sum += problem->use[u].amount[choice[problem->use[u].node]];
        for (int l = 0; l < problem->n_limits; l++)
            if (problem->limit[l].from <= t && t < problem->limit[l].to &&
                sum > problem->limit[l].most * (1 + 1e-9))
                return false;
    }
    return true;
}

static double least_of_all(const SolveProblem *problem)
{
    int32_t choice[NODES_MOST] = {0};
    double best = INFINITY;
    for (int n = 0; n < problem->n_nodes;) {
        if (keeps_limits(problem, choice))
            best = fmin(best, solve_cost(problem, choice));
        for (n = 0; n < problem->n_nodes && ++choice[n] == problem->n_choices[n]; n++)
            choice[n] = 0;
    }
    return best;
}

/* Whether every choice within the limits that costs less than `below` is marked; counts them. */
static bool marks_all_below(const SolveProblem *problem, double below, bool **left, int *n_below)
{
    int32_t choice[NODES_MOST] = {0};
    for (int n = 0; n < problem->n_nodes;) {
        bool less = solve_cost(problem, choice) < below && keeps_limits(problem, choice);
        *n_below += less;
        for (n = 0; n < problem->n_nodes && less; n++)
            if (!left[n][choice[n]])
                return false;
        for (n = 0; n < problem->n_nodes && ++choice[n] == problem->n_choices[n]; n++)
            choice[n] = 0;
    }
    return true;
}

static void leaves_what_may_cost_less(void **state)
{
    const Kind *kind = *state;
    Random random = {(uint64_t)kind->uses_most * 1000 + 13};
    int n_out = 0, n_below = 0, n_none = 0;
    for (int i = 0; i < 1000; i++) {
        Arena *arena = arena_new();
        SolveProblem problem = random_problem(&random, arena, kind);
        SolveClock clock = {.stopped = false};
        bool **left;
        double best = least_of_all(&problem);
        double below = isinf(best) ? 50 : best * (1 + between(&random, -1, 6) / 10.0);
        if (!solve_left(arena, &problem, below, &clock, &left)) {
            assert_true(below <= best);
            n_none++;
        }
        if (!marks_all_below(&problem, below, left, &n_below))
            fail_msg("problem %d: a choice below %.15g is not left", i, below);
        for (int n = 0; n < problem.n_nodes; n++)
            for (int c = 0; c < problem.n_choices[n]; c++)
                n_out += !left[n][c];
        arena_free(arena);
    }
    assert_true(n_below > 1000 && n_out > 1000 && n_none > 10);
}

static void is_the_least_of_all_choices(void **state)
{
    const Kind *kind = *state;
    Random random = {(uint64_t)kind->uses_most * 1000 + 7};
    int n_infeasible = 0, n_chosen = 0;
    for (int i = 0; i < 1500; i++) {
        Arena *arena = arena_new();
        SolveProblem problem = random_problem(&random, arena, kind);
        SolveAnswer answer;
        Error err = {0};
        double best = least_of_all(&problem);
        assert_true(solve(arena, &problem, &(SolveOptions){.seconds = 60}, &answer, &err));
        assert_true(answer.proven);
        if (isinf(best)) {
            assert_int_equal(answer.outcome, SOLVE_INFEASIBLE);
            assert_non_null(answer.why);
            n_infeasible++;
        } else {
            assert_int_equal(answer.outcome, SOLVE_CHOICE);
            if (fabs(answer.objective - best) > 1e-9 * best)
                fail_msg("problem %d: %.15g, the least is %.15g", i, answer.objective, best);
            assert_true(answer.bound <= best * (1 + 1e-9));
            assert_true(keeps_limits(&problem, answer.choice));
            assert_true(answer.objective == solve_cost(&problem, answer.choice));
            n_chosen++;
        }
        arena_free(arena);
    }
    assert_true(n_chosen > 100);
    assert_true(n_infeasible > 0 || kind->limit_least > 100);
}

/* Whatever look at the clock ends it: what is said holds. */
static void holds_wherever_it_is_stopped(void **state)
{
    const Kind *kind = *state;
    enum { PROBLEMS = 200, LOOKS_MOST = 100000 };
    Random random = {(uint64_t)kind->uses_most * 1000 + 31};
    int n_cut = 0, n_whole = 0;
    for (int i = 0; i < PROBLEMS; i++) {
        Arena *arena = arena_new();
        SolveProblem problem = random_problem(&random, arena, kind);
        double best = least_of_all(&problem);
        SolveAnswer answer = {.proven = false};
        for (int looks = 1; !answer.proven && looks < LOOKS_MOST; looks += 1 + looks / 8) {
            looks_from_now(true);
            assert_true(
                solve(arena, &problem, &(SolveOptions){.seconds = looks * LOOK_S}, &answer, NULL));
            n_cut += !answer.proven;
            if (answer.outcome == SOLVE_INFEASIBLE)
                assert_true(isinf(best));
            else
                assert_true(answer.bound <= best * (1 + 1e-9));
            if (answer.outcome != SOLVE_CHOICE)
                continue;
            assert_true(answer.objective == solve_cost(&problem, answer.choice));
            assert_true(keeps_limits(&problem, answer.choice));
            assert_true(answer.bound <= answer.objective * (1 + 1e-9));
            assert_true(!answer.proven || fabs(answer.objective - best) <= 1e-9 * best);
        }
        n_whole += answer.proven;
        arena_free(arena);
    }
    looks_from_now(false);
    assert_int_equal(n_whole, PROBLEMS);
    assert_true(n_cut > PROBLEMS);
}

static Kind kinds[] = {
    {"no limits, integers", 0, 0, 1000, 1000, false},
    {"no limits, fractions", 0, 0, 1000, 1000, true},
    {"costs of 1e18", 1e18, 0, 1000, 1000, false},
    {"limits", 0, 1, 0, 25, false},
    {"limits, fractions", 0, 1, 0, 25, true},
    {"several uses a node", 0, 2, 2, 40, false},
    {"several uses, costs of 1e18", 1e18, 2, 2, 40, false},
    {"several uses, forbidden pairs", INFINITY, 2, 2, 40, true},
};

/* ---- a chain whose best choice is known ---- */

/* n nodes of two choices, equal choices of neighbours free, others 3; the first wants 0 and the
 * last 1. Each choice 1 uses 1 at its time, 0 uses 2. */
static SolveProblem chain(Arena *arena, int n, double most)
{
    static const double pair[] = {0, 3, 3, 0}, none[] = {0, 0}, first[] = {0, 50}, last[] = {50, 0},
                        amount[] = {2, 1};
    int32_t *n_choices = arena_array(arena, int32_t, n);
    const double **cost = arena_array(arena, const double *, n);
    SolveEdge *edge = arena_array(arena, SolveEdge, n);
    SolveUse *use = arena_array(arena, SolveUse, n);
    SolveLimit *limit = arena_make(arena, SolveLimit);
    for (int i = 0; i < n; i++) {
        n_choices[i] = 2;
        cost[i] = i == 0 ? first : i == n - 1 ? last : none;
        use[i] = (SolveUse){i, 0, 10, amount};
        if (i > 0)
            edge[i - 1] = (SolveEdge){i - 1, i, pair};
    }
    *limit = (SolveLimit){0, 10, most};
    return (SolveProblem){.n_nodes = n,
                          .n_choices = n_choices,
                          .cost = cost,
                          .n_edges = n - 1,
                          .edge = edge,
                          .n_uses = n,
                          .use = use,
                          .n_limits = 1,
                          .limit = limit};
}

static void long_chains_are_solved(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Error err = {0};
    SolveAnswer answer;
    SolveProblem problem = chain(arena, 20000, 1e9);
    assert_true(solve(arena, &problem, &(SolveOptions){.seconds = 60}, &answer, &err));
    assert_true(answer.proven && answer.objective == 3);
    problem = chain(arena, 300, 310);
    assert_true(solve(arena, &problem, &(SolveOptions){.seconds = 60}, &answer, &err));
    assert_true(answer.proven && answer.objective == 3);
    arena_free(arena);
}

static void a_stop_leaves_the_best_so_far_and_a_bound(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Error err = {0};
    SolveAnswer answer;
    Progress *progress = arena_make(arena, Progress);
    progress_stop(progress);
    SolveProblem problem = chain(arena, 100, 110);
    assert_true(solve(arena, &problem, &(SolveOptions){.progress = progress}, &answer, &err));
    assert_false(answer.proven);
    assert_true(answer.bound <= 3);
    assert_true(answer.outcome == SOLVE_UNKNOWN || answer.objective >= 3);
    arena_free(arena);
}

static void a_limit_that_cannot_be_met_is_named(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Error err = {0};
    SolveAnswer answer;
    SolveProblem problem = chain(arena, 100, 99);
    assert_true(solve(arena, &problem, &(SolveOptions){0}, &answer, &err));
    assert_int_equal(answer.outcome, SOLVE_INFEASIBLE);
    assert_string_equal(answer.why, "at time 0 the smallest usages of the nodes alive add up to "
                                    "100, and the limit is 99");
    arena_free(arena);
}

/* ---- files ---- */

typedef struct {
    const char *name, *text;
    const char *want; /* the error, or the cost and the choices */
} Row;

#define TWO "{\"problem\":{\"nodes\":{\"costs\":[[1,2],[5,3]]"

static Row rows[] = {
    {"two nodes", TWO "},\"edges\":{\"nodes\":[[0,1]],\"costs\":[[0,9,0,0]]}}}", "5: 1 1"},
    {"twice the same edge",
     TWO "},\"edges\":{\"nodes\":[[0,1],[1,0]],\"costs\":[[0,9,0,0],[0,0,0,4]]}}}", "6: 0 0"},
    {"an edge to itself", TWO "},\"edges\":{\"nodes\":[[1,1]],\"costs\":[[0,0,0,7]]}}}", "6: 0 0"},
    {"no edges", TWO "}}}", "4: 0 1"},
    {"no nodes", "{\"problem\":{\"nodes\":{\"costs\":[]}}}", "0:"},
    {"a limit", TWO ",\"intervals\":[[0,2],[1,3]],\"usages\":[[3,3],[1,4]]},\"usage_limit\":5}}",
     "6: 0 0"},
    {"no limit", TWO ",\"intervals\":[[0,2],[1,3]],\"usages\":[[3,3],[1,4]]}}}", "4: 0 1"},
    {"not at one time",
     TWO ",\"intervals\":[[0,1],[1,3]],\"usages\":[[3,3],[1,4]]},\"usage_limit\":5}}", "4: 0 1"},
    {"nothing", "{}", "there is no \"problem\", an object of nodes and edges"},
    {"a list", "[1]", "there is no \"problem\", an object of nodes and edges"},
    {"no costs", "{\"problem\":{\"nodes\":{}}}",
     "\"nodes\" needs \"costs\", a list of lists of numbers"},
    {"no choices", "{\"problem\":{\"nodes\":{\"costs\":[[1],[]]}}}", "node 1 has no choices"},
    {"a negative cost", "{\"problem\":{\"nodes\":{\"costs\":[[1,-2]]}}}",
     "node 0, choice 1: the cost is negative"},
    {"a huge cost", "{\"problem\":{\"nodes\":{\"costs\":[[1,1e308]]}}}",
     "node 0, choice 1: the cost is above 1e100"},
    {"a text", "{\"problem\":{\"nodes\":{\"costs\":[[1,\"2\"]]}}}",
     "costs of node 0: item 1 is not a number"},
    {"an edge to nowhere", TWO "},\"edges\":{\"nodes\":[[0,2]],\"costs\":[[0,9,0,0]]}}}",
     "edge 0 joins nodes 0 and 2, and there are 2 nodes"},
    {"an edge too small", TWO "},\"edges\":{\"nodes\":[[0,1]],\"costs\":[[0,9]]}}}",
     "edge 0 has 2 costs, and its nodes have 2 x 2 choices"},
    {"an edge of three", TWO "},\"edges\":{\"nodes\":[[0,1,1]],\"costs\":[[0]]}}}",
     "edge 0 does not join two nodes"},
    {"edges without costs", TWO "},\"edges\":{\"nodes\":[[0,1]]}}}",
     "there are 1 edges and costs of 0"},
    {"usages missing", TWO ",\"intervals\":[[0,2],[1,3]]}}}",
     "there are 2 nodes, 2 intervals and 0 usages"},
    {"too few usages", TWO ",\"intervals\":[[0,2],[1,3]],\"usages\":[[1,1],[1]]}}}",
     "node 1 has 2 choices and 1 usages"},
    {"a negative usage", TWO ",\"intervals\":[[0,2],[1,3]],\"usages\":[[1,1],[1,-1]]}}}",
     "node 1, choice 1: the usage is negative"},
    {"a half interval", TWO ",\"intervals\":[[0,2],[1]],\"usages\":[[1,1],[1,1]]}}}",
     "the interval of node 1 is not two integers"},
    {"a limit in words", TWO "},\"usage_limit\":\"5\"}}", "\"usage_limit\" is not a number"},
    {"a negative limit",
     TWO ",\"intervals\":[[0,2],[1,3]],\"usages\":[[0,3],[1,4]]},\"usage_limit\":-1}}",
     "at time 1 the smallest usages of the nodes alive add up to 1, and the limit is -1"},
    {"a value that never fits",
     TWO ",\"intervals\":[[0,2],[1,3]],\"usages\":[[3,6],[7,9]]},\"usage_limit\":6}}",
     "at time 1 the smallest usages of the nodes alive add up to 10, and the limit is 6"},
};

static void answer_text(Arena *arena, const SolveProblem *problem, Buf *out)
{
    SolveAnswer answer;
    Error err = {0};
    assert_true(solve(arena, problem, &(SolveOptions){.seconds = 10}, &answer, &err));
    assert_true(answer.proven);
    if (answer.outcome == SOLVE_INFEASIBLE) {
        buf_puts(out, answer.why);
        return;
    }
    buf_printf(out, "%g:", answer.objective);
    for (int n = 0; n < problem->n_nodes; n++)
        buf_printf(out, " %d", answer.choice[n]);
}

static void files_are_read(void **state)
{
    const Row *row = *state;
    Arena *arena = arena_new();
    Error err = {0};
    Source source = {"problem.json", str_from(row->text)};
    SolveProblem problem;
    Json *root = json_parse(&source, &err);
    Buf out = buf_new(arena);
    assert_non_null(root);
    if (solve_problem_read(arena, root, &problem, &err))
        answer_text(arena, &problem, &out);
    else
        buf_puts(&out, err.text);
    json_free(root);
    assert_string_equal(out.s, row->want);
    arena_free(arena);
}

/* ---- classes of an edge ---- */

/* The least costs of both ends, by classes, are those over all pairs; equal rows and columns are
 * one class. */
static void classes_cost_what_values_cost(void **state)
{
    (void)state;
    enum { ROWS = 9, COLUMNS = 7, DISTINCT = 3 };
    Random random = {7};
    for (int time = 0; time < TIMES; time++) {
        Arena *arena = arena_new();
        double cost[ROWS * COLUMNS], kind[DISTINCT * DISTINCT], less[ROWS], least[ROWS], room[16];
        for (int i = 0; i < DISTINCT * DISTINCT; i++)
            kind[i] = between(&random, 0, 9) ? (double)between(&random, 0, 99) : INFINITY;
        for (int x = 0; x < ROWS; x++)
            for (int y = 0; y < COLUMNS; y++)
                cost[x * COLUMNS + y] = kind[x % DISTINCT * DISTINCT + y * y % DISTINCT];
        EdgeClasses classes = edge_classes(arena, cost, ROWS, COLUMNS);
        assert_true(classes.n_a <= DISTINCT && classes.n_b <= DISTINCT - 1);
        for (int of_a = 0; of_a < 2; of_a++) {
            int n_x = of_a ? ROWS : COLUMNS, n_y = of_a ? COLUMNS : ROWS;
            for (int y = 0; y < n_y; y++)
                less[y] = between(&random, 0, 9);
            edge_classes_least(&classes, of_a, n_x, n_y, less, room, least);
            for (int x = 0; x < n_x; x++) {
                double want = INFINITY;
                for (int y = 0; y < n_y; y++)
                    want = fmin(want, cost[of_a ? x * COLUMNS + y : y * COLUMNS + x] - less[y]);
                assert_true(want == least[x]);
            }
        }
        arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_cost_what_values_cost),
        cmocka_unit_test(long_chains_are_solved),
        cmocka_unit_test(a_stop_leaves_the_best_so_far_and_a_bound),
        cmocka_unit_test(a_limit_that_cannot_be_met_is_named),
    };
    return run_rows("files", rows, files_are_read) +
           run_rows("random", kinds, is_the_least_of_all_choices) +
           run_rows("left", kinds, leaves_what_may_cost_less) +
           run_rows("stopped", kinds, holds_wherever_it_is_stopped) +
           cmocka_run_group_tests_name("solve", tests, NULL, NULL);
}
