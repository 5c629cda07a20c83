/* steps_made.h - what programs under mpirun that do steps share: a mesh as large as the world,
 * shardings by their text, a step between them. */
#ifndef TESTS_MPI_STEPS_MADE_H
#define TESTS_MPI_STEPS_MADE_H

#include "core/run/mpi/steps.h"

#include <stdio.h>
#include <stdlib.h>

static inline void must(bool ok, const Error *err)
{
    if (ok)
        return;
    fprintf(stderr, "%s\n", err->text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static inline Mesh *made_mesh(Arena *arena, const char *text)
{
    Source source = {"mesh", str_from(text)};
    Error err = {0};
    Mesh *mesh = mesh_parse(arena, &source, &err);
    must(mesh != NULL, &err);
    return mesh;
}

static inline Sharding made_sharding(const Mesh *mesh, const Shape *shape, const char *text)
{
    Sharding sharding;
    Error err = {0};
    Source source = {"sharding", str_from(text)};
    must(sharding_parse(&source, shape, mesh, VIEW_OURS, &sharding, &err), &err);
    return sharding;
}

#endif
