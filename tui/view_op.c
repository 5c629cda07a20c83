#include "tui/label.h"

#include "core/base/units.h"
#include "core/plan/cost.h"
#include "tui/page.h"

static const char *const role_names[] = {"map", "reduce", "frozen"};

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
    int n = 0;

    for (int64_t d = 0; d < cut->n; d++)
        for (int a = 0; a < cut->digit[d].n; a++)
            atom[n++] = cut->digit[d].atom[a];
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
    pen_fit(pen, index->role == ROLE_MAP ? ROLE_TEXT : ROLE_HEAD, str_from(role_names[index->role]),
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
    draw_sharding(ui, pen, label_sharding(ui, operand->sharding), dim, shape);
    pen_right(pen, ROLE_TEXT,
              operand->sharding < 0 ? STR("")
                                    : label_bytes(ui, plan_local_bytes(ui_plan(ui), operand->tensor,
                                                                       operand->sharding)),
              10);
    pen_puts(pen, moved ? ROLE_NOTE : ROLE_TEXT, moved ? "* " : "  ");
    format_other_end(ui, operand, &other);
    pen_fit_tail(pen, ROLE_DIM, buf_str(&other), w - pen->x);
}

static void draw_cost(const Ui *ui, int32_t op, Pen *pen)
{
    Buf flops = buf_new(ui->frame);

    units_format_flops(op_flops_local(ui_plan(ui), op), &flops);
    draw_field(pen, " COST", 7);
    pen_printf(pen, ROLE_TEXT, "%s a device, ", flops.s);
    pen_put(pen, ROLE_TEXT, label_us(ui, ui_plan(ui)->op_us[op]));
    pen_puts(pen, ROLE_TEXT, " compute");
    for (int32_t r = ui->comm->of_op[op]; r >= 0; r = ui->comm->next[r]) {
        const ReshardPath *path = ui_plan(ui)->reshards[r].path;
        Buf steps = buf_new(ui->frame);
        comm_format_steps(ui->session, path, &steps);
        pen_puts(pen, ROLE_TEXT, "; reshard ");
        draw_sharding(ui, pen, buf_str(&steps), -1, -1);
        pen_rune(pen, ROLE_TEXT, ' ');
        pen_put(pen, ROLE_TEXT, label_us(ui, path->us));
    }
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
        pen_puts(pen, ROLE_NOTE, "no rule: replicated");
    } else {
        opspace_format(space, &annotation);
        pen_put(pen, ROLE_TEXT, buf_str(&annotation));
    }
    pen_line(pen);
}

/* The chain behind the selected item, as far as there are lines for it. */
static void draw_why(Ui *ui, int32_t op, const OpSpace *space, Pen *pen)
{
    Buf text = buf_new(ui->frame);

    if (ui->at.item < space->n_index)
        why_index_text(ui, op, ui->at.item, &text);
    for (int64_t line = 0; pen->y < pen->area.h && page_line(buf_str(&text), line).n > 0; line++) {
        if (line == 0)
            draw_field(pen, " WHY", 7);
        pen_tab(pen, 5);
        draw_sharding(ui, pen, page_line(buf_str(&text), line), -1, -1);
        pen_line(pen);
    }
}

static void draw(Ui *ui, Pen *pen)
{
    int32_t op = ui->at.op;
    const OpSpace *space = op < 0 ? NULL : inferred_space(ui->session->inferred, op);
    const OpCut *cuts = space ? plan_cut(ui_plan(ui), op) : NULL;

    if (!cuts) {
        pen_puts(pen, ROLE_DIM,
                 op < 0 ? " no op is selected" : " known before the run: not sharded");
        return;
    }
    draw_head(ui, op, space, pen);
    draw_field(pen, " INDEX       size  role    cut by", pen->area.w > 70 ? 52 : 44);
    pen_puts(pen, ROLE_HEAD, "local");
    pen_line(pen);
    for (int i = 0; i < space->n_index; i++) {
        draw_index_dim(ui, space, cuts, i, pen);
        if (ui->at.item == i)
            ui_mark_row(ui, SHOW_OP, pen, pen->y);
        pen_line(pen);
    }
    draw_field(pen, " OPERANDS", 70);
    pen_line(pen);
    int n = n_operands(ui, op), first = ui->at.item - space->n_index - (pen->area.h - pen->y - 3);
    for (int i = first > 0 ? first : 0; i < n && pen->y < pen->area.h - 1; i++) {
        OperandAt operand = operand_at(ui, op, i);
        if (operand.tensor < 0)
            continue;
        draw_operand(ui, &operand, pen);
        if (ui->at.item == space->n_index + i)
            ui_mark_row(ui, SHOW_OP, pen, pen->y);
        pen_line(pen);
    }
    draw_cost(ui, op, pen);
    pen_line(pen);
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

static bool move(Ui *ui, ActId act)
{
    const OpSpace *space = inferred_space(ui->session->inferred, ui->at.op);
    int n = (space ? space->n_index : 0) + n_operands(ui, ui->at.op);
    int64_t at = ui->at.item, by = act == ACT_UP || act == ACT_PAGE_UP || act == ACT_HALF_UP;

    if (!ui_move(&at, n, n / 2, act))
        return false;
    ui->at.item = (int)at;
    OperandAt operand = selected_operand(ui);
    /* Absent operands have no row: one further in the same direction, or back. */
    while (ui->at.item >= (space ? space->n_index : 0) && operand.tensor < 0) {
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
        if (operand.tensor >= 0)
            ui_show(ui, SHOW_TENSOR);
        else
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
            buf_puts(out, "summed over: cutting it leaves the output partial");
        else if (index->role == ROLE_FROZEN)
            buf_puts(out, "never cut");
        else
            buf_puts(out, "cutting it cuts every operand that has it");
        return;
    }
    OperandAt operand = selected_operand(ui);
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

const View view_op = {"Op", draw, act, note, NULL, -1, hints};
