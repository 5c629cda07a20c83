/* propagator.h - who decides which axes cut what: a propagator under one of its profiles.
 *
 * The program's own is in core/propagate; other systems' are in their rooms (core/base/peer.h).
 * core/propagate/propagators.h has the table of them all.
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
    /* Fills *out, which is plan->propagated: cut, reached and pinned come allocated
     * (core/session/make.c), reached takes Shardings ids. Conflicts become findings. */
    void (*run)(Plan *plan, Propagated *out, const PlanRequest *request);
    /* Why axes went no further at an op of the finished plan: records in the arena, and how many.
     * NULL: it keeps none, and why-not goes by the op space alone. */
    int (*stops)(Arena *arena, const Plan *plan, int32_t op, StopRecord **out);
    const char *rule_says; /* why-not: what stopped an axis that the op space would let pass; NULL
                              if nothing else does, or if it goes by op */
    bool by_op;            /* in program order, forward only: ops choose rows */
    bool own_rules;        /* the op space does not tell how axes pass an op */
    bool by_states;        /* its log tells the sharding of every tensor: plan_reached() */
    bool incremental;      /* starts from PlanRequest.propagation and .before */
    unsigned obeys;     /* decision kinds that change its plan, as OBEYS() bits (core/plan/plan.h);
                           plan_decide() reports decisions of other kinds and leaves them out */
    bool may_refuse;    /* takes --no-redistribute */
    bool keeps_partial; /* an output of the model that is partial stays so until somebody asks for
                           its total; else it is reduced */
} Propagator;

#endif
