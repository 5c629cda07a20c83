/* world.h - the processes that mpirun started. */
#ifndef CORE_RUN_MPI_WORLD_H
#define CORE_RUN_MPI_WORLD_H

#include "core/run/mpi/watch.h"

typedef struct {
    MPI_Comm comm;
    Host host;
    double ahead_us; /* of process 0's clock before this one's; 0 on one host */
} MpiWorld;

/* Plugin.world_open */
bool mpi_world_open(World *out, Error *err);

/* How far the clock of process 0 is ahead: the middle of the fastest of some questions to it. */
bool mpi_clock_ahead(MPI_Comm comm, double *ahead_us, Error *err);

/* That of a world made here; NULL: another, of one process. */
MpiWorld *mpi_world_of(const World *world);

#endif
