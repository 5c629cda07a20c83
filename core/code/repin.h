/* repin.h - decisions that reproduce a plan with the default propagator and from a policy.
 *
 * The decisions that hold are tried first. If they do not give the same plan (another propagator
 * made it, or a policy cannot express one of them), ops and tensors that differ are pinned as they
 * are in the plan, in program order and equal ones together, until none differ.
 */
#ifndef CORE_CODE_REPIN_H
#define CORE_CODE_REPIN_H

#include "core/session/session.h"

typedef struct {
    int n, n_own; /* the first n_own decisions are the plan's own */
    const Decision *decision;
    int n_inexpressible; /* decisions of the plan that no policy can express, or that contradict
                          * each other
                          */
} Repinned;

Repinned repin(const Session *session, Arena *arena);

/* Only the decisions that hold, for the same propagator. */
Repinned repin_own(const Session *session, Arena *arena);

typedef struct {
    int n_ops, n_tensors; /* number that are sharded, or stored, differently */
    int n_moved;          /* ops on other devices, or in another stage */
    bool same;            /* nothing differs, and the costs are equal */
} RepinDifference;

/* Makes a plan from these decisions and compares it with the session's. */
RepinDifference repin_compare(const Session *session, const Decision *decision, int n,
                              const Propagator *propagator);

#endif
