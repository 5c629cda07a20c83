/* collectives_text.h - the collectives of a plan as sorted lines. */
#ifndef TESTS_UNIT_COLLECTIVES_TEXT_H
#define TESTS_UNIT_COLLECTIVES_TEXT_H

#include "tui/cli/plan_text.h"

#include <inttypes.h>
#include <stdlib.h>

static inline int by_kind_and_bytes(const void *a, const void *b)
{
    const CollectiveRow *x = a, *y = b;
    int order = strcmp(step_kind_name(x->kind), step_kind_name(y->kind));
    return order ? order : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* Lines "all_reduce tp 24 12582912": kind, axes, how often, bytes each. */
static inline const char *collectives_text(Arena *arena, const Plan *plan)
{
    CollectiveRow *found;
    int n = plan_collectives(arena, plan, &found);
    Buf out = buf_new(arena);
    if (n > 0)
        qsort(found, (size_t)n, sizeof *found, by_kind_and_bytes);
    for (int i = 0; i < n; i++) {
        uint8_t atom[ATOMS_MAX];
        int n_atoms = 0;
        for (int a = 0; a < plan->mesh->n_atoms; a++)
            if (found[i].atoms >> a & 1)
                atom[n_atoms++] = (uint8_t)a;
        buf_printf(&out, "%s ", step_kind_name(found[i].kind));
        mesh_format_atoms(plan->mesh, atom, n_atoms, ".", &out);
        buf_printf(&out, " %g %" PRId64 "\n", found[i].count, found[i].bytes);
    }
    return out.s;
}

#endif
