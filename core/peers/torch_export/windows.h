/* windows.h - windows and borders from which rows are built. */
#ifndef CORE_PEERS_TORCH_EXPORT_WINDOWS_H
#define CORE_PEERS_TORCH_EXPORT_WINDOWS_H

#include "core/peers/torch_export/shapes.h"

/* Windows of `size` elements, `dilation` apart, that begin every `step` places along the dim: their
 * elements are a new last dim. */
ExportTerm windows_of(Call *c, ExportTerm x, int64_t dim, int64_t size, int64_t step,
                      int64_t dilation);
/* x with so many elements more at each side of every dim; fewer if negative. They are zeros, or as
 * a mode of Pad says. */
ExportTerm pad_dims(Call *c, ExportTerm x, const int64_t *before, const int64_t *after,
                    const char *mode);
/* x with a matrix [in, out] over a dim of `in` elements. */
ExportTerm multiply_dim(Call *c, ExportTerm x, int64_t dim, ExportTerm matrix);
/* [in, out]: output element i is the mean of elements floor(i * in / out) to ceil((i + 1) * in /
 * out) - 1. */
ExportTerm adaptive_weights(Call *c, int64_t in, int64_t out, Dtype dtype);

#endif
