/* plan.h - decisions, and all that follows from them.
 *
 * A Journal holds decisions only, with who made them. All else is recomputed by plan_make() from a
 * PlanRequest (inferred, mesh, machine, journal, propagator): so undo is one number, diff compares
 * two lists, and a plan file holds exactly the journal. Most decisions are pins, of a tensor dim or
 * of an index dim.
 *
 * A pin fixes the digits of one dim (closed), or leaves it open to further axes (`open`). A pin of
 * `store` says where a parameter lies; it does not propagate and the value is gathered at use
 * (fsdp). A later pin on the same dim replaces the earlier, with a note; two that contradict in one
 * call of a policy are an error there. A pin on a view of a parameter is a pin on the parameter.
 *
 * Four decisions are about a tensor as a whole (dim -1), as Shardy has them: axes that may not cut
 * it (`replicated`), axes it stays partial over (`unreduced`), a group of tensors that have one
 * sharding, and a barrier that axes pass in one direction or not at all. A pin has a priority: pins
 * of a later one are felt only when those of the earlier have gone as far as they go.
 *
 * Four are about ops in a row, first to last in program order, or about all of them: where a stage
 * begins, the part of the mesh that ops run on, ops computed again in the backward pass, and the
 * schedule (stage.h).
 */
#ifndef CORE_PLAN_PLAN_H
#define CORE_PLAN_PLAN_H

#include "core/base/intern.h"
#include "core/base/progress.h"
#include "core/plan/propagator.h"
#include "core/plan/op_cut.h"
#include "core/reshard/reshard.h"
#include "core/rules/infer.h"

typedef enum { ORIGIN_POLICY, ORIGIN_USER, ORIGIN_SEARCH } OriginKind;

typedef struct {
    OriginKind kind;
    const char *file; /* of the policy; "" else */
    int line;
    const char
        *text; /* what was asked, as a Lua line: `graph:shard("lm_head.weight", {[1]="tp"})` */
} Origin;

/* ORDER DECISION_KIND. */
typedef enum {
    PIN_TENSOR_DIM,
    PIN_INDEX_DIM,
    UNPIN_TENSOR_DIM,
    UNPIN_INDEX_DIM,
    PIN_REPLICATED, /* `axes` cut no dim of the tensor */
    PIN_UNREDUCED,  /* the tensor is left partial over `axes`, which cut no dim of it */
    PIN_GROUP,      /* tensors with one `group` have one sharding */
    PIN_BARRIER,    /* axes pass the tensor only in direction `pass` */
    UNPIN_TENSOR,   /* takes all four of a tensor away */
    PIN_STAGE,      /* at op `place` a stage begins */
    PIN_DEVICES,    /* ops `place` to `last` run on `devices` */
    PIN_RECOMPUTE,  /* ops `place` to `last` are group `number` of what is computed again */
    PIN_SCHEDULE,   /* the graph is run `number` times, in the order `schedule` says */
    DECISION_KIND_COUNT
} DecisionKind;

/* ORDER PASS: "none", "forward", "backward", "both" */
typedef enum { PASS_NONE, PASS_FORWARD, PASS_BACKWARD, PASS_BOTH } Pass;

typedef struct {
    DecisionKind kind;
    int32_t place;  /* tensor, or op; of PIN_SCHEDULE 0 */
    int dim;        /* of the tensor; or index dim of the op's space; -1: the tensor as a whole */
    const Cut *cut; /* of pins of a dim; whole: pinned replicated; NULL: none */
    bool open, store;
    int priority;         /* of pins of a dim; 0 is the first */
    AtomSet axes;         /* of PIN_REPLICATED and PIN_UNREDUCED */
    const char *group;    /* of PIN_GROUP */
    Pass pass;            /* of PIN_BARRIER */
    int32_t last;         /* of PIN_DEVICES, PIN_RECOMPUTE: an op, not before `place` */
    SubMesh devices;      /* of PIN_DEVICES */
    bool relay;           /* of PIN_STAGE: values for later stages pass through it */
    int number;           /* of PIN_RECOMPUTE: its group, from 0; of PIN_SCHEDULE: micro-batches */
    const char *schedule; /* of PIN_SCHEDULE: a name, or steps (schedule.h) */
    Origin origin;
} Decision;

typedef struct {
    Vec(Decision) decisions;
    int n_done;   /* decisions[0..n_done) count; the rest can be redone */
    Intern *cuts; /* of decisions that were added: equal ones stand there once */
} Journal;

const Cut *decision_cut(const Decision *decision); /* that of no digits where it has none */
const Cut *cut_keep(Intern *cuts, const Cut *cut); /* a copy, shared with equal ones */

/* Forgets what could be redone. Nobody else may point into the journal's decisions. The cut is
 * copied, other texts are not. */
void journal_add(Journal *journal, Arena *arena, const Decision *decision);

/* One value moved once: shared by all who read it so. Where `from_devices` and `to_devices` differ,
 * one of its steps sends it from the one to the other; steps before are done by the first, steps
 * after it by the second. */
typedef struct {
    int32_t tensor, from, to;         /* Shardings ids */
    int16_t from_devices, to_devices; /* places in plan->submeshes */
    int32_t use, n_uses; /* run in plan->reshard_uses: ops; none when a pin asks for it */
    const ReshardPath *path;
} Reshard;

typedef struct {
    double step_us, compute_us, comm_us;
    double overlap_us;  /* the best case: collectives beside ops that do not need them */
    int64_t comm_bytes; /* sum of wire bytes, one rank */
    int64_t peak_bytes; /* of the device that needs most */
    double flops;       /* of one rank; where there are stages, of one of each */
} Totals;

/* The row that an operator chose, in the prices of the propagator's own system. */
typedef struct {
    double us;      /* what moving the inputs into it costs; negative: it chose none */
    double next_us; /* the next best; INFINITY: there is no other */
} OpChoice;

typedef struct Reasons Reasons;
typedef struct Stages Stages;           /* stage.h */
typedef struct FlowLog FlowLog;         /* core/propagate/engine.h */
typedef struct Propagation Propagation; /* core/propagate/propagate.h */
typedef struct OpSaid OpSaid;           /* core/cost/op_said.h */
typedef struct Pipeline Pipeline;       /* core/cost/pipeline.h */

/* What happened while axes flowed, for events.h: the engine's log, and what its states are. */
typedef struct {
    const FlowLog *flow; /* NULL: the propagator keeps none */
    const int32_t *end;  /* per tensor: its last state; -1: none */
    const int32_t *op;   /* per op of the engine: of the graph; -1: a tie of a loop. NULL: they are
                            the graph's, then ties */
    const char *const *pass_name;
    const void *context;
    /* What a state of a tensor, or of an op, is: an id of plan->shardings; a cut. */
    int32_t (*sharding_of)(const void *context, Shardings *shardings, int32_t state);
    const OpCut *(*cut_of)(const void *context, int32_t state);
} PlanLog;

/* What the state that axes left a tensor in says of it. */
typedef struct {
    int32_t sharding; /* Shardings id; -1: not asked for */
    uint32_t pinned;
} FlowEnd;

/* The parts of a plan, in the order in which they are made. Each is constant to those who make the
 * next: the stage that fills a part has the only pointer that may change it. */

/* Decisions that hold after the journal was replayed, and the devices they give to ops. Made by
 * plan_decide() (decide.h) and stages_place() (stage.h). */
typedef struct Decided {
    const Decision **pins; /* at most one per dim, in journal order */
    int n_pins;
    const Decision **marks; /* the same for decisions about a tensor as a whole */
    int n_marks;
    const Decision **places; /* the same for decisions about ops in a row, or about all */
    int n_places;
    int32_t *pin_of;   /* places in pins, plus 1, by the hash of (kind, place, dim); 0: free */
    uint32_t n_pin_of; /* a power of two */
    const SubMesh *submeshes; /* the parts of the mesh that ops run on; the first is the whole */
    int n_submeshes;
    int16_t *devices;     /* per op: place in submeshes; NULL: all run on the whole mesh */
    const Stages *stages; /* stage.h; NULL if there are none */
} Decided;

/* What the propagator settled on: the cut of every op, and per tensor how axes reached it. */
typedef struct Propagated {
    int32_t *cut;       /* per op: OpCut id; -1 for host ops */
    const OpCut **cuts; /* by id */
    int n_cuts;
    int32_t *flow;          /* per tensor: see plan_flow(); NULL: its last state tells, in `ends` */
    uint16_t *pinned;       /* per tensor: see plan_pinned(); likewise */
    const FlowEnd *ends;    /* per state of a tensor */
    AtomSet *passed;        /* per place in graph->operands that is an input: partial axes that stay
                               partial through the op that reads it, as the chosen strategy says; NULL:
                               what edges.h says of linear ops holds */
    const OpChoice *choice; /* per op; NULL if ops choose no rows under this propagator */
    PlanLog log;
    int sweeps; /* double sweeps until the fixed point */
} Propagated;

/* How each value is made and read, and the reshards between. Made by edges_fill() (edges.h). */
typedef struct Moved {
    int32_t *sharding; /* per tensor: as it is made, stored or given (after a pin's reshard) */
    int32_t *made; /* per tensor: as its maker leaves it; differs from sharding only where pinned */
    int32_t *need; /* per place in graph->operands that is an input: the sharding it is read with */
    Reshard *reshards; /* in program order of first use */
    int n_reshards;
    int32_t *reshard_uses;
} Moved;

/* What it costs. Made by cost_fill() (core/cost/cost.h) and what follows it there. */
typedef struct Priced {
    Totals totals;
    int64_t peak_rank;                /* the rank that needs totals.peak_bytes */
    double *op_us;                    /* per op: compute on the slowest rank; 0 for host ops */
    const struct OpSaid *const *said; /* per op: op_said.h; NULL if no operator says anything */
    const Pipeline *pipeline;         /* core/cost/pipeline.h; NULL if there are no stages */
} Priced;

typedef struct Plan {
    Arena *arena;
    const Inferred *inferred;
    const Mesh *mesh;
    const Machine *machine;
    const Propagator *propagator;
    Shardings *shardings;
    Resharder *resharder;
    Findings findings; /* of inference and of planning: every stage adds its own */
    const Decided *decided;
    const Propagated *propagated;
    const Moved *moved;
    const Priced *priced;
    Progress *progress; /* of making it; NULL once it is made */
    Reasons *reasons;   /* made on first `why`; core/explain/reason.h */
} Plan;

static inline const Sharding *plan_sharding(const Plan *plan, int32_t tensor)
{
    return shardings_at(plan->shardings, plan->moved->sharding[tensor]);
}

/* The cuts the propagator settled on, which its maker may not give: a Shardings id, or -1. */
static inline int32_t plan_flow(const Plan *plan, int32_t tensor)
{
    if (plan->propagated->flow)
        return plan->propagated->flow[tensor];
    int32_t state = plan->propagated->log.end[tensor];
    return state < 0 ? -1 : plan->propagated->ends[state].sharding;
}

/* Dims fixed by a pin of use, on it or on a view of it. */
static inline uint32_t plan_pinned(const Plan *plan, int32_t tensor)
{
    if (plan->propagated->pinned)
        return plan->propagated->pinned[tensor];
    int32_t state = plan->propagated->log.end[tensor];
    return state < 0 ? 0 : plan->propagated->ends[state].pinned;
}

static inline const OpCut *plan_cut(const Plan *plan, int32_t op)
{
    return plan->propagated->cut[op] < 0 ? NULL : plan->propagated->cuts[plan->propagated->cut[op]];
}

/* The same for an op of the program, which always has one. */
static inline const OpCut *program_cut(const Plan *plan, int32_t op)
{
    assert(plan->propagated->cut[op] >= 0);
    return plan->propagated->cuts[plan->propagated->cut[op]];
}

/* The part of the mesh that an op runs on: place in plan->submeshes. */
static inline int plan_devices(const Plan *plan, int32_t op)
{
    return plan->decided->devices ? plan->decided->devices[op] : 0;
}

/* What a plan is made from. All of it must outlive the plan. */
typedef struct PlanRequest {
    const Inferred *inferred;
    const Mesh *mesh;
    const Machine *machine;
    const Journal *journal;
    const Propagator *propagator; /* NULL: the default (core/propagate/propagators.h) */
    const struct RuleBook *rules; /* of other systems, as registered; NULL: those built in only */
    bool no_redistribute; /* Propagator.may_refuse: what an op would have to move is an error */
    /* Propagator.incremental, both or none: what earlier plans of this model and mesh left, and one
     * of them that is still there. The plan comes out the same, sooner. */
    Propagation *propagation;
    const struct Plan *before;
    Progress *progress; /* NULL: nobody watches */
} PlanRequest;

/* All decisions that hold: pins, marks, then those about ops in a row. */
static inline int plan_n_held(const Plan *plan)
{
    return plan->decided->n_pins + plan->decided->n_marks + plan->decided->n_places;
}

static inline const Decision *plan_held(const Plan *plan, int i)
{
    if (i < plan->decided->n_pins)
        return plan->decided->pins[i];
    i -= plan->decided->n_pins;
    return i < plan->decided->n_marks ? plan->decided->marks[i]
                                      : plan->decided->places[i - plan->decided->n_marks];
}

/* The pin that holds on a dim now, or NULL. */
const Decision *plan_pin_of(const Plan *plan, DecisionKind kind, int32_t place, int dim);

/* In a loop over ops, where it is the i-th: counts, and is false when the making is to stop. */
static inline bool plan_making_goes_on(const Plan *plan, int i)
{
    enum { TELL_OPS = 4096 };
    if (i % TELL_OPS != TELL_OPS - 1)
        return true;
    progress_add(plan->progress, TELL_OPS);
    return !progress_stopped(plan->progress);
}

bool decision_pins_dim(DecisionKind kind);     /* PIN_TENSOR_DIM, PIN_INDEX_DIM */
bool decision_is_on_tensor(DecisionKind kind); /* place is a tensor, else an op */
bool decision_marks_tensor(DecisionKind kind); /* the four about a tensor as a whole */
bool decision_is_on_ops(DecisionKind kind);    /* the four about ops in a row, or all */

bool plan_is_legal(const Plan *plan); /* no finding of level error */
int64_t plan_local_bytes(const Plan *plan, int32_t tensor,
                         int32_t sharding); /* on rank 0, the largest */

#endif
