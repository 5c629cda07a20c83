#include "tui/state/format.h"
#include "tui/views/graph/graph_row.h"
#include "tui/state/parameters.h"
#include "tui/views/rows.h"
#include "tui/views/step/step_account.h"

enum {
    ROWS_SHOWN_MAX = 400,
    MINIMAP_FROM = 28,
    ACCOUNT_FROM = 8,
    ACCOUNT_W = 76
}; /* rows; columns */

static void draw(Ui *ui, Pen *pen)
{
    OutlineRow rows[ROWS_SHOWN_MAX];
    RailRow rail[ROWS_SHOWN_MAX];
    int width[COL_COUNT], h = pen->area.h - 1;

    if (outline_set_folds(ui->outline, ui->look.settings.fold))
        ui_keep_row(ui);
    int64_t n = outline_n_rows(ui->outline);

    if (pen->area.h >= MINIMAP_FROM && n != h) { /* not where all rows just fit */
        Pen line = *pen;
        pen_to(&line, 0, h--);
        minimap_draw(ui, &line);
    }
    if (h > ROWS_SHOWN_MAX)
        h = ROWS_SHOWN_MAX;
    if (h < 1)
        return;
    graph_column_widths(ui, pen->area.w, width);
    memcpy(graph_state(ui)->drawn, width, sizeof graph_state(ui)->drawn);
    graph_row_headings(ui, width, pen);
    list_show(&ui->list[SHOW_GRAPH], ui->row_at, n, h);
    int shown = outline_rows(ui->outline, ui->list[SHOW_GRAPH].top, h, rows);
    rail_select(graph_state(ui)->rail, ui->at.tensor);
    if (!graph_sorted_by(ui))
        rail_rows(graph_state(ui)->rail, ui->session->inferred, ui->outline,
                  ui->list[SHOW_GRAPH].top, shown, rail);
    for (int i = 0; graph_sorted_by(ui) && i < shown; i++)
        rail[i] = (RailRow){.named = -1};
    for (int i = 0; i < shown; i++) {
        pen_line(pen);
        graph_row_draw(ui, &rows[i], &rail[i], width, pen);
        if (ui->list[SHOW_GRAPH].top + i == ui->row_at)
            rows_mark(ui, SHOW_GRAPH, pen, i + 1);
    }
    if (n == 0)
        pen_puts(pen, ROLE_DIM,
                 "every op of this model is known at load time, so there is nothing to show");
    if (n > 0 && h - shown >= ACCOUNT_FROM &&
        pen->area.w >= ACCOUNT_W) { /* a short outline on a high screen */
        Pen below = pen_new(
            pen->grid, (Rect){pen->area.x, pen->area.y + shown + 2, pen->area.w, h - shown - 1});
        step_account_draw(ui, &below);
    }
}

static bool open_parameters(Ui *ui, bool open)
{
    parameters_open(ui, open);
    ui_keep_row(ui);
    return true;
}

static bool close_or_leave(Ui *ui)
{
    OutlineRow *row = &ui->at.row;

    if (row->kind == ROW_PARAMETERS && row->open)
        return open_parameters(ui, false);
    if (row->kind == ROW_GROUP && row->open) {
        outline_open(ui->outline, row, false);
        ui_keep_row(ui);
        return true;
    }
    if (outline_is_spread(ui->outline, row)) {
        outline_spread(ui->outline, row, false);
        ui_keep_row(ui);
        return true;
    }
    int64_t parent = outline_parent(ui->outline, ui->row_at);
    if (parent >= 0)
        ui_select_row(ui, parent);
    return true;
}

/* Lists the members of a fold. */
static bool spread(Ui *ui)
{
    outline_spread(ui->outline, &ui->at.row, true);
    ui_keep_row(ui);
    return true;
}

static bool open_group(Ui *ui)
{
    if (ui->at.row.kind == ROW_PARAMETERS)
        return open_parameters(ui, true);
    if (ui->at.row.kind == ROW_OP && ui->at.row.fold_n > 1)
        return spread(ui);
    if (ui->at.row.kind == ROW_OP && graph_row_sum(ui, &ui->at.row, SUM_BACKWARD) > 0) {
        ui->asked.command = action_by_id(ACT_GRADIENT)->name;
        return true;
    }
    if (ui->at.row.kind != ROW_GROUP)
        return false;
    outline_open(ui->outline, &ui->at.row, true);
    ui_keep_row(ui);
    return true;
}

/* Enter: members of a fold, the inside of a group, the details of an op or a tensor. */
static bool open_row(Ui *ui)
{
    OutlineRow *row = &ui->at.row;

    if (row->fold_n > 1)
        return spread(ui);
    if (row->kind == ROW_PARAMETERS)
        return open_parameters(ui, !row->open);
    if (row->kind == ROW_GROUP) {
        outline_open(ui->outline, row, !row->open);
        ui_keep_row(ui);
        return true;
    }
    ui_show(ui, row->kind == ROW_OP ? SHOW_OP : SHOW_TENSOR);
    return true;
}

static bool fold_to(Ui *ui, int depth)
{
    outline_depth(ui->outline, depth);
    parameters_open(ui, depth > OUTLINE_DEPTH_MAX);
    ui_keep_row(ui);
    return true;
}

/* The next row, in a direction, that shows a reshard. */
static bool next_reshard(Ui *ui, int by)
{
    int64_t n = outline_n_rows(ui->outline);
    OutlineRow row;

    for (int64_t i = ui->row_at + by; i >= 0 && i < n; i += by) {
        if (!outline_at(ui->outline, i, &row) || (row.kind == ROW_GROUP && row.open))
            continue;
        if (graph_row_facts(ui, &row).reshard < 0)
            continue;
        ui_select_row(ui, i);
        return true;
    }
    ui_say(ui, "no other row has a reshard");
    return true;
}

static bool act(Ui *ui, ActId act)
{
    int64_t at = ui->row_at;

    if (list_move(&at, outline_n_rows(ui->outline), ui->list[SHOW_GRAPH].height, act)) {
        ui_select_row(ui, at);
        return true;
    }
    if (act == ACT_LEFT)
        return close_or_leave(ui);
    if (act == ACT_RIGHT)
        return open_group(ui);
    if (act == ACT_OPEN)
        return open_row(ui);
    if (act == ACT_FOLD && !ui->at.row.open && open_group(ui))
        return true;
    if (act == ACT_FOLD)
        return close_or_leave(ui);
    if (act == ACT_FOLD_NONE)
        return fold_to(ui, OUTLINE_DEPTH_MAX + 1);
    if (act == ACT_FOLD_ALL)
        return fold_to(ui, 0);
    if (act == ACT_FOLD_DEPTH)
        return fold_to(ui, ui->key - '0');
    if (act == ACT_NEXT_RESHARD || act == ACT_PREVIOUS_RESHARD)
        return next_reshard(ui, act == ACT_NEXT_RESHARD ? 1 : -1);
    return false;
}

static const char *open_hint(const Ui *ui)
{
    const OutlineRow *row = &ui->at.row;

    if (row->fold_n > 1)
        return "members";
    if (row->kind == ROW_PARAMETERS || row->kind == ROW_GROUP)
        return row->open ? "close" : "open";
    return row->kind == ROW_OP ? "details" : "tensor";
}

/* The parameter that an op reads, if any: what people ask for when they stand on a matmul. */
static int32_t weight_of(const Ui *ui, int32_t op)
{
    const Graph *graph = ui_graph(ui);

    for (int i = 0; i < graph->ops[op].n_inputs; i++) {
        int32_t tensor = op_inputs(graph, op)[i];
        const Shape *shape = tensor < 0 ? NULL : inferred_shape(ui->session->inferred, tensor);
        int32_t maker = tensor < 0 ? -1 : graph->tensors[tensor].maker;
        bool weight = tensor >= 0 && (tensor_is_parameter(ui->session->inferred, tensor) ||
                                      (maker >= 0 && ui->session->inferred->on_parameters[maker]));
        if (weight && shape && shape->n_dims > 1)
            return tensor;
    }
    return -1;
}

static void note_tensor(const Ui *ui, const char *what, int32_t tensor, Buf *out)
{
    int32_t id = ui_plan(ui)->moved->made[tensor];

    buf_printf(out, "%s ", what);
    label_put_value(ui, tensor, id, out);
    if (id < 0) {
        buf_puts(out, "  replicated: part of its shape is unknown");
        return;
    }
    const Sharding *sharding = shardings_at(ui_plan(ui)->shardings, id);
    Shape local;
    sharding_local_shape(sharding, ui->session->mesh, ui->rank, &local);
    buf_puts(out, "  local ");
    shape_format(&local, out);
    buf_puts(out, "  ");
    sharding_format(sharding, ui->session->mesh, VIEW_DIMS_MAPPING, out, NULL);
    buf_putc(out, ' ');
    sharding_format(sharding, ui->session->mesh, VIEW_PLACEMENTS, out, NULL);
}

static const char *note_kind(const OutlineRow *row)
{
    return row->kind == ROW_INPUT ? "input" : row->kind == ROW_PARAMETER ? "stored" : "out";
}

/* A module's weight, else what a row does in all. */
static void note_group(Ui *ui, const OutlineRow *row, Buf *out)
{
    const char *path = ui->session->groups->groups[row->id].path;
    int32_t weight = naming_part(ui->session->naming, str_from(path), PART_WEIGHT, NULL);
    RowFacts facts = graph_row_facts(ui, row);

    if (row->mixed)
        buf_puts(out, "equal in structure, sharded differently: Enter lists the classes");
    else
        control_format_note(graph_control(ui), row, out);
    if (out->n > 0)
        buf_puts(out, "; ");
    else if (weight >= 0) {
        note_tensor(ui, "weight", weight, out);
        return;
    }
    double backward = graph_row_sum(ui, row, SUM_BACKWARD);
    if (row->fold_n > 1 && !row->mixed)
        buf_printf(out, "%d equal%s, Enter lists: ", row->fold_n,
                   backward > 0 ? "" : " in structure and sharding");
    else
        buf_printf(out, "%lld ops, ", (long long)facts.n_ops);
    buf_printf(out, "%s%.*s, ", backward > 0 ? "fwd " : "", STR_ARG(label_us(ui, facts.us)));
    if (backward > 0)
        buf_printf(out, "bwd %.*s, kept %.*s, ", STR_ARG(label_us(ui, backward)),
                   STR_ARG(label_bytes(ui, (int64_t)graph_row_sum(ui, row, SUM_SAVED))));
    if (facts.n_reshards > 0) {
        buf_printf(out, "%.10g reshard%s ", facts.n_reshards, facts.n_reshards == 1 ? "" : "s");
        buf_add(out, label_us(ui, facts.comm_us));
    } else {
        buf_puts(out, "no reshard");
    }
}

static void note(Ui *ui, Buf *out)
{
    const OutlineRow *row = &ui->at.row;

    alike_format_difference(ui, row, out);
    if (out->n > 0)
        return;
    if (row->kind == ROW_GROUP) {
        note_group(ui, row, out);
        return;
    }
    if (row->kind == ROW_PARAMETERS) {
        buf_printf(out, "%lld parameters; those equal in name, shape and sharding are one row",
                   (long long)row->times);
        return;
    }
    int32_t weight = row->kind == ROW_OP ? weight_of(ui, row->id) : -1;
    if (weight >= 0)
        note_tensor(ui, "weight", weight, out);
    else if (ui->at.tensor >= 0)
        note_tensor(ui, note_kind(row), ui->at.tensor, out);
    Buf times = buf_new(ui->frame);
    control_format_note(graph_control(ui), row, &times);
    if (times.n > 0)
        buf_printf(out, "%s%s", out->n > 0 ? "  " : "", times.s);
}

static const Hint hints[] = {
    {ACT_DOWN, "move"},      {ACT_RIGHT, "open"},
    {ACT_OPEN, "details"},   {ACT_WHY, "why"},
    {ACT_PIN, "pin"},        {ACT_SEARCH, "find"},
    {ACT_FILTER, "filter"},  {ACT_COMMAND, "cmd"},
    {ACT_CONSUMER, "user"},  {ACT_LEFT, "close"},
    {ACT_PRODUCER, "maker"}, {ACT_SHOW_COMM, "reshards"},
    {ACT_UNDO, "undo"},      {ACT_HELP, "help"},
    {ACT_CLOSE, "quit"},     {0},
};

static void enter(Ui *ui, ShowId from)
{
    (void)from;
    ui_select_row(ui, ui->row_at);
}

static void open_state(Ui *ui)
{
    *graph_state(ui) = (GraphState){.rail = rail_new(ui->arena), .sorted_by = -1};
}

static void forget(Ui *ui)
{
    GraphState *state = graph_state(ui);

    state->control = (Control){0};
    memset(state->before, 0, sizeof state->before);
    state->back_first = state->back_next = NULL;
}

const View view_graph = {
    .name = "Graph",
    .draw = draw,
    .act = act,
    .note = note,
    .go = ui_select_row,
    .head = graph_head,
    .list_at = 1,
    .hints = hints,
    .open_hint = open_hint,
    .table = graph_table,
    .enter = enter,
    .own_size = sizeof(GraphState),
    .open = open_state,
    .forget = forget,
};
