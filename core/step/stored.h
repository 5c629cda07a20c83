/* stored.h - what a training step keeps of a parameter: itself, its gradient, the optimizer's
 * states.
 *
 * A decision can store each of them sharded (Decision.store). ZeRO's level 1 stores the states so,
 * level 2 the gradient too, level 3 the parameter too, as does FSDP.
 */
#ifndef CORE_STEP_STORED_H
#define CORE_STEP_STORED_H

#include "core/model/graph.h"

/* Sets of values of a parameter. ORDER STORED. */
typedef enum {
    STORED_NONE = 0,
    STORED_PARAMETER = 1,
    STORED_GRADIENT = 2, /* as the update reads it */
    STORED_STATES = 4,   /* the optimizer's moments, the master copy */
    STORED_ALL = 7
} Stored;
enum { STORED_KINDS = 3 };

const char *stored_name(int kind); /* by place in the set: "parameter", "gradient", "states" */
/* Adds the value of that name to the set; false: no value has it. */
bool stored_add(Str name, uint8_t *set);
/* "parameter, gradient and states" */
void stored_format(uint8_t set, Buf *out);

/* Which value of a parameter the tensor is, and of which parameter. STORED_NONE: of none, as
 * activations are, and gradients that no update reads. */
Stored stored_value(const Graph *graph, int32_t tensor, int32_t *parameter);

/* The parameter that an op of the update is for; -1: it is for all, or it makes no use of a
 * gradient. */
int32_t stored_updated(const Graph *graph, int32_t op);

#endif
