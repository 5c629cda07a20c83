#include "core/reshard/compare.h"

#include "core/base/peer.h"

#include <math.h>
#include <string.h>

/* The i-th planner of the peers, from 1; NULL past the last. */
static const Planner *planner_at(int i)
{
    for (const Peer *const *peer = built_peers; *peer; peer++)
        for (const Planner *it = (*peer)->planners; it && it->name; it++)
            if (--i == PLANNED_OURS)
                return it;
    return NULL;
}

const char *planned_by_name(int i)
{
    const Planner *planner = i == PLANNED_OURS ? NULL : planner_at(i);
    return i == PLANNED_OURS ? "ours" : planner ? planner->name : NULL;
}

static int64_t rank_bytes(const ReshardQuestion *question, const Sharding *sharding)
{
    return dtype_bytes(question->dtype, sharding_local_elements(sharding, question->mesh, 0));
}

void planned_steps(const ReshardQuestion *question, const Step *step, int n, PlannedReshard *out)
{
    out->step = step;
    out->n_steps = n;
    out->peak_bytes = rank_bytes(question, shardings_at(question->shardings, question->from));
    for (int i = 0; i < n; i++) {
        int64_t bytes = rank_bytes(question, shardings_at(question->shardings, step[i].to));
        out->us += step[i].us;
        out->wire_bytes += step[i].wire_bytes;
        out->peak_bytes = bytes > out->peak_bytes ? bytes : out->peak_bytes;
    }
}

static bool check_partial(const ReshardQuestion *question, Error *err)
{
    const Sharding *from = shardings_at(question->shardings, question->from);
    const Sharding *to = shardings_at(question->shardings, question->to);
    for (int a = 0; a < question->mesh->n_atoms; a++)
        if (to->partial[a] != REDUCE_NONE && to->partial[a] != from->partial[a])
            return error_kind(err, ERROR_PARTIAL,
                              "a value that is not partial over '%s' is not made so",
                              question->mesh->axes[question->mesh->atoms[a].axis].name);
    return true;
}

static double ratio_to(double us, double ours)
{
    if (us <= 0 && ours <= 0)
        return 1;
    return ours > 0 ? us / ours : INFINITY;
}

int reshard_compare(Arena *arena, const ReshardQuestion *question, PlannedReshard out[PLANNED_MAX],
                    Error *err)
{
    const Planner *planner;
    if (!check_partial(question, err))
        return 0;
    memset(out, 0, PLANNED_MAX * sizeof *out);
    const ReshardPath *path =
        reshard(question->resharder, question->dtype, question->from, question->to);
    planned_steps(question, path->step, path->n_steps, &out[PLANNED_OURS]);
    out[PLANNED_OURS].ratio = 1;
    int n = 1;
    for (; n < PLANNED_MAX && (planner = planner_at(n)); n++) {
        Error why = {0};
        if (planner->plan(arena, question, &out[n], &why))
            out[n].ratio = ratio_to(out[n].us, out[PLANNED_OURS].us);
        else
            out[n] = (PlannedReshard){.why_not = arena_str(arena, str_from(why.text))};
    }
    return n;
}
