/* write_out.h - replaces ops by those that they are made of (core/rules/written/written.h).
 *
 *     GatedAdd (x, y, gate) -> out       t = Mul (y, gate); out = Add (x, t)
 *
 * Operators of other runtimes that fuse several of ours are planned, run and differentiated as
 * these. The ops are in a module named after the operator; other ops and all tensors keep their
 * names. An op whose text refuses it, or asks for a size that is not known, stays as it is.
 */
#ifndef CORE_FUSE_WRITE_OUT_H
#define CORE_FUSE_WRITE_OUT_H

#include "core/base/progress.h"
#include "core/rules/infer.h"

/* Infers *graph as infer_watched() does, and writes out its ops and those that they are made of,
 * until none is left; *graph is the last graph then, in the arena of the first. given: elements of
 * tensors of either. Adds a note for each operator of which an op stays, with the reason. NULL on
 * error. */
Inferred *infer_written(Arena *arena, Graph **graph, const Registry *registry,
                        const DimBindings *bindings, const GivenValues *given, bool allow_free,
                        Progress *progress, Findings *notes, Error *err);

#endif
