#include "tui/views/op_notations.h"

#include "core/rules/notation.h"
#include "core/rules/one_op_text.h"
#include "tui/state/control.h"
#include "tui/views/label.h"
#include "tui/views/page.h"

#include <string.h>

int op_n_notations(const Ui *ui, int32_t op, const OpSpace *space)
{
    ControlTie tie[TIES_MAX + 1];
    int n;
    return space->no_rule || control_ties(ui->session, op, tie, &n) ? 0 : notation_count();
}

static void draw_notations_folded(const Ui *ui, const OpSpace *space, Pen *pen)
{
    const Notation *notation;
    for (int n = 0; (notation = notation_at(n)); n++) {
        Buf text = buf_new(ui->frame), lost = buf_new(ui->frame);
        bool all = notation->print(space, &text, &lost);
        pen_printf(pen, all ? ROLE_TEXT : ROLE_DIM, " %s%s", all ? "" : "~", notation->name);
    }
    pen_line(pen);
}

enum { AT_TEXT = 15 }; /* column where a notation's text begins */

/* "not expressed: a; b" of the lines a and b. */
static Str loss_text(const Ui *ui, const Buf *lost)
{
    Buf out = buf_new(ui->frame);
    const char *before = "not expressed: ";

    for (Str rest = buf_str(lost); rest.n > 0; before = "; ") {
        buf_puts(&out, before);
        buf_add(&out, str_take(&rest, '\n'));
    }
    return buf_str(&out);
}

/* Of all notations, each with a line for what it does not express. */
static int lines_with_losses(const Ui *ui, const OpSpace *space)
{
    int lines = 0;

    for (int n = 0; n < notation_count(); n++) {
        Buf text = buf_new(ui->frame), lost = buf_new(ui->frame);
        notation_at(n)->print(space, &text, &lost);
        lines += 1 + (lost.n > 0);
    }
    return lines;
}

/* Where it says what a notation leaves out: below its text, behind it, nowhere. */
typedef enum { LOSS_BELOW, LOSS_BESIDE, LOSS_HIDDEN } LossPlace;

/* A line each: its text, or how long that is; ~ before what leaves something out. */
static void draw_notation(const Ui *ui, const OpSpace *space, int n, LossPlace place, Pen *pen)
{
    Buf text = buf_new(ui->frame), lost = buf_new(ui->frame);
    bool all = notation_at(n)->print(space, &text, &lost);
    int lines = 0;

    for (Str rest = buf_str(&text); rest.n > 0; lines++)
        str_take(&rest, '\n');
    pen_tab(pen, 2);
    pen_fit(pen, ROLE_TEXT, str_from(notation_at(n)->name), 11);
    pen_puts(pen, ROLE_NOTE, all ? "" : "~");
    pen_tab(pen, AT_TEXT);
    Str line = lines > 1    ? str_from(arena_printf(ui->frame, "%d lines of Lua", lines))
               : lines == 1 ? buf_str(&text)
                            : STR("none");
    int room = pen->area.w - pen->x, n_line = text_columns(line);
    pen_fit(pen, lines == 1 ? ROLE_TEXT : ROLE_DIM, line, n_line < room ? n_line : room);
    if (place == LOSS_HIDDEN || lost.n == 0)
        return;
    if (place == LOSS_BELOW)
        pen_line(pen);
    pen_tab(pen, place == LOSS_BELOW ? AT_TEXT : pen->x + 2);
    if (pen->area.w - pen->x > AT_TEXT)
        pen_fit(pen, ROLE_NOTE, loss_text(ui, &lost), pen->area.w - pen->x);
}

static void draw_lines(Str text, const char *label, Style role, Pen *pen)
{
    int indent = 4 + (int)strlen(label);

    while (text.n > 0 && !pen_full(pen)) {
        Str left = str_take(&text, '\n');
        while (left.n > 0 && !pen_full(pen)) {
            pen_tab(pen, 4);
            pen_puts(pen, role, label);
            pen_tab(pen, indent);
            pen_put(pen, role, text_take_line(&left, pen->area.w - pen->x - 1));
            pen_line(pen);
            label = "";
        }
    }
}

/* What the selected notation does not say, unless a line below it said so, and its text where a
 * line did not hold it. */
static void draw_notation_detail(const Ui *ui, const OpSpace *space, int n, LossPlace place,
                                 Pen *pen)
{
    Buf text = buf_new(ui->frame), lost = buf_new(ui->frame);
    notation_at(n)->print(space, &text, &lost);
    if (place != LOSS_BELOW || text_columns(loss_text(ui, &lost)) > pen->area.w - AT_TEXT)
        draw_lines(buf_str(&lost), "not expressed: ", ROLE_NOTE, pen);
    if (page_line(buf_text(&text), 1).str.n > 0 ||
        text_columns(buf_str(&text)) > pen->area.w - AT_TEXT)
        draw_lines(buf_str(&text), "", ROLE_TEXT, pen);
    if (!pen_full(pen))
        return;
    pen_to(pen, 4, pen->area.h - 1);
    pen_fit(pen, ROLE_DIM, STR("…"), pen->area.w - pen->x);
}

/* ---- branches and loops ---- */

/* The values that this op makes one; those with another sharding are marked. */
static void draw_ties(const Ui *ui, int32_t op, Pen *pen)
{
    enum { AT_NAME = 17, NAME_MOST = 30, AFTER_NAME = 20 };
    const Plan *plan = ui_plan(ui);
    ControlTie tie[TIES_MAX + 1];
    int n;
    const char *says = control_ties(ui->session, op, tie, &n);

    draw_field(pen, " TIES", 7);
    pen_puts(pen, ROLE_TEXT, says);
    pen_line(pen);
    for (int i = 0; i < n && !pen_full(pen); i++) {
        Str label = label_tensor(ui->session, ui->frame, tie[i].tensor);
        int room = pen->area.w - AT_NAME - AFTER_NAME;
        pen_tab(pen, 2);
        pen_puts(pen, ROLE_DIM, tie[i].when);
        pen_tab(pen, AT_NAME);
        pen_fit_name(pen, ROLE_TEXT, label, room < NAME_MOST ? room : NAME_MOST);
        pen_rune(pen, ROLE_TEXT, ' ');
        pen_text(pen, label_value(ui, tie[i].tensor, plan->moved->sharding[tie[i].tensor]), -1,
                 pen->area.w - pen->x);
        pen_line(pen);
    }
    pen_puts(pen, ROLE_DIM, "  no notation can express it");
    pen_line(pen);
}

/* "all of it: dimscope rule Reshape --shapes .."; nothing of an op that has no such form. */
static void draw_command(const Ui *ui, int32_t op, Pen *pen)
{
    Buf command = buf_new(ui->frame);

    if (!one_op_is_written(ui->session->inferred, op))
        return;
    buf_puts(&command, "dimscope rule ");
    bool whole = one_op_put_command(ui->session->inferred, op, &command);
    buf_puts(&command, whole ? "" : "  (without the values of its constant operands)");
    draw_lines(buf_str(&command), "all of it: ", ROLE_DIM, pen);
}

void op_draw_notations(const Ui *ui, int32_t op, int first, int h, Pen *pen, int *selected)
{
    const OpSpace *space = program_space(ui->session->inferred, op);
    ControlTie tie[TIES_MAX + 1];
    int n_ties, n = op_n_notations(ui, op, space);
    if (control_ties(ui->session, op, tie, &n_ties)) {
        draw_ties(ui, op, pen);
        return;
    }
    draw_field(pen, " NOTATIONS", 11);
    if (n == 0) {
        pen_puts(pen, ROLE_DIM, "  none: it has no index space");
        pen_line(pen);
        return;
    }
    bool inside = ui->at.item >= first;
    LossPlace place = pen->y + 3 + lines_with_losses(ui, space) <= h ? LOSS_BELOW
                      : pen->y + 3 + n <= h                          ? LOSS_BESIDE
                                                                     : LOSS_HIDDEN;
    if (!inside && place == LOSS_HIDDEN) {
        draw_notations_folded(ui, space, pen);
        return;
    }
    pen_puts(pen, ROLE_DIM, "  ~ leaves something out");
    pen_line(pen);
    draw_command(ui, op, pen);
    for (int i = 0; i < n; i++) {
        *selected = ui->at.item == first + i ? pen->y : *selected;
        draw_notation(ui, space, i, place, pen);
        pen_line(pen);
    }
    if (inside)
        draw_notation_detail(ui, space, ui->at.item - first, place, pen);
}
