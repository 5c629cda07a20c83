/* What went wrong so far, in the order of time: how often, where, what. Below the list the selected
 * one in full; `e` opens the editor at its place. */
#include "tui/views/page.h"

#include "tui/views/rows.h"

enum { TIMES_COLUMNS = 6, PLACE_MOST = 28, DETAIL_LINES = 5 };

static Str place_text(const Ui *ui, const ErrorNote *error, bool whole)
{
    const char *file = whole ? error->file : path_base(error->file);

    if (!error->file[0])
        return STR("");
    return str_from(error->line > 0 ? arena_printf(ui->frame, "%s:%d", file, error->line) : file);
}

/* Of the longest place, and a blank; 0: no error has one. */
static int place_columns(const Ui *ui, int w)
{
    int most = 0, limit = w < 80 ? PLACE_MOST / 2 : PLACE_MOST;

    for (int i = 0; i < ui->messages.n_errors; i++) {
        int own = text_columns(place_text(ui, &ui->messages.error[i], false));
        most = own > most ? own : most;
    }
    return most == 0 ? 0 : (most < limit ? most : limit) + 1;
}

static void draw_row(const Ui *ui, Pen *pen, const ErrorNote *error, int place)
{
    pen_puts(pen, ROLE_TEXT, " ");
    pen_fit(pen, ROLE_HEAD,
            error->times > 1 ? str_from(arena_printf(ui->frame, "×%d", error->times)) : STR(""),
            TIMES_COLUMNS);
    if (place > 0) {
        pen_fit_tail(pen, ROLE_TEXT, place_text(ui, error, false), place - 1);
        pen_puts(pen, ROLE_TEXT, " ");
    }
    pen_fit(pen, ROLE_ERROR, str_from(error->text), pen->area.w - pen->x);
}

/* Broken at blanks, in what is left of the area. */
static void draw_whole(const Ui *ui, Pen *pen, const ErrorNote *error)
{
    pen_printf(pen, ROLE_HEAD, " %.*s", STR_ARG(place_text(ui, error, true)));
    pen_line(pen);
    for (Str rest = str_from(error->text); rest.n > 0 && !pen_full(pen); pen_line(pen)) {
        pen_puts(pen, ROLE_TEXT, " ");
        pen_put(pen, ROLE_TEXT, text_take_line(&rest, pen->area.w - 2));
    }
}

static void draw(Ui *ui, Pen *pen)
{
    int64_t *at = &ui->list[SHOW_ERRORS].at, *top = &ui->list[SHOW_ERRORS].top;
    int n = ui->messages.n_errors, h = pen->area.h - DETAIL_LINES;

    ui->list[SHOW_ERRORS].n = n;
    if (n == 0) {
        pen_puts(pen, ROLE_TEXT, " no errors so far");
        return;
    }
    h = h < 1 ? 1 : h > n ? n : h;
    ui->list[SHOW_ERRORS].height = h;
    *at = *at < n ? *at : n - 1;
    *top = list_scroll(*top, *at, n, h);
    int place = place_columns(ui, pen->area.w);
    for (int y = 0; y < h && *top + y < n; y++) {
        pen_to(pen, 0, y);
        draw_row(ui, pen, &ui->messages.error[*top + y], place);
        if (*top + y == *at)
            rows_mark(ui, SHOW_ERRORS, pen, y);
    }
    pen_to(pen, 0, h + 1);
    draw_whole(ui, pen, &ui->messages.error[*at]);
}

static bool act(Ui *ui, ActId act)
{
    int64_t at = ui->list[SHOW_ERRORS].at;

    if (act == ACT_OPEN && at < ui->messages.n_errors && ui->messages.error[at].can_edit)
        ui->asked.command = "edit";
    return act == ACT_OPEN || page_act(ui, SHOW_ERRORS, act);
}

static void note(Ui *ui, Buf *out)
{
    int64_t at = ui->list[SHOW_ERRORS].at;

    if (at < ui->messages.n_errors)
        buf_printf(out, "error %lld/%d%s", (long long)at + 1, ui->messages.n_errors,
                   ui->messages.error[at].can_edit ? ": Enter or e opens it in the editor" : "");
}

static void table(Ui *ui, Sheet *out)
{
    sheet_head(out, "times# file line# text");
    for (int i = 0; i < ui->messages.n_errors; i++) {
        sheet_number(out, ui->messages.error[i].times);
        sheet_put(out, str_from(ui->messages.error[i].file));
        sheet_number(out, ui->messages.error[i].line);
        sheet_put(out, str_from(ui->messages.error[i].text));
    }
}

static const Hint hints[] = {
    {ACT_NEXT_ERROR, "next"}, {ACT_EDIT, "edit the line"}, {ACT_BACK, "back"},
    {ACT_HELP, "help"},       {ACT_CLOSE, "close"},        {0},
};

static void enter(Ui *ui, ShowId from)
{
    (void)from;
    ui->list[SHOW_ERRORS].at = ui->messages.n_errors > 0 ? ui->messages.n_errors - 1 : 0;
}

const View view_errors = {
    .name = "Errors",
    .draw = draw,
    .act = act,
    .note = note,
    .go = page_go,
    .list_at = 0,
    .hints = hints,
    .table = table,
    .enter = enter,
};
