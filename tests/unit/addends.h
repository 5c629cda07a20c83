/* addends.h - reshards executed on tagged elements.
 *
 * A device holds, for each element, the set of addends it has summed; a partial value has one
 * addend for each coordinate of the axes that it is partial over. A step may only take what its
 * group holds. Devices are those of the mesh by number, so that two meshes can share some.
 */
#ifndef TESTS_UNIT_ADDENDS_H
#define TESTS_UNIT_ADDENDS_H

#include "tests/unit/owned.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#include "core/reshard/reshard.h"

enum { DEVICES_MAX = 24, ELEMENTS_MAX = 512 };

typedef struct {
    uint32_t of[DEVICES_MAX][ELEMENTS_MAX]; /* 0: not held */
} Addends;

/* Whether the part at a position of the mesh has the element. */
static inline bool holds(const Shape *shape, const Mesh *mesh, const Sharding *sharding,
                         int64_t position, int64_t element)
{
    for (int d = (int)shape->n_dims - 1; d >= 0; d--) {
        int64_t index = element % shape->dim[d];
        element /= shape->dim[d];
        if (!rank_owns(&sharding->dim[d], mesh, position, index))
            return false;
    }
    return true;
}

/* The number of a position among those that differ in these atoms. */
static inline int coordinate(const Mesh *mesh, AtomSet atoms, int64_t position)
{
    int64_t at = 0;
    for (int a = 0; a < mesh->n_atoms; a++)
        if (atoms >> a & 1)
            at = at * mesh->atoms[a].size + mesh_atom_coord(mesh, a, position);
    return (int)at;
}

/* What a whole value has, of one that was partial over the atoms. */
static inline uint32_t all_addends(const Mesh *mesh, AtomSet partial)
{
    int64_t n = partial ? mesh_atoms_size(mesh, partial) : 1;
    return (uint32_t)(((uint64_t)1 << n) - 1);
}

static inline void start(const Shape *shape, const Mesh *mesh, const Sharding *from, Addends *out)
{
    memset(out, 0, sizeof *out);
    for (int64_t p = 0; p < mesh->n_devices; p++)
        for (int64_t e = 0; e < shape_elements(shape); e++)
            if (holds(shape, mesh, from, p, e))
                out->of[mesh_device(mesh, p)][e] = 1u
                                                   << coordinate(mesh, sharding_partials(from), p);
}

/* False: a rank needs what nobody in its group holds, or something is summed twice. */
static inline bool execute(const Shape *shape, const Mesh *mesh, const Shardings *shardings,
                           const Step *step, Addends *addends)
{
    static Addends next;
    memset(&next, 0, sizeof next);
    const Sharding *to = shardings_at(shardings, step->to);
    bool reduces = step->kind == STEP_ALL_REDUCE || step->kind == STEP_REDUCE_SCATTER;
    int64_t members = step->atoms ? mesh_atoms_size(mesh, step->atoms) : 1;
    for (int64_t p = 0; p < mesh->n_devices; p++)
        for (int64_t e = 0; e < shape_elements(shape); e++) {
            uint32_t *sum = &next.of[mesh_device(mesh, p)][e];
            if (!holds(shape, mesh, to, p, e))
                continue;
            for (int64_t i = 0; i < members; i++) {
                int64_t q = step->atoms ? mesh_group_member(mesh, step->atoms, p, i) : p;
                uint32_t have = addends->of[mesh_device(mesh, q)][e];
                if (reduces && (*sum & have))
                    return false;
                *sum |= have;
            }
            if (!*sum)
                return false;
        }
    *addends = next;
    return true;
}

/* Each atom cuts a dim, in the digit of blocks of 3 or another, or nothing, or the value is partial
 * over it by one of four kinds; kinds NULL: it is not partial. */
static inline Sharding random_sharding(const Shape *shape, const Mesh *mesh,
                                       const ReduceOp kinds[4])
{
    Sharding sharding = sharding_whole(shape);
    for (int a = 0; a < mesh->n_atoms; a++) {
        int where = pick((int)shape->n_dims + (kinds ? 2 : 1));
        if (where > shape->n_dims)
            sharding.partial[a] = (uint8_t)kinds[pick(4)];
        if (where >= shape->n_dims)
            continue;
        Cut *cut = &sharding.dim[where];
        if (cut->n == 1 && cut->digit[0].n == 0 && cut->digit[0].size % 3 == 0 && pick(2) == 0)
            *cut = (Cut){.n = 2, .digit = {{.size = 3}, {.size = cut->digit[0].size / 3}}};
        Digit *digit = &cut->digit[cut->n > 1 ? pick((int)cut->n) : 0];
        digit->atom[digit->n++] = (uint8_t)a;
    }
    for (int d = 0; d < sharding.n_dims; d++)
        cut_canonical(&sharding.dim[d], mesh);
    return sharding;
}

#endif
