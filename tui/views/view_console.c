#include "tui/state/console.h"
#include "tui/views/rows.h"

enum { HINT_LINES = 2 };

static const Style styles[] = {[CONSOLE_TYPED] = ROLE_HEAD,
                               [CONSOLE_ANSWER] = ROLE_TEXT,
                               [CONSOLE_ERROR] = ROLE_ERROR,
                               [CONSOLE_CHANGE] = ROLE_NOTE};

/* A line of the screen: a line, or what of it did not fit the one before. */
typedef struct {
    const ConsoleLine *line;
    Str part;
} ShownLine;

static ShownLine *wrap_lines(const Ui *ui, int columns, int *n_rows)
{
    Vec(ShownLine) rows = {0};

    columns = columns > 8 ? columns : 8;
    for (int i = 0; i < ui->console->lines.n; i++) {
        const ConsoleLine *line = &ui->console->lines.at[i];
        Str rest = line->text;
        do {
            Str text = rest, part = text_take_line(&rest, columns);
            if (text_columns(part) > columns) { /* a word wider than the line */
                part = text_head(text, columns);
                rest = (Str){text.s + part.n, text.n - part.n};
            }
            vec_push(ui->frame, &rows, ((ShownLine){line, part}));
        } while (rest.n > 0);
    }
    *n_rows = rows.n;
    return rows.at;
}

static void draw_row(const ShownLine *row, Pen *pen)
{
    ConsoleKind kind = row->line->kind;
    bool first = row->part.s == row->line->text.s;

    if (kind == CONSOLE_ERROR)
        pen_puts(pen, ROLE_ERROR, first ? "! " : "  ");
    else
        pen_puts(pen, ROLE_DIM, first && kind == CONSOLE_TYPED ? "> " : "  ");
    pen_fit(pen, styles[kind], row->part, pen->area.w - pen->x);
}

static bool is_typing(const Ui *ui)
{
    return ui->prompt && ui->prompt->kind == '>';
}

/* What is typed stands where its line will, below all others. */
static void draw_typed(const Ui *ui, Pen *pen)
{
    Str text = {ui->prompt->text, (size_t)ui->prompt->n};
    int room = pen->area.w - 4, columns = text_columns(text);

    pen_puts(pen, ROLE_FOCUS, " > ");
    pen_fit_tail(pen, ROLE_TEXT, text, columns < room ? columns : room);
    pen_cursor(pen);
}

static void draw_nothing_yet(const Ui *ui, Pen *pen)
{
    pen_puts(pen, ROLE_DIM,
             ui->session->options.policy ? " Lua 5.4 in the policy's state: g is the graph"
                                         : " Lua 5.4: g is the graph");
    pen_line(pen);
    pen_puts(pen, ROLE_DIM,
             " i types a line:  g:op(\"NAME\").out[1]   "
             "g:shard(\"PATTERN\", {n = \"AXIS\"})");
    pen_line(pen);
}

static void draw(Ui *ui, Pen *pen)
{
    int n, h = pen->area.h - is_typing(ui);
    const ShownLine *rows = wrap_lines(ui, pen->area.w - 4, &n);
    int64_t *at = &ui->list[SHOW_CONSOLE].at;

    if (is_typing(ui) || ui->list[SHOW_CONSOLE].n != n)
        *at = n > 0 ? n - 1 : 0;
    ui->list[SHOW_CONSOLE].n = n;
    ui->list[SHOW_CONSOLE].height = h;
    ui->list[SHOW_CONSOLE].wants = (n > HINT_LINES ? n : HINT_LINES) + 1;
    if (n == 0)
        draw_nothing_yet(ui, pen);
    int64_t top = list_scroll(ui->list[SHOW_CONSOLE].top, *at, n, h);
    ui->list[SHOW_CONSOLE].top = top;
    for (int y = 0; y < h && top + y < n; y++) {
        pen_to(pen, 1, y);
        draw_row(&rows[top + y], pen);
        if (top + y == *at && !is_typing(ui))
            rows_mark(ui, SHOW_CONSOLE, pen, y);
    }
    if (!is_typing(ui))
        return;
    pen_to(pen, 0, n > 0 ? n - (int)top : HINT_LINES);
    draw_typed(ui, pen);
}

static bool act(Ui *ui, ActId act)
{
    if (act == ACT_OPEN) {
        ui->asked.command = action_by_id(ACT_LUA)->name;
        return true;
    }
    return list_move(&ui->list[SHOW_CONSOLE].at, ui->list[SHOW_CONSOLE].n,
                     ui->list[SHOW_CONSOLE].height, act);
}

static void go(Ui *ui, int64_t row)
{
    if (row >= 0 && row < ui->list[SHOW_CONSOLE].n)
        ui->list[SHOW_CONSOLE].at = row;
}

static void note(Ui *ui, Buf *out)
{
    (void)ui;
    buf_puts(out, "each line that changes the plan is one step: u undoes it, :write saves it");
}

static void table(Ui *ui, Sheet *out)
{
    static const char *const kinds[] = {"typed", "answer", "error", "change"};

    sheet_head(out, "kind text");
    for (int i = 0; i < ui->console->lines.n; i++) {
        const ConsoleLine *line = &ui->console->lines.at[i];
        sheet_put(out, str_from(kinds[line->kind]));
        sheet_put(out, line->text);
    }
}

static const Hint hints[] = {
    {ACT_LUA, "type"},  {ACT_UNDO, "undo"}, {ACT_REDO, "redo"},   {ACT_NEXT_PANE, "pane"},
    {ACT_BACK, "back"}, {ACT_HELP, "help"}, {ACT_CLOSE, "close"}, {0},
};

const View view_console = {
    .name = "Console",
    .draw = draw,
    .act = act,
    .note = note,
    .go = go,
    .list_at = 0,
    .hints = hints,
    .table = table,
};
