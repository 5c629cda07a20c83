/* world.h - the processes that mpirun started. */
#ifndef CORE_RUN_MPI_WORLD_H
#define CORE_RUN_MPI_WORLD_H

#include "core/run/mpi/watch.h"

typedef struct {
    MPI_Comm comm;
    Host host;
} MpiWorld;

/* Plugin.world_open */
bool mpi_world_open(World *out, Error *err);

/* That of a world made here; NULL: another, of one process. */
MpiWorld *mpi_world_of(const World *world);

#endif
