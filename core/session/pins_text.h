/* pins_text.h - reads shardings of tensors by name, in the notations of other systems, as pins.
 *
 *     {"wte.weight": [Shard(0), Replicate()]}          PyTorch, as printed
 *     wte.weight: [S(0), R]                            the same, one per line
 *     {"params": {"wte": {"kernel": P('dp', None)}}}   JAX, nested or flat; NamedSharding(..)
 *     {"wte.w_0": [0, -1]}                             Paddle's dims_mapping
 *     wte.weight: [{"dp"}, {"tp":(1)2, ?}p1]           Shardy; unreduced={"pp"} may follow
 *     %arg0: tensor<8x16xf32> {sdy.sharding = ..}      MLIR
 *
 * The text may be Python, JSON, a module with a dict PARAMETERS, an OrderedDict or DTensor dump,
 * or MLIR: it is recognised by its contents. A mesh in the text must be ours, its axes in any
 * order; without one, placements and numbers refer to the axes of ours. Every dim of a tensor is
 * pinned, an unsharded one as whole; partial axes become PIN_UNREDUCED; UNCONSTRAINED pins
 * nothing.
 *
 * Names are the model's, or PATH.weight, or what exporters make of them: '/' for '.', "module.",
 * "params", "_orig_mod." before them, kernel and w_0 for weight, h_0 for h.0. A matrix that the
 * text has transposed (as its shape or its name shows: a kernel is input by output) is transposed
 * back.
 *
 * Malformed text is an error with its place. So are another mesh, a text of which nothing fits the
 * model, and an export that lacks a part of its plan. What does not fit a tensor is a warning, and
 * the rest is kept.
 */
#ifndef CORE_SESSION_PINS_TEXT_H
#define CORE_SESSION_PINS_TEXT_H

#include "core/session/session.h"

enum { PINS_BYTES_MAX = 256 << 20 };

/* Comments of exports: about a sharding that their language cannot express, which is coarser in the
 * text than in the plan; and about pins of activations, which the text does not have. Without the
 * policy such a text is another plan, so reading it is an error (pins_lack.c). */
#define PINS_LESS_PYTHON ": sharded less"      /* at the end of the line */
#define PINS_LESS_MLIR "// sharded less than " /* before it */
#define PINS_UNPINNED " Pins of activations are not in this file: "

/* Returns whether a text contains shardings, not a plan file's decisions. */
bool pins_text_is(Str text);

/* Appends decisions to the journal, and findings to session->notes. Texts are in the journal's
 * arena. Fails with ERROR_UNREADABLE. */
bool pins_text_read(Session *session, const Source *source, Journal *journal, Error *err);

#endif
