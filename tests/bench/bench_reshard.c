/* Reshards: how long a search takes, and what it finds beside what others do.
 *
 * Random pairs, whole axes on random dims, some partial, on meshes of two to four axes of h100x8
 * hosts. Times are of this thread's processor, so that a busy machine adds little. Torch's greedy
 * planner is priced on the same machine (compare.h); Shardy's own sequences are those of
 * the conformance facts, under the cost model of their verb, at both sizes.
 */
#include "tests/unit/shipped_machine.h"
#include "tests/bench/bench.h"

#include "core/base/file.h"
#include "core/peers/shardy/tables.h"
#include "core/reshard/compare.h"
#include "core/peers/shardy/tensor_sharding.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* The planners in their order: ours, then those of core/peers/torch/planners.c. */
typedef enum {
    PLANNED_TORCH_GREEDY = PLANNED_OURS + 1,
    PLANNED_TORCH_GRAPH,
    PLANNED_VESCALE,
    PLANNED_BY_COUNT
} PlannedBy;

enum { PAIRS = 300, MESHES = 6, COMPARED = 60 };

static const struct {
    const char *text;
    int n_axes;
} meshes[MESHES] = {
    {"dp=2,tp=4", 2},      {"dp=4,tp=8", 2},           {"dp=2,cp=2,tp=2", 3},
    {"dp=2,cp=2,tp=4", 3}, {"pp=2,dp=2,cp=2,tp=2", 4}, {"pp=2,dp=2,cp=2,tp=4", 4},
};

typedef struct {
    int n;
    double ns[MESHES * PAIRS];
} Times;

/* Of ratios: how many, how often below 1, the product and the largest. */
typedef struct {
    int n, n_below;
    double log_sum, worst;
} Ratios;

static double thread_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void figure_times(const char *name, Times *times)
{
    char text[64];
    qsort(times->ns, (size_t)times->n, sizeof *times->ns, compare_numbers);
    snprintf(text, sizeof text, "%s.median", name);
    figure(text, times->ns[times->n / 2] / 1e3, "us");
    snprintf(text, sizeof text, "%s.p99", name);
    figure(text, times->ns[times->n * 99 / 100] / 1e3, "us");
}

static void add_ratio(Ratios *ratios, double theirs, double ours)
{
    if (!(ours > 0) || !isfinite(theirs))
        return;
    double ratio = theirs / ours;
    ratios->n++;
    ratios->n_below += ratio < 1 - 1e-9;
    ratios->log_sum += log(ratio);
    ratios->worst = ratio > ratios->worst ? ratio : ratios->worst;
}

static void figure_ratios(const char *name, const Ratios *ratios)
{
    char text[64];
    figure(name, 100 * exp(ratios->log_sum / (ratios->n > 0 ? ratios->n : 1)), "% of ours");
    snprintf(text, sizeof text, "%s.worst", name);
    figure(text, 100 * ratios->worst, "% of ours");
    snprintf(text, sizeof text, "%s.cheaper", name);
    figure(text, ratios->n_below, "cases");
}

/* ---- random pairs ---- */

typedef struct {
    Arena *arena;
    const Mesh *mesh;
    Machine machine;
    Shardings *shardings;
    Resharder *resharder;
    Shape shape;
    int32_t from[PAIRS], to[PAIRS];
} World;

static uint32_t seed = 3;

static int pick(int n)
{
    seed = seed * 1664525u + 1013904223u;
    return (int)((seed >> 8) % (uint32_t)n);
}

static int32_t random_sharding(World *w, bool partial)
{
    Sharding sharding = sharding_whole(&w->shape);
    for (int i = 0; i < w->mesh->n_axes; i++) {
        int where = pick((int)w->shape.n_dims + (partial ? 2 : 1));
        for (int k = 0; k < w->mesh->axes[i].n_atoms; k++) {
            int a = w->mesh->axes[i].atom + k;
            if (where > w->shape.n_dims)
                sharding.partial[a] = REDUCE_SUM;
            if (where >= w->shape.n_dims)
                continue;
            Digit *digit = &sharding.dim[where].digit[0];
            digit->atom[digit->n++] = (uint8_t)a;
        }
    }
    for (int d = 0; d < sharding.n_dims; d++)
        cut_canonical(&sharding.dim[d], w->mesh);
    return shardings_put(w->shardings, &sharding);
}

static World *world(const char *mesh)
{
    Arena *arena = arena_new();
    World *w = arena_make(arena, World);
    Error err = {0};
    w->arena = arena;
    w->mesh = mesh_of(arena, mesh);
    must(shipped_machine(arena, "h100x8", &w->machine, &err), &err);
    w->shardings = shardings_new(arena);
    w->resharder = resharder_new(arena, w->mesh, &w->machine, w->shardings);
    w->shape = (Shape){.n_dims = 3, .dim = {64, 4096, 8192}};
    for (int i = 0; i < PAIRS; i++) {
        w->from[i] = random_sharding(w, true);
        w->to[i] = random_sharding(w, false);
    }
    return w;
}

static void time_new(World *w, Times *all, Times *axes)
{
    for (int i = 0; i < PAIRS; i++) {
        double start = thread_ns();
        reshard(w->resharder, DT_BF16, w->from[i], w->to[i]);
        double ns = thread_ns() - start;
        all->ns[all->n++] = ns;
        axes->ns[axes->n++] = ns;
    }
}

static double seen_ns(World *w)
{
    enum { ROUNDS = 200 };
    int n_steps = 0;
    double start = thread_ns();
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < PAIRS; i++)
            n_steps += reshard(w->resharder, DT_BF16, w->from[i], w->to[i])->n_steps;
    must(n_steps > 0, &(Error){.text = "no reshard has a step"});
    return (thread_ns() - start) / ROUNDS / PAIRS;
}

static void compare_torch(World *w, Ratios *greedy, int *n_proven)
{
    for (int i = 0; i < PAIRS; i++)
        *n_proven += reshard(w->resharder, DT_BF16, w->from[i], w->to[i])->proven;
    for (int i = 0; i < COMPARED; i++) {
        ReshardQuestion question = {.mesh = w->mesh,
                                    .machine = &w->machine,
                                    .shardings = w->shardings,
                                    .resharder = w->resharder,
                                    .shape = &w->shape,
                                    .dtype = DT_BF16,
                                    .from = w->from[i],
                                    .to = w->to[i]};
        PlannedReshard out[PLANNED_MAX];
        Error err = {0};
        must(reshard_compare(w->arena, &question, out, &err), &err);
        if (!out[PLANNED_TORCH_GREEDY].why_not)
            add_ratio(greedy, out[PLANNED_TORCH_GREEDY].us, out[PLANNED_OURS].us);
    }
}

static void bench_pairs(void)
{
    static Times all, axes[5];
    Ratios greedy = {0};
    int n_proven = 0;
    double seen = 0;
    for (int m = 0; m < MESHES; m++) {
        World *w = world(meshes[m].text);
        time_new(w, &all, &axes[meshes[m].n_axes]);
        double ns = seen_ns(w);
        seen = m == 0 || ns < seen ? ns : seen;
        compare_torch(w, &greedy, &n_proven);
        arena_free(w->arena);
    }
    figure("reshard.seen", seen, "ns");
    figure_times("reshard.new", &all);
    figure_times("reshard.new.2axes", &axes[2]);
    figure_times("reshard.new.3axes", &axes[3]);
    figure_times("reshard.new.4axes", &axes[4]);
    figure("reshard.proven", 100.0 * n_proven / (MESHES * PAIRS), "%");
    figure_ratios("reshard.torch_greedy", &greedy);
}

/* ---- Shardy's sequences ---- */

/* Parts of each dim, and over all axes it is partial over. */
typedef struct {
    int64_t parts[DIMS_MAX], partial;
    double bytes;
} Spread;

static Spread spread_of(const Json *request, const Mesh *mesh, const Json *sharding)
{
    TensorSharding read;
    Error err = {0};
    const Json *shape = json_get(request, "shape");
    must(tensor_sharding_from_json(mesh, json_size(shape), sharding, &read, &err), &err);
    Spread out = {.partial = axis_list_size(&read.unreduced)};
    out.bytes = json_real(json_get(request, "bytes"), 0);
    for (int d = 0; d < json_size(shape); d++) {
        int64_t size = json_int(json_at(shape, d), 1);
        out.parts[d] = axis_list_size(&read.dim[d].axes);
        out.bytes *= (double)((size + out.parts[d] - 1) / out.parts[d]) / (double)size;
    }
    return out;
}

/* The formulas of eval_reshard.h. */
static double step_us(const Json *request, Str kind, const Spread *before, const Spread *after)
{
    const Json *model = json_get(request, "cost_model");
    double alpha = json_real(json_get(model, "alpha_us"), 0);
    double byte = 1e-3 / json_real(json_get(model, "gb_per_s"), 1);
    double n = (double)before->partial / (double)after->partial, bytes = before->bytes;
    if (str_eq(kind, STR("slice")))
        return 0;
    if (str_eq(kind, STR("permute")))
        return alpha + bytes * byte;
    for (int d = 0; d < json_size(json_get(request, "shape")); d++)
        if (before->parts[d] > after->parts[d])
            n *= (double)before->parts[d] / (double)after->parts[d];
    if (str_eq(kind, STR("all_gather")))
        bytes = after->bytes;
    double us = ceil(log2(n) - 1e-9) * alpha + (n - 1) / n * bytes * byte;
    return str_eq(kind, STR("all_reduce")) ? 2 * us : us;
}

static double reference_us(Arena *arena, const Json *request)
{
    const Json *mesh_json = json_get(request, "mesh"), *meshes_json = json_get(request, "meshes");
    if (!mesh_json)
        mesh_json = json_get(meshes_json, json_key_at(meshes_json, 0));
    Error err = {0};
    const Mesh *mesh = mesh_from_json(arena, mesh_json, &err);
    must(mesh != NULL, &err);
    const Json *steps = json_get(json_get(request, "expect"), "reference");
    Spread before = spread_of(request, mesh, json_get(request, "from"));
    double us = 0;
    for (int i = 0; i < json_size(steps); i++) {
        const Json *step = json_at(steps, i);
        Spread after = spread_of(request, mesh, json_get(step, "to"));
        us += step_us(request, json_str(json_get(step, "kind"), ""), &before, &after);
        before = after;
    }
    return us;
}

static void bench_shardy(void)
{
    Arena *arena = arena_new();
    Ratios ratios = {0};
    Error err = {0};
    Source facts;
    must(file_read(arena, "tests/conformance/reshard_collectives.jsonl", 1 << 20, &facts, &err),
         &err);
    Str text = facts.text;
    while (text.n > 0) {
        int64_t end = str_find(text, STR("\n"));
        size_t n = end < 0 ? text.n : (size_t)end;
        Source source = {.name = "fact", .text = {text.s, n}};
        text = (Str){text.s + n + (end >= 0), text.n - n - (end >= 0)};
        Json *request = json_parse(&source, &err), *answer = json_object();
        must(request != NULL && eval_reshard("reshard.collectives", arena, request, answer, &err),
             &err);
        add_ratio(&ratios, reference_us(arena, request), json_real(json_get(answer, "us"), 0));
        json_free(request);
        json_free(answer);
    }
    figure_ratios("reshard.shardy", &ratios);
    arena_free(arena);
}

void bench_reshard(void)
{
    bench_pairs();
    bench_shardy();
}
