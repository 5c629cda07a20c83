/* hlo.c - StableHLO operators whose shapes are attributes.
 *
 *     broadcast_in_dim   d1 -> d0 d1      dim i of the operand is dim dims[i] of the result
 *     iota                  -> d0 d1      its place along one dim
 *
 * Those whose rules are Shardy's are in its room (core/peers/shardy/stablehlo.c).
 */
#include "core/rules/at_load.h"
#include "core/rules/operators/dims.h"

/* The attribute `shape`, else the shape that the result is declared to have. */
static bool given_shape(RuleCall *call, Shape *out, Error *err)
{
    Ints sizes;
    if (!args_ints(call, -1, "shape", &sizes, err))
        return false;
    int32_t made = op_first_output(call->graph, call->op);
    const GraphTensor *declared = made < 0 ? NULL : &call->graph->tensors[made];
    *out = (Shape){.n_dims = sizes.n};
    if (sizes.n > DIMS_MAX)
        return error_kind(err, ERROR_RANK, "its result has more than %d dims", DIMS_MAX);
    for (int d = 0; d < sizes.n; d++)
        out->dim[d] = sizes.at[d];
    if (!sizes.given) {
        if (!declared || declared->declared < 0)
            return error_kind(err, ERROR_NOT_INFERABLE, "the shape of its result is not given");
        out->n_dims = declared->n_declared;
        for (int d = 0; d < declared->n_declared; d++)
            out->dim[d] = call->graph->declared[declared->declared + d].size;
    }
    return shape_check(out, err);
}

static bool broadcast_in_dim(RuleCall *call, Error *err)
{
    int dims[DIMS_MAX], index[DIMS_MAX] = {0};
    Shape to;
    if (!given_shape(call, &to, err) || !args_broadcast_in_dim(call, &to, dims, err))
        return false;
    dims_answer(call, &to, call->dtype[0]);
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    for (int d = 0; d < to.n_dims; d++) {
        index[d] = rule_index_at(call, 'd', d, to.dim[d]);
        rule_unit(rule_output(space, 0), d, index[d]);
    }
    for (int i = 0; i < call->shape[0]->n_dims; i++)
        rule_unit(&space->operand[0], i, call->shape[0]->dim[i] == 1 ? -1 : index[dims[i]]);
    return true;
}

static bool iota(RuleCall *call, Error *err)
{
    Shape to;
    int axis;
    if (!given_shape(call, &to, err) ||
        !args_axis(args_int(call, "dimension", 0), to.n_dims, &axis, err) ||
        !args_dtype(call, "dtype", DT_I32, &call->out_dtype[0], err))
        return false;
    dims_answer(call, &to, call->out_dtype[0]);
    return dims_space(call, &to, NULL, NULL, err) != NULL;
}

#define FAMILY "hlo"

const Operator operators_hlo[] = {
    {OP("stablehlo.broadcast_in_dim", broadcast_in_dim, 0, 1, 1), GRADIENT("0: contract"),
     HOST(broadcast_in_dim), EARLY, OWN("dims shape", ""), .kernel = "stablehlo.broadcast_in_dim",
     .examples = "5x1 dims=[1,2] shape=[4,5,6]; 5x6 dims=[0,2] shape=[5,3,6]"},
    {OP("stablehlo.iota", iota, 0, 0, 0), HOST(iota), EARLY, OWN("dimension dtype shape", ""),
     .kernel = "stablehlo.iota", .examples = "() dimension=1 dtype=1 shape=[5,6]"},
    {0},
};
