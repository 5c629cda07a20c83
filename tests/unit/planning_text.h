/* planning_text.h - a plan of a graph that is written as text (graph_text.h). */
#ifndef TESTS_UNIT_PLANNING_TEXT_H
#define TESTS_UNIT_PLANNING_TEXT_H

#include "tests/unit/planning.h"

#include "tests/unit/graph_text.h"

static inline Planning *planning_text(const char *text, const char *mesh)
{
    Arena *arena = arena_new();
    Planning *p = arena_make(arena, Planning);
    p->arena = arena;
    p->graph = graph_from_text(arena, text, 18);
    planning_infer(p, "", mesh);
    return p;
}

#endif
