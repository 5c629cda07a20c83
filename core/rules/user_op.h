/* user_op.h - what a registered operator says beside its op space.
 *
 * A rule (nnScaler's TransformRule) makes a cut legal and says what becomes of every tensor. An
 * embedding whose vocabulary is frozen in `b s, n^ e -> b s e`, and may be cut all the same:
 *
 *     {R, D(0)} -> {V}     the table is cut along dim 0, each shard makes an addend of the output
 *
 * In the op space that is no special case: the dim's index dim takes the role that the outputs
 * tell, MAP where they are D, REDUCE (a sum) where they are V, and operands that are R read it
 * whole. Dims of several index dims that a rule cuts together are joined in one, of the greatest
 * length that divides all of them. What the rule asks of keyword arguments stays with the index dim
 * (IndexDim.rule).
 *
 * Keyword arguments of a shard: those of the op, changed by every index dim that is cut, in their
 * order. A rule's function is asked; without a rule an integer named as the index dim is divided.
 * Only shards of equal size, one stretch of the dim each, have arguments of their own.
 *
 * cost, comm and input_gen are asked of a part of an op: what rank 0 has of it under a cut.
 */
#ifndef CORE_RULES_USER_OP_H
#define CORE_RULES_USER_OP_H

#include "core/space/anno_partition.h"
#include "core/rules/infer.h"

/* Part `at` of `num` equal ones, 0 of 1: all of it. */
typedef struct {
    int64_t num, at;
} IndexPiece;

/* ---- keyword arguments ---- */

typedef struct {
    const char *name;
    Attr value; /* its name is not looked at */
} Kwarg;

typedef struct {
    int n;
    const Kwarg *at;
} Kwargs;

Kwargs kwargs_of_op(Arena *arena, const Graph *graph, int32_t op);

/* ---- rules ---- */

/* Which shard of a rule's cut: (idx, dim) is the first dim that the rule cuts. */
typedef struct {
    int idx, dim;
    int64_t num, at;
} RulePiece;

typedef struct CutRule {
    int n_inputs, n_outputs;
    const AnnoSplit *split; /* inputs, then outputs */
    /* The arguments of a shard, from those of the whole; NULL: they stay as they are. */
    bool (*kwargs)(void *context, Arena *arena, const RulePiece *piece, Kwargs *kwargs, Error *err);
    void *context;
} CutRule;

/* What no shapes can make right: a rule that cuts nothing, outputs that are D beside V.
 * ERROR_INVALID, ERROR_UNSUPPORTED. */
bool cut_rule_check(const CutRule *rule, Error *err);
void cut_rule_format(const CutRule *rule, Buf *out); /* "R, D(0) -> V" */

/* Puts the rules into a finished op space, the first first: what an earlier one cuts is not cut by
 * a later one. The space must be finished anew. */
bool cut_rules_apply(Arena *arena, const CutRule *rules, int n, OpSpace *space, Error *err);

/* The arguments of the shard. piece: per index dim. ERROR_NOT_DIVISIBLE: an argument is no multiple
 * of the number of shards. */
bool kwargs_of_piece(Arena *arena, const OpSpace *space, const IndexPiece *piece, Kwargs *kwargs,
                     Error *err);
/* True when something changes with the shard: an index dim with such a rule, or with an argument
 * of its name, is cut. */
bool kwargs_change(const OpSpace *space, const Kwargs *kwargs, int index);

/* ---- what is asked of a part of an op ---- */

typedef struct {
    Arena *arena;
    const Inferred *inferred;
    int32_t op;
    const OpSpace *space;
    const IndexPiece *piece; /* per index dim; NULL: all of it */
    const char *const
        *axes;          /* per index dim: "tp", "dp.tp"; "" where it is whole; NULL: all whole */
    const Shape *local; /* per operand */
    Kwargs kwargs;
} OpPart;

/* Below 0: not given. */
typedef struct {
    double flops, bytes, us;
} DeclaredCost;

/* A collective inside the op: over the axes that cut index dim `dim`, or over `axis`. */
typedef struct {
    const char *kind;       /* "all_gather" */
    const char *dim, *axis; /* one of them; NULL */
    int64_t bytes;          /* payload of one rank */
} SaidComm;

typedef enum { GENERATED_NOTHING, GENERATED_RANGE, GENERATED_VALUES } GeneratedKind;

/* Elements of an input for which no data are given: drawn from [lo, hi), or these. */
typedef struct {
    GeneratedKind kind;
    double lo, hi;
    int64_t n;
    const double *values; /* as many as the tensor has, or one for all of it */
} Generated;

/* An output's element type, where the file does not say it: that of an input, or this one. */
typedef struct {
    int input;   /* -1: `dtype` */
    Dtype dtype; /* DT_NONE: not given */
} DeclaredDtype;

typedef struct UserOp {
    int n_rules;
    const CutRule *rules;
    int n_inplace;
    int n_dtypes;
    const DeclaredDtype *dtype; /* of the first outputs */
    const int (*inplace)[2];    /* {output, input}: the output is the new value of the input */
    void *context;              /* of the functions; each may be NULL */
    bool (*cost)(void *context, const OpPart *part, DeclaredCost *out, Error *err);
    bool (*comm)(void *context, const OpPart *part, const SaidComm **out, int *n, Error *err);
    bool (*input_gen)(void *context, const OpPart *part, Generated *out, Error *err);
    const char *kernel; /* what runs it, in words: "a Lua function", "my_kernel of ./libmy.so" */
} UserOp;

/* Notes which outputs are new values of inputs, and checks that they can be: same shape, and laid
 * out alike. Of a finished space. */
bool user_op_updates(const UserOp *user, OpSpace *space, Error *err);

/* Warns, "old-value", of ops that read a value after an op before them has made a new value of it:
 * they get the old one, which in the system that runs the plan may be gone. */
void user_op_find_old_values(const Inferred *inferred, Findings *out);

#endif
