#include "tui/views/schedule_chart.h"

#include "core/cost/pipeline.h"
#include "core/summary/comm.h"
#include "tui/state/format.h"

#include <math.h>

enum {
    LABEL_MOST = 16,
    EASY_COLUMNS = 4, /* of the shortest block, in a window of a part */
};

/* ---- the window ---- */

static double shortest(const ScheduleState *state)
{
    double least = schedule_whole(state);

    for (int i = 0; i < state->table->n_blocks; i++) {
        const Block *block = &state->table->block[i];
        double len = schedule_to(state, block) - schedule_from(state, block);
        if (len > 0 && len < least)
            least = len;
    }
    return least;
}

static int digits_of(int n)
{
    return n < 10 ? 1 : 1 + digits_of(n / 10);
}

/* All of it where the shortest block has a column; steps, which are as wide as each other, where
 * they have room for names. */
static void choose_window(ScheduleState *state, int w)
{
    double whole = schedule_whole(state), least = shortest(state);
    int name = state->by_step ? digits_of(state->table->n_micro_batches - 1) + 1 : 1;

    state->from = 0;
    state->len = whole > 0 ? whole : 1;
    if (least * w < name * whole)
        state->len = fmin(whole, least * w / EASY_COLUMNS);
    if (state->by_step && state->len < whole)
        state->len = floor(state->len);
}

/* Holds the cursor inside the window, and the window inside the whole. */
static void hold_window(ScheduleState *state)
{
    const Block *block = &state->table->block[state->at];
    double from = schedule_from(state, block), to = schedule_to(state, block);

    if (to > state->from + state->len)
        state->from = to - state->len * 3 / 4;
    if (from < state->from)
        state->from = from - state->len / 4;
    if (state->from + state->len > schedule_whole(state))
        state->from = schedule_whole(state) - state->len;
    if (state->from < 0)
        state->from = 0;
}

void chart_zoom(ScheduleState *state, double factor)
{
    const Block *block = &state->table->block[state->at];
    double middle = (schedule_from(state, block) + schedule_to(state, block)) / 2;
    double len = fmin(state->len * factor, schedule_whole(state));

    if (len < 1e-3)
        return;
    state->from = middle - len * (middle - state->from) / state->len;
    state->len = len;
}

/* Steps have one width each, so that equal ones look equal. */
static int whole_steps(const ScheduleState *state, int w)
{
    int each = (int)(w / state->len);

    return state->by_step && each > 0 ? (int)(each * state->len) : w;
}

int chart_hold(ScheduleState *state, int w)
{
    if (state->len <= 0)
        choose_window(state, w);
    hold_window(state);
    return whole_steps(state, w);
}

/* ---- texts ---- */

static Str place_text(const Ui *ui, const ScheduleState *state, double at)
{
    if (state->by_step)
        return str_from(arena_printf(ui->frame, "step %.0f", at));
    return label_us(ui, at);
}

void chart_put_devices(const Ui *ui, int stage, Buf *out)
{
    comm_format_part(ui->session, ui_plan(ui)->decided->stages->at[stage].devices, out);
}

/* The devices of a lane: those of a stage that has no other lane, else its number. */
static void put_lane(const Ui *ui, const ScheduleState *state, int lane, Buf *out)
{
    const Lanes *lanes = state->table->lanes;

    for (int s = 0; s < state->table->n_stages; s++)
        if (lanes->first[s + 1] - lanes->first[s] == 1 && lanes->lane[lanes->first[s]] == lane) {
            chart_put_devices(ui, s, out);
            return;
        }
    buf_printf(out, "lane %d", lane);
}

static Text row_label(const Ui *ui, const ScheduleState *state, int row)
{
    Buf text = buf_marked(ui->frame);

    if (state->by_lane) {
        put_lane(ui, state, row, &text);
        return buf_text(&text);
    }
    buf_printf(&text, "s%d ", row);
    chart_put_devices(ui, row, &text);
    return buf_text(&text);
}

int chart_label_columns(const Ui *ui, const ScheduleState *state, int w)
{
    int most = 0;

    for (int row = 0; row < state->n_rows; row++) {
        int n = text_columns(row_label(ui, state, row).str);
        most = n > most ? n : most;
    }
    most = most > LABEL_MOST ? LABEL_MOST : most;
    return most + 2 < w / 3 ? most + 2 : w / 3;
}

/* The stages of a lane that come before one: its chunk there, as a letter. */
static char chunk_letter(const ScheduleState *state, int row, int stage)
{
    const Lanes *lanes = state->table->lanes;
    int n = 0;

    for (int s = 0; s < stage; s++)
        for (int32_t i = lanes->first[s]; i < lanes->first[s + 1]; i++)
            n += lanes->lane[i] == row;
    return n < 26 ? (char)('a' + n) : '?';
}

static bool has_chunks(const ScheduleState *state)
{
    return state->by_lane && state->table->lanes->n < state->table->n_stages;
}

/* ---- rows ---- */

/* ORDER WORK_OF: what is drawn alike: forward, backward, and of it the gradients of weights where
 * the plan knows their time. */
typedef enum { OF_FORWARD, OF_BACKWARD, OF_WEIGHTS, N_WORK_OF } WorkOf;

static uint32_t work_rune(WorkOf work)
{
    static const uint32_t runes[N_WORK_OF] = {0x2500, 0x2550, 0x2592};
    return runes[work];
}

static Style work_style(WorkOf work)
{
    return work == OF_FORWARD ? ROLE_FORWARD : ROLE_BACKWARD;
}

/* The share of a block's time, at its end, in which it makes gradients of weights. */
static double weights_share(const Ui *ui, const ScheduleState *state, const Block *block)
{
    const StagePrice *price = &ui_plan(ui)->priced->pipeline->stage[block->stage];
    if (block->pass == BLOCK_WEIGHT)
        return 1;
    bool whole = block->pass == BLOCK_BACKWARD && price->trains && !state->by_step;
    return whole && price->backward_us > 0 ? price->weight_us / price->backward_us : 0;
}

typedef struct {
    double busy[N_WORK_OF]; /* shares of the column */
    char letter;            /* of a block's name; 0: none */
    Style marks;
} ChartColumn;

static int column_at(const ScheduleState *state, double at, int w)
{
    double x = floor((at - state->from) / state->len * w + 1e-9);

    return x < 0 ? 0 : x > w ? w : (int)x;
}

static void cover_part(double from, double to, WorkOf work, ChartColumn *column, int w)
{
    from = fmax(from, 0);
    to = fmin(to, w);
    for (int x = (int)from; x < to && x < w; x++)
        column[x].busy[work] += fmin(to, x + 1) - fmax(from, x);
}

/* Adds a block to the columns that it covers a part of. */
static void cover(const Ui *ui, const ScheduleState *state, const Block *block, ChartColumn *column,
                  int w)
{
    double from = (schedule_from(state, block) - state->from) / state->len * w;
    double to = (schedule_to(state, block) - state->from) / state->len * w;
    double weights = to - (to - from) * weights_share(ui, state, block);

    cover_part(from, weights, block->backward ? OF_BACKWARD : OF_FORWARD, column, w);
    cover_part(weights, to, OF_WEIGHTS, column, w);
}

/* Its micro-batch where that has room, then the chunk; the blocks of the cursor's micro-batch. */
static void name_block(const Ui *ui, const ScheduleState *state, int row, int32_t id,
                       ChartColumn *column, int w)
{
    const Block *block = &state->table->block[id], *here = &state->table->block[state->at];
    int x = column_at(state, schedule_from(state, block), w);
    int end = column_at(state, schedule_to(state, block), w);
    Buf name = buf_new(ui->frame);

    buf_printf(&name, "%d", block->micro_batch);
    if (has_chunks(state) && (int)name.n < end - x)
        buf_putc(&name, chunk_letter(state, row, block->stage));
    bool room = (int)name.n + block->backward <= end - x; /* a backward shows its rule too */
    for (int i = 0; room && i < (int)name.n; i++)
        column[x + i].letter = name.s[i];
    Style marks = id == state->at                           ? STYLE_SELECTED
                  : block->micro_batch == here->micro_batch ? STYLE_BOLD | STYLE_UNDERLINE
                                                            : 0;
    if (end == x && id == state->at && x < w)
        end = x + 1;
    for (int i = x; marks && i < end; i++)
        column[i].marks = marks;
}

static void draw_row(const Ui *ui, const ScheduleState *state, int row, int w, Pen *pen)
{
    ChartColumn *column = arena_array(ui->frame, ChartColumn, w);
    int32_t first = schedule_find(state, row, state->from);

    for (int32_t i = first; i < state->first[row + 1]; i++) {
        int32_t id = state->block[i];
        const Block *block = &state->table->block[id];
        if (schedule_from(state, block) >= state->from + state->len)
            break;
        cover(ui, state, block, column, w);
        name_block(ui, state, row, id, column, w);
    }
    for (int x = 0; x < w; x++) {
        WorkOf most = OF_FORWARD;
        double busy = 0;
        for (WorkOf work = 0; work < N_WORK_OF; work++) {
            busy += column[x].busy[work];
            most = column[x].busy[work] > column[x].busy[most] ? work : most;
        }
        if (column[x].letter)
            pen_rune(pen, (Style)(work_style(most) | column[x].marks), (uint32_t)column[x].letter);
        else if (busy >= 0.5 || column[x].marks & STYLE_SELECTED)
            pen_rune(pen, (Style)(work_style(most) | column[x].marks), work_rune(most));
        else
            pen_rune(pen, ROLE_DIM, 0xb7);
    }
}

void chart_draw_rows(Ui *ui, const ScheduleState *state, int h, int label, int w, Pen *pen)
{
    list_show(&ui->list[SHOW_SCHEDULE], state->row, state->n_rows, h);
    int top = (int)ui->list[SHOW_SCHEDULE].top;

    for (int i = 0; i < h && top + i < state->n_rows; i++) {
        int row = top + i;
        pen_rune(pen, ROLE_FOCUS, row == state->row ? '>' : ' ');
        pen_text(pen, row_label(ui, state, row), -1, label - 2);
        pen_tab(pen, label);
        if (row == state->row) {
            Pen cursor = *pen;
            const Block *here = &state->table->block[state->at];
            pen_to(&cursor, label + column_at(state, schedule_from(state, here), w), pen->y);
            if (ui->at.show == SHOW_SCHEDULE)
                pen_cursor(&cursor);
        }
        draw_row(ui, state, row, w, pen);
        pen_line(pen);
    }
}

/* ---- around the rows ---- */

/* Where the window stands in the whole, and its scale. */
void chart_draw_scale(const Ui *ui, const ScheduleState *state, int label, int w, Pen *pen)
{
    double whole = schedule_whole(state);
    Str from = place_text(ui, state, state->from);
    Str to = place_text(ui, state, state->from + state->len);

    pen_tab(pen, label);
    pen_put(pen, ROLE_DIM, from);
    if (state->by_step)
        pen_printf(pen, ROLE_DIM, "  one step = %.3g column%s", w / state->len,
                   w == state->len ? "" : "s");
    else
        pen_printf(pen, ROLE_DIM, "  one column = %.*s", STR_ARG(label_us(ui, state->len / w)));
    if (state->len < whole * 0.999)
        pen_printf(pen, ROLE_NOTE, "  %.3g%% of it", 100 * state->len / whole);
    if (pen->x + (int)to.n + 1 < label + w) {
        pen_tab(pen, label + w - (int)to.n);
        pen_put(pen, ROLE_DIM, to);
    }
    pen_line(pen);
}

static bool has_weights(const Ui *ui, const ScheduleState *state)
{
    for (int i = 0; i < state->table->n_blocks; i++)
        if (weights_share(ui, state, &state->table->block[i]) > 0)
            return true;
    return false;
}

void chart_draw_legend(const Ui *ui, const ScheduleState *state, Pen *pen)
{
    /* ORDER WORK_OF */
    static const char *const names[N_WORK_OF] = {"forward of micro-batch 3", "backward",
                                                 "gradients of weights"};
    int n = !state->table->trains ? 1 : has_weights(ui, state) ? N_WORK_OF : OF_WEIGHTS;
    pen_puts(pen, ROLE_DIM, " ");
    for (WorkOf work = 0; work < (WorkOf)n; work++) {
        pen_puts(pen, work_style(work), work == OF_WEIGHTS ? "" : "3");
        for (int i = 0; i < 2; i++)
            pen_rune(pen, work_style(work), work_rune(work));
        pen_printf(pen, ROLE_DIM, " %s  ", names[work]);
    }
    pen_rune(pen, ROLE_DIM, 0xb7);
    pen_puts(pen, ROLE_DIM, has_chunks(state) ? " waits  a b stages of a row" : " waits");
    pen_line(pen);
}
