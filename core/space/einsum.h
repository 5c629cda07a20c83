/* einsum.h - `ij,jk->ik` and `...ij,...jk->...ik` onto an op space: letters are index dims, letters
 * missing from the output are summed. Also the generator of reshape rows: two shapes in, dims of a
 * mixed-radix index space out (Paddle's Flatten / Split dim transforms). */
#ifndef CORE_SPACE_EINSUM_H
#define CORE_SPACE_EINSUM_H

#include "core/space/opspace.h"

OpSpace *einsum_opspace(Arena *arena, const Source *equation, const Shape *const *inputs,
                        int n_inputs, Shape *output, Error *err);

/* One input, one output, equal numbers of elements. The gcd walk: matched runs of dims share index
 * dims, a run that does not nest is read whole (no index dim). Size-1 dims are rows of one. */
OpSpace *reshape_opspace(Arena *arena, const Shape *from, const Shape *to, Error *err);

#endif
