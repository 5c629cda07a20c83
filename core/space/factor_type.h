/* factor_type.h - what sharding an index dim means for its op. */
#ifndef CORE_SPACE_FACTOR_TYPE_H
#define CORE_SPACE_FACTOR_TYPE_H

#include "core/space/opspace.h"

/* ORDER FACTOR_TYPE: the names are Shardy's, for its factors. */
typedef enum {
    FACTOR_PASS_THROUGH,     /* nothing */
    FACTOR_REDUCTION,        /* the result is partial */
    FACTOR_NEED_REPLICATION, /* it must not be sharded: operands are gathered first */
    FACTOR_PERMUTATION,      /* neighbours exchange data: windows, shifted or reversed reads */
    FACTOR_TYPE_COUNT
} FactorType;

const char *factor_type_name(FactorType type); /* "need_replication" */
FactorType factor_type_of(const OpSpace *space, int index);

/* The index dims that a tensor dim moves along, major first. Returns how many. */
int factor_index_dims(const OpSpace *space, const Operand *operand, int d, int index[X_MAX]);

#endif
