#include "core/space/factor_type.h"

const char *factor_type_name(FactorType type)
{
    static const char *const names[FACTOR_TYPE_COUNT] = {/* ORDER FACTOR_TYPE */
                                                         "pass_through", "reduction",
                                                         "need_replication", "permutation"};
    return names[type];
}

static bool has(const int *list, int n, int item)
{
    while (n > 0 && list[n - 1] != item)
        n--;
    return n > 0;
}

/* The index dims that a tensor dim goes with, major first; then those summed within a window. */
int factor_index_dims(const OpSpace *space, const Operand *operand, int d, int index[X_MAX])
{
    const DimFactors *factors = &operand->factors[d];
    const Row *row = &operand->projection.row[d];
    int n = 0;
    for (int i = 0; i < factors->n; i++)
        index[n++] = factors->index[i];
    if (factors->exact)
        return n;
    bool backwards = n == 0;
    for (int j = 0; j < space->n_index; j++) {
        IndexRole role = space->index[j].role;
        if (row->coef[j] != 0 && !has(index, n, j) &&
            (role == ROLE_REDUCE || (backwards && role == ROLE_MAP)))
            index[n++] = j;
    }
    return n;
}

static bool is_seen(const Operand *operand)
{
    return !operand->absent && !operand->ignored;
}

static bool is_shifted(const OpSpace *space, int j)
{
    for (int i = 0; i < space->n_inputs + space->n_outputs; i++) {
        const Operand *operand = &space->operand[i];
        for (int d = 0; is_seen(operand) && d < operand->projection.n_dims; d++) {
            int index[X_MAX], n = factor_index_dims(space, operand, d, index);
            if (!operand->factors[d].exact && has(index, n, j))
                return true;
        }
    }
    return false;
}

FactorType factor_type_of(const OpSpace *space, int index)
{
    const IndexDim *dim = &space->index[index];
    if (dim->role == ROLE_FROZEN)
        return FACTOR_NEED_REPLICATION;
    if (dim->role == ROLE_REDUCE)
        return FACTOR_REDUCTION;
    return dim->permutes || is_shifted(space, index) ? FACTOR_PERMUTATION : FACTOR_PASS_THROUGH;
}
