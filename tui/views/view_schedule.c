/* view_schedule.c - the pipeline: who works on which micro-batch when, and what a stage takes. */
#include "tui/screen/folded.h"
#include "tui/views/mem.h"
#include "tui/views/schedule_chart.h"
#include "tui/views/step/stage_streams.h"
#include "tui/views/step/step_account.h"

#include "core/summary/label.h"
#include "core/summary/sheets.h"
#include "core/cost/pipeline.h"
#include "tui/state/format.h"

enum {
    NOTE_LEAST_H = 10, /* lines from which on the head says how backwards count */
    TABLE_LEAST = 4,   /* lines of the table of stages, with its head */
    CURSOR_LINES = 2,
    ONE_LINE_HEAD = 120,
    STREAMS_LEAST_H = 28 /* lines from which on streams stand below the rows */
};

/* ---- around the rows ---- */

static void draw_head(const Ui *ui, const ScheduleState *state, Pen *pen)
{
    const Schedule *table = state->table;
    const ScheduleKind *kind = schedule_kind(str_from(table->name));
    bool wide = pen->area.w >= ONE_LINE_HEAD;

    pen_printf(pen, ROLE_TEXT, " %s, %d micro-batch%s on %d stage%s: ", table->name,
               table->n_micro_batches, table->n_micro_batches == 1 ? "" : "es", table->n_stages,
               table->n_stages == 1 ? "" : "s");
    pen_put(pen, ROLE_HEAD, label_us(ui, table->us));
    pen_puts(pen, ROLE_TEXT, ", bubble ");
    pen_printf(pen, ROLE_HEAD, "%.1f%%", 100 * table->idle);
    if (pen->area.h < NOTE_LEAST_H) {
        pen_line(pen);
        return;
    }
    if (wide)
        pen_puts(pen, ROLE_TEXT, "; ");
    else
        pen_line(pen);
    pen_printf(pen, ROLE_DIM, "%s%.1f%% with equal stages", wide ? "" : " ",
               100 * ui_plan(ui)->priced->pipeline->even_idle);
    if (kind && *kind->bubble)
        pen_printf(pen, ROLE_DIM, ": %s", kind->bubble);
    pen_line(pen);
    if (table->trains) {
        double step_us = plan_step_us(ui_plan(ui));
        pen_puts(pen, ROLE_TEXT, " ");
        if (step_us > table->us)
            pen_printf(pen, ROLE_TEXT, "with the update %.*s; ", STR_ARG(label_us(ui, step_us)));
        pen_put_folded(pen, ROLE_NOTE, str_from(pipeline_backward_note(ui_plan(ui))), 1);
        pen_line(pen);
    }
}

/* What the block under the cursor begins after, and how long its row has waited for that. */
static void put_reason(const Ui *ui, const ScheduleState *state, Buf *out)
{
    const Schedule *table = state->table;
    const Block *block = &table->block[state->at];

    if (block->after < 0) {
        buf_puts(out, "starts at once");
        return;
    }
    const Block *before = &table->block[block->after];
    bool sent = before->micro_batch == block->micro_batch && before->stage != block->stage &&
                before->backward == block->backward;
    buf_puts(out, sent ? "waits for " : "begins after ");
    sheet_format_block(before, out);
    const StagePrice *stage = ui_plan(ui)->priced->pipeline->stage;
    double sent_us = !sent             ? 0
                     : block->backward ? stage_return_us(&stage[before->stage])
                                       : stage[block->stage].receive_us;
    if (sent_us > 0)
        buf_printf(out, ", sent in %.*s", STR_ARG(label_us(ui, sent_us)));
    int32_t place = schedule_find(state, state->row, schedule_from(state, block));
    double idle = block->start_us;
    if (place > state->first[state->row])
        idle -= table->block[state->block[place - 1]].end_us;
    if (idle > 0)
        buf_printf(out, "; idle %.*s", STR_ARG(label_us(ui, idle)));
}

static void draw_cursor(const Ui *ui, const ScheduleState *state, int lines, Pen *pen)
{
    const Block *block = &state->table->block[state->at];
    Buf text = buf_new(ui->frame), reason = buf_new(ui->frame);

    buf_printf(&text, " stage %d, %s of micro-batch %d: step %d", block->stage,
               schedule_pass_name((BlockPass)block->pass), block->micro_batch, block->step);
    if (block->span > 1)
        buf_printf(&text, " to %d", block->step + block->span - 1);
    buf_printf(&text, ", %.*s to %.*s", STR_ARG(label_us(ui, block->start_us)),
               STR_ARG(label_us(ui, block->end_us)));
    buf_printf(&text, " (%.*s)", STR_ARG(label_us(ui, block->end_us - block->start_us)));
    pen_fit(pen, ROLE_HEAD, buf_str(&text), pen->area.w);
    pen_line(pen);
    if (lines < 2)
        return;
    buf_putc(&reason, ' ');
    put_reason(ui, state, &reason);
    pen_fit(pen, ROLE_TEXT, buf_str(&reason), pen->area.w);
    pen_line(pen);
}

/* ---- stages ---- */

typedef struct {
    const char *name;
    int w, from_w; /* columns; of the pane from which on it is shown */
} StageColumn;

/* ORDER IDLE from COL_WAITS on */
enum {
    COL_FROM,
    COL_FORWARD,
    COL_BACKWARD,
    COL_RECEIVES,
    COL_BYTES,
    COL_FLIGHT,
    COL_BUSY,
    COL_WAITS
};
static const StageColumn stage_columns[] = {
    {"FROM", 24, 106},  {"FORWARD", 11, 0},    {"BACKWARD", 11, 0}, {"RECEIVES", 11, 60},
    {"BYTES", 11, 106}, {"IN FLIGHT", 11, 48}, {"BUSY", 8, 72},     {"WARM-UP", 10, 156},
    {"DRAIN", 10, 156}, {"SENDS", 10, 156},    {"UNEVEN", 10, 156}, {"ORDER", 10, 170},
};
enum { N_STAGE_COLUMNS = sizeof stage_columns / sizeof *stage_columns };

static Str stage_cell(const Ui *ui, const ScheduleState *state, int s, int column)
{
    const Stage *stage = &ui_plan(ui)->decided->stages->at[s];
    const StagePrice *price = &ui_plan(ui)->priced->pipeline->stage[s];
    double forward = stage_forward_us(price), backward = stage_backward_us(price);
    double busy = state->table->n_micro_batches * (forward + (state->table->trains ? backward : 0));

    if (column >= COL_WAITS) {
        double us = stage_waits_us(state, s, (IdleCause)(column - COL_WAITS));
        return us > 0 ? label_us(ui, us) : STR("-");
    }
    switch (column) {
    case COL_FROM:
        return label_op(ui->session, ui->frame, ui->session->inferred->program[stage->first]);
    case COL_FORWARD:
        return label_us(ui, forward);
    case COL_BACKWARD:
        return state->table->trains ? label_us(ui, backward) : STR("-");
    case COL_RECEIVES:
        return price->receive_us > 0 ? label_us(ui, price->receive_us) : STR("-");
    case COL_BYTES:
        return price->receive_bytes > 0 ? label_bytes(ui, price->receive_bytes) : STR("-");
    case COL_FLIGHT:
        return str_from(arena_printf(ui->frame, "%d", state->table->in_flight[s]));
    default:
        return str_from(arena_printf(ui->frame, "%.1f%%",
                                     state->table->us > 0 ? 100 * busy / state->table->us : 0));
    }
}

static void draw_stage_row(const Ui *ui, const ScheduleState *state, int s, bool head, Pen *pen)
{
    enum { DEVICES_W = 10, KIND_W = 14 };
    const Plan *plan = ui_plan(ui);
    int devices_w = DEVICES_W + (plan->decided->machines ? KIND_W : 0);
    Buf devices = buf_marked(ui->frame);

    if (!head)
        chart_put_devices(ui, s, &devices);
    if (!head && plan->decided->machines)
        buf_printf(&devices, " %s",
                   plan_machine_of(plan, plan->decided->stages->at[s].devices)->name);
    if (head)
        pen_puts(pen, ROLE_HEAD, " STAGE ");
    else
        pen_printf(pen, ROLE_TEXT, " %5d ", s);
    if (head)
        pen_fit(pen, ROLE_HEAD, STR("DEVICES"), devices_w);
    else
        pen_text(pen, buf_text(&devices), -1, devices_w);
    for (int c = 0; c < N_STAGE_COLUMNS; c++) {
        const StageColumn *column = &stage_columns[c];
        if (pen->area.w - devices_w + DEVICES_W < column->from_w)
            continue;
        Str text = head ? str_from(column->name) : stage_cell(ui, state, s, c);
        if (c == COL_FROM)
            pen_fit_name(pen, head ? ROLE_HEAD : ROLE_TEXT, text, column->w);
        else
            pen_right(pen, head ? ROLE_HEAD : ROLE_TEXT, text, column->w);
    }
    pen_line(pen);
}

static void draw_stages(Ui *ui, const ScheduleState *state, int lines, Pen *pen)
{
    int n = state->table->n_stages, at = state->table->block[state->at].stage;

    draw_stage_row(ui, state, 0, true, pen);
    int h = lines - 1;
    List *chart = &ui->list[SHOW_SCHEDULE], stages = {.top = at - h / 2};
    list_show(&stages, at, n, h);
    if (chart->n <= chart->height) /* all rows of the chart are shown: the range is of the stages */
        *chart = stages;
    int top = (int)stages.top;
    for (int i = 0; i < h && top + i < n; i++) {
        int y = pen->y;
        draw_stage_row(ui, state, top + i, false, pen);
        if (top + i == at)
            grid_mark(pen->grid, (Rect){pen->area.x, pen->area.y + y, pen->area.w, 1}, STYLE_BOLD);
    }
}

/* ---- the whole ---- */

/* The schedules that stages could have. */
static void draw_kinds(Pen *pen)
{
    enum { KIND_W = 26, SAYS_W = 76, NOTE_FROM = 150 };
    int n;
    const ScheduleKind *kind = schedule_kinds(&n);

    pen_fit(pen, ROLE_HEAD, STR(" SCHEDULES"), KIND_W);
    pen_fit(pen, ROLE_HEAD, STR("HOW MICRO-BATCHES GO THROUGH THE STAGES"), SAYS_W);
    pen_puts(pen, ROLE_HEAD, "BUBBLE");
    pen_puts(pen, ROLE_DIM,
             pen->area.w >= NOTE_FROM ? "  for n equal stages and m micro-batches" : "");
    pen_line(pen);
    for (int i = 0; i < n && !pen_full(pen); i++) {
        pen_rune(pen, ROLE_TEXT, ' ');
        pen_fit(pen, ROLE_FOCUS, str_from(kind[i].name), KIND_W - 1);
        pen_fit(pen, ROLE_TEXT, str_from(kind[i].says), SAYS_W);
        pen_puts(pen, ROLE_DIM, kind[i].bubble);
        pen_line(pen);
    }
    pen_line(pen);
}

/* What stages would be, and what the step costs without them. */
static void draw_without_stages(Ui *ui, Pen *pen)
{
    enum { ACCOUNT_WANTED = 8 };
    int n, beside = STEP_ACCOUNT_LEAST + 2;

    pen_puts(pen, ROLE_TEXT, " the plan has no stages: all devices run every op");
    pen_line(pen);
    pen_puts(pen, ROLE_DIM, " in a policy: graph:staging{..}, graph:assign(..),");
    pen_line(pen);
    pen_puts(pen, ROLE_DIM, " graph:schedule(\"1f1b\", {micro_batches = 8}); help schedules");
    pen_line(pen);
    pen_line(pen);
    schedule_kinds(&n);
    bool kinds = pen->area.h - pen->y >= n + 2 + beside;
    if (!ui_graph(ui)->phase)
        ui->list[SHOW_SCHEDULE].wants = pen->y + n + 2 + ACCOUNT_WANTED;
    if (kinds)
        draw_kinds(pen);
    step_account_draw(ui, pen);
    if (!ui_graph(ui)->phase && !kinds && !pen_full(pen))
        ui->list[SHOW_SCHEDULE].wants = pen->y;
}

static void draw_none(Ui *ui, Pen *pen)
{
    const Plan *plan = ui_plan(ui);

    if (!plan->decided->stages) {
        draw_without_stages(ui, pen);
        return;
    }
    for (int i = 0; i < plan->findings.n; i++) {
        const Finding *finding = &plan->findings.at[i];
        if (strcmp(finding->code, "schedule") != 0)
            continue;
        pen_rune(pen, ROLE_ERROR, ' ');
        pen_put_folded(pen, ROLE_ERROR, str_from(finding->text), 1);
        pen_line(pen);
        pen_rune(pen, ROLE_TEXT, ' ');
        pen_put_folded(pen, ROLE_TEXT, str_from(finding->hint), 1);
        pen_line(pen);
    }
}

/* Lines for the rows: all of them where the table of stages keeps its least; `below`: lines that
 * stand below them anyway. */
static int rows_height(const ScheduleState *state, int h, int below)
{
    int for_rows = h - below;

    if (for_rows - TABLE_LEAST >= state->n_rows)
        return state->n_rows;
    if (for_rows > 3 * TABLE_LEAST)
        for_rows = for_rows * 2 / 3;
    return for_rows < state->n_rows ? for_rows : state->n_rows;
}

static void draw(Ui *ui, Pen *pen)
{
    ScheduleState *state = schedule_state(ui);
    bool tall = pen->area.h >= NOTE_LEAST_H;

    ui->list[SHOW_SCHEDULE].n = ui->list[SHOW_SCHEDULE].height = 0;
    if (!state->table) {
        draw_none(ui, pen);
        return;
    }
    draw_head(ui, state, pen);
    int label = chart_label_columns(ui, state, pen->area.w), w = pen->area.w - label - 1;
    if (w < 2)
        return;
    w = chart_hold(state, w);
    chart_draw_scale(ui, state, label, w, pen);
    int below = tall ? CURSOR_LINES + 1 : 1;
    chart_draw_rows(ui, state, rows_height(state, pen->area.h - pen->y, below), label, w, pen);
    if (tall)
        chart_draw_legend(ui, state, pen);
    if (pen->area.h >= STREAMS_LEAST_H && stage_streams_lines(ui, state) > 0)
        stage_streams_draw(ui, state, label, w, pen);
    draw_cursor(ui, state, tall ? CURSOR_LINES : 1, pen);
    if (tall)
        mem_settings_shorter_draw(ui, pen->area.h >= STREAMS_LEAST_H, pen);
    int left = pen->area.h - pen->y, stages = state->table->n_stages + 1;
    if (left - stages - 1 < STEP_ACCOUNT_LEAST)
        stages = left - STEP_ACCOUNT_LEAST - 1 > TABLE_LEAST ? left - STEP_ACCOUNT_LEAST - 1 : left;
    if (left >= TABLE_LEAST - 2)
        draw_stages(ui, state, stages, pen);
    if (pen->area.h - pen->y > STEP_ACCOUNT_LEAST) {
        pen_line(pen);
        step_account_draw(ui, pen);
    }
}

/* ---- acting ---- */

/* The block in another row that runs then, or the last one before. */
static void go_row(ScheduleState *state, int row)
{
    const Block *here = &state->table->block[state->at];
    double middle = (schedule_from(state, here) + schedule_to(state, here)) / 2;

    state->at = state->block[schedule_find(state, row, middle)];
    state->row = row;
}

/* Moves to a block in the row that shows it. */
static void go_block(ScheduleState *state, int32_t id)
{
    int stage = state->table->block[id].stage;

    state->at = id;
    state->row =
        state->by_lane ? state->table->lanes->lane[state->table->lanes->first[stage]] : stage;
}

static void go_along(ScheduleState *state, int by)
{
    const Block *here = &state->table->block[state->at];
    int32_t place = schedule_find(state, state->row, schedule_from(state, here)) + by;

    if (place >= state->first[state->row] && place < state->first[state->row + 1])
        state->at = state->block[place];
}

/* Along its micro-batch: to what it begins after, or to what needs it next. */
static void go_needed(Ui *ui, ScheduleState *state, bool back)
{
    const Schedule *table = state->table;
    const Block *here = &table->block[state->at];
    int32_t to = here->after;

    if (!back) {
        bool last = here->stage + 1 == table->n_stages;
        int stage = here->backward ? here->stage - 1 : last ? here->stage : here->stage + 1;
        bool backward = here->backward || last;
        to = stage < 0 || (backward && !table->trains)
                 ? -1
                 : schedule_block(table, stage, backward, here->micro_batch);
    }
    if (to >= 0)
        go_block(state, to);
    else
        ui_say(ui, back ? "this block waits for nothing" : "nothing waits for this block");
}

static void open_stage(Ui *ui, const ScheduleState *state)
{
    const Stage *stage = &ui_plan(ui)->decided->stages->at[state->table->block[state->at].stage];

    places_remember(ui);
    ui_go_op(ui, ui->session->inferred->program[stage->first]);
    ui->at.show = SHOW_GRAPH;
}

static bool act(Ui *ui, ActId act)
{
    ScheduleState *state = schedule_state(ui);
    int64_t row = state->row;

    if (!state->table)
        return false;
    if (act == ACT_LEFT || act == ACT_RIGHT) {
        go_along(state, act == ACT_RIGHT ? 1 : -1);
    } else if (act == ACT_TIME_IN || act == ACT_TIME_OUT) {
        chart_zoom(state, act == ACT_TIME_IN ? 0.5 : 2);
    } else if (act == ACT_CONSUMER || act == ACT_PRODUCER) {
        go_needed(ui, state, act == ACT_PRODUCER);
    } else if (act == ACT_GROUPING) {
        schedule_set_rows(state, !state->by_lane);
    } else if (act == ACT_EQUAL) {
        state->by_step = !state->by_step;
        state->len = 0;
    } else if (act == ACT_OPEN) {
        open_stage(ui, state);
    } else if (act == ACT_WHAT_IF) {
        return mem_settings_what_if(ui);
    } else if (list_move(&row, state->n_rows, ui->list[SHOW_SCHEDULE].height, act)) {
        go_row(state, (int)row);
    } else {
        return false;
    }
    return true;
}

static void go(Ui *ui, int64_t row)
{
    ScheduleState *state = schedule_state(ui);

    if (state->table && row >= 0 && row < state->n_rows)
        go_row(state, (int)row);
}

static void note(Ui *ui, Buf *out)
{
    const ScheduleState *state = schedule_state(ui);
    Buf waits = buf_new(ui->frame);

    if (!state->table)
        return;
    int stage = state->table->block[state->at].stage;
    buf_printf(out, "stage %d waits a step: ", stage);
    buf_puts(out, stage_waits_format(ui, state, stage, &waits) ? waits.s : "never");
    if (state->table->trains && !ui_graph(ui)->phase)
        buf_puts(out, "; a backward pass counts as twice its forward pass");
}

static void table(Ui *ui, Sheet *out)
{
    const Schedule *schedule = schedule_state(ui)->table;

    sheet_columns(out, sheet_schedule_columns);
    if (schedule)
        sheet_schedule_rows(ui->session, schedule, out);
}

static const Hint hints[] = {
    {ACT_RIGHT, "block"},       {ACT_DOWN, "row"},
    {ACT_TIME_IN, "zoom"},      {ACT_TIME_OUT, "out"},
    {ACT_PRODUCER, "cause"},    {ACT_CONSUMER, "next"},
    {ACT_GROUPING, "devices"},  {ACT_EQUAL, "steps"},
    {ACT_WHAT_IF, "what-if"},   {ACT_OPEN, "ops"},
    {ACT_SHOW_RUN, "timeline"}, {ACT_HELP, "help"},
    {ACT_CLOSE, "close"},       {0},
};

static void forget(Ui *ui)
{
    schedule_state_forget(ui->own[SHOW_SCHEDULE]);
}

const View view_schedule = {
    .name = "Schedule",
    .draw = draw,
    .act = act,
    .note = note,
    .go = go,
    .list_at = -1,
    .hints = hints,
    .table = table,
    .own_size = sizeof(ScheduleState),
    .forget = forget,
};
