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
 *             them its maker, but for the op visited. Nothing is on the stack twice.
 * Tensors of a group have one state: what one of them gets all get.
 *
 * Every change is an event, and events have a total order: their place in the log. A run by sweeps
 * that is given the log of an earlier run of the same passes replays it, and looks only at ops
 * beside a tensor that differs from what it was then; it ends in the same states and with the same
 * log as a run from nothing.
 */
#ifndef CORE_PROPAGATE_ENGINE_H
#define CORE_PROPAGATE_ENGINE_H

#include "core/base/progress.h"
#include "core/base/vec.h"
#include "core/model/graph.h"

/* The columns of a Graph as they are, or others made like them. */
typedef struct {
    int n_ops, n_tensors, n_operands;
    const GraphOp *op;          /* operands and how many */
    const int32_t *rule;        /* per op: ops of one rule are visited alike */
    const int32_t *tensor;      /* operands: inputs, then outputs; -1: none */
    const GraphTensor *tensors; /* maker and uses; NULL: the engine finds them, and a tensor may
                                   have several makers */
    const int32_t *uses;
} FlowGraph;

typedef enum { FLOW_BACKWARD, FLOW_FORWARD, FLOW_BOTH } FlowDirection;

/* What a profile does when an op is visited: changes state[0], of the op, and state[1 + i], of
 * operand i (inputs, then outputs; -1: none, and stays so), from what they are to what they become.
 * Equal arguments must give equal answers, and a visit in one direction repeated at once changes
 * nothing more, unless a tensor is two of its operands. */
typedef void FlowVisit(void *context, int32_t rule, int pass, FlowDirection direction,
                       int32_t *state, int n_inputs, int n_outputs);

/* Who changed what to what; op -1: it was set, by a decision; tensor -1: the op's own state. */
typedef struct {
    int32_t op, tensor, after;
} FlowEvent;

/* The events that one half of a sweep made, one pass by stack, or setting states: from `first` to
 * where the next turn begins. */
typedef struct {
    int32_t pass; /* PASS_SET: states were set */
    FlowDirection direction;
    int32_t first;
} FlowTurn;

enum { PASS_SET = -1 };

typedef struct FlowLog {
    const int32_t *start; /* per tensor: its state before the first event */
    Vec(FlowEvent) events;
    Vec(FlowTurn) turns;
} FlowLog;

typedef struct Engine Engine;

/* Lives in the arena, which grows with the distinct cases met. own: per rule, the state its ops
 * start with in every run. The graph must outlive the engine. */
Engine *engine_new(Arena *arena, const FlowGraph *graph, const int32_t *own, FlowVisit *visit,
                   void *context);

typedef struct {
    Arena *log_arena;     /* the log lives there */
    int32_t *tensor, *op; /* per tensor, per op: where its state is kept, from now on */
    const int32_t *start; /* per tensor: its state; kept by the log, so in that arena too */
    const int32_t *group; /* per tensor: its group's number, or -1; NULL: there are no groups */
    int n_groups;
    const FlowLog *past; /* of an earlier run of this engine with the same groups, in which the same
                            passes followed each other; NULL: from nothing */
    Progress *progress;  /* counts visits; when it says stop the run ends early, and what it leaves
                            is of no use; NULL */
} FlowRun;

void engine_begin(Engine *engine, const FlowRun *run);

/* After the last sweep: gives back what only a run needs. States and log stay. */
void engine_end(Engine *engine);

/* A decision, felt from here on. op -1: of a tensor (of all of its group); tensor -1: of an op. */
void engine_set(Engine *engine, int32_t op, int32_t tensor, int32_t state);
/* Of this tensor, not of its group: what all of them get next they have in common again. */
void engine_set_alone(Engine *engine, int32_t tensor, int32_t state);

typedef struct {
    int pass;
    const bool *takes_part; /* per rule; NULL: all do */
    const bool *again; /* per rule: beside any change of this run, these ops are looked at though
                          nothing changed since the last pass; NULL: all of them */
    bool once;         /* a single forward sweep */
} FlowPass;

void engine_sweep(Engine *engine, const FlowPass *pass);
void engine_stack(Engine *engine, int pass);

/* One double sweep over every op that takes part. True when it changed something. For tests and
 * the bench. */
bool engine_sweep_all(Engine *engine, const FlowPass *pass);

int32_t engine_tensor(const Engine *engine, int32_t tensor);
int32_t engine_op(const Engine *engine, int32_t op);
const FlowLog *engine_log(const Engine *engine);
int64_t engine_n_visits(const Engine *engine); /* in this run */

#endif
