/* spreads.h - whether axes go on from a pin under a propagator: one that shards what is pinned and
 * nothing else is not asked where they end up. */
#ifndef TESTS_UNIT_SPREADS_H
#define TESTS_UNIT_SPREADS_H

#include "tests/unit/planning.h"

#include "tests/unit/graph_text.h"

static inline bool propagator_spreads(const Propagator *propagator)
{
    Arena *arena = arena_new();
    Planning *p = arena_make(arena, Planning);
    p->arena = arena;
    p->graph = graph_from_text(arena, "g <- Swish f32[8,16]", 17);
    planning_infer(p, "", "dp=2");
    p->propagator = propagator;
    planning_pin(p, "in0", 0, "dp", 1, false);
    planning_make(p);
    bool spreads = strcmp(planning_sharding(p, "g", true), "8/dp,16") == 0;
    planning_close(p);
    return spreads;
}

#endif
