/* settings_try.c - what other settings of the policy would make of the step and its peak: a menu,
 * each entry planned. */
#include "core/cost/pipeline.h"
#include "core/summary/estimate.h"
#include "tui/state/jobs/job.h"
#include "tui/state/pins.h"
#include "tui/state/jobs/whatif.h"
#include "tui/views/label.h"
#include "tui/views/mem.h"

#define MARK "! " /* before what is illegal, or has no plan */

typedef struct {
    Arena *arena; /* it lives there */
    const Session *session;
    EstimateChanges changes;
} TryJob;

static bool try_work(void *context, Progress *progress, Error *err)
{
    TryJob *job = context;
    return estimate_changes(job->arena, job->session, progress, &job->changes, err);
}

static void settings_set(Ui *ui, const Totals *before, const char *what)
{
    Buf text = buf_new(ui->frame);
    pins_format_change(ui, before, &text);
    ui_say(ui, "%s%s", what, text.s);
}

static void chosen(Ui *ui, int value)
{
    const char *lines = mem_of(ui)->tried[value];
    Buf what = buf_new(ui->frame);
    for (const char *s = lines; *s; s++)
        buf_putc(&what, *s == '\n' ? ' ' : *s);
    job_change(ui, &(Change){.kind = CHANGE_SETTING, .text = lines}, settings_set, what.s);
}

/* "zero=1\nrecompute=full", in the arena. */
static const char *setting_lines(Arena *arena, const EstimateChange *change)
{
    return change->setting[1]
               ? arena_printf(arena, "%s\n%s", change->setting[0], change->setting[1])
               : arena_str(arena, str_from(change->setting[0]));
}

static void add_change(Ui *ui, const EstimateChange *change, int place)
{
    const Totals *now = &ui_plan(ui)->priced->totals;
    Buf text = buf_new(ui->frame);
    buf_printf(&text, "%s%s%s%s", change->failed || !change->legal ? MARK : "", change->setting[0],
               change->setting[1] ? " " : "", change->setting[1] ? change->setting[1] : "");
    if (change->failed) {
        buf_puts(&text, "\tno plan");
    } else {
        buf_printf(&text, "\t%.*s\t%.*s", STR_ARG(label_us(ui, change->step_us)),
                   STR_ARG(whatif_us(ui, plan_step_us(ui_plan(ui)), change->step_us)));
        buf_printf(&text, "\t%.*s\t%.*s\t%s", STR_ARG(label_bytes(ui, change->peak_bytes)),
                   STR_ARG(whatif_bytes(ui, now->peak_bytes, change->peak_bytes)),
                   !change->legal  ? "illegal"
                   : !change->fits ? "does not fit"
                   : change->helps ? "helps"
                                   : "fits");
    }
    mem_of(ui)->tried[place] = setting_lines(mem_of(ui)->kept, change);
    menu_add(ui, 0, buf_str(&text), place);
    if (change->failed)
        menu_note(ui, str_from(change->failed));
}

static void try_done(Ui *ui, void *context, bool ok, const Error *err)
{
    TryJob *job = context;
    if (!ok) {
        ui_say(ui, "stopped: planning finished for no setting");
    } else {
        Buf title = buf_new(ui->frame);
        buf_printf(&title, "the policy's settings, each one planned: now %.*s a step, peak %.*s",
                   STR_ARG(label_us(ui, plan_step_us(ui_plan(ui)))),
                   STR_ARG(label_bytes(ui, ui_plan(ui)->priced->totals.peak_bytes)));
        menu_open(ui, title.s, chosen);
        menu_head(ui, "SETTING\t STEP\t \t PEAK\t \tWITH IT");
        for (int i = 0; i < job->changes.n && i < MENU_MAX; i++)
            add_change(ui, &job->changes.change[i], i);
    }
    (void)err;
    arena_free(job->arena);
}

/* Whether the policy has one of the settings that are tried. */
static bool has_settings(const Session *session)
{
    static const char *const names[] = {"recompute", "zero", "micro_batches"};
    for (int i = 0; i < session->policy_options.n; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            if (strcmp(session->policy_options.at[i].name, names[k]) == 0)
                return true;
    return false;
}

bool mem_settings_what_if(Ui *ui)
{
    if (!ui_graph(ui)->phase || !has_settings(ui->session))
        return false;
    Arena *arena = arena_new();
    TryJob *job = arena_make(arena, TryJob);
    *job = (TryJob){arena, ui->session, {0}};
    if (!job_start(
            ui,
            &(JobWork){.title = "settings", .work = try_work, .done = try_done, .context = job}))
        arena_free(arena);
    return true;
}
