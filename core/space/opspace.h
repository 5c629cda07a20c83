/* opspace.h - the one idea: an op is an index space with a projection onto each of its tensors.
 *
 *     matmul   index  b s n   reduce  k:sum      x [b, s, k]   w [k, n]   out [b, s, n]
 *
 * Cutting index dim n by an axis cuts w on dim 1 and out on dim 2; cutting k leaves out partial,
 * since k does not appear in it. Shapes, shardings in both directions, legal cuts, local shapes,
 * halos and the cause of every collective follow from this struct; the five notations are parsed
 * into it.
 *
 * A Row says where an index point x lands in one tensor dim: the window
 *     [ sum_j coef[j]*x[j] + offset,  ... + window )
 * Unit rows (one coef 1, window 1) are the common case. Coefs that are products of the smaller
 * extents are mixed radix, `(h t)`. A row without coefs reads all of the dim if its window is the
 * whole dim, and is a dim of size 1 if its window is 1. A window larger than the coef is a halo.
 * `clip` intersects with the tensor: padding, concat, split. A divisor divides where the window
 * starts, rounding down: {(2*o+1)/4} is the row that a resized image reads. Index dims of role
 * REDUCE are reduced over (sum, max ..). FROZEN ones are never cut, with two exceptions: along a
 * dim that carries, a running sum is cut, and each part lacks the sum of the parts before it; and a
 * dim may go around a ring (IndexDim.rounds). The arithmetic is that of Tapestry's range projection
 * maps.
 *
 * OpSpaces are interned by signature and immutable; equal ids mean the same struct.
 */
#ifndef CORE_SPACE_OPSPACE_H
#define CORE_SPACE_OPSPACE_H

#include "core/base/error.h"
#include "core/model/shape.h"

enum { X_MAX = 16, FACTORS_MAX = 4, OPERANDS_MAX = 4096 };

typedef enum {
    REDUCE_NONE,
    REDUCE_SUM,
    REDUCE_AVG,
    REDUCE_MAX,
    REDUCE_MIN,
    REDUCE_PROD,
    REDUCE_ANY,
    REDUCE_ALL
} ReduceOp;                                                    /* ORDER REDUCE_OP: reduce_name() */
typedef enum { ROLE_MAP, ROLE_REDUCE, ROLE_FROZEN } IndexRole; /* ORDER INDEX_ROLE: role_name() */

/* What a clipped row reads outside the tensor: nothing, or elements from inside, as Pad and Roll
 * do. p: -1, -2 .. in a dim of n. ORDER ROW_ENDS: row_ends_name() */
typedef enum {
    ENDS_NONE,
    ENDS_EDGE,    /* 0 */
    ENDS_REFLECT, /* -p */
    ENDS_WRAP     /* n + p */
} RowEnds;

typedef struct {
    int64_t coef[X_MAX];
    int64_t offset, window;
    int64_t divisor; /* 0 or 1: none */
    int64_t ends;    /* RowEnds */
} Row;

typedef struct {
    uint8_t n_dims;
    bool clip;
    Row row[DIMS_MAX];
} Projection;

typedef struct {
    const char *name; /* unique in the op: "k", "b0"; as the annotation or the table writes it */
    int64_t size;
    IndexRole role;
    ReduceOp reduce; /* of a REDUCE dim */
    bool permutes;   /* a cut needs an exchange with neighbours afterwards: slice, pad, reverse,
                        windows (Shardy's permutation factor) */
    bool blocked;    /* a cut along it does not propagate to other ops (Shardy's blocked
                        propagation) */
    int8_t carries;  /* of a frozen dim: outputs are running sums along it; 1: from its start, -1:
                        from its end; 0: no */
    uint8_t rounds;  /* of a frozen dim: how often its parts go around a ring while the op
                        computes on them one after another and combines the results; 0: it cannot */
    uint8_t follows; /* of a frozen dim: 1 + an index dim whose place p needs only places p -
                        before .. p + after of this one: keys in a window around each query; 0:
                        none */
    int64_t before, after;
    const struct CutRule *rule; /* the user's rule that cuts it (core/rules/user_op.h); NULL:
                                   none */
} IndexDim;

/* Whether a partial operand may stay partial through the op (a rule for plans). */
typedef enum {
    LINEAR_NO,
    LINEAR_ALONE,   /* views, Transpose, Neg, a scale by one element */
    LINEAR_TOGETHER /* Add, Sub: when all such operands are partial on the same axes */
} Linear;

/* What a tensor dim says about index dims, derived from its row. `index` lists the index dims whose
 * mixed radix the dim is, major first; it is empty if the dim is read whole, has size 1, or is read
 * in an order that no cut can follow (reversed). exact: the dim is that mixed radix and nothing
 * else, so the index dims' sizes multiply to the dim's size and a cut moves between them digit by
 * digit. If not exact, there is a halo, blocks, a shift or a clip; projection_range() then gives
 * what a cut of the index dim touches. */
typedef struct {
    uint8_t n;
    uint8_t index[FACTORS_MAX];
    bool exact;
} DimFactors;

typedef struct {
    Projection projection;
    Shape shape; /* of the whole tensor */
    DimFactors factors[DIMS_MAX];
    Linear linear;           /* inputs */
    bool once;               /* inputs: an addend beside a cut reduce dim, added only by ranks whose
                                coordinates on all axes that cut reduce dims are 0 (Gemm's C) */
    bool addend;             /* inputs of a sum: a rank may have zeros in place of it, if others add
                                it (core/plan/edges.h) */
    bool absent;             /* an optional operand that is not there, or of which ranks read no
                                element: how often a loop runs */
    bool ignored;            /* `?`: not analysed, always replicated */
    uint16_t no_grad_reduce; /* inputs: index dims whose cut leaves the gradient whole, `: /m`;
                                all bits: `: /` */
    float untouched;  /* share of the elements that the op neither reads nor writes: keys outside
                         every query's window */
    uint16_t updates; /* outputs: 1 + the input that it is the new value of; 0: none */
} Operand;

typedef struct {
    int32_t id;
    int n_index, n_inputs, n_outputs;
    IndexDim index[X_MAX];
    Operand *operand;   /* inputs, then outputs */
    const char *kernel; /* name of the host kernel when it is not the operator's own: "view"; "" if
                           no kernel computes this form of the operator */
    const struct Kernel *own; /* a user's kernel (core/run/kernel.h), which takes precedence over
                                 both; NULL: none */
    const struct Gradient *gradient; /* of a gradient op: how it was derived (gradient.h); else
                                        NULL */
    bool early;   /* element-wise, view, norm, softmax: axes flow through it before matmuls */
    bool no_rule; /* replicated, because no rule says how to shard it */
    double flops; /* of the whole op */
} OpSpace;

static inline const Operand *opspace_output(const OpSpace *space, int i)
{
    return &space->operand[space->n_inputs + i];
}

const char *reduce_name(ReduceOp reduce); /* "sum"; "none" */
const char *role_name(IndexRole role);    /* "frozen" */

/* ---- making ---- */
OpSpace *opspace_new(Arena *arena, int n_inputs, int n_outputs);
int opspace_add_index(OpSpace *space, const char *name, int64_t size, IndexRole role,
                      ReduceOp reduce); /* index, or -1 when full */
/* The frozen index dim for the number `size` in parentheses, `(3 h)`: shared by the
 * tensors of the op; nth counts equal numbers within one tensor. Named "3", "3'", .. */
int opspace_add_number(Arena *arena, OpSpace *space, int64_t size, int nth);
void row_whole(Row *row, int64_t size); /* reads all of the dim */
void row_one(Row *row);                 /* a dim of size 1, or a selection */
void row_unit(Row *row, int index);     /* identity */
void row_radix(Row *row, const OpSpace *space, const int *index,
               int n); /* mixed radix, major first */

/* Checks the rules below and derives every operand's factors; names what is wrong.
 *   - inputs are read inside their tensor (or clipped); outputs are covered exactly, once per point
 *     of the index dims they use;
 *   - a MAP dim is a factor of every output whose rows use it, and of one output at least. An
 *     output that does not use it is taken not to depend on it: each shard makes the same;
 *   - a REDUCE dim has a ReduceOp. An output that lacks it is partial over the axes that cut it;
 * one that has it is cut along it (gradients of several operands), and not every output has it.
 * Operands that are absent or ignored are not checked. */
bool opspace_finish(OpSpace *space, Error *err);

/* ---- arithmetic (half-open boxes) ---- */
static inline int64_t clamp(int64_t value, int64_t lo, int64_t hi)
{
    return value < lo ? lo : value > hi ? hi : value;
}

static inline int64_t common_divisor(int64_t a, int64_t b) /* the greatest one; if a is 0: b */
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

typedef struct {
    int n;
    int64_t lo[X_MAX], hi[X_MAX];
} Box;

/* The bounding box of what an index box reads or writes, computed exactly from its corners; clipped
 * if the projection says so. */
void projection_range(const Projection *projection, const Shape *shape, const Box *index, Box *out);
bool projection_exact(const Projection *projection, const int64_t *extent,
                      int n_index); /* the box is the truth */
/* Returns whether a row depends on the index dim. */
bool projection_uses(const Projection *projection, int index);
bool projection_injective(const Projection *projection, const int64_t *extent,
                          int n_index); /* points write different cells */
void projection_absorb(Projection *projection, int index,
                       int64_t extent);         /* folds an index dim into the windows */
const char *row_ends_name(RowEnds ends);        /* "reflected" */
int64_t row_overlap(const Row *row, int index); /* elements re-read by a neighbour: a halo */
int64_t row_waste(const Row *row, int index);   /* elements skipped between neighbours */

/* Whether a dim of the operand depends on that index dim. */
bool operand_has_index(const Operand *operand, int index);
int opspace_find_index(const OpSpace *space, Str name); /* -1 if there is none */

/* "b s k+, k+ n -> b s n": the annotation that says the same, where one can; `+` after reduce dims,
 * `^` after frozen ones, `(h t)` for mixed radix, sizes for dims without an index dim, `?` for
 * operands not looked at. "b k+ -> b  k:max" if the reduction is not a sum; "{2*h+r-1}" and
 * "{b:+4}" (a window of 4) for rows that are no mixed radix. */
void opspace_format(const OpSpace *space, Buf *out);
/* One dim of it: "k+", "(h t)", "{2*h+r-1}". */
void opspace_format_dim(const OpSpace *space, const Operand *operand, int d, Buf *out);

/* The index dim that moves a row's window, and the row with its other index dims folded into the
 * window; -1 if there is none. row_overlap() and row_waste() of that row are its halo and its
 * waste. */
int row_main_index(const OpSpace *space, const Row *row, Row *folded);

#endif
