/* factor_ops.h - Shardy's sharding rule of each StableHLO operator.
 *
 * One table: a row per operator, or per callee of a custom call, with the function that builds its
 * rule from the shapes of operands and results. Attributes are named as in StableHLO; pairs of
 * lists (`contracting_dims`, `padding`) are read in the form that one_op_attr_json() gives them.
 * Source: Shardy's registry of rules, queried op by op (jaxlib 0.10.2).
 */
#ifndef CORE_PEERS_SHARDY_FACTOR_OPS_H
#define CORE_PEERS_SHARDY_FACTOR_OPS_H

#include "core/model/dtype.h"
#include "core/model/graph.h"
#include "core/peers/shardy/factor_rule.h"

/* The producer of an operand, for the rules that depend on it. */
typedef struct {
    Str op; /* "stablehlo.slice", "constant", "arg"; empty if unknown */
    Str of; /* name of the tensor it is a slice of; empty if unknown */
} FactorSource;

typedef struct {
    const char *op;     /* "stablehlo.dot_general" */
    const Graph *graph; /* attributes: those of op graph_op */
    int32_t graph_op;
    int n_operands, n_results;
    const Shape *shape;         /* operands, then results */
    const Dtype *dtype;         /* the same */
    const FactorSource *source; /* per operand; NULL if unknown */
    bool feeds_rng;             /* its result is the state of a random bit generator */
    bool conservative;          /* no factor whose cut would pad or need sub-axes */
} FactorCall;

/* Returns NULL with ERROR_UNSUPPORTED if this operator or callee has no rule, or none for tensors
 * without elements; ERROR_RANK or ERROR_INVALID if operands or attributes do not fit it. */
FactorRule *factor_rule_for(Arena *arena, const FactorCall *call, Error *err);

/* True for an operator that computes each element from the elements at the same position (for
 * bitcast_convert: if the shape does not change). */
bool factor_op_is_elementwise(const char *op);

#endif
