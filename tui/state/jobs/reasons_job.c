#include "tui/state/jobs/reasons_job.h"

#include "core/explain/reason.h"
#include "tui/state/compare.h"
#include "tui/state/jobs/job.h"

const char reasons_waiting[] = "tracing shardings back to their pins ..";

bool reasons_ready(const Ui *ui, const Plan *plan)
{
    return !job_changes_plan(ui) && (job_at_once(ui) || reasons_known(plan));
}

typedef struct {
    Arena *arena; /* it lives there */
    const Plan *plan;
    Reasons *found;
} FindJob;

static bool find_work(void *context, Progress *progress, Error *err)
{
    FindJob *job = context;

    return reasons_find(job->plan, job->found, progress, err);
}

static void find_done(Ui *ui, void *context, bool ok, const Error *err)
{
    FindJob *job = context;
    (void)ui, (void)err;

    if (ok)
        reasons_take(job->plan, job->found);
    else
        reasons_forget(job->found);
    arena_free(job->arena);
}

/* The plan that is shown comes before the one that it is compared with; NULL: all is found. */
static const Plan *next_plan(const Ui *ui)
{
    const Compare *compare = ui->compare;

    if (!reasons_known(ui_plan(ui)))
        return ui_plan(ui);
    for (int s = 0; compare && compare->diff_arena && s < 2; s++)
        if (!reasons_known(compare->diff->side[s]->plan))
            return compare->diff->side[s]->plan;
    return NULL;
}

void reasons_follow(Ui *ui)
{
    const Plan *plan = job_at_once(ui) || job_runs(ui) ? NULL : next_plan(ui);

    if (!plan)
        return;
    Arena *arena = arena_new();
    FindJob *job = arena_make(arena, FindJob);
    *job = (FindJob){arena, plan, reasons_new(arena)};
    job_follow(ui, "reasons", find_work, find_done, job, arena);
}
