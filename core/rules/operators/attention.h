/* attention.h - operands of attention: heads as a separate dim, or packed into one dim with the
 * head size.
 *
 *     packed     b s (h g d)      4 dims     b (h g) s d
 *
 * h: heads of keys and values; g: heads of queries that share one; d: numbers of a head.
 */
#ifndef CORE_RULES_OPERATORS_ATTENTION_H
#define CORE_RULES_OPERATORS_ATTENTION_H

#include "core/rules/args.h"

typedef struct {
    int64_t b, h, s, d; /* h: all heads of the operand */
    bool packed;
} Heads;

/* Reads an operand of 4 dims, or of 3 whose last dim holds n_heads heads (0: not given). */
bool heads_read(const RuleCall *call, int input, int64_t n_heads, Heads *out, Error *err);
Shape heads_shape(const Heads *heads);

/* Sets the rows of an operand of that layout by index dims of batch, heads (major first), positions
 * and numbers; -1 for a size of 1; HEADS_WHOLE for whole positions. */
enum { HEADS_WHOLE = -2 };
void heads_rows(const OpSpace *space, Operand *operand, bool packed, int b, const int *heads,
                int n_heads, int s, int d);

/* Queries against keys and values, once all shapes are set. Index dims b h g s t d e: batch; heads;
 * queries; keys; numbers of a query and of a value. All queries look at all keys: t is frozen, and
 * so is d, whose sums go through the softmax. */
typedef struct {
    int b, h, g, s, t, d, e;
} AttentionIndex;

typedef struct {
    Heads q, k, v;
    int64_t past; /* positions of keys kept from earlier calls */
} AttentionSizes;

/* The keys that a query at position p sees: p - left .. p + right; -1 means unbounded on that side.
 * The queries are at the last positions: query i is at past + i. Causal attention has right 0. */
typedef struct {
    int64_t left, right;
} AttentionWindow;

/* Counts the products of visible pairs only: 2 flops for each of the d numbers of a score and the e
 * numbers of a value. Source: Dao 2023, FlashAttention-2, section 4.1, which counts 4 s^2 d h for
 * full attention and half of it for causal; here the pairs are counted one by one. */
double attention_flops(const AttentionSizes *sizes, AttentionWindow window);
/* The share of positions in from .. to (past and new ones) that no query sees. */
float attention_unseen(const AttentionSizes *sizes, AttentionWindow window, int64_t from,
                       int64_t to);

/* Checks that keys and values fit the queries. */
bool attention_fits(const AttentionSizes *sizes, Error *err);
/* Makes the index dims; also sets the flops of the op space. */
AttentionIndex attention_index(RuleCall *call, const AttentionSizes *sizes, AttentionWindow window);
/* Sets the rows of an operand that broadcasts to batch, query heads, queries, keys. */
void attention_mask(const OpSpace *space, Operand *operand, const AttentionIndex *index);

#endif
