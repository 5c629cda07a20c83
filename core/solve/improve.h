/* improve.h - finds better choices without a proof, at once and for as long as there is time.
 *
 * A first choice is made node by node; a limit is never exceeded as long as the smallest amounts of
 * the remaining nodes keep it. Then nodes change one at a time while that lowers the cost; then
 * windows of neighbouring nodes are solved by branch and bound with all others fixed, larger ones
 * when nothing is found.
 */
#ifndef CORE_SOLVE_IMPROVE_H
#define CORE_SOLVE_IMPROVE_H

#include "core/solve/search.h"

typedef struct SolveImprove SolveImprove;

/* In the arena, for one problem; results go to the search. */
SolveImprove *solve_improve_new(Arena *arena, SolveSearch *search);

/* Makes a first choice and changes single nodes of it. */
void solve_improve_first(SolveImprove *improve);

/* Changes single nodes of a choice that keeps the limits; offers the result. */
void solve_improve_choice(SolveImprove *improve, const int32_t *choice);

/* Improves search->choice, which exists, until the clock stops it or windows as large as can be
 * solved find nothing for long. Returns false in that case. */
bool solve_improve_windows(SolveImprove *improve, SolveClock *clock);

#endif
