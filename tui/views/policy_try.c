#include "tui/views/policy_try.h"

#include "core/session/make.h"
#include "tui/state/jobs/job.h"
#include "tui/state/menu.h"
#include "tui/state/pins.h"
#include "tui/views/policy_lines.h"

typedef struct {
    Arena *arena; /* it lives there */
    PlanRequest request;
    Journal journal;
    Totals before, after;
    bool legal; /* the plan without the line */
    int line;
    bool
        edits; /* the line can only be left out of the file: no later decision drops what it says */
} TryJob;

static Decision unpin_of(const Decision *decision)
{
    Decision out = {.place = decision->place, .dim = decision->dim};

    out.kind = decision->kind == PIN_TENSOR_DIM  ? UNPIN_TENSOR_DIM
               : decision->kind == PIN_INDEX_DIM ? UNPIN_INDEX_DIM
                                                 : UNPIN_TENSOR;
    if (out.kind == UNPIN_TENSOR)
        out.dim = -1;
    return out;
}

static int unpins_of(Ui *ui, int line, Decision **out)
{
    const Decision **held;
    int n_held = policy_line_decisions(ui, line, &held), n = 0;

    *out = arena_array(ui->frame, Decision, n_held);
    for (int i = 0; i < n_held; i++)
        if (!decision_is_on_ops(held[i]->kind)) /* stages and schedules are undone, not dropped */
            (*out)[n++] = unpin_of(held[i]);
    return n;
}

/* An assumption of the line about values, of the policy's own file. */
static bool assumes(const Ui *ui, const Decision *decision, int line)
{
    const Origin *origin = &decision->origin;
    const char *policy = ui_policy_file(ui->session);
    return decision->kind == PIN_ASSUMED && origin->kind == ORIGIN_POLICY && origin->line == line &&
           policy && strcmp(path_base(origin->file), path_base(policy)) == 0;
}

/* Leaves the assumptions of the line out of the journal; returns how many there were. */
static int leave_out(const Ui *ui, Journal *journal, int line)
{
    int kept = 0, n = journal->n_done;

    for (int i = 0; i < n; i++)
        if (!assumes(ui, &journal->decisions.at[i], line))
            journal->decisions.at[kept++] = journal->decisions.at[i];
    journal->decisions.n = journal->n_done = kept;
    return n - kept;
}

static bool try_work(void *context, Progress *progress, Error *err)
{
    TryJob *job = context;

    progress_stage(progress, "planning", 0);
    Plan *plan = plan_make(&job->request, err);
    if (plan) {
        job->after = plan->priced->totals;
        job->legal = plan_is_legal(plan);
    }
    plan_free(plan);
    return plan != NULL;
}

static void drop_chosen(Ui *ui, int line)
{
    Decision *unpins;
    int n = line > 0 ? unpins_of(ui, line, &unpins) : 0;

    if (line < 0)
        ui->asked.command = "edit";
    if (n > 0)
        pins_apply(ui, unpins, n, arena_printf(ui->frame, "line %d dropped", line));
}

static void try_done(Ui *ui, void *context, bool ok, const Error *err)
{
    TryJob *job = context;
    Buf text = buf_new(ui->frame);

    if (ok) {
        menu_open(ui, arena_printf(ui->frame, "plan without line %d", job->line), drop_chosen);
        buf_puts(&text, !job->edits  ? "drop it"
                        : job->legal ? "edit the file (the plan stays legal)"
                                     : "edit the file (the plan is illegal without it too)");
        pins_format_totals(ui, &job->before, &job->after, &text);
        menu_add(ui, job->edits ? 'e' : 'x', buf_str(&text), job->edits ? -job->line : job->line);
        menu_add(ui, 'k', STR("keep it"), 0);
    } else {
        ui_error(ui, err);
    }
    arena_free(job->arena);
}

void policy_try_without(Ui *ui, int line)
{
    Decision *unpins;
    int n = line > 0 ? unpins_of(ui, line, &unpins) : 0;
    Arena *arena = arena_new();
    TryJob *job = arena_make(arena, TryJob);

    *job = (TryJob){.arena = arena, .before = ui_plan(ui)->priced->totals, .line = line};
    for (int i = 0; i < n; i++)
        unpins[i].origin = (Origin){.kind = ORIGIN_USER, .file = "", .text = ""};
    job->journal = session_journal_with(ui->session, arena, n > 0 ? unpins : NULL, n);
    job->edits = n == 0 && line > 0 && leave_out(ui, &job->journal, line) > 0;
    if (n == 0 && !job->edits) {
        ui_say(ui, "no decision of this line holds, so there is nothing to drop");
        arena_free(arena);
        return;
    }
    job->request = session_request(ui->session, &job->journal);
    JobWork work = {.title = "plan", .work = try_work, .done = try_done, .context = job};
    work.changes_plan = true;
    if (!job_start(ui, &work))
        arena_free(arena);
}
