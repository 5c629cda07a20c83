/* bench_run.c - what a run takes: a chain of products on one rank beside BLAS's own time for them,
 * and on as many ranks as there are cores, each with its rows.
 *
 * The floor is cblas_sgemm() on the same sizes, alone, in this process. A rank also draws no
 * weights here: a pass begins when they are loaded. Ranks are threads: share of the floor is
 *
 *     run.matmul.share = floor / pass on 1 rank
 *     run.matmul.scaling = pass on 1 rank / (pass on R ranks * R), R = cores, at most 8
 */
#include "core/run/run.h"
#include "scripts/hooks.h"
#include "tests/bench/bench.h"

#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SIZE = 1024, PRODUCTS = 8, PASSES = 7, RANKS_MOST = 8 };

static const char *const model_file = "build/bench_run.lua";

static void write_model(void)
{
    FILE *file = fopen(model_file, "w");
    must(file != NULL, &(Error){.text = "no room for a model file"});
    fprintf(file,
            "function MODEL(model)\n"
            "  local x = model:input('x', 'f32', {%d, %d})\n"
            "  for i = 1, %d do\n"
            "    x = model:op('MatMul', {x, model:param('w' .. i, {%d, %d}, 'f32')})\n"
            "  end\n"
            "  model:output(x, 'y')\n"
            "end\n"
            "function PAS(graph)\n"
            "  graph:shard('x', {[0] = 'dp'})\n"
            "  return graph\n"
            "end\n",
            SIZE, SIZE, PRODUCTS, SIZE, SIZE);
    fclose(file);
}

static double floor_us(void)
{
    size_t n = (size_t)SIZE * SIZE;
    float *x = calloc(n, sizeof *x), *w = calloc(n, sizeof *w), *y = calloc(n, sizeof *y);
    must(x && w && y, &(Error){.text = "no memory for a product"});
    for (size_t i = 0; i < n; i++)
        x[i] = w[i] = (float)(i % 7) / 7;
    double ns = 0;
    for (int pass = 0; pass < PASSES; pass++) {
        double start = now_ns();
        for (int i = 0; i < PRODUCTS; i++)
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SIZE, SIZE, SIZE, 1, x, SIZE, w,
                        SIZE, 0, y, SIZE);
        ns = least(ns, now_ns() - start);
    }
    free(x);
    free(w);
    free(y);
    return ns / 1e3;
}

static double pass_us(int n_ranks)
{
    char mesh[32];
    snprintf(mesh, sizeof mesh, "dp=%d", n_ranks);
    Arena *arena = arena_new();
    Scripts *scripts = scripts_new(arena, ".");
    SessionHooks hooks = scripts_hooks(scripts);
    SessionOptions options = {.model = model_file, .mesh = mesh, .policy = model_file};
    RunOptions run = {.repeat = PASSES};
    RunReport report;
    Error err = {0};
    Session *session = session_open(&options, &hooks, &err);
    must(session != NULL, &err);
    must(run_plan(arena, session->plan, &run, &report, &err), &err);
    session_close(session);
    scripts_free(scripts);
    arena_free(arena);
    return report.median_us;
}

void bench_run(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int n_ranks = cores > RANKS_MOST ? RANKS_MOST : (int)cores;
    write_model();
    double least_us = floor_us(), one_us = pass_us(1), many_us = pass_us(n_ranks);
    figure("run.matmul.floor", least_us, "us");
    figure("run.matmul", one_us, "us");
    figure("run.matmul.share", least_us / one_us * 100, "%");
    figure("run.matmul.ranks", n_ranks, "ranks");
    figure("run.matmul.scaling", one_us / (many_us * n_ranks) * 100, "%");
    remove(model_file);
}
