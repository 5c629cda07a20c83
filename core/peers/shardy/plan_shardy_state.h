/* plan_shardy_state.h - a plan's program as Shardy sees it; for plan_shardy*.c. */
#ifndef CORE_PEERS_SHARDY_PLAN_SHARDY_STATE_H
#define CORE_PEERS_SHARDY_PLAN_SHARDY_STATE_H

#include "core/peers/shardy/flow.h"
#include "core/peers/shardy/plan_shardy.h"

typedef struct {
    const FactorRule *rule; /* NULL: not made yet, or the space has none */
    ShardyClass class;
    bool elementwise;
    int16_t factor[X_MAX]; /* per index dim; -1: it goes along no dim, or in windows alone */
} SpaceRule;

/* A decision that does nothing, and how many of its line of a policy are alike. */
typedef struct {
    const Decision *pin;
    int why, count;
} ShardyRefusal;

typedef struct {
    Plan *plan;
    Propagated *out;
    ShardyFlow *flow;
    ShardyProgram program; /* tensors: the graph's, then those made here */
    SpaceRule *space;      /* per op space */
    int32_t *open;         /* per shape: 1 + the state of which nothing is known */
    int32_t *at;           /* per op of the graph: its place in program.op, or -1 */
    int32_t *of;           /* the inverse; -1: a barrier, or a tie */
    bool aggressive;       /* at the end */
    Vec(ShardyOp) ops;
    Vec(int32_t) states; /* per tensor */
    Vec(ShardyRefusal) refused;
} ShardyPlan;

/* Rules, ops and tensors; nothing is pinned yet. */
void shardy_plan_program(ShardyPlan *sp);
/* Pins and marks, before the program is closed. */
void shardy_plan_pins(ShardyPlan *sp);

/* The state of a tensor of that shape (an id of inferred->shapes, or -1) of which nothing is known.
 */
int32_t shardy_open_state(const ShardyPlan *sp, int n_dims, int shape);

#endif
