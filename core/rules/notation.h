/* notation.h - one op in several notations; each prints an op space, and none can express all of
 * it.
 *
 *     dimop       b s k+, k+ n -> b s n                       nnScaler's annotation
 *     einsum      bsk,kn->bsn                                 1: a dim that is never cut
 *     transforms  [Flatten(InputDim(0), InputDim(1))]         output dims, from those of one input
 *
 * Other systems add theirs: Shardy's rules, Tapestry's templates (core/base/peer.h). All of them
 * read the finished op space and not the operator, so they work for every operator, including
 * users'. What a notation cannot express is listed beside it.
 */
#ifndef CORE_RULES_NOTATION_H
#define CORE_RULES_NOTATION_H

#include "core/space/opspace.h"

typedef struct Notation {
    const char *name; /* as above: what `rule` and its JSON call it */
    char letter;      /* in the listing of all operators */
    /* Appends the op to `out`, or nothing if the notation has no form for it, and to `lost` one
     * line for each fact that it does not express. Returns true if it tells how all dims may be
     * sharded (how partial values pass through does not count). */
    bool (*print)(const OpSpace *space, Buf *out, Buf *lost);
} Notation;

const Notation *notation_at(int i); /* NULL past the last */
int notation_count(void);
const Notation *notation_find(Str name); /* NULL: none of that name is built in */

/* Properties of an op space that a notation may be unable to express. */
typedef enum {
    TRAIT_ROW = 1,     /* a dim that is no mixed radix: a stride, a halo, an offset, a clip */
    TRAIT_RADIX = 2,   /* (h t) */
    TRAIT_MINOR = 4,   /* a cut of t in (h t) */
    TRAIT_FROZEN = 8,  /* an index dim that is never cut */
    TRAIT_REDUCE = 16, /* a reduction that is no sum */
    TRAIT_SUM = 32,    /* any reduction */
    TRAIT_INPUTS = 64, /* several inputs that are cut */
    /* how partial values pass, not where cuts go */
    TRAIT_LINEAR = 128,
    TRAIT_ONCE = 256,
    TRAIT_BLOCKED = 512
} Trait;

/* Appends to `lost` a line for each trait of the op that is not in `carried`, the Traits that the
 * notation expresses. Returns true if the sharding of all dims is expressed. */
bool notation_losses(const OpSpace *space, unsigned carried, Buf *lost);

/* Describes how a dim of an operand differs from a plain one: "windows of 3, a step of 2 along oh,
 * halo 1, from -1, clipped". Empty for a dim that is a mixed radix, read whole, or of size 1. */
void notation_row(const OpSpace *space, const Operand *operand, int dim, Buf *out);

#endif
