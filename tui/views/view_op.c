#include "tui/views/label.h"

#include "core/base/units.h"
#include "core/plan/cost.h"
#include "core/rules/notation.h"
#include "core/run/kernel.h"
#include "tui/views/page.h"

/* Operand `i` of the op, inputs then outputs: its tensor and the sharding the op sees; -1: absent.
 */
typedef struct {
    bool input;
    int32_t tensor, sharding;
} OperandAt;

static OperandAt operand_at(const Ui *ui, int32_t op, int i)
{
    const Graph *graph = ui_graph(ui);
    const GraphOp *node = &graph->ops[op];

    if (i < node->n_inputs)
        return (OperandAt){true, op_inputs(graph, op)[i], ui_plan(ui)->need[node->input + i]};
    int32_t tensor = op_outputs(graph, op)[i - node->n_inputs];
    return (OperandAt){false, tensor, tensor < 0 ? -1 : ui_plan(ui)->made[tensor]};
}

static int n_operands(const Ui *ui, int32_t op)
{
    return ui_graph(ui)->ops[op].n_inputs + ui_graph(ui)->ops[op].n_outputs;
}

static void format_cut(const Ui *ui, const Cut *cut, Buf *out)
{
    uint8_t atom[ATOMS_MAX];
    int n = cut_list_atoms(cut, atom);

    if (n == 0) {
        buf_putc(out, '-');
        return;
    }
    mesh_format_atoms(ui->session->mesh, atom, n, ".", out);
    if (cut->n > 1) {
        buf_puts(out, "  ");
        cut_format(cut, ui->session->mesh, out);
    }
}

static void draw_index_dim(const Ui *ui, const OpSpace *space, const OpCut *cuts, int i, Pen *pen)
{
    const IndexDim *index = &space->index[i];
    const Cut *cut = &cuts->index[i];
    Buf text = buf_new(ui->frame), local = buf_new(ui->frame);

    pen_tab(pen, 2);
    pen_fit(pen, ROLE_TEXT, str_from(index->name), 7);
    pen_right(pen, ROLE_TEXT, str_from(arena_printf(ui->frame, "%lld", (long long)index->size)), 8);
    pen_tab(pen, pen->x + 2);
    pen_fit(pen, index->role == ROLE_MAP ? ROLE_TEXT : ROLE_HEAD, str_from(role_name(index->role)),
            8);
    format_cut(ui, cut, &text);
    draw_sharding(ui, pen, buf_str(&text), -1, pen->area.w > 70 ? 22 : 14);
    buf_printf(&local, "%lld", (long long)cut_local_size(cut, ui->session->mesh, ui->rank));
    pen_right(pen, ROLE_TEXT, buf_str(&local), 8);
    if (index->role == ROLE_REDUCE && !cut_is_whole(cut))
        pen_puts(pen, ROLE_TEXT, "  → output partial");
}

static void format_other_end(const Ui *ui, const OperandAt *operand, Buf *out)
{
    const Graph *graph = ui_graph(ui);
    int32_t maker = graph->tensors[operand->tensor].maker;

    if (operand->input) {
        buf_puts(out, "◂ ");
        if (maker >= 0 && !inferred_is_host(ui->session->inferred, maker))
            buf_add(out, label_op(ui->session, ui->frame, maker));
        else
            buf_puts(out, label_tensor_kind(ui, operand->tensor));
        return;
    }
    int n = tensor_n_uses(graph, operand->tensor);
    buf_puts(out, "▸ ");
    if (n == 0) {
        buf_puts(out, "output");
        return;
    }
    buf_add(out,
            label_op(ui->session, ui->frame, graph->uses[graph->tensors[operand->tensor].use]));
    if (n > 1)
        buf_printf(out, " +%d", n - 1);
}

static void draw_operand(const Ui *ui, const OperandAt *operand, Pen *pen)
{
    int w = pen->area.w, shape = w > 70 ? 20 : 16, name = (w - 4 - shape - 12) * 55 / 100;
    Buf other = buf_new(ui->frame);
    Str label = str_from(naming_label(ui->session->naming, operand->tensor));
    bool moved = operand->input && operand->sharding >= 0 &&
                 operand->sharding != ui_plan(ui)->sharding[operand->tensor];
    int dim = operand->tensor == ui->at.tensor ? ui->at.dim : -1;

    pen_puts(pen, ROLE_HEAD, operand->input ? " in  " : " out ");
    pen_fit_tail(pen, ROLE_TEXT, label, name);
    pen_rune(pen, ROLE_TEXT, ' ');
    draw_sharding(ui, pen, label_value(ui, operand->tensor, operand->sharding), dim, shape);
    pen_right(pen, ROLE_TEXT,
              operand->sharding < 0 ? STR("")
                                    : label_bytes(ui, plan_local_bytes(ui_plan(ui), operand->tensor,
                                                                       operand->sharding)),
              10);
    pen_puts(pen, moved ? ROLE_NOTE : ROLE_TEXT, moved ? "* " : "  ");
    format_other_end(ui, operand, &other);
    pen_fit_tail(pen, ROLE_DIM, buf_str(&other), w - pen->x);
}

/* On two lines where it does not fit: what is computed, what is moved. */
static void draw_cost_formula(const Ui *ui, int32_t op, Pen *pen)
{
    Buf formula = buf_new(ui->frame);
    op_cost_explain(ui_plan(ui), op, &formula);
    Str text = buf_str(&formula);
    int64_t border = str_find(text, STR("s), "));
    border = border < 0 ? str_find(text, STR("s, ")) : border + 1;
    pen_tab(pen, 7);
    if (border > 0 && text_columns(text) > pen->area.w - pen->x) {
        size_t n = (size_t)border + 2;
        pen_put(pen, ROLE_DIM, (Str){text.s, n});
        pen_line(pen);
        pen_tab(pen, 9);
        text = (Str){text.s + n + 1, text.n - n - 1};
    }
    pen_fit(pen, ROLE_DIM, text, pen->area.w - pen->x);
}

/* Of all iterations, for an op of a loop; the formula is of one. */
static void draw_cost(const Ui *ui, int32_t op, Pen *pen)
{
    double times = inferred_repeat(ui->session->inferred, op);
    Buf flops = buf_new(ui->frame);

    units_format_flops(times * op_flops_local(ui_plan(ui), op), &flops);
    draw_field(pen, " COST", 7);
    pen_printf(pen, ROLE_TEXT, "%s a device, ", flops.s);
    pen_put(pen, ROLE_TEXT, label_us(ui, ui_plan(ui)->op_us[op]));
    pen_puts(pen, ROLE_TEXT, " compute");
    if (times != 1)
        pen_printf(pen, ROLE_TEXT, " ↻%.10g", times);
    for (int32_t r = ui->comm->of_op[op]; r >= 0; r = ui->comm->next[r]) {
        const ReshardPath *path = ui_plan(ui)->reshards[r].path;
        Buf steps = buf_new(ui->frame);
        comm_format_steps(ui->session, path, &steps);
        pen_puts(pen, ROLE_TEXT, "; reshard ");
        draw_sharding(ui, pen, buf_str(&steps), -1, -1);
        pen_rune(pen, ROLE_TEXT, ' ');
        pen_put(pen, ROLE_TEXT,
                label_us(ui, path->us * reshard_repeat(ui_plan(ui), &ui_plan(ui)->reshards[r])));
    }
    pen_line(pen);
    draw_cost_formula(ui, op, pen);
}

static void draw_head(const Ui *ui, int32_t op, const OpSpace *space, Pen *pen)
{
    Buf annotation = buf_new(ui->frame);
    Str name = label_op(ui->session, ui->frame, op);
    const char *operator= op_operator(ui_graph(ui), op);
    int room = pen->area.w - 2 - (int)strlen(operator);

    pen_rune(pen, ROLE_TEXT, ' ');
    pen_fit_tail(pen, ROLE_HEAD, name, text_columns(name) < room ? text_columns(name) : room);
    pen_printf(pen, ROLE_TEXT, " %s", operator);
    if (ui->at.row.times > 1)
        pen_printf(pen, ROLE_HEAD, " ×%lld", (long long)ui->at.row.times);
    pen_line(pen);
    draw_field(pen, " RULE", 7);
    if (space->no_rule) {
        pen_puts(pen, ROLE_NOTE, label_no_rule(ui->session, op));
    } else {
        opspace_format(space, &annotation);
        pen_fit(pen, ROLE_TEXT, buf_str(&annotation), pen->area.w - pen->x);
    }
    pen_line(pen);
}

/* What other systems call it, and whether it can be run. */
static void draw_names(const Ui *ui, int32_t op, const OpSpace *space, Pen *pen)
{
    const Registry *registry = ui->session->inferred->registry;
    const char *name = op_operator(ui_graph(ui), op);
    const Operator *row = registry_find(registry, str_from(name));
    Aliases aliases = alias_names(ui->frame, row ? row->name : name);
    SystemId system = SYSTEM_COUNT;
    Buf text = buf_new(ui->frame);

    buf_puts(&text, kernel_find(space, name) ? "can be run" : "no kernel: only planned");
    for (int i = 0; i < aliases.n; i++) {
        const Alias *alias = &aliases.at[i];
        buf_printf(&text, "%s%s %s", alias->system == system ? "" : "; ",
                   alias->system == system ? "" : system_name(alias->system), alias->name);
        system = alias->system;
    }
    draw_field(pen, " NAMES", 7);
    pen_fit(pen, ROLE_DIM, buf_str(&text), pen->area.w - pen->x);
    pen_line(pen);
}

/* ---- sections: lists under a heading, of items that the cursor walks through ---- */

/* ORDER SECTION: as they stand. */
typedef enum { SECTION_INDEX, SECTION_OPERANDS, SECTION_NOTATIONS, SECTION_COUNT } SectionId;

typedef struct {
    int n, first; /* items, and the number of the first */
    bool open;    /* else it is its heading alone */
} Section;

/* Five notations say an index space: an op that is replicated, or ties values, has nothing to say
 * in them. */
static int n_notations(const Ui *ui, int32_t op, const OpSpace *space)
{
    ControlTie tie[TIES_MAX + 1];
    int n;
    return space->no_rule || control_ties(ui->session, op, tie, &n) ? 0 : NOTATION_COUNT;
}

/* Where there is no room for all, the cursor's section is open, then the others in order; below
 * them the cursor's item in detail, of which operands leave but a line. */
static void make_sections(const Ui *ui, int32_t op, const OpSpace *space, int h,
                          Section section[SECTION_COUNT])
{
    enum { HEADS = 5 + SECTION_COUNT + 1, DETAIL = 4, DETAIL_OF_NOTATION = 14 };
    const int n[SECTION_COUNT] = {space->n_index, n_operands(ui, op), n_notations(ui, op, space)};
    int first = 0, at = 0;

    for (int s = 0; s < SECTION_COUNT; s++) {
        section[s] = (Section){n[s], first, false};
        if (ui->at.item >= first)
            at = s;
        first += n[s];
    }
    int room = h - HEADS - n[at];
    section[at].open = true;
    for (int s = 0; s < SECTION_COUNT; s++) {
        int detail = at == SECTION_NOTATIONS ? DETAIL_OF_NOTATION : DETAIL;
        if (s == SECTION_OPERANDS && at == SECTION_INDEX)
            detail = 1;
        if (s != at && n[s] + detail <= room) {
            section[s].open = true;
            room -= n[s];
        }
    }
}

static bool is_selected(const Ui *ui, const Section *section)
{
    return ui->at.item >= section->first && ui->at.item < section->first + section->n;
}

/* ---- notations ---- */

static void draw_notations_folded(const Ui *ui, const OpSpace *space, Pen *pen)
{
    for (int n = 0; n < NOTATION_COUNT; n++) {
        Buf text = buf_new(ui->frame), lost = buf_new(ui->frame);
        bool all = notations[n].print(space, &text, &lost);
        pen_printf(pen, all ? ROLE_TEXT : ROLE_DIM, " %s%s", all ? "" : "~", notations[n].name);
    }
    pen_line(pen);
}

enum { AT_TEXT = 15 }; /* column where a notation's text begins */

/* A line each: its text, or how long that is; ~ before what leaves something out. */
static void draw_notation(const Ui *ui, const OpSpace *space, int n, Pen *pen)
{
    Buf text = buf_new(ui->frame), lost = buf_new(ui->frame);
    bool all = notations[n].print(space, &text, &lost);
    int lines = 0;

    for (Str rest = buf_str(&text); rest.n > 0; lines++)
        str_take(&rest, '\n');
    pen_tab(pen, 2);
    pen_fit(pen, ROLE_TEXT, str_from(notations[n].name), 11);
    pen_puts(pen, ROLE_NOTE, all ? "" : "~");
    pen_tab(pen, AT_TEXT);
    if (lines > 1)
        pen_printf(pen, ROLE_DIM, "%d lines of Lua", lines);
    else
        pen_fit(pen, lines > 0 ? ROLE_TEXT : ROLE_DIM, lines > 0 ? buf_str(&text) : STR("none"),
                pen->area.w - pen->x);
}

/* The part of text that goes into `columns`, cut at a blank where there is one. */
static Str take_line(Str *text, int columns)
{
    size_t most = columns > 1 ? (size_t)columns : 1, n = text->n;
    if (n > most)
        for (n = most; n > most / 2 && text->s[n] != ' '; n--)
            continue;
    if (n <= most / 2 && n < text->n)
        n = most;
    Str line = {text->s, n};
    while (n < text->n && text->s[n] == ' ')
        n++;
    *text = (Str){text->s + n, text->n - n};
    return line;
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
            pen_put(pen, role, take_line(&left, pen->area.w - pen->x - 1));
            pen_line(pen);
            label = "";
        }
    }
}

/* What the selected notation does not say, and its text where a line did not hold it. */
static void draw_notation_detail(const Ui *ui, const OpSpace *space, int n, Pen *pen)
{
    Buf text = buf_new(ui->frame), lost = buf_new(ui->frame);
    notations[n].print(space, &text, &lost);
    draw_lines(buf_str(&lost), "not said: ", ROLE_NOTE, pen);
    if (page_line(buf_str(&text), 1).n > 0 || text_columns(buf_str(&text)) > pen->area.w - AT_TEXT)
        draw_lines(buf_str(&text), "", ROLE_TEXT, pen);
    if (!pen_full(pen))
        return;
    pen_to(pen, 4, pen->area.h - 1);
    pen_fit(pen, ROLE_DIM, STR("…"), pen->area.w - pen->x);
}

/* ---- branches and loops ---- */

/* The values that are one by this op: where they are laid out otherwise than it, that is marked. */
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
        pen_fit_tail(pen, ROLE_TEXT, label, room < NAME_MOST ? room : NAME_MOST);
        pen_rune(pen, ROLE_TEXT, ' ');
        draw_sharding(ui, pen, label_value(ui, tie[i].tensor, plan->sharding[tie[i].tensor]), -1,
                      pen->area.w - pen->x);
        pen_line(pen);
    }
    pen_puts(pen, ROLE_DIM, "  no notation has a word for it");
    pen_line(pen);
}

/* ---- the whole ---- */

/* The chain behind the selected item, as far as there are lines for it. */
static void draw_why(Ui *ui, int32_t op, const OpSpace *space, Pen *pen)
{
    Buf text = buf_new(ui->frame);

    if (ui->at.item < space->n_index)
        why_index_text(ui, op, ui->at.item, &text);
    for (int64_t line = 0; pen->y < pen->area.h && page_line(buf_str(&text), line).n > 0; line++) {
        if (line == 0)
            draw_field(pen, " WHY", 5);
        pen_tab(pen, 5);
        draw_sharding(ui, pen, page_line(buf_str(&text), line), -1, pen->area.w - pen->x);
        pen_line(pen);
    }
}

static void draw_indexes(const Ui *ui, const OpSpace *space, const OpCut *cuts,
                         const Section *section, Pen *pen)
{
    draw_field(pen, " INDEX       size  role    cut by", pen->area.w > 70 ? 52 : 44);
    pen_puts(pen, ROLE_HEAD, "local");
    pen_line(pen);
    for (int i = 0; i < section->n; i++) {
        draw_index_dim(ui, space, cuts, i, pen);
        if (ui->at.item == i)
            ui_mark_row(ui, SHOW_OP, pen, pen->y);
        pen_line(pen);
    }
}

/* As many as leave `below` lines, scrolled to the cursor. */
static void draw_operands(const Ui *ui, int32_t op, const Section *section, int below, Pen *pen)
{
    draw_field(pen, " OPERANDS", 70);
    pen_line(pen);
    int room = pen->area.h - pen->y - below, at = ui->at.item - section->first;
    int first = is_selected(ui, section) && at >= room ? at - room + 1 : 0;
    for (int i = first; i < section->n && (i - first < room || i == at); i++) {
        OperandAt operand = operand_at(ui, op, i);
        if (operand.tensor < 0)
            continue;
        draw_operand(ui, &operand, pen);
        if (at == i)
            ui_mark_row(ui, SHOW_OP, pen, pen->y);
        pen_line(pen);
    }
}

static void draw_notations(const Ui *ui, int32_t op, const OpSpace *space, const Section *section,
                           Pen *pen)
{
    ControlTie tie[TIES_MAX + 1];
    int n_ties;
    if (control_ties(ui->session, op, tie, &n_ties)) {
        draw_ties(ui, op, pen);
        return;
    }
    draw_field(pen, " NOTATIONS", 11);
    if (section->n == 0) {
        pen_puts(pen, ROLE_DIM, "  none: it has no index space");
        pen_line(pen);
        return;
    }
    if (!section->open) {
        draw_notations_folded(ui, space, pen);
        return;
    }
    pen_printf(pen, ROLE_DIM, "  all of it: dimscope rule %s", op_operator(ui_graph(ui), op));
    pen_line(pen);
    for (int n = 0; n < section->n; n++) {
        draw_notation(ui, space, n, pen);
        if (ui->at.item == section->first + n)
            ui_mark_row(ui, SHOW_OP, pen, pen->y);
        pen_line(pen);
    }
}

static void draw_folded(const char *label, const Section *section, Pen *pen)
{
    draw_field(pen, label, 11);
    pen_printf(pen, ROLE_DIM, "%d", section->n);
    pen_line(pen);
}

static void draw(Ui *ui, Pen *pen)
{
    int32_t op = ui->at.op;
    const OpSpace *space = op < 0 ? NULL : inferred_space(ui->session->inferred, op);
    const OpCut *cuts = space ? plan_cut(ui_plan(ui), op) : NULL;
    Section section[SECTION_COUNT];

    if (!cuts) {
        pen_puts(pen, ROLE_DIM,
                 op < 0 ? " no op is selected" : " known before the run: not sharded");
        return;
    }
    make_sections(ui, op, space, pen->area.h, section);
    const Section *notation = &section[SECTION_NOTATIONS];
    draw_head(ui, op, space, pen);
    draw_names(ui, op, space, pen);
    if (section[SECTION_INDEX].open)
        draw_indexes(ui, space, cuts, &section[SECTION_INDEX], pen);
    else
        draw_folded(" INDEX", &section[SECTION_INDEX], pen);
    if (section[SECTION_OPERANDS].open)
        draw_operands(ui, op, &section[SECTION_OPERANDS], notation->open ? 7 : 2, pen);
    else
        draw_folded(" OPERANDS", &section[SECTION_OPERANDS], pen);
    draw_cost(ui, op, pen);
    pen_line(pen);
    draw_notations(ui, op, space, notation, pen);
    if (is_selected(ui, notation))
        draw_notation_detail(ui, space, ui->at.item - notation->first, pen);
    else
        draw_why(ui, op, space, pen);
}

/* Operand under the cursor, or {-1}. */
static OperandAt selected_operand(const Ui *ui)
{
    const OpSpace *space = inferred_space(ui->session->inferred, ui->at.op);
    int i = ui->at.item - (space ? space->n_index : 0);

    if (i < 0 || i >= n_operands(ui, ui->at.op))
        return (OperandAt){false, -1, -1};
    return operand_at(ui, ui->at.op, i);
}

/* Notation under the cursor, or -1. */
static int selected_notation(const Ui *ui, const OpSpace *space)
{
    int at = space ? ui->at.item - space->n_index - n_operands(ui, ui->at.op) : -1;
    return at < 0 ? -1 : at;
}

static bool move(Ui *ui, ActId act)
{
    const OpSpace *space = inferred_space(ui->session->inferred, ui->at.op);
    int last_operand = (space ? space->n_index : 0) + n_operands(ui, ui->at.op);
    int n = last_operand + (space ? n_notations(ui, ui->at.op, space) : 0);
    int64_t at = ui->at.item, by = act == ACT_UP || act == ACT_PAGE_UP || act == ACT_HALF_UP;

    if (!ui_move(&at, n, n / 2, act))
        return false;
    ui->at.item = (int)at;
    OperandAt operand = selected_operand(ui);
    /* Absent operands have no row: one further in the same direction, or back. */
    while (ui->at.item >= (space ? space->n_index : 0) && ui->at.item < last_operand &&
           operand.tensor < 0) {
        if (ui->at.item + (by ? -1 : 1) >= n)
            by = 1;
        ui->at.item += by ? -1 : 1;
        operand = selected_operand(ui);
    }
    if (operand.tensor >= 0)
        ui_select_tensor(ui, operand.tensor);
    return true;
}

static bool act(Ui *ui, ActId act, Key last)
{
    (void)last;
    if (ui->at.op < 0)
        return false;
    if (move(ui, act))
        return true;
    if (act == ACT_OPEN) {
        OperandAt operand = selected_operand(ui);
        const OpSpace *space = inferred_space(ui->session->inferred, ui->at.op);
        if (operand.tensor >= 0)
            ui_show(ui, SHOW_TENSOR);
        else if (selected_notation(ui, space) < 0)
            ui_show(ui, SHOW_WHY);
        return true;
    }
    return false;
}

static void note(Ui *ui, Buf *out)
{
    const OpSpace *space = ui->at.op < 0 ? NULL : inferred_space(ui->session->inferred, ui->at.op);

    if (!space)
        return;
    if (ui->at.item < space->n_index) {
        const IndexDim *index = &space->index[ui->at.item];
        buf_printf(out, "index dim %s: ", index->name);
        if (index->role == ROLE_REDUCE)
            buf_printf(out, "reduced by %s: cutting it leaves the output partial",
                       reduce_name(index->reduce));
        else if (index->role == ROLE_FROZEN)
            buf_puts(out, "never cut");
        else
            buf_puts(out, "cutting it cuts every operand that has it");
        return;
    }
    OperandAt operand = selected_operand(ui);
    int notation = selected_notation(ui, space);
    if (notation >= 0)
        buf_printf(out, "the op as %s says it; ~ leaves something out", notations[notation].name);
    if (operand.tensor < 0)
        return;
    buf_puts(out, tensor_name(ui_graph(ui), operand.tensor));
    if (operand.input && operand.sharding != ui_plan(ui)->sharding[operand.tensor]) {
        buf_puts(out, "  * moved here from ");
        buf_add(out, label_sharding(ui, ui_plan(ui)->sharding[operand.tensor]));
    }
}

static const Hint hints[] = {
    {ACT_DOWN, "move"},
    {ACT_OPEN, "open"},
    {ACT_CONSUMER, "user"},
    {ACT_PRODUCER, "maker"},
    {ACT_WHY, "why"},
    {ACT_WHY_NOT, "why not"},
    {ACT_PIN, "pin"},
    {ACT_BACK, "back"},
    {ACT_HELP, "help"},
    {ACT_CLOSE, "close"},
    {0},
};

const View view_op = {
    .name = "Op",
    .draw = draw,
    .act = act,
    .note = note,
    .list_at = -1,
    .hints = hints,
};
