/* mlir.h - writes strings, types and shardings in MLIR's textual form (dialects stablehlo and
 * sdy). */
#ifndef CORE_PEERS_SHARDY_MLIR_H
#define CORE_PEERS_SHARDY_MLIR_H

#include "core/model/dtype.h"
#include "core/layout/sharding.h"

/* "a\22b": in quotes; anything but printable ASCII becomes \ and two hexadecimal digits. */
void mlir_string(Str text, Buf *out);

/* The same without quotes, for a comment after //. */
void mlir_comment(Str text, Buf *out);

/* "tensor<8x1024xf32>"; "!stablehlo.token" if the shape is unknown. Returns false if MLIR lacks the
 * element type; i64 is written instead. */
bool mlir_type(const Shape *shape, Dtype dtype, Buf *out);

/* Returns true if sdy can express the sharding; otherwise *out is sharded less, and partial with
 * sums only. */
bool mlir_expressible(const Sharding *sharding, const Mesh *mesh, Sharding *out);

/* "<@mesh, [{"dp"}, {}], unreduced={"tp"}>", for a sharding that sdy can express. */
void mlir_sharding(const Sharding *sharding, const Mesh *mesh, Buf *out);

/* "{"tp", "dp":(1)2}" */
void mlir_axis_list(const uint8_t *atom, int n, const Mesh *mesh, Buf *out);
void mlir_axes(AtomSet atoms, const Mesh *mesh, Buf *out);

#endif
