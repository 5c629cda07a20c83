/* view_run.c - the plan along time: one letter a kind of operator, the ranks of a run below it, and
 * predicted against measured times by op. */
#include "core/plan/stage.h"
#include "core/cost/pipeline.h"
#include "core/cost/step_comm.h"
#include "tui/views/label.h"
#include "tui/views/step/loss_curve.h"
#include "tui/views/run_state.h"
#include "tui/views/rows.h"

#include <inttypes.h>
#include <math.h>

enum {
    LABEL = 8,
    RANKS_SHOWN = 8,
    TABLE_LEAST = 3,
    STRIP_LEAST_H = 9,
    CURVE_MOST_H = 8,
    MEASURED_WANTS = 7
};

/* ---- the window ---- */

/* One member of the fold that the selected op is in; the whole step where it is short or in none.
 */
static void choose_window(Ui *ui, RunState *run, int w)
{
    const Timeline *line = run->timeline;
    const Groups *groups = ui->session->groups;
    int32_t op = line->n > 0 ? line->span[run->span].op : -1;
    int32_t group = op >= 0 ? groups->group_of[op] : -1, fold = -1;

    for (; group > 0; group = groups->groups[group].parent)
        if (groups->groups[groups->groups[group].fold].fold_n > 1)
            fold = group;
    run->from_us = 0;
    run->len_us = line->us > 0 ? line->us : 1;
    if (fold < 0 || line->n < 2 * w)
        return;
    int first = run->span, last = first;
    const Group *of = &groups->groups[fold];
    for (int32_t i = of->first; i < of->first + of->n; i++) {
        int at = timeline_of_op(line, groups->order[i]);
        first = at < first ? at : first;
        last = at > last ? at : last;
    }
    run->from_us = line->span[first].start_us;
    run->len_us = line->span[last].start_us + line->span[last].us - run->from_us;
}

/* Holds the window inside the step, and the cursor inside the window. */
static void hold_window(RunState *run)
{
    const Timeline *line = run->timeline;
    double at = line->n > 0 ? line->span[run->span].start_us : 0;

    if (at < run->from_us || at >= run->from_us + run->len_us)
        run->from_us = at - run->len_us / 2;
    if (run->from_us + run->len_us > line->us)
        run->from_us = line->us - run->len_us;
    if (run->from_us < 0)
        run->from_us = 0;
}

static void zoom(RunState *run, double factor)
{
    const TimeSpan *span = &run->timeline->span[run->span];
    double middle = span->start_us + span->us / 2, len = run->len_us * factor;

    if (len > run->timeline->us)
        len = run->timeline->us;
    if (len < 1e-3 || run->timeline->us <= 0)
        return;
    run->from_us = middle - len / 2;
    run->len_us = len;
}

/* ---- strips ---- */

/* Adds a span to the shares that kinds have of w columns. */
static void share(double *shares, int n_kinds, int w, double from, double len, double start,
                  double us, int kind)
{
    double a = (start - from) / len * w, b = (start + us - from) / len * w;

    for (int x = a > 0 ? (int)a : 0; x < w && x < b; x++) {
        double left = a > x ? a : x, right = b < x + 1 ? b : x + 1;
        if (right > left)
            shares[x * n_kinds + kind] += right - left;
    }
}

/* In each column the kind that has most of it; the last kind is waiting. */
static void put_shares(const Timeline *line, const double *shares, int w, Pen *pen)
{
    int n = line->n_kinds + 1;

    for (int x = 0; x < w; x++) {
        int most = -1;
        for (int k = 0; k < n; k++)
            if (shares[x * n + k] > 0 && (most < 0 || shares[x * n + k] > shares[x * n + most]))
                most = k;
        if (most < 0)
            pen_rune(pen, ROLE_TEXT, ' ');
        else if (most == KIND_RESHARD)
            pen_rune(pen, ROLE_DEAR, 0x2592); /* ▒ */
        else if (most == line->n_kinds)
            pen_rune(pen, ROLE_DIM, '.');
        else
            pen_rune(pen, ROLE_TEXT, (uint32_t)line->kind[most].letter);
    }
}

/* part: -1 for all of them */
static void draw_strip(const Ui *ui, const Timeline *line, int part, double from, double len, int w,
                       Pen *pen)
{
    int n = line->n_kinds + 1;
    double *shares = arena_array(ui->frame, double, (int64_t)w *n);

    for (int i = timeline_at(line, from); i < line->n && line->span[i].start_us < from + len; i++)
        if (part < 0 || line->span[i].part == part)
            share(shares, n, w, from, len, line->span[i].start_us, line->span[i].us,
                  line->span[i].kind);
    put_shares(line, shares, w, pen);
}

/* ---- a run's ranks ---- */

/* The span of the timeline that a piece of the trace is of. */
static int32_t *spans_of_trace(const Ui *ui, const Timeline *line, const Trace *trace)
{
    int32_t *of_op = arena_array(ui->frame, int32_t, ui_graph(ui)->n_ops);
    int32_t *of_reshard = arena_array(ui->frame, int32_t, ui_plan(ui)->moved->n_reshards);
    int32_t *out = arena_array(ui->frame, int32_t, trace->n);

    for (int i = 0; i < line->n; i++)
        *(line->span[i].op >= 0 ? &of_op[line->span[i].op] : &of_reshard[line->span[i].reshard]) =
            i;
    for (int i = 0; i < trace->n; i++)
        out[i] =
            trace->work[i].op >= 0 ? of_op[trace->work[i].op] : of_reshard[trace->work[i].reshard];
    return out;
}

typedef struct {
    int first, last; /* of the trace: what is in the window */
    double from_us, to_us;
    const int32_t *span;
} TraceWindow;

static TraceWindow window_of_trace(const Ui *ui, const RunState *run, const Trace *trace)
{
    const Timeline *line = run->timeline;
    TraceWindow out = {-1, -1, INFINITY, 0, spans_of_trace(ui, line, trace)};

    for (int i = 0; i < trace->n; i++) {
        const TimeSpan *span = &line->span[out.span[i]];
        if (span->start_us + span->us < run->from_us ||
            span->start_us >= run->from_us + run->len_us)
            continue;
        out.first = out.first < 0 ? i : out.first;
        out.last = i;
    }
    for (int r = 0; out.first >= 0 && r < trace->n_ranks; r++) {
        out.from_us = fmin(out.from_us, trace_span(trace, r, out.first)->start_us);
        out.to_us = fmax(out.to_us, trace_span(trace, r, out.last)->end_us);
    }
    return out;
}

static void draw_rank(const Ui *ui, const Timeline *line, const Trace *trace,
                      const TraceWindow *window, int rank, int w, Pen *pen)
{
    int n = line->n_kinds + 1;
    double *shares = arena_array(ui->frame, double, (int64_t)w *n);
    double len = window->to_us - window->from_us;

    for (int i = window->first; i <= window->last; i++) {
        const TraceSpan *span = trace_span(trace, rank, i);
        double us = span->end_us - span->start_us - span->wait_us;
        share(shares, n, w, window->from_us, len, span->start_us, span->wait_us, line->n_kinds);
        share(shares, n, w, window->from_us, len, span->start_us + span->wait_us, us,
              line->span[window->span[i]].kind);
    }
    put_shares(line, shares, w, pen);
}

static int shown_ranks(const RunState *run, int room)
{
    int n = run->arena && run->report.trace ? run->report.trace->n_ranks : 0;

    n = n < RANKS_SHOWN ? n : RANKS_SHOWN;
    return n < room ? n : room;
}

static void draw_ranks(const Ui *ui, const RunState *run, int n, Pen *pen)
{
    const Trace *trace = run->report.trace;
    int w = pen->area.w - LABEL - 1;
    TraceWindow window = window_of_trace(ui, run, trace);

    if (window.first < 0 || window.to_us <= window.from_us)
        return;
    for (int r = 0; r < n; r++) {
        pen_printf(pen, ROLE_HEAD, " d%-*" PRId64, LABEL - 2, mesh_device(ui->session->mesh, r));
        draw_rank(ui, run->timeline, trace, &window, r, w, pen);
        pen_line(pen);
    }
    if (n < trace->n_ranks) {
        pen_printf(pen, ROLE_DIM, " and %d ranks more; ", trace->n_ranks - n);
    } else {
        pen_puts(pen, ROLE_DIM, " ");
    }
    pen_printf(pen, ROLE_DIM, "measured: the same ops from %.*s to %.*s of the last pass",
               STR_ARG(label_us(ui, window.from_us)), STR_ARG(label_us(ui, window.to_us)));
    pen_line(pen);
}

/* All of the text, or nothing where it does not fit. */
static void put_whole(const char *text, Style style, Pen *pen)
{
    if (text_columns(str_from(text)) <= pen->area.w - pen->x)
        pen_puts(pen, style, text);
}

/* ---- the whole ---- */

static void draw_head(const Ui *ui, const RunState *run, Pen *pen)
{
    const Totals *totals = &ui_plan(ui)->priced->totals;

    bool measured = run->arena && !run->actual;
    bool part = !measured && ui_graph(ui)->phase && plan_micro_batches(ui_plan(ui)) > 1;
    pen_puts(pen, ROLE_TEXT, " predicted ");
    pen_put(pen, ROLE_HEAD, label_us(ui, measured ? run->report.predicted_us : totals->step_us));
    pen_puts(pen, ROLE_TEXT, part ? " a micro-batch" : "");
    if (run->arena && run->actual) {
        pen_puts(pen, ROLE_TEXT, ", a job's collectives ");
        pen_put(pen, ROLE_HEAD, label_us(ui, run->report.median_us));
        pen_printf(pen, ROLE_TEXT, ", %d missing, %d unplanned", run->actual->n_missing,
                   run->actual->n_unplanned);
    } else if (run->arena) {
        pen_puts(pen, ROLE_TEXT, ", measured ");
        pen_put(pen, ROLE_HEAD, label_us(ui, run->report.median_us));
        pen_printf(pen, ROLE_TEXT, " on %d thread%s", run->report.n_ranks,
                   run->report.n_ranks == 1 ? "" : "s");
    } else {
        pen_puts(pen, ROLE_DIM,
                 run->dropped ? ", not run since the plan changed" : ", not run yet");
    }
    put_whole(arena_printf(ui->frame, "; %s", ui->session->machine->name), ROLE_TEXT, pen);
    put_whole(arena_printf(ui->frame, ", reshards %.1f%%",
                           totals->step_us > 0 ? 100 * totals->comm_us / totals->step_us : 0),
              ROLE_TEXT, pen);
    if (totals->step_us > 0 && plan_schedule(ui_plan(ui)))
        put_whole(arena_printf(ui->frame, "; %.*s: %d micro-batches",
                               STR_ARG(ui_key(ui, ACT_SCHEDULE)),
                               ui_plan(ui)->decided->stages->n_micro_batches),
                  ROLE_NOTE, pen);
    pen_line(pen);
}

/* The step as a whole with the window marked, then the window's scale. */
static void draw_scale(const Ui *ui, const RunState *run, bool strip, Pen *pen)
{
    const Timeline *line = run->timeline;
    int w = pen->area.w - LABEL - 1;

    if (strip && run->len_us < line->us) {
        int a = (int)(run->from_us / line->us * w);
        int b = (int)((run->from_us + run->len_us) / line->us * w);
        pen_puts(pen, ROLE_HEAD, " step");
        pen_tab(pen, LABEL);
        draw_strip(ui, line, -1, 0, line->us, w, pen);
        pen_line(pen);
        pen_tab(pen, LABEL + a);
        for (int x = a; x <= b && x < w; x++)
            pen_rune(pen, ROLE_FOCUS, x == a || x == b ? '^' : '-');
        pen_line(pen);
    }
    Str from = label_us(ui, run->from_us), to = label_us(ui, run->from_us + run->len_us);
    Str each = label_us(ui, run->len_us / w);
    pen_tab(pen, LABEL);
    pen_put(pen, ROLE_DIM, from);
    pen_printf(pen, ROLE_DIM, "  one column = %.*s", STR_ARG(each));
    if (pen->x + (int)to.n + 1 < LABEL + w) {
        pen_tab(pen, LABEL + w - (int)to.n);
        pen_put(pen, ROLE_DIM, to);
    }
    pen_line(pen);
}

static void draw_cursor(const Ui *ui, const RunState *run, Pen *pen)
{
    const Timeline *line = run->timeline;
    const TimeSpan *span = &line->span[run->span];
    const TimeRow *row = &line->row[span->row];
    int w = pen->area.w - LABEL - 1;
    int x = (int)((span->start_us + span->us / 2 - run->from_us) / run->len_us * w);
    const char *mark = ui->look.ascii ? "^" : "▲";
    Buf text = buf_new(ui->frame), time = buf_new(ui->frame);
    Str name = span->op >= 0 ? label_op(ui->session, ui->frame, span->op) : str_from(row->label);

    if (span->op >= 0)
        buf_printf(&time, " %s", label_operator(ui_graph(ui), span->op));
    buf_printf(&time, ", %.*s at %.*s", STR_ARG(label_us(ui, span->us)),
               STR_ARG(label_us(ui, span->start_us)));
    int at = LABEL + (x < 0 ? 0 : x < w ? x : w - 1);
    int left = at - 3, right = pen->area.w - at - 3; /* columns beside the mark */
    int room = left > right ? left : right, tail = text_columns(buf_str(&time));
    text_put_name(name, room > tail ? room - tail : 1, &text);
    buf_printf(&text, "%.*s", STR_ARG(buf_str(&time)));
    int need = text_columns(buf_str(&text));
    if (need > right && left > right) {
        pen_tab(pen, at - 2 - (left < need ? left : need));
        pen_fit(pen, ROLE_NOTE, buf_str(&text), at - 2 - pen->x);
        pen_tab(pen, at);
        pen_puts(pen, ROLE_FOCUS, mark);
    } else {
        pen_tab(pen, at);
        pen_printf(pen, ROLE_TEXT, "%s ", mark);
        pen_fit(pen, ROLE_TEXT, buf_str(&text), right);
    }
    pen_line(pen);
}

static void draw_legend(const Timeline *line, Pen *pen)
{
    pen_puts(pen, ROLE_TEXT, " ");
    for (int k = 1; k < line->n_kinds && line->kind[k].us > 0; k++) {
        int need = (int)strlen(line->kind[k].name) + 4;
        if (pen->x + need + 22 > pen->area.w)
            break;
        pen_rune(pen, ROLE_HEAD, (uint32_t)line->kind[k].letter);
        pen_printf(pen, ROLE_DIM, " %s  ", line->kind[k].name);
    }
    pen_rune(pen, ROLE_DEAR, 0x2592);
    pen_puts(pen, ROLE_DIM, " reshard  . wait");
    pen_line(pen);
}

/* Columns of the table of ops; bar 0: none. */
typedef struct {
    int label, bar;
    bool shares;
} TableColumns;

static TableColumns table_columns(const RunState *run, int w)
{
    enum { SHARES_FROM = 70, BAR_FROM = 84, BAR_W = 20, MEASURED_W = 19 };
    TableColumns columns = {.shares = w >= SHARES_FROM + (run->arena ? MEASURED_W : 0),
                            .bar = !run->arena && w >= BAR_FROM ? BAR_W : 0};
    int share = !columns.shares ? 0 : run->arena ? 14 : 7;
    int label = w - 9 - 11 - (run->arena ? MEASURED_W : 0) - share - columns.bar - 1;
    columns.label = label > 8 ? label : 8;
    return columns;
}

static void draw_table_head(const RunState *run, const TableColumns *columns, Pen *pen)
{
    pen_puts(pen, ROLE_HEAD, "    ×    ");
    pen_fit(pen, ROLE_HEAD,
            run->arena ? STR("OP, worst estimate first") : STR("OP, the longest first"),
            columns->label);
    pen_right(pen, ROLE_HEAD, STR("PREDICTED"), 11);
    if (columns->shares)
        pen_right(pen, ROLE_HEAD, STR("SHARE"), 7);
    if (run->arena) {
        pen_right(pen, ROLE_HEAD, STR("MEASURED"), 11);
        if (columns->shares)
            pen_right(pen, ROLE_HEAD, STR("SHARE"), 7);
        pen_right(pen, ROLE_HEAD, STR("CHANGE"), 8);
    }
    pen_line(pen);
}

static void draw_table_row(const Ui *ui, const RunState *run, int at, const TableColumns *columns,
                           Pen *pen)
{
    const Timeline *line = run->timeline;
    const TimeRow *row = &line->row[at];
    double step = ui_plan(ui)->priced->totals.step_us,
           took = run->arena ? run->report.median_us : 0;

    pen_printf(pen, ROLE_TEXT, "%6d ", row->n);
    if (row->kind == KIND_RESHARD)
        pen_rune(pen, ROLE_DEAR, 0x2592);
    else
        pen_rune(pen, ROLE_HEAD, (uint32_t)(row->us > 0 ? line->kind[row->kind].letter : ' '));
    pen_rune(pen, ROLE_TEXT, ' ');
    pen_fit_name(pen, ROLE_TEXT, str_from(row->label), columns->label);
    pen_right(pen, ROLE_TEXT, label_us(ui, row->us), 11);
    if (columns->shares)
        pen_right(pen, ROLE_DIM,
                  str_from(arena_printf(ui->frame, "%.1f%%", step > 0 ? 100 * row->us / step : 0)),
                  7);
    if (columns->bar) {
        pen_rune(pen, ROLE_TEXT, ' ');
        pen_bar(pen, row->kind == KIND_RESHARD ? ROLE_DEAR : ROLE_RAIL, row->us, line->row[0].us,
                columns->bar - 1);
    }
    if (!run->arena)
        return;
    pen_right(pen, ROLE_TEXT, label_us(ui, row->measured_us), 11);
    if (columns->shares)
        pen_right(pen, ROLE_DIM,
                  str_from(arena_printf(ui->frame, "%.1f%%",
                                        took > 0 ? 100 * row->measured_us / took : 0)),
                  7);
    pen_right(pen, ROLE_TEXT, run_ratio_text(ui, row->us, row->measured_us), 8);
}

static void draw_table(Ui *ui, const RunState *run, Pen *pen)
{
    const Timeline *line = run->timeline;
    TableColumns columns = table_columns(run, pen->area.w);
    int64_t at = line->span[run->span].row, *top = &ui->list[SHOW_RUN].top;

    draw_table_head(run, &columns, pen);
    int h = pen->area.h - pen->y;
    list_show(&ui->list[SHOW_RUN], at, line->n_rows, h);
    for (int i = 0; i < h && *top + i < line->n_rows; i++) {
        draw_table_row(ui, run, (int)*top + i, &columns, pen);
        rows_end(ui, SHOW_RUN, *top + i == at, pen);
    }
}

/* "d0-7"; of a part of the mesh "pp=1", whose devices run what stands in its row alone. */
static Str part_label(const Ui *ui, const Timeline *line, int part)
{
    const Plan *plan = ui_plan(ui);
    int64_t n = plan->mesh->n_devices;
    Buf text = buf_new(ui->frame);

    buf_putc(&text, ' ');
    if (line->n_parts > 0)
        submesh_format(plan->mesh, plan->decided->submeshes[line->part[part]], &text);
    if (text.n == 1)
        buf_printf(&text, n > 1 ? "d0-%" PRId64 : "d%" PRId64, n - 1);
    return buf_str(&text);
}

/* As many parts as there is room for, that of the cursor among them. */
static void draw_parts(const Ui *ui, const RunState *run, int room, Pen *pen)
{
    const Timeline *line = run->timeline;
    int n = line->n_parts < room ? line->n_parts : room, at = line->span[run->span].part;

    n = n > 1 ? n : 1;
    int first = at < n ? 0 : at - n + 1;
    for (int part = first; part < first + n; part++) {
        pen_fit(pen, part == at ? ROLE_HEAD : ROLE_TEXT, part_label(ui, line, part), LABEL);
        draw_strip(ui, line, part, run->from_us, run->len_us, pen->area.w - LABEL - 1, pen);
        pen_line(pen);
    }
}

static void draw(Ui *ui, Pen *pen)
{
    RunState *run = run_state(ui);
    const Timeline *line = run->timeline;
    int h = pen->area.h, w = pen->area.w - LABEL - 1;

    if (run->arena && run->report.n_steps > 0 && h < 2 * STRIP_LEAST_H)
        ui->list[SHOW_RUN].wants = MEASURED_WANTS; /* steps and blocks stand below */
    draw_head(ui, run, pen);
    if (line->n == 0 || line->us <= 0) {
        pen_puts(pen, ROLE_DIM, " no op of the plan takes time");
        return;
    }
    if (run->len_us <= 0)
        choose_window(ui, run, w);
    hold_window(run);
    if (run->arena && run->report.n_steps > 1 && h >= 2 * STRIP_LEAST_H)
        loss_curve_draw(&run->report, run->verified, h / 4 < CURVE_MOST_H ? h / 4 : CURVE_MOST_H,
                        pen);
    draw_scale(ui, run, h >= STRIP_LEAST_H + 3, pen);
    draw_parts(ui, run, h / 3, pen);
    draw_cursor(ui, run, pen);
    int ranks = shown_ranks(run, h - pen->y - 2 - TABLE_LEAST - 2);
    if (ranks > 0)
        draw_ranks(ui, run, ranks, pen);
    if (h - pen->y > TABLE_LEAST)
        draw_legend(line, pen);
    if (h - pen->y > 1)
        draw_table(ui, run, pen);
}

/* ---- acting ---- */

/* The other panes follow: the op, or what is moved. */
static void select_span(Ui *ui, RunState *run, int at)
{
    const TimeSpan *span = &run->timeline->span[at];

    run->span = at;
    if (span->op >= 0) {
        ui_select_op(ui, span->op);
        return;
    }
    const Reshard *reshard = &ui_plan(ui)->moved->reshards[span->reshard];
    int32_t op = comm_op(ui->session, reshard);
    if (op >= 0)
        ui_select_op(ui, op);
    ui_select_tensor(ui, reshard->tensor);
}

/* The next that takes time; past the last one comes the first. */
static bool next_reshard(Ui *ui, RunState *run, int by)
{
    const TimeSpan *span = run->timeline->span;
    int n = run->timeline->n, i = run->span;

    do {
        i = (i + by + n) % n;
    } while ((span[i].op >= 0 || span[i].us <= 0) && i != run->span);
    if (span[i].op >= 0 || span[i].us <= 0)
        ui_say(ui, "no reshard takes time");
    else
        select_span(ui, run, i);
    return true;
}

static bool open_op(Ui *ui, const RunState *run)
{
    const TimeSpan *span = &run->timeline->span[run->span];
    int32_t op = span->op >= 0 ? span->op
                               : comm_op(ui->session, &ui_plan(ui)->moved->reshards[span->reshard]);

    if (op < 0)
        return false;
    places_remember(ui);
    ui_go_op(ui, op);
    ui->at.show = SHOW_OP;
    return true;
}

static bool act(Ui *ui, ActId act)
{
    RunState *run = run_state(ui);
    int64_t row;

    if (run->timeline->n == 0)
        return false;
    row = run->timeline->span[run->span].row;
    if (act == ACT_SHOW_RUN) {
        if (!run->arena && ui->at.op >= 0)
            run->span = ui->at.row.kind == ROW_GROUP ? run->timeline->row[0].first
                                                     : timeline_of_op(run->timeline, ui->at.op);
    } else if (act == ACT_LEFT || act == ACT_RIGHT) {
        int to = run->span + (act == ACT_RIGHT ? 1 : -1);
        if (to >= 0 && to < run->timeline->n)
            select_span(ui, run, to);
    } else if (act == ACT_TIME_IN || act == ACT_TIME_OUT) {
        zoom(run, act == ACT_TIME_IN ? 0.5 : 2);
    } else if (act == ACT_NEXT_RESHARD || act == ACT_PREVIOUS_RESHARD) {
        return next_reshard(ui, run, act == ACT_NEXT_RESHARD ? 1 : -1);
    } else if (act == ACT_OPEN) {
        return open_op(ui, run);
    } else if (list_move(&row, run->timeline->n_rows, ui->list[SHOW_RUN].height, act)) {
        select_span(ui, run, run->timeline->row[row].first);
    } else {
        return false;
    }
    return true;
}

static void go(Ui *ui, int64_t row)
{
    RunState *run = run_state(ui);

    if (row >= 0 && row < run->timeline->n_rows)
        select_span(ui, run, run->timeline->row[row].first);
}

static void note(Ui *ui, Buf *out)
{
    buf_puts(out, ui_plan(ui)->decided->stages
                      ? "predicted: one micro-batch through all stages; nothing overlaps"
                      : "predicted: rank 0, which holds the largest parts; nothing overlaps");
}

static void table(Ui *ui, Sheet *out)
{
    const RunState *run = run_state(ui);

    sheet_head(out, "operator name times# predicted_us#");
    if (run->arena)
        sheet_column(out, "measured_us", true);
    for (int i = 0; i < run->timeline->n_rows; i++) {
        const TimeRow *row = &run->timeline->row[i];
        sheet_put(out, str_from(run->timeline->kind[row->kind].name));
        sheet_put(out, str_from(row->label));
        sheet_number(out, row->n);
        sheet_number(out, row->us);
        if (run->arena)
            sheet_number(out, row->measured_us);
    }
}

static const Hint hints[] = {
    {ACT_WHY, "why it differs"},
    {ACT_RUN, "measure"},
    {ACT_RIGHT, "time"},
    {ACT_TIME_IN, "zoom"},
    {ACT_TIME_OUT, "out"},
    {ACT_NEXT_RESHARD, "reshard"},
    {ACT_OPEN, "op"},
    {ACT_SCHEDULE, "pipeline"},
    {ACT_CANCEL, "stop"},
    {ACT_NEXT_PANE, "pane"},
    {ACT_HELP, "help"},
    {ACT_CLOSE, "close"},
    {0},
};

static void forget(Ui *ui)
{
    run_state_forget(ui->own[SHOW_RUN]);
}

const View view_run = {
    .name = "Run",
    .draw = draw,
    .act = act,
    .note = note,
    .go = go,
    .list_at = -1,
    .hints = hints,
    .table = table,
    .enter_act = ACT_SHOW_RUN,
    .own_size = sizeof(RunState),
    .forget = forget,
};
