/* insert.h - where Shardy puts reshards and all-reduces when every value has its sharding.
 *
 * Op by op in program order. What an operand is partial over and the op's first result is not is
 * all-reduced before the op. If the op has a rule of Shardy's own (a user's is left alone), the
 * axes it computes with are chosen (choose.h); an operand that has others is resharded for this
 * use, a result is made as the op computes it and resharded behind it for all who use it. Where a
 * reduction factor is sharded, the results are all-reduced over its axes, less what the first
 * result stays partial over. What the function returns, and what a barrier of the optimizer passes
 * on, is brought to the sharding stated there.
 *
 * A value becomes partial by sharded_to_unreduced, of axes that end a dim and become unreduced, or
 * by replicated_to_unreduced, of axes that were free; a reshard of the program that does so is
 * replaced by these.
 *
 * An op's tensors may lie on meshes of the same axes and other orders of the devices: the one that
 * most sharded tensors have (the first to get there) is the op's, and what is sharded on another
 * is resharded. On meshes of other axes the op is left alone, and so is one on a single device.
 *
 * Source: Shardy's explicit reshards, the full version.
 */
#ifndef CORE_PEERS_SHARDY_INSERT_H
#define CORE_PEERS_SHARDY_INSERT_H

#include "core/peers/shardy/tensor_sharding.h"
#include "core/peers/shardy/factor_ops.h"

typedef struct {
    FactorCall call;        /* `source` is filled in here; no `graph`: it has no rule of its own */
    const FactorRule *rule; /* where the program gives one, else NULL */
    const int *value;       /* operands, then results */
} InsertOp;

typedef struct {
    int value;
    TensorSharding sharding; /* what is asked for; of mesh MESH_NONE: none is */
} InsertOutput;

typedef struct {
    const Mesh *const *mesh; /* by TensorSharding.mesh */
    int n_values, n_ops, n_outputs;
    const TensorSharding *sharding; /* by value; of mesh MESH_NONE: none is given */
    const InsertOp *op;             /* in program order */
    const InsertOutput *output;
} InsertProgram;

/* ORDER INSERT_KIND */
typedef enum {
    INSERT_RESHARD,
    INSERT_ALL_REDUCE,
    INSERT_SHARDED_TO_UNREDUCED,
    INSERT_REPLICATED_TO_UNREDUCED,
    INSERT_KIND_COUNT
} InsertKind;

typedef struct {
    InsertKind kind;
    int value; /* of the program, also where the step acts on what another step made of it */
    TensorSharding to;
    AxisList axes; /* summed, or made partial */
} InsertStep;

typedef struct {
    int n_steps, n_reshards; /* reshards of the program that stay are among them */
    const InsertStep *step;
    const TensorSharding *made; /* by value: as its op makes it; of mesh MESH_NONE: it has none */
} Inserted;

const char *insert_kind_name(InsertKind kind); /* "all_reduce" */

/* False: ERROR_INVALID, what Shardy refuses too: results partial over different axes, a partial
 * value that goes to another mesh or to an op without results, an op that is to compute with axes
 * that its result is partial over or states as replicated; or an op's tensors do not fit its
 * operator. */
bool insert_reshards(Arena *arena, const InsertProgram *program, Inserted *out, Error *err);

#endif
