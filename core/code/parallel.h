/* parallel.h - a plan as the few numbers of systems that know tensor, pipeline, data, context and
 * expert parallelism, but no shardings of tensors; and what these numbers cannot express.
 *
 * The use of an axis is derived from the cuts of ops with a weight (core/rules/roles.h), from the
 * inputs of the model and from the devices of stages:
 *
 *     tensor     shards the columns of column matmuls and heads, the rows of row matmuls and tables
 *     expert     shards the stacked experts of matmuls
 *     data       shards the first dim of the model's inputs; context the second
 *     stages     distinguishes the devices of pipeline stages
 */
#ifndef CORE_CODE_PARALLEL_H
#define CORE_CODE_PARALLEL_H

#include "core/code/code.h"
#include "core/session/session.h"

/* Sets of uses of an axis: an axis that shards the batch may also shard experts. */
typedef enum {
    PARALLEL_TENSOR = 1,
    PARALLEL_EXPERT = 2,
    PARALLEL_DATA = 4,
    PARALLEL_CONTEXT = 8,
    PARALLEL_STAGES = 16
} ParallelUse;

typedef struct {
    uint8_t use[MESH_AXES_MAX];                    /* per axis: a set of ParallelUse */
    int64_t tensor, expert, data, context, stages; /* ranks of each kind; 1: not used */
    int n_virtual;                                 /* stages on each pipeline rank */
    const char *schedule; /* NULL without stages, or if no decision names one */
    int n_micro_batches;
    int64_t batch, sequence; /* of a micro-batch over all ranks; 0: unknown */
    uint8_t stored;          /* the values of parameters that the data axes shard: a set of
                                Stored */
    int64_t shards;          /* number of data ranks with different parts of these; 1: all hold
                                the same */
    bool sequence_parallel;  /* the inputs of norms are sharded along the sequence by a tensor
                                axis */
    bool recompute, recompute_whole; /* some ops are recomputed; all ops of the layers are */
    const char *low;                 /* "bf16", "fp16": the type of parameters; NULL: another one */
    /* What cannot be expressed: sentences without a full stop, with the first example of each
     * kind. */
    Vec(const char *) unsaid;
} Parallel;

/* Everything is in the arena. */
Parallel parallel_of(Arena *arena, const Session *session);

/* "tensor 4 on tp, data 2 on dp": for comments. */
void parallel_format(const Parallel *parallel, const Mesh *mesh, Buf *out);

/* Writes what cannot be expressed, as comments of a file with `#` comments and as notes:
 * "Megatron's flags do not say" and the sentence. */
void parallel_put_unsaid(const Parallel *parallel, const char *who, Buf *out, ExportNotes *notes);

#endif
