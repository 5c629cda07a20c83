/* system_call.h - one op in two forms: our call, which a kernel runs, and another system's call,
 * which its rules read.
 *
 *     ours       ReduceSum  5x6x4, =[1]   keepdims=0
 *     torch's    sum        5x6x4         dim=[1] keepdim=0
 *
 * The column `calls` of an operator's row (registry.h) has those that differ, one text a system:
 *
 *     sum nansum: 5x6x4,=[1] keepdims=0 | dim=[1] keepdim=0; 4x6 keepdims=0; addmm(2,0,1):
 * 5x6,6x7,7
 *
 * Their names, a call of ours as in example.h, their attributes; a call without names has those of
 * the call before. The parentheses hold for each input of theirs the number of ours, 5x6 for one of
 * which only the shape matters, - for one that is absent; without them, theirs are ours in order
 * but for those known before the run. An operator without such a text uses its names in that system
 * (alias.h) and its own examples, as far as they are enough.
 */
#ifndef CORE_RULES_SYSTEM_CALL_H
#define CORE_RULES_SYSTEM_CALL_H

#include "core/rules/example.h"

typedef struct {
    const char *name;     /* theirs, without their system */
    const char *operands; /* ours, as people write them: "5x6x4,=[1]" */
    const Graph *ours;    /* of one op */
    const Graph *theirs;  /* of one op: its attributes */
    int n_inputs, n_outputs;
    const int *input;   /* per input of theirs: which of ours; -1 if it is none of them */
    const Shape *shape; /* of those that are none of ours, of which only the shape matters; n_dims
                           -1: absent */
} SystemCall;
typedef Vec(SystemCall) SystemCalls;

/* Appends the calls of that name in that system. Returns false with *err if the tables are
 * wrong. */
bool system_calls(Arena *arena, const Registry *registry, SystemId system, Str name,
                  SystemCalls *out, Error *err);

/* The calls of an operator, built-in or a user's, under our name for it: its examples. */
bool system_calls_own(Arena *arena, const Operator *row, SystemCalls *out, Error *err);

#endif
