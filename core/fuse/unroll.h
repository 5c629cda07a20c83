/* unroll.h - unrolls the loops of a graph, iteration by iteration.
 *
 *     Loop 2 times (h): h = f(h, i)       h_1 = f(h_0, 0)   h_2 = f(h_1, 1)
 *
 * Gradients pass an unrolled loop like any other ops. A loop is unrolled if its number of
 * iterations is known before the run and what it becomes has at most UNROLLED_OPS_MAX ops; others
 * stay. Tensors of iteration k of a body are named "NAME.k", all others keep their names.
 */
#ifndef CORE_FUSE_UNROLL_H
#define CORE_FUSE_UNROLL_H

#include "core/rules/infer.h"

enum { UNROLLED_OPS_MAX = 1 << 16 };

/* Sets *graph to the unrolled graph, in the arena of the old one; NULL if no loop is unrolled. */
bool unroll_loops(const Inferred *inferred, Graph **graph, Error *err);

#endif
