/* fuzz_solve.c - any bytes as a problem of choices, gzipped or not: an error, or an answer that
 * keeps its word. */
#include "core/base/zip.h"
#include "core/solve/points.h"
#include "core/solve/read.h"
#include "core/solve/solve.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static void check(Arena *arena, const SolveProblem *problem)
{
    SolveAnswer answer;
    Error err = {0};
    bool solved = solve(arena, problem, &(SolveOptions){.seconds = 0.2}, &answer, &err);
    assert(solved);
    assert((answer.outcome == SOLVE_INFEASIBLE) == (answer.why != NULL));
    if (answer.outcome != SOLVE_CHOICE)
        return;
    SolvePoints points = solve_points(arena, problem);
    double *left = arena_array(arena, double, (size_t)points.n + 1);
    for (int32_t n = 0; n < problem->n_nodes; n++)
        assert(0 <= answer.choice[n] && answer.choice[n] < problem->n_choices[n]);
    solve_points_left(&points, problem, answer.choice, left);
    assert(solve_points_fit(&points, left));
    assert(answer.objective == solve_cost(problem, answer.choice));
    assert(answer.bound <= answer.objective * (1 + 1e-9));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    Arena *arena = arena_new();
    Source source = {"problem.json", {(const char *)bytes, n_bytes}};
    Error err = {0};
    SolveProblem problem;
    bool whole = !gzip_is(source.text) || gzip_read(arena, &source, &source.text, &err);
    Json *root = whole ? json_parse(&source, &err) : NULL;
    bool read = root && solve_problem_read(arena, root, &problem, &err);
    json_free(root);
    assert(read != error_is_set(&err));
    if (read)
        check(arena, &problem);
    arena_free(arena);
    return 0;
}
