#include "core/cost/traffic.h"

#include "core/base/intern.h"
#include "core/cost/cost.h"
#include "core/plan/edges.h"
#include "core/reshard/price_choice.h"

#include <assert.h>
#include <stdlib.h>

/* ---- transfers in one group ---- */

typedef struct {
    const Plan *plan;
    const Step *step;
    TrafficVisit *visit;
    void *context;
    int64_t n;
    int64_t *position; /* positions in the mesh, sorted by device number */
} GroupTraffic;

static int64_t node_of(const Plan *plan, int64_t position)
{
    return mesh_device(plan->mesh, position) / plan->machine->devices_per_node;
}

static void send(const GroupTraffic *at, int64_t from, int64_t to, double bytes)
{
    if (bytes > 0)
        at->visit(at->context, at->position[from], to < 0 ? TRAFFIC_SWITCH : at->position[to],
                  bytes);
}

static void send_ring(const GroupTraffic *at)
{
    for (int64_t i = 0; i < at->n; i++)
        send(at, i, (i + 1) % at->n, (double)at->step->wire_bytes);
}

static void both_ways(const GroupTraffic *at, int64_t a, int64_t b, double bytes)
{
    send(at, a, b, bytes);
    send(at, b, a, bytes);
}

/* First ranks of the nodes that the group is on; returns how many. */
static int64_t list_heads(const GroupTraffic *at, int64_t *heads)
{
    int64_t n = 0;
    for (int64_t i = 0; i < at->n; i++)
        if (i == 0 || node_of(at->plan, at->position[i]) != node_of(at->plan, at->position[i - 1]))
            heads[n++] = i;
    return n;
}

/* Two binary trees over the nodes, half of the bytes each: a heap, and the same in reverse order.
 */
static void send_between_nodes(const GroupTraffic *at)
{
    Arena *scratch = arena_new();
    int64_t *heads = arena_array(scratch, int64_t, at->n), m = list_heads(at, heads);
    double half = (double)at->step->bytes / 2;
    for (int64_t k = 1; k < m; k++) {
        both_ways(at, heads[k], heads[(k - 1) / 2], half);
        both_ways(at, heads[m - 1 - k], heads[m - 1 - (k - 1) / 2], half);
    }
    arena_free(scratch);
}

static void send_tree(const GroupTraffic *at)
{
    for (int64_t i = 1; i < at->n; i++)
        if (node_of(at->plan, at->position[i]) == node_of(at->plan, at->position[i - 1]))
            both_ways(at, i, i - 1, (double)at->step->bytes);
    send_between_nodes(at);
}

double traffic_switch_bytes(const Step *step, int64_t n)
{
    double bytes = (double)step->bytes;
    if (step->kind == STEP_ALL_GATHER || step->kind == STEP_SCAN)
        return bytes / (double)n;
    return step->kind == STEP_REDUCE_SCATTER ? bytes * (double)(n - 1) / (double)n : bytes;
}

static void send_switch(const GroupTraffic *at)
{
    for (int64_t i = 0; i < at->n; i++)
        send(at, i, TRAFFIC_SWITCH, traffic_switch_bytes(at->step, at->n));
}

static void send_pat(const GroupTraffic *at)
{
    double part = (double)at->step->bytes / (double)at->n;
    for (int64_t apart = 1; apart < at->n; apart *= 2) {
        int64_t parts = at->n - apart < apart ? at->n - apart : apart;
        for (int64_t i = 0; i < at->n; i++)
            send(at, i, (i + apart) % at->n, part * (double)parts);
    }
}

static void send_pairwise(const GroupTraffic *at)
{
    double each = (double)at->step->bytes / (double)at->n;
    for (int64_t i = 0; i < at->n; i++)
        for (int64_t j = 0; j < at->n; j++)
            if (i != j)
                send(at, i, j, each);
}

/* What a rank holds of every digit of every dim, as one number. */
static int32_t part_of(Intern *parts, const Sharding *sharding, const Mesh *mesh, int64_t position)
{
    int64_t at[DIMS_MAX * DIGITS_MAX];
    int n = 0;
    for (int d = 0; d < sharding->n_dims; d++)
        for (int64_t g = 0; g < sharding->dim[d].n; g++) {
            int64_t hi;
            digit_interval(&sharding->dim[d].digit[g], mesh, position, &at[n], &hi);
            n++;
        }
    return intern_put(parts, at, (size_t)n * sizeof *at);
}

/* Each rank's shard goes to the first rank that needs it and has not got it yet. Both shardings
 * have the same shards, in the same digits. */
static void send_permute(const GroupTraffic *at)
{
    Arena *scratch = arena_new();
    const Mesh *mesh = at->plan->mesh;
    const Sharding *from = shardings_at(at->plan->shardings, at->step->from);
    const Sharding *to = shardings_at(at->plan->shardings, at->step->to);
    Intern *parts = intern_new(scratch);
    int32_t *has = arena_array(scratch, int32_t, at->n),
            *wants = arena_array(scratch, int32_t, at->n);
    for (int64_t i = 0; i < at->n; i++) {
        has[i] = part_of(parts, from, mesh, at->position[i]);
        wants[i] = part_of(parts, to, mesh, at->position[i]);
    }
    int64_t *first = arena_array(scratch, int64_t, intern_count(parts));
    int64_t *next = arena_array(scratch, int64_t, at->n);
    for (int64_t i = at->n - 1; i >= 0; i--) { /* lists of ranks that need a shard: 1 + rank */
        next[i] = first[wants[i]];
        first[wants[i]] = i + 1;
    }
    for (int64_t i = 0; i < at->n; i++) {
        int64_t to_rank = first[has[i]] - 1;
        if (to_rank < 0)
            continue;
        first[has[i]] = next[to_rank];
        if (to_rank != i)
            send(at, i, to_rank, (double)at->step->bytes);
    }
    arena_free(scratch);
}

/* Elements that both ranges of a dim hold. */
static double common(int64_t lo, int64_t hi, int64_t other_lo, int64_t other_hi)
{
    int64_t from = lo > other_lo ? lo : other_lo, to = hi < other_hi ? hi : other_hi;
    return to > from ? (double)(to - from) : 0;
}

/* What the part with halos of the rank at `reader` has of the plain part of the rank at `holder`,
 * in elements. The two shardings differ in halos alone. */
static double read_of(const Mesh *mesh, const Sharding *wide, const Sharding *plain, int64_t reader,
                      int64_t holder)
{
    double elements = 1;
    for (int64_t d = 0; d < wide->n_dims && elements > 0; d++) {
        int64_t lo, hi, own_lo, own_hi;
        if (!cut_has_halo(&wide->dim[d])) {
            elements *= (double)cut_local_size(&wide->dim[d], mesh, reader);
            continue;
        }
        cut_interval(&wide->dim[d], mesh, reader, &lo, &hi);
        cut_interval(&plain->dim[d], mesh, holder, &own_lo, &own_hi);
        int64_t size = cut_size(&wide->dim[d]);
        elements *= common(lo, hi, own_lo, own_hi) + common(lo + size, size, own_lo, own_hi) +
                    common(0, hi - size, own_lo, own_hi);
    }
    return elements;
}

/* Borders come to the ranks that read them, or go back to those that own them. */
static void send_borders(const GroupTraffic *at)
{
    const Mesh *mesh = at->plan->mesh;
    const Sharding *from = shardings_at(at->plan->shardings, at->step->from);
    const Sharding *to = shardings_at(at->plan->shardings, at->step->to);
    bool back = sharding_has_halo(from);
    const Sharding *wide = back ? from : to, *plain = back ? to : from;
    double most =
        (double)(sharding_most_elements(wide, mesh) - sharding_most_elements(plain, mesh));
    double bytes = most > 0 ? (double)at->step->bytes / most : 0; /* of an element */
    for (int64_t i = 0; i < at->n; i++)
        for (int64_t j = 0; j < at->n; j++)
            if (i != j)
                send(at, back ? j : i, back ? i : j,
                     bytes * read_of(mesh, wide, plain, at->position[j], at->position[i]));
}

/* Each rank sends what it got on to the next. */
static void send_on(const GroupTraffic *at)
{
    for (int64_t i = 0; i < at->n; i++)
        send(at, i, (i + 1) % at->n, (double)at->step->bytes * at->step->turns);
}

static void send_group(const GroupTraffic *at, Algorithm algorithm)
{
    if (at->step->kind == STEP_PERMUTE)
        send_permute(at);
    else if (at->step->kind == STEP_HALO)
        send_borders(at);
    else if (at->step->kind == STEP_RING)
        send_on(at);
    else if (at->step->kind == STEP_ALL_TO_ALL)
        send_pairwise(at);
    else if (algorithm == ALGORITHM_TREE)
        send_tree(at);
    else if (algorithm == ALGORITHM_NVLS || algorithm == ALGORITHM_NVLS_TREE)
        send_switch(at);
    else if (algorithm == ALGORITHM_PAT)
        send_pat(at);
    else
        send_ring(at);
    if (algorithm == ALGORITHM_NVLS_TREE)
        send_between_nodes(at);
}

/* ---- all groups ---- */

typedef struct {
    int64_t device, position;
} GroupMember;

static int by_device(const void *a, const void *b)
{
    const GroupMember *x = a, *y = b;
    return x->device < y->device ? -1 : x->device > y->device;
}

static void list_members(GroupTraffic *at, GroupMember *members, int64_t base)
{
    const Mesh *mesh = at->plan->mesh;
    for (int64_t i = 0; i < at->n; i++) {
        members[i].position = mesh_group_member(mesh, at->step->atoms, base, i);
        members[i].device = mesh_device(mesh, members[i].position);
    }
    qsort(members, (size_t)at->n, sizeof *members, by_device);
    for (int64_t i = 0; i < at->n; i++)
        at->position[i] = members[i].position;
}

/* Each device of the readers gets its shard from the maker's device with the same coordinates, or
 * equal shares of it from those that hold them. */
static void send_send(const GroupTraffic *at, SubMesh makers, SubMesh readers)
{
    const Mesh *mesh = at->plan->mesh;
    const Sharding *from = shardings_at(at->plan->shardings, at->step->from);
    AtomSet parts = at->step->atoms & ~makers.fixed & sharding_atoms(from);
    int64_t n_parts = mesh_atoms_size(mesh, parts), n = submesh_size(mesh, readers);
    for (int64_t i = 0; i < n; i++) {
        int64_t reader = submesh_position(mesh, readers, i);
        int64_t twin = submesh_twin(mesh, makers, reader);
        for (int64_t k = 0; k < n_parts; k++)
            at->visit(at->context, mesh_group_member(mesh, parts, twin, k), reader,
                      (double)at->step->bytes / (double)n_parts);
    }
}

void traffic_transfers(const Plan *plan, const Reshard *reshard, int s, TrafficVisit *visit,
                       void *context)
{
    const Mesh *mesh = plan->mesh;
    const Step *step = &reshard->path->step[s];
    SubMesh devices = plan->decided->submeshes[reshard_step_devices(reshard, s)];
    GroupTraffic at = {.plan = plan, .step = step, .visit = visit, .context = context};
    at.n = mesh_atoms_size(mesh, step->atoms);
    if (step->kind == STEP_SEND)
        send_send(&at, plan->decided->submeshes[reshard->from_devices], devices);
    if (step->kind == STEP_SEND || step->kind == STEP_SLICE || at.n < 2)
        return;
    Arena *scratch = arena_new();
    at.position = arena_array(scratch, int64_t, at.n);
    GroupMember *members = arena_array(scratch, GroupMember, at.n);
    AtomSet others = submesh_free(mesh, (SubMesh){.fixed = step->atoms | devices.fixed});
    int64_t n_groups = mesh_atoms_size(mesh, others);
    Algorithm algorithm =
        price_choice(plan->machine, mesh, step->kind, step->atoms, step->bytes).algorithm;
    for (int64_t g = 0; g < n_groups; g++) {
        list_members(&at, members, mesh_group_member(mesh, others, devices.first, g));
        send_group(&at, algorithm);
    }
    arena_free(scratch);
}

/* ---- sums ---- */

typedef struct {
    const Plan *plan;
    LinkBytes sum; /* of one run */
    double times;
    Traffic *traffic;
} LinkSum;

static void add_to_links(void *context, int64_t from, int64_t to, double bytes)
{
    LinkSum *sum = context;
    if (to == TRAFFIC_SWITCH)
        sum->sum.to_switch += bytes;
    else if (node_of(sum->plan, from) == node_of(sum->plan, to))
        sum->sum.inside += bytes;
    else
        sum->sum.between += bytes;
    if (to == TRAFFIC_SWITCH)
        return;
    int64_t n = sum->traffic->n_buckets, n_devices = sum->plan->mesh->n_devices;
    sum->traffic->pair[from * n / n_devices * n + to * n / n_devices] += sum->times * bytes;
}

/* A path, and the parts of the mesh it goes between. */
typedef struct {
    const ReshardPath *path;
    int64_t from_devices, to_devices;
} PathKey;

typedef struct {
    Intern *paths, *atoms;
    Vec(double) times;          /* per path: how often it runs */
    Vec(const Reshard *) first; /* the first reshard with this path */
} PathCounts;

/* Equal reshards share a path, which is computed once. */
static PathCounts count_paths(Arena *scratch, const Plan *plan)
{
    PathCounts counts = {.paths = intern_new(scratch), .atoms = intern_new(scratch)};
    for (int r = 0; r < plan->moved->n_reshards; r++) {
        const Reshard *reshard = &plan->moved->reshards[r];
        PathKey key = {reshard->path, reshard->from_devices, reshard->to_devices};
        int32_t id = intern_put(counts.paths, &key, sizeof key);
        if (id == counts.first.n) {
            vec_push(scratch, &counts.first, reshard);
            vec_push(scratch, &counts.times, 0);
        }
        assert(counts.times.at);
        counts.times.at[id] += reshard_repeat(plan, reshard);
    }
    return counts;
}

static void add_links(LinkBytes *sum, const LinkBytes *more, double times)
{
    sum->inside += times * more->inside;
    sum->between += times * more->between;
    sum->to_switch += times * more->to_switch;
}

static double all_bytes(const LinkBytes *sent)
{
    return sent->inside + sent->between + sent->to_switch;
}

static int by_bytes(const void *a, const void *b)
{
    const AxisTraffic *x = a, *y = b;
    double p = all_bytes(&x->sent), q = all_bytes(&y->sent);
    if (p != q)
        return p < q ? 1 : -1;
    return x->atoms < y->atoms ? -1 : x->atoms > y->atoms;
}

Traffic traffic_of_plan(Arena *arena, const Plan *plan, int n_buckets)
{
    Arena *scratch = arena_new();
    PathCounts counts = count_paths(scratch, plan);
    Traffic traffic = {.n_buckets = n_buckets};
    traffic.pair = arena_array(arena, double, n_buckets *n_buckets);
    Vec(AxisTraffic) axes = {0};
    for (int p = 0; p < counts.first.n; p++) {
        const Reshard *reshard = counts.first.at[p];
        for (int s = 0; s < reshard->path->n_steps; s++) {
            const Step *step = &reshard->path->step[s];
            LinkSum sum = {.plan = plan, .times = counts.times.at[p], .traffic = &traffic};
            if (step->kind == STEP_SLICE || step->wire_bytes == 0)
                continue;
            int32_t id = intern_put(counts.atoms, &step->atoms, sizeof step->atoms);
            if (id == axes.n)
                vec_push(arena, &axes, (AxisTraffic){.atoms = step->atoms});
            traffic_transfers(plan, reshard, s, add_to_links, &sum);
            assert(axes.at);
            add_links(&axes.at[id].sent, &sum.sum, counts.times.at[p]);
            axes.at[id].us += counts.times.at[p] * step->us;
            axes.at[id].n += counts.times.at[p];
            add_links(&traffic.sent, &sum.sum, counts.times.at[p]);
        }
    }
    if (axes.n > 1)
        qsort(axes.at, (size_t)axes.n, sizeof *axes.at, by_bytes);
    traffic.axis = axes.at;
    traffic.n_axes = axes.n;
    arena_free(scratch);
    return traffic;
}
