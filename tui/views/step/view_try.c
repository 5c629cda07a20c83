/* view_try.c - what other settings of the policy would make of the step and its peak: each is
 * planned beside the screen, and stands here as a row and in the menu of `x`. */
#include "core/cost/pipeline.h"
#include "core/summary/estimate.h"
#include "tui/screen/folded.h"
#include "tui/state/format.h"
#include "tui/state/jobs/job.h"
#include "tui/state/jobs/whatif.h"
#include "tui/state/pins.h"
#include "tui/views/mem.h"
#include "tui/views/rows.h"
#include "core/plan/plan_machine.h"

#include <math.h>

#define MARK "! " /* before what is illegal, or has no plan */

enum {
    HEAD_ROWS = 1,
    KEY_W = 3,
    CHANGE_W = 10,
    TOTAL_W = 10,
    CHECK_W = 14,
    BAR_LEAST = 12,
    NAME_MOST = 38
};

/* Of a plan. */
typedef struct {
    Arena *arena; /* of the changes; NULL: they are not planned yet */
    EstimateChanges changes;
    const char *tried[MENU_MAX]; /* per item of the menu: what it sets, a line each */
} Tries;

static Tries *tries_of(const Ui *ui)
{
    return ui->own[SHOW_TRY];
}

bool mem_has_settings(const Ui *ui)
{
    static const char *const names[] = {"recompute", "zero", "micro_batches"};
    const Session *session = ui->session;
    for (int i = 0; ui_graph(ui)->phase && i < session->policy_options.n; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            if (strcmp(session->policy_options.at[i].name, names[k]) == 0)
                return true;
    return false;
}

/* ---- planning them ---- */

typedef struct {
    Arena *arena; /* it lives there */
    const Session *session;
    EstimateChanges changes;
} TryJob;

static void open_menu(Ui *ui);

static bool try_work(void *context, Progress *progress, Error *err)
{
    TryJob *job = context;
    return estimate_changes(job->arena, job->session, progress, &job->changes, err);
}

static void take(Ui *ui, const TryJob *job)
{
    Tries *tries = tries_of(ui);
    arena_free(tries->arena);
    *tries = (Tries){.arena = job->arena, .changes = job->changes};
}

static void followed(Ui *ui, void *context, bool ok, const Error *err)
{
    TryJob *job = context;
    (void)err;
    if (ok)
        take(ui, job);
    else
        arena_free(job->arena);
}

static void asked(Ui *ui, void *context, bool ok, const Error *err)
{
    followed(ui, context, ok, err);
    if (ok)
        open_menu(ui);
    else
        ui_say(ui, "stopped: planning finished for no setting");
}

static TryJob *job_new(const Ui *ui)
{
    Arena *arena = arena_new();
    TryJob *job = arena_make(arena, TryJob);
    *job = (TryJob){arena, ui->session, {0}};
    return job;
}

static bool is_followed(const Ui *ui)
{
    return ui->session->inferred->n_program <= QUICK_OPS_MAX;
}

void mem_settings_follow(Ui *ui)
{
    if (tries_of(ui)->arena || job_runs(ui) || ui->menu.open || !is_followed(ui) ||
        !mem_has_settings(ui))
        return;
    TryJob *job = job_new(ui);
    job_follow(ui, "settings", try_work, followed, job, job->arena);
}

bool mem_settings_what_if(Ui *ui)
{
    if (!mem_has_settings(ui))
        return false;
    if (tries_of(ui)->arena) {
        open_menu(ui);
        return true;
    }
    TryJob *job = job_new(ui);
    JobWork all = {.title = "settings", .work = try_work, .done = asked, .context = job};
    if (!job_start(ui, &all))
        arena_free(job->arena);
    return true;
}

/* ---- choosing ---- */

static void settings_set(Ui *ui, const Totals *before, const char *what)
{
    Buf text = buf_new(ui->frame);
    pins_format_change(ui, before, &text);
    ui_say(ui, "%s%s", what, text.s);
}

/* Plans with what these lines set: "zero=1\nrecompute=full". */
static void choose(Ui *ui, const char *lines)
{
    Buf what = buf_new(ui->frame);
    for (const char *s = lines; *s; s++)
        buf_putc(&what, *s == '\n' ? ' ' : *s);
    job_change(ui, &(Change){.kind = CHANGE_SETTING, .text = lines}, settings_set, what.s);
}

static void chosen(Ui *ui, int value)
{
    choose(ui, tries_of(ui)->tried[value]);
}

/* What it sets, with `between` its settings. */
static const char *setting_text(Arena *arena, const EstimateChange *change, const char *between)
{
    return arena_printf(arena, "%s%s%s", change->setting[0], change->setting[1] ? between : "",
                        change->setting[1] ? change->setting[1] : "");
}

static const char *check_text(const EstimateChange *change)
{
    return change->failed   ? "no plan"
           : !change->legal ? "illegal"
           : !change->fits  ? "does not fit"
           : change->helps  ? "helps"
           : change->same   ? "as now"
                            : "fits";
}

static Str step_change(const Ui *ui, const EstimateChange *change)
{
    return whatif_us(ui, plan_step_us(ui_plan(ui)), change->step_us);
}

static Str peak_change(const Ui *ui, const EstimateChange *change)
{
    return whatif_bytes(ui, ui_plan(ui)->priced->totals.peak_bytes, change->peak_bytes);
}

static void add_item(Ui *ui, const EstimateChange *change, int place)
{
    Buf text = buf_new(ui->frame);
    buf_printf(&text, "%s%s", change->failed || !change->legal ? MARK : "",
               setting_text(ui->frame, change, " "));
    if (!change->failed) {
        buf_printf(&text, "\t%.*s\t%.*s", STR_ARG(label_us(ui, change->step_us)),
                   STR_ARG(step_change(ui, change)));
        buf_printf(&text, "\t%.*s\t%.*s", STR_ARG(label_bytes(ui, change->peak_bytes)),
                   STR_ARG(peak_change(ui, change)));
    }
    buf_printf(&text, "\t%s", check_text(change));
    tries_of(ui)->tried[place] = setting_text(tries_of(ui)->arena, change, "\n");
    menu_add(ui, 0, buf_str(&text), place);
    if (change->failed)
        menu_note(ui, str_from(change->failed));
}

static void open_menu(Ui *ui)
{
    const EstimateChanges *changes = &tries_of(ui)->changes;
    Buf title = buf_new(ui->frame);
    buf_printf(&title, "settings, each one planned: now %.*s a step, peak %.*s",
               STR_ARG(label_us(ui, plan_step_us(ui_plan(ui)))),
               STR_ARG(label_bytes(ui, ui_plan(ui)->priced->totals.peak_bytes)));
    menu_open(ui, title.s, chosen);
    menu_head(ui, "SETTING\t STEP\t \t PEAK\t \tWITH IT");
    for (int i = 0; i < changes->n && i < MENU_MAX; i++)
        add_item(ui, &changes->change[i], i);
}

/* ---- those that shorten the step, in a line ---- */

enum { MORE_W = 3 }; /* ", …" */

void mem_settings_shorter_draw(const Ui *ui, bool whole, Pen *pen)
{
    const EstimateChanges *changes = &tries_of(ui)->changes;
    Buf text = buf_new(ui->frame);
    if (!tries_of(ui)->arena)
        return;
    pen_puts(pen, ROLE_HEAD, " SHORTER WITH ");
    for (int i = 0; i < changes->n; i++) {
        size_t before = text.n;
        if (!changes->change[i].helps || changes->change[i].step_us >= plan_step_us(ui_plan(ui)))
            continue;
        buf_printf(&text, "%s%s %.*s", text.n > 0 ? ", " : "",
                   setting_text(ui->frame, &changes->change[i], " "),
                   STR_ARG(step_change(ui, &changes->change[i])));
        if (whole || before == 0 || text_columns(buf_str(&text)) <= pen->area.w - pen->x - MORE_W)
            continue;
        text.n = before; /* an item is there as a whole */
        buf_puts(&text, ", …");
        break;
    }
    Str said = text.n > 0 ? buf_str(&text) : STR("no other setting of the policy");
    Style style = text.n > 0 ? ROLE_TEXT : ROLE_DIM;
    if (whole)
        pen_put_folded(pen, style, said, pen->x);
    else
        pen_fit(pen, style, said, pen->area.w - pen->x);
    pen_line(pen);
}

/* ---- the view ---- */

/* Columns; 0: there is no room for it. */
typedef struct {
    int name, step, peak, check, bar;
} TryWidths;

static TryWidths widths_for(const Ui *ui, int w)
{
    const EstimateChanges *changes = &tries_of(ui)->changes;
    TryWidths widths = {.name = w - KEY_W - 2 * CHANGE_W};
    int wanted = 0;
    for (int i = 0; i < changes->n; i++) {
        int columns = (int)strlen(setting_text(ui->frame, &changes->change[i], " "));
        wanted = columns > wanted ? columns : wanted;
    }
    wanted = wanted < NAME_MOST ? wanted : NAME_MOST;
    int *const optional[] = {&widths.step, &widths.peak, &widths.check};
    static const int columns[] = {TOTAL_W, TOTAL_W, CHECK_W};
    for (size_t i = 0; i < sizeof optional / sizeof *optional; i++)
        if (widths.name - columns[i] > wanted) {
            *optional[i] = columns[i];
            widths.name -= columns[i];
        }
    if (widths.check && widths.name - wanted > BAR_LEAST) {
        widths.bar = widths.name - wanted - 1;
        widths.name = wanted + 1;
    }
    return widths;
}

static void draw_headings(const Ui *ui, const TryWidths *widths, Pen *pen)
{
    pen_fit(pen, ROLE_HEAD, STR("   SETTING"), widths->name + KEY_W);
    pen_right(pen, ROLE_HEAD, STR("STEP"), widths->step);
    pen_right(pen, ROLE_HEAD, widths->step ? STR("") : STR("STEP"), CHANGE_W);
    pen_right(pen, ROLE_HEAD, STR("PEAK"), widths->peak);
    pen_right(pen, ROLE_HEAD, widths->peak ? STR("") : STR("PEAK"), CHANGE_W);
    pen_fit(pen, ROLE_HEAD, STR("  WITH IT"), widths->check);
    if (widths->bar)
        pen_printf(pen, ROLE_HEAD, "PEAK OF %.*s",
                   STR_ARG(label_bytes(ui, plan_memory(ui_plan(ui)))));
    pen_line(pen);
}

static void draw_row(const Ui *ui, const EstimateChange *change, const TryWidths *widths, Pen *pen)
{
    Style style = change->failed || !change->legal || !change->fits ? ROLE_ERROR : ROLE_TEXT;
    pen_puts(pen, style, style == ROLE_ERROR ? " ! " : "   ");
    pen_fit(pen, style, str_from(setting_text(ui->frame, change, " ")), widths->name);
    if (!change->failed) {
        if (widths->step)
            pen_right(pen, ROLE_TEXT, label_us(ui, change->step_us), widths->step);
        pen_right(pen, ROLE_TEXT, step_change(ui, change), CHANGE_W);
        if (widths->peak)
            pen_right(pen, ROLE_TEXT, label_bytes(ui, change->peak_bytes), widths->peak);
        pen_right(pen, ROLE_TEXT, peak_change(ui, change), CHANGE_W);
    } else {
        pen_fit(pen, ROLE_ERROR, STR(""), widths->step + widths->peak + 2 * CHANGE_W);
    }
    pen_puts(pen, ROLE_TEXT, widths->check ? "  " : "");
    pen_fit(pen, change->helps ? ROLE_NOTE : ROLE_DIM, str_from(check_text(change)),
            widths->check ? widths->check - 2 : 0);
    double limit = (double)plan_memory(ui_plan(ui));
    if (widths->bar && limit > 0 && !change->failed)
        pen_bar(pen, ROLE_RAIL, fmin(1, (double)change->peak_bytes / limit), 1, widths->bar);
}

static const char *why_none(const Ui *ui)
{
    return !ui_graph(ui)->phase    ? "settings are tried for a training step (:train adds one)"
           : !mem_has_settings(ui) ? "the policy declares no setting that is tried here"
           : is_followed(ui)       ? "planning each setting of the policy .."
                                   : "x plans each setting of the policy";
}

static void draw(Ui *ui, Pen *pen)
{
    const Tries *tries = tries_of(ui);
    List *list = &ui->list[SHOW_TRY];
    if (!tries->arena) {
        pen_printf(pen, ROLE_NOTE, " %s", why_none(ui));
        list->wants = HEAD_ROWS;
        return;
    }
    TryWidths widths = widths_for(ui, pen->area.w);
    int n = tries->changes.n, cursor = (int)list_cursor(list, n);
    draw_headings(ui, &widths, pen);
    list->wants = n + HEAD_ROWS;
    list_show(list, cursor, n, pen->area.h - HEAD_ROWS);
    for (int i = (int)list->top; i < n && !pen_full(pen); i++) {
        draw_row(ui, &tries->changes.change[i], &widths, pen);
        rows_end(ui, SHOW_TRY, i == cursor, pen);
    }
}

static const EstimateChange *at_cursor(Ui *ui)
{
    const Tries *tries = tries_of(ui);
    return tries->arena && tries->changes.n > 0
               ? &tries->changes.change[list_cursor(&ui->list[SHOW_TRY], tries->changes.n)]
               : NULL;
}

static bool act(Ui *ui, ActId act)
{
    List *list = &ui->list[SHOW_TRY];
    const EstimateChange *change = at_cursor(ui);
    if (act == ACT_WHAT_IF)
        return mem_settings_what_if(ui);
    if (!change)
        return false;
    if (act == ACT_OPEN)
        choose(ui, setting_text(ui->frame, change, "\n"));
    else if (!list_move(&list->at, tries_of(ui)->changes.n, list->height, act))
        return false;
    return true;
}

static void note(Ui *ui, Buf *out)
{
    const EstimateChange *change = at_cursor(ui);
    if (!change)
        return;
    buf_printf(out, " %s: ", setting_text(ui->frame, change, " "));
    if (change->failed)
        buf_puts(out, change->failed);
    else
        buf_printf(out, "step %.*s, peak %.*s, %s", STR_ARG(label_us(ui, change->step_us)),
                   STR_ARG(label_bytes(ui, change->peak_bytes)), check_text(change));
}

static void go(Ui *ui, int64_t row)
{
    ui->list[SHOW_TRY].at = row;
}

static void table(Ui *ui, Sheet *out)
{
    const Tries *tries = tries_of(ui);
    sheet_head(out, "setting step_us# peak_bytes# with_it");
    for (int i = 0; tries->arena && i < tries->changes.n; i++) {
        const EstimateChange *change = &tries->changes.change[i];
        sheet_put(out, str_from(setting_text(out->arena, change, " ")));
        sheet_number(out, change->step_us);
        sheet_number(out, (double)change->peak_bytes);
        sheet_put(out, str_from(check_text(change)));
    }
}

static const Hint hints[] = {
    {ACT_DOWN, "setting"}, {ACT_OPEN, "plan with it"}, {ACT_WHAT_IF, "menu"},
    {ACT_UNDO, "undo"},    {ACT_NEXT_PANE, "pane"},    {ACT_BACK, "back"},
    {ACT_HELP, "help"},    {ACT_CLOSE, "close"},       {0},
};

static void forget(Ui *ui)
{
    arena_free(tries_of(ui)->arena);
    *tries_of(ui) = (Tries){0};
}

const View view_try = {
    .name = "What-if",
    .draw = draw,
    .act = act,
    .note = note,
    .go = go,
    .list_at = HEAD_ROWS,
    .hints = hints,
    .table = table,
    .own_size = sizeof(Tries),
    .forget = forget,
};
