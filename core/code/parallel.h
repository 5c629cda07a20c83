/* parallel.h - a plan in the few numbers of systems that know tensor, pipeline, data, context and
 * expert parallelism but no shardings of tensors; and what these numbers do not say.
 *
 * What an axis does is read off the cuts of the ops that have a weight (core/rules/roles.h), off
 * the inputs of the model and off the devices of stages:
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

/* Sets of uses of an axis: experts may be sharded by one that shards the batch. */
typedef enum {
    PARALLEL_TENSOR = 1,
    PARALLEL_EXPERT = 2,
    PARALLEL_DATA = 4,
    PARALLEL_CONTEXT = 8,
    PARALLEL_STAGES = 16
} ParallelUse;

typedef struct {
    uint8_t use[MESH_AXES_MAX];                    /* per axis: a set of ParallelUse */
    int64_t tensor, expert, data, context, stages; /* ranks of each; 1: it is not used */
    int n_virtual;                                 /* stages on each rank of a pipeline */
    const char *schedule; /* NULL without stages, or where none is decided */
    int n_micro_batches;
    int64_t batch, sequence; /* of a micro-batch on all ranks together; 0: unknown */
    uint8_t stored;          /* what of parameters the data axes shard: a set of Stored */
    int64_t shards;          /* data ranks that hold different parts of it; 1: all hold the same */
    bool sequence_parallel;  /* what norms read is sharded by a tensor axis along the sequence */
    bool recompute, recompute_whole; /* some ops; all of the layers */
    const char *low;                 /* "bf16", "fp16": of the parameters; NULL: others */
    Vec(const char *) unsaid;        /* sentences without a stop, the first example of each kind */
} Parallel;

/* Everything is in the arena. */
Parallel parallel_of(Arena *arena, const Session *session);

/* "tensor 4 on tp, data 2 on dp": for comments. */
void parallel_format(const Parallel *parallel, const Mesh *mesh, Buf *out);

/* What is unsaid, as comments of a file with `#` comments, and as notes: "Megatron's flags do not
 * say" and the sentence. */
void parallel_put_unsaid(const Parallel *parallel, const char *who, Buf *out, ExportNotes *notes);

#endif
