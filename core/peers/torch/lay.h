/* lay.h - how tensors of a program lie, in torch's words: a placement per mesh axis. Interned.
 *
 * Digits and placements say most layouts of each other (placement.h). In profile torch, which has
 * no blocks, IS(d,k) is _S(d,k): the same elements.
 */
#ifndef CORE_PEERS_TORCH_LAY_H
#define CORE_PEERS_TORCH_LAY_H

#include "core/base/intern.h"
#include "core/layout/placement.h"

typedef struct {
    Placement at[MESH_AXES_MAX]; /* in one form: what a kind does not use is 0, factors are 1 */
    int64_t view_made;           /* as StrategyTensor has it */
} Lay;

typedef struct {
    Intern *ids;
    const Mesh *mesh;
    bool blocks; /* IS is kept */
} Lays;

enum { LAY_NONE = -1, LAY_WHOLE = 0 /* replicated */ };

Lays lays_new(Arena *arena, const Mesh *mesh, bool blocks);
int32_t lays_put(Lays *lays, const Placement *placements, bool view_made);
const Lay *lays_at(const Lays *lays, int32_t id);

/* False: no placement says it; dims that none says are then replicated. */
bool lays_of_sharding(Lays *lays, const Sharding *sharding, int32_t *out);
/* As digits, addends aside; all whole where digits do not say it. */
Sharding lays_sharding(const Lays *lays, int32_t id, const Shape *shape);

bool placements_are_strided(const Placement *placements, int n_axes); /* some are */

#endif
