/* fuse.h - replaces ops that together do a known computation by one op.
 *
 * Matches are checked with inferred shapes and known values, so a graph is inferred before it is
 * fused, and again after. Tensors that stay keep their names; a fusion changes no output beyond
 * rounding.
 */
#ifndef CORE_FUSE_FUSE_H
#define CORE_FUSE_FUSE_H

#include "core/base/progress.h"
#include "core/rules/infer.h"

typedef struct {
    const char *name; /* "attention" */
    const char *help;
    /* Sets *graph to the fused graph, in the arena of the old one; NULL if there is nothing to
     * fuse. Adds a note with the number of fusions. */
    bool (*fuse)(const Inferred *inferred, Progress *progress, Findings *notes, Graph **graph,
                 Error *err);
} Fusion;

extern const Fusion fusions[]; /* ends with a row without a name */

/* Reads a list of fusions such as "attention" into bits by their place in the table. An unknown
 * name is an error that suggests the nearest one. */
bool fusions_parse(Str list, unsigned *out, Error *err);
/* "attention" */
void fusions_format(unsigned set, Buf *out);

/* core/fuse/fuse_attention.c */
bool fuse_attention(const Inferred *inferred, Progress *progress, Findings *notes, Graph **graph,
                    Error *err);
/* core/fuse/fuse_tied.c */
bool fuse_tied(const Inferred *inferred, Progress *progress, Findings *notes, Graph **graph,
               Error *err);
/* core/fuse/sequences.c */
bool fuse_sequences(const Inferred *inferred, Progress *progress, Findings *notes, Graph **graph,
                    Error *err);

#endif
