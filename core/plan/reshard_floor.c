#include "core/plan/reshard_floor.h"

#include <math.h>

/* Payloads at which a byte's price is asked for. */
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
} Leasts;

static const Least nothing_seen = {INFINITY, INFINITY};

static Least least_of_kind(Pricer *pricer, StepKind kind, AtomSet atoms, double share)
{
    Least least = {pricer_step(pricer, kind, atoms, 1).us, INFINITY};
    for (int i = 0; i < N_SAMPLES; i++) {
        double more = pricer_step(pricer, kind, atoms, samples[i]).us - least.us;
        least.byte_us = less(least.byte_us, more / (double)samples[i] / share);
    }
    least.us -= least.byte_us * share; /* of the one byte */
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

/* What an all-reduce asks beyond a reduce-scatter of the same, at any size. */
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
    int lo = 0, hi = floor->n_sizes;
    while (lo < hi) {
        int middle = lo + (hi - lo) / 2;
        if (floor->size[middle] < n)
            lo = middle + 1;
        else
            hi = middle;
    }
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

static void look_at(Floor *floor, Pricer *pricer, const Mesh *mesh, AtomSet atoms,
                    Leasts by_atom[ATOMS_MAX])
{
    int64_t n = mesh_atoms_size(mesh, atoms);
    if (n == 1)
        return; /* an axis of one device */
    int at = place_of(floor, n);
    double share = 1 - 1 / (double)n;
    Leasts seen = {least_of_kind(pricer, STEP_ALL_GATHER, atoms, share),
                   least_of_kind(pricer, STEP_REDUCE_SCATTER, atoms, share),
                   least_of_kind(pricer, STEP_PERMUTE, atoms, 1), growth(pricer, atoms, share)};
    lower(&seen.drop, least_of_kind(pricer, STEP_ALL_TO_ALL, atoms, share));
    lower(&seen.reduce, least_of_kind(pricer, STEP_ALL_REDUCE, atoms, share));
    floor->drop_us[at] = less(floor->drop_us[at], seen.drop.us);
    floor->reduce_us[at] = less(floor->reduce_us[at], seen.reduce.us);
    lower(&seen.grow, seen.drop);
    for (int a = 0; a < mesh->n_atoms; a++) {
        if (!(atoms >> a & 1))
            continue;
        lower(&by_atom[a].drop, seen.drop);
        lower(&by_atom[a].reduce, seen.reduce);
        lower(&by_atom[a].permute, seen.permute);
        lower(&by_atom[a].grow, seen.grow);
    }
}

/* Of all atoms, and of those that are far. */
static Pricing leasts_of(const Mesh *mesh, const Leasts by_atom[ATOMS_MAX])
{
    Leasts all = {nothing_seen, nothing_seen, nothing_seen, nothing_seen}, far = all;
    Pricing out = {.far = 0};
    for (int a = 0; a < mesh->n_atoms; a++) {
        lower(&all.drop, by_atom[a].drop);
        lower(&all.reduce, by_atom[a].reduce);
        lower(&all.permute, by_atom[a].permute);
        lower(&all.grow, by_atom[a].grow);
    }
    for (int a = 0; a < mesh->n_atoms; a++) {
        if (by_atom[a].drop.byte_us <= far_from * all.drop.byte_us)
            continue;
        out.far |= (AtomSet)1 << a;
        lower(&far.drop, by_atom[a].drop);
        lower(&far.reduce, by_atom[a].reduce);
        lower(&far.permute, by_atom[a].permute);
        lower(&far.grow, by_atom[a].grow);
    }
    out.drop_byte_us = all.drop.byte_us;
    out.reduce_byte_us = all.reduce.byte_us;
    out.permute = all.permute;
    out.far_drop = far.drop;
    out.far_reduce = far.reduce;
    out.far_permute = far.permute;
    out.grow = all.grow;
    out.far_grow = far.grow;
    return out;
}

/* INFINITY where that size was not looked at. */
static double rest_us(const Floor *floor, const double *us, int64_t n)
{
    int at = place_of(floor, n);
    return at < 0 ? INFINITY : us[at];
}

/* One step over more than n does for n; several steps do whose product n divides. */
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

Floor *floor_of(Arena *arena, Pricer *pricer, const Mesh *mesh)
{
    Floor *floor = arena_make(arena, Floor);
    floor->exact = mesh->n_atoms <= FLOOR_ATOMS_MAX;
    if (mesh->n_atoms == 0)
        return floor;
    int n_sets = floor->exact ? (1 << mesh->n_atoms) - 1 : mesh->n_atoms + mesh->n_axes + 1;
    floor->size = arena_array(arena, int64_t, n_sets);
    for (int i = 0; i < n_sets; i++)
        add_size(floor, mesh_atoms_size(mesh, nth_set(mesh, floor->exact, i)));
    floor->drop_us = arena_array(arena, double, floor->n_sizes);
    floor->reduce_us = arena_array(arena, double, floor->n_sizes);
    for (int i = 0; i < floor->n_sizes; i++)
        floor->drop_us[i] = floor->reduce_us[i] = INFINITY;
    Leasts by_atom[ATOMS_MAX];
    for (int a = 0; a < mesh->n_atoms; a++)
        by_atom[a] = (Leasts){nothing_seen, nothing_seen, nothing_seen, nothing_seen};
    for (int i = 0; i < n_sets; i++)
        look_at(floor, pricer, mesh, nth_set(mesh, floor->exact, i), by_atom);
    floor->pricing = leasts_of(mesh, by_atom);
    least_over_steps(floor, floor->drop_us);
    least_over_steps(floor, floor->reduce_us);
    return floor;
}

/* Of the largest size looked at that is not larger. */
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
