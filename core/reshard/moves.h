/* moves.h - the steps that can follow a layout in a search (kinds and rules: space.h).
 *
 * Every useful step is offered once, in an order that depends on nothing but the layout. If more
 * than ARRANGED_MAX atoms need new positions at once, only the orders of the target are offered,
 * and `left_out` is set.
 */
#ifndef CORE_RESHARD_MOVES_H
#define CORE_RESHARD_MOVES_H

#include "core/reshard/space.h"

enum { ARRANGED_MAX = 6, PERMUTES_MAX = 6000, PERMUTE_LOOKS_MAX = 1 << 18, LOOKS_MAX = 1 << 19 };
#define PERMUTE_ANY (~(AtomSet)0)

typedef struct {
    const Space *space;
    void *context;
    void (*offer)(void *context, StepKind kind, AtomSet atoms, const Layout *to);
    bool left_out; /* set if not all arrangements were offered */
    int n_looked;  /* positions tried for permutes; after LOOKS_MAX no more permutes are offered */
} LayoutMoves;

/* Offers all steps but permutes, which are many. For steps that give atoms new positions, first a
 * layout that holds those atoms is offered, and its completions when that layout is expanded; the
 * kind of the step then has no meaning. */
void moves_offer(LayoutMoves *moves, const Layout *from);

/* The permutes that move exactly these atoms, or any. */
void moves_offer_permutes(LayoutMoves *moves, const Layout *from, AtomSet groups);

#endif
