/* values.h - the values that exports as code name: parameters, inputs, outputs and results of ops,
 * each under a unique name.
 *
 * A name is what people call the value (core/summary/label.h); its own name if another value has
 * that.
 */
#ifndef CORE_CODE_VALUES_H
#define CORE_CODE_VALUES_H

#include "core/session/session.h"

typedef struct {
    int n_parameters, n_made;
    const int32_t *parameter; /* read by the program, or an output; in the file's order */
    const int32_t *made;      /* in program order; without known constants */
    const char **name;        /* per tensor; NULL if its shape is unknown */
} Values;

Values values_of(const Session *session, Arena *arena);

/* The parts of the mesh that hold a value: indices into plan->submeshes, ascending. */
int values_parts(const Plan *plan, int32_t tensor, int *part, int room);

/* The sharding that all its readers need; -1 if nobody reads it, or if they differ. */
int32_t values_read_as(const Session *session, int32_t tensor);

/* How many of the first atoms that shard a dim do so evenly and in one piece: each rank's part is
 * within what they alone leave it. By whole runs of an axis, since those are chunked at once. */
int values_even_atoms(const Cut *cut, const Mesh *mesh);

#endif
