/* kernel.h - the functions that compute an op on one rank, in tables by name.
 *
 * A kernel sees local parts and not the mesh. Runs give the global index of each local place, and
 * `whole` gives the sizes of the whole tensors. Kernels of ops whose meaning depends on global
 * indices or sizes use them: Gather maps global rows to local ones, Split and Slice find global
 * ranges, ReduceMean divides by the global count, a dim broadcasts where its whole size is 1. Where
 * an op sums over a sharded dim the kernel computes this rank's addend.
 *
 * Each family is a table of rows {name, function, ..}. The column `kernel` of an operator's row
 * (core/rules/registry.h) names the one that runs it; operators may share one. A kernel is named
 * after the first operator it runs. kernel_find() is called once an op, when a program is made.
 */
#ifndef CORE_RUN_KERNEL_H
#define CORE_RUN_KERNEL_H

#include "core/plan/op_cut.h"
#include "core/rules/infer.h"
#include "core/rules/registry.h"
#include "core/rules/user_op.h"
#include "core/run/local.h"

#include <pthread.h>

typedef struct Kernel Kernel;
typedef struct PickSink PickSink;

/* If set, receives how the outputs of a kernel depend on its inputs, and no output is written.
 * Only operands that decide on moves and weights (indices, or the elements of a maximum) are read.
 */
struct PickSink {
    /* `picks` is kept: it stays as it is, in the call's scratch arena. */
    void (*pick)(PickSink *sink, const Local *to, const Local *from, const Picks *picks);
    /* The derivative of element `at` of `to` with respect to element `place` of `from` is
     * `weight`; several terms for one pair are added. NULL: the sink takes whole elements only. */
    void (*term)(PickSink *sink, const Local *to, int64_t at, const Local *from, int64_t place,
                 double weight);
};

/* A changed number; i is its place, key identifies the operand and the sample. */
typedef double NumberChange(double x, Dtype dtype, uint64_t key, int64_t i);

/* One turn of an op whose parts go around a ring: the inputs are the parts present now; their
 * result is combined with that of earlier turns in *state. Outputs that go around are added to,
 * others are written by the last turn. */
typedef struct {
    int turn, n_turns; /* of all rounds */
    int n;             /* of one round */
    void **state;      /* the kernel's; NULL in the first turn */
    Arena *arena;      /* of the state */
} KernelRing;

/* What the kernel of a forward op keeps for that of its gradient, such as attention_kept_row(). The
 * bytes of a run do not count it. */
typedef struct {
    double *at; /* NULL: nothing yet */
    int64_t n;
    Arena *arena;
} KernelKept;

typedef struct {
    const Kernel *kernel;
    const Inferred *inferred;
    int32_t op;
    int n_inputs, n_outputs;
    const Local *const *input; /* NULL: absent, or a value known at load */
    Local *const *output;      /* zero-filled; NULL: absent optional output */
    Local **made;              /* where a kernel with data-dependent sizes puts outputs whose size
                                * nobody bound (kernel_decide()); NULL: all are bound */
    bool first;                /* this rank is at 0 on all axes that shard reduce dims: it adds
                                * operands that are added once (Gemm's C) */
    bool reduce_cut;           /* a reduce dim is sharded: outputs are addends */
    const OpCut *cut;          /* of the op, on `mesh`, for the rank at `position`; NULL: whole */
    const Mesh *mesh;
    int64_t position;
    int64_t iteration;      /* of the op's loop; after the loop its number of iterations */
    uint64_t seed;          /* of the run; for ops that draw numbers */
    uint64_t by_rank;       /* added to a seed, and .. */
    uint16_t by_place;      /* .. dims that count within the part that is drawn: Draws of
                             * core/plan/assume.h; 0 */
    pthread_mutex_t *blas;  /* lock held around calls of BLAS, which is not thread-safe; NULL: plain
                             * loops */
    const KernelRing *ring; /* NULL: all parts at once */
    KernelKept *kept;       /* shared with the gradient op; NULL: it needs nothing */
    PickSink *sink;         /* NULL: the kernel moves elements itself */
    NumberChange *inner;    /* changes intermediate numbers that a kernel adds up to a result in
                               which they may cancel, whatever the operands are:
                               core/run/rounding.h; NULL */
    uint64_t inner_key;
    Arena *scratch;
} KernelCall;

/* Returns false with *err for an unsupported type or operand, or an element that this rank does not
 * hold. */
typedef bool KernelFn(const KernelCall *call, Error *err);

enum { KERNEL_DECIDES = -1, KERNEL_LISTS = -2 };

/* How results round: core/run/rounding.h. ORDER ROUNDING: rounding_name() */
typedef enum {
    ROUNDING_SENSITIVE,
    ROUNDING_EXACT,
    ROUNDING_ULPS,
    ROUNDING_OPERANDS,
    ROUNDING_SUM,
    ROUNDING_STEP
} Rounding;

struct Kernel {
    const char *name;
    KernelFn *run;
    const void *row; /* the family's own data */
    int first_value; /* inputs from this one on are values known at load; 0: none are.
                      * KERNEL_DECIDES: none are, and output sizes depend on data (kernel_decide()).
                      * KERNEL_LISTS: the same, and operands may be sequences and optionals */
    Rounding rounding;
};

extern const Kernel kernels_elementwise[], kernels_matmul[], kernels_move[], kernels_gather[],
    kernels_reduce[], kernels_norm[], kernels_along[], kernels_make[], kernels_contract[],
    kernels_norm_gradient[], kernels_embed[], kernels_cross_entropy[], kernels_derivative[],
    kernels_conv[], kernels_pool[], kernels_image[], kernels_resample[], kernels_quantize[],
    kernels_scatter[], kernels_cast[], kernels_recurrent[], kernels_attention[], kernels_nbits[],
    kernels_fused[], kernels_deform[], kernels_back[], kernels_regions[], kernels_sample[],
    kernels_integer[], kernels_signal[], kernels_stateful[], kernels_rotary[], kernels_decide[],
    kernels_boxes[], kernels_loss[], kernels_optimizer[], kernels_random[], kernels_matrix[],
    kernels_ngrams[], kernels_control[], kernels_sequence[], kernels_hlo_place[],
    kernels_hlo_window[], kernels_hlo_index[], kernels_hlo_region[], kernels_classical[];
extern const Kernel *const kernel_families[]; /* all of these, ended by NULL */

/* The kernel of an op: the op space's own kernel, else the one that the op space names (space may
 * be NULL), else the one of its operator; NULL if there is none. */
const Kernel *kernel_find(const OpSpace *space, const char *op_type);
bool kernel_is_built_in(const Kernel *kernel); /* not a user's */
bool kernel_reads_value(const Kernel *kernel, int input);
/* The op draws random numbers: results differ from other systems'. */
bool kernel_draws(const Graph *graph, int32_t op, const Kernel *kernel);
/* Whether the input is known at load and the kernel reads it as such. */
bool kernel_knows(const Inferred *inferred, int32_t op, const Kernel *kernel, int input);

/* Runs an op on whole tensors. It reads value[tensor] for each input (NULL allowed for values known
 * at load) and makes value[tensor] for each output, which the caller frees, also after an error. A
 * kernel with data-dependent sizes makes the outputs of unknown shape; their shape is
 * value[tensor]->whole. ERROR_RUN names the op. */
bool kernel_run_whole(const Inferred *inferred, int32_t op, const Kernel *kernel,
                      pthread_mutex_t *blas, uint64_t seed, int64_t iteration, Local **value,
                      Error *err);
/* The same, with KernelCall.inner and its key. */
bool kernel_run_changed(const Inferred *inferred, int32_t op, const Kernel *kernel,
                        pthread_mutex_t *blas, uint64_t seed, int64_t iteration,
                        NumberChange *inner, uint64_t key, Local **value, Error *err);

/* ---- shapes known only at run time: core/run/dynamic_shapes.c ---- */

/* Whether the shape of an operand, or a value that shapes depend on, is known only at run time. */
bool kernel_is_dynamic(const Inferred *inferred, int32_t op, const Kernel *kernel);

/* Checks that all operands are tensors. For a dynamic op it also infers whole shapes and types of
 * the outputs from the values of the inputs; they must agree with what was inferred before the run.
 * n_dims is -1 for a kernel with data-dependent sizes. */
bool kernel_begin(const KernelCall *call, bool late, Shape *shape, Dtype *dtype, Error *err);

/* Sets *err to the inner error with the op's name before it. */
void kernel_blame(const Graph *graph, int32_t op, const Error *inner, Error *err);

/* ---- for kernels ---- */

/* The keyword arguments of this rank's part, for user kernels; built-in ones see `whole` and the
 * op's own attributes. */
bool kernel_kwargs(const KernelCall *call, Kwargs *out, Error *err);

static inline const Graph *kernel_graph(const KernelCall *call)
{
    return call->inferred->graph;
}

/* An optional operand; NULL when absent, or for index -1. */
static inline const Local *kernel_input(const KernelCall *call, int input)
{
    return input >= 0 && input < call->n_inputs ? call->input[input] : NULL;
}

static inline Local *kernel_output(const KernelCall *call, int output)
{
    return output < call->n_outputs ? call->output[output] : NULL;
}

/* The value of an input known at load; else NULL. */
const Value *kernel_value(const KernelCall *call, int input);
/* Elements of an integer input known at load, in the scratch arena; n is -1 when absent. */
bool kernel_ints(const KernelCall *call, int input, const int64_t **out, int64_t *n, Error *err);
/* Integers that are an attribute in some opsets and an input in others; n is -1 when absent. */
bool kernel_ints_of(const KernelCall *call, const char *attr, int input, const int64_t **out,
                    int64_t *n, Error *err);
/* Attribute `axis`, made non-negative and checked to be below rank. */
bool kernel_axis(const KernelCall *call, int64_t fallback, int64_t rank, int64_t *axis, Error *err);
/* Runs the call of a rank. A user's own kernel cannot see call->first: for operands that are added
 * once, it gets zeros on all other ranks. */
bool kernel_run_part(const KernelCall *call, Error *err);

bool kernel_needs(const KernelCall *call, int n_inputs, Error *err); /* the first n inputs are
                                                                      * present */
/* The first n inputs are present, and all inputs and output 0 have number classes. */
bool kernel_numeric(const KernelCall *call, int n_inputs, Error *err);
bool kernel_same_shape(const KernelCall *call, Error *err); /* of input 0 and output 0 */
bool kernel_computes(const Local *local, Error *err);       /* its type has a number class
                                                             */
/* Whether dims first .. end-1 are unsharded. */
bool kernel_whole(const Local *local, int64_t first, int64_t end, Error *err);

/* The rows along an unsharded dim: n elements each, `step` apart. */
typedef struct {
    int64_t n, step, n_rows;
} DimRows;

bool kernel_rows(const Local *local, int64_t axis, DimRows *out, Error *err);

/* Elements between neighbours of an input along each dim of the output that it broadcasts to; 0
 * where it repeats. */
bool kernel_broadcast(const Local *in, const Local *out, int64_t stride[DIMS_MAX], Error *err);
bool kernel_scalar(const Local *local, int64_t *out, Error *err); /* its one element */

/* Output of a kernel with data-dependent sizes (NonZero, Compress, Unique), once its whole shape is
 * known: *out is the output bound beforehand, or a new Local in call->made; NULL when nobody reads
 * it. False when another size was bound. */
bool kernel_decide(const KernelCall *call, int output, const Shape *whole, Local **out, Error *err);

/* local_pick(), or call->sink instead. */
int64_t kernel_pick(const KernelCall *call, Local *to, const Local *from, const Picks *picks);

/* PickSink.term() of a call that has a sink. */
static inline void kernel_term(const KernelCall *call, const Local *to, int64_t at,
                               const Local *from, int64_t place, double weight)
{
    call->sink->term(call->sink, to, at, from, place, weight);
}

/* False with *err if the call has a sink that takes no terms. */
bool kernel_takes_terms(const KernelCall *call, Error *err);

/* Output 0 becomes a copy of the value: a tensor, a sequence, an optional. */
bool kernel_copy_output(const KernelCall *call, const Local *value, Error *err);
bool kernel_number(const KernelCall *call, int input, int64_t *out, Error *err);

/* The op as its rule sees it: whole shapes, values known at load, and short lists from unsharded
 * inputs. For code that rules and kernels share: windows, pads, scales. */
RuleCall kernel_rule_call(const KernelCall *call);
int64_t *kernel_globals(Arena *arena, const Runs *runs); /* the global index of each place */
/* The elements as numbers of their class; the data itself where no conversion is needed. */
const void *kernel_numbers(Arena *arena, const Local *local);
const double *local_doubles(Arena *arena, const Local *local); /* the elements in double */
/* The elements of an input in double; NULL when absent. */
const double *kernel_doubles(const KernelCall *call, int input);

/* out[m][n] = scale * sum over k of a(m,k) * b(k,n); elements of out must be zero. a is stored as
 * [m][k], or [k][m] when turned; b as [k][n] or [n][k]. */
typedef struct {
    int64_t m, n, k;
    bool a_turned, b_turned;
    double scale;
} Product;

/* A matrix with at least 2 dims: a vector on the left becomes a row, one on the right a column. */
Shape kernel_as_matrix(const Shape *shape, bool left);

void kernel_multiply(const KernelCall *call, const Product *p, Dtype dtype, const void *a,
                     const void *b, void *out);

/* ---- for collectives ---- */

/* to[i] = reduce(to[i], from[i * step]). Returns false when elements of that type cannot be
 * computed with. */
bool kernel_combine(ReduceOp reduce, Dtype dtype, void *to, const void *from, int64_t step,
                    int64_t n);
bool kernel_scale(Local *local, double factor, Error *err); /* every element times factor */

#endif
