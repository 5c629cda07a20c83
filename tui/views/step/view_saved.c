/* view_saved.c - what the selected devices keep for the backward pass, by layer, and what making it
 * again would free. */
#include "core/summary/label.h"
#include "tui/state/format.h"
#include "tui/views/mem.h"
#include "tui/views/rows.h"

enum { HEAD_ROWS = 2, BYTES_W = 12, TIMES_W = 6, US_W = 10, NAME_LEAST = 20, AGAIN_FROM = 70 };

/* Columns; 0: there is no room for it. */
typedef struct {
    int name, times, bytes, reader, again, share;
} SavedWidths;

static SavedWidths widths_for(int w)
{
    enum { READER_W = 22, SHARE_W = 8 };
    SavedWidths widths = {.name = w - 1 - BYTES_W};
    int *const optional[] = {&widths.again, &widths.times, &widths.bytes, &widths.share,
                             &widths.reader};
    static const int columns[] = {US_W, TIMES_W, BYTES_W, SHARE_W, READER_W};
    for (size_t i = 0; i < sizeof optional / sizeof *optional; i++)
        if (widths.name - columns[i] >= NAME_LEAST) {
            *optional[i] = columns[i];
            widths.name -= columns[i];
        }
    return widths;
}

static void draw_headings(const SavedWidths *widths, Pen *pen)
{
    pen_fit(pen, ROLE_HEAD, STR("   KEPT OUTPUT OF"), widths->name + 1);
    pen_right(pen, ROLE_HEAD, STR("×"), widths->times);
    pen_right(pen, ROLE_HEAD, STR("A MICRO-B."), widths->bytes);
    pen_right(pen, ROLE_HEAD, STR("AT THE PEAK"), BYTES_W);
    pen_right(pen, ROLE_HEAD, STR("SHARE"), widths->share);
    pen_right(pen, ROLE_HEAD, STR("AGAIN"), widths->again);
    pen_fit(pen, ROLE_HEAD, STR("  READ BY"), widths->reader);
    pen_line(pen);
}

static void draw_row(const Ui *ui, int at, const SavedWidths *widths, Pen *pen)
{
    const Saved *saved = &mem_of(ui)->saved;
    const SavedRow *row = &saved->row[at];
    Style style = row->layer ? ROLE_HEAD : ROLE_TEXT;
    double share = saved->held > 0 ? 100 * (double)row->held / (double)saved->held : 0;
    pen_puts(pen, ROLE_TEXT, row->layer ? " " : "   ");
    pen_fit_name(pen, style, str_from(row->label), widths->name + 1 - pen->x);
    if (widths->times)
        pen_right(pen, ROLE_TEXT, str_from(arena_printf(ui->frame, "%d", row->n)), widths->times);
    if (widths->bytes)
        pen_right(pen, ROLE_TEXT, label_bytes(ui, row->bytes), widths->bytes);
    pen_right(pen, style, label_bytes(ui, row->held), BYTES_W);
    if (widths->share)
        pen_right(pen, ROLE_TEXT, str_from(arena_printf(ui->frame, "%.1f%%", share)),
                  widths->share);
    if (widths->again)
        pen_right(pen, ROLE_TEXT, label_us(ui, row->again_us), widths->again);
    if (widths->reader && row->reader >= 0) {
        pen_puts(pen, ROLE_DIM, "  ");
        pen_fit_name(pen, ROLE_DIM, label_op(ui->session, ui->frame, row->reader),
                     widths->reader - 2);
    }
}

static void draw_top(const Ui *ui, Pen *pen)
{
    const Mem *mem = mem_of(ui);
    Buf text = buf_new(ui->frame);
    buf_puts(&text, " on ");
    mem_format_devices(mem, mem->at, ui->session->mesh->n_devices, 16, &text);
    buf_printf(&text, ": %.*s a micro-batch", STR_ARG(label_bytes(ui, mem->saved.bytes)));
    const char *held =
        arena_printf(ui->frame, ", %.*s at the peak%s", STR_ARG(label_bytes(ui, mem->saved.held)),
                     pen->area.w >= AGAIN_FROM ? "; AGAIN a step" : "");
    if (text_columns(buf_str(&text)) + text_columns(str_from(held)) <= pen->area.w)
        buf_puts(&text, held);
    pen_fit(pen, ROLE_TEXT, buf_str(&text), pen->area.w);
    pen_line(pen);
}

static int row_at(Ui *ui)
{
    mem_is_listed(ui);
    return (int)list_cursor(&ui->list[SHOW_SAVED], mem_of(ui)->saved.n);
}

static void draw(Ui *ui, Pen *pen)
{
    if (!mem_is_listed(ui)) {
        pen_puts(pen, ROLE_NOTE, " counting kept values ..");
        return;
    }
    const Saved *saved = &mem_of(ui)->saved;
    if (saved->n == 0) {
        ui->list[SHOW_SAVED].wants = HEAD_ROWS;
        pen_puts(pen, ROLE_DIM,
                 " nothing is kept: the plan has no backward pass (:train adds one)");
        return;
    }
    int cursor = row_at(ui), h = pen->area.h - HEAD_ROWS;
    SavedWidths widths = widths_for(pen->area.w);
    draw_top(ui, pen);
    draw_headings(&widths, pen);
    ui->list[SHOW_SAVED].wants = saved->n + HEAD_ROWS;
    list_show(&ui->list[SHOW_SAVED], cursor, saved->n, h);
    for (int i = (int)ui->list[SHOW_SAVED].top; i < saved->n && !pen_full(pen); i++) {
        draw_row(ui, i, &widths, pen);
        rows_end(ui, SHOW_SAVED, i == cursor, pen);
    }
}

static void go(Ui *ui, int64_t at)
{
    ui->list[SHOW_SAVED].at = at;
    if (mem_is_listed(ui) && mem_of(ui)->saved.n > 0)
        ui_select_op(ui, mem_of(ui)->saved.row[row_at(ui)].op);
}

static bool act(Ui *ui, ActId act)
{
    int64_t at = row_at(ui);
    if (mem_act(ui, act))
        return true;
    if (mem_of(ui)->saved.n == 0)
        return false;
    if (list_move(&at, mem_of(ui)->saved.n, ui->list[SHOW_SAVED].height, act)) {
        go(ui, at);
    } else if (act == ACT_WHAT_IF) {
        mem_settings_what_if(ui);
    } else if (act == ACT_OPEN) {
        places_remember(ui);
        ui_go_op(ui, mem_of(ui)->saved.row[at].op);
        ui->at.show = SHOW_GRAPH;
    } else {
        return false;
    }
    return true;
}

static void table(Ui *ui, Sheet *out)
{
    mem_list(mem_of(ui), ui->session, NULL);
    const Saved *saved = &mem_of(ui)->saved;
    sheet_head(out, "op read_by n# in_flight# bytes# peak_bytes# again_us#");
    for (int i = 0; i < saved->n; i++) {
        const SavedRow *row = &saved->row[i];
        if (row->layer)
            continue;
        sheet_put(out, label_op(ui->session, out->arena, row->op));
        sheet_put(out, row->reader < 0 ? STR("-") : label_op(ui->session, out->arena, row->reader));
        sheet_number(out, row->n);
        sheet_number(out, row->in_flight);
        sheet_number(out, (double)row->bytes);
        sheet_number(out, (double)row->held);
        sheet_number(out, row->again_us);
    }
}

static const Hint hints[] = {
    {ACT_DOWN, "move"},        {ACT_OPEN, "op"},
    {ACT_WHAT_IF, "settings"}, {ACT_NEXT_PANE, "pane"},
    {ACT_DIM_NEXT, "later"},   {ACT_WHY, "why"},
    {ACT_BACK, "back"},        {ACT_HELP, "help"},
    {ACT_CLOSE, "close"},      {0},
};

const View view_saved = {
    .name = "Kept",
    .draw = draw,
    .act = act,
    .note = mem_note,
    .go = go,
    .list_at = HEAD_ROWS,
    .hints = hints,
    .table = table,
};
