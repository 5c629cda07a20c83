/* modules.h - modules with parameters, as a plan has them: what goes in, what comes out. */
#ifndef CORE_CODE_MODULES_H
#define CORE_CODE_MODULES_H

#include "core/session/session.h"

typedef struct {
    Str path;
    int32_t in, reader;   /* its first argument, and the op that reads it; -1: there is none */
    int32_t reads;        /* Shardings id: how that op has it; -1 */
    int32_t out;          /* its result; -1 */
    int32_t weight;       /* -1 */
    int32_t weight_reads; /* Shardings id: how the op that reads it has it; -1 */
} CodeModule;

/* The module of naming_path(i); false where it has no path or no parameters. */
bool code_module(const Session *session, int i, CodeModule *out);

/* The sharding that an op reads the tensor in: a Shardings id; -1: it does not read it. */
int32_t code_read_as(const Plan *plan, int32_t tensor, int32_t op);

#endif
