/* align.h - aligns the mappings of tensors that must be split the same way, such as the parts of a
 * concat.
 *
 * Over each mesh axis a tensor is replicated, split on a dim, or partial. If all tensors agree,
 * this is kept, unless it splits a dim whose letter is not to be aligned. If they disagree, the
 * axis goes to the letter that moves the least: the sum over the tensors of local elements x axis
 * size, or 0 where that dim is already split. A tensor whose dim is smaller than the axis rules the
 * letter out. Each such letter gets at most one axis. Everything else is replicated. Exact: of
 * several axes that all tensors have on one dim only the last stays.
 */
#ifndef CORE_PEERS_PADDLE_ALIGN_H
#define CORE_PEERS_PADDLE_ALIGN_H

#include "core/peers/paddle/merge.h"

/* Reads operand[i].tensor and writes aligned[i]. Empty tensors (rank 0, or first dim of size 0) do
 * not count. allow_partial: keep sums and averages that all share. */
void spmd_align(SpmdCall *call, const SpmdOperand *operand, int n, const char *align_letters,
                bool allow_partial, SpmdTensor *aligned);

#endif
