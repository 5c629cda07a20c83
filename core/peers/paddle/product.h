/* product.h - the mapping of a matrix product, which several rules and gradients are made of.
 *
 * Batch dims are merged first, right-aligned, then m and n, then k, each losing the axes that an
 * earlier one took: so n beats k. An axis that m and n both ask for goes to the larger of them, m
 * where they are equal. Batch dims and k lose axes that do not divide them, m and n never do.
 */
#ifndef CORE_PEERS_PADDLE_PRODUCT_H
#define CORE_PEERS_PADDLE_PRODUCT_H

#include "core/peers/paddle/merge.h"

typedef struct {
    const SpmdTensor *x, *y;
    bool trans_x, trans_y; /* the last two dims stand the other way round */
} Factors;

/* Letters: "abmk", "kn", "abmn"; an operand of one dim has k only. */
typedef struct {
    const char *x, *y, *out;
} ProductLetters;

/* ERROR_RANK: a factor is a scalar; ERROR_INVALID: one of one dim is transposed. */
bool product_letters(SpmdCall *call, const Factors *factors, ProductLetters *out, Error *err);

/* The factor with its last two dims as they are multiplied. */
SpmdTensor product_untransposed(const SpmdTensor *factor, bool transposed);

/* The factor by the letters; a dim of size 1 is broadcast and so whole. */
SpmdTensor product_need(const SpmdTensor *factor, const char *letters, const SpmdLetters *merged);

typedef struct {
    ProductLetters letters;
    SpmdTensor x, y,
        out; /* what is needed of the factors, stored as given; out is not partial yet */
    SpmdAxes m, n, k;
} Product;

/* ERROR_CONFLICT: sizes of k or of a batch dim differ. */
bool product_of(SpmdCall *call, const Factors *factors, Product *out, Error *err);

#endif
