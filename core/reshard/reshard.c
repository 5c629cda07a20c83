#include "core/reshard/reshard.h"

#include "core/reshard/bound.h"
#include "core/reshard/resharder.h"
#include "core/reshard/route.h"

#include <assert.h>
#include <math.h>

enum { PRICES = 1 << 10, FREE_BYTES = 1 << 20 };

ReshardOptions reshard_defaults(void)
{
    return (ReshardOptions){.cap = PEAK_ENDS, .bytes = FREE_BYTES};
}

Resharder *resharder_new(Arena *arena, const Mesh *mesh, const Machine *machine,
                         Shardings *shardings)
{
    Resharder *resharder = arena_make(arena, Resharder);
    *resharder =
        (Resharder){.arena = arena, .mesh = mesh, .machine = machine, .shardings = shardings};
    resharder->options = reshard_defaults();
    resharder->fill = 1;
    resharder->pricer = pricer_new(arena, machine, mesh);
    resharder->asked = intern_new(arena);
    return resharder;
}

void resharder_options(Resharder *resharder, const ReshardOptions *options)
{
    resharder->options = *options;
}

/* ---- prices ---- */

static double step_us(void *context, StepKind kind, AtomSet atoms, double payload)
{
    Resharder *resharder = context;
    int64_t bytes = (int64_t)ceil(payload * (1 - 1e-12)); /* a product of quotients */
    uint64_t mixed = ((uint64_t)bytes * 31 + atoms) * 8 + kind;
    StepPrice *priced = &resharder->prices[mixed * 0x9e3779b97f4a7c15u >> 54];
    if (priced->bytes != bytes || priced->atoms != atoms || priced->kind != kind)
        *priced =
            (StepPrice){kind, atoms, bytes, pricer_step(resharder->pricer, kind, atoms, bytes).us};
    return priced->us;
}

static int32_t alike(void *context, StepKind kind, AtomSet atoms)
{
    const Resharder *resharder = context;
    return pricer_alike(resharder->pricer, kind, atoms);
}

static double least_drop_us(void *context, int64_t n)
{
    const Resharder *resharder = context;
    return floor_drop_us(resharder->floor, n);
}

static double least_reduce_us(void *context, int64_t n)
{
    const Resharder *resharder = context;
    return floor_reduce_us(resharder->floor, n);
}

static Pricing pricing_of(Resharder *resharder)
{
    Pricing pricing = resharder->floor->pricing;
    pricing.context = resharder;
    pricing.step_us = step_us;
    pricing.alike = alike;
    pricing.least_drop_us = least_drop_us;
    pricing.least_reduce_us = least_reduce_us;
    return pricing;
}

/* Tables that only a search needs. */
static void prepare(Resharder *resharder)
{
    if (resharder->floor)
        return;
    resharder->floor =
        floor_of(resharder->arena, resharder->pricer, resharder->mesh,
                 resharder->options.exact_bounds ? FLOOR_ATOMS_EXACT : FLOOR_ATOMS_MAX);
    resharder->searcher = searcher_new(resharder->arena);
    resharder->prices = arena_array(resharder->arena, StepPrice, PRICES);
    for (int i = 0; i < PRICES; i++)
        resharder->prices[i].bytes = -1;
}

/* ---- paths ---- */

/* Of so many bytes those that are there. */
static int64_t filled(const Resharder *resharder, int64_t bytes)
{
    return resharder->fill == 1 ? bytes : (int64_t)ceil((double)bytes * resharder->fill);
}

int64_t resharder_local_bytes(const Resharder *resharder, Dtype dtype, const Sharding *sharding)
{
    return filled(resharder, dtype_bytes(dtype, sharding_most_elements(sharding, resharder->mesh)));
}

static double limit_of(const Resharder *resharder, int64_t ends)
{
    const ReshardOptions *options = &resharder->options;
    if (options->cap == PEAK_FREE)
        return INFINITY;
    double least = (double)ends * (options->cap == PEAK_ENDS ? 1 + options->slack : 1);
    return fmax(least, (double)options->bytes);
}

/* What a rank holds beyond the mean over all ranks. */
static int64_t padding_of(const Resharder *resharder, Dtype dtype, const Sharding *held,
                          int64_t bytes)
{
    int64_t elements = 1, parts = mesh_atoms_size(resharder->mesh, sharding_atoms(held));
    for (int64_t d = 0; d < held->n_dims; d++)
        elements *= cut_size(&held->dim[d]);
    return bytes - filled(resharder, dtype_bytes(dtype, elements) / parts);
}

static Step make_step(const Resharder *resharder, Dtype dtype, const Hop *hop, const Sharding *from,
                      const Sharding *to)
{
    Step step = {.kind = hop->kind, .atoms = hop->atoms};
    if (hop->kind == STEP_SLICE)
        return step;
    const Sharding *held = hop->kind == STEP_ALL_GATHER ? to : from;
    step.bytes = resharder_local_bytes(resharder, dtype, held);
    step.padding_bytes = padding_of(resharder, dtype, held, step.bytes);
    Price price = pricer_step(resharder->pricer, hop->kind, hop->atoms, step.bytes);
    step.wire_bytes = price.wire_bytes;
    step.us = price.us;
    return step;
}

static const ReshardPath *make_path(Resharder *resharder, const ReshardKey *asked,
                                    const Space *space, const Route *route)
{
    ReshardPath *path = arena_make(resharder->arena, ReshardPath);
    Step *steps = arena_array(resharder->arena, Step, route->n);
    *path = (ReshardPath){.n_steps = route->n, .step = steps, .bound_us = route->bound_us};
    path->proven = route->proven && resharder->floor->exact;
    Dtype dtype = (Dtype)asked->dtype;
    Sharding from = *shardings_at(resharder->shardings, asked->from), at = from;
    path->peak_bytes = resharder_local_bytes(resharder, dtype, &from);
    int32_t at_id = asked->from;
    for (int i = 0; i < route->n; i++) {
        Sharding to = space_sharding(space, &route->hop[i].to, &from, resharder->mesh);
        steps[i] = make_step(resharder, dtype, &route->hop[i], &at, &to);
        steps[i].from = at_id;
        at_id = steps[i].to = shardings_put(resharder->shardings, &to);
        int64_t held = resharder_local_bytes(resharder, dtype, &to);
        path->peak_bytes = held > path->peak_bytes ? held : path->peak_bytes;
        path->us += steps[i].us;
        path->wire_bytes += steps[i].wire_bytes;
        path->padding_bytes += steps[i].padding_bytes;
        at = to;
    }
    return path;
}

/* Without a limit. */
static void make_space(Resharder *resharder, const ReshardKey *asked, bool wide, Space *out)
{
    prepare(resharder);
    space_of(shardings_at(resharder->shardings, asked->from),
             shardings_at(resharder->shardings, asked->to), resharder->mesh, asked->fixed,
             (double)dtype_bytes((Dtype)asked->dtype, 8) / 8 * resharder->fill, wide, out);
    Pricing pricing = pricing_of(resharder);
    space_price(out, &pricing);
    out->limit = INFINITY;
}

static Space *space_asked(Resharder *resharder, Arena *scratch, const ReshardKey *asked, bool wide)
{
    Dtype dtype = (Dtype)asked->dtype;
    const Shardings *shardings = resharder->shardings;
    int64_t before = resharder_local_bytes(resharder, dtype, shardings_at(shardings, asked->from));
    int64_t after = resharder_local_bytes(resharder, dtype, shardings_at(shardings, asked->to));
    Space *space = arena_make(scratch, Space);
    make_space(resharder, asked, wide, space);
    space->limit = limit_of(resharder, before > after ? before : after);
    return space;
}

/* In a narrow space, then in a wide one if that may have a better path. NULL if there is no path
 * within the limit. */
static const ReshardPath *route_path(Resharder *resharder, const ReshardKey *asked,
                                     const Hop *avoid, int n_avoid, bool limited)
{
    Arena *scratch = arena_new();
    prepare(resharder);
    RouteSearch search = {resharder->searcher, resharder->options.whole_axes, avoid, n_avoid};
    BestRoute best = {.of = NULL};
    for (int wide = 0; wide < 2 && (!wide || route_may_improve(&search, &best)); wide++) {
        best.asked = space_asked(resharder, scratch, asked, wide);
        best.asked->limit = limited ? best.asked->limit : INFINITY;
        route_search(&search, scratch, &best);
    }
    const ReshardPath *path = best.of ? make_path(resharder, asked, best.of, &best.route) : NULL;
    arena_free(scratch);
    return path;
}

/* avoid: a path that the result must differ from, or NULL. */
static const ReshardPath *search_path(Resharder *resharder, const ReshardKey *asked,
                                      const ReshardPath *avoid)
{
    Arena *scratch = arena_new();
    Hop *hop = arena_array(scratch, Hop, avoid ? avoid->n_steps : 0);
    int n = 0;
    for (int i = 0; avoid && i < avoid->n_steps; i++)
        if (avoid->step[i].kind != STEP_SLICE)
            hop[n++] = (Hop){.kind = avoid->step[i].kind, .atoms = avoid->step[i].atoms};
    const ReshardPath *path = route_path(resharder, asked, hop, n, true);
    if (!path && !avoid)
        path = route_path(resharder, asked, NULL, 0, false);
    arena_free(scratch);
    assert(path || avoid); /* gathering everything and slicing is always possible */
    return path;
}

/* Keeps a dim of the source, gathered over axes that neither the target has nor a sum of it: the
 * last step puts zeros around the shards. */
static void keep_shards(const Resharder *resharder, const Sharding *from, AtomSet sums,
                        Sharding *target)
{
    for (int64_t d = 0; d < from->n_dims; d++) {
        AtomSet others = cut_atoms(&from->dim[d]) & ~cut_atoms(&target->dim[d]) & ~sums;
        Cut kept = cut_without(&from->dim[d], others, resharder->mesh);
        Cut less = cut_without(&kept, sums, resharder->mesh);
        target->dim[d] = cut_equal(&less, &target->dim[d]) ? kept : target->dim[d];
    }
}

ReshardPath *resharder_path_begun(Resharder *resharder, const ReshardPath *there, Step **steps)
{
    ReshardPath *path = arena_make(resharder->arena, ReshardPath);
    *steps = arena_array(resharder->arena, Step, there->n_steps + 1);
    *path = *there;
    path->step = *steps;
    for (int i = 0; i < there->n_steps; i++)
        (*steps)[i] = there->step[i];
    return path;
}

/* A path to a target that is partial over axes that the source is not partial over: the path
 * without them, then one more step in which each rank keeps or blanks what it holds. */
static const ReshardPath *path_to_partial(Resharder *resharder, const ReshardKey *asked,
                                          AtomSet made)
{
    Sharding target = *shardings_at(resharder->shardings, asked->to);
    AtomSet sums = 0;
    for (int a = 0; a < ATOMS_MAX; a++) {
        if (!(made >> a & 1))
            continue;
        sums |= (AtomSet)(target.partial[a] == REDUCE_SUM) << a;
        target.partial[a] = REDUCE_NONE;
    }
    keep_shards(resharder, shardings_at(resharder->shardings, asked->from), sums, &target);
    ReshardKey before = *asked;
    before.to = shardings_put(resharder->shardings, &target);
    const ReshardPath *there =
        reshard_inside(resharder, (Dtype)asked->dtype, before.from, before.to, asked->fixed);
    assert(there);
    Step *steps;
    ReshardPath *path = resharder_path_begun(resharder, there, &steps);
    steps[path->n_steps++] = (Step){.kind = STEP_SLICE, .from = before.to, .to = asked->to};
    return path;
}

void resharder_add_step(const Resharder *resharder, ReshardPath *path, Step *steps, Dtype dtype,
                        Step step)
{
    const Sharding *to = shardings_at(resharder->shardings, step.to);
    int64_t held = resharder_local_bytes(resharder, dtype, to);
    steps[path->n_steps++] = step;
    path->us += step.us;
    path->wire_bytes += step.wire_bytes;
    path->padding_bytes += step.padding_bytes;
    path->peak_bytes = held > path->peak_bytes ? held : path->peak_bytes;
}

/* ---- block lists and parts of given sizes ---- */

/* Without these: their axes shard the dim plainly or, with `gather`, not at all. Dims with the same
 * cut at the other end stay, since nothing moves along them; NULL: none stays. */
static Sharding without_blocks(const Resharder *resharder, const Sharding *sharding,
                               const Sharding *other, bool gather)
{
    Sharding plain = *sharding;
    for (int64_t d = 0; d < plain.n_dims; d++) {
        Cut *cut = &plain.dim[d];
        if (!cut_is_plain(cut) && gather && !(other && cut_equal(cut, &other->dim[d])))
            *cut = cut_whole(cut_size(cut));
        else if (!cut_is_plain(cut))
            *cut = cut_plain(cut, resharder->mesh);
    }
    return plain;
}

/* One step that changes the blocks alone: over the axes of the dims that differ. */
static Hop blocks_hop(const Sharding *from, const Sharding *to)
{
    AtomSet before = 0, after = 0;
    for (int64_t d = 0; d < from->n_dims; d++)
        if (!cut_equal(&from->dim[d], &to->dim[d])) {
            before |= cut_atoms(&from->dim[d]);
            after |= cut_atoms(&to->dim[d]);
        }
    StepKind kind = before == after ? STEP_ALL_TO_ALL : before ? STEP_ALL_GATHER : STEP_SLICE;
    return (Hop){.kind = kind, .atoms = before};
}

/* A step between layouts that differ in blocks; none if they do not differ. */
static void add_blocks_step(Resharder *resharder, ReshardPath *path, Step *steps, Dtype dtype,
                            int32_t from, int32_t to)
{
    if (from == to)
        return;
    Sharding before = *shardings_at(resharder->shardings, from);
    Sharding after = *shardings_at(resharder->shardings, to);
    Hop hop = blocks_hop(&before, &after);
    Step step = make_step(resharder, dtype, &hop, &before, &after);
    step.from = from;
    step.to = to;
    resharder_add_step(resharder, path, steps, dtype, step);
}

/* True if a reduce-scatter may leave these blocks at once: the dims that differ from where it ends
 * are whole before it, and it scatters over all their axes. */
static bool scatters_blocks(const Resharder *resharder, const Step *step, const Sharding *to)
{
    const Sharding *before = shardings_at(resharder->shardings, step->from);
    const Sharding *after = shardings_at(resharder->shardings, step->to);
    bool fits = step->kind == STEP_REDUCE_SCATTER;
    for (int64_t d = 0; fits && d < to->n_dims; d++)
        fits = cut_equal(&after->dim[d], &to->dim[d]) ||
               (cut_is_whole(&before->dim[d]) && !(cut_atoms(&to->dim[d]) & ~step->atoms) &&
                cut_atoms(&to->dim[d]) == cut_atoms(&after->dim[d]));
    return fits;
}

/* A layout on the path between the plain ends, with the lists that both ends share put back.
 * Returns false if the path moves data along such a dim. */
static bool with_kept_blocks(const Sharding *from, const Sharding *to, const Sharding *plain,
                             Sharding *at)
{
    for (int64_t d = 0; d < at->n_dims; d++) {
        if (cut_is_plain(&from->dim[d]) || !cut_equal(&from->dim[d], &to->dim[d]))
            continue;
        if (!cut_equal(&at->dim[d], &plain->dim[d]))
            return false;
        at->dim[d] = from->dim[d];
    }
    return true;
}

/* From one end's lists to a plain layout, the search from there to a plain layout of the other
 * end, and to its lists. keep: dims with the same list at both ends keep it on the way; NULL if the
 * search moves data along one of them. */
static const ReshardPath *path_by_plain(Resharder *resharder, const ReshardKey *asked, bool gather,
                                        bool slice, bool keep)
{
    Sharding from = *shardings_at(resharder->shardings, asked->from);
    Sharding to = *shardings_at(resharder->shardings, asked->to);
    Sharding begin = without_blocks(resharder, &from, keep ? &to : NULL, gather);
    Sharding end = without_blocks(resharder, &to, keep ? &from : NULL, slice);
    Dtype dtype = (Dtype)asked->dtype;
    const ReshardPath *between =
        reshard_inside(resharder, dtype, shardings_put(resharder->shardings, &begin),
                       shardings_put(resharder->shardings, &end), asked->fixed);
    ReshardPath *path = arena_make(resharder->arena, ReshardPath);
    Step *steps = arena_array(resharder->arena, Step, between->n_steps + 2);
    *path = (ReshardPath){.step = steps, .bound_us = between->bound_us};
    path->peak_bytes = resharder_local_bytes(resharder, dtype, &from);
    Sharding first = begin;
    if (keep)
        with_kept_blocks(&from, &to, &begin, &first);
    int32_t at = shardings_put(resharder->shardings, &first);
    add_blocks_step(resharder, path, steps, dtype, asked->from, at);
    for (int i = 0; i < between->n_steps; i++) {
        Step step = between->step[i];
        Sharding next = *shardings_at(resharder->shardings, step.to);
        if (keep && !with_kept_blocks(&from, &to, &begin, &next))
            return NULL;
        step.from = at;
        at = step.to = shardings_put(resharder->shardings, &next);
        if (i == between->n_steps - 1 && scatters_blocks(resharder, &step, &to))
            at = step.to = asked->to;
        resharder_add_step(resharder, path, steps, dtype, step);
    }
    add_blocks_step(resharder, path, steps, dtype, at, asked->to);
    return path;
}

/* If the dims that differ are sharded by the same axes before and after: one all-to-all. Else
 * NULL. */
static const ReshardPath *path_at_once(Resharder *resharder, const ReshardKey *asked)
{
    const Sharding *from = shardings_at(resharder->shardings, asked->from);
    const Sharding *to = shardings_at(resharder->shardings, asked->to);
    if (memcmp(from->partial, to->partial, sizeof from->partial) != 0)
        return NULL;
    for (int64_t d = 0; d < from->n_dims; d++)
        if (cut_atoms(&from->dim[d]) != cut_atoms(&to->dim[d]))
            return NULL;
    ReshardPath *path = arena_make(resharder->arena, ReshardPath);
    Step *step = arena_make(resharder->arena, Step);
    *path = (ReshardPath){.step = step};
    path->peak_bytes = resharder_local_bytes(resharder, (Dtype)asked->dtype, from);
    add_blocks_step(resharder, path, step, (Dtype)asked->dtype, asked->from, asked->to);
    return path;
}

/* The same collectives over the same axes, ignoring slices. */
static bool moves_alike(const ReshardPath *a, const ReshardPath *b)
{
    int i = 0, j = 0;
    for (;;) {
        while (i < a->n_steps && a->step[i].kind == STEP_SLICE)
            i++;
        while (j < b->n_steps && b->step[j].kind == STEP_SLICE)
            j++;
        if (i == a->n_steps || j == b->n_steps)
            return i == a->n_steps && j == b->n_steps;
        if (a->step[i].kind != b->step[j].kind || a->step[i].atoms != b->step[j].atoms)
            return false;
        i++, j++;
    }
}

enum { BLOCK_WAYS = 6 };

/* Among the paths within the limit that differ from `but`; NULL if none. */
static const ReshardPath *cheapest_way(const ReshardPath *const *way, double limit,
                                       const ReshardPath *but)
{
    const ReshardPath *best = NULL;
    for (int i = 0; i < BLOCK_WAYS; i++)
        if (way[i] && (double)way[i]->peak_bytes <= limit && (!but || !moves_alike(way[i], but)) &&
            (!best || way[i]->us < best->us * (1 - 1e-9)))
            best = way[i];
    return best;
}

/* True if the cuts of both ends that are not plain stand beside a whole dim or the same cut, and
 * lists of blocks are even: plain cuts of the same dims with their elements in another order. */
static bool only_reorders(const Resharder *resharder, const Sharding *from, const Sharding *to)
{
    for (int64_t d = 0; d < from->n_dims; d++) {
        const Cut *a = &from->dim[d], *b = &to->dim[d];
        bool lists = cut_is_blocks(a) || cut_is_blocks(b);
        if (!(cut_is_plain(a) && cut_is_plain(b)) &&
            !(cut_is_whole(a) || cut_is_whole(b) || cut_equal(a, b)))
            return false;
        if (lists && (cut_is_uneven(a, resharder->mesh) || cut_is_uneven(b, resharder->mesh)))
            return false;
    }
    return true;
}

/* The cut that is not plain where a path between plain cuts has the plain one, or that without some
 * axes. Returns false if the path has another cut there. */
static bool reorder_dim(const Resharder *resharder, const Cut *list, Cut *at)
{
    Cut plain = cut_plain(list, resharder->mesh);
    AtomSet gone = cut_atoms(list) & ~cut_atoms(at);
    Cut kept = cut_without(&plain, gone, resharder->mesh);
    if (!cut_equal(&kept, at))
        return false;
    *at = cut_without(list, gone, resharder->mesh);
    return cut_atoms(at) == cut_atoms(&kept);
}

/* The layout of a path between plain cuts, with the cuts that are not plain in their places. */
static bool reorder(const Resharder *resharder, const Sharding *from, const Sharding *to,
                    Sharding *at)
{
    for (int64_t d = 0; d < at->n_dims; d++) {
        const Cut *list = cut_is_plain(&from->dim[d]) ? &to->dim[d] : &from->dim[d];
        if (!cut_is_plain(list) && !reorder_dim(resharder, list, &at->dim[d]))
            return false;
    }
    return true;
}

/* The path between the plain cuts, with the others in their places. What the search proved of it
 * holds if no parts of given sizes are among them. NULL if these do more than reorder, or the path
 * has other cuts of their dims. */
static const ReshardPath *path_reordered(Resharder *resharder, const ReshardKey *asked)
{
    Sharding from = *shardings_at(resharder->shardings, asked->from);
    Sharding to = *shardings_at(resharder->shardings, asked->to);
    if (!only_reorders(resharder, &from, &to))
        return NULL;
    Sharding begin = without_blocks(resharder, &from, &to, false);
    Sharding end = without_blocks(resharder, &to, &from, false);
    Dtype dtype = (Dtype)asked->dtype;
    const ReshardPath *plain =
        reshard_inside(resharder, dtype, shardings_put(resharder->shardings, &begin),
                       shardings_put(resharder->shardings, &end), asked->fixed);
    ReshardPath *path = arena_make(resharder->arena, ReshardPath);
    Step *steps = arena_array(resharder->arena, Step, plain->n_steps);
    *path = (ReshardPath){.step = steps, .bound_us = plain->bound_us};
    path->proven = plain->proven && !sharding_has_sizes(&from) && !sharding_has_sizes(&to);
    path->peak_bytes = resharder_local_bytes(resharder, dtype, &from);
    Sharding at = from;
    for (int i = 0; i < plain->n_steps; i++) {
        Hop hop = {.kind = plain->step[i].kind, .atoms = plain->step[i].atoms};
        Sharding next = *shardings_at(resharder->shardings, plain->step[i].to);
        if (!reorder(resharder, &from, &to, &next))
            return NULL;
        Step step = make_step(resharder, dtype, &hop, &at, &next);
        step.from = i > 0 ? steps[i - 1].to : asked->from;
        step.to = shardings_put(resharder->shardings, &next);
        resharder_add_step(resharder, path, steps, dtype, step);
        at = next;
    }
    return path;
}

/* The cheapest of the paths from and to cuts that are not plain, and the second. */
static ReshardAnswer answer_of_blocks(Resharder *resharder, const ReshardKey *asked)
{
    Dtype dtype = (Dtype)asked->dtype;
    ReshardAnswer answer = {.looked_for_other = true};
    const ReshardPath *way[BLOCK_WAYS] = {path_reordered(resharder, asked),
                                          path_at_once(resharder, asked)};
    for (int i = 0; i < 4; i++)
        way[i + 2] = path_by_plain(resharder, asked, i & 1, i & 2, true);
    int64_t before =
        resharder_local_bytes(resharder, dtype, shardings_at(resharder->shardings, asked->from));
    int64_t after =
        resharder_local_bytes(resharder, dtype, shardings_at(resharder->shardings, asked->to));
    double limit = limit_of(resharder, before > after ? before : after);
    answer.path = cheapest_way(way, limit, NULL);
    if (!answer.path)
        answer.path = cheapest_way(way, limit = INFINITY, NULL);
    if (!answer.path) /* every search moves data along lists that are the same at both ends */
        answer.path = path_by_plain(resharder, asked, true, true, false);
    answer.runner_up = cheapest_way(way, limit, answer.path);
    return answer;
}

static bool is_plain(const Resharder *resharder, int32_t id)
{
    const Sharding *sharding = shardings_at(resharder->shardings, id);
    for (int64_t d = 0; d < sharding->n_dims; d++)
        if (!cut_is_plain(&sharding->dim[d]))
            return false;
    return true;
}

static ReshardAnswer find_answer(Resharder *resharder, const ReshardKey *asked)
{
    if (sharding_has_halo(shardings_at(resharder->shardings, asked->from)))
        return (ReshardAnswer){.path = resharder_path_from_overlaps(resharder, asked),
                               .looked_for_other = true};
    AtomSet had = sharding_partials(shardings_at(resharder->shardings, asked->from));
    AtomSet made = sharding_partials(shardings_at(resharder->shardings, asked->to)) & ~had;
    if (made)
        return (ReshardAnswer){.path = path_to_partial(resharder, asked, made)};
    if (sharding_has_halo(shardings_at(resharder->shardings, asked->to)))
        return (ReshardAnswer){.path = resharder_path_to_halo(resharder, asked),
                               .looked_for_other = true};
    if (!is_plain(resharder, asked->from) || !is_plain(resharder, asked->to))
        return answer_of_blocks(resharder, asked);
    const ReshardPath *borrowed = resharder_borrowed_path(resharder, asked);
    return (ReshardAnswer){.path = borrowed ? borrowed : search_path(resharder, asked, NULL)};
}

static int32_t answer_id(Resharder *resharder, const ReshardKey *asked)
{
    int32_t id = intern_put(resharder->asked, asked, sizeof *asked);
    if (id < resharder->answers.n)
        return id;
    vec_push(resharder->arena, &resharder->answers, (ReshardAnswer){0});
    ReshardAnswer answer = find_answer(resharder, asked); /* which may recurse */
    resharder->answers.at[id] = answer;
    return id;
}

const ReshardPath *reshard(Resharder *resharder, Dtype dtype, int32_t from, int32_t to)
{
    return reshard_inside(resharder, dtype, from, to, 0);
}

const ReshardPath *reshard_inside(Resharder *resharder, Dtype dtype, int32_t from, int32_t to,
                                  AtomSet fixed)
{
    ReshardKey asked = {(int32_t)dtype, from, to, fixed, (float)resharder->fill};
    int32_t id = answer_id(resharder, &asked);
    return resharder->answers.at[id].path;
}

const ReshardPath *reshard_filled(Resharder *resharder, Dtype dtype, int32_t from, int32_t to,
                                  AtomSet fixed, double fill)
{
    resharder->fill = (float)fill;
    const ReshardPath *path = reshard_inside(resharder, dtype, from, to, fixed);
    resharder->fill = 1;
    return path;
}

double reshard_bound_us(Resharder *resharder, Dtype dtype, int32_t from, int32_t to, AtomSet fixed,
                        double fill)
{
    ReshardKey asked = {(int32_t)dtype, from, to, fixed, (float)fill};
    Space space;
    resharder->fill = (double)asked.fill;
    make_space(resharder, &asked, false, &space);
    resharder->fill = 1;
    return resharder->floor->exact ? layout_measure(&space, &space.from).bound : 0;
}

double reshard_least_us(Resharder *resharder, Dtype dtype, int32_t from, int32_t to, AtomSet fixed,
                        double fill, double most)
{
    ReshardKey asked = {(int32_t)dtype, from, to, fixed, (float)fill};
    Arena *scratch = arena_new();
    resharder->fill = (double)asked.fill;
    const Space *space = space_asked(resharder, scratch, &asked, false);
    resharder->fill = 1;
    double us = resharder->floor->exact ? search_least_us(resharder->searcher, space, most) : 0;
    arena_free(scratch);
    return us;
}

static const ReshardPath *find_runner_up(Resharder *resharder, const ReshardKey *asked)
{
    int32_t id = answer_id(resharder, asked);
    ReshardAnswer *answer = &resharder->answers.at[id];
    if (answer->looked_for_other)
        return answer->runner_up;
    AtomSet had = sharding_partials(shardings_at(resharder->shardings, asked->from));
    bool made = sharding_partials(shardings_at(resharder->shardings, asked->to)) & ~had,
         moves = false;
    for (int i = 0; i < answer->path->n_steps; i++)
        moves |= answer->path->step[i].kind != STEP_SLICE;
    const ReshardPath *other = moves && !made ? search_path(resharder, asked, answer->path) : NULL;
    answer->runner_up = other;
    answer->looked_for_other = true;
    return other;
}

const ReshardPath *reshard_runner_up(Resharder *resharder, Dtype dtype, int32_t from, int32_t to,
                                     double fill)
{
    ReshardKey asked = {(int32_t)dtype, from, to, 0, (float)fill};
    resharder->fill = asked.fill;
    const ReshardPath *path = find_runner_up(resharder, &asked);
    resharder->fill = 1;
    return path;
}
