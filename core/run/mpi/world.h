/* world.h - the processes that mpirun started. */
#ifndef CORE_RUN_MPI_WORLD_H
#define CORE_RUN_MPI_WORLD_H

#include "core/run/mpi/watch.h"

typedef struct {
    MPI_Comm comm;
    MpiHost host;
    double ahead_us; /* how far process 0's clock is ahead; 0 on one host */
} MpiWorld;

/* Plugin.world_open */
bool mpi_world_open(World *out, Error *err);

/* Estimates how far process 0's clock is ahead, from the fastest of several round trips. */
bool mpi_clock_ahead(MPI_Comm comm, double *ahead_us, Error *err);

/* The MpiWorld of a World that mpi_world_open() made; NULL for that of a single process. */
MpiWorld *mpi_world_of(const World *world);

#endif
