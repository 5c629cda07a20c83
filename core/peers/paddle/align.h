/* align.h - tensors that must be split all alike, because they become parts of one.
 *
 * Per mesh axis a tensor is replicated, split on a dim, or partial. Where all tensors agree on that
 * it is kept, unless it is a split of a dim whose letter is not among those to align. Where they do
 * not, the axis goes to the letter that moves least: the sum over the tensors of 0 if that dim is
 * split already, else local elements x axis size; a tensor whose dim is smaller than the axis
 * forbids the letter. Each such letter is given to one axis at most. All else is replicated.
 * Upstream, of several axes that all tensors have on one dim the last stays: that is exact.
 */
#ifndef CORE_PEERS_PADDLE_ALIGN_H
#define CORE_PEERS_PADDLE_ALIGN_H

#include "core/peers/paddle/merge.h"

/* operand[i].tensor is what is given, aligned[i] gets the answer. Tensors that are empty (rank 0,
 * or first dim of size 0) have no say. allow_partial: sums and averages that all share are kept. */
void spmd_align(SpmdCall *call, const SpmdOperand *operand, int n, const char *align_letters,
                bool allow_partial, SpmdTensor *aligned);

#endif
