/* kernel.h - what computes an op on one rank: a table of functions by the names that rows have.
 *
 * A kernel sees local parts and nothing of the mesh. Their shapes are local; runs give the global
 * index of each place, and `whole` the sizes of the tensors, which is all that an op needs whose
 * meaning depends on them: Gather translates global rows, Split and Slice find global ranges,
 * ReduceMean divides by the global count, a dim broadcasts where its whole size is 1. Where an op
 * sums over a dim that is cut, the kernel leaves this rank's addend.
 *
 * One table a family, of rows {name, function, ..}. The column `kernel` of an operator's row
 * (core/rules/registry.h) names the one that runs it; operators may share one. A kernel is named
 * after the first operator it runs. kernel_find() is called once an op, when a program is made.
 */
#ifndef CORE_RUN_KERNEL_H
#define CORE_RUN_KERNEL_H

#include "core/cost/op_part.h"
#include "core/rules/registry.h"
#include "core/run/local.h"

#include <pthread.h>

typedef struct Kernel Kernel;
typedef struct PickSink PickSink;

/* Is given what a kernel that only moves elements would pick, where that is to be known and done by
 * somebody else: then no data is read or written. */
struct PickSink {
    void (*pick)(PickSink *sink, const Local *to, const Local *from, const Picks *picks);
};

typedef struct {
    const Kernel *kernel;
    const Inferred *inferred;
    int32_t op;
    int n_inputs, n_outputs;
    const Local *const *input; /* NULL: absent, or read as a value known at load */
    Local *const *output;      /* zeroed; NULL: an optional output that is not there */
    Local **made;              /* of a kernel that decides a size: where it puts the outputs that
                                  nobody bound (kernel_decide()); NULL: all were bound */
    bool first;                /* this rank stands at 0 on all axes that cut reduce dims: it adds
                                  operands that are added once (Gemm's C) */
    bool reduce_cut;           /* some reduce dim is cut: the outputs are addends */
    const OpCut *cut;          /* of the op, on `mesh`, for the rank at `position`; NULL: whole */
    const Mesh *mesh;
    int64_t position;
    int64_t iteration;     /* of the loop that the op belongs to; after it, how many there were */
    uint64_t seed;         /* of the run: what ops that draw numbers draw from */
    pthread_mutex_t *blas; /* held around a call into BLAS, which is not safe from several
                              threads; NULL: plain loops instead */
    PickSink *sink;        /* NULL: the kernel moves elements itself */
    Arena *scratch;
} KernelCall;

/* False with *err: a type or an operand that the kernel cannot do, an element not held here. */
typedef bool KernelFn(const KernelCall *call, Error *err);

enum { KERNEL_DECIDES = -1, KERNEL_LISTS = -2 };

struct Kernel {
    const char *name;
    KernelFn *run;
    const void *row; /* the family's own data */
    int first_value; /* inputs from this one on are read as values known at load, 0: none are;
                        KERNEL_DECIDES: none, and it decides sizes, see kernel_decide();
                        KERNEL_LISTS: likewise, and it takes and gives sequences and optionals */
};

extern const Kernel kernels_elementwise[], kernels_matmul[], kernels_move[], kernels_gather[],
    kernels_reduce[], kernels_norm[], kernels_along[], kernels_make[], kernels_einsum[],
    kernels_conv[], kernels_pool[], kernels_image[], kernels_resample[], kernels_quantize[],
    kernels_scatter[], kernels_cast[], kernels_recurrent[], kernels_attention[], kernels_nbits[],
    kernels_fused[], kernels_deform[], kernels_back[], kernels_regions[], kernels_sample[],
    kernels_integer[], kernels_signal[], kernels_stateful[], kernels_rotary[], kernels_decide[],
    kernels_boxes[], kernels_loss[], kernels_optimizer[], kernels_random[], kernels_matrix[],
    kernels_ngrams[], kernels_control[], kernels_sequence[];
extern const Kernel *const kernel_families[]; /* all of these, ended by NULL */

/* The kernel of an op: the one its op space has, the one that is named there (space may be NULL),
 * then its operator's. NULL if there is none. */
const Kernel *kernel_find(const OpSpace *space, const char *op_type);
bool kernel_is_built_in(const Kernel *kernel); /* not a user's */
bool kernel_reads_value(const Kernel *kernel, int input);
/* The op draws numbers: another generator than ours draws others. */
bool kernel_draws(const Graph *graph, int32_t op, const Kernel *kernel);
/* Whether an op of the program is told nothing else of the input: it is known, and read so. */
bool kernel_knows(const Inferred *inferred, int32_t op, const Kernel *kernel, int input);

/* Runs an op on whole tensors: reads value[tensor] of its inputs (those the kernel reads as known
 * values may be NULL) and makes those of its outputs, which the caller frees, also after an error.
 * Outputs whose shapes are not known are left to a kernel that decides sizes: value[tensor]->whole
 * tells them then. ERROR_RUN names the op. */
bool kernel_run_whole(const Inferred *inferred, int32_t op, const Kernel *kernel,
                      pthread_mutex_t *blas, uint64_t seed, int64_t iteration, Local **value,
                      Error *err);

/* ---- shapes that only the run tells: core/run/late.c ---- */

/* The run alone tells the shape of an operand, or a value that shapes hang on. */
bool kernel_is_late(const Inferred *inferred, int32_t op, const Kernel *kernel);

/* Whether the kernel may be called at all: no tensor where it takes tensors alone is refused. Of a
 * late op the whole shapes and types of its outputs too, by its rule on what the inputs hold; what
 * was known before must come out so. A kernel that decides sizes is not asked for them: n_dims -1.
 */
bool kernel_begin(const KernelCall *call, bool late, Shape *shape, Dtype *dtype, Error *err);

/* *err says what went wrong inside an op: puts the op's name before it. */
void kernel_blame(const Graph *graph, int32_t op, const Error *inner, Error *err);

/* ---- for kernels ---- */

/* The keyword arguments of this rank's part, for kernels of a user: those that are built in see
 * `whole` and read the op's own attributes. */
bool kernel_kwargs(const KernelCall *call, Kwargs *out, Error *err);

static inline const Graph *kernel_graph(const KernelCall *call)
{
    return call->inferred->graph;
}

/* The value of an input, known at load or given; NULL when it is absent or not known. */
const Value *kernel_value(const KernelCall *call, int input);
/* Elements of an integer value known at load, in the scratch arena; n is -1 when it is absent. */
bool kernel_ints(const KernelCall *call, int input, const int64_t **out, int64_t *n, Error *err);
/* An attribute or an input that holds ints, as opsets change from one to the other: -1 absent. */
bool kernel_ints_of(const KernelCall *call, const char *attr, int input, const int64_t **out,
                    int64_t *n, Error *err);
/* Attribute `axis` made 0 or more, below rank (rank itself is legal where the caller allows it). */
bool kernel_axis(const KernelCall *call, int64_t fallback, int64_t rank, int64_t *axis, Error *err);
bool kernel_needs(const KernelCall *call, int n_inputs, Error *err); /* the first n are there */
bool kernel_computes(const Local *local, Error *err);                /* its type is computed on */
/* Places between neighbours of an input along each dim of the output it broadcasts to; 0 where it
 * repeats. */
bool kernel_broadcast(const Local *in, const Local *out, int64_t stride[DIMS_MAX], Error *err);
bool kernel_scalar(const Local *local, int64_t *out, Error *err); /* its one element */

/* A kernel that decides a size (NonZero, Compress, Unique: only the data tell how many) asks for
 * each output here once it knows the shape of the whole: *out is what was bound beforehand, or a
 * new whole Local in call->made; NULL when nobody reads that output. False when another size was
 * bound. */
bool kernel_decide(const KernelCall *call, int output, const Shape *whole, Local **out, Error *err);

/* local_pick(), or what the call's sink makes of it. */
int64_t kernel_pick(const KernelCall *call, Local *to, const Local *from, const Picks *picks);

/* Output 0 becomes a copy of the value: a tensor, a sequence, an optional. */
bool kernel_give(const KernelCall *call, const Local *value, Error *err);
bool kernel_number(const KernelCall *call, int input, int64_t *out, Error *err);

/* The op as its rule sees it: whole shapes, values known at load, and short lists of inputs that
 * are held whole. For what rules and kernels read alike: windows, pads, scales. */
RuleCall kernel_rule_call(const KernelCall *call);
int64_t *kernel_globals(Arena *arena, const Runs *runs); /* the global index of each place */
/* The elements as numbers of their class: converted where they do not lie as such. */
const void *kernel_numbers(Arena *arena, const Local *local);
/* The elements in double: of an input of a computed type; NULL: it is absent. */
const double *kernel_doubles(const KernelCall *call, int input);

/* out[m][n] = scale * sum over k of a(m,k) * b(k,n); elements of out must be zero. a lies as
 * [m][k], or [k][m] when turned; b as [k][n] or [n][k]. */
typedef struct {
    int64_t m, n, k;
    bool a_turned, b_turned;
    double scale;
} Product;

/* A matrix at least: a vector on the left is a row, one on the right a column. */
Shape kernel_as_matrix(const Shape *shape, bool left);

void kernel_multiply(const KernelCall *call, const Product *p, Dtype dtype, const void *a,
                     const void *b, void *out);

/* ---- for collectives ---- */

/* to[i] = to[i] (reduce) from[i * step]. False when elements of that type are not computed on. */
bool kernel_combine(ReduceOp reduce, Dtype dtype, void *to, const void *from, int64_t step,
                    int64_t n);
bool kernel_scale(Local *local, double factor, Error *err); /* every element times factor */

#endif
