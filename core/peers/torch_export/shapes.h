/* shapes.h - shapes and tensors from which rows are built. */
#ifndef CORE_PEERS_TORCH_EXPORT_SHAPES_H
#define CORE_PEERS_TORCH_EXPORT_SHAPES_H

#include "core/peers/torch_export/rows.h"

#include <stdint.h>

/* The rank; if it is out of range, a legal one with an error. */
uint8_t legal_rank(Call *c, int rank);
/* The size of a dim: a number if the file knows it, else i64[1]. */
ExportTerm size_of(Call *c, ExportTerm x, int64_t dim);
void add_size(Call *c, Terms *sizes, ExportTerm size);
void add_sizes(Call *c, Terms *sizes, ExportTerm x, int first, int end); /* dims of x */
ExportTerm reshape(Call *c, ExportTerm x, const Terms *sizes);
ExportTerm transpose(Call *c, ExportTerm x, const int64_t *perm);
ExportTerm swap_dims(Call *c, ExportTerm x, int64_t a, int64_t b);
ExportTerm unsqueeze(Call *c, ExportTerm x, int64_t dim); /* dim 0 to rank */
ExportTerm squeeze(Call *c, ExportTerm x, int64_t dim);
ExportTerm expand(Call *c, ExportTerm x, ExportTerm shape, int rank);
ExportTerm concat(Call *c, const ExportTerm *parts, int n, int64_t dim);
/* x without those dims, or with 1 in their places: folded by an operator, ReduceSum. */
ExportTerm fold_dims(Call *c, const char *op, ExportTerm x, const int64_t *dims, int n, bool keep);
/* The elements at places along the dim, which have the shape of the result. */
ExportTerm elements_at(Call *c, ExportTerm x, ExportTerm places, int64_t dim);
/* The elements start, start + step .. before end; NONE: from the start, to the end. */
ExportTerm slice(Call *c, ExportTerm x, int64_t dim, ExportTerm start, ExportTerm end,
                 int64_t step);
/* x with that slice replaced by `part`. */
ExportTerm put_slice(Call *c, ExportTerm x, ExportTerm part, int64_t dim, ExportTerm start,
                     ExportTerm end, int64_t step);
ExportTerm zeros_like_shape(Call *c, ExportTerm shape, Dtype dtype, int rank);
ExportTerm range(Call *c, ExportTerm start, ExportTerm end, ExportTerm step,
                 Dtype dtype); /* numbers, or i64[1] */
/* Whole numbers from 0 to the size of a dim, along that dim: [1, .., n, .., 1]. */
ExportTerm reshape_along(Call *c, ExportTerm line, int64_t dim, int rank);

#endif
