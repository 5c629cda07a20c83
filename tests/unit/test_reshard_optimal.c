/* Reshards against exhaustive search: every layout of a small tensor on a mesh of up to four axes,
 * every legal step between any two of them, Dijkstra over all. What reshard() finds must cost as
 * much, under machines that weigh latency and bytes differently; its bound never more. Kinds,
 * groups, payloads and chunks are worked out here anew, from the table of space.h. */
#include "tests/unit/shipped_machine.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#include "core/reshard/reshard.h"

#include <math.h>
#include <stdlib.h>

enum { LAYOUTS_MAX = 1200, LISTED_MAX = 5 };

/* dim[a]: where the atom cuts (-1 nowhere, PARTIAL) and place[a] in the list of the dim. */
enum { NOWHERE = -1, PARTIAL = -2 };

typedef struct {
    int dim[LISTED_MAX], n[DIMS_MAX], list[DIMS_MAX][LISTED_MAX];
    double bytes;
} Plain;

typedef struct {
    StepKind kind;
    bool legal;
    AtomSet atoms;
    double us;
} Edge;

typedef struct {
    Arena *arena;
    const Mesh *mesh;
    Machine machine;
    Shardings *shardings;
    Pricer *pricer;
    Shape shape;
    int n_layouts;
    Plain layout[LAYOUTS_MAX];
    Edge *edge; /* n_layouts squared */
} World;

/* ---- every layout ---- */

/* Chunks are nested, one atom after the other: the meshes here have axes of one prime each, or
 * divide what they cut. */
static double plain_bytes(const World *w, const Plain *plain)
{
    int64_t elements = 1;
    for (int d = 0; d < w->shape.n_dims; d++) {
        int64_t size = w->shape.dim[d];
        for (int i = 0; i < plain->n[d]; i++) {
            int64_t parts = w->mesh->atoms[plain->list[d][i]].size;
            size = (size + parts - 1) / parts;
        }
        elements *= size;
    }
    return (double)(4 * elements);
}

static void every_layout(World *w, Plain *at, int a)
{
    if (a == w->mesh->n_atoms) {
        assert_true(w->n_layouts < LAYOUTS_MAX);
        at->bytes = plain_bytes(w, at);
        w->layout[w->n_layouts++] = *at;
        return;
    }
    at->dim[a] = NOWHERE;
    every_layout(w, at, a + 1);
    at->dim[a] = PARTIAL;
    every_layout(w, at, a + 1);
    for (int d = 0; d < w->shape.n_dims; d++)
        for (int i = 0; i <= at->n[d]; i++) {
            Plain next = *at;
            next.dim[a] = d;
            memmove(&next.list[d][i + 1], &next.list[d][i], sizeof(int) * (size_t)(next.n[d] - i));
            next.list[d][i] = a;
            next.n[d]++;
            every_layout(w, &next, a + 1);
        }
    at->dim[a] = NOWHERE;
}

/* ---- every step ---- */

static int common(const Plain *a, const Plain *b, int d)
{
    int k = 0;
    while (k < a->n[d] && k < b->n[d] && a->list[d][k] == b->list[d][k])
        k++;
    return k;
}

static AtomSet tail(const Plain *plain, int d, int k)
{
    AtomSet set = 0;
    for (int i = k; i < plain->n[d]; i++)
        set |= (AtomSet)1 << plain->list[d][i];
    return set;
}

static AtomSet partials(const World *w, const Plain *plain)
{
    AtomSet set = 0;
    for (int a = 0; a < w->mesh->n_atoms; a++)
        if (plain->dim[a] == PARTIAL)
            set |= (AtomSet)1 << a;
    return set;
}

static int64_t parts_before(const World *w, const Plain *plain, int d, int n)
{
    int64_t parts = 1;
    for (int i = 0; i < n; i++)
        parts *= w->mesh->atoms[plain->list[d][i]].size;
    return parts;
}

/* The same chunks: as many parts, and where they are uneven, in the same order of sizes. */
static bool same_chunks(const World *w, const Plain *a, const Plain *b, int d)
{
    int64_t parts = parts_before(w, a, d, a->n[d]);
    if (parts != parts_before(w, b, d, b->n[d]))
        return false;
    bool same = a->n[d] == b->n[d];
    for (int i = 0; same && i < a->n[d]; i++)
        same = w->mesh->atoms[a->list[d][i]].size == w->mesh->atoms[b->list[d][i]].size;
    return same || w->shape.dim[d] % parts == 0;
}

static AtomSet changed_places(const World *w, const Plain *a, const Plain *b)
{
    AtomSet all = 0, same = 0;
    for (int d = 0; d < w->shape.n_dims; d++) {
        all |= tail(a, d, 0) | tail(b, d, 0);
        for (int i = 0; i < a->n[d]; i++)
            for (int k = 0; k < b->n[d]; k++)
                if (a->list[d][i] == b->list[d][k] &&
                    parts_before(w, a, d, i) == parts_before(w, b, d, k))
                    same |= (AtomSet)1 << a->list[d][i];
    }
    return all & ~same;
}

static Edge edge_between(const World *w, const Plain *a, const Plain *b)
{
    AtomSet gone = 0, came = 0, before = partials(w, a), after = partials(w, b);
    bool exchange = false, chunks = true;
    for (int d = 0; d < w->shape.n_dims; d++) {
        int k = common(a, b, d);
        gone |= tail(a, d, k);
        came |= tail(b, d, k);
        exchange |= k < a->n[d] && k < b->n[d];
        chunks &= same_chunks(w, a, b, d);
    }
    if (before != after) {
        AtomSet summed = before & ~after;
        if (after & ~before || gone || (came && came != summed))
            return (Edge){.legal = false};
        return (Edge){came ? STEP_REDUCE_SCATTER : STEP_ALL_REDUCE, true, summed, 0};
    }
    if (!gone && !exchange)
        return (Edge){STEP_SLICE, true, 0, 0};
    if (!came)
        return (Edge){STEP_ALL_GATHER, true, gone, 0};
    if (!exchange && gone == came)
        return (Edge){STEP_ALL_TO_ALL, true, gone, 0};
    return (Edge){STEP_PERMUTE, chunks, chunks ? changed_places(w, a, b) : 0, 0};
}

static void every_step(World *w)
{
    w->edge = arena_array(w->arena, Edge, w->n_layouts * w->n_layouts);
    for (int i = 0; i < w->n_layouts; i++)
        for (int k = 0; k < w->n_layouts; k++) {
            Edge edge = edge_between(w, &w->layout[i], &w->layout[k]);
            const Plain *held = &w->layout[edge.kind == STEP_ALL_GATHER ? k : i];
            if (edge.legal && edge.kind != STEP_SLICE)
                edge.us = pricer_step(w->pricer, edge.kind, edge.atoms, (int64_t)held->bytes).us;
            w->edge[i * w->n_layouts + k] = edge;
        }
}

/* ---- the cheapest of all ---- */

static bool behind(const Plain *plain, int a)
{
    int d = plain->dim[a];
    if (d < 0 || plain->dim[a - 1] != d)
        return d < 0 && plain->dim[a - 1] == d;
    for (int i = 1; i < plain->n[d]; i++)
        if (plain->list[d][i] == a)
            return plain->list[d][i - 1] == a - 1;
    return false;
}

/* Axes that neither end takes apart, as atoms: gathered and reduced in one piece. */
static void find_whole(const World *w, const Plain *from, const Plain *to, AtomSet *whole)
{
    for (int a = 0, first = 0; a < w->mesh->n_atoms; a++) {
        bool joined = a > 0 && w->mesh->atoms[a].axis == w->mesh->atoms[a - 1].axis &&
                      behind(from, a) && behind(to, a);
        first = joined ? first : a;
        for (int b = first; b <= a; b++)
            whole[b] = (((AtomSet)1 << (a - first + 1)) - 1) << first;
    }
}

static bool in_one_piece(const World *w, const Plain *at, const Edge *edge, const AtomSet *whole)
{
    AtomSet there = 0;
    for (int a = 0; a < w->mesh->n_atoms; a++) {
        bool cuts = at->dim[a] >= 0, gathers = edge->kind == STEP_ALL_GATHER;
        if (gathers ? cuts : at->dim[a] == PARTIAL)
            there |= (AtomSet)1 << a;
    }
    if (edge->kind != STEP_ALL_GATHER && edge->kind != STEP_ALL_REDUCE &&
        edge->kind != STEP_REDUCE_SCATTER)
        return true;
    for (int a = 0; a < w->mesh->n_atoms; a++)
        if (edge->atoms >> a & 1 && whole[a] & there & ~edge->atoms)
            return false;
    return true;
}

/* avoid: kinds and groups of a path; a way is then counted by how far it is the same. */
static double cheapest(const World *w, int from, int to, double limit, const ReshardPath *avoid)
{
    AtomSet whole[LISTED_MAX];
    find_whole(w, &w->layout[from], &w->layout[to], whole);
    const Step *step[16];
    int n_avoid = 0, n = w->n_layouts;
    for (int i = 0; avoid && i < avoid->n_steps; i++)
        if (avoid->step[i].kind != STEP_SLICE)
            step[n_avoid++] = &avoid->step[i];
    int n_levels = avoid ? n_avoid + 2 : 1; /* the last level: it differs */
    double *us = malloc(sizeof *us * (size_t)(n * n_levels));
    bool *done = calloc((size_t)(n * n_levels), sizeof *done);
    for (int i = 0; i < n * n_levels; i++)
        us[i] = INFINITY;
    us[from] = 0;
    double found = INFINITY;
    for (;;) {
        int best = -1;
        for (int i = 0; i < n * n_levels; i++)
            if (!done[i] && us[i] < INFINITY && (best < 0 || us[i] < us[best]))
                best = i;
        if (best < 0)
            break;
        done[best] = true;
        int at = best % n, level = best / n;
        if (at == to && (!avoid || level != n_avoid)) {
            found = us[best];
            break;
        }
        for (int k = 0; k < n; k++) {
            const Edge *edge = &w->edge[at * n + k];
            if (!edge->legal || w->layout[k].bytes > limit ||
                !in_one_piece(w, &w->layout[at], edge, whole))
                continue;
            int next = level;
            if (avoid && edge->kind != STEP_SLICE && level <= n_avoid)
                next = level < n_avoid && step[level]->kind == edge->kind &&
                               step[level]->atoms == edge->atoms
                           ? level + 1
                           : n_avoid + 1;
            if (us[best] + edge->us < us[next * n + k])
                us[next * n + k] = us[best] + edge->us;
        }
    }
    free(us);
    free(done);
    return found;
}

/* ---- worlds ---- */

static World *world(const char *mesh, Shape shape, const Machine *machine)
{
    Arena *arena = arena_new();
    World *w = arena_make(arena, World);
    Source source = {.name = "mesh", .text = str_from(mesh)};
    *w = (World){.arena = arena, .mesh = mesh_parse(arena, &source, NULL), .shape = shape};
    w->machine = *machine;
    w->shardings = shardings_new(arena);
    w->pricer = pricer_new(arena, &w->machine, w->mesh);
    Plain none = {0};
    every_layout(w, &none, 0);
    every_step(w);
    return w;
}

static int32_t put(const World *w, const Plain *plain)
{
    Sharding sharding = sharding_whole(&w->shape);
    for (int d = 0; d < w->shape.n_dims; d++) {
        uint8_t atom[LISTED_MAX];
        for (int i = 0; i < plain->n[d]; i++)
            atom[i] = (uint8_t)plain->list[d][i];
        if (plain->n[d] > 0)
            sharding.dim[d] = cut_by(w->shape.dim[d], atom, plain->n[d], w->mesh);
    }
    for (int a = 0; a < w->mesh->n_atoms; a++)
        if (plain->dim[a] == PARTIAL)
            sharding.partial[a] = REDUCE_SUM;
    return shardings_put(w->shardings, &sharding);
}

/* A pair that reshard() may be asked for: nothing becomes partial. */
static void pick_pair(const World *w, int *from, int *to)
{
    do {
        *from = pick(w->n_layouts);
        *to = pick(w->n_layouts);
    } while (partials(w, &w->layout[*to]) & ~partials(w, &w->layout[*from]));
}

static bool same_steps(const ReshardPath *a, const ReshardPath *b)
{
    int i = 0, k = 0;
    for (;;) {
        while (i < a->n_steps && a->step[i].kind == STEP_SLICE)
            i++;
        while (k < b->n_steps && b->step[k].kind == STEP_SLICE)
            k++;
        if (i == a->n_steps || k == b->n_steps)
            return i == a->n_steps && k == b->n_steps;
        if (a->step[i].kind != b->step[k].kind || a->step[i].atoms != b->step[k].atoms)
            return false;
        i++, k++;
    }
}

static const ReshardPath *compare_pair(const World *w, Resharder *resharder, PeakCap cap, int from,
                                       int to)
{
    int32_t a = put(w, &w->layout[from]), b = put(w, &w->layout[to]);
    const ReshardPath *path = reshard(resharder, DT_F32, a, b);
    double limit = fmax(w->layout[from].bytes, w->layout[to].bytes);
    limit = cap == PEAK_FREE ? INFINITY : limit;
    double best = cheapest(w, from, to, limit, NULL);
    assert_true(best == INFINITY ||
                reshard_least_us(resharder, DT_F32, a, b, 0, 1, INFINITY) <= best * (1 + 1e-9));
    if (best == INFINITY) /* uneven, and not within the cap */
        best = cheapest(w, from, to, INFINITY, NULL);
    else
        assert_true((double)path->peak_bytes <= limit);
    if (fabs(path->us - best) > 1e-9 * best)
        fail_msg("%d to %d: %g us, the cheapest is %g us", from, to, path->us, best);
    assert_true(path->bound_us <= best * (1 + 1e-9));
    assert_true(path->proven);
    return path;
}

static Resharder *resharder_under(const World *w, PeakCap cap)
{
    ReshardOptions options = {.cap = cap};
    Resharder *resharder = resharder_new(w->arena, w->mesh, &w->machine, w->shardings);
    resharder_options(resharder, &options);
    return resharder;
}

static void compare(const World *w, PeakCap cap, int n_pairs, int n_runners_up)
{
    Resharder *resharder = resharder_under(w, cap);
    for (int i = 0; i < n_pairs; i++) {
        int from, to;
        pick_pair(w, &from, &to);
        const ReshardPath *path = compare_pair(w, resharder, cap, from, to);
        if (i >= n_runners_up)
            continue;
        int32_t a = put(w, &w->layout[from]), b = put(w, &w->layout[to]);
        const ReshardPath *other = reshard_runner_up(resharder, DT_F32, a, b, 1);
        if (!other)
            continue;
        assert_false(same_steps(path, other));
        double limit = fmax(w->layout[from].bytes, w->layout[to].bytes);
        limit = cap == PEAK_FREE ? INFINITY : limit;
        double next = cheapest(w, from, to, limit, path);
        if (fabs(other->us - next) > 1e-9 * next)
            fail_msg("%d to %d: the next is %g us, not %g us", from, to, next, other->us);
    }
}

/* ---- rows ---- */

typedef struct {
    const char *name, *mesh;
    Shape shape;
    Machine machine;
    PeakCap cap;
    int n_pairs;
} Case;

#define RING(us, rate)                                                                             \
    {                                                                                              \
        .name = "ring", .devices_per_node = 64, .inside = {"in", (us), (rate), 0, 0, 0, 0},        \
        .between = {                                                                               \
            "net",                                                                                 \
            (us),                                                                                  \
            (rate),                                                                                \
            0,                                                                                     \
            0,                                                                                     \
            0,                                                                                     \
            0                                                                                      \
        }                                                                                          \
    }
#define NODES(of)                                                                                  \
    {                                                                                              \
        .name = "nodes", .devices_per_node = (of), .inside = {"in", 2, 4e11, 0, 0, 0, 0},          \
        .between = {                                                                               \
            "net",                                                                                 \
            9,                                                                                     \
            4e10,                                                                                  \
            0,                                                                                     \
            0,                                                                                     \
            0,                                                                                     \
            0                                                                                      \
        }                                                                                          \
    }
#define SHAPE(n, ...)                                                                              \
    {                                                                                              \
        .n_dims = (n), .dim = { __VA_ARGS__ }                                                      \
    }

static Case rows[] = {
    {"latency counts", "a=2,b=2,c=2", SHAPE(2, 64, 64), RING(10, 1e12), PEAK_FREE, 150},
    {"bytes count", "a=2,b=2,c=2", SHAPE(2, 4096, 4096), RING(0.01, 1e9), PEAK_FREE, 150},
    {"both count", "a=2,b=2,c=2", SHAPE(2, 512, 1024), RING(5, 1e11), PEAK_FREE, 150},
    {"under the cap", "a=2,b=2,c=2", SHAPE(2, 512, 1024), RING(5, 1e11), PEAK_ENDS, 150},
    {"three dims", "a=2,b=2,c=2", SHAPE(3, 64, 128, 64), RING(5, 1e11), PEAK_ENDS, 60},
    {"four axes", "a=2,b=2,c=2,d=2", SHAPE(2, 512, 1024), RING(5, 1e11), PEAK_ENDS, 40},
    {"four axes, free", "a=2,b=2,c=2,d=2", SHAPE(2, 4096, 4096), RING(1, 1e11), PEAK_FREE, 40},
    {"other primes", "a=3,b=2,c=2", SHAPE(2, 576, 1152), RING(5, 1e11), PEAK_ENDS, 100},
    {"axes of two parts", "a=4,b=2", SHAPE(2, 512, 1024), RING(5, 1e11), PEAK_ENDS, 150},
    {"axes of two parts, free", "a=4,b=4", SHAPE(2, 4096, 512), RING(2, 1e11), PEAK_FREE, 40},
    {"uneven", "a=3,b=2,c=2", SHAPE(2, 50, 35), RING(0.1, 1e9), PEAK_ENDS, 100},
    {"two nodes", "a=2,b=2,c=2", SHAPE(2, 512, 1024), NODES(4), PEAK_ENDS, 150},
    {"four nodes", "a=2,b=2,c=2,d=2", SHAPE(2, 1024, 1024), NODES(4), PEAK_ENDS, 150},
    {"nodes across", "a=4,b=2", SHAPE(2, 1024, 4096), NODES(2), PEAK_FREE, 100},
};

static void is_the_cheapest_of_all(void **state)
{
    const Case *row = *state;
    World *w = world(row->mesh, row->shape, &row->machine);
    for (uint32_t first = 5; first < 8; first++) {
        seed = first;
        compare(w, row->cap, row->n_pairs, row->n_pairs / 10);
    }
    arena_free(w->arena);
}

static bool cuts_nothing(const World *w, const Plain *plain)
{
    bool cuts = false;
    for (int d = 0; d < w->shape.n_dims; d++)
        cuts |= plain->n[d] > 0;
    return !cuts;
}

/* All sums of a tensor that neither end cuts: the best ways may need each of its dims, to leave
 * atoms there that are gathered one after the other. */
static void sums_use_all_dims(void **state)
{
    (void)state;
    Machine machine = NODES(4);
    World *w = world("a=2,b=2,c=2,d=2", (Shape)SHAPE(2, 4096, 4096), &machine);
    Resharder *resharder = resharder_under(w, PEAK_FREE);
    int n = 0;
    for (int from = 0; from < w->n_layouts; from++)
        for (int to = 0; to < w->n_layouts; to++) {
            const Plain *a = &w->layout[from], *b = &w->layout[to];
            if (!cuts_nothing(w, a) || !cuts_nothing(w, b) || partials(w, b) & ~partials(w, a))
                continue;
            compare_pair(w, resharder, PEAK_FREE, from, to);
            n++;
        }
    assert_int_equal(n, 81);
    arena_free(w->arena);
}

/* NCCL's own numbers, of a shipped machine. */
static void is_the_cheapest_on_h100(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Machine machine;
    assert_true(shipped_machine(arena, "h100x8", &machine, NULL));
    static const char *const meshes[] = {"a=2,b=2,c=2", "a=2,b=2,c=2,d=2"};
    static const Shape shapes[] = {SHAPE(2, 64, 128), SHAPE(2, 8192, 4096)};
    seed = 9;
    for (size_t m = 0; m < COUNT_OF(meshes); m++)
        for (size_t s = 0; s < COUNT_OF(shapes); s++) {
            World *w = world(meshes[m], shapes[s], &machine);
            compare(w, PEAK_ENDS, 40, 4);
            arena_free(w->arena);
        }
    arena_free(arena);
}

/* Paths that a search would give up to prove: bounds are tight where a permute cannot change how
 * many parts a dim has, nor leave out an axis that shards it. */
static void bounds_prove_paths_that_split_no_axis(void **state)
{
    (void)state;
    static const struct {
        Shape shape;
        const char *from, *to;
    } pairs[] = {
        {SHAPE(3, 64, 2048, 4096), "64/dp,2048,4096/tp", "64/dp.tp,2048,4096"},
        {SHAPE(3, 64, 2048, 4096), "64/dp.tp,2048,4096", "64/dp,2048,4096/tp"},
        {SHAPE(2, 2048, 4096), "2048,4096/dp.tp", "2048,4096/tp"},
    };
    Arena *arena = arena_new();
    Machine machine;
    assert_true(shipped_machine(arena, "h100x8", &machine, NULL));
    Source source = {.name = "mesh", .text = STR("dp=8,tp=8")};
    const Mesh *mesh = mesh_parse(arena, &source, NULL);
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        Shardings *shardings = shardings_new(arena);
        Resharder *resharder = resharder_new(arena, mesh, &machine, shardings);
        const char *text[] = {pairs[i].from, pairs[i].to};
        int32_t end[2];
        for (int k = 0; k < 2; k++) {
            Sharding sharding;
            Source at = {.name = "sharding", .text = str_from(text[k])};
            assert_true(sharding_parse(&at, &pairs[i].shape, mesh, VIEW_OURS, &sharding, NULL));
            end[k] = shardings_put(shardings, &sharding);
        }
        const ReshardPath *path = reshard(resharder, DT_BF16, end[0], end[1]);
        assert_true(path->proven);
        double least = reshard_least_us(resharder, DT_BF16, end[0], end[1], 0, 1, INFINITY);
        assert_true(least <= path->us * (1 + 1e-9) && least >= path->us * (1 - 1e-6));
    }
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_the_cheapest_on_h100),
        cmocka_unit_test(sums_use_all_dims),
        cmocka_unit_test(bounds_prove_paths_that_split_no_axis),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) +
           run_rows("optimal", rows, is_the_cheapest_of_all);
}
