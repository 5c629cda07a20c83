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

#include "core/rules/infer.h"

/* Sets *graph to the new graph, in the arena of the old one; NULL if nothing changes. Adds a note
 * for each operator of which an op stays, with the reason. */
bool write_out(const Inferred *inferred, Findings *notes, Graph **graph, Error *err);

#endif
