/* stored.h - what a training step stores for a parameter: the parameter, its gradient and the
 * optimizer's states.
 *
 * A decision can store each of them sharded (Decision.store). ZeRO's stage 1 shards the states,
 * stage 2 also the gradient, stage 3 also the parameter, as FSDP does.
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

const char *stored_name(int kind); /* by bit number: "parameter", "gradient", "states" */
/* Adds the value of that name to the set; returns false if there is none. */
bool stored_add(Str name, uint8_t *set);
/* "parameter, gradient and states" */
void stored_format(uint8_t set, Buf *out);

/* Which value of which parameter the tensor is. STORED_NONE for other tensors: activations, and
 * gradients that no update reads. */
Stored stored_value(const Graph *graph, int32_t tensor, int32_t *parameter);

/* The parameter that an op of the update is for; -1 if it is for all parameters, or uses no
 * gradient. */
int32_t stored_updated(const Graph *graph, int32_t op);

#endif
