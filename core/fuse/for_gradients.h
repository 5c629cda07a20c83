/* for_gradients.h - rewrites a graph until gradients pass its loops and sequences as ordinary ops.
 */
#ifndef CORE_FUSE_FOR_GRADIENTS_H
#define CORE_FUSE_FOR_GRADIENTS_H

#include "core/base/progress.h"
#include "core/rules/infer.h"

/* Unrolls the loops of *graph (unroll.h), then takes its sequences apart (sequences.h). After each
 * rewrite that changes the graph, *graph is the new one, in the arena of the old, and *inferred is
 * inferred again with its registry and what else infer_watched() takes; its findings are those of
 * the last. Tensors that stay keep their names. */
bool rewrite_for_gradients(Graph **graph, Inferred **inferred, const DimBindings *bindings,
                           const GivenValues *given, Progress *progress, Error *err);

#endif
