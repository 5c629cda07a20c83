#include "core/plan/reshard_floor.h"

#include <math.h>

/* Payloads at which a byte's price is asked for. */
static const int64_t samples[] = {1 << 8, 1 << 15, 1 << 22, (int64_t)1 << 33};

enum { N_SAMPLES = sizeof samples / sizeof *samples };

static double less(double a, double b)
{
    return a < b ? a : b;
}

/* The least that one of these kinds asks, into *us and per byte into *byte_us. */
static void least_of(Pricer *pricer, const StepKind kinds[2], AtomSet atoms, double share,
                     double *us, double *byte_us)
{
    for (int k = 0; k < 2; k++) {
        double first = pricer_step(pricer, kinds[k], atoms, 1).us;
        *us = less(*us, first);
        for (int i = 0; i < N_SAMPLES; i++) {
            double more = pricer_step(pricer, kinds[k], atoms, samples[i]).us - first;
            *byte_us = less(*byte_us, more / (double)samples[i] / share);
        }
    }
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

static void look_at(Floor *floor, Pricer *pricer, const Mesh *mesh, AtomSet atoms)
{
    static const StepKind drops[2] = {STEP_ALL_GATHER, STEP_ALL_TO_ALL};
    static const StepKind reduces[2] = {STEP_ALL_REDUCE, STEP_REDUCE_SCATTER};
    static const StepKind permutes[2] = {STEP_PERMUTE, STEP_PERMUTE};
    int64_t n = mesh_atoms_size(mesh, atoms);
    if (n == 1)
        return; /* an axis of one device */
    int at = place_of(floor, n);
    double share = 1 - 1 / (double)n;
    least_of(pricer, drops, atoms, share, &floor->drop_us[at], &floor->drop_byte_us);
    least_of(pricer, reduces, atoms, share, &floor->reduce_us[at], &floor->reduce_byte_us);
    least_of(pricer, permutes, atoms, 1, &floor->permute_us, &floor->permute_byte_us);
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
    floor->permute_us = floor->permute_byte_us = INFINITY;
    floor->drop_byte_us = floor->reduce_byte_us = INFINITY;
    for (int i = 0; i < n_sets; i++)
        look_at(floor, pricer, mesh, nth_set(mesh, floor->exact, i));
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
