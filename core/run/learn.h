/* learn.h - what only data decide, found out on one device before a plan is made.
 *
 * How many elements NonZero has, or where a Slice starts whose starts are an input, is in the data:
 * shapes after it are not known, and no plan can be made. Where inputs are at hand the ops up to
 * there are run, whole, and what they tell is bound:
 *
 *     sizes      "NonZero_12.1" = 5, as --dim NAME=SIZE does
 *     elements   of the tensors whose values an operator's rule or kernel reads
 *
 * then shapes are inferred again, up to the next such op, until all is known. A plan made from this
 * holds for these inputs. Ops that nothing of the kind hangs on are not run.
 */
#ifndef CORE_RUN_LEARN_H
#define CORE_RUN_LEARN_H

#include "core/run/feed.h"

typedef struct {
    DimBindings dims;      /* those that are bound, then the sizes that were found */
    GivenValues values;    /* the same */
    int n_sizes, n_values; /* that were found: the last ones */
} Learned;

/* Onto *out, which has what is known so far, and `inferred` is what follows from that. Inputs that
 * nobody gave are drawn. What cannot be found out, the size of an output of an op without a kernel,
 * stays unknown: whoever makes the program says so. False with *err: free dims are not bound; an
 * operator must know the elements of an input that nobody gave (ERROR_USAGE); an op fails
 * (ERROR_RUN). */
bool learn(Arena *arena, const Inferred *inferred, const Given *given, Learned *out, Error *err);

#endif
