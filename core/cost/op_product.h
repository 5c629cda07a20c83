/* op_product.h - an op as a product of matrices: which of its index dims are rows, columns and
 * summed. */
#ifndef CORE_COST_OP_PRODUCT_H
#define CORE_COST_OP_PRODUCT_H

#include "core/plan/plan.h"

/* batch times [m, k] by [k, n]. */
typedef struct {
    double batch, m, n, k;
} OpProduct;

/* Rank 0's part under a cut; cut NULL: the whole op. All 0 if the op is no product. */
OpProduct op_product(const Plan *plan, int32_t op, const OpCut *cut);

/* The number of tiles of tile x tile elements in its result. */
double op_product_tiles(const OpProduct *product, int64_t tile);

#endif
