/* strategy.h - how an operator's tensors may lie on a mesh, and which way torch or veScale takes.
 *
 * A row says for ONE mesh axis how all tensors of an op lie together, and is right by itself:
 *
 *     mm    S(1),S(0) -> P(sum)    S(0),R -> S(0)    R,S(1) -> S(1)    R,R -> R
 *
 * A candidate takes a row for every axis (axis 0 slowest, the all-replicated row first), so that
 * rows^axes of them exist; those that would cut what cannot be cut are dropped. What remains is
 * priced: the sum over the inputs of moving them from how they lie to how the row wants them
 * (redistribute.h). Profile torch takes, in this order:
 *
 *     1 of those that move nothing at all the LAST
 *     2 of those that only slice the FIRST
 *     3 the cheapest, the FIRST of equals
 *
 * Profile vescale takes the one candidate that is the given placements, else it is an error that
 * names the input to move. Profile rules is the older layer: outputs follow from the inputs, or
 * other inputs are suggested.
 *
 * Rows come from the op's index space wherever that says them (a cut of one index dim is one row),
 * from tables for the rest, and from users: strategies_add(). A cell `s(d)` is a shard of any kind:
 * the row stands for one row of each kind, S, _S(.,f), IS(.,k), that some input lies in.
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

/* "torch", "vescale", "rules". ERROR_USAGE: another name. */
bool strategy_profile_find(Str name, StrategyProfile *out, Error *err);

typedef struct {
    Shape shape; /* n_dims -1: an optional operand that is absent */
    Dtype dtype;
    const Placement *placements; /* one per mesh axis; NULL for an absent one */
    bool view_made; /* its strided shards came from a view: they are no order of mesh axes */
} StrategyTensor;

/* One op that is asked about. Attributes are those of op `graph_op` of graph: op_attr_*(). */
typedef struct {
    Arena *arena;   /* what the answer keeps is made here */
    const char *op; /* the name as the profile's system says it: "mm", "add.Scalar", "relu_" */
    const Graph *graph;
    int32_t graph_op;
    const OpSpace *space; /* of an operator that has no strategy of its own; NULL: none */
    int n_inputs;
    const StrategyTensor *input;
    int n_indices; /* the last n_indices inputs are the tensors of the attribute `indices` */
    const Mesh *mesh;
    StrategyProfile profile;
    bool no_redistribute; /* an input that must move is ERROR_NEEDS_RESHARD with the fix */
    bool
        best_only; /* of candidates that cannot be chosen or runner-up the price may stay a floor */
} StrategyCall;

/* How one tensor lies in a row. */
typedef enum {
    CELL_FIXED,     /* as `placement` says */
    CELL_ANY_SHARD, /* s(d): placement is S(d), and stands for every kind of shard of dim d */
    CELL_NONE,      /* an output that is no tensor */
} CellKind;

typedef struct {
    CellKind kind;
    Placement placement;
} StrategyCell;

typedef struct StrategyRows StrategyRows;

/* Tells whether a candidate is one; placements are [tensor][axis]. A rule that looks at all axes
 * together: a mean needs even shards. */
typedef bool StrategyFilter(const StrategyCall *call, const StrategyRows *rows,
                            const Placement *const *inputs);

/* The rows of one call; row[i] holds the cells of the outputs, then of the inputs. */
struct StrategyRows {
    Arena *arena;
    int n_outputs, n_inputs;
    Vec(StrategyCell *) row;
    bool uneven;   /* an input may have fewer elements than shards where it lies so already */
    bool in_place; /* input 0 and output 0 stay as input 0 lies */
    int out;       /* this input is the output, and stays as it lies; -1: none */
    StrategyFilter *filter; /* NULL: none */
};

/* A new row, replicated everywhere. */
StrategyCell *strategy_row(StrategyRows *rows);

/* Reads "s(1), s(0) -> P(sum)", inputs before outputs; s(d) is a shard of any kind, `-` no tensor.
 * The number of tensors is that of *rows. ERROR_SYNTAX, ERROR_RANK. */
bool strategy_row_read(StrategyRows *rows, const Source *source, Error *err);
void strategy_row_format(const StrategyRows *rows, const StrategyCell *row, Buf *out);

/* ---- users' strategies ---- */

/* Adds the rows of a call: rows->n_outputs is set first, n_inputs is the call's. The all-replicated
 * row is added when it is not among them. False with *err. */
typedef bool StrategyFn(const StrategyCall *call, void *context, StrategyRows *rows, Error *err);

/* What a rule answers: how the outputs lie, or (suggestion) how the inputs should lie instead;
 * the rule is then asked again with these. */
typedef struct {
    int n_outputs;
    Placement *const *output; /* [tensor][axis]; NULL: see suggestion */
    Placement *const *suggestion;
    const char *why; /* of the suggestion */
} StrategyRuling;
typedef bool StrategyRuleFn(const StrategyCall *call, void *context, StrategyRuling *out,
                            Error *err);

typedef struct Strategies Strategies;

Strategies *strategies_new(Arena *arena);
Strategies *strategies_of(const RuleBook *book); /* those that policies register */
/* A user's strategy of the operator `name`, for every profile; the last one of a name holds. */
void strategies_add(Strategies *strategies, Str name, StrategyFn *fn, void *context);
void strategies_add_rule(Strategies *strategies, Str name, StrategyRuleFn *fn, void *context);
bool strategies_has(const Strategies *strategies, Str name);
int strategies_n_users(const Strategies *strategies);
const char *strategies_user(const Strategies *strategies, int i); /* its name; in their order */
/* The names of the i-th built-in row, with blanks between; NULL past the last. A name that is there
 * twice has the first row. */
const char *strategy_names_at(StrategyProfile profile, int i);

/* ---- answers ---- */

typedef enum {
    CANDIDATE_LEGAL,
    CANDIDATE_TOO_SMALL,     /* a dim has fewer elements than shards */
    CANDIDATE_MIXED_PARTIAL, /* partial in two ways that do not commute */
    CANDIDATE_IN_PLACE,      /* would move the tensor that is written in place, or `out` */
    CANDIDATE_FILTERED,      /* the operator's own condition: even shards, aligned strides */
    CANDIDATE_BANNED,        /* an input cannot be moved so: shard to partial, partial to other */
} CandidateWhy;

typedef struct {
    uint16_t row[MESH_AXES_MAX]; /* of StrategyAnswer.rows, per axis */
    CandidateWhy why;
    int input; /* the one that `why` is about; -1 */
    double us; /* price, when legal */
} StrategyCandidate;

typedef struct StrategyAnswer StrategyAnswer;

struct StrategyAnswer {
    const char *op;
    int n_outputs, n_inputs;
    const Placement *const *output; /* [tensor][axis]; NULL where it is no tensor */
    const Placement *const *input;  /* what the op is fed; NULL where `outputs` is a suggestion */
    const Placement *const *suggestion;  /* profile rules: the inputs to change to, else NULL */
    int n_comm;                          /* steps of the redistributions that communicate */
    double us;                           /* price of the chosen candidate */
    const StrategyRows *rows;            /* with every s(d) filled in; NULL for views */
    int n_candidates, chosen, runner_up; /* runner_up -1: no other legal one */
    const StrategyCandidate *candidate;
    int n_parts; /* an operator made of others: linear is view, mm, view */
    const StrategyAnswer *part;
};

/* ERROR_UNSUPPORTED: no strategy is known, or too many candidates; ERROR_NEEDS_RESHARD,
 * ERROR_PARTIAL, ERROR_CONFLICT: refused, with the fix as hint; ERROR_INVALID and others: the
 * operands do not fit the operator. */
bool strategy_answer(const Strategies *strategies, const StrategyCall *call, StrategyAnswer *out,
                     Error *err);

/* Placements of candidate i's inputs and outputs, [tensor][axis]. */
void strategy_candidate_placements(const StrategyCall *call, const StrategyAnswer *answer, int i,
                                   const Placement **outputs, const Placement **inputs);

#endif
