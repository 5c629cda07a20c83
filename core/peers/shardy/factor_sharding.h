/* factor_sharding.h - one op's shardings, seen factor by factor.
 *
 * A rule (core/peers/shardy/factor_rule.h) says which factors each dim is the product of, major
 * first. A dim's axes are handed out to its factors, major first, each until its size is used; the
 * minor-most takes the rest. What a factor that is not minor-most can not hold overflows: it is
 * kept, blocks what comes after, and comes back when the dim is put together again. Source:
 * Shardy's ShardingProjection.
 */
#ifndef CORE_PEERS_SHARDY_FACTOR_SHARDING_H
#define CORE_PEERS_SHARDY_FACTOR_SHARDING_H

#include "core/peers/shardy/tensor_sharding.h"
#include "core/peers/shardy/factor_rule.h"

typedef struct {
    bool here;   /* the tensor has this factor */
    bool closed; /* it may not take more axes */
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

/* shardings: operands, then results, each of as many dims as the rule says. Lives in the arena. */
FactorProjection *factor_project(Arena *arena, const FactorRule *rule, const Mesh *mesh,
                                 const TensorSharding *const *shardings);

/* One tensor's dims put together again; open, replicated and unreduced are copied from `old`, a
 * priority is not. Stops in a dim after a factor that is not sharded in full. */
TensorSharding factor_unproject(const FactorProjection *projection, int tensor,
                                const TensorSharding *old);

#endif
