/* propagator.h - a propagator under one of its profiles: it decides which axes cut what.
 *
 * The program's own is in core/propagate; those of other systems are in their rooms
 * (core/base/peer.h). core/propagate/propagators.h has the table of all propagators.
 */
#ifndef CORE_PLAN_PROPAGATOR_H
#define CORE_PLAN_PROPAGATOR_H

#include "core/base/str.h"

typedef struct Plan Plan;
typedef struct PlanRequest PlanRequest;
typedef struct Propagated Propagated;
typedef struct StopRecord StopRecord; /* core/plan/stop.h */

typedef struct Propagator {
    const char *name, *profile; /* "factor", "shardy" */
    const char *about;          /* one sentence, for help */
    /* Fills *out, which is plan->propagated: cut, reached and pinned are already allocated
     * (core/session/make.c), reached gets Shardings ids. Conflicts become findings. */
    void (*run)(Plan *plan, Propagated *out, const PlanRequest *request);
    /* Why axes went no further at an op of the finished plan: writes records in the arena and
     * returns their number. NULL: it keeps no records, and why-not uses only the op space. */
    int (*stops)(Arena *arena, const Plan *plan, int32_t op, StopRecord **out);
    const char *rule_says; /* why-not: what stopped an axis that the op space would let pass;
                              NULL if nothing else does, or if by_op */
    bool by_op;            /* goes through ops in program order, forward only: each op chooses a
                              row of its table */
    bool own_rules;        /* the op space does not say how axes pass an op */
    bool by_states;        /* its log has the sharding of every tensor: plan_reached() */
    bool incremental;      /* starts from PlanRequest.propagation and .before */
    unsigned obeys;        /* the decision kinds that it obeys, as OBEYS() bits (core/plan/plan.h);
                              plan_decide() reports decisions of other kinds and leaves them out */
    bool may_refuse;       /* accepts --no-redistribute */
    bool keeps_partial;    /* a partial output of the model stays partial; else it is reduced */
} Propagator;

#endif
