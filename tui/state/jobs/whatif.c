#include "tui/state/jobs/whatif.h"
#include "tui/state/comm_table.h"

#include "tui/state/menu.h"
#include "tui/state/pins.h"
#include "core/summary/label.h"
#include "tui/state/format.h"

#include <math.h>
#include <stdio.h>

enum { ALIKE_MAX = 2000 }; /* more reshards in a row than that are not decided together */

/* Options of the selected reshard. */
typedef struct {
    Arena *arena; /* NULL if none are listed */
    PlanOptions options;
    int32_t reshard;
    int n_changes; /* of the plan, when they were listed */
    bool tried;
} Followed;

typedef struct WhatIf {
    WhatIfAsk ask; /* whose menu is open, or was; its arena is ours */
    int n_changes; /* of the plan, when it was opened */
    Followed follow;
} WhatIf;

static WhatIf *state_of(Ui *ui)
{
    if (!ui->whatif)
        ui->whatif = arena_make(ui->arena, WhatIf);
    return ui->whatif;
}

/* ---- texts ---- */

static const char minus[] = "−";

Str whatif_us(const Ui *ui, double now, double then)
{
    double by = then - now;

    if (fabs(by) < 0.05)
        return STR("0");
    return str_from(
        arena_printf(ui->frame, "%s%.*s", by < 0 ? minus : "+", STR_ARG(label_us(ui, fabs(by)))));
}

Str whatif_bytes(const Ui *ui, int64_t now, int64_t then)
{
    int64_t by = then - now;

    if (by == 0)
        return STR("0");
    return str_from(arena_printf(ui->frame, "%s%.*s", by < 0 ? minus : "+",
                                 STR_ARG(label_bytes(ui, by < 0 ? -by : by))));
}

const char *whatif_check(const Trial *trial)
{
    if (!trial->done)
        return "not tried";
    if (!trial->legal)
        return "illegal";
    return trial->same ? "as now" : trial->n_new > 0 ? "warned" : "legal";
}

/* ---- choosing ---- */

static void chosen(Ui *ui, int value)
{
    const WhatIf *state = ui->whatif;
    const PlanOption *option = &state->ask.options.list.at[value];

    if (state->n_changes != ui->changes.n) {
        ui_fail(ui, "the plan has changed in the meantime: press x again");
        return;
    }
    pins_apply(ui, option->decisions, option->n,
               arena_printf(ui->frame, "%s%s", state->ask.verb, option->text.str.s));
}

/* The axis's first letter where only it has it; 'w' for whole; else the digit of its place. */
static char key_of(const Mesh *mesh, const PlanOption *option)
{
    const TextSpan *axis = text_find(option->text, SPAN_AXIS);

    if (option->whole)
        return 'w';
    return axis && axis->n == option->text.str.n ? menu_axis_key(mesh, axis->value, "jkqw") : 0;
}

static void add_note(Ui *ui, const PlanOption *option)
{
    Buf note = buf_new(ui->frame);

    if (option->trial.reason[0])
        buf_printf(&note, "%s%s", option->trial.legal ? "" : "illegal: ", option->trial.reason);
    else
        buf_puts(&note, option->decisions[0].origin.text);
    if (!option->trial.reason[0] && option->n > 1)
        buf_printf(&note, "  and %d more", option->n - 1);
    menu_note(ui, buf_str(&note));
}

static void add_item(Ui *ui, const PlanOption *option, int place)
{
    const Totals *now = &ui->whatif->ask.options.now, *then = &option->trial.totals;
    const char *mark = !option->trial.done       ? ""
                       : !option->trial.legal    ? "! "
                       : option->trial.n_new > 0 ? "i "
                                                 : "";
    bool refused = option->trial.done && !option->trial.legal && then->step_us == now->step_us &&
                   then->peak_bytes == now->peak_bytes;
    Buf text = buf_marked(ui->frame);

    buf_puts(&text, mark);
    buf_add_text(&text, option->text);
    if (refused) { /* it changes nothing, so there is no price */
        buf_printf(&text, "\t-\t-\t-\t-\t%s", whatif_check(&option->trial));
    } else if (option->trial.done && !option->trial.same && then->step_us > 0) {
        buf_printf(&text, "\t%.*s", STR_ARG(whatif_us(ui, now->step_us, then->step_us)));
        buf_printf(&text, "\t%.*s", STR_ARG(whatif_us(ui, now->comm_us, then->comm_us)));
        buf_printf(&text, "\t%.*s", STR_ARG(whatif_bytes(ui, now->peak_bytes, then->peak_bytes)));
        buf_printf(&text, "\t%.*s", STR_ARG(whatif_bytes(ui, now->comm_bytes, then->comm_bytes)));
        buf_printf(&text, "\t%s", whatif_check(&option->trial));
    } else {
        buf_printf(&text, "\t%s", whatif_check(&option->trial));
    }
    menu_add_text(ui, key_of(ui->session->mesh, option), buf_text(&text), place);
    add_note(ui, option);
}

/* What was tried and helps, the least first; and what was not tried. */
static void keep_lower_peaks(PlanOptions *options)
{
    int n = 0;

    options_sort_by_peak(options);
    for (int i = 0; i < options->list.n; i++) {
        const Trial *trial = &options->list.at[i].trial;
        if (!trial->done || trial->totals.peak_bytes < options->now.peak_bytes)
            options->list.at[n++] = options->list.at[i];
    }
    options->list.n = n;
}

static void open_menu(Ui *ui)
{
    WhatIf *state = ui->whatif;
    PlanOptions *options = &state->ask.options;

    if (state->ask.by_gain)
        options_sort(options);
    if (state->ask.by_peak)
        keep_lower_peaks(options);
    state->n_changes = ui->changes.n;
    if (options->list.n == 0) {
        ui_say(ui, state->ask.by_peak ? "no other sharding of these values lowers the peak"
                                      : "there is no other decision to try here");
        return;
    }
    menu_open(ui, state->ask.title, chosen);
    menu_head(ui, "DECIDE\t STEP\t COMM\t PEAK\t WIRE\tPLAN");
    ui->menu.moved = state->ask.moved;
    for (int i = 0; i < options->list.n; i++)
        add_item(ui, &options->list.at[i], i);
}

/* ---- trying ---- */

typedef struct {
    WhatIfAsk ask; /* the job's own until it is done */
    const Session *session;
    bool follows;
} TryJob;

static bool try_work(void *context, Progress *progress, Error *err)
{
    TryJob *job = context;

    return options_try(job->ask.arena, job->session, &job->ask.options, progress, err);
}

static void take_ask(Ui *ui, const WhatIfAsk *ask)
{
    WhatIf *state = state_of(ui);

    if (state->ask.arena != ask->arena)
        arena_free(state->ask.arena);
    state->ask = *ask;
}

static void try_done(Ui *ui, void *context, bool ok, const Error *err)
{
    TryJob *job = context;
    WhatIf *state = state_of(ui);

    (void)err;
    if (job->follows) {
        options_sort(&job->ask.options);
        state->follow.options = job->ask.options;
        state->follow.tried = ok;
        if (!ok) /* another job ended it: they are tried again when that is done */
            state->follow.n_changes = -1;
        return;
    }
    take_ask(ui, &job->ask);
    if (!ok)
        ui_say(ui, "stopped: untried choices are marked \"not tried\"");
    open_menu(ui);
}

static bool start_trying(Ui *ui, const WhatIfAsk *ask, bool follows)
{
    TryJob *job = arena_make(ask->arena, TryJob);

    *job = (TryJob){*ask, ui->session, follows};
    return job_start(ui, &(JobWork){.title = "options",
                                    .work = try_work,
                                    .done = try_done,
                                    .context = job,
                                    .yields = follows});
}

static bool all_tried(const PlanOptions *options)
{
    for (int i = 0; i < options->list.n; i++)
        if (!options->list.at[i].trial.done)
            return false;
    return true;
}

void whatif_ask(Ui *ui, const WhatIfAsk *ask)
{
    if (!ask->priced || all_tried(&ask->options)) {
        take_ask(ui, ask);
        open_menu(ui);
    } else if (!start_trying(ui, ask, false)) {
        arena_free(ask->arena);
    }
}

/* ---- the selected reshard ---- */

/* The reshards of the selected row; 0: there are none. */
static int selected(const Ui *ui, int32_t *reshards)
{
    const Comm *comm = ui->comm;
    int n = 0;

    if (comm->n_rows <= 0 || ui->at.reshard >= comm->n_rows)
        return 0;
    const CommRow *row = &comm->row[ui->at.reshard];
    for (int32_t r = row->first; r >= 0 && n < ALIKE_MAX; r = comm->next_alike[r])
        reshards[n++] = r;
    return row->n > ALIKE_MAX ? 1 : n;
}

enum { TITLE_NAME_COLUMNS = 40 };

static WhatIfAsk ask_of_selected(Ui *ui)
{
    WhatIfAsk ask = {.arena = arena_new(), .by_gain = true, .priced = true, .verb = ""};
    int32_t *reshards = arena_array(ask.arena, int32_t, ALIKE_MAX);
    int n = selected(ui, reshards);

    ask.options = options_for_reshard(ask.arena, ui->session, reshards, n);
    if (n > 0) {
        const Reshard *first = &ui_plan(ui)->moved->reshards[reshards[0]];
        Str name = label_tensor(ui->session, ui->frame, first->tensor);
        Buf brief = buf_new(ui->frame);
        text_put_name(name, TITLE_NAME_COLUMNS, &brief);
        snprintf(ask.title, sizeof ask.title, "instead of moving %s ×%d", brief.s, n);
    }
    return ask;
}

static bool is_followed(const Ui *ui)
{
    const WhatIf *state = ui->whatif;
    const Comm *comm = ui->comm;

    return state && state->follow.arena && state->follow.n_changes == ui->changes.n &&
           comm->n_rows > 0 && ui->at.reshard < comm->n_rows &&
           state->follow.reshard == comm->row[ui->at.reshard].first;
}

const PlanOptions *whatif_known(const Ui *ui)
{
    return is_followed(ui) ? &ui->whatif->follow.options : NULL;
}

void whatif_reshard(Ui *ui)
{
    comm_arranged(ui);
    WhatIfAsk ask = ask_of_selected(ui);
    if (is_followed(ui) && ui->whatif->follow.tried)
        for (int i = 0; i < ask.options.list.n; i++)
            for (int f = 0; f < ui->whatif->follow.options.list.n; f++) {
                const PlanOption *known = &ui->whatif->follow.options.list.at[f];
                if (!str_eq(known->text.str, ask.options.list.at[i].text.str))
                    continue;
                ask.options.list.at[i].trial = known->trial;
                ask.options.list.at[i].trial.reason =
                    arena_str(ask.arena, str_from(known->trial.reason));
            }
    whatif_ask(ui, &ask);
}

void whatif_follow(Ui *ui)
{
    WhatIf *state = state_of(ui);

    comm_arranged(ui);
    if (is_followed(ui) || job_runs(ui) || ui->menu.open || ui->comm->n_rows <= 0 ||
        ui->at.reshard >= ui->comm->n_rows || ui->session->inferred->n_program > QUICK_OPS_MAX)
        return;
    arena_free(state->follow.arena);
    state->follow = (Followed){.n_changes = ui->changes.n};
    state->follow.reshard = ui->comm->row[ui->at.reshard].first;
    WhatIfAsk ask = ask_of_selected(ui);
    state->follow.arena = ask.arena;
    PlanOption *shown = arena_array(ask.arena, PlanOption, ask.options.list.n);
    for (int i = 0; i < ask.options.list.n; i++)
        shown[i] = ask.options.list.at[i];
    state->follow.options = ask.options;
    state->follow.options.list.at = shown; /* the job writes into its own */
    start_trying(ui, &ask, true);
}

void whatif_free(Ui *ui)
{
    if (!ui->whatif)
        return;
    arena_free(ui->whatif->ask.arena);
    arena_free(ui->whatif->follow.arena);
}
