/* contract.h - the memory layout of the operands of a sum over index points, for every back end.
 *
 * For Einsum and the gradient ops `contract`, `activated` and `local`: the part of each operand as
 * strides of index dims, and which index dims are the batch, rows and columns of matrix products.
 */
#ifndef CORE_RUN_KERNELS_CONTRACT_H
#define CORE_RUN_KERNELS_CONTRACT_H

#include "core/run/kernel.h"

/* An index dim that is part of no operand has length 1. */
typedef struct {
    int n_index;
    int64_t length[X_MAX];
    int64_t (*stride)[X_MAX]; /* by operand, the output last: strides of each index dim */
} Points;

/* Reads only shapes and the op's cut. Returns false with *err if the space does not say where the
 * index dims are. The result is in the call's scratch arena. */
bool contract_points(const KernelCall *call, Points *out, Error *err);

/* Index dims of one kind, major first: of a, b and the output; of a and the output; of b and the
 * output; of a and b. */
enum { KIND_BATCH, KIND_M, KIND_N, KIND_K };
typedef struct {
    int n[4], index[4][X_MAX];
    int64_t size[4];
} Kinds;

/* For two operands. Returns false if an index dim is in one operand only, or if the products would
 * be too small to be worth it. */
bool contract_kinds(const Points *points, Kinds *kinds);

#endif
