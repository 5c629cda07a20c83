/* steps.h - steps of a reshard between processes, one a rank.
 *
 *     all-gather      MPI_Allgatherv on a communicator of the group
 *     all-to-all      MPI_Alltoallv
 *     all-reduce      MPI_Allreduce; in rank order: each combines a share, then all gather them
 *     reduce-scatter  MPI_Reduce_scatter; in rank order: MPI_Alltoallv, then combined
 *     permute, send   messages from rank to rank
 *
 * Groups' communicators are made where they are first needed, once for each set of atoms. A step is
 * prepared once: its messages (exchange.h), counts and places. What lies as MPI wants it is sent
 * and received where it is. Where an all-gather or an all-to-all has parts, on any rank, that do
 * not lie so, it is messages too: rows that are not short go as types of MPI, all else is packed
 * into buffers that all steps share. What is larger than MPI can count goes from rank to rank, in
 * pieces of n_most elements.
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
    MPI_Comm comm; /* its ranks are in group order */
} MpiGroup;

typedef struct {
    Arena *arena;
    const Mesh *mesh;
    int64_t position;
    MPI_Comm world; /* rank r: position r */
    bool in_order;  /* reductions in rank order, so that the bits are those of collective_run() */
    int64_t n_most; /* elements at once */
    MpiTypes types;
    Vec(MpiGroup) groups;
    Vec(MPI_Datatype) made; /* of pieces */
    Room send, receive;
} MpiSteps;

/* What a rank sends or receives in a call of MPI: a block for each member of the group. */
typedef struct {
    const Message **message; /* NULL: nothing */
    int *n, *at;             /* elements, and where they lie */
    int64_t n_all;
    bool direct; /* in the rank's part itself, else packed, one block behind the other */
} MpiBlocks;

/* A step, and what this rank does in it; lives in the arena of the MpiSteps. */
typedef struct {
    StepKind kind;
    Exchange exchange;
    Dtype dtype;
    MPI_Comm comm; /* of the group; MPI_COMM_NULL: nobody else is in it */
    int n_members; /* of the group */
    MpiBlocks give, take;
    bool large;                          /* on some rank: more than MPI can count */
    bool direct;                         /* on all ranks of the group: give and take are */
    MPI_Datatype *give_type, *take_type; /* per message of the exchange: its rows in the part, or
                                            MPI_DATATYPE_NULL: contiguous, or packed */
} MpiStep;

typedef struct {
    StepKind kind;
    Collective collective;
    SubMesh makers, readers;
    Dtype dtype;
    int64_t number; /* of the step in the program: all of a group must be at the same */
} MpiStepCall;

bool mpi_steps_open(Arena *arena, const Mesh *mesh, MPI_Comm world, bool in_order, MpiSteps *out,
                    Error *err);
void mpi_steps_close(MpiSteps *steps);

/* All ranks that have a part in it must call it, in the same order of steps. */
MpiStep *mpi_step_prepare(MpiSteps *steps, const MpiStepCall *call, Error *err);

/* source, target: NULL where this rank has none. */
bool mpi_step_do(MpiSteps *steps, const MpiStep *step, const Local *source, Local *target,
                 Error *err);

#endif
