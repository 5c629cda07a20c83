/* dense.h - the elements of a literal of MLIR: `dense<1.0>`, `dense<[[1, 2], [3, 4]]>`,
 * `dense<"0x0000803F..">`.
 *
 * A single element fills the whole tensor. Hexadecimal digits in quotes are the elements' bytes,
 * little-endian; without quotes (`0x7FC00000`) they are the bits of one float. Complex numbers are
 * pairs `(1.0, 2.0)`. Elements are decoded only when asked for.
 */
#ifndef CORE_MODEL_DENSE_H
#define CORE_MODEL_DENSE_H

#include "core/base/error.h"
#include "core/model/dtype.h"

/* Writes the elements as data_read() of graph.h does. Returns false with ERROR_UNREADABLE if there
 * are more or fewer than n elements, or if one is no number of the type. */
bool dense_read(Str text, Dtype dtype, int64_t n, void *out, Error *err);

#endif
