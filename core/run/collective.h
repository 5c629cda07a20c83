/* collective.h - one step of a reshard, done by every rank for itself over memory all can read.
 *
 * A rank's target is filled from the members of its group: per dim, the runs of a member's part are
 * intersected with the runs of the target. Members with other coordinates on the axes that cut the
 * source hold other elements; members with other coordinates on the axes over which it is partial,
 * and which the step makes whole, hold addends, and are combined in rank order, so that all ranks
 * get the same bits. This one rule is slice, all-gather, all-reduce, reduce-scatter and all-to-all,
 * and the proof of them: a target element that the group does not hold is an error.
 */
#ifndef CORE_RUN_COLLECTIVE_H
#define CORE_RUN_COLLECTIVE_H

#include "core/reshard/reshard.h"
#include "core/run/local.h"

typedef struct {
    const Mesh *mesh;
    const Sharding *from, *to;
    AtomSet atoms; /* the groups: Step.atoms */
} Collective;

/* What a step does with each atom: sums it away, or keeps each rank on its own coordinate. */
typedef struct {
    AtomSet summed, own;
    ReduceOp reduce; /* of the summed atoms */
} Roles;

/* What the part of a member is to another's target. */
typedef enum { PART_UNREAD, PART_COPIED, PART_ADDED } PartUse;

/* ERROR_RUN: addends are outside the group, or the target would be partial by a reduction that a
 * whole value is not made into. */
bool collective_roles(const Collective *collective, Roles *out, Error *err);
PartUse collective_use(const Collective *collective, const Roles *roles, int64_t position,
                       int64_t member);

/* After all parts: n_copied elements were copied, which must be all of the target's, in which the
 * addends are combined. What is made a sum is made blank on all ranks but one, a mean divided. */
bool collective_finish(const Collective *collective, const Roles *roles, int64_t position,
                       int64_t n_copied, Local *target, Error *err);

/* Whether that makes it blank on this rank. */
bool collective_is_blank(const Collective *collective, int64_t position);

/* Fills target, the part that the rank at `position` has under `to`. held: the parts under `from`
 * of the members of its group, in group order (mesh_group_member). Safe to call from several
 * threads that share `held`. ERROR_RUN: elements or addends are outside the group, or roles that
 * there are none for. */
bool collective_run(const Collective *collective, int64_t position, const Local *const *held,
                    Local *target, Arena *scratch, Error *err);

#endif
