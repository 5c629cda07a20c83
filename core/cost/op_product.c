#include "core/cost/op_product.h"

#include "core/plan/routed.h"

#include <math.h>

/* The index dims that some dim of the operand depends on. */
static uint32_t index_of(const OpSpace *space, const Operand *operand)
{
    uint32_t set = 0;
    for (int d = 0; d < operand->projection.n_dims; d++)
        for (int j = 0; j < space->n_index; j++)
            if (operand->projection.row[d].coef[j] != 0)
                set |= (uint32_t)1 << j;
    return set;
}

enum { INPUTS_LOOKED = 8 };

bool op_space_contracts(const OpSpace *space, uint32_t *left, uint32_t *right)
{
    uint32_t summed = 0, seen[INPUTS_LOOKED];
    int n = space->n_inputs < INPUTS_LOOKED ? space->n_inputs : INPUTS_LOOKED;
    for (int j = 0; j < space->n_index; j++)
        if (space->index[j].role == ROLE_REDUCE && space->index[j].reduce == REDUCE_SUM)
            summed |= (uint32_t)1 << j;
    for (int b = 0; summed && b < n; b++) {
        seen[b] = index_of(space, &space->operand[b]);
        for (int a = 0; a < b; a++)
            if (seen[a] & seen[b] & summed && seen[a] & ~seen[b] && seen[b] & ~seen[a]) {
                *left = seen[a];
                *right = seen[b];
                return true;
            }
    }
    return false;
}

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
