#include "core/reshard/alike.h"

#include <stdlib.h>

enum { ATOM_BITS = 5, LIST_MAX = 12, FORM_AT = 56, SEVERAL = -2 };

/* A slot by what shards it before and after. */
typedef struct {
    uint64_t from, to, size;
} AlikeSlot;

static int compare_slots(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(AlikeSlot));
}

/* One search finds a path between plain cuts that does not make addends. */
static bool is_searched(const Sharding *from, const Sharding *to)
{
    bool plain = !sharding_has_halo(from) && !sharding_has_halo(to) &&
                 !(sharding_partials(to) & ~sharding_partials(from));
    for (int64_t d = 0; plain && d < from->n_dims; d++)
        plain = cut_is_plain(&from->dim[d]) && cut_is_plain(&to->dim[d]);
    return plain;
}

/* -1: none. */
static int dim_of_two_forms(const Space *space)
{
    int dim = -1;
    for (int s = 0; s < space->n_slots; s++)
        if (space->slot[s].form > 0)
            dim = dim == -1 || dim == space->slot[s].dim ? space->slot[s].dim : SEVERAL;
    return dim;
}

static void put_place(AlikeSlot *slot, const Layout *layout, int atom, bool before)
{
    uint16_t place = layout->place[atom];
    if (!place_cuts(place))
        return;
    uint64_t *list = before ? &slot[place_slot(place)].from : &slot[place_slot(place)].to;
    *list |= (uint64_t)(atom + 1) << ATOM_BITS * place_at(place);
}

int reshard_alike(const Sharding *from, const Sharding *to, const Mesh *mesh, AtomSet without,
                  double element_bytes, uint64_t key[ALIKE_WORDS])
{
    Space space;
    if (mesh->n_atoms > LIST_MAX || !is_searched(from, to))
        return 0;
    space_of(from, to, mesh, without, element_bytes, true, &space);
    int two_forms = dim_of_two_forms(&space);
    if (two_forms == SEVERAL)
        return 0;
    AlikeSlot slot[SLOTS_MAX];
    memset(slot, 0, sizeof *slot * (size_t)space.n_slots);
    double bytes = space.unit;
    int n = 0;
    for (int s = 0; s < space.n_slots; s++) {
        slot[s].size = space.even ? 0 : (uint64_t)space.slot[s].size;
        if (space.slot[s].dim == two_forms) /* slots of one form exclude those of the other */
            slot[s].size |= (uint64_t)(1 + space.slot[s].form) << FORM_AT;
        bytes *= (double)space.slot[s].size;
    }
    key[n++] = (uint64_t)space.n_slots << 32 | (uint64_t)space.n_atoms;
    memcpy(&key[n++], &bytes, sizeof bytes);
    key[n++] = space.kept;
    for (int a = 0; a < space.n_atoms; a++) {
        put_place(slot, &space.from, a, true);
        put_place(slot, &space.to, a, false);
        key[n++] = (uint64_t)space.of_mesh[a] << 32 | space.reduce[a] |
                   (uint64_t)(space.from.place[a] == ATOM_PARTIAL) << 8 |
                   (uint64_t)space.runs_on[a] << 9;
    }
    qsort(slot, (size_t)space.n_slots, sizeof *slot, compare_slots);
    memcpy(key + n, slot, sizeof *slot * (size_t)space.n_slots);
    return n + 3 * space.n_slots;
}
