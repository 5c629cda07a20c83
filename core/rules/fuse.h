/* fuse.h - ops that spell out a known computation, replaced by the one op that does it.
 *
 * What is recognised is proven by inferred shapes and known values, so a graph is inferred before
 * it is fused, and again after. Tensors that stay keep their names; a fusion changes no output
 * beyond rounding.
 */
#ifndef CORE_RULES_FUSE_H
#define CORE_RULES_FUSE_H

#include "core/rules/infer.h"

typedef struct {
    const char *name; /* "attention" */
    const char *help;
    /* *graph: the fused one, in the arena of the old one; NULL if there is nothing to fuse. Adds a
     * note that counts what was fused. */
    bool (*fuse)(const Inferred *inferred, Findings *notes, Graph **graph, Error *err);
} Fusion;

extern const Fusion fusions[]; /* ends with a row without a name */

/* The fusions of a list, "attention": a set of bits by their place in the table. Names nobody knows
 * are an error with the nearest one as its hint. */
bool fusions_parse(Str list, unsigned *out, Error *err);
/* "attention" */
void fusions_format(unsigned set, Buf *out);

/* core/rules/fuse_attention.c */
bool fuse_attention(const Inferred *inferred, Findings *notes, Graph **graph, Error *err);

#endif
