/* mlir.h - texts, types and shardings in MLIR's assembly, with the dialects stablehlo and sdy. */
#ifndef CORE_PEERS_SHARDY_MLIR_H
#define CORE_PEERS_SHARDY_MLIR_H

#include "core/model/dtype.h"
#include "core/layout/sharding.h"

/* "a\22b": in quotes; what is no printing ASCII is \ and two hexadecimal digits. */
void mlir_string(Str text, Buf *out);

/* For a line behind //: what is no printing ASCII likewise. */
void mlir_comment(Str text, Buf *out);

/* "tensor<8x1024xf32>"; of no known shape: "!stablehlo.token". False: MLIR has no such element, and
 * it is a stand-in of equal size. */
bool mlir_type(const Shape *shape, Dtype dtype, Buf *out);

/* What sdy can say of a sharding: all (true), or one that is cut less, and partial by sums only. */
bool mlir_sayable(const Sharding *sharding, const Mesh *mesh, Sharding *out);

/* "<@mesh, [{"dp"}, {}], unreduced={"tp"}>", of a sayable one. */
void mlir_sharding(const Sharding *sharding, const Mesh *mesh, Buf *out);

/* "{"tp", "dp":(1)2}" */
void mlir_axis_list(const uint8_t *atom, int n, const Mesh *mesh, Buf *out);
void mlir_axes(AtomSet atoms, const Mesh *mesh, Buf *out);

#endif
