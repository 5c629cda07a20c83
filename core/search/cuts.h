/* cuts.h - the legal cuts of each op over a mesh: what a search chooses from.
 *
 * An index dim may be whole, or sharded by any axes that divide it evenly, in the order of the
 * mesh. To these come, if they are asked for, every part of a dim that operands hold parts of by
 * the same axes, (64|32|32)/tp (dim_part.h), and the digits that its neighbours hand on: a Split
 * into three parts lets the product before it be sharded as (3)(768/tp), a flattened dim as
 * (8/dp)(1024/tp). They are found from op to op until no list grows; parts of axes come from given
 * plans alone. The cuts of an op are all combinations in which no axis shards two dims. Frozen dims
 * are whole, but for cuts that keep their parts apart. What given plans do is always among them,
 * also where it is uneven.
 *
 * Ops may be tied: `leader` names for each op of the program the op whose lists it shares.
 */
#ifndef CORE_SEARCH_CUTS_H
#define CORE_SEARCH_CUTS_H

#include "core/plan/plan.h"

typedef struct {
    int n;
    const OpCut **at; /* the first leaves the op whole */
} CutList;

/* Per op, in the arena, for leaders of the forward pass; empty for others. barred: what shards
 * nothing. plans: [n], of the same model and mesh. */
CutList *cuts_of_ops(Arena *arena, const Inferred *inferred, const Mesh *mesh,
                     const int32_t *leader, AtomSet barred, bool digits, const Plan *const *plans,
                     int n_plans);

/* Whether an op is of the forward pass: every op of a model's graph is. */
static inline bool op_is_forward(const Graph *graph, int32_t op)
{
    return !graph->phase || graph->phase[op] == PHASE_FORWARD;
}

#endif
