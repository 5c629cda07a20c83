/* flow.h - runs Shardy's propagation of a whole program to its fixed point.
 *
 * A program is a list of ops with sharding rules, in program order, and a TensorSharding for each
 * tensor, interned as a state. Shardy's import passes (import.h) have already run on it.
 *
 * User priorities: until its turn, a dim of a later priority is empty and closed and its axes are
 * replicated. Each priority runs five passes by operator: elementwise ops and views whose operands
 * have one reader; the same with several readers; pass-through factors of all ops, of broadcasts
 * backward only; all factors, of broadcasts backward only; everything. Each pass runs to its own
 * fixed point (engine.h); before and after it, shardings move between the returned values and the
 * results of the function. Source: Shardy's Basic-, OpPriority- and UserPriorityPropagation.
 */
#ifndef CORE_PEERS_SHARDY_FLOW_H
#define CORE_PEERS_SHARDY_FLOW_H

#include "core/propagate/engine.h"
#include "core/peers/shardy/factor_graph.h"
#include "core/peers/shardy/step.h"

/* ORDER SHARDY_CLASS: decides in which passes an op takes part. */
typedef enum {
    SHARDY_PLAIN,
    SHARDY_VIEW,      /* elementwise, reshape, transpose, a move between memories */
    SHARDY_EDGE,      /* a view that allows sub-axes also in conservative propagation */
    SHARDY_CHOSEN,    /* dynamic slices: views, forward only */
    SHARDY_BROADCAST, /* forward in the last pass only */
    SHARDY_BARRIER    /* in all passes, in its own direction; allows sub-axes like edges */
} ShardyClass;

/* The border of a manual computation. Inside, each dim's axes begin with manual axes (`manual`,
 * placed as in `border`) that are not visible outside. */
typedef struct {
    TensorSharding border;
    AxisList manual;
    bool into; /* the edge is an argument of the region; else a value it returns */
} ManualBorder;

/* The sharding without the manual axes. */
TensorSharding shardy_erase_manual(const ManualBorder *border, const TensorSharding *sharding);

typedef struct {
    const FactorRule *rule; /* for n_inputs + n_outputs tensors */
    ShardyClass class;
    Pass pass; /* of a barrier */
    bool elementwise;
    bool multi_use;             /* an operand that is not a scalar has another reader */
    const ManualBorder *border; /* of its result, or NULL */
    int n_inputs, n_outputs;
    const int32_t *tensor; /* inputs, then outputs */
} ShardyOp;

/* A result of the function has its own sharding, apart from the returned tensor's. */
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
    int32_t *state;       /* per tensor: initial, then propagated */
    const int32_t *group; /* per tensor: its group, or -1; NULL without groups */
    ShardyResult *result;
    Progress *progress; /* of the run, or NULL */
    Arena *log_arena;   /* holds the log of the run; NULL: no log is kept */
    const FlowLog *log; /* of the run; its pass numbers index shardy_pass_names() */
} ShardyProgram;

typedef struct {
    bool basic, aggressive; /* both: basic first, to its fixed point */
    bool op_priorities, user_priorities;
} ShardyMethod;

/* A visit that changed a sharding. op = -1 - i is result i of the function, whose tensors are the
 * returned tensor and the result. */
typedef struct {
    int op;
    int pass;
    bool aggressive;
    const TensorSharding *const *before, *const *after;
} ShardyEvent;

typedef void ShardyObserver(void *context, const ShardyEvent *event);

typedef struct ShardyFlow ShardyFlow;

/* Interns shardings as states. Pointers from shardy_at() stay valid. */
ShardyFlow *shardy_flow_new(Arena *arena);
int32_t shardy_put(ShardyFlow *flow, const TensorSharding *sharding);
const TensorSharding *shardy_at(const ShardyFlow *flow, int32_t state);

/* Propagates to the fixed point and updates program->state and result[].state. seen, if not NULL,
 * is called for each change in order. */
void shardy_run(ShardyFlow *flow, ShardyProgram *program, ShardyMethod method, ShardyObserver *seen,
                void *context);

/* shardy_step_of(): the step that a visit of an op in pass `pass` (0 to 4) performs, to explain why
 * an axis stopped. direction has room for each factor. The mesh is NULL if its tensors are on
 * different meshes. shardy_result_op(): the op between a returned tensor and the result. */
ShardyOp shardy_result_op(const ShardyResult *result); /* the op that passes axes between the two */
FactorStep shardy_step_of(const ShardyProgram *program, const ShardyOp *op, int pass,
                          bool aggressive, const TensorSharding *const *shardings, Pass *direction);

/* Indexed by the pass numbers of the log. */
const char *const *shardy_pass_names(void);

enum { SHARDY_PASSES = 5 };

#endif
