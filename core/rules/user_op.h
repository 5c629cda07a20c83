/* user_op.h - options of a registered operator beside its op space.
 *
 * A rule (nnScaler's TransformRule) makes a partition legal and tells how every tensor is sharded
 * under it. For example an embedding whose vocabulary is frozen in `b s, n^ e -> b s e`, but may be
 * sharded by a rule:
 *
 *     {R, D(0)} -> {V}     the table is cut along dim 0, each shard makes an addend of the output
 *
 * In the op space this is no special case: the dim's index dim gets its role from the outputs, MAP
 * if they are D, REDUCE (a sum) if they are V; operands that are R read it whole. If a rule shards
 * dims of several index dims together, these are joined into one of the greatest length that
 * divides all of them. An input that is V beside dims that are D is an addend of the output, like a
 * bias: only ranks whose coordinates on the axes that shard the sum are 0 add it (Operand.once),
 * [D(-1), D(0), V] -> [V]. The rule's function for keyword arguments is kept in the index dim
 * (IndexDim.rule).
 *
 * The keyword arguments of a shard are those of the op, changed by every sharded index dim in turn:
 * by the rule's function or, without a rule, by dividing an integer with the name of the index dim.
 * Only contiguous shards of equal size have their own arguments.
 *
 * cost, comm and input_gen are called for a part of an op: the part that rank 0 computes.
 */
#ifndef CORE_RULES_USER_OP_H
#define CORE_RULES_USER_OP_H

#include "core/space/anno_partition.h"
#include "core/rules/infer.h"

/* Part `at` of `num` equal ones; 0 of 1 is the whole. */
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

/* The attributes of the op, and the default values of those it lacks. */
Kwargs kwargs_of_op(Arena *arena, const Inferred *inferred, int32_t op);

/* ---- rules ---- */

/* Which shard under a rule: (idx, dim) is the first dim that the rule shards. */
typedef struct {
    int idx, dim;
    int64_t num, at;
} RulePiece;

typedef struct CutRule {
    int n_inputs, n_outputs;
    const AnnoSplit *split; /* inputs, then outputs */
    /* Changes the arguments of the whole op to those of a shard; NULL: they stay the same. */
    bool (*kwargs)(void *context, Arena *arena, const RulePiece *piece, Kwargs *kwargs, Error *err);
    void *context;
} CutRule;

/* Checks for errors that no shapes can avoid: a rule that shards nothing, outputs that are D beside
 * V. ERROR_INVALID, ERROR_UNSUPPORTED. */
bool cut_rule_check(const CutRule *rule, Error *err);
void cut_rule_format(const CutRule *rule, Buf *out); /* "R, D(0) -> V" */

/* Applies the rules to a finished op space, in order: a dim that an earlier rule shards is not
 * changed by a later one. The space must be finished again. */
bool cut_rules_apply(Arena *arena, const CutRule *rules, int n, OpSpace *space, Error *err);

/* The arguments of the shard. piece: per index dim. ERROR_NOT_DIVISIBLE if an argument is no
 * multiple of the number of shards. */
bool kwargs_of_piece(Arena *arena, const OpSpace *space, const IndexPiece *piece, Kwargs *kwargs,
                     Error *err);
/* Returns true when arguments depend on the shard: an index dim with such a rule, or with an
 * argument of its name, is sharded. */
bool kwargs_change(const OpSpace *space, const Kwargs *kwargs, int index);

/* ---- options about a part of an op ---- */

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

/* A collective inside the op: over the axes that shard index dim `dim`, or over `axis`. */
typedef struct {
    const char *kind;       /* "all_gather" */
    const char *dim, *axis; /* one of them; NULL */
    int64_t bytes;          /* payload of one rank */
} SaidComm;

typedef enum { GENERATED_NOTHING, GENERATED_RANGE, GENERATED_VALUES } GeneratedKind;

/* Elements of an input for which no data is given: drawn from [lo, hi), or these values. */
typedef struct {
    GeneratedKind kind;
    double lo, hi;
    int64_t n;
    const double *values; /* as many as the tensor has, or one for all of it */
} Generated;

/* An output's element type if the file does not declare it: that of an input, or this one. */
typedef struct {
    int input;   /* -1: `dtype` */
    Dtype dtype; /* DT_NONE: not given */
} DeclaredDtype;

/* A user's function adds the ops that make the gradients of an op's inputs to a builder, which has
 * tensors for the op's inputs, its outputs and the gradients of its outputs. */
typedef struct {
    Arena *arena;
    const Inferred *inferred;
    int32_t op;
    GraphBuilder *builder;
    const int32_t *input, *output; /* tensors of the builder; -1: absent */
    const int32_t *gradient;       /* of each output; -1: no gradient reaches it */
    int32_t *made; /* the answer: per input its gradient, or -1 if no output depends on it */
} GradientBuild;

struct Kernel;

typedef struct UserOp {
    Kwargs defaults; /* integers: values of arguments that an op leaves out */
    int n_rules;
    const CutRule *rules;
    int n_inplace;
    int n_dtypes;
    const DeclaredDtype *dtype; /* of the first outputs */
    const int (*inplace)[2];    /* {output, input}: the output is the new value of the input */
    void *context;              /* passed to the functions, each of which may be NULL */
    bool (*cost)(void *context, const OpPart *part, DeclaredCost *out, Error *err);
    bool (*comm)(void *context, const OpPart *part, const SaidComm **out, int *n, Error *err);
    bool (*input_gen)(void *context, const OpPart *part, Generated *out, Error *err);
    bool (*gradient)(void *context, const GradientBuild *build, Error *err);
    const struct Kernel *gradient_kernel; /* that clauses of the column `gradient` call "kernel" */
    const char *python, *emit_fn;         /* for code of other systems: "custom_ops.mm"; or NULL */
    bool source;          /* exported code contains the function's source instead of an import */
    uint32_t independent; /* bit o: output o, a `?`, depends on no sharded input */
    const char *kernel;   /* what runs it, in words: "a Lua function", "my_kernel of ./libmy.so" */
} UserOp;

/* Records which outputs are updated inputs, and checks that this is possible: same shape, and the
 * same sharding in every partition. Needs a finished space. */
bool user_op_updates(const UserOp *user, OpSpace *space, Error *err);

/* Warns ("old-value") of ops that read a value after an earlier op has updated it: they get the old
 * value, which in the system that runs the plan may no longer exist. */
void user_op_find_old_values(const Inferred *inferred, Findings *out);

#endif
