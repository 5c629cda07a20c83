/* mem_strip.c - live bytes of a training step over all its micro-batches: classes stacked, one
 * letter each, with the schedule's blocks on the same devices below. */
#include "core/cost/pipeline.h"
#include "tui/state/format.h"
#include "tui/views/mem.h"

enum { SCALE_W = 11, LABEL_EVERY = 4, ROWS_LEAST = 1 };

typedef struct {
    const Ui *ui;
    const MemoryMoments *step;
    int columns, rows, cursor, peak; /* columns of the time cursor and of the peak */
    int64_t most;
    const MemoryMoment **at; /* per column: its fullest moment */
    const Schedule *table;   /* NULL without stages */
} Strip;

static double column_us(const Strip *strip, int column)
{
    return strip->step->us * column / strip->columns;
}

static int column_of(const Strip *strip, const MemoryMoment *moment)
{
    int column = (int)((moment->from_us + moment->to_us) / 2 / strip->step->us * strip->columns);
    return column < strip->columns ? column : strip->columns - 1;
}

static void fill_columns(Strip *strip)
{
    const MemoryMoments *step = strip->step;
    for (int c = 0, i = 0; c < strip->columns; c++) {
        while (i + 1 < step->n && step->at[i].to_us <= column_us(strip, c))
            i++;
        strip->at[c] = &step->at[i];
        for (int k = i; k < step->n && step->at[k].from_us < column_us(strip, c + 1); k++)
            if (step->at[k].bytes > strip->at[c]->bytes)
                strip->at[c] = &step->at[k];
    }
}

/* ---- the stack ---- */

/* From the bottom up: what is always there first. */
static const MemoryClass order[] = {MEMORY_PARAMETER, MEMORY_GRADIENT,   MEMORY_OPTIMIZER,
                                    MEMORY_INPUT,     MEMORY_ACTIVATION, MEMORY_CONSTANT,
                                    MEMORY_BUFFER};

static Style class_style(MemoryClass class)
{
    return class == MEMORY_ACTIVATION ? ROLE_FORWARD
           : class == MEMORY_BUFFER   ? ROLE_NOTE
           : class == MEMORY_GRADIENT ? ROLE_BACKWARD
                                      : ROLE_DIM;
}

/* The class that stands at the middle of a row, counted from the bottom; blank above them. */
static void draw_cell(const Strip *strip, int column, int row, Pen *pen)
{
    const ClassBytes *live = &strip->at[column]->live;
    int64_t level = (int64_t)((row + 0.5) / strip->rows * (double)strip->most), sum = 0;
    for (size_t k = 0; k < sizeof order / sizeof *order; k++) {
        sum += live->of[order[k]];
        if (level >= sum)
            continue;
        pen_rune(pen, column == strip->cursor ? ROLE_FOCUS : class_style(order[k]),
                 (unsigned char)mem_class_letter(order[k]));
        return;
    }
    pen_rune(pen, ROLE_TEXT, ' ');
}

static void draw_stack(const Strip *strip, Pen *pen)
{
    for (int row = strip->rows - 1; row >= 0; row--) {
        bool labelled = row == strip->rows - 1 || (row + 1) % LABEL_EVERY == 0;
        int64_t level = (int64_t)((double)strip->most * (row + 1) / strip->rows);
        pen_right(pen, ROLE_DIM, labelled ? label_bytes(strip->ui, level) : STR(""), SCALE_W - 2);
        pen_puts(pen, ROLE_DIM, labelled ? " ┤" : " │");
        for (int c = 0; c < strip->columns; c++)
            draw_cell(strip, c, row, pen);
        pen_line(pen);
    }
}

/* ---- the blocks ---- */

static char pass_letter(const Block *block)
{
    /* ORDER BLOCK_PASS: a backward pass, or its halves: of the input, of the weights */
    static const char letters[N_BLOCK_PASSES + 1] = "FBBW";
    return letters[block->pass];
}

/* What runs in the middle of a column. */
static const MemoryMoment *moment_in(const Strip *strip, int column)
{
    double middle = (column_us(strip, column) + column_us(strip, column + 1)) / 2;
    const MemoryMoments *step = strip->step;
    int first = 0, last = step->n - 1;
    while (first < last) {
        int half = first + (last - first) / 2;
        if (step->at[half].to_us <= middle)
            first = half + 1;
        else
            last = half;
    }
    return &step->at[first];
}

/* The block of it; -1 between blocks, -2 in the update. */
static int32_t block_in(const Strip *strip, int column)
{
    const MemoryMoment *moment = moment_in(strip, column);
    return moment->block >= 0 ? moment->block : moment->place < 0 ? -1 : -2;
}

/* Without stages: the pass of the op that runs. */
static void draw_pass(const Strip *strip, int column, Pen *pen)
{
    int place = moment_in(strip, column)->place;
    const Inferred *inferred = strip->ui->session->inferred;
    Phase phase =
        place < 0 ? PHASE_FORWARD : (Phase)ui_graph(strip->ui)->phase[inferred->program[place]];

    if (phase == PHASE_UPDATE)
        pen_rune(pen, ROLE_NOTE, 'u');
    else
        pen_rune(pen, phase == PHASE_FORWARD ? ROLE_FORWARD : ROLE_BACKWARD,
                 phase == PHASE_FORWARD ? 'F' : 'B');
}

static void draw_blocks(const Strip *strip, Pen *pen)
{
    Buf text = buf_new(strip->ui->frame);
    pen_right(pen, ROLE_DIM, STR("0"), SCALE_W - 2);
    pen_puts(pen, ROLE_DIM, " ┼");
    int32_t before = -3;
    const char *number = "";
    for (int c = 0; c < strip->columns; c++) {
        int32_t id = block_in(strip, c);
        if (id != before && id >= 0 && strip->table) {
            text = buf_new(strip->ui->frame);
            buf_printf(&text, "%d", strip->table->block[id].micro_batch);
            bool room = c + (int)text.n < strip->columns && block_in(strip, c + (int)text.n) == id;
            number = room ? text.s : "";
        }
        before = id;
        if (!strip->table) {
            draw_pass(strip, c, pen);
            continue;
        }
        if (id < 0) {
            pen_rune(pen, id == -1 ? ROLE_DIM : ROLE_NOTE, id == -1 ? 0xb7 : 'u');
            continue;
        }
        const Block *block = &strip->table->block[id];
        Style style = block->backward ? ROLE_BACKWARD : ROLE_FORWARD;
        pen_rune(pen, style, (unsigned char)(*number ? *number++ : pass_letter(block)));
    }
    pen_line(pen);
}

/* The times under the columns, and where the peak and the cursor are. */
static void draw_times(const Strip *strip, Pen *pen)
{
    enum { EVERY = 20 };
    pen_tab(pen, SCALE_W);
    for (int c = 0; c < strip->columns;) {
        bool peak = c == strip->peak, cursor = c == strip->cursor;
        Str text = label_us(strip->ui, column_us(strip, c));
        int n = (int)text_columns(text), end = c + n + 1;
        bool room = end <= strip->columns && (strip->peak < c || strip->peak >= end) &&
                    (strip->cursor < c || strip->cursor >= end);
        if (peak || cursor) {
            pen_rune(pen, peak ? ROLE_HEAD : ROLE_FOCUS, peak ? '^' : '|');
            c++;
        } else if (c % EVERY == 0 && room) {
            pen_put(pen, ROLE_DIM, text);
            c += n;
        } else {
            pen_rune(pen, ROLE_DIM, ' ');
            c++;
        }
    }
    pen_line(pen);
}

/* What stands behind the heading: all of it, or without what the scale beside the strip says. */
static Str head_text(const Strip *strip, bool whole)
{
    const Ui *ui = strip->ui;
    const MemoryMoment *peak = &strip->step->at[strip->step->peak];
    Buf text = buf_new(ui->frame);
    buf_puts(&text, "^ the peak");
    if (whole)
        buf_printf(&text, " %.*s", STR_ARG(label_bytes(ui, peak->bytes)));
    buf_printf(&text, " at %.*s", STR_ARG(label_us(ui, peak->from_us)));
    if (strip->table && peak->block >= 0)
        buf_printf(&text, ", %d in flight", peak->in_flight);
    buf_printf(&text, "; %.*s a column", STR_ARG(label_us(ui, strip->step->us / strip->columns)));
    if (strip->table && whole)
        buf_printf(&text, ", %d micro-batches", strip->table->n_micro_batches);
    return buf_str(&text);
}

static void draw_head(const Strip *strip, Pen *pen)
{
    pen_puts(pen, ROLE_HEAD, " OVER THE STEP  ");
    Str text = head_text(strip, true);
    int room = pen->area.w - pen->x;
    pen_fit(pen, ROLE_DIM, text_columns(text) <= room ? text : head_text(strip, false), room);
    pen_line(pen);
}

void mem_strip_draw(const Ui *ui, int rows, Pen *pen)
{
    const Mem *mem = mem_of(ui);
    Strip strip = {.ui = ui, .step = &mem->step, .table = plan_schedule(ui_plan(ui))};
    enum {
        AROUND = 2,
        TIMES_FROM = 6
    }; /* lines: the head, the blocks; times where there is room */
    bool times = rows >= TIMES_FROM;
    strip.columns = pen->area.w - SCALE_W - 1;
    strip.rows = rows - AROUND - times;
    strip.most = strip.step->at[strip.step->peak].bytes;
    if (strip.columns < 4 || strip.rows < ROWS_LEAST || strip.most <= 0)
        return;
    strip.at = arena_array(ui->frame, const MemoryMoment *, strip.columns);
    fill_columns(&strip);
    strip.peak = column_of(&strip, &strip.step->at[strip.step->peak]);
    strip.cursor = column_of(&strip, mem_moment(mem));
    draw_head(&strip, pen);
    draw_stack(&strip, pen);
    draw_blocks(&strip, pen);
    if (times)
        draw_times(&strip, pen);
}
