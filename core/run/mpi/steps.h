/* steps.h - steps of a reshard by MPI, one rank per process.
 *
 *     all-gather      MPI_Allgatherv on a communicator of the group
 *     all-to-all      MPI_Alltoallv; of rows that a router sends, those that are there (ragged.h)
 *     all-reduce      MPI_Allreduce; in rank order: each combines a share, then all gather them
 *     reduce-scatter  MPI_Reduce_scatter; in rank order: MPI_Alltoallv, then combined
 *     permute, send   messages from rank to rank
 *
 * Communicators of groups are made on first use, one per set of atoms. A step is prepared once:
 * messages (exchange.h), counts and places. Data with the layout MPI needs is sent and received in
 * place. An all-gather or all-to-all where some part has another layout uses messages: long rows as
 * MPI types, the rest packed into buffers that steps share. Data beyond MPI's counts goes from rank
 * to rank in pieces of n_most elements.
 */
#ifndef CORE_RUN_MPI_STEPS_H
#define CORE_RUN_MPI_STEPS_H

#include "core/base/vec.h"
#include "core/run/exchange.h"
#include "core/run/mpi/types.h"

typedef struct {
    void *at;
    int64_t n_bytes;
} Room;

typedef struct {
    AtomSet atoms;
    MPI_Comm comm; /* ranks in group order */
} MpiGroup;

/* Of messages from rank to rank, until they are there; kept from step to step for its room. */
typedef struct {
    Vec(MPI_Request) requests;
    Vec(void *) staged; /* per receive: its buffer until unpacked; NULL: received in place */
} MpiPosted;

typedef struct {
    Arena *arena;
    const Mesh *mesh;
    int64_t position;
    MPI_Comm world; /* rank r: position r */
    bool in_order;  /* reductions in rank order: the bits of collective_run() */
    int64_t n_most; /* most elements per call */
    MpiTypes types;
    Vec(MpiGroup) groups;
    Vec(MPI_Datatype) made; /* of pieces */
    Room send, receive;
    MpiPosted posted;
    int64_t ragged_bytes; /* bytes that ragged steps have sent to other ranks */
} MpiSteps;

/* Data of one MPI call: a block per member of the group. */
typedef struct {
    const Message **message; /* NULL: nothing */
    int *n, *at;             /* elements, and their places */
    int64_t n_all;
    bool direct; /* in the rank's part itself; else packed contiguously */
} MpiBlocks;

/* A prepared step; lives in the arena of the MpiSteps. */
typedef struct {
    StepKind kind;
    Exchange exchange;
    Dtype dtype;
    MPI_Comm comm; /* of the group; MPI_COMM_NULL: no other rank is in it */
    int n_members; /* of the group */
    MpiBlocks send, receive;
    int64_t row; /* elements of a row, if only existing rows are sent; 0: all are */
    bool large;  /* some rank exceeds MPI's counts */
    bool direct; /* send and receive are direct on all ranks of the group
                  */
    MPI_Datatype *send_type, *receive_type; /* per message: type of its rows in the part;
                                             * MPI_DATATYPE_NULL: contiguous or packed */
} MpiStep;

typedef struct {
    StepKind kind;
    Collective collective;
    SubMesh makers, readers;
    Dtype dtype;
    int ragged;     /* number of leading dims that number rows that may not exist; 0: all exist */
    int64_t number; /* of the step in the program; the whole group must agree */
} MpiStepCall;

bool mpi_steps_open(Arena *arena, const Mesh *mesh, MPI_Comm world, bool in_order, MpiSteps *out,
                    Error *err);
void mpi_steps_close(MpiSteps *steps);

/* Called by all ranks of the step, in the same order of steps. */
MpiStep *mpi_step_prepare(MpiSteps *steps, const MpiStepCall *call, Error *err);

/* source, target: NULL if this rank holds no such part. */
bool mpi_step_do(MpiSteps *steps, const MpiStep *step, const Local *source, Local *target,
                 Error *err);

#endif
