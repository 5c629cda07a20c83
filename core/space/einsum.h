/* einsum.h - makes an op space from `ij,jk->ik` or `...ij,...jk->...ik`: letters are index dims,
 * letters missing from the output are summed. Also makes the rows of a reshape: two shapes in, dims
 * of a mixed-radix index space out (Paddle's Flatten / Split dim transforms). */
#ifndef CORE_SPACE_EINSUM_H
#define CORE_SPACE_EINSUM_H

#include "core/space/opspace.h"

OpSpace *einsum_opspace(Arena *arena, const Source *equation, const Shape *const *inputs,
                        int n_inputs, Shape *output, Error *err);

/* One input, one output, equal numbers of elements. Computed with greatest common divisors: runs of
 * dims with equal products share index dims; a run that does not nest is read whole (no index dim).
 * Dims of size 1 become rows of size one. */
OpSpace *reshape_opspace(Arena *arena, const Shape *from, const Shape *to, Error *err);

#endif
