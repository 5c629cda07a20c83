/* values.h - what a plan says something of, for exports as code: parameters, inputs, outputs and
 * what ops make, each under a name that nothing else has.
 *
 * A name is what people call the value (core/summary/label.h); its own where that is another's.
 */
#ifndef CORE_CODE_VALUES_H
#define CORE_CODE_VALUES_H

#include "core/session/session.h"

typedef struct {
    int n_parameters, n_made;
    const int32_t *parameter; /* read by the program, or an output; in the file's order */
    const int32_t *made;      /* in program order; known ones are left out */
    const char **name;        /* per tensor; NULL: of no known shape */
} Values;

Values values_of(const Session *session, Arena *arena);

/* The parts of the mesh where a value lies: places in plan->submeshes, ascending. */
int values_parts(const Plan *plan, int32_t tensor, int *part, int room);

/* How all that read it need it; -1: nobody does, or they differ. */
int32_t values_read_as(const Session *session, int32_t tensor);

/* How many of the first atoms that cut a dim cut it evenly and in one piece: each rank's part lies
 * in what they alone leave it. By whole runs of an axis, since those are chunked at once. */
int values_even_atoms(const Cut *cut, const Mesh *mesh);

#endif
