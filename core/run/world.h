/* world.h - the processes a run is spread over.
 *
 * One for the host's threads; as many as mpirun started where dimscope_mpi.so makes the world. All
 * processes make the same plan and the same program, and call what is below in the same order, each
 * from one thread at a time. Process p has the ranks [p * R / n, (p + 1) * R / n) of R.
 */
#ifndef CORE_RUN_WORLD_H
#define CORE_RUN_WORLD_H

#include "core/base/error.h"

typedef struct World World;
struct World {
    int n, me;
    void *own; /* of whoever made it */
    /* Waits for all. False when one of them says that it failed, or does not come. */
    bool (*meet)(World *world, bool failed, Error *err);
    /* The bytes of process `from` come to all others. */
    bool (*share)(World *world, void *data, int64_t n_bytes, int from, Error *err);
    /* n_bytes of each come to process 0, in order; `all` is NULL elsewhere. */
    bool (*gather)(World *world, const void *mine, int64_t n_bytes, void *all, Error *err);
    /* Says why and ends all processes; where it comes back there was only this one. */
    void (*stop)(World *world, const Error *why);
    void (*close)(World *world);
};

World world_alone(void);

#endif
