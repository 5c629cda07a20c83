/* factor_rule.h - Shardy's sharding rule of an op: every tensor dim is a product of factors.
 *
 *     ([i, k], [k, j])->([i, j]) {i=8, j=16, k=32} reduction={k}
 *
 * A factor can be sharded; all dims that contain it are sharded together. The factors of a dim are
 * listed major first, `[ij]`; each dim has at least one. The type of a factor tells what sharding
 * it causes: nothing (pass through), partial results (reduction), a gather of the operands first
 * because it must not be sharded (need replication), or an exchange with neighbours (permutation).
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

enum { FACTOR_DIMS_MAX = 64 }; /* a written rule may have more dims than DIMS_MAX */

typedef struct {
    int n_dims;
    FactorDim dim[FACTOR_DIMS_MAX];
} FactorTensor;

typedef struct {
    int n_factors, n_operands, n_results;
    Factor *factor;
    FactorTensor *tensor; /* operands, then results */
    bool custom;          /* written by a user: never replaced */
} FactorRule;

void factor_name(int factor, Buf *out); /* "k", "z_1" */
void factor_rule_format(const FactorRule *rule, Buf *out);

/* Reads the text that factor_rule_format() writes; spaces between the parts are free. Returns NULL
 * with the place in *err: ERROR_SYNTAX, or ERROR_INVALID for a factor that is unknown, unused,
 * twice in a tensor or in two sets, of size 1 in a product, or reduced and in a result. */
FactorRule *factor_rule_read(Arena *arena, const Source *source, Error *err);

/* The rule of an op space. Factors are numbered by the results in order, then by the operands; if
 * the only operand with index dims has those of the first result in order, by that operand first. A
 * dim without an index dim gets its own factor, which needs replication; size-1 dims at one
 * position share a factor. A dim that is read in windows or shifted has the index dim that moves
 * the window and those that are summed inside it. */
FactorRule *factor_rule_of(Arena *arena, const OpSpace *space);

#endif
