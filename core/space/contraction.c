#include "core/space/contraction.h"

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

/* vectors: one of the operands may lack an index dim of its own. */
static bool contracts(const OpSpace *space, bool vectors, uint32_t *left, uint32_t *right)
{
    uint32_t summed = 0, seen[INPUTS_LOOKED];
    int n = space->n_inputs < INPUTS_LOOKED ? space->n_inputs : INPUTS_LOOKED;
    for (int j = 0; j < space->n_index; j++)
        if (space->index[j].role == ROLE_REDUCE && space->index[j].reduce == REDUCE_SUM)
            summed |= (uint32_t)1 << j;
    for (int b = 0; summed && b < n; b++) {
        seen[b] = index_of(space, &space->operand[b]);
        for (int a = 0; a < b; a++) {
            bool own_left = seen[a] & ~seen[b], own_right = seen[b] & ~seen[a];
            if (seen[a] & seen[b] & summed &&
                (vectors ? own_left || own_right : own_left && own_right)) {
                *left = seen[a];
                *right = seen[b];
                return true;
            }
        }
    }
    return false;
}

bool op_space_contracts(const OpSpace *space, uint32_t *left, uint32_t *right)
{
    return contracts(space, false, left, right);
}

static bool is_a_dim_of(const Operand *operand, int index)
{
    for (int d = 0; d < operand->projection.n_dims; d++) {
        const DimFactors *factors = &operand->factors[d];
        if (operand->projection.row[d].coef[index] != 0 &&
            (factors->n != 1 || !factors->exact || factors->index[0] != index))
            return false;
    }
    return true;
}

/* Whether the index dim can be sharded at will, and is a dim by itself where an operand has it. */
static bool is_by_itself(const OpSpace *space, int index)
{
    const IndexDim *dim = &space->index[index];
    if (dim->rule || dim->role == ROLE_FROZEN ||
        (dim->role == ROLE_REDUCE && dim->reduce != REDUCE_SUM))
        return false;
    for (int i = 0; i < space->n_inputs + space->n_outputs; i++)
        if (!space->operand[i].absent &&
            (space->operand[i].ignored || !is_a_dim_of(&space->operand[i], index)))
            return false;
    return true;
}

static bool is_known_product(const OpSpace *space, bool vectors)
{
    uint32_t left, right;
    return !space->own && !space->no_rule && contracts(space, vectors, &left, &right);
}

bool op_space_in_parts(const OpSpace *space, int index)
{
    return is_known_product(space, false) && is_by_itself(space, index);
}

bool op_space_is_product(const OpSpace *space)
{
    if (!is_known_product(space, !space->gradient))
        return false;
    for (int j = 0; j < space->n_index; j++)
        if (!is_by_itself(space, j))
            return false;
    return true;
}
