/* registry.h - the operators: one table row each, with everything that is known about it.
 *
 * A built-in operator is one row of a table in core/rules/operators: its rule, its attributes and
 * types in ONNX, example calls, its names in other systems, and its keys in the tables of kernels
 * and of other systems. Aliases (alias.h), types (schema.h), examples (example.h) and calls of
 * other systems (system_call.h) are read from these rows. A user's operator (register_op) is a row
 * of the same kind in a Registry, and is found before the built-in one of that name.
 */
#ifndef CORE_RULES_REGISTRY_H
#define CORE_RULES_REGISTRY_H

#include "core/base/json.h"
#include "core/model/finding.h"
#include "core/model/graph.h"
#include "core/rules/alias.h"
#include "core/space/opspace.h"
#include "core/rules/value.h"

/* The attributes that a rule asked for, by our names; and the first one that has another type than
 * the rule expects, and so counts as absent. */
enum { ATTR_READS_MAX = 32 };
typedef struct {
    int n;
    const char *name[ATTR_READS_MAX];
    const char *mistyped, *wanted; /* "axis", "a whole number"; NULL: none */
} AttrReads;

/* The input of a rule, for one op, and its answers. Absent inputs have shape[i] == NULL. Attributes
 * are read only through args.h, since the op may use another system's names. */
typedef struct {
    Arena *arena; /* of the model: for what the op space keeps */
    const Graph *graph;
    int32_t op;
    const Alias *alias; /* NULL: the op has our operator's name */
    AttrReads *reads;   /* NULL: not recorded */
    int n_inputs, n_outputs;
    const Shape *const *shape; /* per input; NULL: absent operand */
    const Dtype *dtype;
    const Value *const *value; /* per input; NULL: not known before the run */
    int64_t opset;
    /* answers. A dim of size -1 is known only at run time (the count of NonZero); n_dims -1: the
     * rank is, too. Rules set rows all the same; such an op is replicated, and its space dropped.
     */
    Shape *out_shape;
    Dtype *out_dtype;
    OpSpace *space; /* made by rule_space() or by the notation that the rule uses */
} RuleCall;

/* Fills out_shape, out_dtype and space. Returns false with *err if the op's operands do not fit the
 * operator. */
typedef bool RuleFn(RuleCall *call, Error *err);

typedef enum {
    OPERATOR_EARLY = 1, /* OpSpace.early */
    OPERATOR_SAME_DTYPE =
        2,               /* an `anno` row: outputs have the dtype of input 0, not the declared */
    OPERATOR_BRANCH = 4, /* If: at load, a known condition chooses the values of one branch */
    OPERATOR_CARRY = 8,  /* LoopCarry: the value that an iteration begins with */
    OPERATOR_DRAWS = 16, /* draws random numbers */
    OPERATOR_VIEW = 32,  /* makes the elements of input 0, in another order or type; ops of the
                            kernel "view" do so too */
    OPERATOR_PICKS = 64, /* makes elements of input 0 or, if it takes any number, of all inputs */
    /* What GPU kernels keep for the gradient, besides inputs and outputs of the op: */
    OPERATOR_KEEPS_MASK = 128, /* a byte for each element of output 0 */
    OPERATOR_KEEPS_ROWS = 256, /* an f32 for each row of output 0: log-sum-exp of attention */
    OPERATOR_KEEPS = OPERATOR_KEEPS_MASK | OPERATOR_KEEPS_ROWS,
    /* Its gradient op overwrites input 0 if nothing reads it later, as fused cross entropy does. */
    OPERATOR_GRADIENT_IN_PLACE = 512,
    OPERATOR_ADDS = 1024, /* output 0 is the sum of the inputs */
    /* Compares all elements along a dim, as a router does: softmax, the largest ones. */
    OPERATOR_CHOOSES = 2048,
    OPERATOR_ATTENDS = 4096, /* attention, or the softmax of one that is written out */
    OPERATOR_LABELS = 8192,  /* a loss that compares scores with labels, its whole numbers */
} OperatorFlags;

enum {
    OPERATOR_ANY = 0xFFFF,           /* inputs_max, outputs_max: any number; reads: every input */
    OPERATOR_MANY = OPERANDS_MAX / 2 /* outputs_max of a list */
};

/* How many dims an output has when axes, sizes or positions that decide it are known only at run
 * time, so that the rule cannot tell (infer_rank.c). */
typedef enum {
    RANK_BY_RULE,   /* the rule always tells */
    RANK_LENGTH,    /* as many as the operand has elements */
    RANK_MORE,      /* input 0's rank plus this many */
    RANK_LESS,      /* so many fewer */
    RANK_REDUCED,   /* input 0's rank minus this many, unless keepdims is set */
    RANK_BROADCAST, /* the larger of both */
    RANK_ONE,
    RANK_SAME,  /* as input 0 */
    RANK_AXES,  /* input 0's rank, and its sizes except on the axes that input 3 names */
    RANK_SPLIT, /* input 0's rank, and its sizes except on `axis` */
} OutputRank;

typedef struct Operator Operator;
typedef struct HostOp HostOp;             /* host_ops.h */
typedef struct SequenceCall SequenceCall; /* infer_sequence.c */
typedef bool SequenceFn(const SequenceCall *call, Error *err);

/* A rule given as data, such as a template, and the functions that work on it. */
typedef struct {
    const void *data; /* in the registry's arena */
    bool (*apply)(const void *data, RuleCall *call, Error *err);
    int n_outputs;    /* outputs it has if nothing says how many */
    const char *name; /* "template": of the form, in JSON */
    /* The data as written and, with a space, its result. */
    Json *(*json)(Arena *arena, const void *data, const OpSpace *space);
} RuleData;

/* Where a text begins in the file that has it; line 0: not known, column 0: somewhere in the line.
 */
typedef struct {
    int line, column;
} TextPlace;

/* The line and character, from 1, of a place inside a text that begins at `start`. */
TextPlace text_place(TextPlace start, int line, int column);

/* A user's annotation: a text, or a function of the op that makes one (Lua). */
typedef struct {
    const char *const *annos; /* candidates, first match wins; NULL-terminated */
    const TextPlace *place;   /* of each candidate; NULL: none is known */
    const char *(*make)(void *context, const RuleCall *call, Error *err); /* NULL: use annos */
    void *context;
    const char *file; /* where it was registered */
    int line;
} AnnoSource;

struct Operator {
    const char *name;   /* as op_operator() returns it */
    const char *family; /* "norm": the file that has its row; `rule` shows it */
    RuleFn *rule;       /* NULL: a user's operator, which has `anno` or `data` */
    unsigned flags;
    double flops_per_point;          /* per point of the index space; 2 for matmuls */
    uint16_t inputs_min, inputs_max; /* how many inputs; 0, 0: as `anno` says; the first
                                        inputs_min must be present */
    uint16_t outputs_max;            /* 0: 1 */
    uint16_t reads; /* bit i: the rule looks at the value of input i, when it is known */

    /* How inference evaluates it before the run (at_load.h). */
    const HostOp *host;         /* computes its value if its inputs are known; NULL: never */
    SequenceFn *sequence;       /* handles sequences and optionals; NULL: it takes only tensors */
    uint8_t rank, rank_operand; /* OutputRank, and the input whose value is known only at run
                                   time */

    /* By ONNX(..), or by OWN(..) where ONNX lacks the operator: attributes with blanks between,
     * those of every version, and those that change only the numbers; others are reported
     * (schema.h). NULL, of a user's operator: only those close to one that the rule reads are.
     * Types, one word an input: a letter that inputs of one type share, `.` for one on its own;
     * then what it may be, f i b s c for floats, whole numbers, bool, strings, complex numbers;
     * nothing: anything; `+` is as many more. */
    const char *attrs, *types;

    const char *examples;            /* small calls (example.h); NULL: none */
    const char *names[SYSTEM_COUNT]; /* in other systems, with their arguments' names (alias.h) */
    const char *calls[SYSTEM_COUNT]; /* as they write it (system_call.h) */
    const char *kernel;   /* name of the kernel that runs it, in the tables of core/run/kernels
                             and, for GPUs, of core/run/cuda; NULL: it is only planned. "view": it
                             moves or renames the elements of input 0, and its op space has that
                             kernel. Of a user's operator: the built-in one whose kernel runs it. */
    const char *paddle;   /* how to write it as a Paddle op: a row of peers/paddle/op_call.c;
                             NULL: found by its names there */
    const char *dtensor;  /* the same for torch's DTensor: a row of peers/torch/whole.c, then the
                             torch operators that it becomes */
    const char *gradient; /* how it is differentiated: clauses of derivative.h; NULL: no input has a
                             derivative, or none is known */

    /* a user's operator */
    const AnnoSource *anno;
    const RuleData *data;      /* used in place of anno; NULL: none */
    const struct Kernel *own;  /* its own kernel; NULL: none */
    const struct UserOp *user; /* the other options of a user (core/rules/user_op.h); NULL: none */
};

/* Columns of the tables of core/rules/operators, which define FAMILY:
 *
 *     {OP("CumSum", cumulate, 1, 2, 2), .reads = 1 << 1, ONNX("exclusive reverse", ".fi .i"),
 *      .kernel = "CumSum", .examples = "5x6x4,=1", TORCH_CALLS("cumsum: 5x6x4,=1 | dim=1")},
 */
#define OP(name_, rule_, flops_, min, max)                                                         \
    .name = (name_), .family = FAMILY, .rule = (rule_), .flops_per_point = (flops_),               \
    .inputs_min = (min), .inputs_max = (max)
#define EARLY .flags = OPERATOR_EARLY
#define EARLY_DRAWS .flags = OPERATOR_EARLY | OPERATOR_DRAWS
#define EARLY_VIEW .flags = OPERATOR_EARLY | OPERATOR_VIEW
#define EARLY_PICKS .flags = OPERATOR_EARLY | OPERATOR_PICKS
#define HOST(name_) .host = &host_op_##name_
#define SEQUENCE(name_) .sequence = sequence_##name_
#define RANK(rank_, operand) .rank = RANK_##rank_, .rank_operand = (operand)
#define ONNX(attrs_, types_) .attrs = (attrs_), .types = (types_)
#define OWN(attrs_, types_) ONNX(attrs_, types_)
#define GRADIENT(clauses) .gradient = (clauses)
#define NNSCALER(text) .names[SYSTEM_NNSCALER] = (text)
#define TORCH(text) .names[SYSTEM_TORCH] = (text)
#define PADDLE(text) .names[SYSTEM_PADDLE] = (text)
#define STABLEHLO(text) .names[SYSTEM_SHARDY] = (text)
#define TORCH_CALLS(text) .calls[SYSTEM_TORCH] = (text)
#define PADDLE_CALLS(text) .calls[SYSTEM_PADDLE] = (text)

/* A built-in row by its own name; NULL if there is none. */
const Operator *operator_find(const char *name);
/* The built-in row after that one, in the order of the tables (NULL: the first); NULL at the end.
 */
const Operator *operator_next(const Operator *row);

typedef struct Registry Registry;
typedef struct Derivative Derivative; /* derivative.h */

Registry *registry_new(Arena *arena);
/* For what lives as long as the registry: a rule's data. */
Arena *registry_arena(const Registry *registry);
/* Adds or replaces a user's operator. The row and its texts are copied, but not its `data`.
 * `attrs`, `types` and `paddle` of a built-in operator of that name are kept. */
void registry_add(Registry *registry, const Operator *row);
/* Finds an operator by any name: users', built-in, then other systems' (alias.h). NULL if there is
 * none. */
const Operator *registry_find(const Registry *registry, Str name);

/* operator_is_view(): whether an op of the row makes the elements of input 0 and computes nothing;
 * operator_picks(): whether it makes some elements of an input, perhaps repeated. For row NULL the
 * answer is no. */
bool operator_is_view(const Operator *row);
bool operator_picks(const Operator *row, int input);
/* The alias under which the name was found; NULL if it is the operator's own name. */
const Alias *registry_alias(const Registry *registry, Str name);
/* The column `gradient` of a row in use, read when first asked for; NULL if it has none. */
const Derivative *registry_derivative(const Registry *registry, const Operator *row);
int registry_count(const Registry *registry);
/* Rows 0 .. n-1 are users', in the order of registration. */
int registry_n_users(const Registry *registry);
const Operator *registry_at(const Registry *registry, int i); /* for listings: users' first */

/* The built-in tables, ended by a row without name: one per family file. */
extern const Operator operators_elementwise[], operators_matmul[], operators_reduce[],
    operators_shape[], operators_index[], operators_norm[], operators_window[], operators_layer[],
    operators_quantize[], operators_scatter[], operators_random[], operators_signal[],
    operators_loss[], operators_control[], operators_text[], operators_tensor[], operators_pool[],
    operators_resample[], operators_attention[], operators_recurrent[], operators_onnxruntime[],
    operators_pointwise[], operators_gradient[], operators_products[], operators_fused_attention[],
    operators_norm_stats[], operators_experts[], operators_training[], operators_indexing[],
    operators_cross_entropy[], operators_matrix[], operators_order[], operators_variants[],
    operators_hlo[], operators_contributed[];

/* Runs the operator's rule on the call: checks the number of operands, fills the answers, completes
 * the op space with its flags and flops. Under an alias the rule sees the operands in our order,
 * and the op space has them in the op's order; operands that the rule does not use are
 * `ignored`. */
bool registry_apply(const Operator *row, RuleCall *call, Error *err);

/* The op space of a replicated op: inputs whole, no index dims; no_rule is set. Outputs,
 * and inputs whose shape is unknown (n_dims -1), are `ignored`. */
OpSpace *registry_replicated(RuleCall *call);

/* ---- for rules ---- */

/* A new op space for the call, also stored in call->space; out_shape and out_dtype must be set.
 * Every dim of every operand is read or written whole until the rule sets its row. NULL if an
 * output has no legal shape; sizes known only at run time (-1) are allowed. */
OpSpace *rule_space(RuleCall *call, Error *err);
/* The same, with output 0 set to that shape and dtype. */
OpSpace *rule_space_as(RuleCall *call, const Shape *shape, Dtype dtype, Error *err);

/* Adds an index dim. For size 1 it adds nothing and returns -1: such a dim is never sharded. */
int rule_index(OpSpace *space, const char *name, int64_t size, IndexRole role, ReduceOp reduce);

/* The same with a number in its name, "d0", "b1"; role MAP. */
int rule_index_at(RuleCall *call, char letter, int64_t at, int64_t size);

void rule_unit(Operand *operand, int64_t dim, int index); /* index -1: a dim of size 1 */

/* The mixed radix of n index dims, major first; an index of -1 has size 1. */
void rule_radix(const OpSpace *space, Operand *operand, int64_t dim, const int *index, int n);

/* Rows of an operand that broadcasts against a shape whose dims have these index dims; extra
 * leading dims are whole. */
void rule_align(Operand *operand, const int *index, int n);

static inline Operand *rule_output(OpSpace *space, int i)
{
    return &space->operand[space->n_inputs + i];
}

#endif
