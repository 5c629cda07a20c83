#include "tui/views/label.h"

enum { ROWS_SHOWN_MAX = 400, LOOK_MAX = 4096 };

/* ORDER COLUMN: from left to right. */
typedef enum {
    COL_RAIL,
    COL_NAME,
    COL_OPERATOR,
    COL_OUTPUT,
    COL_BYTES,
    COL_TIME,
    COL_BAR,
    COL_RESHARD,
    COL_COUNT
} ColumnId;

typedef struct {
    const char *heading;
    int least, grows; /* columns it must have; share of what is left over */
    int at_width;     /* shown from this width of the view on */
} Column;

static const Column columns[COL_COUNT] = {
    [COL_RAIL] = {"RAIL", 8, 1, 0},      [COL_NAME] = {"NAME", 14, 3, 0},
    [COL_OPERATOR] = {"OP", 9, 1, 60},   [COL_OUTPUT] = {"OUTPUT shape/axis", 14, 3, 0},
    [COL_BYTES] = {"/DEVICE", 9, 0, 92}, [COL_TIME] = {"TIME", 8, 0, 72},
    [COL_BAR] = {"COST", 6, 1, 110},     [COL_RESHARD] = {"RESHARD", 14, 1, 56},
};

/* Widths of the shown columns; 0 for those left out. Each is followed by a blank. */
static void column_widths(int w, int *width)
{
    int used = 1, grows = 0, rest;

    for (int c = 0; c < COL_COUNT; c++) {
        width[c] = w >= columns[c].at_width ? columns[c].least : 0;
        used += width[c] ? width[c] + 1 : 0;
        grows += width[c] ? columns[c].grows : 0;
    }
    rest = w > used ? w - used : 0;
    for (int c = 0; c < COL_COUNT; c++) {
        int more = width[c] && grows > 0 ? rest * columns[c].grows / grows : 0;
        if (c == COL_RAIL && more > 2 * RAIL_LANES - width[c])
            more = 2 * RAIL_LANES - width[c];
        rest -= more;
        grows -= width[c] ? columns[c].grows : 0;
        width[c] += more;
    }
}

/* What one row shows besides its name: of an op, or summed over a group. */
typedef struct {
    int32_t tensor; /* whose sharding is shown; -1: none */
    int64_t n_ops;
    double us, comm_us, n_reshards; /* that move data */
    int32_t reshard;                /* the dearest, -1 */
} RowFacts;

static int32_t first_output(const Graph *graph, int32_t op)
{
    for (int o = 0; o < graph->ops[op].n_outputs; o++)
        if (op_outputs(graph, op)[o] >= 0)
            return op_outputs(graph, op)[o];
    return -1;
}

static double reshard_us(const Ui *ui, int32_t reshard)
{
    return ui_plan(ui)->reshards[reshard].path->us;
}

static RowFacts row_facts(const Ui *ui, const OutlineRow *row)
{
    const Groups *groups = ui->session->groups;
    const Comm *comm = ui->comm;
    RowFacts facts = {.tensor = row->id, .reshard = -1};

    if (row->kind == ROW_INPUT)
        return facts;
    int32_t end = row->first + row->n, member = row->n / row->fold_n;
    double folds = (double)row->times / row->fold_n;
    facts.n_ops = row->n;
    facts.us = (comm->us[end] - comm->us[row->first]) * folds;
    facts.comm_us = (comm->comm_us[end] - comm->comm_us[row->first]) * folds;
    facts.n_reshards = (comm->count[end] - comm->count[row->first]) * folds;
    facts.tensor = first_output(ui_graph(ui), groups->order[row->first + member - 1]);
    for (int32_t at = row->first; at < row->first + member && at < row->first + LOOK_MAX; at++)
        for (int32_t r = comm->of_op[groups->order[at]]; r >= 0; r = comm->next[r])
            if (facts.reshard < 0 || reshard_us(ui, r) > reshard_us(ui, facts.reshard))
                facts.reshard = r;
    return facts;
}

static uint32_t row_glyph(const Ui *ui, const OutlineRow *row)
{
    if (row->kind == ROW_INPUT)
        return 0x25c7;
    if (row->kind == ROW_GROUP)
        return row->open ? 0x25be : 0x25b8;
    return ui->session->inferred->on_parameters[row->id] ? 0x25c6 : 0x25cf;
}

static void draw_name(const Ui *ui, const OutlineRow *row, int width, Pen *pen)
{
    Buf name = buf_new(ui->frame), times = buf_new(ui->frame);
    int indent = row->depth < 6 ? row->depth : 6;

    outline_label(ui->outline, row, &name);
    if (row->fold_n > 1)
        buf_printf(&times, " ×%d", row->fold_n);
    control_format_times(&ui->control, row, &times);
    int n_times = text_columns(buf_str(&times));
    int room = width - indent - n_times;
    int n_name = text_columns(buf_str(&name));
    pen_tab(pen, pen->x + indent);
    int end = pen->x + width - indent;
    Style style = row->kind == ROW_GROUP ? ROLE_HEAD : ROLE_TEXT;
    pen_fit_tail(pen, style, buf_str(&name), n_name < room ? n_name : room);
    pen_put(pen, ROLE_HEAD, buf_str(&times));
    pen_tab(pen, end);
}

static void draw_operator(const Ui *ui, const OutlineRow *row, const RowFacts *facts, int width,
                          Pen *pen)
{
    if (row->kind == ROW_OP)
        pen_fit(pen, ROLE_TEXT, str_from(label_operator(ui_graph(ui), row->id)), width);
    else if (row->kind == ROW_INPUT)
        pen_fit(pen, ROLE_DIM, STR("input"), width);
    else
        pen_fit(pen, ROLE_DIM,
                str_from(arena_printf(ui->frame, "%lld ops", (long long)facts->n_ops)), width);
}

/* "AR tp 12.0 MiB" of one reshard, "24 AR tp" of several. */
static Str reshard_text(const Ui *ui, const OutlineRow *row, const RowFacts *facts)
{
    const Reshard *reshard = &ui_plan(ui)->reshards[facts->reshard];
    double n = row->kind == ROW_OP ? row->fold_n : facts->n_reshards;
    Buf text = buf_new(ui->frame);

    if (row->kind == ROW_GROUP && n > 1)
        buf_printf(&text, "%.10g ", n);
    comm_format_steps(ui->session, reshard->path, &text);
    if (row->kind == ROW_OP || n == 1) {
        int64_t bytes = 0;
        for (int s = 0; s < reshard->path->n_steps; s++)
            if (reshard->path->step[s].bytes > bytes)
                bytes = reshard->path->step[s].bytes;
        if (bytes > 0)
            buf_printf(&text, " %.*s", STR_ARG(label_bytes(ui, bytes)));
    }
    return buf_str(&text);
}

static void draw_reshard(const Ui *ui, const OutlineRow *row, const RowFacts *facts, int width,
                         Pen *pen)
{
    const Totals *totals = &ui_plan(ui)->totals;
    bool dear = facts->comm_us > totals->step_us * ui->settings.dear / 100;

    if (facts->reshard < 0) {
        pen_fit(pen, ROLE_TEXT, STR(""), width);
        return;
    }
    draw_sharding(ui, pen, reshard_text(ui, row, facts), -1, width);
    Rect drawn = {pen->area.x + pen->x - width, pen->area.y + pen->y, width, 1};
    if (dear) {
        grid_paint(pen->grid, drawn, ROLE_DEAR);
        grid_mark(pen->grid, drawn, STYLE_BOLD);
    }
}

static void draw_column(const Ui *ui, const OutlineRow *row, const RowFacts *facts, ColumnId column,
                        int width, Pen *pen)
{
    int32_t tensor = facts->tensor;
    int dim = tensor == ui->at.tensor && row->kind != ROW_GROUP ? ui->at.dim : -1;
    int32_t sharding = tensor < 0 ? -1 : ui_plan(ui)->made[tensor];

    switch (column) {
    case COL_NAME:
        draw_name(ui, row, width, pen);
        return;
    case COL_OPERATOR:
        draw_operator(ui, row, facts, width, pen);
        return;
    case COL_OUTPUT:
        draw_sharding(ui, pen, label_value(ui, tensor, sharding), dim, width);
        return;
    case COL_BYTES:
        pen_right(pen, ROLE_TEXT,
                  sharding < 0 ? STR("")
                               : label_bytes(ui, plan_local_bytes(ui_plan(ui), tensor, sharding)),
                  width);
        return;
    case COL_TIME:
        pen_right(pen, ROLE_TEXT, facts->us > 0 ? label_us(ui, facts->us) : STR(""), width);
        return;
    case COL_BAR:
        pen_bar(pen, ROLE_TEXT, facts->us, ui_plan(ui)->totals.step_us, width);
        return;
    case COL_RESHARD:
        draw_reshard(ui, row, facts, width, pen);
        return;
    case COL_RAIL:
    case COL_COUNT:
        return;
    }
}

static void draw_row(const Ui *ui, const OutlineRow *row, const RailRow *rail, const int *width,
                     Pen *pen)
{
    RowFacts facts = row_facts(ui, row);

    pen_tab(pen, 1);
    rail_draw(rail, row_glyph(ui, row), width[COL_RAIL], pen);
    for (int c = COL_NAME; c < COL_COUNT; c++) {
        if (width[c] == 0)
            continue;
        pen_rune(pen, ROLE_TEXT, ' ');
        draw_column(ui, row, &facts, (ColumnId)c, width[c], pen);
    }
}

static void draw_headings(const int *width, Pen *pen)
{
    pen_rune(pen, ROLE_HEAD, ' ');
    for (int c = 0; c < COL_COUNT; c++) {
        if (width[c] == 0)
            continue;
        if (c == COL_BYTES || c == COL_TIME)
            pen_right(pen, ROLE_HEAD, str_from(columns[c].heading), width[c]);
        else
            pen_fit(pen, ROLE_HEAD, str_from(columns[c].heading), width[c]);
        pen_rune(pen, ROLE_HEAD, ' ');
    }
}

static void draw(Ui *ui, Pen *pen)
{
    OutlineRow rows[ROWS_SHOWN_MAX];
    RailRow rail[ROWS_SHOWN_MAX];
    int width[COL_COUNT], h = pen->area.h - 1;
    int64_t n = outline_n_rows(ui->outline);

    if (h > ROWS_SHOWN_MAX)
        h = ROWS_SHOWN_MAX;
    if (h < 1)
        return;
    column_widths(pen->area.w, width);
    draw_headings(width, pen);
    ui->rows[SHOW_GRAPH] = n;
    ui->height[SHOW_GRAPH] = h;
    ui->top[SHOW_GRAPH] = ui_scroll(ui->top[SHOW_GRAPH], ui->row_at, n, h);
    int shown = outline_rows(ui->outline, ui->top[SHOW_GRAPH], h, rows);
    rail_rows(ui->rail, ui->top[SHOW_GRAPH], shown, rail);
    for (int i = 0; i < shown; i++) {
        pen_line(pen);
        draw_row(ui, &rows[i], &rail[i], width, pen);
        if (ui->top[SHOW_GRAPH] + i == ui->row_at)
            ui_mark_row(ui, SHOW_GRAPH, pen, i + 1);
    }
    if (n == 0)
        pen_puts(pen, ROLE_DIM, "this model has no op that computes");
}

static void changed(Ui *ui)
{
    rail_reset(ui->rail, ui->session->inferred, ui->outline);
    ui_select_row(ui, outline_find_row(ui->outline, &ui->at.row));
}

static bool close_or_leave(Ui *ui)
{
    OutlineRow *row = &ui->at.row;

    if (row->kind == ROW_GROUP && row->open) {
        outline_open(ui->outline, row, false);
        changed(ui);
        return true;
    }
    if (outline_is_spread(ui->outline, row)) {
        outline_spread(ui->outline, row, false);
        changed(ui);
        return true;
    }
    int64_t parent = outline_parent(ui->outline, ui->row_at);
    if (parent >= 0)
        ui_select_row(ui, parent);
    return true;
}

static bool open_group(Ui *ui)
{
    if (ui->at.row.kind != ROW_GROUP)
        return false;
    outline_open(ui->outline, &ui->at.row, true);
    changed(ui);
    return true;
}

/* Enter: members of a fold, the inside of a group, the details of an op or a tensor. */
static bool open_row(Ui *ui)
{
    OutlineRow *row = &ui->at.row;

    if (row->fold_n > 1) {
        outline_spread(ui->outline, row, true);
        changed(ui);
        return true;
    }
    if (row->kind == ROW_GROUP) {
        outline_open(ui->outline, row, !row->open);
        changed(ui);
        return true;
    }
    ui_show(ui, row->kind == ROW_INPUT ? SHOW_TENSOR : SHOW_OP);
    return true;
}

static bool fold_to(Ui *ui, int depth)
{
    outline_depth(ui->outline, depth);
    changed(ui);
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
        if (row_facts(ui, &row).reshard < 0)
            continue;
        ui_select_row(ui, i);
        return true;
    }
    ui_say(ui, "no further row with a reshard");
    return true;
}

static bool act(Ui *ui, ActId act, Key last)
{
    int64_t at = ui->row_at;

    if (ui_move(&at, outline_n_rows(ui->outline), ui->height[SHOW_GRAPH], act)) {
        ui_select_row(ui, at);
        return true;
    }
    if (act == ACT_LEFT)
        return close_or_leave(ui);
    if (act == ACT_RIGHT)
        return open_group(ui);
    if (act == ACT_OPEN)
        return open_row(ui);
    if (act == ACT_FOLD && ui->at.row.kind == ROW_GROUP)
        return ui->at.row.open ? close_or_leave(ui) : open_group(ui);
    if (act == ACT_FOLD)
        return close_or_leave(ui);
    if (act == ACT_FOLD_NONE)
        return fold_to(ui, OUTLINE_DEPTH_MAX + 1);
    if (act == ACT_FOLD_ALL)
        return fold_to(ui, 0);
    if (act == ACT_FOLD_DEPTH)
        return fold_to(ui, last - '0');
    if (act == ACT_NEXT_RESHARD || act == ACT_PREVIOUS_RESHARD)
        return next_reshard(ui, act == ACT_NEXT_RESHARD ? 1 : -1);
    return false;
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
    int32_t id = ui_plan(ui)->made[tensor];

    buf_printf(out, "%s %.*s", what, STR_ARG(label_value(ui, tensor, id)));
    if (id < 0) {
        buf_puts(out, "  replicated: not all of its shape is known");
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

/* A module's weight, else what a row does in all. */
static void note_group(Ui *ui, const OutlineRow *row, Buf *out)
{
    const char *path = ui->session->groups->groups[row->id].path;
    int32_t weight = naming_part(ui->session->naming, str_from(path), PART_WEIGHT, NULL);
    RowFacts facts = row_facts(ui, row);

    control_format_note(&ui->control, row, out);
    if (out->n > 0)
        buf_puts(out, "; ");
    else if (weight >= 0) {
        note_tensor(ui, "weight", weight, out);
        return;
    }
    buf_printf(out, "%lld ops, ", (long long)facts.n_ops);
    buf_add(out, label_us(ui, facts.us));
    buf_printf(out, " compute, %.10g reshards ", facts.n_reshards);
    buf_add(out, label_us(ui, facts.comm_us));
    if (row->fold_n > 1)
        buf_printf(out, "; %d alike in structure and sharding, Enter lists them", row->fold_n);
}

static void note(Ui *ui, Buf *out)
{
    const OutlineRow *row = &ui->at.row;

    if (row->kind == ROW_GROUP) {
        note_group(ui, row, out);
        return;
    }
    int32_t weight = row->kind == ROW_OP ? weight_of(ui, row->id) : -1;
    if (weight >= 0)
        note_tensor(ui, "weight", weight, out);
    else if (ui->at.tensor >= 0)
        note_tensor(ui, row->kind == ROW_INPUT ? "input" : "out", ui->at.tensor, out);
    Buf times = buf_new(ui->frame);
    control_format_note(&ui->control, row, &times);
    if (times.n > 0)
        buf_printf(out, "%s%s", out->n > 0 ? "  " : "", times.s);
}

static const Hint hints[] = {
    {ACT_DOWN, "move"},
    {ACT_RIGHT, "open"},
    {ACT_OPEN, "details"},
    {ACT_WHY, "why"},
    {ACT_PIN, "pin"},
    {ACT_SEARCH, "find"},
    {ACT_COMMAND, "cmd"},
    {ACT_CONSUMER, "user"},
    {ACT_LEFT, "close"},
    {ACT_PRODUCER, "maker"},
    {ACT_SHOW_COMM, "reshards"},
    {ACT_UNDO, "undo"},
    {ACT_HELP, "help"},
    {ACT_CLOSE, "quit"},
    {0},
};

const View view_graph = {
    .name = "Graph",
    .draw = draw,
    .act = act,
    .note = note,
    .go = ui_select_row,
    .list_at = 1,
    .hints = hints,
};
