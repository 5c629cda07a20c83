/* spmd.h - the rules of dims_mappings, op by op: what a rule is asked and what it answers.
 *
 * A dims_mapping says per tensor dim which mesh axes split it, major first; a tensor may also be
 * partial over axes. A forward rule is given the mappings of the inputs and answers the mappings
 * the inputs must have (`need`) and those of the outputs (`out`); whoever called moves data where
 * given and needed differ. A backward rule is given the outputs' mappings; of the inputs it may
 * look at the shapes only. A gradient rule is a forward rule of its own, named OP_grad.
 *
 * The answers are those of PaddlePaddle 3.3.1, whose rules people have learned to expect. Where
 * those are plainly an oversight, `exact` asks for them and its absence for the sane answer; each
 * such place says so.
 *
 * Rules are rows of const tables, one table per family of operators; users' rules are rows of the
 * same kind in an SpmdRules, looked up first. Everything lives in the arena of the call.
 * Source: PaddlePaddle 3.3.1, paddle/phi/infermeta/spmd_rules, asked function by function.
 */
#ifndef CORE_PEERS_PADDLE_SPMD_H
#define CORE_PEERS_PADDLE_SPMD_H

#include "core/base/vec.h"
#include "core/model/graph.h"
#include "core/layout/mesh.h"
#include "core/rules/rule_book.h"
#include "core/space/opspace.h"

enum {
    SPMD_DIMS_MAX = DIMS_MAX + 4, /* an answer may have more dims than its tensor: xshape, stack */
    SPMD_ANY = 0xFF,              /* any number of operands */
};

/* The axes that split one dim, major first; n == 0: none, which single mappings write as -1. */
typedef struct {
    uint8_t n;
    uint8_t axis[MESH_AXES_MAX];
} SpmdAxes;

typedef struct {
    bool absent; /* an optional operand that is not there: null in the protocol */
    int n_dims;  /* of the mapping; a given one has shape.n_dims */
    Shape shape; /* answers for outputs leave it {0} */
    SpmdAxes dim[SPMD_DIMS_MAX];
    uint8_t partial[MESH_AXES_MAX]; /* ReduceOp per axis; REDUCE_NONE: not partial over it */
} SpmdTensor;

typedef enum {
    SPMD_STATIC,  /* the rules of whole programs */
    SPMD_EAGER,   /* op by op as the program runs: some rules are others */
    SPMD_COSHARD, /* the rules of SPMD_STATIC; mappings are written as lists */
} SpmdMode;

typedef struct SpmdCall SpmdCall;
typedef struct SpmdRule SpmdRule;

/* Fills call->need and call->out. False with *err: ERROR_CONFLICT, what two operands ask for does
 * not go together; ERROR_INVALID, the operands or attributes do not fit the operator. */
typedef bool SpmdFn(SpmdCall *call, Error *err);

typedef enum {
    SPMD_LISTS = 1,    /* knows dims split by several axes; other rules see of each list one axis:
                          that of largest size, the first of equals */
    SPMD_GRADIENT = 2, /* `backward` is the gradient rule: it sees inputs and given outputs as one
                          list of inputs, and needs as many */
} SpmdFlags;

typedef struct {
    uint8_t min, max; /* max SPMD_ANY: any number */
} SpmdCount;

struct SpmdRule {
    const char *names;          /* operators that follow it, with spaces between */
    SpmdFn *forward, *backward; /* NULL: no such rule */
    SpmdFn *eager;              /* forward in SPMD_EAGER; NULL: as forward */
    unsigned flags;             /* SpmdFlags */
    SpmdCount inputs;           /* the first `min` may not be absent */
    SpmdCount outputs;          /* given ones, of backward */
    /* what functions shared by a family read; their meaning is the function's */
    const char *letters;
    int64_t number;
    ReduceOp reduce;
    void *context;
};

struct SpmdCall {
    Arena *arena;
    const Mesh *mesh;
    const Graph *graph; /* attributes: those of op `op` */
    int32_t op;
    const char *name; /* of the operator, as asked */
    const SpmdRule *rule;
    SpmdMode mode;
    bool backward, exact;
    Buf *reads; /* takes the names of attributes that the rule asks for, blanks between, also of
                   those that are not there; NULL: not asked */
    Buf *trace; /* takes lines about letters, claims, transforms, corrections; NULL: not asked */
    int n_inputs, n_outputs;
    const SpmdTensor *input, *output; /* as the rule sees them; output: backward, and where shapes
                                         of outputs are asked */
    const SpmdTensor *given_input, *given_output; /* with lists: spmd_given() */
    /* answers, by spmd_need*() and spmd_out*(); those of absent inputs are made absent */
    Vec(SpmdTensor *) need, out;
};

/* Users' rules, before the built-in ones. */
typedef struct SpmdRules SpmdRules;

SpmdRules *spmd_rules_new(Arena *arena);
SpmdRules *spmd_rules_of(const RuleBook *book);              /* those that policies register */
void spmd_rules_add(SpmdRules *rules, const SpmdRule *rule); /* copied; a later one wins */
const SpmdRule *spmd_rules_find(const SpmdRules *rules, Str name); /* rules may be NULL */
int spmd_rules_n_users(const SpmdRules *rules);
const SpmdRule *spmd_rules_user(const SpmdRules *rules, int i); /* in their order */

/* Runs the rule on the call, forward or backward as call->backward says. Checks the number of
 * operands and the given mappings: axes exist, none is used twice by one tensor; the mappings of
 * inputs of a backward call are not looked at. ERROR_UNKNOWN_OP when rule is NULL. */
bool spmd_apply(const SpmdRule *rule, SpmdCall *call, Error *err);

/* The built-in rules, one after another; the first after NULL; NULL at the end. */
const SpmdRule *spmd_rules_next(const SpmdRule *after);

/* The built-in tables, ended by a row without names. */
extern const SpmdRule spmd_rules_basic[], spmd_rules_matmul[], spmd_rules_reduce[],
    spmd_rules_views[], spmd_rules_expand[], spmd_rules_parts[], spmd_rules_norm[],
    spmd_rules_embedding[], spmd_rules_index[], spmd_rules_axis[], spmd_rules_conv[],
    spmd_rules_loss[], spmd_rules_attention[], spmd_rules_layers[], spmd_rules_default[];

/* ---- for rules: answers ---- */

/* The answer for the next input, or the next output: the tensor's mapping without its partial.
 * `tensor` may be an operand that is absent. The answer stays where it is; rules edit it. */
SpmdTensor *spmd_need(SpmdCall *call, const SpmdTensor *tensor);
SpmdTensor *spmd_out(SpmdCall *call, const SpmdTensor *tensor);
/* The same with its partial. Rules that hand back an operand untouched hand back spmd_given(). */
SpmdTensor *spmd_need_as_given(SpmdCall *call, const SpmdTensor *tensor);
SpmdTensor *spmd_out_as_given(SpmdCall *call, const SpmdTensor *tensor);
const SpmdTensor *spmd_given(const SpmdCall *call,
                             const SpmdTensor *operand); /* of input, output */
SpmdTensor *spmd_out_whole(SpmdCall *call, int n_dims);  /* no dim split */
SpmdTensor *spmd_out_absent(SpmdCall *call);

/* ---- for rules: tensors ---- */

SpmdTensor spmd_without_partial(const SpmdTensor *tensor);
void spmd_clear_partial(SpmdTensor *tensor);
void spmd_replicate(SpmdTensor *tensor);            /* no dim split, not partial */
void spmd_unsplit(SpmdTensor *tensor, int64_t dim); /* one dim; a negative one counts from the end;
                                                       a dim that is not there is no error */
/* Of the mapping, the shape stays: an unsplit dim before dim `dim` (nothing in a mapping that has
 * SPMD_DIMS_MAX already); a dim less. */
void spmd_insert_dim(SpmdTensor *tensor, int dim);
void spmd_remove_dim(SpmdTensor *tensor, int dim);
void spmd_drop_indivisible(SpmdCall *call, SpmdTensor *tensor); /* lists lose axes from the end
                                                       until they divide the dim */

/* Of every list one axis: that of largest size, the first of equals. */
void spmd_take_largest(const SpmdCall *call, SpmdTensor *tensor);

static inline bool spmd_is_split(const SpmdTensor *tensor, int dim)
{
    return tensor->dim[dim].n > 0;
}
bool spmd_uses_axis(const SpmdTensor *tensor, int axis); /* some dim is split over it */
bool spmd_is_partial(const SpmdTensor *tensor);
bool spmd_axes_equal(const SpmdAxes *a, const SpmdAxes *b);
bool spmd_axes_have(const SpmdAxes *axes, int axis);
void spmd_axes_push(SpmdAxes *axes, int axis);   /* nothing when it is there already */
void spmd_axes_remove(SpmdAxes *axes, int axis); /* nothing when it is not there */
int64_t spmd_axes_size(const SpmdCall *call, const SpmdAxes *axes); /* parts: product of sizes */
/* Takes axes off the end until their parts divide size. */
void spmd_axes_trim(const SpmdCall *call, SpmdAxes *axes, int64_t size);

/* Partial over each of the axes; one that is partial already keeps its reduction. */
void spmd_add_partial(SpmdTensor *tensor, const SpmdAxes *axes, ReduceOp reduce);
/* The checked form: ERROR_INVALID when an axis is partial already or splits a dim. */
bool spmd_set_partial(SpmdTensor *tensor, const SpmdAxes *axes, ReduceOp reduce, Error *err);

/* What a gradient that was broadcast to more dims has to become for an input of n_dims: leading
 * dims go and their axes become partial(sum), as do, with sizes given (NULL: not), those of split
 * dims where the input has size 1. */
void spmd_reduce_broadcast(SpmdTensor *gradient, int n_dims, const Shape *input);

/* ---- for rules: attributes; `names`: alternatives with spaces between, the first there wins ----
 */

typedef struct {
    bool given;
    int n;
    const int64_t *at;
} SpmdInts;

int64_t spmd_int(const SpmdCall *call, const char *names, int64_t fallback);
SpmdInts spmd_ints(const SpmdCall *call, const char *names); /* a single int is a list of one */
Str spmd_text(const SpmdCall *call, const char *names, const char *fallback);

/* axis + n_dims where negative; ERROR_INVALID outside -n_dims .. n_dims-1. */
bool spmd_axis(int64_t axis, int64_t n_dims, int *out, Error *err);

/* ---- for rules: the trace ---- */

/* A line of the trace; nothing when it was not asked for. */
void spmd_say(const SpmdCall *call, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "[-1,0]", "[[0,1],[]]" with the names of axes: "[-,x]", "[x.y,-]"; in the arena of the call. */
const char *spmd_show(const SpmdCall *call, const SpmdTensor *tensor);
const char *spmd_show_axes(const SpmdCall *call, const SpmdAxes *axes);

#endif
