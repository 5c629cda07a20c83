/* shapes.h - pieces of shapes and of tensors that rows are made of. */
#ifndef CORE_PEERS_TORCH_EXPORT_SHAPES_H
#define CORE_PEERS_TORCH_EXPORT_SHAPES_H

#include "core/peers/torch_export/rows.h"

#include <stdint.h>

/* The rank; an error and one that is legal if it is none. */
uint8_t legal_rank(Call *c, int rank);
/* The size of a dim: a number where the file knows it, else i64[1]. */
Term size_of(Call *c, Term x, int64_t dim);
void add_size(Call *c, Terms *sizes, Term size);
Term reshape(Call *c, Term x, const Terms *sizes);
Term transpose(Call *c, Term x, const int64_t *perm);
Term swap_dims(Call *c, Term x, int64_t a, int64_t b);
Term unsqueeze(Call *c, Term x, int64_t dim); /* dim 0 to rank */
Term squeeze(Call *c, Term x, int64_t dim);
Term expand(Call *c, Term x, Term shape, int rank);
Term concat(Call *c, const Term *parts, int n, int64_t dim);
/* Elements start, start + step .. before end; NONE: from the start, to the end. */
Term slice(Call *c, Term x, int64_t dim, Term start, Term end, int64_t step);
/* x with `part` in the place of that slice. */
Term put_slice(Call *c, Term x, Term part, int64_t dim, Term start, Term end, int64_t step);
Term zeros_like_shape(Call *c, Term shape, Dtype dtype, int rank);
Term range(Call *c, Term start, Term end, Term step, Dtype dtype); /* numbers, or i64[1] */
/* Whole numbers from 0 to the size of a dim, along it: [1, .., n, .., 1]. */
Term reshape_along(Call *c, Term line, int64_t dim, int rank);

#endif
