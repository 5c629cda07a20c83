/* lay.h - interns the placements of a program's tensors, one placement per mesh axis.
 *
 * Most shardings can be converted to placements and back (placement.h). In profile torch, which has
 * no IS(d,k), _S(d,k) stands for the same elements.
 */
#ifndef CORE_PEERS_TORCH_LAY_H
#define CORE_PEERS_TORCH_LAY_H

#include "core/base/intern.h"
#include "core/layout/placement.h"

typedef struct {
    Placement at[MESH_AXES_MAX]; /* normalised: unused fields are 0, factors 1 */
    int64_t view_made;           /* as in StrategyTensor */
} Lay;

typedef struct {
    Intern *ids;
    const Mesh *mesh;
    bool blocks; /* keep IS */
} Lays;

enum { LAY_NONE = -1, LAY_WHOLE = 0 /* replicated */ };

Lays lays_new(Arena *arena, const Mesh *mesh, bool blocks);
int32_t lays_put(Lays *lays, const Placement *placements, bool view_made);
const Lay *lays_at(const Lays *lays, int32_t id);

/* Returns false if placements cannot express some dims; these are then replicated. */
bool lays_of_sharding(Lays *lays, const Sharding *sharding, int32_t *out);
/* Converts to a sharding without partial axes; replicated if digits cannot express it. */
Sharding lays_sharding(const Lays *lays, int32_t id, const Shape *shape);

bool placements_are_strided(const Placement *placements, int n_axes); /* any of them */

#endif
