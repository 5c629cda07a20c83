#include "tui/views/graph/graph_row.h"

#include "core/plan/stage.h"
#include "core/summary/label.h"
#include "tui/state/format.h"
#include "tui/state/listing.h"
#include "tui/state/menu.h"

#include <math.h>

enum { NARROW = 60, STEP_WIDE = 128, READS_LEAST = 5 };

typedef struct {
    const char *name, *heading;
    int least, grows; /* columns it must have; share of what is left over */
    int wanted;       /* the least wanted goes first where there is no room */
    bool right;
} RowColumn;

static const RowColumn columns[COL_COUNT] = {
    [COL_RAIL] = {"rail", "RAIL", 8, 1, 70, false},
    [COL_NAME] = {"name", "NAME", 13, 3, 100, false},
    [COL_OPERATOR] = {"op", "OP", 8, 1, 50, false},
    [COL_STAGE] = {"stage", "STG", 3, 0, 65, false},
    [COL_OUTPUT] = {"output", "OUTPUT shape/axis", 20, 4, 100, false},
    [COL_MAPPING] = {"mapping", "", 5, 0, 20, false},
    [COL_LOCAL] = {"local", "LOCAL", 14, 1, 80, false},
    [COL_DTYPE] = {"dtype", "DTYPE", 5, 0, 80, false},
    [COL_CUT] = {"cut", "CUT", 12, 1, 80, false},
    [COL_BYTES] = {"mib", "", 8, 0, 30, true},
    [COL_PARAMS] = {"params", "PARAMS", 8, 0, 80, true},
    [COL_FLOPS] = {"flops", "FLOPS", 10, 0, 80, true},
    [COL_TIME] = {"time", "", 7, 0, 40, true},
    [COL_BACKWARD] = {"backward", "BWD", 6, 0, 45, true},
    [COL_WEIGHTS] = {"weights", "dW", 6, 0, 37, true},
    [COL_SAVED] = {"kept", "KEPT MiB", 8, 0, 38, true},
    [COL_BAR] = {"cost", "COST", 6, 0, 10, false},
    [COL_TIMES] = {"times", "TIMES", 6, 0, 80, true},
    [COL_RESHARD] = {"reshard", "RESHARD", 14, 1, 60, false},
    [COL_BACK_RESHARD] = {"back-reshard", "BWD RESHARD", 14, 1, 34, false},
    [COL_WHY] = {"why", "WHY", 16, 0, 80, false},
    [COL_CHANGED] = {"changed", "CHANGED", 7, 0, 80, false},
};

int32_t graph_row_made(const Ui *ui, const RowFacts *facts)
{
    if (facts->tensor < 0)
        return -1;
    if (tensor_is_parameter(ui->session->inferred, facts->tensor))
        return ui_plan(ui)->moved->sharding[facts->tensor];
    return ui_plan(ui)->moved->made[facts->tensor];
}

/* ---- units: one for all rows, by what the plan needs ---- */

typedef struct {
    double from; /* sums from here on have this unit */
    const char *name;
    double scale;
    int decimals;
} Unit;

static const Unit time_units[] = {{20e6, "s", 1e6, 3}, {20e3, "ms", 1e3, 2}, {0, "us", 1, 1}};
static const Unit byte_units[] = {{64 << 20, "MiB/dev", 1 << 20, 2}, {0, "KiB/dev", 1 << 10, 1}};

static const Unit *unit_for(const Unit *unit, double sum)
{
    while (sum < unit->from)
        unit++;
    return unit;
}

static const Unit *time_unit(const Ui *ui)
{
    return unit_for(time_units, ui_plan(ui)->priced->totals.step_us);
}

static const Unit *byte_unit(const Ui *ui)
{
    return unit_for(byte_units, (double)ui_plan(ui)->priced->totals.peak_bytes);
}

/* ---- which columns ---- */

static bool is_wanted(const Ui *ui, int column)
{
    return ui->look.settings.columns >> column & 1;
}

static bool is_there(const Ui *ui, int column)
{
    bool of_training = column == COL_BACKWARD || column == COL_WEIGHTS || column == COL_SAVED ||
                       column == COL_BACK_RESHARD;
    if (of_training && !ui_graph(ui)->phase)
        return false;
    return is_wanted(ui, column) && (column != COL_STAGE || ui_plan(ui)->decided->stages);
}

static const char *heading(const Ui *ui, int column)
{
    Buf text = buf_new(ui->frame);

    if (column == COL_RAIL && graph_sorted_by(ui))
        return arena_printf(ui->frame, "by %s%s", graph_sorted_by(ui),
                            graph_state(ui)->reversed ? "▴" : "");
    if (column == COL_BYTES)
        return byte_unit(ui)->name;
    if (column == COL_TIME)
        return time_unit(ui)->name;
    if (column == COL_BACKWARD)
        return arena_printf(ui->frame, "BWD %s", time_unit(ui)->name);
    if (column == COL_WEIGHTS)
        return arena_printf(ui->frame, "dW %s", time_unit(ui)->name);
    if (column != COL_MAPPING)
        return columns[column].heading;
    for (int a = 0; a < ui->session->mesh->n_axes; a++)
        buf_printf(&text, "%s%s", a ? "," : "", ui->session->mesh->axes[a].name);
    return text.n > 0 ? text.s : "";
}

static int least(const Ui *ui, int column, int w)
{
    enum { MAPPING_MAX = 14 };
    int n_heading = text_columns(str_from(heading(ui, column)));
    int n_axes = ui->session->mesh->n_axes;

    bool staged_step = ui_graph(ui)->phase && is_there(ui, COL_STAGE) && w < STEP_WIDE;
    if (column == COL_OUTPUT && w < NARROW)
        return 14;
    if (column == COL_NAME && staged_step && w >= NARROW)
        return 19; /* "layers[16..31] ×16", which RESHARD makes room for */
    if (column == COL_RESHARD && staged_step)
        return 9;
    if (column == COL_BACK_RESHARD && staged_step)
        return 11; /* its heading */
    if (column == COL_OUTPUT && is_there(ui, COL_STAGE))
        return columns[column].least - 1; /* so that times stay in 80 columns */
    if (column != COL_MAPPING)
        return columns[column].least;
    n_heading = n_heading > 3 * n_axes - 1 ? n_heading : 3 * n_axes - 1;
    return n_heading > MAPPING_MAX ? MAPPING_MAX : n_heading;
}

/* In a training step, both passes side by side say more than operators. */
static int wanted(const Ui *ui, int column)
{
    enum { LESS_THAN_TIMES = 36 };
    return column == COL_OPERATOR && ui_graph(ui)->phase ? LESS_THAN_TIMES : columns[column].wanted;
}

/* The least wanted of those shown, of equals the last; names and shardings always stay. */
static int least_wanted(const Ui *ui, const int *width)
{
    int found = -1;

    for (int c = 0; c < COL_COUNT; c++)
        if (width[c] && c != COL_NAME && c != COL_OUTPUT &&
            (found < 0 || wanted(ui, c) <= wanted(ui, found)))
            found = c;
    return found;
}

void graph_column_widths(const Ui *ui, int w, int *width)
{
    int used = 1, grows = 0;

    for (int c = 0; c < COL_COUNT; c++) {
        width[c] = is_there(ui, c) || c == COL_NAME || c == COL_OUTPUT ? least(ui, c, w) : 0;
        used += width[c] ? width[c] + 1 : 0;
    }
    for (int c = least_wanted(ui, width); used > w && c >= 0; c = least_wanted(ui, width)) {
        used -= width[c] + 1;
        width[c] = 0;
    }
    for (int c = 0; c < COL_COUNT; c++)
        grows += width[c] ? columns[c].grows : 0;
    for (int c = 0, rest = w > used ? w - used : 0; c < COL_COUNT; c++) {
        int more = width[c] && grows > 0 ? rest * columns[c].grows / grows : 0;
        if (c == COL_RAIL && more > 2 * RAIL_LANES - width[c])
            more = 2 * RAIL_LANES - width[c];
        rest -= more;
        grows -= width[c] ? columns[c].grows : 0;
        width[c] += more;
    }
}

bool graph_columns_toggle(Ui *ui, Str name, Error *err)
{
    const char *nearest = columns[0].name;

    for (int c = 0; c < COL_COUNT; c++) {
        if (str_eq(str_from(columns[c].name), name)) {
            ui->look.settings.columns ^= 1 << c;
            return true;
        }
        if (str_distance(str_from(columns[c].name), name) < str_distance(str_from(nearest), name))
            nearest = columns[c].name;
    }
    error_set(err, "no column '%.*s'", STR_ARG(name));
    error_hint(err, "did you mean '%s'?", nearest);
    return false;
}

static void toggle_column(Ui *ui, int column)
{
    ui->look.settings.columns ^= 1 << column;
    graph_columns_menu(ui);
    for (int i = 0; i < ui->menu.n; i++)
        if (ui->menu.item[i].value == column)
            ui->menu.at = i;
}

void graph_columns_menu(Ui *ui)
{
    menu_open(ui, "columns of the graph; Esc closes", toggle_column);
    for (int c = 0; c < COL_COUNT; c++)
        if (c != COL_NAME)
            menu_add(ui, 0,
                     str_from(arena_printf(ui->frame, "%c %s", is_wanted(ui, c) ? '*' : ' ',
                                           columns[c].name)),
                     c);
}

/* ---- sorting ---- */

static GraphSum sum_of(int column)
{
    return column == COL_PARAMS     ? SUM_PARAMS
           : column == COL_FLOPS    ? SUM_FLOPS
           : column == COL_BACKWARD ? SUM_BACKWARD
           : column == COL_WEIGHTS  ? SUM_WEIGHTS
                                    : SUM_SAVED;
}

static bool is_sum(int column)
{
    return column == COL_PARAMS || column == COL_FLOPS || column == COL_BACKWARD ||
           column == COL_WEIGHTS || column == COL_SAVED;
}

static const GraphColumn sortable[] = {COL_TIME,  COL_RESHARD,  COL_BYTES,   COL_PARAMS, COL_FLOPS,
                                       COL_TIMES, COL_BACKWARD, COL_WEIGHTS, COL_SAVED};
enum { N_SORTABLE = sizeof sortable / sizeof sortable[0] };

/* What the column shows, as a number. */
static double row_number(const void *context, const OutlineRow *row)
{
    const Ui *ui = context;
    RowFacts facts = graph_row_facts(ui, row);
    int32_t made = graph_row_made(ui, &facts);

    if (graph_state(ui)->sorted_by == COL_RESHARD)
        return facts.comm_us;
    if (graph_state(ui)->sorted_by == COL_BYTES)
        return made < 0 ? 0 : (double)plan_local_bytes(ui_plan(ui), facts.tensor, made);
    if (is_sum(graph_state(ui)->sorted_by))
        return graph_row_sum(ui, row, sum_of(graph_state(ui)->sorted_by));
    return graph_state(ui)->sorted_by == COL_TIMES ? (double)row->times : facts.us;
}

static double row_key(const void *context, const OutlineRow *row)
{
    const Ui *ui = context;
    double number = row_number(ui, row);

    return graph_state(ui)->reversed ? -number : number;
}

static void sort_rows(Ui *ui, int column, bool reversed)
{
    graph_state(ui)->sorted_by = column;
    graph_state(ui)->reversed = reversed;
    if (is_sum(column)) {
        graph_sums(ui, sum_of(column));
        if (!is_wanted(ui, column))
            ui->look.settings.columns ^= 1 << column;
    }
    outline_sort(ui->outline, column < 0 ? NULL : row_key, ui);
    ui_keep_row(ui);
    if (column < 0)
        ui_say(ui, "rows in program order");
    else
        ui_say(ui, "rows of each group by %s%s; the rail needs program order (:sort order)",
               columns[column].name, reversed ? ", smallest first" : "");
}

static void sort_by(Ui *ui, int column)
{
    sort_rows(ui, column, false);
}

bool graph_head(Ui *ui, int x)
{
    const GraphState *state = graph_state(ui);
    int c = 0, end = 1;

    for (; c < COL_COUNT; c++) {
        end += state->drawn[c] ? state->drawn[c] + 1 : 0;
        if (x < end)
            break;
    }
    if (c == COL_NAME)
        sort_rows(ui, -1, false);
    for (int i = 0; i < N_SORTABLE; i++)
        if (sortable[i] == (GraphColumn)c)
            sort_rows(ui, c, state->sorted_by == c && !state->reversed);
    return c == COL_NAME || state->sorted_by == c;
}

void graph_sort_menu(Ui *ui)
{
    menu_open(ui, "sort the rows of each group by", sort_by);
    menu_add(ui, 'o', STR("program order"), -1);
    for (int i = 0; i < N_SORTABLE; i++)
        menu_add(ui, "trmpfxbwk"[i], str_from(columns[sortable[i]].name), (int)sortable[i]);
}

bool graph_sort(Ui *ui, Str column, Error *err)
{
    if (str_eq(column, STR("order"))) {
        sort_by(ui, -1);
        return true;
    }
    for (int i = 0; i < N_SORTABLE; i++) {
        if (!str_eq(str_from(columns[sortable[i]].name), column))
            continue;
        sort_by(ui, (int)sortable[i]);
        return true;
    }
    error_set(err, "no column '%.*s' to sort by", STR_ARG(column));
    error_hint(err, "time, reshard, mib, params, flops, times, backward, weights, kept, order");
    return false;
}

const char *graph_sorted_by(const Ui *ui)
{
    return graph_state(ui)->sorted_by < 0 ? NULL : columns[graph_state(ui)->sorted_by].name;
}

/* ---- drawing ---- */

static uint32_t row_glyph(const Ui *ui, const OutlineRow *row)
{
    if (row->kind == ROW_INPUT)
        return 0x25c7;
    if (row->kind == ROW_PARAMETER)
        return 0x25c6;
    if (row->kind == ROW_GROUP || row->kind == ROW_PARAMETERS)
        return row->open ? 0x25be : 0x25b8;
    if (row->fold_n > 1)
        return 0x25b8;
    if (graph_row_sum(ui, row, SUM_SAVED) > 0)
        return 0x25a0; /* kept for the backward pass */
    if (outline_is_first_of_spread(ui->outline, row))
        return 0x25be;
    return ui->session->inferred->on_parameters[row->id] ? 0x25c6 : 0x25cf;
}

/* Of an input its own name, else the last part of its op's. */
static Str named_value(const Ui *ui, int32_t tensor)
{
    const Graph *graph = ui_graph(ui);

    if (tensor < 0)
        return STR("");
    int32_t maker = graph->tensors[tensor].maker;
    return str_from(maker < 0 ? tensor_name(graph, tensor) : path_base(op_name(graph, maker)));
}

/* And what it reads that has no lane, where there is room for that. */
static void draw_name(const Ui *ui, const OutlineRow *row, int32_t reads, int width, Pen *pen)
{
    Buf name = buf_new(ui->frame), times = buf_new(ui->frame);
    int indent = row->depth < 6 ? row->depth : 6;

    outline_label(ui->outline, row, &name);
    if (row->fold_n > 1)
        buf_printf(&times, " ×%d", row->fold_n);
    if (alike_is_exception(ui, row))
        buf_puts(&times, " ≠");
    control_format_times(graph_control(ui), row, &times);
    int n_times = text_columns(buf_str(&times));
    int room = width - indent - n_times;
    int n_name = text_columns(buf_str(&name));
    pen_tab(pen, pen->x + indent);
    int end = pen->x + width - indent;
    Style style = row->kind == ROW_GROUP || row->kind == ROW_PARAMETERS ? ROLE_HEAD : ROLE_TEXT;
    pen_fit_name(pen, style, buf_str(&name), n_name < room ? n_name : room > 0 ? room : 0);
    pen_put(pen, ROLE_HEAD, buf_str(&times));
    Str from = named_value(ui, reads);
    int left = end - pen->x - 2, n_from = text_columns(from);
    if (from.n > 0 && (left >= n_from || left >= READS_LEAST)) {
        pen_puts(pen, ROLE_DIM, " @");
        pen_fit(pen, ROLE_DIM, from, left < n_from ? left : n_from);
    }
    pen_tab(pen, end);
}

static void draw_operator(const Ui *ui, const OutlineRow *row, const RowFacts *facts, int width,
                          Pen *pen)
{
    if (row->kind == ROW_OP)
        pen_fit(pen, ROLE_TEXT, str_from(label_operator(ui_graph(ui), row->id)), width);
    else if (row->kind == ROW_INPUT)
        pen_fit(pen, ROLE_DIM, STR("input"), width);
    else if (row->kind == ROW_PARAMETERS)
        pen_fit(pen, ROLE_DIM, str_from(arena_printf(ui->frame, "%lld", (long long)row->times)),
                width);
    else if (row->mixed) {
        Buf classes = buf_new(ui->frame);
        alike_format_classes(ui, row, &classes);
        pen_fit(pen, ROLE_NOTE, buf_str(&classes), width);
    } else
        pen_fit(pen, ROLE_DIM,
                str_from(facts->n_ops < 100000
                             ? arena_printf(ui->frame, "%lld ops", (long long)facts->n_ops)
                             : arena_printf(ui->frame, "%.1fM ops", (double)facts->n_ops / 1e6)),
                width);
}

/* "AR tp 12.0 MiB" of one reshard, "24 AR tp" of several; without the bytes where there is no room
 * for them. */
static Text reshard_text(const Ui *ui, int32_t id, double n, bool with_bytes, int width)
{
    const Reshard *reshard = &ui_plan(ui)->moved->reshards[id];
    Buf text = buf_marked(ui->frame);

    if (n > 1)
        buf_printf(&text, "%.10g ", n);
    comm_format_steps(ui->session, reshard->path, &text);
    if (with_bytes) {
        int64_t bytes = 0;
        for (int s = 0; s < reshard->path->n_steps; s++)
            if (reshard->path->step[s].bytes > bytes)
                bytes = reshard->path->step[s].bytes;
        Str size = label_bytes(ui, bytes);
        if (bytes > 0 && text_columns(buf_str(&text)) + 1 + text_columns(size) <= width)
            buf_printf(&text, " %.*s", STR_ARG(size));
    }
    return buf_text(&text);
}

/* Parameters have no reshard here: the column shows the decision on how they are stored. */
static Str row_decided_by(const Ui *ui, const OutlineRow *row)
{
    if (row->kind == ROW_PARAMETERS && row->open)
        return STR("decided by");
    const Decision *pin = row->kind == ROW_PARAMETER ? graph_row_pin(ui, row) : NULL;
    return pin ? label_pin(ui->frame, pin) : STR("");
}

static void draw_reshard(const Ui *ui, const OutlineRow *row, const RowFacts *facts, int width,
                         Pen *pen)
{
    const Totals *totals = &ui_plan(ui)->priced->totals;
    bool dear = facts->comm_us > totals->step_us * ui->look.settings.dear / 100;

    if (facts->reshard < 0) {
        pen_fit(pen, ROLE_DIM, row_decided_by(ui, row), width);
        return;
    }
    double n = row->kind == ROW_OP ? row->fold_n : facts->n_reshards;
    pen_text(pen,
             reshard_text(ui, facts->reshard, row->kind == ROW_GROUP ? n : 1,
                          row->kind == ROW_OP || n <= 1, width),
             -1, width);
    Rect drawn = {pen->area.x + pen->x - width, pen->area.y + pen->y, width, 1};
    if (dear) {
        grid_paint(pen->grid, drawn, ROLE_DEAR);
        grid_mark(pen->grid, drawn, STYLE_BOLD);
    }
}

static void draw_back_reshard(const Ui *ui, const OutlineRow *row, int width, Pen *pen)
{
    BackFacts back = graph_row_back(ui, row);
    Text text = back.reshard < 0 ? text_from("")
                                 : reshard_text(ui, back.reshard, back.n, back.n <= 1, width);
    pen_text(pen, text, -1, width);
}

/* "S0,R" */
static Text mapping_text(const Ui *ui, const Sharding *sharding)
{
    const Mesh *mesh = ui->session->mesh;
    Buf text = buf_marked(ui->frame);

    for (int a = 0; a < mesh->n_axes; a++) {
        buf_puts(&text, a ? "," : "");
        comm_format_state(mesh, sharding, a, "P", &text);
    }
    return buf_text(&text);
}

/* "m/dp k/tp" */
static Text cut_text(const Ui *ui, const OutlineRow *row)
{
    const OpSpace *space =
        row->kind == ROW_OP ? inferred_space(ui->session->inferred, row->id) : NULL;
    const OpCut *cut = space ? plan_cut(ui_plan(ui), row->id) : NULL;
    Buf text = buf_marked(ui->frame);

    for (int x = 0; cut && x < space->n_index; x++) {
        if (!cut_atoms(&cut->index[x]))
            continue;
        buf_printf(&text, "%s%s/", text.n > 0 ? " " : "", space->index[x].name);
        mesh_format_set(ui->session->mesh, cut_atoms(&cut->index[x]), ".", &text);
    }
    return buf_text(&text);
}

static Str fixed(const Ui *ui, double value, int digits)
{
    return str_from(value > 0 ? arena_printf(ui->frame, "%.*f", digits, value) : "");
}

/* A number with its letter: 1.2M, 85.1G. */
static Str counted(const Ui *ui, double value)
{
    static const char letters[] = " kMGTP";
    int letter = 0;

    while (value >= 1000 && letters[letter + 1]) {
        value /= 1000;
        letter++;
    }
    return str_from(
        value > 0 ? arena_printf(ui->frame, letter ? "%.1f%c" : "%.0f", value, letters[letter])
                  : "");
}

Str graph_row_stage(const Ui *ui, const OutlineRow *row)
{
    const int32_t *order = ui->session->groups->order;
    int32_t first = row->first, last = row->first + row->n - 1;

    if (!row_has_ops(row) || !ui_plan(ui)->decided->stages)
        return STR("");
    if (row->kind == ROW_OP && row->fold_n <= 1)
        return str_from(stage_of(ui_plan(ui), row->op) < 0
                            ? ""
                            : arena_printf(ui->frame, "%d", stage_of(ui_plan(ui), row->op)));
    while (first < last && stage_of(ui_plan(ui), order[first]) < 0)
        first++;
    while (last > first && stage_of(ui_plan(ui), order[last]) < 0)
        last--;
    int from = stage_of(ui_plan(ui), order[first]), to = stage_of(ui_plan(ui), order[last]);
    if (from < 0)
        return STR("");
    return str_from(from == to ? arena_printf(ui->frame, "%d", from)
                               : arena_printf(ui->frame, "%d-%d", from, to));
}

/* The columns that are texts. */
static Text column_text(const Ui *ui, const OutlineRow *row, const RowFacts *facts,
                        GraphColumn column)
{
    int32_t made = graph_row_made(ui, facts);
    Buf text = buf_marked(ui->frame);

    if (column == COL_BYTES && made >= 0) {
        double bytes = (double)plan_local_bytes(ui_plan(ui), facts->tensor, made);
        return text_of(fixed(ui, bytes / byte_unit(ui)->scale, byte_unit(ui)->decimals));
    }
    if (column == COL_TIME)
        return text_of(fixed(ui, facts->us / time_unit(ui)->scale, time_unit(ui)->decimals));
    if (column == COL_PARAMS || column == COL_FLOPS)
        return text_of(counted(ui, graph_row_sum(ui, row, sum_of((int)column))));
    if (column == COL_BACKWARD || column == COL_WEIGHTS)
        return text_of(fixed(ui, graph_row_sum(ui, row, sum_of((int)column)) / time_unit(ui)->scale,
                             time_unit(ui)->decimals));
    if (column == COL_SAVED)
        return text_of(fixed(ui, graph_row_sum(ui, row, SUM_SAVED) / (1 << 20), 1));
    if (column == COL_MAPPING && made >= 0)
        return mapping_text(ui, shardings_at(ui_plan(ui)->shardings, made));
    if (column == COL_STAGE)
        return text_of(graph_row_stage(ui, row));
    if (column == COL_CUT)
        return cut_text(ui, row);
    if (column == COL_DTYPE && facts->tensor >= 0)
        buf_puts(&text, dtype_name((Dtype)ui->session->inferred->dtype[facts->tensor]));
    if (column == COL_LOCAL && made >= 0) {
        Shape local;
        sharding_local_shape(shardings_at(ui_plan(ui)->shardings, made), ui->session->mesh,
                             ui->rank, &local);
        shape_format(&local, &text);
    }
    if (column == COL_TIMES && row_has_ops(row))
        buf_printf(&text, "%.10g",
                   (double)row->times * inferred_repeat(ui->session->inferred, row->op));
    if (column == COL_WHY && graph_row_pin(ui, row))
        return text_of(label_pin(ui->frame, graph_row_pin(ui, row)));
    if (column == COL_CHANGED && ui_row_changed(ui, row))
        buf_puts(&text, "~");
    return buf_text(&text);
}

static void draw_column(const Ui *ui, const OutlineRow *row, const RowFacts *facts,
                        GraphColumn column, int width, Pen *pen)
{
    int dim = facts->tensor == ui->at.tensor && row->kind != ROW_GROUP ? ui->at.dim : -1;

    if (column == COL_OPERATOR)
        draw_operator(ui, row, facts, width, pen);
    else if (column == COL_OUTPUT)
        pen_text(pen, label_value(ui, facts->tensor, graph_row_made(ui, facts)), dim, width);
    else if (column == COL_BAR)
        pen_bar(pen, ROLE_TEXT, facts->us, ui_plan(ui)->priced->totals.step_us, width);
    else if (column == COL_RESHARD)
        draw_reshard(ui, row, facts, width, pen);
    else if (column == COL_BACK_RESHARD)
        draw_back_reshard(ui, row, width, pen);
    else if (columns[column].right)
        pen_right(pen, ROLE_TEXT, column_text(ui, row, facts, column).str, width);
    else
        pen_text(pen, column_text(ui, row, facts, column), -1, width);
}

/* Before the name: tagged, changed by the last change of the plan. */
static void draw_mark(const Ui *ui, const OutlineRow *row, Pen *pen)
{
    if (listing_row_tagged(ui, row))
        pen_rune(pen, ROLE_FOCUS, '+');
    else if (ui_row_changed(ui, row))
        pen_rune(pen, ROLE_NOTE, '~');
    else
        pen_rune(pen, ROLE_TEXT, ' ');
}

/* Names of parameters are long, and they have neither a lane nor an operator. */
static void draw_parameter_name(const Ui *ui, const OutlineRow *row, const int *width, Pen *pen)
{
    enum { GLYPH = 2 };
    int spare = (width[COL_RAIL] ? width[COL_RAIL] - GLYPH : 0) +
                (width[COL_OPERATOR] ? width[COL_OPERATOR] + 1 : 0);

    if (width[COL_RAIL]) {
        pen_rune(pen, ROLE_TEXT, row_glyph(ui, row));
        pen_rune(pen, ROLE_TEXT, ' ');
    }
    pen_rune(pen, ROLE_TEXT, ' ');
    draw_name(ui, row, -1, width[COL_NAME] + spare, pen);
}

void graph_row_draw(const Ui *ui, const OutlineRow *row, const RailRow *rail, const int *width,
                    Pen *pen)
{
    RowFacts facts = graph_row_facts(ui, row);

    pen_tab(pen, 1);
    if (row->kind == ROW_PARAMETER)
        draw_parameter_name(ui, row, width, pen);
    else if (width[COL_RAIL])
        rail_draw(rail, row_glyph(ui, row), width[COL_RAIL], pen);
    for (int c = row->kind == ROW_PARAMETER ? COL_OUTPUT : COL_NAME; c < COL_COUNT; c++) {
        if (width[c] == 0)
            continue;
        if (c == COL_NAME)
            draw_mark(ui, row, pen);
        else
            pen_rune(pen, ROLE_TEXT, ' ');
        if (c == COL_NAME)
            draw_name(ui, row, rail->named, width[c], pen);
        else
            draw_column(ui, row, &facts, (GraphColumn)c, width[c], pen);
    }
}

void graph_row_headings(Ui *ui, const int *width, Pen *pen)
{
    int sorted = graph_state(ui)->sorted_by;

    if (is_sum(sorted) && !graph_state(ui)->before[sum_of(sorted)]) { /* of another plan */
        graph_sums(ui, sum_of(sorted));
        outline_sort(ui->outline, row_key, ui);
    }
    for (int c = 0; c < COL_COUNT; c++)
        if (width[c] && is_sum(c))
            graph_sums(ui, sum_of(c));
    if (ui_graph(ui)->phase) /* the rail marks what is kept */
        graph_sums(ui, SUM_SAVED);
    pen_rune(pen, ROLE_HEAD, ' ');
    for (int c = 0; c < COL_COUNT; c++) {
        if (width[c] == 0)
            continue;
        Str text = str_from(heading(ui, c));
        if (columns[c].right)
            pen_right(pen, ROLE_HEAD, text, width[c]);
        else
            pen_fit(pen, ROLE_HEAD, text, width[c]);
        pen_rune(pen, ROLE_HEAD, ' ');
    }
}
