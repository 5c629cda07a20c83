/* filter.h - a line of terms that selects ops, inputs and reshards.
 *
 *     MatMul partial:tp          both hold
 *     kind:AR|AG !norm ms>1      either kind, no "norm" in the name, over a millisecond
 *
 * Blanks between terms mean and, `!` before one means not, `|` inside one means or. A word is
 * searched in names, paths and operators; upper and lower case are equal unless the word has a
 * capital letter. Keys:
 *
 *     name: op: dtype: shape:   of the op and its outputs; shape:4096 one dim, shape:8,4096 all;
 *                               op:matmul also finds Gemm, Einsum and Linear
 *     axis: partial:            a mesh axis, or any: cuts the op or its outputs, is due on them
 *     kind:                     AR AG RS A2A PP SL: a reshard shown at the op has such a step
 *     is:                       reshard pinned uneven replicated changed tagged
 *     pass:                     forward backward update: of the op, or of the reshard
 *     ms us comm mib            with > >= < <= =: compute, compute, reshards in ms, output on a
 *                               device
 *
 * Answers are cached by name, cut and sharding, so that filtering a graph of 1e6 ops takes a tenth
 * of a second. A filter belongs to one plan: parse the text again when the plan changes.
 */
#ifndef TUI_STATE_FILTER_H
#define TUI_STATE_FILTER_H

#include "core/summary/changed.h"
#include "core/summary/comm.h"

/* What a filter reads; it must outlive the filter. */
typedef struct {
    const Session *session;
    const Comm *comm;
    const uint8_t *tagged; /* per op; NULL: none is */
    const ChangedOps *changed;
} FilterSource;

typedef struct Filter Filter;

/* NULL with *err: an unknown key, axis, kind or type, or a malformed number. */
Filter *filter_new(const FilterSource *source, Str text, Error *err);
void filter_free(Filter *filter); /* NULL is allowed */

const char *filter_text(const Filter *filter);
bool filter_op(const Filter *filter, int32_t op);
bool filter_input(const Filter *filter, int32_t tensor); /* of the graph */
/* kind, ms, mib and axis are tested on the reshard itself, other terms on the op where it is shown.
 */
bool filter_reshard(const Filter *filter, int32_t reshard);

/* Appends the text with its last word completed as far as all candidates agree; *choices: the
 * candidates, separated by blanks, if there are several. */
void filter_complete(const FilterSource *source, Str text, Buf *out, Buf *choices);

#endif
