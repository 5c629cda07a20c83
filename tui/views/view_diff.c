/* view_diff.c - two plans line by line, in the order of the program. */
#include "core/summary/label.h"
#include "tui/state/format.h"
#include "tui/views/diff_cells.h"
#include "tui/help/shipped.h"
#include "tui/screen/folded.h"
#include "tui/views/rows.h"

enum { ALL_LEAST = 36 }; /* columns in which readers' layouts have room */

typedef struct {
    const char **about; /* of each shipped policy, once it was shown */
} DiffState;

/* ---- texts ---- */

static Text side_sharding(const Ui *ui, const Session *session, int32_t id)
{
    Buf text = buf_marked(ui->frame);
    if (id >= 0)
        sharding_format(shardings_at(session->plan->shardings, id), session->mesh,
                        ui->look.ascii ? VIEW_OURS_ASCII : VIEW_OURS, &text, NULL);
    return buf_text(&text);
}

static Str name_of(const Ui *ui, const Session *session, DiffLineKind kind, int32_t id)
{
    switch (kind) {
    case DIFF_LINE_GIVEN:
        return label_tensor(session, ui->frame, id);
    case DIFF_LINE_OP:
        return label_op(session, ui->frame, id);
    case DIFF_LINE_RESHARD:
        return label_tensor(session, ui->frame, session->plan->moved->reshards[id].tensor);
    case DIFF_LINE_FINDING:
        return str_from(session->plan->findings.at[id].code);
    }
    return STR("");
}

Str diff_line_label(const Ui *ui, const Compare *compare, const DiffLine *line)
{
    int s = line->id[0] < 0 ? 1 : 0;
    const Session *session = compare->diff->side[s];
    Buf text = buf_new(ui->frame);
    const char *first = arena_str(ui->frame, name_of(ui, session, line->kind, line->id[s]));
    const char *last = arena_str(ui->frame, name_of(ui, session, line->kind, line->last[s]));
    diff_format_range(first, last, &text);
    return text.n > 0 ? buf_str(&text) : STR("");
}

static void put_reshard(const Ui *ui, const Session *session, int32_t id, Buf *out)
{
    const ReshardPath *path = session->plan->moved->reshards[id].path;
    int64_t bytes = 0;
    for (int s = 0; s < path->n_steps; s++)
        bytes = path->step[s].bytes > bytes ? path->step[s].bytes : bytes;
    comm_format_steps(session, path, out);
    buf_printf(out, " %.*s", STR_ARG(label_bytes(ui, bytes)));
}

/* Of an op or tensor: 0 its sharding, 1 its cuts, 2 all there is to say. */
static Text side_text(const Ui *ui, const Compare *compare, const DiffLine *line, int side,
                      int depth)
{
    const Session *session = compare->diff->side[side];
    int32_t id = line->id[side];
    bool is_op = line->kind == DIFF_LINE_OP;
    int32_t tensor = id < 0 ? -1 : is_op ? op_first_output(session->graph, id) : id;
    Buf text = buf_marked(ui->frame);
    if (id < 0)
        return text_from("");
    if (depth == 0)
        return tensor < 0 ? text_from("")
                          : side_sharding(ui, session, session->plan->moved->made[tensor]);
    if (depth == 1 && is_op)
        diff_format_op(session, id, &text);
    else if (tensor >= 0)
        diff_format_tensor(session, tensor, &text);
    return buf_text(&text);
}

/* The shortest text that distinguishes the sides and fits. */
static int depth_of(const Ui *ui, const Compare *compare, const DiffLine *line, int columns)
{
    int most = columns < ALL_LEAST ? 1 : 2;
    for (int depth = 0; line->mark == '~' && depth <= most; depth++)
        if (!str_eq(side_text(ui, compare, line, 0, depth).str,
                    side_text(ui, compare, line, 1, depth).str))
            return depth;
    return 0;
}

/* The line's cell of one side: a sharding; if both sides have the same, the cuts, or what readers
 * need if it fits; the steps of a reshard; "" if the side does not have the line. */
static Text diff_line_cell(const Ui *ui, const Compare *compare, const DiffLine *line, int side,
                           int columns)
{
    const Session *session = compare->diff->side[side];
    int32_t id = line->id[side];
    Buf text = buf_marked(ui->frame);
    if (id < 0)
        return text_from("");
    if (line->kind == DIFF_LINE_RESHARD) {
        put_reshard(ui, session, id, &text);
        return buf_text(&text);
    }
    if (line->kind == DIFF_LINE_FINDING)
        return text_from(session->plan->findings.at[id].text);
    return side_text(ui, compare, line, side, depth_of(ui, compare, line, columns));
}

/* Time of one op, or reshard; negative: none. */
static double diff_line_us(const Compare *compare, const DiffLine *line, int side)
{
    const Plan *plan = compare->diff->side[side]->plan;
    int32_t id = line->id[side];
    if (id < 0 || (line->kind != DIFF_LINE_OP && line->kind != DIFF_LINE_RESHARD))
        return -1;
    return line->kind == DIFF_LINE_OP ? plan->priced->op_us[id]
                                      : plan->moved->reshards[id].path->us;
}

/* ---- the list ---- */

const DiffLine *diff_line_at(Ui *ui, const Compare *compare)
{
    int64_t at = list_cursor(&ui->list[SHOW_DIFF], compare->n_shown);
    return compare->n_shown > 0 ? &compare->outline.line[compare->shown[at]] : NULL;
}

typedef struct {
    int name, n, cell, us;
} DiffWidths;

static DiffWidths widths_for(int w)
{
    DiffWidths widths = {.n = w < 60 ? 0 : 5, .us = w < 120 ? 0 : 10};
    widths.name = w < 60 ? w / 3 : w < 100 ? 24 : w / 4;
    widths.cell = (w - 3 - widths.name - widths.n - 2 * (widths.us + 3)) / 2;
    return widths;
}

static void draw_heading(const Ui *ui, const DiffWidths *widths, Pen *pen)
{
    pen_fit(pen, ROLE_HEAD, STR("   OP"), widths->name + 3);
    pen_right(pen, ROLE_HEAD, STR("×"), widths->n);
    for (int s = 0; s < 2; s++) {
        pen_puts(pen, ROLE_FRAME, " │ ");
        const char *name = arena_printf(ui->frame, "%c %s", 'A' + s, compare_name(ui, s));
        pen_fit(pen, ROLE_HEAD, str_from(name), widths->cell);
        pen_right(pen, ROLE_HEAD, STR("TIME"), widths->us);
    }
    pen_line(pen);
}

static const Finding *finding_of(const Compare *compare, const DiffLine *line)
{
    int side = line->id[0] < 0;
    return &compare->diff->side[side]->plan->findings.at[line->id[side]];
}

static void draw_line(const Ui *ui, const Compare *compare, const DiffLine *line,
                      const DiffWidths *widths, Pen *pen)
{
    bool moved = line->kind == DIFF_LINE_RESHARD, finding = line->kind == DIFF_LINE_FINDING;
    Style style = line->mark == '=' ? ROLE_DIM : ROLE_TEXT;
    pen_printf(pen, line->mark == '=' ? ROLE_DIM : ROLE_HEAD, " %c ", line->mark);
    if (moved)
        pen_puts(pen, ROLE_RAIL, "└ ");
    if (finding) {
        bool note = finding_of(compare, line)->level == LEVEL_NOTE;
        pen_puts(pen, note ? ROLE_NOTE : ROLE_ERROR, note ? "i " : "! ");
    }
    pen_fit_name(pen, style, diff_line_label(ui, compare, line), widths->name + 3 - pen->x);
    if (widths->n)
        pen_right(pen, style,
                  line->n > 1 ? str_from(arena_printf(ui->frame, "×%d", line->n)) : STR(""),
                  widths->n);
    for (int s = 0; s < 2; s++) {
        double us = diff_line_us(compare, line, s);
        int time = finding ? 0 : widths->us, cell = widths->cell + widths->us - time;
        pen_puts(pen, ROLE_FRAME, " │ ");
        pen_text(pen, diff_line_cell(ui, compare, line, s, cell), -1, cell);
        pen_right(pen, ROLE_TEXT, us > 0 ? label_us(ui, us) : STR(""), time);
    }
}

/* What can be opened as the second plan, and how it is typed. */
static void draw_choices(const Ui *ui, Pen *pen)
{
    const PolicyOptions *options = &ui->session->policy_options;
    static const struct {
        const char *type, *what;
    } choices[] = {
        {"d", "asks for a policy, mesh, setting, plan.json or propagator"},
        {":diff fsdp", "another policy, shipped or a file, on this mesh"},
        {":diff dp=4,tp=2", "this policy on another mesh"},
        {":diff spmd", "another propagator"},
        {":diff plan.json", "a saved plan, of this model or another"},
        {":diff before", "the plan before your last change"},
        {":diff policy", "the policy alone, without your changes"},
    };
    enum { TYPE_W = 18 };

    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        pen_rune(pen, ROLE_TEXT, ' ');
        pen_fit(pen, ROLE_FOCUS, str_from(choices[i].type), TYPE_W);
        pen_put_folded(pen, ROLE_DIM, str_from(choices[i].what), TYPE_W + 1);
        pen_line(pen);
    }
    for (int i = 0; i < options->n && !pen_full(pen); i++) {
        const PolicyOption *option = &options->at[i];
        pen_rune(pen, ROLE_TEXT, ' ');
        pen_fit(pen, ROLE_FOCUS, str_from(i == 0 ? ":diff NAME=VALUE" : ""), TYPE_W);
        pen_printf(pen, ROLE_TEXT, "%s  ", option->name);
        pen_put_folded(pen, ROLE_DIM,
                       str_from(arena_printf(ui->frame, "%s, now %s", option->help,
                                             *option->value ? option->value : "empty")),
                       TYPE_W + 3);
        pen_line(pen);
    }
}

/* Policies to compare with, as many as there is room for. Their files are read once. */
static void draw_policies(const Ui *ui, Pen *pen)
{
    enum { MOST = 40, LEAST = 4, NAME_W = 18 };
    const SessionHooks *hooks = &ui->session->hooks;
    DiffState *state = ui->own[SHOW_DIFF];

    if (pen->area.h - pen->y < LEAST || !hooks->shipped || !hooks->data_file)
        return;
    Str names = str_from(hooks->shipped(hooks->context, ui->frame, "policies"));
    if (!state->about)
        state->about = arena_array(ui->arena, const char *, MOST);
    pen_line(pen);
    pen_puts(pen, ROLE_HEAD, " SHIPPED POLICIES");
    pen_line(pen);
    for (int i = 0; names.n > 0 && i < MOST && !pen_full(pen); i++) {
        Str name = str_take(&names, ' ');
        if (!state->about[i])
            state->about[i] = shipped_about(hooks, ui->arena, "policies", name);
        pen_printf(pen, ROLE_FOCUS, " %-*.*s", NAME_W, STR_ARG(name));
        pen_put_folded(pen, ROLE_DIM, str_from(state->about[i]), NAME_W + 3);
        pen_line(pen);
    }
}

/* Says what to do where there is no second plan, or that one is being compared. */
static void diff_draw_none(Ui *ui, Pen *pen)
{
    if (ui->compare) {
        pen_puts(pen, ROLE_NOTE, " comparing ..");
        return;
    }
    pen_puts(pen, ROLE_TEXT, " No second plan yet.");
    pen_line(pen);
    draw_choices(ui, pen);
    draw_policies(ui, pen);
    ui->list[SHOW_DIFF].wants = pen_full(pen) ? 0 : pen->y;
}

static void draw_same(const Compare *compare, Pen *pen)
{
    const PlanDiff *diff = compare->diff;
    pen_printf(pen, ROLE_TEXT, " %s: %d ops, %d tensors and %d reshards are equal; = lists them",
               diff->same ? "The plans are the same" : "The resulting plans are the same",
               diff->list[DIFF_OPS].n_compared, diff->list[DIFF_TENSORS].n_compared,
               diff->list[DIFF_RESHARDS].n_compared);
}

static void draw(Ui *ui, Pen *pen)
{
    const Compare *compare = compare_now(ui);
    DiffWidths widths = widths_for(pen->area.w);
    if (!compare) {
        diff_draw_none(ui, pen);
        return;
    }
    diff_line_at(ui, compare);
    draw_heading(ui, &widths, pen);
    int h = pen->area.h - 1;
    int64_t at = ui->list[SHOW_DIFF].at;
    list_show(&ui->list[SHOW_DIFF], at, compare->n_shown, h);
    if (compare->n_shown == 0)
        draw_same(compare, pen);
    for (int64_t i = ui->list[SHOW_DIFF].top; i < compare->n_shown && !pen_full(pen); i++) {
        draw_line(ui, compare, &compare->outline.line[compare->shown[i]], &widths, pen);
        rows_end(ui, SHOW_DIFF, i == at, pen);
    }
}

/* ---- keys ---- */

/* What the line is of the plan on the screen: the other views follow. */
static void select_line(Ui *ui, const Compare *compare, int64_t at)
{
    ui->list[SHOW_DIFF].at = at;
    const DiffLine *line = diff_line_at(ui, compare);
    int32_t id = line ? line->id[compare->swapped ? 1 : 0] : -1;
    if (id < 0)
        return;
    if (line->kind == DIFF_LINE_OP) {
        ui_select_op(ui, id);
    } else if (line->kind == DIFF_LINE_RESHARD) {
        int32_t op = reshard_op(ui_plan(ui), &ui_plan(ui)->moved->reshards[id]);
        if (op >= 0)
            ui_select_op(ui, op);
        ui_select_tensor(ui, ui_plan(ui)->moved->reshards[id].tensor);
    } else if (line->kind == DIFF_LINE_GIVEN) {
        ui_select_tensor(ui, id);
    }
}

static bool next_change(Ui *ui, const Compare *compare, int by)
{
    for (int64_t i = ui->list[SHOW_DIFF].at + by; i >= 0 && i < compare->n_shown; i += by)
        if (compare->outline.line[compare->shown[i]].mark != '=') {
            select_line(ui, compare, i);
            return true;
        }
    ui_say(ui, by > 0 ? "no later change" : "no earlier change");
    return true;
}

/* Where the line is in the plan on the screen. */
static bool open_line(Ui *ui, const Compare *compare)
{
    const DiffLine *line = diff_line_at(ui, compare);
    int32_t id = line ? line->id[compare->swapped ? 1 : 0] : -1;
    if (!line)
        return false;
    if (id < 0 || line->kind == DIFF_LINE_FINDING) {
        ui_say(ui, "the plan on the screen does not have it");
        return true;
    }
    select_line(ui, compare, ui->list[SHOW_DIFF].at);
    places_remember(ui);
    int32_t tensor = ui->at.tensor;
    if (line->kind != DIFF_LINE_GIVEN && ui->at.op >= 0)
        ui_go_op(ui, ui->at.op);
    ui_select_tensor(ui, tensor);
    ui->at.show = line->kind == DIFF_LINE_OP ? SHOW_OP : SHOW_TENSOR;
    return true;
}

static bool diff_act_on_plans(Ui *ui, ActId act)
{
    if (act == ACT_SORT)
        compare_swap(ui);
    else if (act == ACT_EQUAL)
        compare_show_equal(ui, !ui->compare->shows_equal);
    else
        return false;
    ui->list[SHOW_DIFF].at = ui->list[SHOW_DIFF].top = 0;
    return true;
}

bool diff_act(Ui *ui, ActId act)
{
    const Compare *compare = compare_now(ui);
    if (!compare)
        return false;
    if (act == ACT_NEXT_CHANGE || act == ACT_PREVIOUS_CHANGE)
        return next_change(ui, compare, act == ACT_NEXT_CHANGE ? 1 : -1);
    if (act == ACT_OPEN)
        return open_line(ui, compare);
    return diff_act_on_plans(ui, act);
}

static bool act(Ui *ui, ActId act)
{
    const Compare *compare = compare_now(ui);
    int64_t at = ui->list[SHOW_DIFF].at;
    if (!compare)
        return false;
    if (!list_move(&at, compare->n_shown, ui->list[SHOW_DIFF].height, act))
        return diff_act(ui, act);
    select_line(ui, compare, at);
    return true;
}

void diff_note(Ui *ui, Buf *out)
{
    const Compare *compare = compare_now(ui);
    if (!compare)
        return;
    const DiffOutline *outline = &compare->outline;
    int change = 0;
    for (int64_t i = 0; i <= ui->list[SHOW_DIFF].at && i < compare->n_shown; i++)
        change += outline->line[compare->shown[i]].mark != '=';
    buf_printf(out, "change %d of %d  ~ changed  + only in B  - only in A  = same (%s: %d)", change,
               outline->n_changes, compare->shows_equal ? "shown" : "hidden",
               outline->n_lines - outline->n_changes);
}

static void go(Ui *ui, int64_t row)
{
    const Compare *compare = compare_now(ui);
    if (compare)
        select_line(ui, compare, row);
}

static void table(Ui *ui, Sheet *out)
{
    static const char *const kinds[] = {"given", "op", "reshard", "finding"};
    const Compare *compare = compare_now(ui);
    static const char *const texts[] = {"mark", "kind", "name", "a", "b"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        sheet_column(out, texts[i], false);
    sheet_head(out, "n# a_us# b_us#");
    for (int i = 0; compare && i < compare->n_shown; i++) {
        const DiffLine *line = &compare->outline.line[compare->shown[i]];
        sheet_put(out, str_from(arena_printf(out->arena, "%c", line->mark)));
        sheet_put(out, str_from(kinds[line->kind]));
        sheet_put(out, diff_line_label(ui, compare, line));
        for (int s = 0; s < 2; s++)
            sheet_put(out, diff_line_cell(ui, compare, line, s, ALL_LEAST).str);
        sheet_number(out, line->n);
        for (int s = 0; s < 2; s++) {
            double us = diff_line_us(compare, line, s);
            sheet_number(out, us > 0 ? us : 0);
        }
    }
}

const Hint diff_hints[] = {
    {ACT_NEXT_CHANGE, "next change"},
    {ACT_EQUAL, "same too"},
    {ACT_OPEN, "go there"},
    {ACT_WHY, "why"},
    {ACT_COMPARE, "compare"},
    {ACT_SORT, "swap"},
    {ACT_NEXT_PANE, "pane"},
    {ACT_BACK, "back"},
    {ACT_HELP, "help"},
    {ACT_CLOSE, "close"},
    {0},
};

const View view_diff = {
    .name = "Diff",
    .draw = draw,
    .act = act,
    .note = diff_note,
    .go = go,
    .list_at = 1,
    .hints = diff_hints,
    .table = table,
    .own_size = sizeof(DiffState),
};
