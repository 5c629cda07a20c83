/* factor_rule.h - an op as Shardy says it: every tensor dim is a product of factors.
 *
 *     ([i, k], [k, j])->([i, j]) {i=8, j=16, k=32} reduction={k}
 *
 * A factor is what may be cut; dims of several tensors that have it are cut together. Factors of a
 * dim stand major first, `[ij]`; each dim has one at least. The type of a factor says what follows
 * when it is cut: nothing (pass through); its results are addends (reduction); it must not be, so
 * its operands are gathered first (need replication); an exchange with neighbours (permutation).
 * A blocked factor takes no part in propagation. Names are i to z, then z_1, z_2, .., by number.
 * Source: Shardy's OpShardingRule.
 */
#ifndef CORE_PEERS_SHARDY_FACTOR_RULE_H
#define CORE_PEERS_SHARDY_FACTOR_RULE_H

#include "core/space/factor_type.h"

typedef struct {
    int64_t size;
    FactorType type;
    bool blocked;
} Factor;

/* The factors of one tensor dim, major first: numbers into FactorRule.factor. */
typedef struct {
    int n;
    const int *at;
} FactorDim;

enum { FACTOR_DIMS_MAX = 64 }; /* a rule may be written for more dims than a tensor here has */

typedef struct {
    int n_dims;
    FactorDim dim[FACTOR_DIMS_MAX];
} FactorTensor;

typedef struct {
    int n_factors, n_operands, n_results;
    Factor *factor;
    FactorTensor *tensor; /* operands, then results */
    bool custom;          /* written by a user: never made anew */
} FactorRule;

void factor_name(int factor, Buf *out); /* "k", "z_1" */
void factor_rule_format(const FactorRule *rule, Buf *out);

/* Reads what factor_rule_format() writes, blanks between the parts as one likes. NULL with the
 * place in *err: ERROR_SYNTAX; ERROR_INVALID, a factor that is unknown, unused, twice in a tensor
 * or in two sets, one of size 1 in a product, a reduced one in a result. */
FactorRule *factor_rule_read(Arena *arena, const Source *source, Error *err);

/* The factors of an op space: those of the results in order, then those of the operands; of one
 * operand that has all of the results in their order, in its order. A dim that no index dim moves
 * along has a factor of its own, which must be replicated; size-1 dims at one place are one factor.
 * What is read in windows, or shifted, has the index dim that moves the window and those that are
 * summed within. */
FactorRule *factor_rule_of(Arena *arena, const OpSpace *space);

#endif
