/* crossing.h - the messages between a layout on one mesh and a layout on another.
 *
 * Every device of the target takes each element of its shard from a device that holds it or, if
 * the source is partial, one addend of it from one device of each; the target adds them up. What
 * it holds itself is not sent. Among devices that hold the same data the least busy one sends, a
 * device of the same node before others. A message is the part that two devices have in common, a
 * product of pieces of each dim.
 *
 * Two kinds: STEP_SEND, every target by itself; STEP_BROADCAST, one message to all targets of one
 * part. All messages go at once: the time is that of the device that sends or receives longest,
 * its messages one after the other, each priced by price_group().
 *
 * The meshes may share devices, or all of them. A partial target gets addend p of the source on
 * its p-th device, so both must have equally many.
 */
#ifndef CORE_RESHARD_CROSSING_H
#define CORE_RESHARD_CROSSING_H

#include "core/layout/runs.h"
#include "core/reshard/price.h"

typedef struct {
    const Mesh *mesh;
    const Sharding *sharding;
} CrossMeshSide;

typedef struct {
    int32_t source; /* by device number */
    int n_targets;
    const int32_t *target;
    const Runs *box; /* per dim, in global indices */
    int64_t bytes;
} Transfer;

typedef struct {
    StepKind kind;
    ReduceOp reduce; /* the reduction of the addends that a target gets; or REDUCE_NONE */
    int n_transfers;
    const Transfer *transfer;
    int most_targets;    /* of one message */
    int64_t total_bytes; /* of all messages, once for each target */
    int64_t wire_bytes;  /* the most that one device sends */
    double us;
} Crossing;

/* Returns false if a dim is in too many pieces (ERROR_UNSUPPORTED), or if the addends do not match
 * the target's or are of several reductions (ERROR_PARTIAL). Without `list` the messages are
 * counted and priced, not listed. */
bool crossing_plan(Arena *arena, const Machine *machine, Dtype dtype, const CrossMeshSide *from,
                   const CrossMeshSide *to, StepKind kind, bool list, Crossing *out, Error *err);

/* Bytes of the tensor that no device of the target holds before. */
bool crossing_missing_bytes(Arena *arena, Dtype dtype, const CrossMeshSide *from,
                            const CrossMeshSide *to, int64_t *out, Error *err);

#endif
