/* factor_build.h - builds a FactorRule factor by factor, for factor_ops.c and its families.
 *
 * factor_finish() drops factors of size 1 from products and gives each dim without any factor one
 * of size 1.
 */
#ifndef CORE_PEERS_SHARDY_FACTOR_BUILD_H
#define CORE_PEERS_SHARDY_FACTOR_BUILD_H

#include "core/base/vec.h"
#include "core/peers/shardy/factor_ops.h"

enum { FACTOR_TENSORS_MAX = 256, FACTOR_PRODUCT_MAX = 64, NO_DIM = -1 };

typedef struct {
    int n, at[FACTOR_PRODUCT_MAX];
} FactorList;

typedef struct {
    Arena *arena;
    const FactorCall *call;
    Error *err;
    int n; /* tensors: operands, then results */
    Vec(Factor) factors;
    FactorList (*list)[DIMS_MAX];  /* [tensor][dim] */
    int place[FACTOR_TENSORS_MAX]; /* of the factor being made: its dim in each tensor, or NO_DIM */
} FactorBuild;

typedef bool FactorFn(FactorBuild *build);

/* factor_windows.c, factor_sums.c */
/* The reduction of a reducer: "stablehlo.add". Returns false if it has another name. */
bool stablehlo_reducer(Str name, ReduceOp *out);
extern FactorFn factor_convolution, factor_gather, factor_scatter, factor_reshape;
extern FactorFn factor_dot, factor_dot_general, factor_reduce;

const Shape *factor_shape(const FactorBuild *build, int tensor);
int64_t factor_size(const FactorBuild *build, int tensor, int dim);
static inline int factor_result(const FactorBuild *build, int i)
{
    return build->call->n_operands + i;
}

/* factor_start() begins a factor, factor_at() puts it on a dim of a tensor, factor_add() adds
 * it. */
void factor_start(FactorBuild *build);
void factor_at(FactorBuild *build, int tensor, int dim);
void factor_add(FactorBuild *build, int64_t size, FactorType type, bool blocked);

/* A factor of one tensor alone. */
void factor_add_one(FactorBuild *build, int tensor, int dim, int64_t size, FactorType type,
                    bool blocked);

/* The ints of an attribute; n is 0 if it is absent. */
typedef struct {
    int n;
    const int64_t *at;
} FactorInts;
FactorInts factor_ints(const FactorBuild *build, const char *name);
/* List i of an attribute that is a list of lists (one_op.h); n is 0 if there is no such list. */
FactorInts factor_ints_at(const FactorBuild *build, const char *name, int i);
bool factor_has(FactorInts list, int64_t item);
int factor_find(FactorInts list, int64_t item); /* its place, or -1 */

bool factor_refuse(FactorBuild *build, ErrorKind kind, const char *what);
/* Checks that the op has at least this many operands and results. */
bool factor_needs(FactorBuild *build, int n_operands, int n_results);
/* Checks that all `dims` are dims of the tensor. */
bool factor_check_dims(FactorBuild *build, FactorInts dims, int tensor);
/* "input 1" or "result 0" for messages; tensors are numbered operands first. */
const char *factor_tensor_name(const FactorBuild *build, int tensor);
bool factor_same_size(FactorBuild *build, int a, int dim_a, int b, int dim_b);

/* The rule of the factors added so far, in the build's arena. */
FactorRule *factor_finish(FactorBuild *build);

#endif
