/* plan_shardy_state.h - a plan as a program for Shardy's propagation; internal to
 * plan_shardy*.c. */
#ifndef CORE_PEERS_SHARDY_PLAN_SHARDY_STATE_H
#define CORE_PEERS_SHARDY_PLAN_SHARDY_STATE_H

#include "core/peers/shardy/flow.h"
#include "core/peers/shardy/plan_shardy.h"

typedef struct {
    const FactorRule *rule; /* NULL if not derived yet or the space has none */
    ShardyClass class;
    bool elementwise;
    int16_t factor[X_MAX]; /* per index dim; -1 if it follows no dim or only windows */
} SpaceRule;

/* A decision that is ignored, and how many of the same policy line are ignored for the same
 * reason. */
typedef struct {
    const Decision *pin;
    int why, count;
} ShardyRefusal;

typedef struct {
    Plan *plan;
    Propagated *out;
    ShardyFlow *flow;
    ShardyProgram program; /* tensors: the graph's, then those added here */
    SpaceRule *space;      /* per op space */
    int32_t *open;         /* per shape: 1 + the fully open state */
    int32_t *at;           /* per op of the graph: its place in program.op, or -1 */
    int32_t *of;           /* the inverse; -1 for barriers and ties */
    bool aggressive;       /* the last phase */
    Vec(ShardyOp) ops;
    Vec(int32_t) states; /* per tensor */
    Vec(ShardyRefusal) refused;
} ShardyPlan;

/* Makes rules, ops and tensors, before any pin. */
void shardy_plan_program(ShardyPlan *sp);
/* Applies pins and marks to the tensors' states. */
void shardy_plan_pins(ShardyPlan *sp);

/* The fully open state of a tensor of that shape (an id of inferred->shapes, or -1).
 */
int32_t shardy_open_state(const ShardyPlan *sp, int n_dims, int shape);

#endif
