/* view_check.c - what a run came to: against one device, by rank, by kind of operator. */
#include "core/cost/memory.h"
#include "core/run/block_sums.h"
#include "core/summary/label.h"
#include "tui/screen/folded.h"
#include "tui/state/format.h"
#include "tui/views/run_state.h"
#include "tui/views/step/run_steps.h"

#include <inttypes.h>

#include <stdlib.h>

enum {
    SLOW_PERCENT = 5,
    STEPS_SHARE = 2,
    FOLDED_LEAST_H = 18, /* lines from which on every sentence takes as many as it needs */
    BESIDE_BLOCKS = 8    /* lines for steps and values, else they are brief */
};

/* ---- the verdict ---- */

static void put_verdict(const Ui *ui, const RunState *run, Buf *out)
{
    const RunReport *report = &run->report;

    if (!run->verified)
        buf_puts(out, "not checked: :run verify compares every value with one device");
    else
        run_put_verdict(ui->session, report, out);
    buf_printf(out, "\n%d pass%s timed on the %s, seed %" PRIu64, report->n_timed,
               report->n_timed == 1 ? "" : "es", report->backend, run->seed);
    if (report->strange >= 0)
        buf_printf(out, "; %" PRId64 " elements of %.*s are not finite", report->n_strange,
                   STR_ARG(label_tensor(ui->session, ui->frame, report->strange)));
    if (report->n_drawn > 0)
        buf_printf(out, "; %d weights are not in the model and are random", report->n_drawn);
    if (report->n_copied_ops > 0) {
        buf_puts(out, "\n");
        run_put_copied(report, out);
    }
    if (report->instead)
        buf_printf(out, "\non the host, because %s", report->instead);
}

static void draw_lines(Style style, Str text, Pen *pen)
{
    while (text.n > 0) {
        pen_rune(pen, ROLE_TEXT, ' ');
        if (style == ROLE_ERROR || pen->area.h >= FOLDED_LEAST_H)
            pen_put_folded(pen, style, str_take(&text, '\n'), 1);
        else
            pen_fit(pen, style, str_take(&text, '\n'), pen->area.w - 2);
        pen_line(pen);
        style = ROLE_TEXT;
    }
}

static void draw_no_run(const Ui *ui, const RunState *run, Pen *pen)
{
    const Error *failed = &run->failed;
    int64_t n = ui->session->mesh->n_devices;
    Buf text = buf_new(ui->frame);

    if (error_is_set(failed)) {
        buf_printf(&text, "%s%s\n%s",
                   failed->kind == ERROR_CANCELLED ? "" : "this plan cannot run: ", failed->text,
                   failed->hint);
        draw_lines(ROLE_ERROR, buf_str(&text), pen);
        return;
    }
    if (n > RUN_RANKS_MAX)
        buf_printf(&text,
                   "this plan cannot run here: the mesh has %" PRId64
                   " devices, one host runs at most %d\n",
                   n, RUN_RANKS_MAX);
    else
        buf_printf(&text,
                   "%s\n:run executes the plan on %" PRId64
                   " thread%s and compares every value with one device\n",
                   run->dropped ? "not run since the plan changed" : "not run yet", n,
                   n == 1 ? "" : "s");
    buf_puts(&text, ":run fast repeat 10   only measures time; :trace FILE writes it for Perfetto");
    draw_lines(ROLE_NOTE, buf_str(&text), pen);
}

/* ---- ranks ---- */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median_compute(const Ui *ui, const Trace *trace)
{
    double *all = arena_array(ui->frame, double, trace->n_ranks);

    for (int r = 0; r < trace->n_ranks; r++)
        all[r] = trace_totals(trace, r).compute_us;
    qsort(all, (size_t)trace->n_ranks, sizeof *all, compare_doubles);
    return all[trace->n_ranks / 2];
}

/* Peaks beside what the plan says of each rank, where there is room. */
static void draw_ranks(const Ui *ui, const RunReport *report, int h, Pen *pen)
{
    const Trace *trace = report->trace;
    double median = median_compute(ui, trace);
    bool peaks = pen->area.w >= 74, ends = pen->area.w > 48;
    MemoryAccount *account = peaks ? memory_account_new(ui_plan(ui)) : NULL;

    pen_printf(pen, ROLE_HEAD, " DEVICE %10s%10s%10s", "COMPUTE", "COMM", "WAIT");
    if (ends)
        pen_printf(pen, ROLE_HEAD, "%10s", "END");
    if (peaks)
        pen_printf(pen, ROLE_HEAD, "%12s%12s", "PEAK", "PREDICTED");
    if (pen->area.w >= 104)
        pen_printf(pen, ROLE_DIM, "  ! above the median by %d%%", SLOW_PERCENT);
    pen_line(pen);
    for (int r = 0; r < trace->n_ranks && pen->y < h; r++) {
        TraceTotals totals = trace_totals(trace, r);
        bool slow = totals.compute_us > median * (1 + SLOW_PERCENT / 100.0);
        pen_printf(pen, slow ? ROLE_ERROR : ROLE_TEXT, "%sd%-6" PRId64, slow ? "!" : " ",
                   mesh_device(ui->session->mesh, r));
        pen_right(pen, ROLE_TEXT, label_us(ui, totals.compute_us), 10);
        pen_right(pen, ROLE_TEXT, label_us(ui, totals.comm_us), 10);
        pen_right(pen, ROLE_TEXT, label_us(ui, totals.wait_us), 10);
        if (ends)
            pen_right(pen, ROLE_TEXT, label_us(ui, totals.end_us), 10);
        if (peaks) {
            int64_t predicted = memory_use_of(ui->frame, account, r).peak_bytes;
            pen_right(pen, ROLE_TEXT, label_bytes(ui, report->rank_peak_bytes[r]), 12);
            pen_right(pen, ROLE_DIM, label_bytes(ui, predicted), 12);
        }
        pen_line(pen);
    }
    memory_account_free(account);
}

/* ---- blocks ---- */

static const char *block_name(const Ui *ui, const RunBlockSum *sum, bool stages)
{
    static const char *const passes[N_RUN_PASSES] = {"forward", "backward", "input gradients",
                                                     "weight gradients", "update"};

    return stages ? arena_printf(ui->frame, "%s, stage %d", passes[sum->pass], sum->stage)
                  : passes[sum->pass];
}

/* What a stage does of a micro-batch, predicted beside measured: the mean over micro-batches. */
static void draw_blocks(const Ui *ui, const RunBlockSums *sums, Pen *pen)
{
    enum { NAME_W = 25, NAME_LEAST = 15, TIMES_W = 6, US_W = 11, RATIO_W = 8 };
    int left = pen->area.w - 1 - 2 * US_W - RATIO_W - NAME_LEAST;
    int times = left >= TIMES_W ? TIMES_W : 0, waits = left - times >= US_W ? US_W : 0;
    int name = NAME_LEAST + left - times - waits;

    name = name < NAME_W ? name : NAME_W;
    pen_fit(pen, ROLE_HEAD, STR(" BLOCK"), name + 1);
    pen_right(pen, ROLE_HEAD, STR("×"), times);
    pen_right(pen, ROLE_HEAD, STR("PREDICTED"), US_W);
    pen_right(pen, ROLE_HEAD, STR("MEASURED"), US_W);
    pen_right(pen, ROLE_HEAD, STR("CHANGE"), RATIO_W);
    pen_right(pen, ROLE_HEAD, STR("WAITS"), waits);
    pen_line(pen);
    for (int i = 0; i < sums->n && !pen_full(pen); i++) {
        const RunBlockSum *sum = &sums->at[i];
        pen_rune(pen, ROLE_TEXT, ' ');
        pen_fit(pen, ROLE_TEXT, str_from(block_name(ui, sum, sums->n_stages > 1)), name);
        pen_right(pen, ROLE_TEXT, str_from(arena_printf(ui->frame, "%d", sum->n)), times);
        pen_right(pen, ROLE_TEXT, label_us(ui, sum->predicted_us), US_W);
        pen_right(pen, ROLE_TEXT, label_us(ui, sum->us), US_W);
        pen_right(pen, ROLE_TEXT, run_ratio_text(ui, sum->predicted_us, sum->us), RATIO_W);
        pen_right(pen, ROLE_DIM, label_us(ui, sum->wait_us), waits);
        pen_line(pen);
    }
}

/* ---- kinds ---- */

/* Whether the kind has a measured time: of a job only collectives are known. */
static bool is_measured(const RunState *run, const TimeKind *kind)
{
    return run->arena && (!run->actual || kind->measured_us > 0);
}

enum { KINDS_W = 45, MEASURED_W = 18, BAR_LEAST = 8 };

static void put_share(const Ui *ui, double us, double of, int columns, Pen *pen)
{
    const char *text = arena_printf(ui->frame, "%.1f%%", of > 0 ? 100 * us / of : 0);
    pen_right(pen, ROLE_DIM, str_from(text), columns);
}

static void draw_kinds(const Ui *ui, const RunState *run, Pen *pen)
{
    const Timeline *line = run->timeline;
    double step = line->us, took = run->report.median_us;
    int name = pen->area.w >= KINDS_W + MEASURED_W + 8 ? 24 : 18;
    int share = !run->arena || pen->area.w >= KINDS_W + MEASURED_W ? 7 : 0, ops = share ? 8 : 5;
    int bar = pen->area.w - (run->arena ? KINDS_W + MEASURED_W : KINDS_W) - (name - 18) - 3;

    pen_printf(pen, ROLE_HEAD, " %-*s%*s%11s%*s", name, "KIND", ops, "OPS", "PREDICTED", share,
               share ? "SHARE" : "");
    if (run->arena)
        pen_printf(pen, ROLE_HEAD, "%11s%*s", "MEASURED", share, share ? "SHARE" : "");
    pen_line(pen);
    for (int k = 0; k < line->n_kinds && pen->y < pen->area.h; k++) {
        const TimeKind *kind = &line->kind[k];
        if (kind->us <= 0 && kind->measured_us <= 0)
            continue;
        pen_rune(pen, ROLE_TEXT, ' ');
        pen_fit(pen, ROLE_TEXT, str_from(kind->name), name);
        pen_printf(pen, ROLE_TEXT, "%*d", ops, kind->n);
        pen_right(pen, ROLE_TEXT, label_us(ui, kind->us), 11);
        put_share(ui, kind->us, step, share, pen);
        if (is_measured(run, kind)) {
            pen_right(pen, ROLE_TEXT, label_us(ui, kind->measured_us), 11);
            put_share(ui, kind->measured_us, took, share, pen);
        }
        if (bar >= BAR_LEAST) {
            pen_to(pen, pen->area.w - bar - 1, pen->y);
            pen_bar(pen, k == KIND_RESHARD ? ROLE_DEAR : ROLE_RAIL, kind->us, step, bar);
        }
        pen_line(pen);
    }
}

/* What a run found: its verdict, steps, blocks; a small pane has all of them in fewer lines. */
static void draw_checked(const Ui *ui, const RunState *run, Pen *pen)
{
    enum { VERDICT_LINES = 3, FEWER = 2 };
    RunBlockSums sums = run_block_sums(ui->frame, &run->report);
    bool brief = run->report.n_steps > 0 && pen->area.h < VERDICT_LINES + sums.n + BESIDE_BLOCKS;
    Style style = run->verified && !run->report.ok ? ROLE_ERROR : ROLE_HEAD;
    Buf text = buf_new(ui->frame);

    put_verdict(ui, run, &text);
    Str rest = buf_str(&text);
    for (int i = 0; rest.n > 0 && (!brief || i < FEWER); i++, style = ROLE_TEXT)
        draw_lines(style, str_take(&rest, '\n'), pen);
    if (run->verified && brief)
        run_steps_draw_brief(ui, &run->report, pen);
    else if (run->verified)
        run_steps_draw(ui, &run->report, (pen->area.h - pen->y) / STEPS_SHARE, pen);
    if (sums.n > 0 && pen->area.h - pen->y > sums.n)
        draw_blocks(ui, &sums, pen);
}

static void draw(Ui *ui, Pen *pen)
{
    const RunState *run = run_state(ui);

    if (run->arena && run->actual) {
        Buf lines = buf_new(ui->frame);
        actual_format(run->actual, &lines);
        draw_lines(ROLE_TEXT, buf_str(&lines), pen);
    } else if (!run->arena) {
        draw_no_run(ui, run, pen);
    } else {
        draw_checked(ui, run, pen);
        if (run->report.trace && pen->area.h - pen->y > 3)
            draw_ranks(ui, &run->report, pen->y + (pen->area.h - pen->y) / 2, pen);
    }
    if (pen->area.h - pen->y > 1)
        draw_kinds(ui, run, pen);
}

static bool act(Ui *ui, ActId act)
{
    return view_run.act(ui, act);
}

static void note(Ui *ui, Buf *out)
{
    view_run.note(ui, out);
}

static void table(Ui *ui, Sheet *out)
{
    const RunState *run = run_state(ui);

    sheet_head(out, "kind ops# predicted_us#");
    if (run->arena)
        sheet_column(out, "measured_us", true);
    for (int k = 0; k < run->timeline->n_kinds; k++) {
        const TimeKind *kind = &run->timeline->kind[k];
        sheet_put(out, str_from(kind->name));
        sheet_number(out, kind->n);
        sheet_number(out, kind->us);
        if (run->arena)
            sheet_number(out, kind->measured_us);
    }
}

static void go(Ui *ui, int64_t row)
{
    view_run.go(ui, row);
}

static const Hint hints[] = {
    {ACT_WHY, "why it differs"}, {ACT_RUN, "run"},   {ACT_TRACE, "Perfetto"}, {ACT_CANCEL, "stop"},
    {ACT_NEXT_PANE, "pane"},     {ACT_HELP, "help"}, {ACT_CLOSE, "close"},    {0},
};

const View view_check = {
    .name = "Check",
    .draw = draw,
    .act = act,
    .note = note,
    .go = go,
    .list_at = -1,
    .hints = hints,
    .table = table,
};
