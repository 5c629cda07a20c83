#include "tui/views/page.h"

#include "tui/views/rows.h"

enum { WRAP_INDENT = 8, HANG_LEAST = 32 };

Text page_line(Text text, int64_t line)
{
    for (; line > 0 && text.str.n > 0; line--)
        text_take(&text, '\n');
    return text_take(&text, '\n');
}

/* Where a line goes on: below its last column, which two blanks part from what is before it. */
static int indent_of(Str part, int columns)
{
    int column = 0, indent = WRAP_INDENT;
    bool text = false;

    for (int blanks = 0; part.n > 0; column++) {
        bool blank = str_take_rune(&part) == ' ';
        if (!blank && blanks > 1 && text && columns - column >= HANG_LEAST)
            indent = column;
        text = text || !blank;
        blanks = blank ? blanks + 1 : 0;
    }
    return indent;
}

/* Lines longer than the page go on in the next one, indented; they break at blanks. */
static Text wrapped(const Ui *ui, Text text, int columns, int64_t *n_lines)
{
    Buf out = buf_marked(ui->frame);

    for (*n_lines = 0; text.str.n > 0;) {
        Text line = text_take(&text, '\n');
        int indent = 0, hang = indent_of(line.str, columns);
        do {
            Str rest = line.str;
            if (columns > 2 * WRAP_INDENT && rest.n > 0) {
                Str part = text_take_line(&rest, columns - indent);
                buf_blanks(&out, indent);
                buf_add_text(&out, text_part(line, 0, part.n));
            } else {
                buf_add_text(&out, line);
                rest.n = 0;
            }
            buf_putc(&out, '\n');
            line = text_part(line, line.str.n - rest.n, rest.n);
            indent = hang;
            ++*n_lines;
        } while (line.str.n > 0);
    }
    return buf_text(&out);
}

/* A page that is longer than its area stands in columns where those are wide enough. */
static int columns_of(const Ui *ui, Text text, const Rect *area)
{
    int64_t n;

    wrapped(ui, text, area->w - 1, &n);
    return n > area->h && area->w >= 2 * PAGE_COLUMN_W ? area->w / PAGE_COLUMN_W : 1;
}

static void draw_line(Text line, int y, Pen *pen)
{
    pen_to(pen, 1, y);
    if (line.str.n > 0 && line.str.s[0] != ' ')
        pen_fit(pen, ROLE_HEAD, line.str, pen->area.w - 1);
    else
        pen_text(pen, line, -1, pen->area.w - 1);
}

void page_draw(Ui *ui, ShowId show, Text text, Pen *pen)
{
    List *list = &ui->list[show];
    const Rect *area = &pen->area;
    int n_columns = columns_of(ui, text, area), w = area->w / n_columns, h = area->h;
    int64_t n;

    text = wrapped(ui, text, w - 1, &n);
    list->text = text;
    list->column = n_columns > 1 ? w : 0;
    list->wants = n_columns > 1 ? 0 : (int)n;
    list_show(list, list_cursor(list, n), n, h * n_columns);
    for (int i = 0; i < list->height && list->top + i < n; i++) {
        Rect column = {area->x + i / h * w, area->y, w, h};
        Pen own = pen_new(pen->grid, column);
        draw_line(page_line(text, list->top + i), i % h, &own);
        if (list->top + i == list->at)
            rows_mark(ui, show, &own, i % h);
    }
}

bool page_act(Ui *ui, ShowId show, ActId act)
{
    return list_move(&ui->list[show].at, ui->list[show].n, ui->list[show].height, act);
}

void page_go(Ui *ui, int64_t row)
{
    if (row >= 0 && row < ui->list[ui->at.show].n)
        ui->list[ui->at.show].at = row;
}

bool page_find_place(const Ui *ui, Text line, Str *file, int *number)
{
    const char *policy = ui_policy_file(ui->session);
    const TextSpan *place = policy ? text_find(line, SPAN_PLACE) : NULL;

    if (!place || !str_starts(text_span(line, place), str_from(path_base(policy))))
        return false;
    *file = str_from(policy);
    *number = place->value;
    return true;
}
