/* system_call.h - one op twice: as a call of ours, which a kernel runs, and as another system
 * writes it, which its rules read.
 *
 *     ours       ReduceSum  5x6x4, =[1]   keepdims=0
 *     torch's    sum        5x6x4         dim=[1] keepdim=0
 *
 * What differs is a table row: their attributes, which of our operands theirs are, and, where they
 * have an operator in several of ours (bmm), which of ours computes it. Where no row says so, the
 * names of alias.h do, as far as they alone are enough: our examples (example.h) then serve.
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
    const int *input;   /* per input of theirs: which of ours; -1: none */
    const Shape *shape; /* of those that are none of ours: they only say a shape. n_dims -1: absent,
                           as is an input of ours that is */
} SystemCall;
typedef Vec(SystemCall) SystemCalls;

/* Appends the calls that are known of that name in that system. False with *err: our tables are
 * wrong. */
bool system_calls(Arena *arena, const Registry *registry, SystemId system, Str name,
                  SystemCalls *out, Error *err);

/* Calls of an operator of ours, or of a user's, by rules that have its own names: its examples. */
bool system_calls_own(Arena *arena, const Operator *row, SystemCalls *out, Error *err);

#endif
