/* repin.h - decisions that make a plan again, by the default propagator and out of a policy.
 *
 * Those that hold are tried first. Where they do not come to the same plan (another propagator made
 * it, or a policy cannot say one of them) ops and tensors that differ are pinned as they are in the
 * plan, in program order and all that are alike at once, until nothing differs.
 */
#ifndef CORE_CODE_REPIN_H
#define CORE_CODE_REPIN_H

#include "core/session/session.h"

typedef struct {
    int n, n_own; /* the first n_own are the plan's */
    const Decision *decision;
    int n_unsaid; /* decisions of the plan that no policy can say, or not together */
} Repinned;

Repinned repin(const Session *session, Arena *arena);

/* The decisions that hold and nothing else: for the propagator that made the plan. */
Repinned repin_own(const Session *session, Arena *arena);

typedef struct {
    int n_ops, n_tensors; /* that are cut, or lie, otherwise */
    int n_moved;          /* ops on other devices, or of another stage */
    bool same;            /* none, and it costs the same */
} RepinDifference;

/* What the propagator makes of these decisions, beside the plan. */
RepinDifference repin_compare(const Session *session, const Decision *decision, int n,
                              const Propagator *propagator);

#endif
