/* op_product.h - an op as a product of matrices: which of its index dims are rows, columns and
 * summed. */
#ifndef CORE_COST_OP_PRODUCT_H
#define CORE_COST_OP_PRODUCT_H

#include "core/plan/plan.h"

/* Finds two inputs that share an index dim that is summed over, while each has an index dim that
 * the other lacks: the sets of index dims of both. Returns false if there are no such inputs. */
bool op_space_contracts(const OpSpace *space, uint32_t *left, uint32_t *right);

/* batch times [m, k] by [k, n]. */
typedef struct {
    double batch, m, n, k;
} OpProduct;

/* Rank 0's part under a cut; cut NULL: the whole op. All 0 if the op is no product. */
OpProduct op_product(const Plan *plan, int32_t op, const OpCut *cut);

/* The number of tiles of tile x tile elements in its result. */
double op_product_tiles(const OpProduct *product, int64_t tile);

#endif
