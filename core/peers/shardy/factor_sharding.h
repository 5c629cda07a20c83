/* factor_sharding.h - the shardings of an op's tensors, projected onto its factors.
 *
 * A rule (core/peers/shardy/factor_rule.h) says which factors each dim is a product of, major
 * first. A dim's axes are distributed over its factors, major first, each up to its size; the
 * minor-most factor gets the rest. Axes that a factor which is not minor-most cannot hold overflow:
 * they are kept, block the factors after it, and return when the dim is assembled again. Source:
 * Shardy's ShardingProjection.
 */
#ifndef CORE_PEERS_SHARDY_FACTOR_SHARDING_H
#define CORE_PEERS_SHARDY_FACTOR_SHARDING_H

#include "core/peers/shardy/tensor_sharding.h"
#include "core/peers/shardy/factor_rule.h"

typedef struct {
    bool here;   /* the tensor has this factor */
    bool closed; /* it may not get more axes */
    bool minor;  /* it is the minor-most of its dim */
    AxisList axes, overflow;
} FactorAxes;

typedef struct {
    FactorAxes *factor; /* [rule->n_factors] */
    AxisList replicated, unreduced;
} TensorFactors;

typedef struct {
    const FactorRule *rule;
    const Mesh *mesh;
    TensorFactors *tensor; /* operands, then results */
} FactorProjection;

/* shardings: operands, then results, each with as many dims as in the rule. The result is in the
 * arena. */
FactorProjection *factor_project(Arena *arena, const FactorRule *rule, const Mesh *mesh,
                                 const TensorSharding *const *shardings);

/* Assembles the dims of one tensor again; open, replicated and unreduced are copied from `old`,
 * priorities are not. In a dim, stops after a factor that is not fully sharded. */
TensorSharding factor_unproject(const FactorProjection *projection, int tensor,
                                const TensorSharding *old);

#endif
