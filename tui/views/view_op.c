#include "tui/views/step/step_account.h"
#include "tui/views/label.h"

#include "core/cost/op_declared.h"
#include "core/base/units.h"
#include "core/cost/cost.h"
#include "core/plan/stage.h"
#include "core/rules/notation.h"
#include "core/run/kernel.h"
#include "core/explain/reason.h"
#include "core/explain/why_reshard.h"
#include "tui/screen/folded.h"
#include "tui/state/jobs/reasons_job.h"
#include "tui/views/op_lists.h"
#include "tui/views/op_notations.h"
#include "tui/views/page.h"
#include "tui/views/rows.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* On two lines or more where it does not fit: what is computed, what is moved. */
static void draw_cost_formula(const Ui *ui, int32_t op, Pen *pen)
{
    Buf formula = buf_marked(ui->frame);
    op_cost_explain(ui_plan(ui), op, &formula);
    Str text = buf_str(&formula);
    const TextSpan *compute = text_find(buf_text(&formula), SPAN_TERM);
    size_t n = compute ? compute->n : 0;
    pen_tab(pen, 7);
    int room = pen->area.w - pen->x;
    if (n > 0 && text_columns(text) > room && (int)n <= room) {
        pen_put(pen, ROLE_DIM, (Str){text.s, n});
        pen_line(pen);
        pen_tab(pen, 9);
        text = (Str){text.s + n + 1, text.n - n - 1};
    }
    pen_put_folded(pen, ROLE_DIM, text, 7);
}

/* The collectives that its operator says are inside it. */
static void draw_inside(const Ui *ui, int32_t op, Pen *pen)
{
    const OpDeclared *declared = op_declared(ui_plan(ui), op);
    for (int i = 0; declared && i < declared->n_comms; i++) {
        Buf text = buf_new(ui->frame);
        op_comm_format(ui_plan(ui), &declared->comm[i], &text);
        pen_puts(pen, ROLE_TEXT, "; inside ");
        pen_put(pen, ROLE_TEXT, buf_str(&text));
    }
}

/* The devices that run it, its stage, and the decision; nothing if all devices run every op. */
static void draw_stage(const Ui *ui, int32_t op, Pen *pen)
{
    const Stages *stages = ui_plan(ui)->decided->stages;
    Buf text = buf_marked(ui->frame);

    if (!stages)
        return;
    draw_field(pen, " ON", 7);
    stage_format(ui_plan(ui), op, &text);
    if (recompute_group(ui_plan(ui), op) >= 0)
        buf_printf(&text, "; recomputed, group %d", recompute_group(ui_plan(ui), op));
    pen_text(pen, buf_text(&text), -1, pen->area.w - pen->x);
    pen_line(pen);
}

/* Of all iterations, for an op of a loop; the formula is of one. */
static void draw_cost(const Ui *ui, int32_t op, Pen *pen)
{
    double times = inferred_repeat(ui->session->inferred, op);
    Buf flops = buf_new(ui->frame);

    units_format_flops(times * op_flops_local(ui_plan(ui), op), &flops);
    draw_stage(ui, op, pen);
    draw_field(pen, " COST", 7);
    pen_printf(pen, ROLE_TEXT, "%s a device, ", flops.s);
    pen_put(pen, ROLE_TEXT, label_us(ui, ui_plan(ui)->priced->op_us[op]));
    pen_puts(pen, ROLE_TEXT, " compute");
    if (times != 1)
        pen_printf(pen, ROLE_TEXT, " ↻%.10g", times);
    for (int32_t r = ui->comm->of_op[op]; r >= 0; r = ui->comm->next[r]) {
        const ReshardPath *path = ui_plan(ui)->moved->reshards[r].path;
        Buf steps = buf_marked(ui->frame);
        comm_format_steps(ui->session, path, &steps);
        pen_puts(pen, ROLE_TEXT, "; reshard ");
        pen_text(pen, buf_text(&steps), -1, -1);
        pen_rune(pen, ROLE_TEXT, ' ');
        pen_put(
            pen, ROLE_TEXT,
            label_us(ui, path->us * reshard_repeat(ui_plan(ui), &ui_plan(ui)->moved->reshards[r])));
    }
    draw_inside(ui, op, pen);
    pen_line(pen);
    draw_cost_formula(ui, op, pen);
}

static void draw_name(const Ui *ui, int32_t op, Pen *pen)
{
    Str name = label_op(ui->session, ui->frame, op);
    const char *op_type = op_operator(ui_graph(ui), op);
    int room = pen->area.w - 2 - (int)strlen(op_type);

    pen_rune(pen, ROLE_TEXT, ' ');
    pen_fit_name(pen, ROLE_HEAD, name, text_columns(name) < room ? text_columns(name) : room);
    pen_printf(pen, ROLE_TEXT, " %s", op_type);
    if (ui->at.row.times > 1)
        pen_printf(pen, ROLE_HEAD, " ×%lld", (long long)ui->at.row.times);
    pen_line(pen);
}

/* The annotation, and where the rule is from. */
static void draw_rule(const Ui *ui, int32_t op, const OpSpace *space, Pen *pen)
{
    const Registry *registry = ui->session->inferred->registry;
    const Operator *row = registry_find(registry, str_from(op_operator(ui_graph(ui), op)));
    Buf annotation = buf_new(ui->frame), source = buf_new(ui->frame);

    draw_field(pen, " RULE", 7);
    if (space->no_rule) {
        pen_puts(pen, ROLE_NOTE, label_no_rule(ui->session, op));
        pen_line(pen);
        return;
    }
    opspace_format(space, &annotation);
    if (row && row->anno && row->anno->file)
        buf_printf(&source, "  %s:%d", path_base(row->anno->file), row->anno->line);
    else if (row && row->family)
        buf_printf(&source, "  built in, %s", row->family);
    int n = text_columns(buf_str(&annotation)), room = pen->area.w - pen->x;
    pen_fit(pen, ROLE_TEXT, buf_str(&annotation), n < room ? n : room);
    if (n + text_columns(buf_str(&source)) <= room)
        pen_put(pen, ROLE_DIM, buf_str(&source));
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

    buf_puts(&text,
             kernel_find(space, name) ? "can be run" : "no kernel: it can be planned, not run");
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

/* ---- why, and what else ---- */

/* A search for the next best way takes more than a frame on meshes of more prime parts. */
enum { WHY_LINES = 7, ATOMS_QUICK = 6 };

/* At most `most` lines of it, always including the last step, the decision it comes from. */
static void draw_chain(Text text, int most, Pen *pen)
{
    int64_t n = 0, pin = 0;

    for (; page_line(text, n).str.n > 0; n++)
        pin = text_find(page_line(text, n), SPAN_STEP) ? n : pin;
    int64_t left_out = n <= most ? n : most > 2 ? most - 2 : 0;
    for (int64_t line = 0; line < n; line++) {
        if (line == left_out) {
            line = pin > line ? pin : line;
            if (line > left_out && most > 1) {
                pen_printf(pen, ROLE_DIM, "   … %" PRId64 " lines, w has them", line - left_out);
                pen_line(pen);
            }
        }
        pen_text(pen, page_line(text, line), -1, pen->area.w - pen->x);
        pen_line(pen);
    }
}

/* The chain behind the selected item: why an index dim is cut, why an operand is partial or cut in
 * the dim under the cursor. h: the lines that are seen, which it fits into if it can. */
static void draw_why(Ui *ui, int32_t op, const OpSpace *space, int h, Pen *pen)
{
    const Plan *plan = ui_plan(ui);
    Buf text = buf_marked(ui->frame), title = buf_new(ui->frame);

    if (ui->at.item < space->n_index) {
        why_index_text(ui, op, ui->at.item, &text);
        buf_printf(&title, "is %s sharded this way?", space->index[ui->at.item].name);
    } else if (ui->at.item < space->n_index + op_n_operands(ui, op)) {
        OperandAt operand = op_operand_at(ui, op, ui->at.item - space->n_index);
        const Sharding *sharding =
            operand.sharding < 0 ? NULL : shardings_at(plan->shardings, operand.sharding);
        int dim = sharding && sharding_partials(sharding) ? -1 : ui->at.dim;
        ReasonChain *chains;
        bool ready = reasons_ready(ui, plan);
        int n = ready && sharding && dim < sharding->n_dims
                    ? why_tensor_dim(ui->frame, plan, operand.tensor, dim, &chains)
                    : 0;
        if (!ready)
            buf_printf(&text, "%s\n", reasons_waiting);
        for (int i = 0; i < n; i++)
            reason_format_chain(plan, &chains[i], "", &text);
        if (dim < 0)
            buf_puts(&title, "is it partial?");
        else
            buf_printf(&title, "is its dim %d sharded this way?", dim);
    }
    if (text.n == 0)
        return;
    draw_field(pen, " WHY", 5);
    pen_put(pen, ROLE_TEXT, buf_str(&title));
    pen_line(pen);
    int room = h - pen->y;
    draw_chain(buf_text(&text), room < 1 || room > WHY_LINES ? WHY_LINES : room, pen);
}

/* The next best way of its reshard, and the next best row that it could have chosen. */
static void draw_tried(const Ui *ui, int32_t op, Pen *pen)
{
    const Plan *plan = ui_plan(ui);
    const char *label = " TRIED";
    int32_t r = ui->comm->of_op[op];

    if (r >= 0 && plan->moved->reshards[r].path->us > 0 && plan->mesh->n_atoms <= ATOMS_QUICK &&
        !job_runs(ui)) {
        const Reshard *reshard = &plan->moved->reshards[r];
        const ReshardPath *next = why_reshard_other(plan, reshard);
        Buf text = buf_marked(ui->frame);
        if (next) {
            comm_format_steps(ui->session, next, &text);
            buf_puts(&text, " instead of ");
        }
        comm_format_steps(ui->session, reshard->path, &text);
        if (next)
            buf_printf(&text, ": %.*s, not %.*s", STR_ARG(label_us(ui, next->us)),
                       STR_ARG(label_us(ui, reshard->path->us)));
        else
            buf_puts(&text, ": the only way");
        draw_field(pen, label, 7);
        pen_text(pen, buf_text(&text), -1, pen->area.w - pen->x);
        pen_line(pen);
        label = "";
    }
    if (!plan->propagated->choice || plan->propagated->choice[op].us < 0)
        return;
    draw_field(pen, label, 7);
    pen_printf(pen, ROLE_TEXT, "its strategy reshards inputs in %.*s, ",
               STR_ARG(label_us(ui, plan->propagated->choice[op].us)));
    if (isinf(plan->propagated->choice[op].next_us))
        pen_puts(pen, ROLE_TEXT, "there is no other");
    else
        pen_printf(pen, ROLE_TEXT, "the next best one in %.*s",
                   STR_ARG(label_us(ui, plan->propagated->choice[op].next_us)));
    pen_line(pen);
}

/* ---- the whole ---- */

/* All of it on a page of its own, of which h lines are seen; *selected: the line of the cursor's
 * item. */
static void draw_page(Ui *ui, int32_t op, const OpSpace *space, int h, Pen *pen, int *selected)
{
    draw_rule(ui, op, space, pen);
    op_draw_indexes(ui, op, pen, selected);
    op_draw_operands(ui, op, (int)space->n_index, pen, selected);
    op_draw_range(ui, op, ui->at.item - (int)space->n_index, pen);
    draw_cost(ui, op, pen);
    pen_line(pen);
    draw_why(ui, op, space, h, pen);
    draw_tried(ui, op, pen);
    draw_names(ui, op, space, pen);
    op_draw_notations(ui, op, (int)space->n_index + op_n_operands(ui, op), h, pen, selected);
    op_draw_ranges(ui, op, pen);
}

static void copy_lines(const Grid *from, int top, Pen *pen)
{
    Grid *to = pen->grid;

    for (int y = 0; pen->y + y < pen->area.h && top + y < from->h; y++) {
        ptrdiff_t to_row = pen->area.y + pen->y + y, from_row = top + y;
        memcpy(&to->cells[to_row * to->w + pen->area.x], &from->cells[from_row * from->w],
               (size_t)pen->area.w * sizeof(Cell));
    }
}

/* The name stays, the rest scrolls under it to the cursor. */
static void draw(Ui *ui, Pen *pen)
{
    enum { BESIDE_ITEMS = 64, PAGE_MOST = 4096 };
    int32_t op = ui->at.op;
    const OpSpace *space = op < 0 ? NULL : inferred_space(ui->session->inferred, op);
    const OpCut *cuts = space ? plan_cut(ui_plan(ui), op) : NULL;
    int selected = -1;

    ui->list[SHOW_OP].n = 0;
    if (!cuts) {
        pen_puts(pen, ROLE_DIM,
                 op < 0 ? " no op is selected" : " computed before the run: not sharded");
        pen_line(pen);
        if (op < 0)
            step_account_draw(ui, pen);
        return;
    }
    draw_name(ui, op, pen);
    int lines = (int)space->n_index + op_n_operands(ui, op) + BESIDE_ITEMS,
        h = pen->area.h - pen->y;
    if (h <= 0 || pen->area.w <= 0)
        return;
    Grid *page =
        grid_new(ui->frame, pen->area.w, lines < PAGE_MOST ? lines : PAGE_MOST, pen->grid->ascii);
    Pen inner = pen_new(page, (Rect){0, 0, page->w, page->h});
    draw_page(ui, op, space, h, &inner, &selected);
    int n = inner.y < page->h ? inner.y : page->h;
    ui->list[SHOW_OP].top = selected - 2 * h / 3;
    list_show(&ui->list[SHOW_OP], selected, n, h);
    int top = (int)ui->list[SHOW_OP].top;
    copy_lines(page, top, pen);
    if (selected >= 0)
        rows_mark(ui, SHOW_OP, pen, pen->y + selected - top);
}

/* Operand under the cursor, or {-1}. */
static OperandAt selected_operand(const Ui *ui)
{
    const OpSpace *space = inferred_space(ui->session->inferred, ui->at.op);
    int i = ui->at.item - (space ? space->n_index : 0);

    if (i < 0 || i >= op_n_operands(ui, ui->at.op))
        return (OperandAt){false, -1, -1};
    return op_operand_at(ui, ui->at.op, i);
}

/* Notation under the cursor, or -1. */
static int selected_notation(const Ui *ui, const OpSpace *space)
{
    int at = space ? ui->at.item - space->n_index - op_n_operands(ui, ui->at.op) : -1;
    return at < 0 ? -1 : at;
}

static bool move(Ui *ui, ActId act)
{
    const OpSpace *space = inferred_space(ui->session->inferred, ui->at.op);
    int last_operand = (space ? space->n_index : 0) + op_n_operands(ui, ui->at.op);
    int n = last_operand + (space ? op_n_notations(ui, ui->at.op, space) : 0);
    int64_t at = ui->at.item, by = act == ACT_UP || act == ACT_PAGE_UP || act == ACT_HALF_UP;

    if (!list_move(&at, n, n / 2, act))
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

static bool act(Ui *ui, ActId act)
{
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

static const char *open_hint(const Ui *ui)
{
    if (ui->at.op < 0)
        return "";
    if (selected_operand(ui).tensor >= 0)
        return "tensor";
    return selected_notation(ui, inferred_space(ui->session->inferred, ui->at.op)) < 0 ? "why" : "";
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
            buf_printf(out, "reduced by %s: sharding it leaves the output partial",
                       reduce_name(index->reduce));
        else if (index->role == ROLE_FROZEN)
            buf_puts(out, "never sharded");
        else
            buf_puts(out, "sharding it shards every operand that has it");
        return;
    }
    OperandAt operand = selected_operand(ui);
    int notation = selected_notation(ui, space);
    if (notation >= 0)
        buf_printf(out, "the op in the notation of %s; ~ leaves something out",
                   notation_at(notation)->name);
    if (operand.tensor < 0)
        return;
    buf_puts(out, tensor_name(ui_graph(ui), operand.tensor));
    if (operand.input && operand.sharding != ui_plan(ui)->moved->sharding[operand.tensor]) {
        buf_puts(out, "  * resharded here from ");
        label_put_sharding(ui, ui_plan(ui)->moved->sharding[operand.tensor], out);
    }
}

/* A row per operand. */
static void table(Ui *ui, Sheet *out)
{
    int32_t op = ui->at.op;

    sheet_head(out, "operand tensor dtype sharding local_bytes# other_end");
    for (int i = 0; op >= 0 && i < op_n_operands(ui, op); i++) {
        OperandAt operand = op_operand_at(ui, op, i);
        Buf other = buf_new(out->arena);
        if (operand.tensor < 0)
            continue;
        OtherEnd end = op_other_end(ui, &operand);
        op_format_other_end(&end, &other);
        sheet_put(out, operand.input ? STR("in") : STR("out"));
        sheet_put(out, str_from(tensor_name(ui_graph(ui), operand.tensor)));
        sheet_put(out, str_from(dtype_name((Dtype)ui->session->inferred->dtype[operand.tensor])));
        sheet_put(out, label_value(ui, operand.tensor, operand.sharding).str);
        sheet_number(out,
                     operand.sharding < 0
                         ? 0
                         : (double)plan_local_bytes(ui_plan(ui), operand.tensor, operand.sharding));
        sheet_put(out, buf_str(&other));
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
    .open_hint = open_hint,
    .table = table,
};
