#include "tui/views/page.h"

#include "tui/views/label.h"
#include "tui/views/rows.h"

enum { WRAP_INDENT = 8 };

Str page_line(Str text, int64_t line)
{
    size_t at = 0;

    for (; line > 0 && at < text.n; line--) {
        while (at < text.n && text.s[at] != '\n')
            at++;
        at += at < text.n;
    }
    size_t end = at;
    if (text.n == 0)
        return text;
    while (end < text.n && text.s[end] != '\n')
        end++;
    return (Str){text.s + at, end - at};
}

static int64_t n_lines(Str text)
{
    int64_t n = 0;

    for (size_t i = 0; i < text.n; i++)
        n += text.s[i] == '\n';
    return n + (text.n > 0 && text.s[text.n - 1] != '\n');
}

/* Lines longer than the page go on in the next one, indented; they break at blanks. */
static Str wrapped(const Ui *ui, Str text, int columns)
{
    Buf out = buf_new(ui->frame);

    for (int64_t i = 0, n = n_lines(text); i < n; i++) {
        Str rest = page_line(text, i);
        int indent = 0;
        do {
            Str line = columns > 2 * WRAP_INDENT ? text_take_line(&rest, columns - indent)
                                                 : str_take(&rest, '\n');
            buf_blanks(&out, indent);
            buf_add(&out, line);
            buf_putc(&out, '\n');
            indent = WRAP_INDENT;
        } while (rest.n > 0);
    }
    return buf_str(&out);
}

void page_draw(Ui *ui, ShowId show, Str text, Pen *pen)
{
    text = wrapped(ui, text, pen->area.w - 1);
    int64_t n = n_lines(text), *at = &ui->list[show].at, *top = &ui->list[show].top;

    ui->list[show].text = text;
    ui->list[show].n = n;
    ui->list[show].height = pen->area.h;
    if (*at >= n)
        *at = n > 0 ? n - 1 : 0;
    *top = list_scroll(*top, *at, n, pen->area.h);
    for (int y = 0; y < pen->area.h && *top + y < n; y++) {
        Str line = page_line(text, *top + y);
        bool heading = line.n > 0 && line.s[0] != ' ';
        pen_to(pen, 1, y);
        if (heading)
            pen_fit(pen, ROLE_HEAD, line, pen->area.w - 1);
        else
            draw_sharding(ui, pen, line, -1, pen->area.w - 1);
        if (*top + y == *at)
            rows_mark(ui, show, pen, y);
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

static bool starts_place(const char *file, Str rest, int *number)
{
    Str name = str_from(file);

    if (!str_starts(rest, name) || rest.n <= name.n || rest.s[name.n] != ':')
        return false;
    *number = 0;
    for (size_t i = name.n + 1;
         i < rest.n && rest.s[i] >= '0' && rest.s[i] <= '9' && i < name.n + 8; i++)
        *number = *number * 10 + (rest.s[i] - '0');
    return *number > 0;
}

bool page_find_place(const Ui *ui, Str line, Str *file, int *number)
{
    const char *policy = ui_policy_file(ui->session);

    if (!policy)
        return false;
    for (size_t i = 0; i < line.n; i++) {
        Str rest = {line.s + i, line.n - i};
        if (!starts_place(policy, rest, number) && !starts_place(path_base(policy), rest, number))
            continue;
        *file = str_from(policy);
        return true;
    }
    return false;
}
