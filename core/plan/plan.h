/* plan.h - a plan: the decisions of users and policies, and everything computed from them.
 *
 * A Journal holds decisions only, with their authors. Everything else is recomputed by plan_make()
 * from a PlanRequest (inferred, mesh, machine, journal, propagator): so undo changes one number,
 * diff compares two lists, and a plan file holds exactly the journal. Most decisions are pins, of a
 * tensor dim or of an index dim.
 *
 * A pin fixes the digits of one dim (closed), or leaves it open to further axes (`open`). A `store`
 * pin says how a parameter, its gradient or its optimizer states are stored; it does not propagate:
 * a stored parameter is gathered where it is used (FSDP), and the update of a training step is
 * sharded like the states (ZeRO). A later pin on the same dim replaces the earlier one, with a
 * note; two pins in one call of a policy that contradict each other are an error there. A pin on a
 * view of a parameter, such as its transpose, becomes a pin on the parameter itself.
 *
 * Four decisions are about a tensor as a whole (dim -1), with Shardy's meaning: axes that may not
 * shard it (`replicated`), axes it stays partial over (`unreduced`), a group of tensors that share
 * one sharding, and a barrier that axes cross in one direction or not at all. A pin has a priority:
 * pins of a later priority start to propagate only after those of earlier ones have propagated as
 * far as possible.
 *
 * Four are about a range of ops, first to last in program order, or about all ops: where a
 * pipeline stage begins, the part of the mesh that ops run on, ops that are recomputed in the
 * backward pass, and the schedule (stage.h).
 *
 * One is about all values that match a pattern, including those of a training step: the plan
 * assumes that they are reduced, or partial, over axes, whatever their ops make (assume.h).
 */
#ifndef CORE_PLAN_PLAN_H
#define CORE_PLAN_PLAN_H

#include "core/base/intern.h"
#include "core/base/progress.h"
#include "core/plan/propagator.h"
#include "core/plan/op_cut.h"
#include "core/reshard/reshard.h"
#include "core/rules/infer.h"
#include "core/step/stored.h"

typedef enum { ORIGIN_POLICY, ORIGIN_USER, ORIGIN_SEARCH } OriginKind;

typedef struct {
    OriginKind kind;
    const char *file; /* of the policy; "" if no policy made it */
    int line;
    const char *text; /* the decision as a Lua line: `graph:shard("lm_head.weight", {[1]="tp"})` */
} Origin;

/* ORDER DECISION_KIND. */
typedef enum {
    PIN_TENSOR_DIM,
    PIN_INDEX_DIM,
    UNPIN_TENSOR_DIM,
    UNPIN_INDEX_DIM,
    PIN_REPLICATED, /* no dim of the tensor is sharded by `axes` */
    PIN_UNREDUCED,  /* the tensor is left partial over `axes`, which shard no dim of it */
    PIN_GROUP,      /* tensors of one `group` share one sharding */
    PIN_BARRIER,    /* axes cross the tensor only in direction `pass` */
    UNPIN_TENSOR,   /* removes all four decisions about a tensor as a whole */
    PIN_STAGE,      /* a stage begins at op `place` */
    PIN_DEVICES,    /* ops `place` to `last` run on `devices` */
    PIN_RECOMPUTE,  /* ops `place` to `last` are recomputation group `number` */
    PIN_SCHEDULE,   /* the graph runs `number` times, in the order of `schedule` */
    PIN_ASSUMED,    /* values that match `pattern` are taken to be `assumed` over `axes` */
    DECISION_KIND_COUNT
} DecisionKind;

/* Sets of kinds for Propagator.obeys. The kinds about ranges of ops need no propagator. */
#define OBEYS(kind) (1u << (kind))
enum {
    OBEYS_PINS = OBEYS(PIN_TENSOR_DIM) | OBEYS(PIN_INDEX_DIM),
    OBEYS_MARKS =
        OBEYS(PIN_REPLICATED) | OBEYS(PIN_UNREDUCED) | OBEYS(PIN_GROUP) | OBEYS(PIN_BARRIER)
};

/* ORDER PASS: "none", "forward", "backward", "both" */
typedef enum { PASS_NONE, PASS_FORWARD, PASS_BACKWARD, PASS_BOTH } Pass;

const char *decision_kind_name(DecisionKind kind); /* "pin": as in plan files */
const char *pass_name(Pass pass);

/* What a value is assumed to be (assume.h). ORDER ASSUMED */
typedef enum {
    ASSUMED_REDUCED,
    ASSUMED_PARTIAL,
    ASSUMED_MEAN,
    ASSUMED_DRAWN_BY_RANK,
    ASSUMED_DRAWN_ALIKE,
    ASSUMED_COUNT
} Assumed;

typedef struct {
    DecisionKind kind;
    int32_t place;  /* a tensor or an op; 0 if decision_is_on_all() */
    int dim;        /* of the tensor, or the index dim of the op's space; -1 for the tensor as a
                       whole */
    const Cut *cut; /* of pins of a dim; a whole cut pins it replicated; NULL for other decisions */
    bool open;
    uint8_t store; /* of pins of a tensor's dim: the set of values of a parameter
                      (core/step/stored.h) that are stored so; 0: the pin says how the dim is
                      used */
    bool keep;     /* of a pin of a tensor's dim: what a collective gathers of the tensor or of a
                      view of it is kept for the other phases of the step */
    int priority;  /* of pins of a dim; 0 is the first */
    AtomSet axes;  /* of PIN_REPLICATED, PIN_UNREDUCED and PIN_ASSUMED */
    const char *group;    /* of PIN_GROUP */
    Pass pass;            /* of PIN_BARRIER; of PIN_SCHEDULE: the passes that overlap with
                             gathers of parameters and reductions of their gradients
                             (core/cost/streams.h) */
    int32_t last;         /* of PIN_DEVICES, PIN_RECOMPUTE: an op, not before `place` */
    SubMesh devices;      /* of PIN_DEVICES */
    bool relay;           /* of PIN_STAGE: values for later stages are sent through it */
    bool whole;           /* of PIN_RECOMPUTE: all ops of the group run again, even those whose
                             results no gradient needs */
    int number;           /* of PIN_RECOMPUTE: its group, from 0; of PIN_SCHEDULE: micro-batches */
    const char *schedule; /* of PIN_SCHEDULE: a name, or steps written out (schedule.h) */
    const char *pattern;  /* of PIN_ASSUMED: a pattern of names of values, as str_glob() reads it */
    Assumed assumed;      /* of PIN_ASSUMED */
    Origin origin;
} Decision;

typedef struct {
    Vec(Decision) decisions;
    int n_done;   /* decisions[0..n_done) hold; the rest can be redone */
    Intern *cuts; /* of added decisions: equal cuts are stored once */
} Journal;

/* ", stored", ", gradient and states stored, kept gathered"; nothing for most. */
void decision_format_store(const Decision *decision, Buf *out);
const Cut *decision_cut(const Decision *decision); /* the cut of a decision without one has no
                                                      digits */
const Cut *cut_keep(Intern *cuts, const Cut *cut); /* a copy that equal cuts share */

/* Adds a decision and drops those that could be redone; pointers into the journal's decisions
 * become invalid. Copies the cut, but not the texts. */
void journal_add(Journal *journal, Arena *arena, const Decision *decision);

/* One value moved once, for all ops that read it with this sharding. If `from_devices` and
 * `to_devices` differ, one of its steps sends it from the former to the latter; earlier steps run
 * on the former, later ones on the latter. */
typedef struct {
    int32_t tensor, from, to;         /* Shardings ids */
    int16_t from_devices, to_devices; /* indices into plan->decided->submeshes */
    uint8_t phase;       /* of a training step: plan_phase() of its readers. The result is larger
                            than the value, so it is dropped after this phase and made again for
                            others. 0: it is for all readers */
    int32_t use, n_uses; /* run of plan->moved->reshard_uses: ops that read the result; empty if a
                            pin asks for it */
    const ReshardPath *path;
} Reshard;

typedef struct {
    double step_us, compute_us, comm_us;
    double overlap_us;  /* the best case: collectives overlap with ops that do not need them */
    int64_t comm_bytes; /* sum of the bytes that one rank sends */
    int64_t peak_bytes; /* of the device that needs most memory */
    double flops;       /* of one rank; with stages, of one rank of each */
} Totals;

/* The strategy that an operator chose, priced by the propagator's own system. */
typedef struct {
    double us;      /* cost of moving the inputs into it; negative if the operator chose none */
    double next_us; /* cost of the next best; INFINITY if there is no other */
} OpChoice;

typedef struct Reasons Reasons;
typedef struct Stages Stages;           /* stage.h */
typedef struct Assumptions Assumptions; /* assume.h */
typedef struct FlowLog FlowLog;         /* core/propagate/engine.h */
typedef struct Propagation Propagation; /* core/propagate/propagate.h */
typedef struct OpDeclared OpDeclared;   /* core/cost/op_declared.h */
typedef struct Pipeline Pipeline;       /* core/cost/pipeline.h */
typedef struct Routed Routed;           /* routed.h */

/* What happened during propagation, for events.h: the engine's log, and the meaning of its states.
 */
typedef struct {
    const FlowLog *flow; /* NULL if the propagator keeps no log */
    const int32_t *end;  /* per tensor: its last state, or -1 */
    const int32_t *op;   /* per op of the engine: op of the graph, or -1 for a loop's tie. NULL if
                            the engine's ops are the graph's, followed by ties */
    const char *const *pass_name;
    const void *context;
    /* The meaning of a state: of a tensor its Shardings id, of an op its cut. */
    int32_t (*sharding_of)(const void *context, Shardings *shardings, int32_t state);
    const OpCut *(*cut_of)(const void *context, int32_t state);
} PlanLog;

/* What the last state of a tensor says about it. */
typedef struct {
    int32_t sharding; /* Shardings id; -1 until first used */
    uint32_t pinned;
} ReachedState;

/* The parts of a plan, in the order in which they are made. Each is const to later stages: only
 * the stage that fills a part has a pointer that may change it. */

/* The decisions that hold after the journal was replayed, and the devices they give to ops. Made
 * by plan_decide() (decide.h) and stages_place() (stage.h). */
typedef struct Decided {
    const Decision **pins; /* at most one per dim, in journal order */
    int n_pins;
    const Decision **rings; /* pins by which parts of a product go around a ring: laid upon the cuts
                               that propagation gives */
    int n_rings;
    const Decision **marks; /* likewise, for the decisions about a tensor as a whole */
    int n_marks;
    const Decision **places; /* likewise, for the decisions about a range of ops, or about all */
    int n_places;
    int32_t *pin_of;   /* hash table by (kind, place, dim): index into pins plus 1; 0 if free */
    uint32_t n_pin_of; /* a power of two */
    const SubMesh *submeshes; /* the parts of the mesh that ops run on; the first is the whole mesh
                               */
    int n_submeshes;
    const Machine **machines; /* per sub-mesh: what it runs on; NULL if all devices are alike */
    int16_t *devices;         /* per op: index into submeshes; NULL if all run on the whole mesh */
    const int32_t *recompute; /* per op of the model: its recomputation group, -1; NULL if none has
                                 one */
    const Stages *stages;     /* stage.h; NULL: no stages */
    const Assumptions *assumptions; /* assume.h; NULL if there are none */
} Decided;

/* The propagator's result: the cut of every op, and the sharding that axes reached per tensor. */
typedef struct Propagated {
    int32_t *cut;       /* per op: OpCut id; -1 for host ops */
    const OpCut **cuts; /* by id */
    int n_cuts;
    int32_t *reached;         /* per tensor: see plan_reached(); NULL if `ends` has it */
    uint16_t *pinned;         /* per tensor: see plan_pinned(); NULL likewise */
    const ReachedState *ends; /* per state of a tensor */
    const int32_t *group; /* per tensor: its group (PIN_GROUP), whose members share one sharding; -1
                             if it is in none; NULL if there are no groups */
    AtomSet *passed;      /* per input operand in graph->operands: the axes that stay partial
                             through the op that reads it, as its strategy chose; NULL if the rules
                             of edges.h hold */
    const OpChoice *choice; /* per op; NULL if this propagator chooses no strategies */
    PlanLog log;
    int sweeps; /* forward and backward sweeps until the fixed point */
} Propagated;

/* The sharding each value is made and read with, and the reshards between. Made by edges_fill()
 * (edges.h). */
typedef struct Moved {
    int32_t *sharding; /* per tensor: as it is stored, given or made (after a pin's reshard) */
    int32_t *made; /* per tensor: as its maker gives it; differs from `sharding` only where pinned
                    */
    int32_t *computed; /* per assumption: the sharding that the op computes, which contradicts
                          `made` if the assumption is wrong; -1 if no op makes the value */
    int32_t *need;     /* per input operand in graph->operands: the sharding its reader needs */
    Reshard *reshards; /* in program order of first use */
    int n_reshards;
    int32_t *reshard_uses;
} Moved;

/* What the plan costs. Made by cost_fill() (core/cost/cost.h) and the stages after it. */
typedef struct Priced {
    Totals totals;
    int64_t peak_rank; /* the rank that needs totals.peak_bytes */
    double *op_us;     /* per op: compute time on the slowest rank; 0 for host ops */
    const struct OpDeclared *const *declared; /* per op; NULL if no operator declares anything */
    const Pipeline *pipeline; /* core/cost/pipeline.h; NULL if there are no stages */
} Priced;

typedef struct Plan {
    Arena *arena;
    const Inferred *inferred;
    const struct Naming *naming; /* for the names of tensors in findings; NULL: their own names */
    const Mesh *mesh;
    const Machine *machine;
    const Propagator *propagator;
    Shardings *shardings;
    Resharder *resharder;   /* of the whole machine */
    Resharder **resharders; /* per sub-mesh, if devices are unlike: plan_machine.h; else NULL */
    const Routed *routed;   /* which values contain only routed tokens; NULL: none do */
    Findings findings;      /* of inference and planning: every stage appends its own */
    const Decided *decided;
    const Propagated *propagated;
    const Moved *moved;
    const Priced *priced;
    Progress *progress; /* while the plan is made; NULL afterwards */
    Reasons *reasons;   /* made by the first `why`; core/explain/reason.h */
} Plan;

static inline const Sharding *plan_sharding(const Plan *plan, int32_t tensor)
{
    return shardings_at(plan->shardings, plan->moved->sharding[tensor]);
}

/* The sharding that propagation gave a tensor, which its maker may not produce: a Shardings id, or
 * -1. */
static inline int32_t plan_reached(const Plan *plan, int32_t tensor)
{
    if (plan->propagated->reached)
        return plan->propagated->reached[tensor];
    int32_t state = plan->propagated->log.end[tensor];
    return state < 0 ? -1 : plan->propagated->ends[state].sharding;
}

/* Dims fixed by a pin (not a `store` pin) on the tensor or on a view of it, as bits. */
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

/* The same for an op of the program: it always has a cut. */
static inline const OpCut *program_cut(const Plan *plan, int32_t op)
{
    assert(plan->propagated->cut[op] >= 0);
    return plan->propagated->cuts[plan->propagated->cut[op]];
}

/* The part of the mesh that an op runs on: index into plan->decided->submeshes. */
static inline int plan_devices(const Plan *plan, int32_t op)
{
    return plan->decided->devices ? plan->decided->devices[op] : 0;
}

/* What that part of the mesh, an index into plan->decided->submeshes, runs on. */
static inline const Machine *plan_machine_of(const Plan *plan, int devices)
{
    return plan->decided->machines ? plan->decided->machines[devices] : plan->machine;
}

/* 1 + the phase of an op of a training step; 0 for a forward plan. Ops that run again count as
 * backward, which reads what is gathered for them. */
static inline int plan_phase(const Plan *plan, int32_t op)
{
    const uint8_t *phase = plan->inferred->graph->phase;
    if (!phase || op < 0)
        return 0;
    return 1 + (phase[op] == PHASE_AGAIN ? PHASE_BACKWARD : phase[op]);
}

/* What a plan is made from. Everything in it must outlive the plan. */
typedef struct PlanRequest {
    const Inferred *inferred;
    const struct Naming *naming; /* NULL: findings have the tensors' own names */
    const Mesh *mesh;
    const Machine *machine;
    const Journal *journal;
    const Propagator *propagator; /* NULL: the default (core/propagate/propagators.h) */
    const struct RuleBook *rules; /* rules registered for other systems; NULL: only the built-in
                                     ones */
    bool no_redistribute; /* Propagator.may_refuse: report an error where an op would have to
                             move data */
    bool figures_only;    /* make all errors, but no findings about what could be better */
    /* Propagator.incremental, both or none: the state that earlier plans of this model and mesh
     * left, and one of those plans that still exists. The resulting plan is the same, but made
     * faster. */
    Propagation *propagation;
    const struct Plan *before;
    const Resharder *lender; /* paths that it has found are not searched again (lend.h); NULL */
    Progress *progress;      /* NULL if nobody watches */
} PlanRequest;

/* All decisions that hold: pins, marks, then those about ranges of ops. */
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

/* The pin that holds on a dim: how the dim is used, or else how the parameter is stored; NULL if
 * there is none. */
const Decision *plan_pin_of(const Plan *plan, DecisionKind kind, int32_t place, int dim);
/* The store pin on a dim of a parameter, of its gradient or of one of its states, which may hold
 * beside a pin of how the parameter is used; or NULL. */
const Decision *plan_store_pin_of(const Plan *plan, int32_t tensor, int dim);
/* The pin that says how those values of a parameter are stored; or NULL. */
const Decision *plan_store_pin_for(const Plan *plan, int32_t parameter, int dim, Stored values);
/* Whether a pin of a dim says how they are stored. */
bool plan_stores(const Plan *plan, int32_t parameter, Stored values);

/* For loops over ops, with the loop's counter: reports progress, and returns false if the work is
 * to stop. */
static inline bool plan_making_goes_on(const Plan *plan, int i)
{
    enum { TELL_OPS = 4096 };
    if (i % TELL_OPS != TELL_OPS - 1)
        return true;
    progress_add(plan->progress, TELL_OPS);
    return !progress_stopped(plan->progress);
}

bool decision_pins_dim(DecisionKind kind);     /* PIN_TENSOR_DIM or PIN_INDEX_DIM */
bool decision_is_on_tensor(DecisionKind kind); /* whether place is a tensor, not an op */
bool decision_marks_tensor(DecisionKind kind); /* one of the four about a tensor as a whole */
bool decision_is_on_ops(DecisionKind kind);    /* about a range of ops, or about all */
bool decision_is_on_all(DecisionKind kind); /* about no single op or tensor: `place` is not used */

/* Whether the decision is about an op or a tensor that a training step has only after its forward
 * pass. */
bool decision_is_behind_forward(const Inferred *inferred, const Decision *decision);

/* In a plan of a training step, the gradient of a tensor; -1 if it has none. */
int32_t plan_gradient(const Plan *plan, int32_t tensor);

bool plan_is_legal(const Plan *plan); /* no finding has level error */
int64_t plan_local_bytes(const Plan *plan, int32_t tensor,
                         int32_t sharding); /* on rank 0, which holds the largest part */

#endif
