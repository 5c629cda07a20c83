/* moves.h - the steps that lead on from a layout (kinds and rules: space.h).
 *
 * Every step that can be of use is offered once, in an order that depends on nothing but the
 * layout. Where more than ARRANGED_MAX atoms find new places at once, only the orders in which the
 * target has them are offered, and the caller is told that something was left out.
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
    bool left_out; /* set: not all arrangements were offered */
    int n_looked;  /* places looked at for permutes; after LOOKS_MAX there are no more permutes */
} LayoutMoves;

/* All but permutes, which are many. Where atoms find new places, a layout that holds them is
 * offered, and what can become of it when that is left; the kind is then of no meaning. */
void moves_offer(LayoutMoves *moves, const Layout *from);

/* Those that move just these atoms, or any. */
void moves_offer_permutes(LayoutMoves *moves, const Layout *from, AtomSet groups);

#endif
