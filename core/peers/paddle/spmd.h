/* spmd.h - Paddle's dims_mapping rules of single ops: calls, answers, and helpers to write rules.
 *
 * A dims_mapping lists for each tensor dim the mesh axes that split it, major first; a tensor may
 * also be partial over axes. A forward rule gets the mappings of the inputs and answers the
 * mappings that the inputs need (`need`) and those of the outputs (`out`); the caller reshards
 * inputs whose given and needed mappings differ. A backward rule gets the outputs' mappings and may
 * read only the shapes of the inputs. A gradient rule is a forward rule named OP_grad.
 *
 * The answers are those of PaddlePaddle 3.3.1. Where they are plainly an oversight, the rule
 * answers so only with `exact` and gives the corrected answer otherwise; comments that begin with
 * "Exact:" mark these places.
 *
 * Rules are rows of const tables, one table per family of operators; users' rules are rows of the
 * same kind in an SpmdRules, looked up first. Everything is in the arena of the call. Source:
 * PaddlePaddle 3.3.1, paddle/phi/infermeta/spmd_rules, called function by function.
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

/* The axes that split one dim, major first; n == 0 is written as -1. */
typedef struct {
    uint8_t n;
    uint8_t axis[MESH_AXES_MAX];
} SpmdAxes;

typedef struct {
    bool absent; /* an optional operand that is missing: null in the protocol */
    int n_dims;  /* of the mapping; shape.n_dims for a given one */
    Shape shape; /* answers for outputs leave it {0} */
    SpmdAxes dim[SPMD_DIMS_MAX];
    uint8_t partial[MESH_AXES_MAX]; /* ReduceOp per axis; REDUCE_NONE: not partial over it */
} SpmdTensor;

typedef enum {
    SPMD_STATIC,  /* the rules of whole programs */
    SPMD_EAGER,   /* the rules of eager execution: some differ */
    SPMD_COSHARD, /* the rules of SPMD_STATIC; mappings are written as lists */
} SpmdMode;

typedef struct SpmdCall SpmdCall;
typedef struct SpmdRule SpmdRule;

/* Fills call->need and call->out. Returns false with ERROR_CONFLICT if the mappings of operands
 * conflict, ERROR_INVALID if the operands or attributes do not fit the operator. */
typedef bool SpmdFn(SpmdCall *call, Error *err);

typedef enum {
    SPMD_LISTS = 1,    /* handles dims split by several axes; other rules get one axis of each list:
                          the largest, the first of equals */
    SPMD_GRADIENT = 2, /* `backward` is the gradient rule: it gets inputs and given outputs as one
                          list of inputs */
} SpmdFlags;

typedef struct {
    uint8_t min, max; /* max SPMD_ANY: no limit */
} SpmdCount;

struct SpmdRule {
    const char *names;          /* operators with this rule, separated by spaces */
    SpmdFn *forward, *backward; /* NULL if there is no such rule */
    SpmdFn *eager;              /* forward rule in SPMD_EAGER; NULL: same as forward */
    unsigned flags;             /* SpmdFlags */
    SpmdCount inputs;           /* the first `min` must be present */
    SpmdCount outputs;          /* given outputs of backward */
    /* parameters for functions that a family shares */
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
    Buf *reads; /* collects the names of attributes that the rule reads, separated by spaces,
                   missing ones too; or NULL */
    Buf *trace; /* collects lines about letters, claims, transforms, corrections; or NULL */
    int n_inputs, n_outputs;
    const SpmdTensor *input, *output; /* as the rule sees them; output: for backward, and for rules
                                         that need output shapes */
    const SpmdTensor *given_input, *given_output; /* before lists were shortened: spmd_given() */
    /* answers from spmd_need*() and spmd_out*(); those of absent inputs become absent */
    Vec(SpmdTensor *) need, out;
};

/* Users' rules, which come before the built-in ones. */
typedef struct SpmdRules SpmdRules;

SpmdRules *spmd_rules_new(Arena *arena);
SpmdRules *spmd_rules_of(const RuleBook *book);              /* rules that policies register */
void spmd_rules_add(SpmdRules *rules, const SpmdRule *rule); /* copies the rule; a later one wins */
const SpmdRule *spmd_rules_find(const SpmdRules *rules, Str name); /* rules may be NULL */
int spmd_rules_n_users(const SpmdRules *rules);
const SpmdRule *spmd_rules_user(const SpmdRules *rules, int i); /* in order of registration */

/* Runs the rule on the call, forward or backward by call->backward. Checks the number of operands
 * and the given mappings (axes exist, no tensor uses one twice), but not the inputs' mappings of a
 * backward call. ERROR_UNKNOWN_OP if rule is NULL. */
bool spmd_apply(const SpmdRule *rule, SpmdCall *call, Error *err);

/* The built-in rule after `after`: the first for NULL, NULL after the last. */
const SpmdRule *spmd_rules_next(const SpmdRule *after);

/* The built-in tables, ended by a row without names. */
extern const SpmdRule spmd_rules_basic[], spmd_rules_matmul[], spmd_rules_reduce[],
    spmd_rules_views[], spmd_rules_expand[], spmd_rules_parts[], spmd_rules_norm[],
    spmd_rules_embedding[], spmd_rules_index[], spmd_rules_axis[], spmd_rules_conv[],
    spmd_rules_loss[], spmd_rules_attention[], spmd_rules_layers[], spmd_rules_default[];

/* ---- for rules: answers ---- */

/* The answer for the next input, or the next output: the tensor's mapping without its partial.
 * `tensor` may be absent. The answer's address is stable; rules may edit it. */
SpmdTensor *spmd_need(SpmdCall *call, const SpmdTensor *tensor);
SpmdTensor *spmd_out(SpmdCall *call, const SpmdTensor *tensor);
/* The same with its partial. Rules that return an operand unchanged pass spmd_given(). */
SpmdTensor *spmd_need_as_given(SpmdCall *call, const SpmdTensor *tensor);
SpmdTensor *spmd_out_as_given(SpmdCall *call, const SpmdTensor *tensor);
const SpmdTensor *spmd_given(const SpmdCall *call,
                             const SpmdTensor *operand); /* of input, output */
SpmdTensor *spmd_out_whole(SpmdCall *call, int n_dims);  /* no dim split */
SpmdTensor *spmd_out_absent(SpmdCall *call);

/* ---- for rules: tensors ---- */

SpmdTensor spmd_without_partial(const SpmdTensor *tensor);
void spmd_clear_partial(SpmdTensor *tensor);
void spmd_replicate(SpmdTensor *tensor); /* no dim split, not partial */
void spmd_unsplit(
    SpmdTensor *tensor,
    int64_t dim); /* one dim; a negative one counts from the end; a missing dim is ignored */
/* Insert an unsplit dim before `dim` (ignored at SPMD_DIMS_MAX), or remove a dim, in the mapping;
 * the shape stays. */
void spmd_insert_dim(SpmdTensor *tensor, int dim);
void spmd_remove_dim(SpmdTensor *tensor, int dim);
void spmd_drop_indivisible(SpmdCall *call, SpmdTensor *tensor); /* lists lose axes from the end
                                                       until they divide the dim */

/* Keeps one axis of every list: the largest, the first of equals. */
void spmd_keep_largest_axes(const SpmdCall *call, SpmdTensor *tensor);

static inline bool spmd_is_split(const SpmdTensor *tensor, int dim)
{
    return tensor->dim[dim].n > 0;
}
bool spmd_uses_axis(const SpmdTensor *tensor, int axis); /* a dim is split over it */
bool spmd_is_partial(const SpmdTensor *tensor);
bool spmd_mappings_equal(const SpmdTensor *a, const SpmdTensor *b); /* of the same rank */
bool spmd_axes_equal(const SpmdAxes *a, const SpmdAxes *b);
bool spmd_axes_have(const SpmdAxes *axes, int axis);
void spmd_axes_push(SpmdAxes *axes, int axis);                      /* ignored if present */
void spmd_axes_remove(SpmdAxes *axes, int axis);                    /* ignored if missing */
int64_t spmd_axes_size(const SpmdCall *call, const SpmdAxes *axes); /* parts: product of sizes */
/* Removes axes from the end until their parts divide size. */
void spmd_axes_trim(const SpmdCall *call, SpmdAxes *axes, int64_t size);

/* Makes the tensor partial over each axis; an axis already partial keeps its reduction. */
void spmd_add_partial(SpmdTensor *tensor, const SpmdAxes *axes, ReduceOp reduce);
/* The same with checks: ERROR_INVALID if an axis is already partial or splits a dim. */
bool spmd_set_partial(SpmdTensor *tensor, const SpmdAxes *axes, ReduceOp reduce, Error *err);

/* Reduces the gradient of a broadcast input to the input's n_dims: leading dims are removed and
 * their axes become partial (sum); so do, if `input` is not NULL, those of split dims where the
 * input has size 1. */
void spmd_reduce_broadcast(SpmdTensor *gradient, int n_dims, const Shape *input);

/* ---- for rules: attributes; `names`: alternatives separated by spaces, the first present wins
 * ----
 */

typedef struct {
    bool given;
    int n;
    const int64_t *at;
} SpmdInts;

int64_t spmd_int(const SpmdCall *call, const char *names, int64_t fallback);
SpmdInts spmd_ints(const SpmdCall *call, const char *names); /* a single int is a list of one */
Str spmd_text(const SpmdCall *call, const char *names, const char *fallback);

/* Adds n_dims to a negative axis; ERROR_INVALID outside -n_dims .. n_dims-1. */
bool spmd_axis(int64_t axis, int64_t n_dims, int *out, Error *err);

/* ---- for rules: the trace ---- */

/* Adds a line to the trace, if there is one. */
void spmd_trace(const SpmdCall *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* "[-1,0]", "[[0,1],[]]" with the names of axes: "[-,x]", "[x.y,-]"; in the arena of the call. */
const char *spmd_show(const SpmdCall *call, const SpmdTensor *tensor);
const char *spmd_show_axes(const SpmdCall *call, const SpmdAxes *axes);

#endif
