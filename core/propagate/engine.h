/* engine.h - axes flow through a graph until nothing changes: what both profiles of `factor` share.
 *
 * A FlowGraph is ops that read and write tensors, in program order. The state is what is known of a
 * tensor or an op: a small number that the profile has interned. A visit is a function of numbers
 * only,
 *     (rule of the op, pass, direction, state of the op, states of its operands) -> all states
 * anew, so it is computed once per distinct case and looked up from then on.
 *
 * A pass runs to its fixed point in one of two orders:
 *     sweeps  forward over the program and back, until a double sweep changes nothing. Only ops
 *             beside a change are looked at, which gives the same.
 *     stack   Shardy's: at first in program order; then, of each tensor that a visit changed
 *             (operands before results, the last on top), its readers, the first on top, and below
 *             them its maker, but for the op visited. Nothing is on the stack twice.
 * Tensors of a group have one state: what one of them receives, all receive.
 *
 * Every change is an event; events are totally ordered by their index in the log. A run by sweeps
 * that is given the log of an earlier run of the same passes replays it, and visits only ops next
 * to a tensor that now differs; it ends in the same states and with the same log as a run without
 * it.
 */
#ifndef CORE_PROPAGATE_ENGINE_H
#define CORE_PROPAGATE_ENGINE_H

#include "core/base/progress.h"
#include "core/base/vec.h"
#include "core/model/graph.h"

/* The columns of a Graph, or others with the same form. */
typedef struct {
    int n_ops, n_tensors, n_operands;
    const GraphOp *op;          /* operands and how many */
    const int32_t *rule;        /* per op: ops with the same rule are visited in the same way */
    const int32_t *tensor;      /* operands: inputs, then outputs; -1: none */
    const GraphTensor *tensors; /* maker and uses; NULL: the engine finds them, and then a tensor
                                   may have several makers */
    const int32_t *uses;
} FlowGraph;

typedef enum { FLOW_BACKWARD, FLOW_FORWARD, FLOW_BOTH } FlowDirection;

/* A profile's visit of an op. It changes state[0], that of the op, and state[1 + i], that of
 * operand i (inputs, then outputs; -1: absent, and stays so). Equal arguments must give equal
 * answers, and repeating a visit in the same direction at once must change nothing, unless one
 * tensor is two of its operands. */
typedef void FlowVisit(void *context, int32_t rule, int pass, FlowDirection direction,
                       int32_t *state, int n_inputs, int n_outputs);

/* Which op changed which state to what; op -1: a decision set it; tensor -1: the op's own state. */
typedef struct {
    int32_t op, tensor, after;
} FlowEvent;

/* The events of one half of a sweep, of one pass by stack, or of setting states: from `first` to
 * the begin of the next turn. */
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
    int32_t *tensor, *op; /* per tensor, per op: the caller's arrays in which the states are kept
                             from now on */
    const int32_t *start; /* per tensor: its state; kept by the log, so in that arena too */
    const int32_t *group; /* per tensor: its group's number, or -1; NULL: there are no groups */
    int n_groups;
    const FlowLog *past; /* of an earlier run of this engine with the same groups and the same
                            order of passes; NULL: start from nothing */
    Progress *progress;  /* counts visits; if it says stop, the run ends early and its results
                            are useless; NULL */
} FlowRun;

void engine_begin(Engine *engine, const FlowRun *run);

/* Call after the last sweep: frees what only a run needs. States and log stay. */
void engine_end(Engine *engine);

/* Sets a state by a decision, with effect from here on. op -1: the state of a tensor, and of all
 * tensors of its group; tensor -1: the state of an op. */
void engine_set(Engine *engine, int32_t op, int32_t tensor, int32_t state);
/* Sets the state of this tensor only, not of its group; the next change of any of them makes them
 * equal again. */
void engine_set_alone(Engine *engine, int32_t tensor, int32_t state);

typedef struct {
    int pass;
    const bool *takes_part; /* per rule; NULL: all take part */
    const bool *again; /* per rule: these ops are visited next to any change of this run, even if
                          nothing changed since the last pass; NULL: all ops */
    bool once;         /* a single forward sweep */
} FlowPass;

void engine_sweep(Engine *engine, const FlowPass *pass);
void engine_stack(Engine *engine, int pass);

/* One double sweep over all ops that take part. Returns whether it changed something. For tests and
 * the bench. */
bool engine_sweep_all(Engine *engine, const FlowPass *pass);

int32_t engine_tensor(const Engine *engine, int32_t tensor);
int32_t engine_op(const Engine *engine, int32_t op);
const FlowLog *engine_log(const Engine *engine);
int64_t engine_n_visits(const Engine *engine); /* in this run */

#endif
