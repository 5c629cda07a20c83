/* role_weight.h - which input of an op is the weight of a matmul, or the table of a lookup.
 *
 * The op's index space decides: rows k of the weight are summed over, columns n occur in the output
 * but in no activation. Convolutions, which read windows, are no matmuls.
 *
 * What is looked up in stacked weights is a weight, not an activation: experts are written so,
 * where each token has its own expert's matrix, and its bias.
 *
 *     ids = TopK(..)
 *     w [t, n, k] = Gather(experts [e, n, k], ids)
 *     y [t, n, 1] = MatMul(w, x [t, k, 1])
 */
#ifndef CORE_RULES_ROLE_WEIGHT_H
#define CORE_RULES_ROLE_WEIGHT_H

#include "core/rules/roles.h"

typedef struct {
    const Inferred *inferred;
    const bool *chosen; /* per op: makes weights, looked up in stacked ones, or a view of them */
} RoleWeights;

/* In the arena; the time is linear in the size of the graph. */
RoleWeights role_weights(Arena *arena, const Inferred *inferred);

/* Whether the tensor is neither a weight nor computed only from weights and constants. */
bool role_is_activation(const RoleWeights *weights, int32_t tensor);

/* The first such input of the op, with its index dims; WEIGHT_EMBEDDING for a table. Returns false
 * if the op has none. */
bool role_read(const RoleWeights *weights, int32_t op, MatmulRole *out);

/* Whether an activation has the rows of the weight, as in a matmul but not in a lookup. */
bool role_sums_activation(const RoleWeights *weights, const MatmulRole *role);

#endif
