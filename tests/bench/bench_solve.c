/* The solver: Alpa's own problems, from the graph to the proof; and files of the IOPDDL contest,
 * which are too large to lie here: bench --solve SECONDS FILE.. */
#include "tests/bench/bench.h"

#include "core/base/file.h"
#include "core/peers/alpa/eval_plan.h"
#include "core/solve/read.h"
#include "core/solve/solve.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

enum { REPEATS_OF_A_FACT = 5 };

/* Of this thread's processor, so that a busy machine adds little. */
static double thread_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

typedef struct {
    int n, n_proven;
    double sum_ns, worst_ns, log_ratio;
} SolveFigures;

static void solve_fact(const Json *request, SolveFigures *figures)
{
    double ns = 0;
    for (int i = 0; i < REPEATS_OF_A_FACT; i++) {
        Arena *arena = arena_new();
        Json *answer = json_object();
        Error err = {0};
        double start = thread_ns();
        must(eval_plan_solve("plan.solve", arena, request, answer, &err), &err);
        ns = least(ns, thread_ns() - start);
        if (i == 0) {
            double theirs = json_real(json_get(json_get(request, "expect"), "objective"), 0);
            figures->log_ratio += log(json_real(json_get(answer, "objective"), 0) / theirs);
            figures->n_proven += json_bool(json_get(answer, "proven"), false);
        }
        json_free(answer);
        arena_free(arena);
    }
    figures->n++;
    figures->sum_ns += ns;
    figures->worst_ns = fmax(figures->worst_ns, ns);
}

void bench_solve(void)
{
    Arena *arena = arena_new();
    Error err = {0};
    Source facts;
    SolveFigures figures = {0};
    must(file_read(arena, "tests/conformance/plan.jsonl", 1 << 20, &facts, &err), &err);
    for (Str text = facts.text; text.n > 0;) {
        Source source = {.name = "fact", .text = str_take(&text, '\n')};
        Json *request = json_parse(&source, &err);
        must(request != NULL, &err);
        solve_fact(request, &figures);
        json_free(request);
    }
    figure("solve.alpa", figures.n, "problems");
    figure("solve.alpa.proven", figures.n_proven, "problems");
    figure("solve.alpa.ratio", exp(figures.log_ratio / figures.n), "x");
    figure("solve.alpa.mean", figures.sum_ns / figures.n / 1e6, "ms");
    figure("solve.alpa.worst", figures.worst_ns / 1e6, "ms");
    arena_free(arena);
}

/* A line "FILE COST BOUND proven|open SECONDS". */
void bench_solve_files(double seconds, int n, char **files)
{
    for (int i = 0; i < n; i++) {
        Arena *arena = arena_new();
        Error err = {0};
        FileMap map;
        SolveProblem problem;
        SolveAnswer answer;
        must(file_map(files[i], &map, &err), &err);
        Source source = {files[i], map.text};
        Json *root = json_parse(&source, &err);
        must(root && solve_problem_read(arena, root, &problem, &err), &err);
        json_free(root);
        file_unmap(&map);
        double start = now_ns();
        must(solve(arena, &problem, &(SolveOptions){.seconds = seconds}, &answer, &err), &err);
        printf("%s\t%.15g\t%.15g\t%s\t%.1f\n", path_base(files[i]), answer.objective, answer.bound,
               answer.proven ? "proven" : "open", (now_ns() - start) / 1e9);
        fflush(stdout);
        arena_free(arena);
    }
}
