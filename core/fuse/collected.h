/* collected.h - sequences to which a loop adds an element in each iteration become one tensor.
 *
 *     s = SequenceEmpty ()                      Loop (..): h = f(h)
 *     Loop (s, ..): s = SequenceInsert (s, h)   t = LoopStack (h)
 *     y = SequenceAt (s, i)                     y = Gather (t, i)
 *     z = ConcatFromSequence (s)                z = Transpose, Reshape (t)
 *
 * So its elements are sharded as any tensor is; where the number of iterations is known only at run
 * time this takes an assumed one (`--dim`), as what other loops stack. Only where all elements have
 * one shape, and nothing else reads the sequence.
 */
#ifndef CORE_FUSE_COLLECTED_H
#define CORE_FUSE_COLLECTED_H

#include "core/rules/infer.h"

/* Sets *graph to the rewritten graph, in the arena of the old one; NULL if nothing changes. *n: how
 * many sequences became tensors. */
bool collect_in_loops(const Inferred *inferred, Graph **graph, int *n, Error *err);

#endif
