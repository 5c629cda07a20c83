/* fuse_mask.h - constant masks of attention: which keys they hide from which query.
 *
 *     0 -inf -inf -inf        causal, and a window of two keys: is_causal=1 left_window_size=1,
 *     0  0   -inf -inf        and no mask is needed
 *    -inf 0   0   -inf
 *    -inf -inf 0   0
 */
#ifndef CORE_FUSE_FUSE_MASK_H
#define CORE_FUSE_FUSE_MASK_H

#include "core/rules/infer.h"

/* A value added to scores hides a key if it is less than this: exporters write -1e4, the least
 * number of a type, or -inf. */
enum { MASK_HIDDEN = -1000 };

/* What the elements of a mask mean. */
typedef enum {
    MASK_ADDED, /* to the scores; a large negative number hides a key */
    MASK_HIDES, /* true hides a key */
    MASK_SHOWS  /* false hides a key */
} MaskMeaning;

typedef struct {
    int32_t tensor; /* [.., queries, keys], as many queries as keys */
    MaskMeaning meaning;
    bool known;    /* elements are known, and every query sees the key at its own place */
    bool causal;   /* hides all keys after the query */
    bool is_plain; /* shows every key between the first and the last shown, and adds 0 */
    int64_t left;  /* the farthest that a shown key is before its query */
} AttentionMask;

/* Fills the rest from `tensor` and `meaning`. */
void attention_mask_read(const Inferred *inferred, AttentionMask *mask);

#endif
