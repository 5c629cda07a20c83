/* notation.h - one op in several notations: each is a way to print an op space, and loses
 * something.
 *
 *     dimop       b s k+, k+ n -> b s n                       nnScaler's annotation
 *     einsum      bsk,kn->bsn                                 1: a dim that is never cut
 *     transforms  [Flatten(InputDim(0), InputDim(1))]         output dims, from those of one input
 *
 * Other systems add theirs: Shardy's rules, Tapestry's templates (core/base/peer.h). All read the
 * finished op space and nothing of the operator, so they work for every operator, a user's too.
 * What a notation cannot express is listed beside it.
 */
#ifndef CORE_RULES_NOTATION_H
#define CORE_RULES_NOTATION_H

#include "core/space/opspace.h"

typedef struct Notation {
    const char *name; /* as above: what `rule` and its JSON call it */
    char letter;      /* in the listing of all operators */
    /* Appends the op to `out`, nothing when the notation has no form for it, and to `lost` what it
     * does not say, a line each. True: it says where every cut goes (how partial values pass is
     * beyond that). */
    bool (*print)(const OpSpace *space, Buf *out, Buf *lost);
} Notation;

const Notation *notation_at(int i); /* NULL past the last */
int notation_count(void);
const Notation *notation_find(Str name); /* NULL: none of that name is built in */

/* What an op space may have that a notation cannot express. */
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

/* Appends to `lost` a line for each trait of the op that is not among `carried`, the Traits the
 * notation expresses. True: nothing about where cuts go is lost. */
bool notation_losses(const OpSpace *space, unsigned carried, Buf *lost);

/* Where an op space differs from a plain one, about one dim of an operand: "windows of 3, a step of
 * 2 along oh, halo 1, from -1, clipped". Nothing for a dim that is a mixed radix, whole, or of 1.
 */
void notation_row(const OpSpace *space, const Operand *operand, int dim, Buf *out);

#endif
