/* notation.h - one op, five notations: each is a way to print an op space, and loses something.
 *
 *     dimop       b s k+, k+ n -> b s n                       nnScaler's annotation
 *     einsum      bsk,kn->bsn                                 1: a dim that is never cut
 *     transforms  [Flatten(InputDim(0), InputDim(1))]         output dims, from those of one input
 *     shardy      ([i, l], [l, k])->([i, k]) {..} reduction={l}
 *     template    a metakernel template for these sizes (core/peers/tapestry/template.h)
 *
 * All five read the finished op space and nothing of the operator, so they hold for every operator,
 * a user's too. What a notation has no word for is said beside it.
 */
#ifndef CORE_RULES_NOTATION_H
#define CORE_RULES_NOTATION_H

#include "core/space/opspace.h"

typedef struct {
    const char *name; /* as above: what `rule` and its JSON call it */
    char letter;      /* in the listing of all operators */
    /* Appends the op to `out`, nothing when the notation has no form for it, and to `lost` what it
     * does not say, a line each. True: it says where every cut goes (how partial values pass is
     * beyond that). */
    bool (*print)(const OpSpace *space, Buf *out, Buf *lost);
} Notation;

enum { NOTATION_COUNT = 5 };
extern const Notation notations[NOTATION_COUNT];

/* Where an op space differs from a plain one, about one dim of an operand: "windows of 3, a step of
 * 2 along oh, halo 1, from -1, clipped". Nothing for a dim that is a mixed radix, whole, or of 1.
 */
void notation_row(const OpSpace *space, const Operand *operand, int dim, Buf *out);

#endif
