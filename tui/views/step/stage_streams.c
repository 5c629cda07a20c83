#include "tui/views/step/stage_streams.h"

#include "core/cost/slot_pieces.h"
#include "core/cost/streams.h"
#include "tui/state/format.h"

#include <math.h>

/* Row 0 is of ops, the others of collectives over the same atoms. */
enum { ROWS_MAX = 6, HEAD_LINES = 1, WAIT_LINES = 1 };

/* How busy each row has been since the slot began, at the begin of each piece and at the end. */
typedef struct {
    int n; /* pieces */
    double *at_us, *busy_us[ROWS_MAX];
    int8_t *row; /* of each piece */
} PassSums;

typedef struct StageStreams {
    int n_rows;
    AtomSet atoms[ROWS_MAX];
    double us[ROWS_MAX]; /* in a step */
    PassSums pass[N_BLOCK_PASSES];
} StageStreams;

/* ---- sums ---- */

/* The last row takes what has no row of its own. */
static int row_of(StageStreams *streams, const SlotPiece *piece)
{
    if (piece->op)
        return 0;
    for (int row = 1; row < streams->n_rows; row++)
        if (streams->atoms[row] == piece->atoms)
            return row;
    if (streams->n_rows == ROWS_MAX)
        return ROWS_MAX - 1;
    streams->atoms[streams->n_rows] = piece->atoms;
    return streams->n_rows++;
}

static void sum_pass(Arena *arena, StageStreams *streams, const SlotPieces *pieces, PassSums *sums)
{
    sums->n = pieces->n;
    sums->row = arena_array(arena, int8_t, pieces->n + 1);
    sums->at_us = arena_array(arena, double, pieces->n + 1);
    for (int row = 0; row < ROWS_MAX; row++)
        sums->busy_us[row] = arena_array(arena, double, pieces->n + 1);
    for (int i = 0; i < pieces->n; i++) {
        const SlotPiece *piece = &pieces->piece[i];
        sums->row[i] = (int8_t)row_of(streams, piece);
        sums->at_us[i + 1] = sums->at_us[i] + piece->us;
        for (int row = 0; row < ROWS_MAX; row++)
            sums->busy_us[row][i + 1] =
                sums->busy_us[row][i] + (row == sums->row[i] ? piece->us : 0);
    }
}

static double busy_until(const PassSums *sums, int row, double at_us)
{
    int low = 0, high = sums->n;
    while (low < high) {
        int middle = (low + high + 1) / 2;
        if (sums->at_us[middle] <= at_us)
            low = middle;
        else
            high = middle - 1;
    }
    double since = low < sums->n && sums->row[low] == row ? at_us - sums->at_us[low] : 0;
    return sums->busy_us[row][low] + since;
}

static void sum_step(const Schedule *table, int stage, StageStreams *streams)
{
    for (int i = 0; i < table->n_blocks; i++) {
        const PassSums *sums = &streams->pass[table->block[i].pass];
        for (int row = 0; row < streams->n_rows && table->block[i].stage == stage; row++)
            streams->us[row] += sums->busy_us[row][sums->n];
    }
}

static const StageStreams *streams_of(Ui *ui, ScheduleState *state, int stage)
{
    StageStreams *known = state->streams[stage];
    if (known)
        return known;
    known = state->streams[stage] = arena_make(state->facts, StageStreams);
    known->n_rows = 1;
    for (BlockPass pass = 0; pass < N_BLOCK_PASSES; pass++) {
        Arena *scratch = arena_new();
        SlotPieces pieces = slot_pieces(scratch, ui_plan(ui), stage, pass);
        sum_pass(state->facts, known, &pieces, &known->pass[pass]);
        arena_free(scratch);
    }
    sum_step(state->table, stage, known);
    return known;
}

static int stage_at(const ScheduleState *state)
{
    return state->table->block[state->at].stage;
}

/* ---- waits ---- */

static int lane_of(const ScheduleState *state, int stage)
{
    return state->table->lanes->lane[state->table->lanes->first[stage]];
}

double stage_waits_us(const ScheduleState *state, int stage, IdleCause cause)
{
    return state->idle.lane_us[lane_of(state, stage)][cause];
}

bool stage_waits_format(const Ui *ui, const ScheduleState *state, int stage, Buf *out)
{
    size_t from = out->n;
    const double *us = state->idle.lane_us[lane_of(state, stage)];
    bool shown[N_IDLE_CAUSES] = {false};
    for (int n = 0; n < N_IDLE_CAUSES; n++) {
        int most = -1;
        for (int c = 0; c < N_IDLE_CAUSES; c++)
            if (!shown[c] && (most < 0 || us[c] > us[most]))
                most = c;
        shown[most] = true;
        if (us[most] > IDLE_SHOWN * state->table->us)
            buf_printf(out, "%s%s %.*s", out->n > from ? ", " : "",
                       idle_cause_name((IdleCause)most), STR_ARG(label_us(ui, us[most])));
    }
    return out->n > from;
}

/* ---- drawing ---- */

typedef struct {
    Ui *ui;
    const ScheduleState *state;
    const StageStreams *streams;
    int stage, w;
} Drawing;

static double column_at(const Drawing *d, int x)
{
    return d->state->from + d->state->len * x / d->w;
}

/* The share of a column that a row is busy with blocks of the stage. */
static double column_share(const Drawing *d, int row, int x)
{
    const ScheduleState *state = d->state;
    double from = column_at(d, x), to = column_at(d, x + 1), busy = 0;
    int32_t i = schedule_find(state, state->row, from);
    for (; i < state->first[state->row + 1]; i++) {
        const Block *block = &state->table->block[state->block[i]];
        double begin = schedule_from(state, block), end = schedule_to(state, block);
        const PassSums *sums = &d->streams->pass[block->pass];
        double whole = sums->at_us[sums->n];
        if (begin >= to)
            break;
        if (end <= begin || block->stage != d->stage)
            continue;
        double a = (fmax(from, begin) - begin) / (end - begin),
               b = (fmin(to, end) - begin) / (end - begin);
        if (b > a && whole > 0)
            busy += (busy_until(sums, row, b * whole) - busy_until(sums, row, a * whole)) / whole *
                    (end - begin);
    }
    return busy / (to - from);
}

static void draw_share(Style style, double share, Pen *pen)
{
    int eighths = (int)lround(share * 8);
    if (eighths < 1)
        pen_rune(pen, ROLE_DIM, share > 0.01 ? 0x2581 : ' ');
    else
        pen_rune(pen, style, (uint32_t)(0x2580 + (eighths > 8 ? 8 : eighths)));
}

static Style row_style(const Drawing *d, int row)
{
    const Mesh *mesh = d->ui->session->mesh;
    double step_us = plan_step_us(ui_plan(d->ui));
    if (row == 0)
        return ROLE_FORWARD;
    if (d->streams->us[row] > step_us * d->ui->look.settings.dear / 100)
        return ROLE_DEAR;
    for (int atom = 0; atom < mesh->n_atoms; atom++)
        if (d->streams->atoms[row] >> atom & 1)
            return style_axis(mesh->atoms[atom].axis);
    return ROLE_TEXT;
}

static void put_row_name(const Drawing *d, int row, Buf *out)
{
    if (row == 0)
        buf_puts(out, "ops");
    else if (d->streams->atoms[row] == 0)
        buf_puts(out, "in ops");
    else
        mesh_format_set(d->ui->session->mesh, d->streams->atoms[row], ".", out);
}

static void draw_row(const Drawing *d, int row, int label, Pen *pen)
{
    Buf name = buf_marked(d->ui->frame);
    put_row_name(d, row, &name);
    pen_puts(pen, ROLE_TEXT, "   ");
    pen_text(pen, buf_text(&name), -1, label - 4);
    pen_tab(pen, label);
    for (int x = 0; x < d->w; x++)
        draw_share(row_style(d, row), column_share(d, row, x), pen);
    pen_line(pen);
}

/* Each wait as the name of its cause, or as dots where there is no room for that. */
static void draw_waits(const Drawing *d, int label, Pen *pen)
{
    const ScheduleState *state = d->state;
    pen_puts(pen, ROLE_TEXT, "   waits");
    for (int i = 0; i < state->idle.n; i++) {
        const IdleGap *gap = &state->idle.gap[i];
        double from = (gap->start_us - state->from) / state->len * d->w;
        double to = (gap->end_us - state->from) / state->len * d->w;
        int x = (int)ceil(fmax(from, 0)), end = (int)floor(fmin(to, d->w));
        if (gap->lane != lane_of(state, d->stage) || end <= x)
            continue;
        pen_to(pen, label + x, pen->y);
        Str name = str_from(idle_cause_name(gap->cause));
        if (text_columns(name) <= end - x)
            pen_fit(pen, ROLE_NOTE, name, end - x);
        else
            for (int c = x; c < end; c++)
                pen_rune(pen, ROLE_NOTE, 0xb7);
    }
    pen_line(pen);
}

/* StreamTraffic of parameters that runs beside the stage's ops in a step, and delays none. */
static double hidden_us(const Plan *plan, int stage)
{
    const Streams *streams = plan->priced->pipeline->streams;
    double us = 0;
    for (int i = 0; i < streams->n; i++) {
        const StreamTraffic *row = &streams->at[i];
        int times = row->when == WHEN_ONCE ? 1 : plan->decided->stages->n_micro_batches;
        if (row->stage == stage)
            us += times * fmax(0, row->alone_us - row->exposed_us);
    }
    return us;
}

/* "STREAMS of stage 0, 4.81 s: ops 75.1%, tp 12.7%, waits 13.5%". */
static void draw_head(const Drawing *d, Pen *pen)
{
    Buf text = buf_marked(d->ui->frame);
    double whole = d->state->table->us, waits = 0;
    buf_printf(&text, " of stage %d, of its %.*s:", d->stage, STR_ARG(label_us(d->ui, whole)));
    for (int row = 0; row < d->streams->n_rows; row++) {
        buf_puts(&text, row ? ", " : " ");
        put_row_name(d, row, &text);
        buf_printf(&text, " %.1f%%", 100 * d->streams->us[row] / whole);
    }
    for (int c = 0; c < N_IDLE_CAUSES; c++)
        waits += d->state->idle.lane_us[lane_of(d->state, d->stage)][c];
    buf_printf(&text, ", waits %.1f%%; ops wait for these collectives", 100 * waits / whole);
    double hidden = hidden_us(ui_plan(d->ui), d->stage);
    if (hidden > IDLE_SHOWN * whole)
        buf_printf(&text, ", and %.*s more are hidden", STR_ARG(label_us(d->ui, hidden)));
    pen_puts(pen, ROLE_HEAD, " STREAMS");
    pen_text(pen, buf_text(&text), -1, pen->area.w - pen->x);
    pen_line(pen);
}

int stage_streams_lines(Ui *ui, ScheduleState *state)
{
    bool priced = ui_graph(ui)->phase && !state->by_lane && !state->by_step;
    return priced ? HEAD_LINES + streams_of(ui, state, stage_at(state))->n_rows + WAIT_LINES : 0;
}

void stage_streams_draw(Ui *ui, ScheduleState *state, int label, int w, Pen *pen)
{
    int stage = stage_at(state);
    Drawing d = {.ui = ui, .state = state, .stage = stage, .w = w};
    d.streams = streams_of(ui, state, stage);
    draw_head(&d, pen);
    for (int row = 0; row < d.streams->n_rows; row++)
        draw_row(&d, row, label, pen);
    draw_waits(&d, label, pen);
}
