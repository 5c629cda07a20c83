/* roles.h - the role of each matmul and lookup in a model, found from the structure of its graph.
 *
 * A matmul here is an op that multiplies an activation by a weight: rows k are summed, columns n
 * are new. Names do not matter, nor does the operator (MatMul, Gemm, Einsum over experts, ..): an
 * op is judged by its index space.
 *
 *     norm -> q, k, v (column) -> attention -> o (row) -> + residual
 *     norm -> gate, up (column) -> act, Mul -> down (row) -> + residual
 *
 * A dim of a value is followed backwards from op to op as a digit: element x of the dim has the
 * digit x / inner % size and lies in the piece [offset, offset + length). Heads of a fused qkv
 * weight are the digit (inner = head size, size = heads) of three pieces. Two questions decide the
 * roles:
 *   - which columns does an op need whole: a norm, a softmax, a dim that attention sums over;
 *   - which columns make the rows of a matmul, when no op on the way needs them whole.
 * A matmul is a row matmul if the columns of others make its rows; those others are then column
 * matmuls, and the ops on the way tell how their columns must be sharded (parts, heads).
 */
#ifndef CORE_RULES_ROLES_H
#define CORE_RULES_ROLES_H

#include "core/rules/infer.h"

typedef enum {
    WEIGHT_WHOLE,    /* none of the following: it stays whole */
    WEIGHT_COLUMN,   /* shard n: its columns make the rows of a row matmul */
    WEIGHT_ROW,      /* shard k */
    WEIGHT_HEAD,     /* shard n: the columns are the vocabulary, and an output of the model */
    WEIGHT_ROUTER,   /* a softmax or a choice of the largest reads all of its columns */
    WEIGHT_LATENT,   /* a norm reads all of its columns, and of no other matmul */
    WEIGHT_EMBEDDING /* a lookup of rows v in the table of the vocabulary: shard k */
} WeightRole;        /* ORDER WEIGHT ROLE */

enum { ROLE_PARTS_MAX = 8 };

/* Stacked weights, in which an op looks up one for each token. */
typedef struct {
    int32_t tensor; /* -1: none */
    int32_t op;
    int k, n; /* its index dims of rows and of columns */
} WeightStack;

typedef struct {
    int32_t op;
    WeightRole role;
    int weight;       /* the input that is the weight or the table */
    int batch;        /* the index dim of the batch; -1: unknown */
    int k, n, expert; /* index dims: rows or ids, columns, stacked experts; -1: none */
    int32_t reader;   /* an op that needs all columns at once; -1: none is known */
    int32_t stream;   /* the value that a norm reads before this matmul; -1: unknown */
    bool shared;      /* a column matmul that cannot be sharded: parts of its columns have no
                         digit, such as the one key of all heads */
    bool output;      /* its columns are an output of the model */
    int n_parts;      /* of its columns, one after another; 1: they are one part */
    int64_t part[ROLE_PARTS_MAX]; /* their sizes */
    int64_t unit;  /* elements of the first part that stay together: a head, or a group of heads
                      that share a key */
    int64_t units; /* the most shards: how many such units each part, or the rows of a row
                      matmul, has */
    int64_t head;  /* elements of a head; 0: unknown */
    WeightStack stack;
} MatmulRole;

typedef struct {
    MatmulRole *at; /* in program order */
    int n;
} MatmulRoles;

/* Finds the roles, in the arena. The time is linear in the size of the graph. */
MatmulRoles roles_find(Arena *arena, const Inferred *inferred);

const char *weight_role_name(WeightRole role); /* "column" */

#endif
