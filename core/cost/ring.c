#include "core/cost/ring.h"

#include "core/layout/runs.h"
#include "core/plan/op_cut.h"
#include "core/space/gradient.h"

#include <math.h>

/* ---- what is hidden ---- */

/* The ring steps of a reshard; *op: the op that computes on the parts. */
static double ring_us(const Plan *plan, const Reshard *reshard, int *turns, int32_t *op)
{
    const Step *step = NULL;
    for (int i = 0; i < reshard->path->n_steps && !step; i++)
        if (reshard->path->step[i].kind == STEP_RING)
            step = &reshard->path->step[i];
    if (!step)
        return 0;
    bool comes = sharding_has_ring(shardings_at(plan->shardings, step->to));
    *op = !comes                ? plan->inferred->graph->tensors[reshard->tensor].maker
          : reshard->n_uses > 0 ? plan->moved->reshard_uses[reshard->use]
                                : -1;
    *turns = step->turns;
    return *op < 0 ? 0 : step->us;
}

double ring_hidden_us(const Plan *plan, const Reshard *reshard)
{
    int turns = 0, other_turns;
    int32_t op = -1, other_op;
    double own = ring_us(plan, reshard, &turns, &op), all = 0;
    if (own <= 0)
        return 0;
    for (int i = 0; i < plan->moved->n_reshards; i++) {
        double us = ring_us(plan, &plan->moved->reshards[i], &other_turns, &other_op);
        if (us > 0 && other_op == op)
            all += us;
        turns = us > 0 && other_op == op && other_turns > turns ? other_turns : turns;
    }
    double compute = plan->priced->op_us[op] / inferred_repeat(plan->inferred, op);
    double under = compute * turns / (turns + 1);
    return own * (all > under ? under / all : 1);
}

double ring_turns(const Plan *plan, int32_t op, const OpCut *cut)
{
    const OpSpace *space = inferred_space(plan->inferred, op);
    int ring = space && cut ? op_cut_ring(space, cut) : -1;
    return ring < 0 ? 1
                    : (double)(op_cut_rounds(space, ring) *
                               mesh_atoms_size(plan->mesh, cut_atoms(&cut->index[ring])));
}

double ring_rewrites(const Plan *plan, int32_t op, const OpCut *cut, int output)
{
    const OpSpace *space = inferred_space(plan->inferred, op);
    int ring = space && cut ? op_cut_ring(space, cut) : -1;
    if (ring < 0 || space->index[ring].role == ROLE_FROZEN)
        return 0;
    if (!operand_has_index(opspace_output(space, output), ring))
        return 2 * (ring_turns(plan, op, cut) - 1);
    Sharding made = op_cut_sharding(space, cut, space->n_inputs + output, plan->mesh);
    return sharding_has_ring(&made) ? 1 : 0;
}

/* ---- what a mask leaves ---- */

/* Keys that a query sees: from its place less `left` to its place and `right`; -1: no bound. */
typedef struct {
    int64_t left, right;
} Sight;

static Sight sight_of(const Plan *plan, int32_t op)
{
    const Graph *graph = plan->inferred->graph;
    const Gradient *gradient = program_space(plan->inferred, op)->gradient;
    int32_t of = gradient ? graph->of[op] : op;
    Sight sight = {op_attr_int(graph, of, "left_window_size", -1),
                   op_attr_int(graph, of, "right_window_size", -1)};
    if (op_attr_int(graph, of, "is_causal", 0) != 0)
        sight.right = 0;
    return sight;
}

/* The sum over queries in [at, end) of the keys below `edge` + query that are in [lo, hi). */
static double below(int64_t at, int64_t end, int64_t edge, int64_t lo, int64_t hi)
{
    double n = 0;
    int64_t first = lo - edge > at ? lo - edge : at;      /* the first query that sees one */
    int64_t full = hi - edge > first ? hi - edge : first; /* and all of them */
    first = first < end ? first : end;
    full = full < end ? full : end;
    n += (double)(full - first) * ((double)(first + full - 1) / 2 + (double)(edge - lo));
    return n + (double)(end - full) * (double)(hi - lo);
}

static double pairs(const Runs *queries, const Runs *keys, Sight sight)
{
    double n = 0;
    for (int i = 0; i < queries->n; i++)
        for (int k = 0; k < keys->n; k++) {
            int64_t at = queries->at[i].start, end = at + queries->at[i].length;
            int64_t lo = keys->at[k].start, hi = lo + keys->at[k].length;
            double seen = (double)(end - at) * (double)(hi - lo);
            n += sight.right < 0 ? seen : below(at, end, sight.right + 1, lo, hi);
            n -= sight.left < 0 ? 0 : below(at, end, -sight.left, lo, hi);
        }
    return n;
}

/* The index dim of the queries: the one that the ring's axes shard. */
static int query_index(const OpCut *cut, int ring)
{
    AtomSet atoms = cut_atoms(&cut->index[ring]);
    for (int j = 0; j < cut->n; j++)
        if (!cut_is_ring(&cut->index[j]) && cut_atoms(&cut->index[j]) == atoms)
            return j;
    return -1;
}

double ring_imbalance(const Plan *plan, int32_t op, const OpCut *cut)
{
    int ring = cut ? op_cut_ring(program_space(plan->inferred, op), cut) : -1,
        index = ring < 0 ? -1 : query_index(cut, ring);
    Sight sight = index < 0 ? (Sight){-1, -1} : sight_of(plan, op);
    if (sight.left < 0 && sight.right < 0)
        return 1;
    Arena *scratch = arena_new();
    AtomSet atoms = cut_atoms(&cut->index[ring]);
    int64_t n = mesh_atoms_size(plan->mesh, atoms);
    Runs *queries = arena_array(scratch, Runs, n), *keys = arena_array(scratch, Runs, n);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = mesh_group_member(plan->mesh, atoms, 0, i);
        queries[i] = cut_runs(scratch, &cut->index[index], plan->mesh, at);
        keys[i] = cut_runs(scratch, &cut->index[ring], plan->mesh, at);
    }
    double all = 0, longest = 0;
    for (int64_t turn = 0; turn < n; turn++) {
        double most = 0;
        for (int64_t i = 0; i < n; i++) {
            double seen = pairs(&queries[i], &keys[(i - turn + n) % n], sight);
            most = fmax(most, seen);
            all += seen;
        }
        longest += most;
    }
    arena_free(scratch);
    return all > 0 ? longest * (double)n / all : 1;
}
