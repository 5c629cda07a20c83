/* deriving.h - what the files that derive a backward pass share; nobody else includes this. */
#ifndef CORE_STEP_DERIVING_H
#define CORE_STEP_DERIVING_H

#include "core/rules/derivative.h"
#include "core/rules/user_op.h"
#include "core/space/gradient.h"
#include "core/step/backward.h"
#include "core/step/extension.h"

/* Of so many operands what an operator's ops share is kept. */
enum { KIND_OPERANDS = 4 };

/* What is known of an operator, by Names id. */
typedef struct {
    const Operator *row;
    const Alias *alias;
    const Derivative *derivative;                  /* of the row; NULL: it has none */
    const DerivativeClause *clause[KIND_OPERANDS]; /* of it, by operand */
    bool passes[KIND_OPERANDS];                    /* clause_passes() of each */
    int32_t gradient_type[KIND_OPERANDS]; /* Names ids: "MatMul~d0", .. 0: not interned yet */
} GradientKind;

/* The reads of a clause: the gradients of all outputs, then what it names. -1: not there. */
typedef struct {
    Vec(GradientRead) reads;
    Vec32 tensors;
} ReadList;

/* Gradients that a user's function has built of ops, as a small graph. */
typedef struct {
    const Inferred *inferred; /* NULL: not built yet */
    /* Its inputs, by input and output of the op, and by output the gradients; -1: not there. By
     * input of the op, what is made; -1: the op does not vary with it. */
    const int32_t *input, *output, *dy, *made;
} BuiltGradient;

/* One gradient of a tensor, by one of its readers. */
typedef struct {
    int32_t tensor, next, of; /* of: the reader */
} Addend;

/* A branch whose gradient ops are being made. */
typedef struct BranchScope {
    const GraphBody *body;
    struct BranchScope *around;
    Vec32 outside;       /* tensors made outside of it that have addends of it, .. */
    Vec(Addend) addends; /* .. one each */
} BranchScope;

typedef struct {
    Arena *arena, *scratch;
    const Inferred *model;
    const Graph *graph; /* the model's */
    const BackwardRequest *request;
    Extension *more;
    GradientKind **kinds; /* by Names id of the operator; NULL: not seen yet */
    int32_t sum_type;     /* Names id of "Sum" */
    int32_t *path_of; /* per name that is a path: that of its backward pass; 0: not interned yet */
    Vec32 key, written, outputs, parts; /* of the op that is looked at */
    ReadList reads;
    bool *varies;       /* per tensor: something wanted depends on it, or it is wanted */
    bool *reached;      /* per tensor: something that has a gradient depends on it */
    int32_t *addend;    /* per tensor: the first in `addends`, or -1 */
    int32_t *n_addends; /* per tensor: how many there will be */
    int32_t *again;     /* per tensor: its copy in the backward pass, or -1 */
    bool *remade;       /* per tensor: the backward pass reads such a copy */
    int32_t *group_first, *group_next; /* by number and per op: the ops of each recomputed group as
                                          a list, ended by -1 */
    int32_t *gradient;
    Vec(Addend) addends;
    Intern *built_keys;
    Vec(BuiltGradient) built; /* by key */
    Vec(GradientPart) parts_of;
    BranchScope *branch; /* around what is derived; NULL: none */
    bool failed;         /* derive_knows_shape() */
    Error *err;
} Deriving;

/* ---- backward.c ---- */

/* Makes the gradient ops of the model's ops [first, end), from the last one on. body: the place in
 * graph->bodies of the body that they are; -1: they are the graph. */
bool derive_range(Deriving *d, int32_t first, int32_t end, int body);
/* Records a gradient of the tensor, by its reader `of`. */
void derive_addend(Deriving *d, int32_t tensor, int32_t gradient, int32_t of);
/* Adds their sum, named by the end of a name; `of`: the op of the model that it comes of. -1, with
 * `failed` and *err: the shape is not known. */
int32_t derive_sum(Deriving *d, int32_t tensor, const char *end, const Vec32 *parts, int32_t of);
/* A new tensor typed and shaped like one of the model, whose gradient it is, or its copy. */
int32_t derive_tensor(Deriving *d, int32_t name, int32_t like, bool gradient);
/* Adds an op beside the op `of` of the model. */
void derive_op_of(Deriving *d, int32_t of, NewStepOp op);
/* Element by element: n operands of one shape, behind `n_before` others, make one. */
OpSpace *derive_pointwise(Deriving *d, const Shape *shape, int n_before, int n);

bool derive_is_float(const Deriving *d, int32_t tensor);
/* Whether the gradient of the op's operand is to be made. */
bool derive_wants(Deriving *d, int32_t op, int operand);
/* "T~grad" of the only addend of a gradient, "OP~dK" of others. */
int32_t derive_addend_name(Deriving *d, int32_t op, int operand);

/* ---- backward_refused.c ---- */

/* False, with what gradient the op's operand cannot have; clause: of the operand, or NULL; row: of
 * the operator, or NULL. */
bool derive_refuse(Deriving *d, int32_t op, int operand, const DerivativeClause *clause,
                   const Operator *row);
/* False, with `failed` and *err, of a tensor whose shape is known only at run time: gradients of it
 * cannot be added up, nor be zeros. */
bool derive_knows_shape(Deriving *d, int32_t tensor);

/* ---- backward_again.c ---- */

/* Marks values that are made again, in d->remade. */
void derive_find_remade(Deriving *d);
/* Makes the group of the op again, before its first gradient op, if it runs again as a whole. */
void derive_group_again(Deriving *d, int32_t op);
/* The value as the backward pass reads it: itself, or what is made again. -1 of -1. */
int32_t derive_read_again(Deriving *d, int32_t tensor);

/* ---- backward_parts.c ---- */

/* Whether gradients of the tensor are made on several parts of the mesh. */
bool derive_is_held_twice(const Deriving *d, int32_t tensor);
/* Adds them up on each part; returns the sum of the part that the first reader is on. */
int32_t derive_sum_parts(Deriving *d, int32_t tensor);

/* ---- backward_built.c ---- */

/* Adds the ops that the user's function builds; gradient: of each output of the op, -1: none. */
bool derive_built(Deriving *d, int32_t op, const UserOp *user, const int32_t *gradient);

/* ---- backward_branch.c ---- */

/* The outermost branch inside of `body` that is decided during the run, ends at op `end` and begins
 * at `first` or later: its place in graph->bodies; -1: none. */
int branch_ending(const Deriving *d, int32_t first, int32_t end, int body);
bool branch_derive(Deriving *d, int body);
/* Records the gradient of the op If's operand, a result of a branch. */
void branch_addend(Deriving *d, int32_t op, int operand);
bool branch_has(const GraphBody *body, const Graph *graph, int32_t tensor);

#endif
