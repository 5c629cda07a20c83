/* flow.h - Shardy's propagation of a whole program, to its fixed point.
 *
 * The program is ops with rules that read and write tensors, in program order, and what is known of
 * each tensor: a TensorSharding, interned as a state. All that Shardy does before (constraints
 * handed to inputs, constants split, edges added) has been done to it by whoever made it.
 *
 * User priorities: dims of a later priority are empty and closed, and their axes replicated, until
 * it is their turn. At each, five passes by operator: elementwise ops and views whose operands have
 * one reader; the same with more; pass-through factors of all ops, of a broadcast backward only;
 * all factors, the same; everything. Each pass goes by a stack (engine.h) to its own fixed point,
 * with the results of the function handed to and from what is returned before and after. Source:
 * Shardy's Basic-, OpPriority- and UserPriorityPropagation.
 */
#ifndef CORE_PEERS_SHARDY_FLOW_H
#define CORE_PEERS_SHARDY_FLOW_H

#include "core/propagate/engine.h"
#include "core/peers/shardy/factor_graph.h"
#include "core/peers/shardy/step.h"

/* ORDER SHARDY_CLASS: which pass by operator an op is in. */
typedef enum {
    SHARDY_PLAIN,
    SHARDY_VIEW,      /* elementwise, reshape, transpose, a move between memories */
    SHARDY_EDGE,      /* a view too, which takes sub-axes also in conservative propagation */
    SHARDY_CHOSEN,    /* slices at places that are computed: a view, forward only */
    SHARDY_BROADCAST, /* forward in the last pass only */
    SHARDY_BARRIER    /* in all passes, in its own direction; sub-axes as edges do */
} ShardyClass;

/* The border of a manual computation: what stands behind an edge has axes of its own (`manual`) in
 * front, as `border` says, which the other side does not see. */
typedef struct {
    TensorSharding border;
    AxisList manual;
    bool into; /* the edge is what the region is called with; else what it returns */
} ManualBorder;

/* What the inside sees of a sharding outside. */
TensorSharding shardy_erase_manual(const ManualBorder *border, const TensorSharding *sharding);

typedef struct {
    const FactorRule *rule; /* of as many tensors as it has */
    ShardyClass class;
    Pass pass; /* of a barrier */
    bool elementwise;
    bool multi_use;             /* an operand that is no scalar has another reader */
    const ManualBorder *border; /* of its result; NULL: none */
    int n_inputs, n_outputs;
    const int32_t *tensor; /* inputs, then outputs */
} ShardyOp;

/* What the function returns has a sharding of its own. */
typedef struct {
    int32_t tensor;
    const FactorRule *rule; /* the identity */
    int32_t state;
} ShardyResult;

typedef struct {
    const FactorMeshes *meshes;
    bool conservative;
    int n_ops, n_tensors, n_results, n_groups;
    const ShardyOp *op;
    int32_t *state;       /* per tensor: given, then reached */
    const int32_t *group; /* per tensor: its group, or -1; NULL: there are none */
    ShardyResult *result;
    Progress *progress; /* of the run; NULL */
    Arena *log_arena;   /* where the log of the run is to live; NULL: it is forgotten */
    const FlowLog *log; /* of the run; its passes are those of shardy_pass_names() */
} ShardyProgram;

typedef struct {
    bool basic, aggressive; /* both: basic first, to its fixed point */
    bool op_priorities, user_priorities;
} ShardyMethod;

/* A visit that changed something; op -1 - i: result i of the function. Its tensors are those of the
 * op, of a result the tensor and the result itself. */
typedef struct {
    int op;
    int pass;
    bool aggressive;
    const TensorSharding *const *before, *const *after;
} ShardyEvent;

typedef void ShardySeen(void *context, const ShardyEvent *event);

typedef struct ShardyFlow ShardyFlow;

/* Numbers for shardings, and back. The pointer stays valid. */
ShardyFlow *shardy_flow_new(Arena *arena);
int32_t shardy_put(ShardyFlow *flow, const TensorSharding *sharding);
const TensorSharding *shardy_at(const ShardyFlow *flow, int32_t state);

/* To the fixed point: program->state and result[].state become what is reached. seen: told of each
 * change, in order; NULL: nobody asks. */
void shardy_run(ShardyFlow *flow, ShardyProgram *program, ShardyMethod method, ShardySeen *seen,
                void *context);

/* What a visit of an op in pass `pass` is, 0 to 4; for those who ask why an axis stopped.
 * direction: of room for each factor. Mesh NULL: its tensors are on different meshes. */
ShardyOp shardy_result_op(const ShardyResult *result); /* what hands on to and from it */
FactorStep shardy_step_of(const ShardyProgram *program, const ShardyOp *op, int pass,
                          bool aggressive, const TensorSharding *const *shardings, Pass *direction);

/* By the number that the log has. */
const char *const *shardy_pass_names(void);

enum { SHARDY_PASSES = 5 };

#endif
