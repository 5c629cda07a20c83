/* engine.h - axes flow through a graph until nothing changes: what both profiles of `factor` share.
 *
 * A FlowGraph is ops that read and write tensors, in program order. What is known of a tensor, and
 * of an op, is a state: a small number that the profile has interned. A visit is a function of
 * numbers alone,
 *     (rule of the op, pass, direction, state of the op, states of its operands) -> all states
 * anew, so it is computed once per distinct case and looked up from then on.
 *
 * A pass runs to its fixed point in one of two orders:
 *     sweeps  forward over the program and back, until a double sweep changes nothing. Only ops
 *             beside a change are looked at, which gives the same.
 *     stack   Shardy's: at first in program order; then, of each tensor that a visit changed
 *             (operands before results, the last on top), its readers, the first on top, and below
 *             them its maker. Nothing is on the stack twice.
 * Tensors of a group have one state: what one of them gets all get.
 *
 * Every change is an event, and events have a total order: their place in the log. A second run
 * of the same passes, after some states were set otherwise, replays the log of the first and looks
 * only at what differs; it ends in the same states, and the same log, as a run from nothing.
 */
#ifndef CORE_PLAN_ENGINE_H
#define CORE_PLAN_ENGINE_H

#include "core/base/arena.h"
#include "core/base/vec.h"

typedef struct {
    int32_t rule;    /* < n_rules; ops of one rule are visited alike */
    int32_t operand; /* first place in FlowGraph.tensor */
    uint16_t n_inputs, n_outputs;
} FlowOp;

typedef struct {
    int n_ops, n_tensors, n_rules;
    const FlowOp *op;
    const int32_t *tensor; /* operands: inputs, then outputs; -1: none */
    const int32_t *group;  /* per tensor: its group's number, or -1; NULL: there are none */
} FlowGraph;

typedef enum { FLOW_BACKWARD, FLOW_FORWARD, FLOW_BOTH } FlowDirection;

/* What a profile does when an op is visited: changes *own and operand[0..n) from the states as they
 * are to the states they become. Equal arguments must give equal answers. An operand that is -1
 * stays so. */
typedef void FlowVisit(void *context, int32_t rule, int pass, FlowDirection direction, int32_t *own,
                       int32_t *operand, int n_inputs, int n_outputs);

typedef struct {
    int32_t op;     /* whose visit; -1: it was set (a decision) */
    int32_t tensor; /* or -1: the state of the op itself */
    int32_t before, after;
} FlowEvent;

/* A run of events that one half-sweep, or one stack pass, made. */
typedef struct {
    int pass;
    FlowDirection direction;
    int32_t first; /* its events end where the next one's begin */
} FlowTurn;

typedef struct Engine Engine;

/* Lives in the arena. own: the first state per op, given anew to every run. */
Engine *engine_new(Arena *arena, const FlowGraph *graph, const int32_t *own, FlowVisit *visit,
                   void *context);

/* Starts a run: every op as given to engine_new(), every tensor as in state[]. */
void engine_begin(Engine *engine, const int32_t *state);
/* A decision felt from here on (priorities). tensor -1: of the op itself. */
void engine_set(Engine *engine, int32_t op, int32_t tensor, int32_t state);

/* To the fixed point. first: per rule, whether its ops may change in this pass though nothing
 * beside them has changed since the last; NULL: all may. takes_part: per rule; NULL: all do.
 * once: a single forward sweep instead. */
typedef struct {
    int pass;
    const bool *first, *takes_part; /* by rule */
    bool once;
} FlowPass;
void engine_sweep(Engine *engine, const FlowPass *pass);
/* The same in the order of a stack; visits have FLOW_BOTH. */
void engine_stack(Engine *engine, int pass);
/* Ends a run: what is not repeated by the next is forgotten. */
void engine_end(Engine *engine);

int32_t engine_tensor(const Engine *engine, int32_t tensor);
int32_t engine_op(const Engine *engine, int32_t op);

/* The log of the last run. */
int engine_n_events(const Engine *engine);
FlowEvent engine_event(const Engine *engine, int at);
int engine_n_turns(const Engine *engine);
const FlowTurn *engine_turn(const Engine *engine, int at);
int64_t engine_n_visits(const Engine *engine); /* that the last run looked at */

#endif
