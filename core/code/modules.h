/* modules.h - the modules of a plan that have parameters, with their inputs and outputs. */
#ifndef CORE_CODE_MODULES_H
#define CORE_CODE_MODULES_H

#include "core/base/vec.h"
#include "core/session/session.h"

typedef struct {
    Str path;
    int32_t in, reader;   /* its first argument, and the op that reads it; -1 if there is none */
    int32_t reads;        /* Shardings id in which that op reads it; -1 */
    int32_t out;          /* its result; -1 */
    int32_t weight;       /* -1 */
    int32_t weight_reads; /* Shardings id in which the op reads the weight; -1 */
} CodeModule;

/* The module of naming_path(i); returns false if it has no path or no parameters. */
bool code_module(const Session *session, int i, CodeModule *out);
bool code_module_at(const Session *session, Str path, CodeModule *out);

/* The Shardings id in which an op reads the tensor; -1 if it does not read it. */
int32_t code_read_as(const Plan *plan, int32_t tensor, int32_t op);

Str code_common_path(Str a, Str b); /* the innermost module around both */

typedef Vec(Str) CodePatterns;

/* Patterns of the modules that a training step recomputes, each once; an empty pattern if the ops
 * of a group have no module in common. */
CodePatterns code_recomputed(const Session *session, Arena *arena);

#endif
