/* values.h - the values that exported code names: parameters, inputs, outputs and results of ops,
 * each with a unique name.
 *
 * A name is the value's label (core/summary/label.h), or its own name if another value has that
 * label.
 */
#ifndef CORE_CODE_VALUES_H
#define CORE_CODE_VALUES_H

#include "core/session/session.h"

typedef struct {
    int n_parameters, n_made;
    const int32_t *parameter; /* read by the program, or an output; in the file's order */
    const int32_t *made;      /* in program order; without known constants */
    const char **name;        /* per tensor; NULL if its shape is unknown */
} CodeValues;

CodeValues values_of(const Session *session, Arena *arena);

/* The parts of the mesh that hold a value: indices into plan->submeshes, ascending. */
int values_parts(const Plan *plan, int32_t tensor, int *part, int room);

/* Names the ops whose parts go around a ring, which other systems have no sharding for: "a, b and 2
 * more", in the arena. NULL: there are none. */
const char *values_rings(Arena *arena, const Plan *plan);

/* Writes a comment that names pins of activations, which exports of parameters, inputs and outputs
 * do not have, and one that names rings; nothing if there are none. comment: "#" or "//". */
void values_put_unpinned(const Session *session, const char *comment, Buf *out);

/* The sharding that all its readers need; -1 if nothing reads it, or if they differ. */
int32_t values_read_as(const Session *session, int32_t tensor);

/* The number of leading atoms that shard a dim evenly and contiguously, so that each rank's part
 * lies within the chunk that these atoms give it. Counted by whole runs of an axis, since a run is
 * chunked at once. */
int values_even_atoms(const Cut *cut, const Mesh *mesh);

#endif
