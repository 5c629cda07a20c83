/* floor.h - lower bounds of what steps cost on a machine, whatever the path: the constants of
 * bound.h.
 *
 * Computed from the prices themselves, over every set of parts of axes: the time of a step with
 * one byte, and the least cost of one more byte, at several sizes. A product n can be dropped in
 * one step or in several, so the least time of n is the least over its factorisations. On a mesh
 * of more than `atoms_most` atoms only single atoms, axes and the whole mesh are looked at, and the
 * floors prove nothing (exact is false).
 *
 * Atoms are far if a byte over any set that includes them costs FAR times the cheapest.
 */
#ifndef CORE_RESHARD_FLOOR_H
#define CORE_RESHARD_FLOOR_H

#include "core/reshard/space.h"

/* For `atoms_most`: where it must be fast, and where it must prove something. */
enum { FLOOR_ATOMS_MAX = 7, FLOOR_ATOMS_EXACT = 14 };

typedef struct {
    bool exact;
    int n_sizes; /* products of atoms, ascending; drop_us and reduce_us have the same indices */
    int64_t *size;
    double *drop_us, *reduce_us;
    Pricing pricing; /* without its functions */
} Floor;

Floor *floor_of(Arena *arena, Pricer *pricer, const Mesh *mesh, int atoms_most);

/* n: a product of atoms. */
double floor_drop_us(const Floor *floor, int64_t n);
double floor_reduce_us(const Floor *floor, int64_t n);

#endif
