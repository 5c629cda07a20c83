/* instance.h - a plan as a problem of core/solve: what can be chosen, and what it costs.
 *
 * A node is an op of the forward pass, and with it its gradients and what runs again: all of them
 * take its cut. Ops of equal layers are one node if they are folded. Other nodes are
 *
 *     sum        the sum of a value's gradients: sharded as an addend or as the value
 *     input      an input of the graph that several nodes read: how it is given
 *     parameter  how a parameter is stored, its gradient and its states, and with them its update
 *     shared     a value that several nodes read: the one sharding that it is moved to for all
 *
 * A choice of an op also says over which axes a partial value passes through it and through its
 * gradients, where the rules of core/plan/edges.h may let it: an edge forbids what they would not
 * do.
 *
 * The cost is that of the plan, term by term: an op's time under its cut (core/cost/cost.h) is a
 * cost of its node; the reshards of a value (core/reshard/reshard.h), of its readers and its maker.
 * Values with one reader are edges. For one with several, the node `shared` pays for a move that
 * they have in common, so that it is counted once; moves to other shardings are counted for each.
 * What an op reads of windows, or of a dim that it needs a part of, depends on how the value lies
 * (core/plan/edges.h): the op's time is that of the least, and the edge has the rest. A window's
 * borders, or the whole dim, cost what is cheaper to have.
 *
 * So model_us of a plan (search.h) equals its totals.step_us, sums of compute and communication
 * without overlap and without buckets (core/cost/streams.h). Under a schedule of stages each term
 * counts as often as stage_weights.h has it, and schedule_parts.h says what separates the sum from
 * the plan's step. Where a graph has what is not modelled, it says so by differing: costs that
 * operators declare, loops' carries, clipping of gradients by their norm, marks of policies.
 */
#ifndef CORE_SEARCH_INSTANCE_H
#define CORE_SEARCH_INSTANCE_H

#include "core/search/cuts.h"
#include "core/search/memo.h"
#include "core/search/stage_weights.h"
#include "core/session/session.h"
#include "core/solve/problem.h"

typedef enum { NODE_OP, NODE_SUM, NODE_INPUT, NODE_PARAMETER, NODE_SHARED, NODE_FIXED } NodeKind;

/* How a parameter is stored: as it is used, and sharded further by `by` on dim `dim`. */
typedef struct {
    int32_t used;   /* Shardings id */
    bool pinned;    /* it is stored so whatever readers need */
    bool agreed;    /* all readers need it so; false: it is whole, since they do not */
    bool each;      /* its gradient is stored sharded, and reduced for that in each micro-batch */
    uint8_t values; /* what is sharded further: a set of Stored; 0: nothing */
    int dim;
    const Cut *by;           /* NULL with `values` 0 */
    int32_t stored, updated; /* the parameter; its states, and so its update: Shardings ids */
} ParameterChoice;

typedef struct {
    int32_t made, target; /* of a value; target -1: nothing is moved for several */
    unsigned phases;      /* in which the move is made, as bits of plan_phase(); 0: once for all */
} SharedChoice;

typedef struct {
    NodeKind kind;
    int32_t place;     /* of NODE_OP and NODE_SUM the leading op, of others a tensor */
    int32_t set;       /* of its choices in the memo; -1: not known yet */
    int32_t n;         /* choices */
    const OpCut **cut; /* of NODE_OP and NODE_SUM: [n] */
    int n_slots;       /* ops of it through which partial values may pass; private: */
    const int32_t *slot;
    AtomSet *passed;               /* [n][n_slots] */
    const int32_t *sharding;       /* of NODE_INPUT: [n] */
    const ParameterChoice *stored; /* of NODE_PARAMETER: [n] */
    const SharedChoice *shared;    /* of NODE_SHARED: [n] */
    double *compute, *least;       /* [n]: of its ops alone; under a schedule, at least */
    double *cost;                  /* [n]: with the moves that it alone decides */
    int32_t n_ops;                 /* of the forward pass */
    bool pinned;                   /* decisions of the session restrict it */
} SearchNode;

typedef struct {
    int32_t a, b; /* a < b */
    double *cost; /* [n of a][n of b] */
} SearchEdge;

/* What the moves cost that the choices of two nodes ask for, or of one (b is ROLE_NONE), choices
 * alike taken together: entry (i, j) is for those of class i of a and class j of b. */
typedef struct {
    int32_t a, b, n_a, n_b;           /* roles of nodes */
    const int32_t *class_a, *class_b; /* per choice */
    bool joined;                      /* moves as parts of larger ones (prices.h) */
    int among;                        /* readers that may pay for a move together, of which this
                                         one's part is counted; 1: all of it */
    int time;                         /* when they are made (stage_weights.h); MOVE_FOR_ALL
                                         without a schedule, where all are made as often */
    int32_t *end;                     /* [n_a * n_b]: behind the entry's moves, which start where
                                         those of the entry before end; FORBIDDEN is one too */
    const int32_t *move;              /* ids of prices.h */
    int n_distinct;
    const int32_t *distinct; /* each of them once, without FORBIDDEN */
} MoveTable;

/* What nodes are to a value: its maker, its readers from 1 on, the node of moves that they share.
 */
enum { FORBIDDEN = -1 }; /* in place of a move */
enum { ROLE_SHARED = -2, ROLE_NONE = -1, ROLE_MAKER = 0 };

/* All moves of a value. */
typedef struct ValueTables {
    int n, n_shared;
    const MoveTable *table;     /* [n] */
    const SharedChoice *shared; /* [n_shared]: choices of the node of shared moves; 0: none */
    bool apart;                 /* each reader pays its part of what it may share with others */
} ValueTables;

/* A table at its place: it is paid `weight` times, under a schedule at least `least` times, the
 * part of one of several readers counted in. */
typedef struct {
    const MoveTable *table;
    int32_t a, b, edge; /* nodes; -1; in Instance.edges, -1: of one node */
    double weight, least;
    double *entry;     /* [n_a * n_b]: what is in the costs of its nodes and edge; NULL: nothing */
    int64_t n_changes; /* of prices when it was put there */
} PlacedTable;

/* What a plan takes; or what every plan takes at least under a schedule. */
typedef enum { COST_OF_PLAN, COST_ON_PATHS } InstanceCost;

typedef struct {
    Arena *arena;
    const Session *session;
    const Inferred *inferred;
    const int32_t *leader; /* per op: of the forward pass the first of those tied to it */
    bool folded;
    Plan *as; /* a plan without anything decided: for its shardings, resharder and pricers */
    const CutList *cuts;
    Vec(SearchNode) nodes;
    Vec(SearchEdge) edges;
    Vec(PlacedTable) tables;
    InstanceCost weighed; /* what costs are of, if tables have entries in them */
    bool apart;           /* readers of some value have too many moves in common: each pays its
                             part, so that plans may take more than is added up, never less */
    SearchMemo *memo;
    int32_t *node_of_op;       /* per op of the program: its node; -1 */
    int32_t *node_of_tensor;   /* per tensor: its input or parameter node; -1 */
    int32_t *shared_of_tensor; /* per tensor: the node of moves that its readers share; -1 */
} Instance;

typedef struct {
    bool unfold;
    bool coarse; /* of many choices: dims are sharded by whole axes without digits, and each reader
                    pays for its moves, so that what is added up may be more than the plan's cost */
    bool store;  /* parameters may be stored sharded further also in a plan of the forward pass */
    const Plan *const *plans; /* whose cuts are among the choices */
    int n_plans;
    const StageWeights *weights; /* under a schedule; NULL: none */
    SearchMemo *memo;            /* what is not about the session goes first */
    const bool *const *left;     /* [nodes but those of shared moves]: choices that may matter; what
                                    others cost may be more than plans take. NULL: all may */
    int64_t together_most;       /* entries of the tables of one value's shared moves; where there
                                    were more, readers pay apart; 0: as many as there are */
    double deadline_s;           /* of the monotonic clock; 0: none */
    Progress *progress;
} InstanceOptions;

/* Everything is in the arena but for what the memo keeps, which it needs until costs are added up:
 * afterwards only instance_layouts() asks it. The session must outlive it. Returns NULL with
 * ERROR_CANCELLED in *err if its time is over. */
Instance *instance_make(Arena *arena, const Session *session, const InstanceOptions *options,
                        Error *err);

/* Moves at what is known of them (prices.h), so that no plan costs less. It is COST_OF_PLAN at
 * first. */
void instance_weigh(Instance *instance, InstanceCost kind);

/* What a move of a table's entry costs once; INFINITY: it is forbidden. */
double instance_move_us(const Instance *instance, const MoveTable *table, int32_t move);

/* What a choice of all nodes costs. */
double instance_cost_us(const Instance *instance, const int32_t *choice);

/* The number of a node's choices in the memo. */
int32_t instance_set(Instance *instance, int32_t node);

/* Shardings ids of an operand of an op of that space, by choice of its node: as it is needed, or
 * as it is made before partial values pass. */
const int32_t *instance_layouts(Instance *instance, int32_t node, int32_t space, int operand);

/* Costs and edges as the solver takes them; it reads them from the instance. */
SolveProblem instance_problem(Arena *arena, const Instance *instance);

/* The same with the choices of allowed[node] alone (NULL: all): choice c of it is
 * (*choices)[node][c] of the instance. Each node must have one left. */
SolveProblem instance_restricted(Arena *arena, const Instance *instance, const bool *const *allowed,
                                 int32_t ***choices);

/* The cut that a choice gives to an op of its node. */
OpCut instance_cut(const Instance *instance, int32_t node, int32_t choice, int32_t space);

#endif
