/* insert.h - Shardy's insertion of reshards and all-reduces once every value has a sharding.
 *
 * It visits ops in program order. Axes over which an operand is partial and the first result is not
 * are all-reduced before the op. If the op has a built-in rule (ops with a user's rule are
 * skipped), the axes it computes with are chosen (choose.h): operands that differ are resharded for
 * this use, results that differ are resharded after the op for all uses. If a reduction factor is
 * sharded, the results are all-reduced over its axes, except those that the first result stays
 * partial over. Returned values and operands of optimization barriers are resharded to the sharding
 * stated there.
 *
 * A value becomes partial by sharded_to_unreduced (axes at the end of a dim become unreduced) or by
 * replicated_to_unreduced (unused axes become unreduced); a reshard in the program that does this
 * is replaced by these steps.
 *
 * The tensors of an op may be on meshes with the same axes but different device orders. The op then
 * uses the mesh of most sharded tensors (the first to reach the maximum), and tensors sharded on
 * another are resharded. Ops on meshes with different axes and ops on a single device are skipped.
 *
 * Source: Shardy's explicit reshards, the full version.
 */
#ifndef CORE_PEERS_SHARDY_INSERT_H
#define CORE_PEERS_SHARDY_INSERT_H

#include "core/peers/shardy/tensor_sharding.h"
#include "core/peers/shardy/factor_ops.h"

typedef struct {
    FactorCall call; /* `source` is filled in here; without `graph` it has no built-in rule */
    const FactorRule *rule; /* a rule stated in the program, or NULL */
    const int *value;       /* operands, then results */
} InsertOp;

typedef struct {
    int value;
    TensorSharding sharding; /* required; mesh is MESH_NONE if there is none */
} InsertOutput;

typedef struct {
    const Mesh *const *mesh; /* by TensorSharding.mesh */
    int n_values, n_ops, n_outputs;
    const TensorSharding *sharding; /* by value; mesh is MESH_NONE if there is none */
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
    int value; /* of the program, also where the step acts on the result of another step */
    TensorSharding to;
    AxisList axes; /* that are summed or become partial */
} InsertStep;

typedef struct {
    int n_steps, n_reshards; /* includes the program's own reshards that stay */
    const InsertStep *step;
    const TensorSharding
        *made; /* by value: as its op produces it; mesh is MESH_NONE if it has none */
} Inserted;

const char *insert_kind_name(InsertKind kind); /* "all_reduce" */

/* Returns false with ERROR_INVALID for what Shardy refuses too (results partial over different
 * axes, a partial value that moves to another mesh or to an op without results, an op that computes
 * with axes over which its result is partial or must be replicated), and for tensors that do not
 * fit their operator. */
bool insert_reshards(Arena *arena, const InsertProgram *program, Inserted *out, Error *err);

#endif
