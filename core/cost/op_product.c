#include "core/cost/op_product.h"

#include "core/plan/routed.h"
#include "core/space/contraction.h"

#include <math.h>

OpProduct op_product(const Plan *plan, int32_t op, const OpCut *cut)
{
    const OpSpace *space = inferred_space(plan->inferred, op);
    uint32_t left, right;
    double n[4] = {1, 1, 1, 1}; /* by who has the index dim: nobody, left, right, both */
    double k = 1;
    if (!space || !op_space_contracts(space, &left, &right))
        return (OpProduct){0};
    for (int j = 0; j < space->n_index; j++) {
        int who = (int)((left >> j & 1) + 2 * (right >> j & 1));
        bool summed = space->index[j].role == ROLE_REDUCE;
        double size =
            cut ? (double)cut_most_size(&cut->index[j], plan->mesh) : (double)space->index[j].size;
        *(summed ? &k : &n[who]) *= size;
    }
    double fill = routed_op_fill(plan->routed, op, cut, plan->mesh);
    return (OpProduct){n[3] * fill, n[1], n[2], k};
}

double op_product_tiles(const OpProduct *product, int64_t tile)
{
    if (tile <= 0 || product->m <= 0)
        return 0;
    return product->batch * ceil(product->m / (double)tile) * ceil(product->n / (double)tile);
}
