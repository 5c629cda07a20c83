/* strategy.h - the strategies of an operator (allowed placements of its tensors), and the choice of
 * torch or veScale.
 *
 * A row lists, for ONE mesh axis, placements of all tensors of an op that are correct together:
 *
 *     mm    S(1),S(0) -> P(sum)    S(0),R -> S(0)    R,S(1) -> S(1)    R,R -> R
 *
 * A candidate has a row for every axis (axis 0 slowest, the all-replicated row first), so there are
 * rows^axes; candidates with shards that are not possible are dropped. The price of a candidate is
 * the sum over the inputs of redistributing them to the row's placements (redistribute.h). Profile
 * torch chooses, in this order:
 *
 *     1 of those that move nothing at all the LAST
 *     2 of those that only slice the FIRST
 *     3 the cheapest, the FIRST of equals
 *
 * Profile vescale accepts only the candidate with the given placements; otherwise an error names
 * the input to redistribute. Profile rules is the older layer: outputs follow from the inputs, or
 * other inputs are suggested.
 *
 * Rows come from the op's index space where possible (a cut of one index dim is one row), from
 * tables, and from users: strategies_add(). A cell `s(d)` is a shard of any kind: the row stands
 * for one row for each kind of shard that some input has (S, _S(.,f), IS(.,k)).
 */
#ifndef CORE_PEERS_TORCH_STRATEGY_H
#define CORE_PEERS_TORCH_STRATEGY_H

#include "core/base/vec.h"
#include "core/model/dtype.h"
#include "core/model/graph.h"
#include "core/layout/placement.h"
#include "core/rules/rule_book.h"
#include "core/space/opspace.h"

typedef enum { STRATEGY_TORCH, STRATEGY_VESCALE, STRATEGY_RULES } StrategyProfile;

/* "torch", "vescale", "rules". ERROR_USAGE for any other name. */
bool strategy_profile_find(Str name, StrategyProfile *out, Error *err);

typedef struct {
    Shape shape; /* n_dims -1: an optional operand that is absent */
    Dtype dtype;
    const Placement *placements; /* one per mesh axis; NULL for an absent one */
    bool view_made; /* its strided shards come from a view and are not an order of mesh axes */
} StrategyTensor;

/* A call of one op. Attributes are those of op `graph_op` of graph: op_attr_*(). */
typedef struct {
    Arena *arena;   /* holds the answer */
    const char *op; /* the name in the profile's system: "mm", "add.Scalar", "relu_" */
    const Graph *graph;
    int32_t graph_op;
    const OpSpace *space; /* for an operator without a strategy; or NULL */
    int n_inputs;
    const StrategyTensor *input;
    int n_indices; /* the last n_indices inputs are the tensors of the attribute `indices` */
    const Mesh *mesh;
    StrategyProfile profile;
    bool no_redistribute; /* an input that must move is ERROR_NEEDS_RESHARD, with the fix as hint */
    bool
        best_only; /* prices of candidates that cannot be chosen or runner-up may be lower bounds */
} StrategyCall;

/* The placement of one tensor in a row. */
typedef enum {
    CELL_FIXED,     /* exactly `placement` */
    CELL_ANY_SHARD, /* s(d): `placement` is S(d) and stands for every kind of shard of dim d */
    CELL_NONE,      /* an output that is no tensor */
} CellKind;

typedef struct {
    CellKind kind;
    Placement placement;
} StrategyCell;

typedef struct StrategyRows StrategyRows;

/* Returns false for a candidate that is not legal because of all axes together: a mean needs even
 * shards. Placements are [tensor][axis]. */
typedef bool StrategyFilter(const StrategyCall *call, const StrategyRows *rows,
                            const Placement *const *inputs);

/* The rows of one call; row[i] holds the cells of the outputs, then of the inputs. */
struct StrategyRows {
    Arena *arena;
    int n_outputs, n_inputs;
    Vec(StrategyCell *) row;
    bool uneven;   /* an input may have fewer elements than shards if it is already sharded so */
    bool in_place; /* input 0 and output 0 keep input 0's placements */
    int out;       /* this input is the output and keeps its placements; -1 if none */
    StrategyFilter *filter; /* or NULL */
};

/* A new row, replicated everywhere. */
StrategyCell *strategy_row(StrategyRows *rows);

/* Reads "s(1), s(0) -> P(sum)", inputs before outputs; s(d) is a shard of any kind, `-` no tensor.
 * The numbers of tensors must be those of *rows. ERROR_SYNTAX, ERROR_RANK. */
bool strategy_row_read(StrategyRows *rows, const Source *source, Error *err);
void strategy_row_format(const StrategyRows *rows, const StrategyCell *row, Buf *out);

/* ---- users' strategies ---- */

/* Sets rows->n_outputs and adds the rows of a call; n_inputs is the call's. The all-replicated row
 * is added if missing. Returns false with *err. */
typedef bool StrategyFn(const StrategyCall *call, void *context, StrategyRows *rows, Error *err);

/* The answer of a rule: the outputs' placements, or suggested placements of the inputs, for which
 * the rule is then asked again. */
typedef struct {
    int n_outputs;
    Placement *const *output; /* [tensor][axis]; NULL if there is a suggestion */
    Placement *const *suggestion;
    const char *why; /* of the suggestion */
} StrategyRuling;
typedef bool StrategyRuleFn(const StrategyCall *call, void *context, StrategyRuling *out,
                            Error *err);

typedef struct Strategies Strategies;

Strategies *strategies_new(Arena *arena);
Strategies *strategies_of(const RuleBook *book); /* strategies that policies register */
/* Adds a user's strategy of operator `name` for every profile; the last one of a name wins. */
void strategies_add(Strategies *strategies, Str name, StrategyFn *fn, void *context);
void strategies_add_rule(Strategies *strategies, Str name, StrategyRuleFn *fn, void *context);
bool strategies_has(const Strategies *strategies, Str name);
int strategies_n_users(const Strategies *strategies);
const char *strategies_user(const Strategies *strategies,
                            int i); /* its name; in order of registration */
/* The names of the i-th built-in row, separated by spaces; NULL past the last. For a repeated name
 * the first row counts. */
const char *strategy_names_at(StrategyProfile profile, int i);

/* ---- answers ---- */

typedef enum {
    CANDIDATE_LEGAL,
    CANDIDATE_TOO_SMALL,     /* a dim has fewer elements than shards */
    CANDIDATE_MIXED_PARTIAL, /* partial by reductions that do not commute */
    CANDIDATE_IN_PLACE,      /* would move the tensor that is written in place, or `out` */
    CANDIDATE_FILTERED,      /* the operator's own condition: even shards, aligned strides */
    CANDIDATE_BANNED, /* an input cannot be redistributed like this: shard to partial, partial to
                         another partial */
} CandidateWhy;

typedef struct {
    uint16_t row[MESH_AXES_MAX]; /* of StrategyAnswer.rows, per axis */
    CandidateWhy why;
    int input; /* the input that `why` refers to, or -1 */
    double us; /* price, when legal */
} StrategyCandidate;

typedef struct StrategyAnswer StrategyAnswer;

struct StrategyAnswer {
    const char *op;
    int n_outputs, n_inputs;
    const Placement *const *output; /* [tensor][axis]; NULL where it is no tensor */
    const Placement *const *input;  /* needed placements; NULL if there is a suggestion */
    const Placement *const
        *suggestion; /* profile rules: suggested placements of the inputs, else NULL */
    const char *why; /* of the suggestion, or of what moves, as a user's rule says; or NULL */
    int n_comm;      /* steps of the redistributions that communicate */
    double us;       /* price of the chosen candidate */
    const StrategyRows *rows;            /* with every s(d) expanded; NULL for views */
    int n_candidates, chosen, runner_up; /* runner_up -1: no other legal one */
    const StrategyCandidate *candidate;
    int n_parts; /* of an operator composed of others: linear is view, mm, view */
    const StrategyAnswer *part;
};

/* ERROR_UNSUPPORTED if there is no strategy or too many candidates; ERROR_NEEDS_RESHARD,
 * ERROR_PARTIAL, ERROR_CONFLICT if refused, with the fix as hint; ERROR_INVALID and others if the
 * operands do not fit the operator. */
bool strategy_answer(const Strategies *strategies, const StrategyCall *call, StrategyAnswer *out,
                     Error *err);

/* Placements of candidate i's inputs and outputs, [tensor][axis]. */
void strategy_candidate_placements(const StrategyCall *call, const StrategyAnswer *answer, int i,
                                   const Placement **outputs, const Placement **inputs);

#endif
