/* attention.h - the operands of attention as one rank holds them, for its kernel and for its
 * gradient's kernel.
 */
#ifndef CORE_RUN_KERNELS_ATTENTION_H
#define CORE_RUN_KERNELS_ATTENTION_H

#include "core/run/kernels/heads.h"

/* Contents of the fourth output. ORDER: attribute qk_matmul_output_mode */
typedef enum { SCORES_RAW, SCORES_CAPPED, SCORES_BIASED, SCORES_SOFTMAX } ScoresStage;

/* Indices of inputs (-1: none) and names of attributes. */
typedef struct {
    const char *q_heads, *k_heads, *causal;
    int mask, past, lengths, bias, hidden; /* past: of keys, then of values; hidden: keys to skip */
    bool buffer;   /* lengths are those of the buffer after this call, less one */
    bool projects; /* inputs 0 to 2 are X, a weight and a bias: together they make queries, keys and
                    * values; past and present keys and values are in one tensor each */
} AttentionForm;

enum { ATTENTION_Q, ATTENTION_K, ATTENTION_V };
enum { ATTENTION_ANGLES = 7 }; /* inputs with cosines and sines, where there is a buffer */

typedef struct {
    const KernelCall *call;
    const AttentionForm *form;
    const Local *from[3]; /* queries, keys, values */
    HeldHeads q, k, v, past_k, past_v, y;
    Local *present[2], *scores_out; /* NULL: not used */
    ScoresStage stage;              /* of scores_out */
    int64_t group;                  /* heads of queries that share one of keys */
    int64_t n_key_heads;            /* whole */
    double scale, cap;              /* cap 0: none */
    bool causal;
    int64_t left, right;          /* of the window; -1: unbounded */
    const Local *mask;            /* NULL: none */
    int64_t mask_stride[4];       /* b, head, query, key */
    int64_t n_masked;             /* keys covered by the mask */
    const double *lengths;        /* per batch: unpadded keys; NULL: all */
    const double *bias[3];        /* per number held of queries, keys, values; NULL: none */
    const int64_t *bias_place[3]; /* of those numbers in the input `bias` */
    const double *seen; /* [b][n_keys]: 0 for a hidden key, whose score gets `hide`; NULL: none */
    double hide;
    int64_t *kept; /* with a buffer, per batch: past keys; NULL: all of past */
    const double *cosine,
        *sine; /* [position][half]: rotary embedding of queries and keys; NULL: none */
    Turn turn;
    double *row;                /* work space for a row of a head */
    const int64_t *position;    /* global, of the queries held */
    int64_t n_keys;             /* held, with past keys */
    int64_t n_all;              /* of the whole operand, with past keys */
    const int64_t *key;         /* global position of each key held */
    struct AttentionSums *sums; /* of all turns so far; NULL: all keys are there at once, or it is
                                 * the backward pass */
    Number number;
    Dtype dtype; /* of numbers of that class */
} Attention;

/* The result of the keys of the turns so far, by batch element, head and query. With p = exp(score
 * - most): the sum of p, and the sums of p times `width` numbers of each key, its values. Milakov
 * and Gimelshein 2018, arXiv 1805.02867; blocks around a ring: Liu et al. 2023, arXiv 2310.01889.
 */
typedef struct AttentionSums {
    double *most, *sum, *y;
    int64_t width;
} AttentionSums;

/* Number of queries processed at a time; their rows are independent. */
enum { QUERIES_MAX = 256 };

/* Numbers that attention in a ring keeps of a query for the backward pass: the logarithm of the sum
 * of exp(score), -INFINITY if it sees no key, and its result. */
static inline int64_t attention_kept_row(const Attention *a)
{
    return 1 + a->v.d;
}

bool attention_open(const KernelCall *call, Attention *out, Error *err);

/* Mask and bias of a query's scores; false when it sees no key. */
bool attention_bias(const Attention *a, int64_t b, int64_t head, int64_t s, double *bias);
void attention_softmax(double *x, int64_t n);

/* A head of queries, keys or values (ATTENTION_Q ..) with bias and rotation: [positions][numbers].
 */
void attention_load_head(const Attention *a, int operand, int64_t b, int64_t head, void *out);
/* Past keys or values, then new ones: [n_keys][numbers] of key head `head`. */
void attention_load_keys(const Attention *a, int operand, int64_t b, int64_t head, void *out);
/* Past keys of a batch element. */
int64_t attention_past(const Attention *a, int64_t b);

/* Rows times columns numbers of the class of the operands, cleared. */
void *attention_numbers(const Attention *a, int64_t rows, int64_t columns);

/* One of the two halves of a tensor, keys or values along its first dim, which is whole. */
Local *attention_half(Arena *arena, const Local *both, int half);
/* Queries, keys or values laid out as parts of x * weight: [b][s][heads numbers], cleared. */
Local *attention_projected(const KernelCall *call, const Local *y);

KernelFn attention_gradient; /* attention_gradient.c */

#endif
