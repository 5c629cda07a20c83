/* view_mem.c - what each device needs at its peak, and live bytes over the step. */
#include "tui/screen/folded.h"
#include "tui/state/jobs/job.h"
#include "tui/state/jobs/whatif.h"
#include "tui/views/label.h"
#include "tui/views/mem.h"
#include "tui/views/rows.h"

#include "core/cost/pipeline.h"
#include "core/summary/sheets.h"
#include "core/plan/plan_machine.h"

#include <stdio.h>

enum {
    BAR_LEAST = 10,
    USED_W = 12,
    FREE_W = 7,
    GRAPH_LEAST = 3,
    GRAPH_MOST = 20,
    TOP_LEAST = 12, /* of a training step: lines from which on the first says what is shown */
    NOTE_LEAST = 17,
    NOTES_WIDE = 100, /* columns from which on the notes take fewer lines */
    NOTES_WIDEST = 150
};

/* ---- counting ---- */

/* Works on a copy, whose cursors may be elsewhere by the end. */
typedef struct {
    Arena *arena; /* it lives there */
    const Session *session;
    Mem mem;
} CountJob;

static bool count_work(void *context, Progress *progress, Error *err)
{
    CountJob *job = context;

    return mem_list(&job->mem, job->session, progress) || progress_goes_on(progress, err);
}

static void count_done(Ui *ui, void *context, bool ok, const Error *err)
{
    CountJob *job = context;
    Mem *mem = mem_of(ui), *made = &job->mem;
    (void)ok, (void)err;
    if (mem->arena && mem->arena != made->arena) { /* an export did not wait for it */
        mem_forget(made);
        arena_free(job->arena);
        return;
    }
    mem->arena = made->arena;
    mem->account = made->account;
    mem->n_places = made->n_places;
    mem->ranks = made->ranks;
    if (mem->at == made->at && !mem->step_arena) {
        mem->step_arena = made->step_arena;
        mem->step = made->step;
        mem->saved = made->saved;
    } else if (mem->step_arena != made->step_arena) {
        arena_free(made->step_arena);
    }
    if (mem->at == made->at && mem->place == made->place && mem->grouping == made->grouping) {
        mem->live_arena = made->live_arena;
        mem->live = made->live;
        mem->n_rows = made->n_rows;
        mem->row = made->row;
    } else {
        arena_free(made->live_arena);
    }
    arena_free(job->arena);
}

void mem_follow(Ui *ui)
{
    if (job_at_once(ui) || mem_of(ui)->live_arena || job_runs(ui))
        return;
    Arena *arena = arena_new();
    CountJob *job = arena_make(arena, CountJob);
    *job = (CountJob){arena, ui->session, *mem_of(ui)};
    job_follow(ui, "count", count_work, count_done, job, arena);
}

static bool mem_is_counted(Ui *ui)
{
    if (job_at_once(ui))
        mem_count(mem_of(ui), ui->session, NULL);
    return mem_of(ui)->arena != NULL;
}

bool mem_is_listed(Ui *ui)
{
    if (job_at_once(ui))
        mem_list(mem_of(ui), ui->session, NULL);
    return mem_of(ui)->live_arena != NULL;
}

static int64_t limit_of(const Ui *ui)
{
    return plan_memory(ui_plan(ui));
}

/* The bytes of a full bar: the limit, or the largest use if that exceeds it or is so small that its
 * classes would look the same. */
static int64_t bar_bytes(const Ui *ui)
{
    int64_t most = mem_of(ui)->ranks.at[0].use.peak_bytes, limit = limit_of(ui);
    bool small = most < limit / 8;
    return small || limit <= 0 || most > limit ? most : limit;
}

/* ---- a row for each group of devices ---- */

static void draw_headings(const Ui *ui, int name_w, int bar_w, Pen *pen)
{
    Str scale = label_bytes(ui, bar_bytes(ui));
    pen_fit(pen, ROLE_HEAD, STR("  DEVICES"), name_w + 2);
    pen_right(pen, ROLE_HEAD, STR("NEEDS"), USED_W - 2);
    pen_puts(pen, ROLE_HEAD, bar_w > 0 ? "  0" : "  ");
    pen_right(pen, ROLE_HEAD, scale, bar_w > 0 ? bar_w - 1 : 0);
    pen_right(pen, ROLE_HEAD, STR("FREE"), FREE_W);
    pen_line(pen);
}

static void draw_bar(const Ui *ui, const RankMemory *ranks, int columns, Pen *pen)
{
    int part[MEMORY_CLASS_COUNT], left = columns;
    int64_t limit = plan_rank_memory(ui_plan(ui), ranks->rank), whole = bar_bytes(ui);
    int limit_at =
        limit > 0 && limit < whole ? (int)((double)limit / (double)whole * columns) : columns;
    mem_split(ranks->by_class, whole, columns, part);
    for (int c = 0; c < MEMORY_CLASS_COUNT; c++)
        for (int i = 0; i < part[c]; i++, left--)
            pen_rune(pen, columns - left < limit_at ? ROLE_TEXT : ROLE_ERROR,
                     (unsigned char)mem_class_letter((MemoryClass)c));
    while (left-- > 0)
        pen_rune(pen, ROLE_DIM, '.');
}

static void draw_device_row(const Ui *ui, int at, int name_w, int bar_w, Pen *pen)
{
    const RankMemory *ranks = &mem_of(ui)->ranks.at[at];
    Buf name = buf_marked(ui->frame), box = buf_marked(ui->frame);
    int64_t limit = plan_rank_memory(ui_plan(ui), ranks->rank);
    bool over = ranks->use.peak_bytes > limit;
    double free = limit > 0 ? 100 * (1 - (double)ranks->use.peak_bytes / (double)limit) : 0;
    mem_format_box(mem_of(ui), at, ui->session->mesh, &box);
    mem_format_devices(mem_of(ui), at, ui->session->mesh->n_devices, name_w - (int)box.n - 2,
                       &name);
    if (box.n > 0 && text_columns(buf_str(&name)) + (int)box.n + 2 <= name_w) {
        buf_puts(&name, "  ");
        buf_add_text(&name, buf_text(&box));
    }
    pen_puts(pen, over ? ROLE_ERROR : ROLE_TEXT, over ? " !" : "  ");
    pen_text(pen, buf_text(&name), -1, name_w);
    pen_right(pen, over ? ROLE_ERROR : ROLE_TEXT, label_bytes(ui, ranks->use.peak_bytes),
              USED_W - 2);
    pen_puts(pen, ROLE_TEXT, "  ");
    draw_bar(ui, ranks, bar_w, pen);
    pen_right(pen, over ? ROLE_ERROR : ROLE_TEXT,
              over ? STR("OVER") : str_from(arena_printf(ui->frame, "%.3g%%", free)), FREE_W);
}

/* ---- classes ---- */

static void draw_legend(const Ui *ui, Pen *pen)
{
    const RankMemory *ranks = mem_ranks(mem_of(ui));
    for (int c = 0; c < MEMORY_CLASS_COUNT; c++) {
        if (ranks->by_class[c] == 0)
            continue;
        const char *text = arena_printf(ui->frame, "%c %s %.*s", mem_class_letter((MemoryClass)c),
                                        memory_class_name((MemoryClass)c),
                                        STR_ARG(label_bytes(ui, ranks->by_class[c])));
        if (pen->x > 0 && pen->x + 2 + (int)strlen(text) > pen->area.w)
            pen_line(pen);
        pen_printf(pen, ROLE_TEXT, "  %s", text);
    }
    pen_line(pen);
}

/* ---- live bytes over the step ---- */

enum { SCALE_W = 11 };

typedef struct {
    int columns, rows, peak, cursor; /* columns of the peak and of the time cursor */
    int64_t most, *bytes;            /* bytes: per column */
} Graphed;

static int column_of(int place, int n_places, int columns)
{
    return n_places > 0 ? (int)((int64_t)place * columns / n_places) : 0;
}

static void draw_graph_row(const Graphed *graph, int row, Pen *pen)
{
    static const uint32_t eighth[] = {' ', 0x2581, 0x2582, 0x2583, 0x2584, 0x2585, 0x2586, 0x2587};
    for (int c = 0; c < graph->columns; c++) {
        double height = (double)graph->bytes[c] / (double)graph->most * graph->rows * 8;
        int eighths = (int)(height + 0.5) - 8 * (graph->rows - 1 - row);
        Style style = c == graph->cursor ? ROLE_FOCUS : ROLE_RAIL;
        pen_rune(pen, style, eighths >= 8 ? 0x2588 : eighth[eighths < 0 ? 0 : eighths]);
    }
}

static void draw_graph_foot(const Graphed *graph, Pen *pen)
{
    pen_right(pen, ROLE_DIM, STR("0"), SCALE_W - 2);
    pen_puts(pen, ROLE_DIM, " ┼");
    for (int c = 0; c < graph->columns; c++)
        if (c == graph->cursor)
            pen_rune(pen, ROLE_FOCUS, c == graph->peak ? '^' : '|');
        else
            pen_rune(pen, c == graph->peak ? ROLE_HEAD : ROLE_DIM, c == graph->peak ? '^' : 0x2500);
    pen_line(pen);
}

static Str op_at(const Ui *ui, int place)
{
    const Session *session = ui->session;
    return place < 0 ? STR("the start")
                     : label_op(session, ui->frame, session->inferred->program[place]);
}

static void draw_graph(const Ui *ui, int rows, Pen *pen)
{
    const MemoryUse *use = &mem_ranks(mem_of(ui))->use;
    int n = mem_of(ui)->n_places, room = pen->area.w - SCALE_W - 1;
    Graphed graph = {.columns = n < room ? n : room, .rows = rows - 2, .most = use->peak_bytes};
    if (n == 0 || graph.columns < 4 || graph.most <= 0)
        return;
    graph.bytes = arena_array(ui->frame, int64_t, graph.columns);
    for (int c = 0; c < graph.columns; c++)
        graph.bytes[c] = mem_column(use, n, c, graph.columns);
    graph.peak = column_of(use->peak_place, n, graph.columns);
    graph.cursor = column_of(mem_place(mem_of(ui)), n, graph.columns);
    pen_printf(pen, ROLE_HEAD, " OVER THE STEP  ");
    pen_printf(pen, ROLE_DIM, "a column is %.3g op%s, ^ the peak: ", (double)n / graph.columns,
               n == graph.columns ? "" : "s");
    pen_fit_name(pen, ROLE_TEXT, op_at(ui, use->peak_place), pen->area.w - pen->x);
    pen_line(pen);
    for (int row = 0; row < graph.rows; row++) {
        Str scale = row == 0 ? label_bytes(ui, graph.most) : STR("");
        pen_right(pen, ROLE_DIM, scale, SCALE_W - 2);
        pen_puts(pen, ROLE_DIM, row == 0 ? " ┤" : " │");
        draw_graph_row(&graph, row, pen);
        pen_line(pen);
    }
    draw_graph_foot(&graph, pen);
}

/* ---- what stands below ---- */

static void draw_init(const Ui *ui, Pen *pen)
{
    const InitMemory *init = &mem_ranks(mem_of(ui))->init;
    Str parts = label_bytes(ui, init->parts_bytes), cut = label_bytes(ui, init->cut_bytes);
    Str whole = label_bytes(ui, init->whole_bytes);
    draw_field(pen, " INIT", 7);
    pen_put_folded(pen, ROLE_TEXT,
                   str_from(arena_printf(
                       ui->frame,
                       "%.*s when parameters are created sharded, %.*s when each is created whole "
                       "and sliced, %.*s when all are created whole first",
                       STR_ARG(parts), STR_ARG(cut), STR_ARG(whole))),
                   7);
    pen_line(pen);
}

static void draw_statement(Pen *pen)
{
    draw_field(pen, " COUNTS", 9);
    pen_put_folded(pen, ROLE_DIM,
                   STR("parameters as stored and inputs, always; a value from the op that "
                       "produces it to its last reader, outputs to the end; a resharded copy from "
                       "its step on (slice, RS: s/n; AG: s*n; AR, A2A: s). Not counted: scratch "
                       "inside an op, the allocator, and what is not in the graph"),
                   9);
    pen_line(pen);
}

static void draw_over(const Ui *ui, Pen *pen)
{
    const RankMemory *ranks = mem_ranks(mem_of(ui));
    int64_t over = ranks->use.peak_bytes - plan_rank_memory(ui_plan(ui), ranks->rank);
    if (over <= 0)
        return;
    pen_puts(pen, ROLE_ERROR, " ! does not fit: ");
    pen_put(pen, ROLE_ERROR, label_bytes(ui, over));
    pen_puts(pen, ROLE_ERROR, " over the device's memory; press x for what would lower it");
    pen_line(pen);
}

static void draw_top(const Ui *ui, Pen *pen)
{
    pen_printf(pen, ROLE_TEXT, " peak of the %s%s by device, limit ",
               plan_counts_forward_only(ui_plan(ui)) ? "forward " : "",
               ui_graph(ui)->phase ? "step" : label_pass(ui_plan(ui)));
    pen_put(pen, ROLE_TEXT, label_bytes(ui, limit_of(ui)));
    if (bar_bytes(ui) != limit_of(ui) && pen->area.w - pen->x > 26)
        pen_printf(pen, ROLE_DIM, "; a full bar is %.*s", STR_ARG(label_bytes(ui, bar_bytes(ui))));
    pen_line(pen);
}

static void draw(Ui *ui, Pen *pen)
{
    Mem *mem = mem_of(ui);
    if (!mem_is_counted(ui)) {
        pen_puts(pen, ROLE_NOTE, " counting live values over the step ..");
        return;
    }
    int w = pen->area.w, h = pen->area.h;
    int name_w = w < 60 ? 14 : w < 100 ? 22 : 30, bar_w = w - 2 - name_w - USED_W - FREE_W - 1;
    if (bar_w < BAR_LEAST) {
        name_w += bar_w;
        bar_w = 0;
    }
    int list_h = h / 3 > 1 ? h / 3 : 1;
    list_h = mem->ranks.n < list_h ? mem->ranks.n : list_h;
    bool top = h >= TOP_LEAST || !ui_graph(ui)->phase;
    if (top)
        draw_top(ui, pen);
    ui->list[SHOW_MEM].lead = top ? 0 : -1;
    draw_headings(ui, name_w, bar_w, pen);
    list_show(&ui->list[SHOW_MEM], mem->at, mem->ranks.n, list_h);
    for (int i = 0; i < list_h; i++) {
        int at = (int)ui->list[SHOW_MEM].top + i;
        draw_device_row(ui, at, name_w, bar_w, pen);
        rows_end(ui, SHOW_MEM, at == mem->at, pen);
    }
    draw_legend(ui, pen);
    draw_over(ui, pen);
    int left = h - pen->y, notes = h < NOTE_LEAST      ? 0
                                   : w >= NOTES_WIDEST ? 4
                                   : w >= NOTES_WIDE   ? 5
                                                       : 7;
    if (left - notes >= GRAPH_LEAST && mem_is_listed(ui) && mem->step.n > 0)
        mem_strip_draw(ui, left - notes, pen);
    else if (left - notes >= GRAPH_LEAST + 1)
        draw_graph(ui, left - notes < GRAPH_MOST ? left - notes : GRAPH_MOST, pen);
    if (notes > 0) {
        draw_init(ui, pen);
        draw_statement(pen);
    }
}

/* ---- keys ---- */

enum { USUAL_COLUMNS = 60 };

/* Places that one key moves the time cursor by: a column of a graph of usual width. */
static int time_step(const Ui *ui)
{
    int n = mem_of(ui)->n_places / USUAL_COLUMNS;
    return n > 0 ? n : 1;
}

/* "…gate_proj.weight ×12" */
static const char *brief_name(const Ui *ui, Arena *arena, const MemAlike *alike)
{
    Str name = label_tensor(ui->session, arena, alike->tensor[0]), end = text_name_end(name);
    const char *text = arena_printf(arena, "%s%.*s", end.n < name.n ? "…" : "", STR_ARG(end));
    return alike->n > 1 ? arena_printf(arena, "%s ×%d", text, alike->n) : text;
}

/* Options of one group of values, each with what it is about. */
static void add_options(Ui *ui, WhatIfAsk *ask, const MemAlike *alike)
{
    PlanOptions options = options_for_value(ask->arena, ui->session, alike->tensor, alike->n);
    const char *name = brief_name(ui, ask->arena, alike);
    ask->options.now = options.now;
    for (int i = 0; i < options.list.n; i++) {
        PlanOption option = options.list.at[i];
        Buf text = buf_marked(ask->arena);
        buf_printf(&text, "%s ", name);
        buf_add_text(&text, option.text);
        option.text = buf_text(&text);
        vec_push(ask->arena, &ask->options.list, option);
    }
}

void mem_what_if(Ui *ui, const MemRow *within)
{
    if (!job_may_change(ui))
        return;
    enum { MOST = 6 };
    WhatIfAsk ask = {.arena = arena_new(), .by_peak = true, .priced = true, .verb = ""};
    MemAlike alike[MOST];
    int n = mem_equal_values(ask.arena, mem_of(ui), ui->session, within, MOST, alike);
    for (int i = 0; i < n; i++)
        add_options(ui, &ask, &alike[i]);
    snprintf(ask.title, sizeof ask.title, "to lower the peak of %.*s",
             STR_ARG(label_bytes(ui, ui_plan(ui)->priced->totals.peak_bytes)));
    whatif_ask(ui, &ask);
}

bool mem_act(Ui *ui, ActId act)
{
    Mem *mem = mem_of(ui);
    if (!mem_is_counted(ui))
        return false;
    if (act == ACT_DIM_NEXT || act == ACT_DIM_PREVIOUS) {
        int by = act == ACT_DIM_NEXT ? 1 : -1;
        if (mem_is_listed(ui) && mem->step.n > 0)
            mem_move_moment(mem, by * mem->step.us / USUAL_COLUMNS);
        else
            mem_move_time(mem, by * time_step(ui));
        return true;
    }
    if (act != ACT_GROUPING)
        return false;
    mem_set_grouping(mem, (MemGrouping)((mem->grouping + 1) % MEM_GROUPING_COUNT));
    ui->list[SHOW_LIVE].at = 0;
    ui_say(ui, "grouped by %s", mem_grouping_name(mem->grouping));
    return true;
}

/* " at 63.8 ms, forward of micro-batch 1 on stage 0, 2 in flight: 20.1 GiB of 74.5 GiB" */
static void put_moment(const Ui *ui, const MemoryMoment *moment, Buf *out)
{
    const Schedule *table = plan_schedule(ui_plan(ui));
    buf_printf(out, " at %.*s", STR_ARG(label_us(ui, moment->from_us)));
    if (moment->block >= 0) {
        const Block *block = &table->block[moment->block];
        buf_printf(out, ", %s of micro-batch %d on stage %d, %d in flight",
                   schedule_pass_name((BlockPass)block->pass), block->micro_batch, block->stage,
                   moment->in_flight);
    }
    buf_printf(out, ", %.*s: %.*s of %.*s%s", STR_ARG(op_at(ui, moment->place)),
               STR_ARG(label_bytes(ui, moment->bytes)), STR_ARG(label_bytes(ui, limit_of(ui))),
               mem_of(ui)->moment < 0 ? ", the peak" : "");
}

void mem_note(Ui *ui, Buf *out)
{
    Mem *mem = mem_of(ui);
    int place = mem_is_counted(ui) ? mem_place(mem) : -1;
    if (place < 0)
        return;
    const MemoryUse *use = &mem_ranks(mem)->use;
    mem_format_devices(mem, mem->at, ui->session->mesh->n_devices, 16, out);
    if (mem_moment(mem)) {
        put_moment(ui, mem_moment(mem), out);
        return;
    }
    buf_printf(out, " at op %d of %d, %.*s: %.*s of %.*s%s", place + 1, mem->n_places,
               STR_ARG(op_at(ui, place)), STR_ARG(label_bytes(ui, use->live_bytes[place])),
               STR_ARG(label_bytes(ui, limit_of(ui))),
               place == use->peak_place ? ", the peak" : "");
}

static bool act(Ui *ui, ActId act)
{
    Mem *mem = mem_of(ui);
    int64_t at = mem->at;
    if (act == ACT_LEFT || act == ACT_RIGHT)
        return mem_act(ui, act == ACT_LEFT ? ACT_DIM_PREVIOUS : ACT_DIM_NEXT);
    if (mem_act(ui, act))
        return true;
    if (act == ACT_WHAT_IF && mem_is_counted(ui)) {
        if (!mem_settings_what_if(ui))
            mem_what_if(ui, NULL);
        return true;
    }
    if (act == ACT_OPEN) {
        ui_show(ui, SHOW_LIVE);
        return true;
    }
    if (!mem_is_counted(ui) || !list_move(&at, mem->ranks.n, ui->list[SHOW_MEM].height, act))
        return false;
    mem_select(mem, (int)at);
    return true;
}

static void go(Ui *ui, int64_t row)
{
    if (mem_is_counted(ui) && row >= 0 && row < mem_of(ui)->ranks.n)
        mem_select(mem_of(ui), (int)row);
}

static void table(Ui *ui, Sheet *out)
{
    mem_count(mem_of(ui), ui->session, NULL);
    sheet_columns(out, sheet_memory_columns);
    sheet_memory_rows(ui->session, &mem_of(ui)->ranks, out);
}

static const Hint hints[] = {
    {ACT_DOWN, "device"},
    {ACT_OPEN, "live set"},
    {ACT_LEFT, "earlier"},
    {ACT_RIGHT, "later"},
    {ACT_WHAT_IF, "what-if"},
    {ACT_GROUPING, "grouping"},
    {ACT_NEXT_PANE, "pane"},
    {ACT_BACK, "back"},
    {ACT_HELP, "help"},
    {ACT_CLOSE, "close"},
    {0},
};

static void open_state(Ui *ui)
{
    mem_open(mem_of(ui), ui->arena);
}

static void forget(Ui *ui)
{
    mem_forget(mem_of(ui));
}

const View view_mem = {
    .name = "Mem",
    .draw = draw,
    .act = act,
    .note = mem_note,
    .go = go,
    .list_at = 2,
    .hints = hints,
    .table = table,
    .own_size = sizeof(Mem),
    .open = open_state,
    .forget = forget,
};
