/* collective.h - one step of a reshard in shared memory: each rank fills its own target.
 *
 * A rank's target is filled from the parts of its group: per dim, the runs of a member's part are
 * intersected with the runs of the target. Members that differ on axes that shard the source hold
 * other elements. Members that differ on axes over which the source is partial, and which the step
 * reduces, hold addends; these are combined in rank order, so that all ranks get the same bits.
 * This one rule does slice, all-gather, all-reduce, reduce-scatter and all-to-all, and checks them:
 * a target element that the group does not hold is an error. The exception is a shard that becomes
 * an addend of a partial sum over the axes that shard it: it is surrounded by zeros. A source that
 * is partial over axes that also shard it has addends that overlap at the borders of its parts: a
 * target element is the sum over all members that have it. Along a dim that carries, it is the sum
 * of the rank's own element and the last elements of the ranks before it.
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

/* What a step does with each atom: reduces over it, leaves each rank at its own coordinate, or
 * makes a partial sum over it. */
typedef struct {
    AtomSet summed, own, made;
    ReduceOp reduce; /* of the summed atoms */
    bool overlaps;   /* addends do, at the borders of parts */
    bool pads;       /* the target is zeroed before the parts: a shard becomes an addend, with zeros
                      * around it, or addends overlap */
} AtomRoles;

/* What a member's part contributes to another's target. Carried: its last element along the dim
 * that carries, or its first if that runs from the end, is added to all. */
typedef enum { PART_UNREAD, PART_COPIED, PART_ADDED, PART_CARRIED } PartUse;

/* ERROR_RUN: addends are outside the group, or a whole value cannot be made partial by that
 * reduction. */
bool collective_roles(const Collective *collective, AtomRoles *out, Error *err);
PartUse collective_use(const Collective *collective, const AtomRoles *roles, int64_t position,
                       int64_t member);

/* Where the roles have `pads`, fills the target with what a reduction starts from: 0, or 1 for a
 * product. */
void collective_clear(const AtomRoles *roles, Local *target);

/* Call after all parts: checks that n_copied covers the target, divides a mean, and where a whole
 * value becomes a partial sum, zeroes the target on all ranks but one. */
bool collective_finish(const Collective *collective, const AtomRoles *roles, int64_t position,
                       int64_t n_copied, Local *target, Error *err);

/* Whether collective_finish() zeroes the target on this rank. */
bool collective_is_blank(const Collective *collective, const AtomRoles *roles, int64_t position);

/* Fills target, the part of the rank at `position` under `to`. held: the parts of its group under
 * `from`, in group order (mesh_group_member). Thread-safe for a shared `held`. ERROR_RUN: elements
 * or addends are outside the group, or collective_roles() fails. */
bool collective_run(const Collective *collective, int64_t position, const Local *const *held,
                    Local *target, Arena *scratch, Error *err);

#endif
