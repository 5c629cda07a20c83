/* deriving.h - what the files that derive a backward pass share; private to them. */
#ifndef CORE_STEP_DERIVING_H
#define CORE_STEP_DERIVING_H

#include "core/rules/derivative.h"
#include "core/rules/user_op.h"
#include "core/space/gradient.h"
#include "core/step/backward.h"
#include "core/step/extension.h"

/* For this many operands, facts are cached per operator. */
enum { KIND_OPERANDS = 4 };

/* Facts about an operator, by Names id. */
typedef struct {
    const Operator *row;
    const Alias *alias;
    const Derivative *derivative;                  /* of the row; NULL: it has none */
    const DerivativeClause *clause[KIND_OPERANDS]; /* its clauses, by operand */
    bool passes[KIND_OPERANDS];                    /* clause_passes() of each */
    int32_t gradient_type[KIND_OPERANDS]; /* Names ids: "MatMul~d0", .. 0: not interned yet */
} GradientKind;

/* What the kernel of a clause reads: the gradients of all outputs, then what the clause names. -1:
 * absent. */
typedef struct {
    Vec(GradientRead) reads;
    Vec32 tensors;
} ReadList;

/* Gradients that a user's function has built for ops, as a small graph. */
typedef struct {
    const Inferred *inferred; /* NULL: not built yet */
    /* Tensors of the small graph: the op's inputs, its outputs, the gradients of its outputs; -1:
     * absent. made: per input of the op its gradient; -1: the op's outputs do not depend on it. */
    const int32_t *input, *output, *dy, *made;
} BuiltGradient;

/* The addend of a tensor's gradient that one of its readers makes. */
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
    int32_t *path_of;     /* per name that is a path: the path in the backward pass; 0: not interned
                             yet */
    Vec32 key, written, outputs, parts; /* scratch lists of the op being derived */
    ReadList reads;
    bool *varies;       /* per tensor: it is wanted, or a wanted tensor makes it */
    bool *reached;      /* per tensor: a tensor with a gradient depends on it */
    int32_t *addend;    /* per tensor: the first in `addends`, or -1 */
    int32_t *n_addends; /* per tensor: the number of addends it will have */
    int32_t *again;     /* per tensor: its copy in the backward pass, or -1 */
    bool *remade;       /* per tensor: the backward pass reads a copy that is made again */
    int32_t *group_first, *group_next; /* by number and per op: the ops of each recomputed group as
                                          a list, ended by -1 */
    int32_t *gradient;
    Vec(Addend) addends;
    Intern *built_keys;
    Vec(BuiltGradient) built; /* by key */
    Vec(GradientPart) parts_of;
    BranchScope *branch; /* the branch around the ops being derived; NULL: none */
    bool failed;         /* set with *err, as by derive_knows_shape() */
    Error *err;
} Deriving;

/* ---- backward.c ---- */

/* Makes the gradient ops of the model's ops [first, end), in reverse order. body: the index in
 * graph->bodies of the body that these ops are; -1: they are the whole graph. */
bool derive_range(Deriving *d, int32_t first, int32_t end, int body);
/* Records an addend of the tensor's gradient, made for its reader `of`. */
void derive_addend(Deriving *d, int32_t tensor, int32_t gradient, int32_t of);
/* Adds the sum of these addends, named after the tensor and `end`; `of`: the op of the model that
 * it belongs to. Returns -1, with `failed` and *err set, if the shape is not known. */
int32_t derive_sum(Deriving *d, int32_t tensor, const char *end, const Vec32 *parts, int32_t of);
/* A new tensor with the type and shape of a tensor of the model: its gradient, or a copy of it. */
int32_t derive_tensor(Deriving *d, int32_t name, int32_t like, bool gradient);
/* Adds an op that belongs to the op `of` of the model. */
void derive_op_of(Deriving *d, int32_t of, NewStepOp op);
/* An element-wise op space: n operands of one shape, after `n_before` others, make one output. */
OpSpace *derive_pointwise(Deriving *d, const Shape *shape, int n_before, int n);

bool derive_is_float(const Deriving *d, int32_t tensor);
/* Returns whether the gradient of the op's operand is needed. */
bool derive_wants(Deriving *d, int32_t op, int operand);
/* The name of an addend: "T~grad" if it is the only one, else "OP~dK". */
int32_t derive_addend_name(Deriving *d, int32_t op, int operand);

/* ---- backward_refused.c ---- */

/* Returns false and sets *err: why the op's operand has no gradient; clause: that of the operand,
 * or NULL; row: that of the operator, or NULL. */
bool derive_refuse(Deriving *d, int32_t op, int operand, const DerivativeClause *clause,
                   const Operator *row);
/* Returns false, with `failed` and *err set, for a tensor whose shape is known only at run time:
 * its gradients cannot be added up or be zeros. */
bool derive_knows_shape(Deriving *d, int32_t tensor);

/* ---- backward_again.c ---- */

/* Marks in d->remade the values that are made again. */
void derive_find_remade(Deriving *d);
/* If the op's recomputation group runs again as a whole: makes its copy before the first gradient
 * op of the group. */
void derive_group_again(Deriving *d, int32_t op);
/* The tensor that the backward pass reads for this one: itself, or its copy. Returns -1 for -1. */
int32_t derive_read_again(Deriving *d, int32_t tensor);

/* ---- backward_parts.c ---- */

/* Returns whether gradients of the tensor are made on several parts of the mesh. */
bool derive_is_held_twice(const Deriving *d, int32_t tensor);
/* Adds them up on each part; returns the sum of the part that the first reader is on. */
int32_t derive_sum_parts(Deriving *d, int32_t tensor);

/* ---- backward_built.c ---- */

/* Adds the ops that the user's function builds; gradient: for each output of the op, -1: none. */
bool derive_built(Deriving *d, int32_t op, const UserOp *user, const int32_t *gradient);

/* ---- backward_branch.c ---- */

/* The outermost branch inside `body` that is decided during the run, begins at op `first` or later
 * and ends at op `end`: its index in graph->bodies; -1: none. */
int branch_ending(const Deriving *d, int32_t first, int32_t end, int body);
bool branch_derive(Deriving *d, int body);
/* Records the gradient of an operand of the op If, which is a result of a branch. */
void branch_addend(Deriving *d, int32_t op, int operand);
bool branch_has(const GraphBody *body, const Graph *graph, int32_t tensor);

#endif
