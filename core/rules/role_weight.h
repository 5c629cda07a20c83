/* role_weight.h - which input of an op is the weight of a matmul, or the table of a lookup.
 *
 * The op's index space decides: rows k of the weight are summed over, columns n occur in the output
 * but in no activation. Convolutions, which read windows, are no matmuls.
 */
#ifndef CORE_RULES_ROLE_WEIGHT_H
#define CORE_RULES_ROLE_WEIGHT_H

#include "core/rules/roles.h"

/* Whether the tensor is neither a weight nor computed only from weights and constants. */
bool role_is_activation(const Inferred *inferred, int32_t tensor);

/* The first such input of the op, with its index dims; WEIGHT_EMBEDDING for a table. Returns false
 * if the op has none. */
bool role_read(const Inferred *inferred, int32_t op, MatmulRole *out);

/* Whether an activation has the rows of the weight, as in a matmul but not in a lookup. */
bool role_sums_activation(const Inferred *inferred, const MatmulRole *role);

#endif
