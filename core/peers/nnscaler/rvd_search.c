#include "core/peers/nnscaler/rvd.h"

#include "core/base/heap.h"
#include "core/base/vec.h"

#include <assert.h>
#include <stdlib.h>

/* ---- layouts ---- */

int64_t rvd_devices(const Rvd *rvd)
{
    int64_t n = 1;
    for (int i = 0; i < rvd->n; i++)
        n *= rvd->at[i];
    return n;
}

static int64_t shard_elements(const Rvd *rvd, const Shape *shape)
{
    int64_t n = 1;
    for (int d = 0; d < shape->n_dims; d++)
        n *= shape->dim[d] / rvd->at[d + 2];
    return n;
}

/* ---- steps ---- */

/* ORDER RVD_KIND */
static const char *const names[] = {"all_gather", "all_reduce", "reduce_scatter", "all_to_all",
                                    "slice",      "to_partial", "move",           "broadcast",
                                    "rdscatter",  "rdgather",   "rvscatter",      "rvgather"};

const char *rvd_kind_name(RvdKind kind)
{
    assert(kind < RVD_NONE);
    return names[kind];
}

bool rvd_kind_crosses(RvdKind kind)
{
    return kind >= RVD_MOVE && kind <= RVD_RVGATHER;
}

static RvdKind kind_within(int shrinks, int grows)
{
    if (shrinks < 0 || grows < 0 || (shrinks > 1 && grows == 1))
        return RVD_NONE;
    if (shrinks == 0)
        return grows == 1 ? RVD_TO_PARTIAL : RVD_SLICE;
    if (shrinks == 1)
        return grows == 0 ? RVD_ALL_REDUCE : RVD_REDUCE_SCATTER;
    return grows == 0 ? RVD_ALL_GATHER : RVD_ALL_TO_ALL;
}

static RvdKind kind_across(int shrinks, int grows)
{
    static const RvdKind up[] = {RVD_BROADCAST, RVD_RVSCATTER, RVD_RDSCATTER};
    static const RvdKind down[] = {RVD_MOVE, RVD_RVGATHER, RVD_RDGATHER};
    if (shrinks >= 0 && grows >= 0)
        return RVD_NONE;
    if (grows >= 0)
        return up[grows < 2 ? grows : 2];
    return shrinks >= 0 ? down[shrinks < 2 ? shrinks : 2] : RVD_MOVE;
}

RvdKind rvd_kind(const Rvd *from, const Rvd *to, bool crosses, int *shrinks, int *grows)
{
    int down = -1, up = -1;
    for (int i = 0; i < from->n; i++) {
        if (from->at[i] == to->at[i])
            continue;
        bool is_down = from->at[i] > to->at[i];
        int64_t large = is_down ? from->at[i] : to->at[i];
        int64_t small = is_down ? to->at[i] : from->at[i];
        if (large % small != 0 || (is_down ? down : up) >= 0)
            return RVD_NONE;
        *(is_down ? &down : &up) = i;
    }
    if (shrinks)
        *shrinks = down;
    if (grows)
        *grows = up;
    return crosses ? kind_across(down, up) : kind_within(down, up);
}

static int64_t volume(RvdKind kind, int64_t n, int64_t before, int64_t after)
{
    switch (kind) {
    case RVD_ALL_GATHER:
    case RVD_BROADCAST:
        return kind == RVD_BROADCAST ? n * before : (n - 1) * before;
    case RVD_ALL_REDUCE:
        return 2 * (n - 1) * before / n;
    case RVD_REDUCE_SCATTER:
    case RVD_ALL_TO_ALL:
        return (n - 1) * before / n;
    case RVD_MOVE:
    case RVD_RDSCATTER:
        return before;
    case RVD_RDGATHER:
        return after;
    case RVD_RVSCATTER:
        return before * n;
    case RVD_RVGATHER:
        return after * n;
    case RVD_SLICE:
    case RVD_TO_PARTIAL:
    case RVD_NONE:
        break;
    }
    return 0;
}

int64_t rvd_step_cost(const Shape *shape, const Rvd *from, const Rvd *to, int64_t crossing_factor)
{
    int shrinks, grows;
    RvdKind kind = rvd_kind(from, to, crossing_factor > 0, &shrinks, &grows);
    assert(kind != RVD_NONE);
    int64_t n = 1;
    if (shrinks >= 0)
        n = from->at[shrinks] / to->at[shrinks];
    else if (grows >= 0)
        n = to->at[grows] / from->at[grows];
    int64_t moved = volume(kind, n, shard_elements(from, shape), shard_elements(to, shape));
    return (moved + 1) * (crossing_factor > 0 ? crossing_factor : 1);
}

/* ---- the search ---- */

typedef struct {
    Rvd rvd;
    int64_t cost; /* INT64_MAX: not reached */
    int32_t before;
    bool done;
} Node;

/* Nodes 0..n_from are the layouts of the source's devices, in order; the others the target's. */
typedef struct {
    Arena *arena;
    const Shape *shape;
    int64_t crossing_factor;
    Vec(Node) nodes;
    int32_t n_from;
    Heap heap; /* keys: costs, whole numbers */
} RvdSearch;

/* Appends all layouts of `left` devices whose first i components are those of `rvd`. */
static bool list_layouts(RvdSearch *search, Rvd *rvd, int i, int64_t left)
{
    bool last = i == rvd->n - 1;
    for (int64_t parts = last ? left : 1; parts <= left; parts++) {
        if (left % parts != 0 || (i >= 2 && search->shape->dim[i - 2] % parts != 0))
            continue;
        rvd->at[i] = parts;
        if (!last && !list_layouts(search, rvd, i + 1, left / parts))
            return false;
        if (last)
            vec_push(search->arena, &search->nodes, (Node){*rvd, INT64_MAX, -1, false});
    }
    return search->nodes.n <= RVD_LAYOUTS_MAX;
}

static bool list_side(RvdSearch *search, const Rvd *like, Error *err)
{
    Rvd rvd = {.n = like->n};
    return list_layouts(search, &rvd, 0, rvd_devices(like)) ||
           error_kind(err, ERROR_OUT_OF_RANGE, "there are more than %d layouts of %lld devices",
                      RVD_LAYOUTS_MAX, (long long)rvd_devices(like));
}

static int compare(const Rvd *a, const Rvd *b)
{
    for (int i = 0; i < a->n; i++)
        if (a->at[i] != b->at[i])
            return a->at[i] < b->at[i] ? -1 : 1;
    return 0;
}

/* The node of a layout on that side, or -1 if a part does not divide its dim. */
static int32_t find(const RvdSearch *search, const Rvd *rvd, bool of_target)
{
    int32_t lo = of_target ? search->n_from : 0;
    int32_t hi = of_target ? search->nodes.n : search->n_from;
    while (lo < hi) {
        int32_t middle = lo + (hi - lo) / 2;
        int order = compare(&search->nodes.at[middle].rvd, rvd);
        if (order == 0)
            return middle;
        if (order < 0)
            lo = middle + 1;
        else
            hi = middle;
    }
    return -1;
}

static void offer(RvdSearch *search, int32_t from, const Rvd *to, bool crosses)
{
    int32_t at = find(search, to, crosses || from >= search->n_from);
    if (at < 0)
        return;
    int64_t cost =
        search->nodes.at[from].cost + rvd_step_cost(search->shape, &search->nodes.at[from].rvd, to,
                                                    crosses ? search->crossing_factor : 0);
    Node *node = &search->nodes.at[at];
    if (cost >= node->cost)
        return;
    node->cost = cost;
    node->before = from;
    heap_push(search->arena, &search->heap, (HeapEntry){(double)cost, at, at});
}

static void offer_within(RvdSearch *search, int32_t at)
{
    Rvd from = search->nodes.at[at].rvd;
    for (int shrinks = 0; shrinks < from.n; shrinks++)
        for (int64_t n = 2; n <= from.at[shrinks]; n++)
            for (int grows = 0; from.at[shrinks] % n == 0 && grows < from.n; grows++) {
                Rvd to = from;
                to.at[shrinks] /= n;
                to.at[grows] *= n;
                if (grows != shrinks && kind_within(shrinks, grows) != RVD_NONE)
                    offer(search, at, &to, false);
            }
}

static void offer_across(RvdSearch *search, int32_t at)
{
    Rvd from = search->nodes.at[at].rvd;
    int64_t here = rvd_devices(&from), there = rvd_devices(&search->nodes.at[search->n_from].rvd);
    for (int i = 0; i < from.n; i++) {
        Rvd to = from;
        if (there % here == 0)
            to.at[i] *= there / here;
        else if (here % there == 0 && from.at[i] % (here / there) == 0)
            to.at[i] /= here / there;
        else
            continue;
        offer(search, at, &to, true);
    }
}

static void read_path(const RvdSearch *search, int32_t goal, Arena *arena, RvdPlan *out)
{
    int n = 0;
    for (int32_t at = goal; at >= 0; at = search->nodes.at[at].before)
        n++;
    Rvd *path = arena_array(arena, Rvd, n);
    out->n_path = n;
    out->n_from = 0;
    for (int32_t at = goal; at >= 0; at = search->nodes.at[at].before) {
        path[--n] = search->nodes.at[at].rvd;
        out->n_from += at < search->n_from;
    }
    out->path = path;
    out->cost = search->nodes.at[goal].cost;
}

static bool search_path(RvdSearch *search, const Rvd *from, const Rvd *to, Arena *arena,
                        RvdPlan *out, Error *err)
{
    bool crosses = search->crossing_factor > 0;
    if (!list_side(search, from, err))
        return false;
    search->n_from = search->nodes.n;
    if (crosses && !list_side(search, to, err))
        return false;
    int32_t start = find(search, from, false), goal = find(search, to, crosses);
    assert(search->nodes.at && start >= 0 && goal >= 0);
    search->nodes.at[start].cost = 0;
    heap_push(search->arena, &search->heap, (HeapEntry){0, start, start});
    while (search->heap.n > 0) {
        int32_t at = heap_pop(&search->heap).item;
        if (search->nodes.at[at].done)
            continue;
        search->nodes.at[at].done = true;
        if (at == goal) {
            read_path(search, goal, arena, out);
            return true;
        }
        offer_within(search, at);
        if (crosses && at < search->n_from)
            offer_across(search, at);
    }
    return error_kind(err, ERROR_UNSUPPORTED,
                      "no path: neither number of devices divides the other");
}

bool rvd_search(Arena *arena, const Shape *shape, const Rvd *from, const Rvd *to,
                int64_t crossing_factor, RvdPlan *out, Error *err)
{
    RvdSearch search = {.shape = shape, .crossing_factor = crossing_factor};
    search.arena = arena_new();
    bool found = search_path(&search, from, to, arena, out, err);
    arena_free(search.arena);
    return found;
}
