/* bench_run.c - what a run takes: a chain of products on one rank beside BLAS's own time for them,
 * and on as many ranks as there are cores, each with its rows; and a training step of products as
 * layers have them, its backward pass beside its forward pass.
 *
 * The floor is cblas_sgemm() on the same sizes, alone, in this process. A rank also draws no
 * weights here: a pass begins when they are loaded. Ranks are threads: share of the floor is
 *
 *     run.matmul.share = floor / pass on 1 rank
 *     run.matmul.scaling = pass on 1 rank / (pass on R ranks * R), R = cores, at most 8
 *     run.backward.share = FLOP/s of products' gradients / FLOP/s of the products
 *     run.backward.least = the same of the slowest kind of gradient, as Gemm~d1
 */
#include "core/cost/cost.h"
#include "core/run/run.h"
#include "scripts/hooks.h"
#include "tests/bench/bench.h"

#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* ---- the backward pass ---- */

static const char *const step_file = "build/bench_run_step.lua";

/* Products of [batch, sequence, width], and Gemms with a bias and a weight as a Linear has it. */
static void write_step_model(void)
{
    FILE *file = fopen(step_file, "w");
    must(file != NULL, &(Error){.text = "no room for a model file"});
    fprintf(file,
            "function MODEL(model)\n"
            "  local function weight(name) return model:param(name, {%d, %d}, 'f32') end\n"
            "  local x = model:input('x', 'f32', {4, %d, %d})\n"
            "  for i = 1, 3 do x = model:op('MatMul', {x, weight('w' .. i)}) end\n"
            "  x = model:op('Reshape', {x, model:constant('shape', 'i64', {2}, {%d, %d})})\n"
            "  for i = 0, 1 do\n"
            "    local bias = model:param('b' .. i, {%d}, 'f32')\n"
            "    x = model:op('Gemm', {x, weight('g' .. i), bias}, {transB = i})\n"
            "  end\n"
            "  model:output(x, 'y')\n"
            "end\n",
            SIZE, SIZE, SIZE / 4, SIZE, SIZE, SIZE, SIZE);
    fclose(file);
}

typedef struct {
    const char *name; /* "Gemm~d1" */
    double flops, us;
} Rate;

enum { KINDS_MOST = 16 };

static void add_to(Rate *rate, double flops, double us)
{
    rate->flops += flops;
    rate->us += us;
}

static double flops_per_us(const Rate *rate)
{
    return rate->flops / rate->us;
}

static Rate *kind_of(Rate *kinds, int *n, const char *name)
{
    for (int i = 0; i < *n; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    must(*n < KINDS_MOST, &(Error){.text = "too many kinds of gradients"});
    kinds[*n] = (Rate){.name = name};
    return &kinds[(*n)++];
}

static bool is_product(const Graph *graph, int32_t op)
{
    return strcmp(op_operator(graph, op), "MatMul") == 0 ||
           strcmp(op_operator(graph, op), "Gemm") == 0;
}

/* The gradient of a bias is a sum, of fewer operations than a product has. */
static void compare_passes(const Plan *plan, const double *op_us)
{
    const Graph *graph = plan->inferred->graph;
    Rate forward = {"forward", 0, 0}, backward = {"backward", 0, 0}, kinds[KINDS_MOST];
    int n_kinds = 0;
    for (int32_t op = 0; op < graph->n_ops; op++) {
        bool back = graph->phase[op] != PHASE_FORWARD;
        int32_t of = back ? graph->of[op] : op;
        double flops = op_flops_local(plan, op);
        if (of < 0 || flops < 2.0 * SIZE * SIZE * SIZE || !is_product(graph, of))
            continue;
        Rate *pass = back ? &backward : &forward;
        add_to(pass, flops, op_us[op]);
        if (back)
            add_to(kind_of(kinds, &n_kinds, op_operator(graph, op)), flops, op_us[op]);
    }
    must(forward.us > 0 && backward.flops > 1.5 * forward.flops,
         &(Error){.text = "the products of the step were not found"});
    const Rate *slowest = &kinds[0];
    for (int i = 1; i < n_kinds; i++)
        if (flops_per_us(&kinds[i]) < flops_per_us(slowest))
            slowest = &kinds[i];
    figure("run.backward.share", flops_per_us(&backward) / flops_per_us(&forward) * 100, "%");
    figure("run.backward.least", flops_per_us(slowest) / flops_per_us(&forward) * 100, "%");
}

static void bench_backward(void)
{
    Arena *arena = arena_new();
    Scripts *scripts = scripts_new(arena, ".");
    SessionHooks hooks = scripts_hooks(scripts);
    SessionOptions options = {.model = step_file, .mesh = "dp=1", .train = "sgd"};
    RunOptions run = {.steps = PASSES};
    RunReport report;
    Error err = {0};
    write_step_model();
    Session *session = session_open(&options, &hooks, &err);
    must(session != NULL, &err);
    must(run_plan(arena, session->plan, &run, &report, &err), &err);
    compare_passes(session->plan, report.op_us);
    session_close(session);
    scripts_free(scripts);
    arena_free(arena);
    remove(step_file);
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
    bench_backward();
}
