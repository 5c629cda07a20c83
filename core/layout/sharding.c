#include "core/layout/sharding.h"
#include "core/base/intern.h"
#include "core/layout/sharding_find.h"

_Static_assert(sizeof(Sharding) == sizeof(int64_t) + DIMS_MAX * sizeof(Cut) + ATOMS_MAX + 4,
               "a sharding has no padding: it is interned as bytes");

struct Shardings {
    Intern *intern;
};

Shardings *shardings_new(Arena *arena)
{
    Shardings *shardings = arena_make(arena, Shardings);
    shardings->intern = intern_new(arena);
    return shardings;
}

int32_t shardings_put(Shardings *shardings, const Sharding *sharding)
{
    return intern_put(shardings->intern, sharding, sizeof *sharding);
}

int32_t shardings_find(const Shardings *shardings, const Sharding *sharding)
{
    return intern_find(shardings->intern, sharding, sizeof *sharding);
}

const Sharding *shardings_at(const Shardings *shardings, int32_t id)
{
    return intern_key(shardings->intern, id, NULL);
}

int32_t shardings_count(const Shardings *shardings)
{
    return intern_count(shardings->intern);
}

Sharding sharding_whole(const Shape *shape)
{
    Sharding sharding = {.n_dims = shape->n_dims};
    for (int64_t d = 0; d < shape->n_dims; d++)
        sharding.dim[d] = cut_whole(shape->dim[d]);
    return sharding;
}

AtomSet sharding_atoms(const Sharding *sharding)
{
    AtomSet atoms = 0;
    for (int64_t d = 0; d < sharding->n_dims; d++)
        atoms |= cut_atoms(&sharding->dim[d]);
    return atoms;
}

AtomSet sharding_partials(const Sharding *sharding)
{
    AtomSet atoms = 0;
    for (int i = 0; i < ATOMS_MAX; i++)
        if (sharding->partial[i] != REDUCE_NONE)
            atoms |= 1u << i;
    return atoms;
}

Sharding sharding_without_partial(const Sharding *sharding)
{
    Sharding whole = *sharding;
    memset(whole.partial, REDUCE_NONE, sizeof whole.partial);
    return whole;
}

bool sharding_equal(const Sharding *a, const Sharding *b)
{
    if (a->n_dims != b->n_dims || memcmp(a->partial, b->partial, sizeof a->partial) != 0)
        return false;
    for (int64_t d = 0; d < a->n_dims; d++)
        if (!cut_equal(&a->dim[d], &b->dim[d]))
            return false;
    return true;
}

bool sharding_only_sums(const Sharding *sharding)
{
    for (int a = 0; a < ATOMS_MAX; a++)
        if (sharding->partial[a] != REDUCE_NONE && sharding->partial[a] != REDUCE_SUM)
            return false;
    return true;
}

bool sharding_is_addend(const Sharding *has, const Sharding *needs, AtomSet partial,
                        const Mesh *mesh)
{
    for (int64_t d = 0; d < has->n_dims; d++) {
        Cut less = cut_without(&has->dim[d], partial, mesh);
        AtomSet gone = cut_atoms(&has->dim[d]) & ~cut_atoms(&less);
        if (!cut_equal(&has->dim[d], &needs->dim[d]) &&
            ((gone & ~partial) || !cut_equal(&less, &needs->dim[d])))
            return false;
    }
    return true;
}

bool sharding_has_sizes(const Sharding *sharding)
{
    for (int64_t d = 0; d < sharding->n_dims; d++)
        if (cut_has_sizes(&sharding->dim[d]))
            return true;
    return false;
}

bool sharding_is_uneven(const Sharding *sharding, const Mesh *mesh)
{
    for (int64_t d = 0; d < sharding->n_dims; d++)
        if (cut_is_uneven(&sharding->dim[d], mesh))
            return true;
    return false;
}

void sharding_local_shape(const Sharding *sharding, const Mesh *mesh, int64_t position, Shape *out)
{
    *out = (Shape){.n_dims = sharding->n_dims};
    for (int64_t d = 0; d < sharding->n_dims; d++)
        out->dim[d] = cut_local_size(&sharding->dim[d], mesh, position);
}

int64_t sharding_local_elements(const Sharding *sharding, const Mesh *mesh, int64_t position)
{
    int64_t n = 1;
    for (int64_t d = 0; d < sharding->n_dims; d++)
        n *= cut_local_size(&sharding->dim[d], mesh, position);
    return n;
}

int64_t sharding_most_elements(const Sharding *sharding, const Mesh *mesh)
{
    int64_t n = 1;
    for (int64_t d = 0; d < sharding->n_dims; d++)
        n *= cut_most_size(&sharding->dim[d], mesh);
    return n;
}

bool sharding_has_halo(const Sharding *sharding)
{
    for (int64_t d = 0; d < sharding->n_dims; d++)
        if (cut_has_halo(&sharding->dim[d]))
            return true;
    return false;
}

bool sharding_has_ring(const Sharding *sharding)
{
    for (int64_t d = 0; d < sharding->n_dims; d++)
        if (cut_is_ring(&sharding->dim[d]))
            return true;
    return false;
}

int sharding_carried_dim(const Sharding *sharding)
{
    for (int d = 0; d < sharding->n_dims; d++)
        if (cut_carries(&sharding->dim[d]))
            return d;
    return -1;
}

Sharding sharding_without_halo(const Sharding *sharding)
{
    Sharding plain = *sharding;
    for (int64_t d = 0; d < plain.n_dims; d++)
        plain.dim[d].before = plain.dim[d].after = plain.dim[d].around = 0;
    return plain;
}

Sharding sharding_settled(const Sharding *sharding)
{
    Sharding settled = sharding_without_halo(sharding);
    for (int64_t d = 0; d < sharding->n_dims; d++)
        for (int a = 0; cut_has_halo(&sharding->dim[d]) && a < ATOMS_MAX; a++)
            if (cut_atoms(&sharding->dim[d]) >> a & 1)
                settled.partial[a] = REDUCE_NONE;
    return settled;
}

bool reduce_from_name(Str name, ReduceOp *out)
{
    for (ReduceOp reduce = REDUCE_SUM; reduce <= REDUCE_ALL; reduce++)
        if (str_eq(name, str_from(reduce_name(reduce)))) {
            *out = reduce;
            return true;
        }
    *out = REDUCE_PROD;
    return str_eq(name, STR("product"));
}
