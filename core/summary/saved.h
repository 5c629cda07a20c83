/* saved.h - what a rank keeps for the backward pass, layer by layer, and what recomputing it would
 * free.
 *
 * Values at the same place of repeated layers are one row. The rows of values follow the row of
 * their layer; layers, and the values of each, are sorted by bytes, the largest first.
 *
 *     bytes     memory_saved() of one micro-batch, of all that the row stands for
 *     held      bytes * in flight: what the peak has of it (memory.h). The sum over the rows of
 *               layers is StepMemory.activation
 *     again_us  the time that the ops which make these values take in the forward pass, once for
 *               each micro-batch of a step: what it would cost to make them again, where what they
 *               read is kept or made anyway
 */
#ifndef CORE_SUMMARY_SAVED_H
#define CORE_SUMMARY_SAVED_H

#include "core/cost/memory.h"
#include "core/session/session.h"

typedef struct {
    bool layer;        /* this is the row of a layer, or of everything outside layers */
    const char *label; /* "model.layers[0..15]", "mlp.gate_proj/MatMul" */
    int32_t op;        /* the first op that makes it */
    int32_t reader;    /* the first op of the backward pass that reads it; -1 of a layer */
    int n;             /* number of ops; for a layer, of its members */
    int in_flight;     /* micro-batches in flight; the largest number over its stages */
    int64_t bytes, held;
    double again_us;
} SavedRow;

typedef struct {
    int n;
    const SavedRow *row;
    int64_t bytes, held; /* of all */
} Saved;

/* In the arena; empty if the plan is not of a training step. */
Saved saved_by_layer(Arena *arena, const Session *session, const MemoryAccount *account,
                     int64_t rank);

#endif
