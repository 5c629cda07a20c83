/* factor_sums.c - sharding rules of dot, dot_general and reduce. */
#include "core/peers/shardy/factor_build.h"

/* Adds a factor of a dim of both operands, and of the result unless `to` is NO_DIM. */
static void add_dot(FactorBuild *build, int lhs, int rhs, int to, FactorType type)
{
    factor_start(build);
    factor_at(build, 0, lhs);
    factor_at(build, 1, rhs);
    factor_at(build, 2, to);
    factor_add(build, lhs != NO_DIM ? factor_size(build, 0, lhs) : factor_size(build, 1, rhs), type,
               false);
}

static void add_free_dims(FactorBuild *build, int tensor, FactorInts batch, FactorInts summed,
                          int *to)
{
    for (int d = 0; d < factor_shape(build, tensor)->n_dims; d++)
        if (!factor_has(batch, d) && !factor_has(summed, d)) {
            add_dot(build, tensor == 0 ? d : NO_DIM, tensor == 1 ? d : NO_DIM, *to,
                    FACTOR_PASS_THROUGH);
            (*to)++;
        }
}

static bool add_dots(FactorBuild *build, const FactorInts batch[2], const FactorInts summed[2])
{
    int to = 0;
    if (build->call->n_operands != 2 || build->call->n_results != 1)
        return factor_needs(build, 2, 1) &&
               factor_refuse(build, ERROR_INVALID, "it needs two operands");
    for (int side = 0; side < 2; side++)
        if (!factor_check_dims(build, batch[side], side) ||
            !factor_check_dims(build, summed[side], side))
            return false;
    if (batch[0].n != batch[1].n || summed[0].n != summed[1].n ||
        factor_shape(build, 2)->n_dims != factor_shape(build, 0)->n_dims +
                                              factor_shape(build, 1)->n_dims - batch[0].n -
                                              (int64_t)2 * summed[0].n)
        return factor_refuse(build, ERROR_RANK, "its dims do not match");
    for (int i = 0; i < batch[0].n; i++)
        if (!factor_same_size(build, 0, (int)batch[0].at[i], 1, (int)batch[1].at[i]))
            return false;
    for (int i = 0; i < summed[0].n; i++)
        if (!factor_same_size(build, 0, (int)summed[0].at[i], 1, (int)summed[1].at[i]))
            return false;
    for (int i = 0; i < batch[0].n; i++)
        add_dot(build, (int)batch[0].at[i], (int)batch[1].at[i], to++, FACTOR_PASS_THROUGH);
    add_free_dims(build, 0, batch[0], summed[0], &to);
    add_free_dims(build, 1, batch[1], summed[1], &to);
    for (int i = 0; i < summed[0].n; i++)
        add_dot(build, (int)summed[0].at[i], (int)summed[1].at[i], NO_DIM, FACTOR_REDUCTION);
    return true;
}

bool factor_dot_general(FactorBuild *build)
{
    FactorInts batch[2], summed[2];
    for (int side = 0; side < 2; side++) {
        batch[side] = factor_ints_at(build, "batching_dims", side);
        summed[side] = factor_ints_at(build, "contracting_dims", side);
    }
    return add_dots(build, batch, summed);
}

bool factor_dot(FactorBuild *build)
{
    static const int64_t first = 0;
    if (!factor_needs(build, 2, 1) || factor_shape(build, 0)->n_dims == 0)
        return factor_refuse(build, ERROR_RANK, "its operands need at least one dim");
    int64_t last = factor_shape(build, 0)->n_dims - 1;
    FactorInts none[2] = {{0, NULL}, {0, NULL}}, summed[2] = {{1, &last}, {1, &first}};
    return add_dots(build, none, summed);
}

bool factor_reduce(FactorBuild *build)
{
    FactorInts dims = factor_ints(build, "dimensions");
    int n = build->call->n_results;
    if (!factor_needs(build, 1, 1) || !factor_check_dims(build, dims, 0))
        return false;
    for (int d = 0, to = 0; d < factor_shape(build, 0)->n_dims; d++) {
        bool summed = factor_has(dims, d);
        factor_start(build);
        for (int i = 0; i < n && i < build->call->n_operands; i++)
            if (factor_shape(build, i)->n_dims == factor_shape(build, 0)->n_dims)
                factor_at(build, i, d);
        for (int i = 0; !summed && i < n; i++)
            if (to < factor_shape(build, factor_result(build, i))->n_dims)
                factor_at(build, factor_result(build, i), to);
        factor_add(build, factor_size(build, 0, d), summed ? FACTOR_REDUCTION : FACTOR_PASS_THROUGH,
                   false);
        to += !summed;
    }
    return true;
}
