/* sequences.h - takes the sequences of a graph apart into the tensors in them.
 *
 *     s = SplitToSequence (x)     s_0, s_1 = Split (x)
 *     y = SequenceAt (s, 1)       y = Identity (s_1)
 *     z = ConcatFromSequence (s)  z = Concat (s_0, s_1)
 *
 * Gradients pass the tensors like any others. A sequence is taken apart where the number of its
 * elements and all positions are known before the run; one that something else reads (a loop that
 * is not unrolled, SequenceMap, an output of the model) is made as before, too.
 */
#ifndef CORE_FUSE_SEQUENCES_H
#define CORE_FUSE_SEQUENCES_H

#include "core/rules/infer.h"

/* Sets *graph to the rewritten graph, in the arena of the old one; NULL if nothing changes, as of
 * a graph with branches or loops. */
bool take_sequences_apart(const Inferred *inferred, Graph **graph, Error *err);

#endif
