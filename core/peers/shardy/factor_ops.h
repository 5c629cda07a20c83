/* factor_ops.h - the sharding rule that Shardy gives an operator of StableHLO.
 *
 * One table: a row per operator, or per callee of a custom call, with the function that builds its
 * rule from the shapes, results included (a StableHLO op always says the type of its results).
 * Attributes are named as in StableHLO; pairs of lists (`contracting_dims`, `padding`) are read in
 * the form that one_op_attr_json() makes of them.
 * Source: Shardy's registry of rules, asked op by op (jaxlib 0.10.2).
 */
#ifndef CORE_PEERS_SHARDY_FACTOR_OPS_H
#define CORE_PEERS_SHARDY_FACTOR_OPS_H

#include "core/model/dtype.h"
#include "core/model/graph.h"
#include "core/peers/shardy/factor_rule.h"

/* Where an operand comes from, where the rule depends on it: a slice, a constant. */
typedef struct {
    Str op; /* "stablehlo.slice", "constant", "arg"; empty: not known */
    Str of; /* a name of the tensor it was made of; empty: not known */
} FactorSource;

typedef struct {
    const char *op;     /* "stablehlo.dot_general" */
    const Graph *graph; /* attributes: those of op graph_op */
    int32_t graph_op;
    int n_operands, n_results;
    const Shape *shape;         /* operands, then results */
    const Dtype *dtype;         /* the same */
    const FactorSource *source; /* per operand; NULL: nothing is known */
    bool feeds_rng;             /* its result is the state of a random bit generator */
    bool conservative;          /* no factor whose cut would pad or need sub-axes */
} FactorCall;

/* NULL: ERROR_UNSUPPORTED, there is no rule for this operator or this callee, or not for tensors
 * without elements; ERROR_RANK and ERROR_INVALID, operands or attributes do not fit it. */
FactorRule *factor_rule_for(Arena *arena, const FactorCall *call, Error *err);

/* An operator that makes each element from the elements at its place; of bitcast_convert that holds
 * where the shape stays. */
bool factor_op_is_elementwise(const char *op);

#endif
