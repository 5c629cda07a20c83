#include "core/solve/left.h"

#include "core/solve/bound.h"
#include "core/solve/reduce.h"

enum { PASSES = 40, STUCK = 4 };
#define RISES 1e-3 /* of what is left to rise */

/* Passes messages until the bound rises no more. Returns false if the clock stopped it. */
static bool raise_bound(Bound *bound, double below, SolveClock *clock)
{
    double last = bound->best;
    for (int pass = 0, stuck = 0; pass < PASSES && stuck < STUCK && bound->best < below; pass++) {
        if (!bound_pass(bound, pass % 2 == 0, below, clock))
            return false;
        bool rises = bound->best - last > RISES * (below - bound->best);
        stuck = rises ? 0 : stuck + 1;
        last = rises ? bound->best : last;
    }
    return true;
}

static bool mark(Network *net, double below, SolveClock *clock, bool **left)
{
    Arena *scratch = arena_new();
    Bound bound;
    bound_begin(&bound, scratch, net);
    bool ok = raise_bound(&bound, below, clock) && bound.best < below;
    if (ok)
        bound_apply(&bound, below, &ok);
    ok = ok && network_drop_impossible(net, clock);
    for (int32_t n = 0; ok && n < net->n_nodes; n++)
        for (int32_t x = 0; x < net->node[n].n_values; x++)
            left[n][net->node[n].id[x]] = true;
    arena_free(scratch);
    return ok;
}

bool solve_left(Arena *arena, const SolveProblem *problem, double below, SolveClock *clock,
                bool ***left)
{
    Arena *scratch = arena_new();
    SolvePoints points = solve_points(scratch, problem);
    Network *net = network_new(scratch, problem, &points, below);
    *left = arena_array(arena, bool *, problem->n_nodes);
    for (int32_t n = 0; n < problem->n_nodes; n++)
        (*left)[n] = arena_array(arena, bool, problem->n_choices[n]);
    bool ok = network_drop_impossible(net, clock) && !solve_stopped(clock) &&
              mark(net, below, clock, *left);
    arena_free(scratch);
    return ok;
}
