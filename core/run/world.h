/* world.h - the processes of a run.
 *
 * One process for threads of the host; those of mpirun with dimscope_mpi.so. All processes make the
 * same plan and program, and call these functions in the same order, one thread at a time. Process
 * p has the ranks [p * R / n, (p + 1) * R / n) of R.
 */
#ifndef CORE_RUN_WORLD_H
#define CORE_RUN_WORLD_H

#include "core/base/error.h"

typedef struct World World;
struct World {
    int n, me;
    void *own; /* private */
    /* Barrier. False when a process reports failure or is gone. */
    bool (*meet)(World *world, bool failed, Error *err);
    /* Broadcast from process `from`. */
    bool (*share)(World *world, void *data, int64_t n_bytes, int from, Error *err);
    /* Gathers n_bytes of each to process 0, in order; `all` is NULL elsewhere. */
    bool (*gather)(World *world, const void *mine, int64_t n_bytes, void *all, Error *err);
    /* Prints why and ends all processes; returns only when this is the only one. */
    void (*stop)(World *world, const Error *why);
    void (*close)(World *world);
};

World world_alone(void);
/* share() of *is; whatever bytes come, it is true or false after it. */
bool world_share_bool(World *world, bool *is, int from, Error *err);

#endif
