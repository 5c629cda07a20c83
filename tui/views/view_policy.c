/* view_policy.c - the policy's source with what each line did, and what of it the cursor is on. */
#include "core/plan/origin.h"
#include "tui/state/format.h"
#include "tui/state/menu.h"
#include "tui/views/policy_decided.h"
#include "tui/views/policy_lines.h"
#include "tui/views/policy_try.h"
#include "tui/views/rows.h"

#include <inttypes.h>

static PolicyState *state_of(const Ui *ui)
{
    return ui->own[SHOW_POLICY];
}

enum {
    LIST_AT = 2,
    DETAIL_LEAST_H = 9,
    DETAIL_MOST = 7,
    FOLDED_LEAST_H = 20, /* lines from which on the options take as many as they need */
    PRICE_LEAST_W = 56,
    BAR_LEAST_W = 76,
    BAR = 6
};

/* ---- rows: the source, then what was changed here ---- */

static int n_rows(const PolicyLines *lines)
{
    return lines->n_lines + lines->n_edits;
}

/* The line of the file under the cursor, from 1; 0: it is on something else. */
static int line_at(Ui *ui)
{
    const PolicyLines *lines = policy_lines(ui);
    int64_t at = ui->list[SHOW_POLICY].at;

    return at >= 0 && at < lines->n_lines ? (int)at + 1 : 0;
}

/* The edit in a row; -1: it is a line of the file. */
static int edit_in(const PolicyLines *lines, int64_t row)
{
    return row >= lines->n_lines && row < n_rows(lines) ? (int)row - lines->n_lines : -1;
}

/* The line of the shown file that the last run failed at; 0: none, or it is of another file. */
static int failed_line(const Ui *ui, const PolicyLines *lines)
{
    const Error *failed = &ui->changes.policy_failed;

    if (!error_is_set(failed) || !lines->file || strcmp(failed->file, lines->file) != 0)
        return 0;
    return failed->line;
}

/* Whether a row is listed where there is no room for all: what a person asks a policy about. */
static bool is_telling(const Ui *ui, const PolicyLines *lines, int row)
{
    const PolicyLine *line = row < lines->n_lines ? &lines->line[row] : NULL;

    return !line || line->hits > 0 || line->finding || line->calls ||
           failed_line(ui, lines) == row + 1;
}

static bool is_folded(const PolicyLines *lines, int row)
{
    int edit = edit_in(lines, row);

    return edit >= 0 && policy_edit_is_folded(lines, edit);
}

/* The rows that are listed; `za` lists all or the telling ones. */
static int listed_rows(Ui *ui, int h, int **out)
{
    const PolicyLines *lines = policy_lines(ui);
    int n_folded = 0;
    Vec(int) rows = {0};

    for (int row = lines->n_lines; row < n_rows(lines); row++)
        n_folded += is_folded(lines, row);
    bool all = state_of(ui)->shows_all || n_rows(lines) - n_folded <= h;
    for (int row = 0; row < n_rows(lines); row++)
        if (!is_folded(lines, row) && (all || is_telling(ui, lines, row)))
            vec_push(ui->frame, &rows, row);
    *out = rows.at;
    return rows.n;
}

/* Where the cursor's row is listed, or the next one that is. */
static int64_t place_in(const int *rows, int n, int64_t row)
{
    int at = 0;

    while (at < n - 1 && rows[at] < row)
        at++;
    return at;
}

/* ---- drawing ---- */

typedef struct {
    int us, bar;
    bool trimmed; /* lines between are left out, and so their indents say nothing */
} Columns;

/* "options  micro_batches 8, vocabulary false": those that :set changed are in another colour. */
static void draw_options(const Ui *ui, Pen *pen)
{
    const PolicyOptions *options = &ui->session->policy_options;

    if (options->n == 0)
        return;
    bool folds = pen->area.h >= FOLDED_LEAST_H;
    pen_puts(pen, ROLE_DIM, " options  ");
    for (int i = 0; i < options->n; i++) {
        const PolicyOption *option = &options->at[i];
        bool changed = strcmp(option->value, option->fallback) != 0;
        const char *value = *option->value ? option->value : "\"\"";
        int need = (int)(strlen(option->name) + strlen(value)) + 3;
        pen_puts(pen, ROLE_DIM, i > 0 ? ", " : "");
        if (folds && pen->x + need > pen->area.w) {
            pen_line(pen);
            pen_tab(pen, 10);
        }
        pen_printf(pen, ROLE_DIM, "%s ", option->name);
        pen_printf(pen, changed ? ROLE_NOTE : ROLE_TEXT, "%s", value);
    }
    if (!folds || pen->x + 28 < pen->area.w)
        pen_puts(pen, ROLE_DIM, "   :set policy.NAME=VALUE");
    pen_line(pen);
}

static void draw_head(Ui *ui, const PolicyLines *lines, Pen *pen)
{
    pen_printf(pen, ROLE_HEAD, " %s", path_base(lines->file));
    pen_printf(pen, ROLE_TEXT, "  %d decision%s of %d line%s hold", lines->n_hits,
               lines->n_hits == 1 ? "" : "s", lines->n_deciding, lines->n_deciding == 1 ? "" : "s");
    if (lines->n_idle > 0)
        pen_printf(pen, ROLE_ERROR, ", %d did nothing !", lines->n_idle);
    if (lines->n_unused > 0)
        pen_printf(pen, ROLE_DIM, ", %d decided nothing", lines->n_unused);
    pen_line(pen);
    draw_options(ui, pen);
    const Error *failed = &ui->changes.policy_failed;
    if (!error_is_set(failed))
        return;
    Buf text = buf_new(ui->frame);
    buf_printf(&text, "! %s:%d:%d: %s", path_base(failed->file), failed->line, failed->column,
               failed->text);
    pen_rune(pen, ROLE_TEXT, ' ');
    pen_fit(pen, ROLE_ERROR, buf_str(&text), pen->area.w - 1);
    pen_line(pen);
    if (failed->hint[0]) {
        pen_puts(pen, ROLE_NOTE, "   ");
        pen_fit(pen, ROLE_NOTE, str_from(failed->hint), pen->area.w - 3);
        pen_line(pen);
    }
    pen_puts(pen, ROLE_NOTE,
             "   the plan is from the last successful run; e edits the policy, r runs it again");
    pen_line(pen);
}

static void draw_column_names(const Columns *columns, Pen *pen)
{
    pen_puts(pen, ROLE_HEAD, "   LINE  HITS");
    if (columns->us)
        pen_right(pen, ROLE_HEAD, STR("RESHARDS"), columns->us);
    pen_tab(pen, pen->x + columns->bar + 2);
    pen_puts(pen, ROLE_HEAD, "SOURCE");
    pen_line(pen);
}

static char mark_of(const Ui *ui, const PolicyLines *lines, int number)
{
    const PolicyLine *line = &lines->line[number - 1];

    if (failed_line(ui, lines) == number || policy_line_is_idle(line))
        return '!';
    return line->finding ? 'i' : ' ';
}

/* Comments are dim; axes that strings name are in their colours. */
static void draw_source(const Ui *ui, Str text, Pen *pen)
{
    Buf shown = buf_new(ui->frame), marked = buf_marked(ui->frame);

    for (size_t i = 0; i < text.n; i++)
        buf_puts(&shown, text.s[i] == '\t'   ? "    "
                         : text.s[i] == '\r' ? ""
                                             : (char[]){text.s[i], '\0'});
    size_t code = origin_put_lua(ui->session->mesh, buf_str(&shown), &marked);
    Text whole = buf_text(&marked), comment = text_part(whole, code, whole.str.n - code);
    int columns = pen->area.w - pen->x, wide = text_columns((Str){whole.str.s, code});
    if (code > 0)
        pen_text(pen, text_part(whole, 0, code), -1, wide < columns ? wide : columns);
    if (comment.str.n > 0 && wide < columns)
        pen_fit(pen, ROLE_DIM, comment.str, columns - wide);
}

static void draw_line(const Ui *ui, const PolicyLines *lines, int number, const Columns *columns,
                      Pen *pen)
{
    const PolicyLine *line = &lines->line[number - 1];
    char mark = mark_of(ui, lines, number);
    bool counts = line->hits > 0 || line->calls || policy_line_is_idle(line);

    pen_rune(pen, ROLE_TEXT, ' ');
    pen_rune(pen, mark == '!' ? ROLE_ERROR : ROLE_NOTE, (uint32_t)mark);
    pen_printf(pen, ROLE_DIM, "%5d", number);
    if (counts)
        pen_printf(pen,
                   mark == '!'  ? ROLE_ERROR
                   : line->hits ? ROLE_TEXT
                                : ROLE_DIM,
                   "%6d", line->hits);
    pen_tab(pen, 13);
    if (columns->us && line->us > 0) {
        bool dear = line->us > policy_whole_us(ui) * 0.05;
        pen_right(pen, dear ? ROLE_DEAR : ROLE_TEXT, label_us(ui, line->us), columns->us);
        pen_rune(pen, ROLE_TEXT, ' ');
        if (columns->bar)
            pen_bar(pen, ROLE_TEXT, line->us, lines->most_us, columns->bar);
    }
    pen_tab(pen, 13 + columns->us + columns->bar + 2);
    draw_source(ui, columns->trimmed ? str_trim(line->text) : line->text, pen);
}

static void draw_edit(const PolicyEdit *edit, const Columns *columns, Pen *pen)
{
    pen_puts(pen, ROLE_TEXT, edit->n_members == 0 ? "  " : edit->open ? " ▾" : " ▸");
    pen_puts(pen, ROLE_NOTE, "  you");
    pen_printf(pen, edit->hits > 0 ? ROLE_TEXT : ROLE_DIM, "%6d", edit->hits);
    pen_tab(pen, 13 + columns->us + columns->bar + 2 + 2 * (edit->head >= 0));
    pen_fit(pen, ROLE_TEXT, str_from(edit->text), pen->area.w - pen->x);
}

/* Returns whether all lines of the file are listed and shown. */
static bool draw_rows(Ui *ui, const PolicyLines *lines, int h, Pen *pen)
{
    int64_t *at = &ui->list[SHOW_POLICY].at, *top = &ui->list[SHOW_POLICY].top;
    Columns columns = {lines->priced && pen->area.w >= PRICE_LEAST_W ? 10 : 0,
                       lines->priced && pen->area.w >= BAR_LEAST_W ? BAR : 0, false};

    draw_column_names(&columns, pen);
    ui->list[SHOW_POLICY].lead = pen->y - LIST_AT;
    h -= pen->y;
    int *rows, n = listed_rows(ui, h, &rows);
    int64_t place = place_in(rows, n, *at);
    *at = rows[place];
    columns.trimmed = n < n_rows(lines);
    list_show(&ui->list[SHOW_POLICY], place, n, h);
    for (int i = 0; i < h && *top + i < n; i++) {
        int row = rows[*top + i];
        if (row < lines->n_lines)
            draw_line(ui, lines, row + 1, &columns, pen);
        else
            draw_edit(&lines->edit[row - lines->n_lines], &columns, pen);
        rows_end(ui, SHOW_POLICY, row == *at, pen);
    }
    return n == n_rows(lines) && n <= h;
}

static void draw_none(Ui *ui, Pen *pen)
{
    const SessionHooks *hooks = &ui->session->hooks;

    pen_puts(pen, ROLE_TEXT, " no policy: only your own pins shard tensors");
    pen_line(pen);
    pen_puts(pen, ROLE_TEXT, " run one with :policy FILE");
    if (hooks->shipped)
        pen_printf(pen, ROLE_TEXT, "; shipped: %s",
                   hooks->shipped(hooks->context, ui->frame, "policies"));
    pen_line(pen);
    pen_line(pen);
}

/* The lines of the file around one, where there is room for some. */
static void draw_around(const Ui *ui, const PolicyLines *lines, int number, Pen *pen)
{
    enum { AROUND_LEAST = 3 };
    pen_line(pen);
    int room = pen->area.h - pen->y - 1;
    if (room < AROUND_LEAST)
        return;
    int first = number - room / 2, last = lines->n_lines - room + 1;
    first = first > last ? last : first;
    first = first < 1 ? 1 : first;
    pen_printf(pen, ROLE_HEAD, " AROUND LINE %d", number);
    for (int i = first; i < first + room && i <= lines->n_lines; i++) {
        pen_line(pen);
        pen_printf(pen, i == number ? ROLE_FOCUS : ROLE_DIM, " %s%5d  ", i == number ? ">" : " ",
                   i);
        draw_source(ui, lines->line[i - 1].text, pen);
    }
}

/* If no line belongs to the selection, the cursor goes to the error, else to the first line that
 * made a decision.
 */
static void enter(Ui *ui, ShowId from)
{
    (void)from;
    const PolicyLines *lines = policy_lines(ui);
    int64_t *at = &ui->list[SHOW_POLICY].at;
    int first = -1;

    state_of(ui)->placed = true;
    if (*at < n_rows(lines) && is_telling(ui, lines, (int)*at))
        return;
    for (int i = lines->n_lines - 1; i >= 0; i--)
        if (lines->line[i].hits > 0)
            first = i;
    for (int i = lines->n_lines - 1; i >= 0; i--)
        if (policy_line_is_idle(&lines->line[i]))
            first = i;
    if (failed_line(ui, lines) > 0)
        first = failed_line(ui, lines) - 1;
    if (first >= 0)
        *at = first;
}

static void draw(Ui *ui, Pen *pen)
{
    const PolicyLines *lines = policy_lines(ui);
    int h = pen->area.h;
    int detail = h < DETAIL_LEAST_H ? 0 : h / 3 < DETAIL_MOST ? h / 3 : DETAIL_MOST;

    if (!lines->file)
        draw_none(ui, pen);
    else
        draw_head(ui, lines, pen);
    if (lines->error) {
        pen_printf(pen, ROLE_ERROR, " %s", lines->error);
        pen_line(pen);
    }
    if (n_rows(lines) == 0)
        return;
    if (!state_of(ui)->placed)
        enter(ui, SHOW_POLICY);
    bool whole = draw_rows(ui, lines, h - detail, pen);
    int number = line_at(ui);
    if (number == 0 || detail == 0)
        return;
    int from = pen->y < h - detail ? pen->y + 1 : h - detail + 1;
    Pen below = pen_new(pen->grid, (Rect){pen->area.x, pen->area.y + from, pen->area.w, h - from});
    policy_draw_decided(ui, number, &below);
    if (!whole)
        draw_around(ui, lines, number, &below);
}

/* ---- acting ---- */

static void show_place(Ui *ui, const Decision *decision)
{
    places_remember(ui);
    if (decision_is_on_tensor(decision->kind)) {
        int32_t maker = ui_graph(ui)->tensors[decision->place].maker;
        if (maker >= 0 && ui->session->groups->group_of[maker] >= 0)
            ui_go_op(ui, maker);
        ui_select_tensor(ui, decision->place);
        if (decision->dim >= 0)
            ui->at.dim = decision->dim;
        ui->at.show = SHOW_TENSOR;
    } else {
        ui_go_op(ui, decision->place);
        ui->at.show = SHOW_OP;
    }
}

static void chosen(Ui *ui, int value)
{
    PolicyFold *folds;

    if (line_at(ui) > 0 && value < policy_folds(ui, line_at(ui), &folds))
        show_place(ui, folds[value].first);
}

/* The edit under the cursor; NULL: the cursor is on a line of the file. */
static PolicyEdit *edit_at(Ui *ui)
{
    const PolicyLines *lines = policy_lines(ui);
    int edit = edit_in(lines, ui->list[SHOW_POLICY].at);

    return edit >= 0 ? &lines->edit[edit] : NULL;
}

/* Opens or closes the edits that a row stands for; from one of them, closes the row it is in. */
static bool fold_edit(Ui *ui, bool opens)
{
    const PolicyLines *lines = policy_lines(ui);
    PolicyEdit *edit = edit_at(ui);

    if (!edit || (edit->head < 0 && (edit->n_members == 0 || edit->open == opens)) ||
        (edit->head >= 0 && opens))
        return false;
    if (edit->head >= 0) {
        ui->list[SHOW_POLICY].at = lines->n_lines + edit->head;
        edit = &lines->edit[edit->head];
    }
    edit->open = opens;
    return true;
}

static void open_edit(Ui *ui, const PolicyEdit *edit)
{
    const Decision *decision = &ui->session->journal.decisions.at[edit->first];

    if (edit->n_members > 0)
        fold_edit(ui, !edit->open);
    else if (edit->made == 1 && !decision_is_on_ops(decision->kind))
        show_place(ui, decision);
    else
        ui_say(ui, "made here; u undoes the last one");
}

static void open_line(Ui *ui)
{
    int number = line_at(ui);
    PolicyFold *folds = NULL;
    int n = number > 0 ? policy_folds(ui, number, &folds) : 0;

    if (n == 0)
        ui_say(ui, "line %d makes no decision", number);
    else if (n == 1)
        show_place(ui, folds[0].first);
    else
        menu_open(ui, arena_printf(ui->frame, "line %d decided", number), chosen);
    for (int i = 0; n > 1 && i < n && i < MENU_MAX; i++) {
        Buf text = buf_marked(ui->frame);
        buf_printf(&text, "%4d x %.*s  ", folds[i].n, STR_ARG(folds[i].name));
        buf_add_text(&text, folds[i].sharding);
        menu_add_text(ui, 0, buf_text(&text), i);
    }
}

static bool act(Ui *ui, ActId act)
{
    const PolicyEdit *edit = edit_at(ui);
    if (act == ACT_OPEN) {
        if (edit)
            open_edit(ui, edit);
        else
            open_line(ui);
        return true;
    }
    if (act == ACT_RIGHT || act == ACT_LEFT)
        return fold_edit(ui, act == ACT_RIGHT);
    if (act == ACT_FOLD && edit && fold_edit(ui, edit->head < 0 && !edit->open))
        return true;
    if (act == ACT_WHAT_IF) {
        policy_try_without(ui, line_at(ui));
        return true;
    }
    if (act == ACT_SHOW_POLICY) {
        enter(ui, SHOW_POLICY);
        return true;
    }
    if (act == ACT_FOLD) {
        state_of(ui)->shows_all = !state_of(ui)->shows_all;
        return true;
    }
    int *rows, n = listed_rows(ui, ui->list[SHOW_POLICY].height, &rows);
    int64_t place = n > 0 ? place_in(rows, n, ui->list[SHOW_POLICY].at) : 0;
    if (n == 0 || !list_move(&place, n, ui->list[SHOW_POLICY].height, act))
        return false;
    ui->list[SHOW_POLICY].at = rows[place];
    return true;
}

static void go(Ui *ui, int64_t row)
{
    int *rows, n = listed_rows(ui, ui->list[SHOW_POLICY].height, &rows);

    if (row >= 0 && row < n)
        ui->list[SHOW_POLICY].at = rows[row];
}

bool policy_place(Ui *ui, Str *file, int *line)
{
    const PolicyLines *lines = policy_lines(ui);

    if (!lines->file)
        return false;
    bool failed = error_is_set(&ui->changes.policy_failed) && ui->changes.policy_failed.line > 0;
    *file = str_from(failed ? ui->changes.policy_failed.file : lines->file);
    *line = failed ? ui->changes.policy_failed.line : line_at(ui) > 0 ? line_at(ui) : 1;
    return true;
}

/* ---- notes and tables ---- */

static void note(Ui *ui, Buf *out)
{
    int number = line_at(ui);

    if (number > 0 && policy_lines(ui)->line[number - 1].finding)
        buf_printf(out, "%s", policy_lines(ui)->line[number - 1].finding->text);
    else
        buf_puts(out, "hits: its decisions that hold; reshards: time of the reshards they cause");
}

static void table(Ui *ui, Sheet *out)
{
    const PolicyLines *lines = policy_lines(ui);

    sheet_head(out, "line# hits# made# reshard_us# finding text");
    for (int i = 0; i < lines->n_lines; i++) {
        const PolicyLine *line = &lines->line[i];
        sheet_number(out, i + 1);
        sheet_number(out, line->hits);
        sheet_number(out, line->made);
        sheet_number(out, line->us);
        sheet_put(out, line->finding ? str_from(line->finding->text) : STR(""));
        sheet_put(out, line->text);
    }
}

static const Hint hints[] = {
    {ACT_OPEN, "what it decided"},
    {ACT_WHAT_IF, "without it"},
    {ACT_EDIT, "edit"},
    {ACT_POLICY, "run"},
    {ACT_UNDO, "undo"},
    {ACT_FOLD, "all lines"},
    {ACT_LUA, "console"},
    {ACT_NEXT_PANE, "pane"},
    {ACT_HELP, "help"},
    {ACT_CLOSE, "close"},
    {0},
};

static const char *open_hint(const Ui *ui)
{
    const PolicyLines *lines = state_of(ui)->lines;
    int edit = lines ? edit_in(lines, ui->list[SHOW_POLICY].at) : -1;

    if (edit < 0)
        return "what it decided";
    if (lines->edit[edit].n_members > 0)
        return lines->edit[edit].open ? "close" : "open";
    return "what it is on";
}

const View view_policy = {
    .name = "Policy",
    .draw = draw,
    .act = act,
    .note = note,
    .go = go,
    .list_at = LIST_AT,
    .hints = hints,
    .open_hint = open_hint,
    .table = table,
    .enter = enter,
    .own_size = sizeof(PolicyState),
    .forget = policy_lines_forget,
};
