/* merge.h - merges the dims_mappings of several tensors letter by letter.
 *
 * A rule gives every dim of every tensor a letter; dims with one letter must be split the same way.
 * There are four ways of merging:
 *
 *   classic    one axis a letter. Tensors in order, dims left to right: a letter gets the first
 *              axis found, a different one is ERROR_CONFLICT. An axis that several letters claimed
 *              stays with the first of them; the others lose it.
 *   strict     the same, but an axis claimed by two letters is ERROR_CONFLICT.
 *   lists      a letter collects all claimed axes, longest list first, until they no longer
 *              divide its size; an axis claimed by several letters stays with the largest.
 *   followed   two operands at most: the one split more is followed, axes of the other are appended
 *              where they fit; then as `lists`.
 *
 * The letter '1' stands for dims of size 1 that broadcast. It merges like any other letter (so it
 * may win an axis from a later one), but no tensor gets axes from it.
 */
#ifndef CORE_PEERS_PADDLE_MERGE_H
#define CORE_PEERS_PADDLE_MERGE_H

#include "core/peers/paddle/spmd.h"

typedef enum { SPMD_CLASSIC, SPMD_STRICT, SPMD_BY_LISTS, SPMD_BY_FOLLOWED } SpmdMergeKind;

typedef struct {
    const char *letters;      /* one per dim of the mapping */
    const SpmdTensor *tensor; /* absent ones are ignored */
} SpmdOperand;

enum { SPMD_LETTERS = 128 }; /* ASCII */

/* The merged axes of each letter. */
typedef struct {
    bool known[SPMD_LETTERS];
    SpmdAxes axes[SPMD_LETTERS];
    int64_t size[SPMD_LETTERS]; /* the largest of the letter's dims */
} SpmdLetters;

bool spmd_merge(SpmdCall *call, SpmdMergeKind kind, const SpmdOperand *operand, int n,
                SpmdLetters *out, Error *err);

/* Sets the mapping of the tensor, one dim a letter; '1' and unknown letters are unsplit. Partial
 * stays. */
void spmd_set_letters(SpmdTensor *tensor, const char *letters, const SpmdLetters *merged);

/* The output becomes partial over the axes of every letter of the merge, '1' too, that is not in
 * `out_letters`. */
void spmd_partial_of_letters(SpmdTensor *tensor, const char *out_letters, const SpmdLetters *merged,
                             ReduceOp reduce);

/* ---- letters, in the arena of the call ---- */

/* n letters from `first` on: "abc". */
const char *spmd_letters(const SpmdCall *call, int n, char first);

/* The letters of a tensor that broadcasts, right-aligned, against n_dims dims: the last of the
 * first n_dims letters, '1' where its size is 1 (unless keep_ones). */
const char *spmd_broadcast_letters(const SpmdCall *call, const SpmdTensor *tensor, int n_dims,
                                   bool keep_ones);

#endif
