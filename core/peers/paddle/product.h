/* product.h - the mapping of a matrix product, shared by several rules and gradients.
 *
 * Batch dims are merged first, right-aligned, then m and n, then k, each without the axes of those
 * before it, so n wins over k. An axis of both m and n goes to the larger of them, to m if equal.
 * Batch dims and k lose axes that do not divide them, m and n do not.
 */
#ifndef CORE_PEERS_PADDLE_PRODUCT_H
#define CORE_PEERS_PADDLE_PRODUCT_H

#include "core/peers/paddle/merge.h"

typedef struct {
    const SpmdTensor *x, *y;
    bool trans_x, trans_y; /* the last two dims are swapped */
} Factors;

/* Letters: "abmk", "kn", "abmn"; a factor of one dim has only k. */
typedef struct {
    const char *x, *y, *out;
} ProductLetters;

/* ERROR_RANK if a factor is a scalar; ERROR_INVALID if one of one dim is transposed. */
bool product_letters(SpmdCall *call, const Factors *factors, ProductLetters *out, Error *err);

/* The factor with its last two dims in the order of multiplication. */
SpmdTensor product_untransposed(const SpmdTensor *factor, bool transposed);

/* The needed factor by its letters; a dim of size 1 is broadcast and so unsplit. */
SpmdTensor product_need(const SpmdTensor *factor, const char *letters, const SpmdLetters *merged);

typedef struct {
    ProductLetters letters;
    SpmdTensor x, y, out; /* needed factors, stored as given; out without partial */
    SpmdAxes m, n, k;
} SpmdProduct;

/* ERROR_CONFLICT if sizes of k or of a batch dim differ. */
bool product_of(SpmdCall *call, const Factors *factors, SpmdProduct *out, Error *err);

#endif
