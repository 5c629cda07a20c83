#include "core/reshard/floor.h"

#include "core/base/sorted.h"

#include <math.h>

/* Payloads at which the price of one more byte is computed. */
static const int64_t samples[] = {1 << 8, 1 << 15, 1 << 22, (int64_t)1 << 33};

enum { N_SAMPLES = sizeof samples / sizeof *samples };

static const double far_from = 1.2; /* times the cheapest byte */

static double less(double a, double b)
{
    return a < b ? a : b;
}

/* The least of each over some sets of atoms. */
typedef struct {
    Least drop, reduce, permute, grow;
    double gather_byte_us, move_byte_us; /* drop's two kinds */
} Leasts;

#define NOTHING                                                                                    \
    {                                                                                              \
        INFINITY, INFINITY                                                                         \
    }
static const Leasts nothing_seen = {NOTHING, NOTHING, NOTHING, NOTHING, INFINITY, INFINITY};

static Least least_of_kind(Pricer *pricer, StepKind kind, AtomSet atoms, double share)
{
    Least least = {pricer_step(pricer, kind, atoms, 1).us, INFINITY};
    for (int i = 0; i < N_SAMPLES; i++) {
        double more = pricer_step(pricer, kind, atoms, samples[i]).us - least.us;
        least.byte_us = less(least.byte_us, more / (double)samples[i] / share);
    }
    least.us -= least.byte_us * share; /* of a payload of one byte */
    return least;
}

static void lower(Least *least, Least other)
{
    least->us = less(least->us, other.us);
    least->byte_us = less(least->byte_us, other.byte_us);
}

static double beyond_scatter(Pricer *pricer, AtomSet atoms, int64_t bytes)
{
    double reduce = pricer_step(pricer, STEP_ALL_REDUCE, atoms, bytes).us;
    double scatter = pricer_step(pricer, STEP_REDUCE_SCATTER, atoms, bytes).us;
    return reduce > scatter ? reduce - scatter : 0;
}

/* What an all-reduce costs more than a reduce-scatter of the same payload, at any size. */
static Least growth(Pricer *pricer, AtomSet atoms, double share)
{
    Least least = {beyond_scatter(pricer, atoms, 1), INFINITY};
    for (int i = 0; i < N_SAMPLES; i++)
        least.us = less(least.us, beyond_scatter(pricer, atoms, samples[i]));
    for (int i = 0; i < N_SAMPLES; i++) {
        double more = beyond_scatter(pricer, atoms, samples[i]) - least.us;
        least.byte_us = less(least.byte_us, more / (double)samples[i] / share);
    }
    return least;
}

static int place_of(const Floor *floor, int64_t n)
{
    int lo = sorted_place(floor->size, floor->n_sizes, n);
    return lo < floor->n_sizes && floor->size[lo] == n ? lo : -1;
}

static void add_size(Floor *floor, int64_t n)
{
    int at = floor->n_sizes;
    if (place_of(floor, n) >= 0)
        return;
    for (; at > 0 && floor->size[at - 1] > n; at--)
        floor->size[at] = floor->size[at - 1];
    floor->size[at] = n;
    floor->n_sizes++;
}

static Leasts look_at(Pricer *pricer, AtomSet atoms, int64_t n)
{
    double share = 1 - 1 / (double)n;
    Leasts seen = {.drop = least_of_kind(pricer, STEP_ALL_GATHER, atoms, share)};
    Least move = least_of_kind(pricer, STEP_ALL_TO_ALL, atoms, share);
    seen.gather_byte_us = seen.drop.byte_us;
    seen.move_byte_us = move.byte_us;
    lower(&seen.drop, move);
    seen.reduce = least_of_kind(pricer, STEP_REDUCE_SCATTER, atoms, share);
    lower(&seen.reduce, least_of_kind(pricer, STEP_ALL_REDUCE, atoms, share));
    seen.permute = least_of_kind(pricer, STEP_PERMUTE, atoms, 1);
    seen.grow = growth(pricer, atoms, share);
    lower(&seen.grow, seen.drop);
    return seen;
}

static void lower_all(Leasts *least, const Leasts *other)
{
    lower(&least->drop, other->drop);
    lower(&least->reduce, other->reduce);
    lower(&least->permute, other->permute);
    lower(&least->grow, other->grow);
}

/* ---- far atoms ---- */

static int far_place(const FarCosts *costs, int64_t size)
{
    for (int i = 0; i < costs->n; i++)
        if (costs->size[i] == size)
            return i;
    return -1;
}

static void add_far_size(FarCosts *costs, int64_t size)
{
    if (size == 1 || costs->n == FAR_SIZES || far_place(costs, size) >= 0)
        return;
    int at = costs->n++;
    for (; at > 0 && costs->size[at - 1] > size; at--)
        costs->size[at] = costs->size[at - 1];
    costs->size[at] = size;
}

/* In one step with other atoms, or in several of which the later ones carry more. */
static void least_over_far_steps(const FarCosts *costs, double *us)
{
    for (int i = 0; i < costs->n; i++)
        for (int k = i + 1; k < costs->n; k++)
            if (costs->size[k] % costs->size[i] == 0)
                us[i] = less(us[i], us[k]);
    for (int i = 0; i < costs->n; i++)
        for (int k = 0; k < i; k++) {
            int rest = far_place(costs, costs->size[i] / costs->size[k]);
            if (costs->size[i] % costs->size[k] == 0 && rest >= 0)
                us[i] = less(us[i], us[k] + (double)costs->size[k] * us[rest]);
        }
}

static FarCosts far_costs_of(const Mesh *mesh, AtomSet far, const AtomSet *set, const Leasts *seen,
                             int n_sets)
{
    FarCosts costs = {.move_us = INFINITY};
    for (int i = 0; i < n_sets; i++)
        add_far_size(&costs, mesh_atoms_size(mesh, set[i] & far));
    for (int i = 0; i < costs.n; i++)
        costs.vanish_us[i] = costs.reduce_us[i] = costs.grow_us[i] = INFINITY;
    for (int i = 0; i < n_sets; i++) {
        int at = far_place(&costs, mesh_atoms_size(mesh, set[i] & far));
        double n = (double)mesh_atoms_size(mesh, set[i]);
        if (at < 0)
            continue;
        costs.vanish_us[at] = less(costs.vanish_us[at], (n - 1) * seen[i].gather_byte_us);
        costs.reduce_us[at] = less(costs.reduce_us[at], (n - 1) * seen[i].reduce.byte_us);
        costs.grow_us[at] = less(costs.grow_us[at], (n - 1) * seen[i].grow.byte_us);
        costs.move_us = less(costs.move_us, less((1 - 1 / n) * seen[i].move_byte_us,
                                                 (n - 1) * seen[i].gather_byte_us));
    }
    least_over_far_steps(&costs, costs.vanish_us);
    least_over_far_steps(&costs, costs.reduce_us);
    least_over_far_steps(&costs, costs.grow_us);
    return costs;
}

/* Over all sets, and over those with far atoms: sets that alone cost more than the cheapest. */
static Pricing leasts_of(const Mesh *mesh, const AtomSet *set, const Leasts *seen, int n_sets)
{
    Leasts all = nothing_seen, far = all;
    Pricing out = {.far = 0};
    for (int i = 0; i < n_sets; i++)
        lower_all(&all, &seen[i]);
    for (int i = 0; i < n_sets; i++)
        if (!(set[i] & (set[i] - 1)) && seen[i].drop.byte_us > far_from * all.drop.byte_us)
            out.far |= set[i];
    for (int i = 0; i < n_sets; i++)
        if (set[i] & out.far)
            lower_all(&far, &seen[i]);
    out.drop_byte_us = all.drop.byte_us;
    out.reduce_byte_us = all.reduce.byte_us;
    out.permute = all.permute;
    out.grow = all.grow;
    out.far_drop = far.drop;
    out.far_reduce = far.reduce;
    out.far_permute = far.permute;
    out.far_grow = far.grow;
    out.far_costs = far_costs_of(mesh, out.far, set, seen, n_sets);
    return out;
}

/* ---- products of atoms ---- */

/* INFINITY for a size that was not looked at. */
static double rest_us(const Floor *floor, const double *us, int64_t n)
{
    int at = place_of(floor, n);
    return at < 0 ? INFINITY : us[at];
}

/* One step over more than n covers n; so do several steps whose product n divides. */
static void least_over_steps(const Floor *floor, double *us)
{
    for (int i = 0; i < floor->n_sizes; i++)
        for (int k = i + 1; k < floor->n_sizes; k++)
            if (floor->size[k] % floor->size[i] == 0)
                us[i] = less(us[i], us[k]);
    for (int i = 0; i < floor->n_sizes; i++)
        for (int k = 0; k < i; k++)
            if (floor->size[i] % floor->size[k] == 0)
                us[i] = less(us[i], us[k] + rest_us(floor, us, floor->size[i] / floor->size[k]));
}

/* The sets that are looked at: all, or single atoms, axes and the mesh. */
static AtomSet nth_set(const Mesh *mesh, bool all, int i)
{
    if (all)
        return (AtomSet)i + 1;
    if (i < mesh->n_atoms)
        return (AtomSet)1 << i;
    i -= mesh->n_atoms;
    return i < mesh->n_axes ? mesh_axis_atoms(mesh, i) : ((AtomSet)1 << mesh->n_atoms) - 1;
}

Floor *floor_of(Arena *arena, Pricer *pricer, const Mesh *mesh, int atoms_most)
{
    Floor *floor = arena_make(arena, Floor);
    floor->exact = mesh->n_atoms <= atoms_most;
    int n_sets = floor->exact ? (1 << mesh->n_atoms) - 1 : mesh->n_atoms + mesh->n_axes + 1, n = 0;
    AtomSet *set = arena_array(arena, AtomSet, n_sets);
    Leasts *seen = arena_array(arena, Leasts, n_sets);
    for (int i = 0; i < n_sets; i++) {
        AtomSet atoms = nth_set(mesh, floor->exact, i);
        int64_t size = mesh_atoms_size(mesh, atoms);
        if (size == 1)
            continue; /* an axis of one device */
        set[n] = atoms;
        seen[n++] = look_at(pricer, atoms, size);
    }
    if (n == 0)
        return floor;
    floor->pricing = leasts_of(mesh, set, seen, n);
    floor->size = arena_array(arena, int64_t, n);
    for (int i = 0; i < n; i++)
        add_size(floor, mesh_atoms_size(mesh, set[i]));
    floor->drop_us = arena_array(arena, double, floor->n_sizes);
    floor->reduce_us = arena_array(arena, double, floor->n_sizes);
    for (int i = 0; i < floor->n_sizes; i++)
        floor->drop_us[i] = floor->reduce_us[i] = INFINITY;
    for (int i = 0; i < n; i++) {
        int at = place_of(floor, mesh_atoms_size(mesh, set[i]));
        floor->drop_us[at] = less(floor->drop_us[at], seen[i].drop.us);
        floor->reduce_us[at] = less(floor->reduce_us[at], seen[i].reduce.us);
    }
    least_over_steps(floor, floor->drop_us);
    least_over_steps(floor, floor->reduce_us);
    return floor;
}

/* The value at the largest size looked at that does not exceed n. */
static double least_for(const Floor *floor, const double *us, int64_t n)
{
    int at = 0;
    while (at + 1 < floor->n_sizes && floor->size[at + 1] <= n)
        at++;
    return floor->n_sizes > 0 ? us[at] : 0;
}

double floor_drop_us(const Floor *floor, int64_t n)
{
    return least_for(floor, floor->drop_us, n);
}

double floor_reduce_us(const Floor *floor, int64_t n)
{
    return least_for(floor, floor->reduce_us, n);
}
