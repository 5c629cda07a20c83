#include "tui/state/comm_table.h"

#include "core/model/stated.h"
#include "core/cost/exposed.h"
#include "core/plan/origin.h"
#include "core/summary/label.h"
#include "core/summary/sheets.h"
#include "tui/state/format.h"
#include "tui/state/menu.h"
#include "tui/state/jobs/reasons_job.h"
#include "tui/state/jobs/whatif.h"
#include "tui/views/rows.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- columns ---- */

/* ORDER COMM_COLUMN: as they stand on the screen. */
typedef enum {
    COL_TIMES,
    COL_PASS, /* in a training step */
    COL_KIND,
    COL_TENSOR,
    COL_CHANGE,
    COL_FROM,
    COL_TO,
    COL_IN,
    COL_WIRE,
    COL_EACH,
    COL_TOTAL,
    COL_STEP, /* in a training step */
    COL_SHARE,
    COL_EXPOSED,
    COL_CAUSE,
    COL_COUNT
} CommColumn;

/* Where there is no room the highest `drop` goes first; 0: stays. least: columns. */
static const struct {
    const char *name, *head;
    bool right;
    int drop, least, most;
} columns[COL_COUNT] = {
    {"times", "×", true, 0, 5, 8},         {"pass", "PASS", false, 1, 8, 8},
    {"kind", "KIND", false, 0, 4, 32},     {"tensor", "TENSOR", false, 0, 18, 60},
    {"change", "CHANGE", false, 2, 6, 24}, {"from", "FROM", false, 9, 4, 40},
    {"to", "TO", false, 9, 4, 40},         {"in", "IN", true, 4, 9, 9},
    {"wire", "WIRE", true, 7, 9, 9},       {"each", "EACH", true, 5, 9, 9},
    {"total", "TOTAL", true, 0, 9, 9},     {"step", "A STEP", true, 3, 9, 9},
    {"share", "SHARE", false, 8, 10, 10},  {"exposed", "EXPOSED", true, 6, 9, 9},
    {"cause", "CAUSE", false, 3, 8, 24},
};

enum { EDGE = 1, SHARE_COLUMNS = 10 };

static const char arrow[] = "→", sum_mark[] = "Σ";

typedef struct {
    int width[COL_COUNT]; /* 0: not shown */
} CommWidths;

typedef struct {
    uint32_t hidden;  /* columns that are left out, by bit */
    CommWidths drawn; /* the columns, as drawn last */
} CommState;

static CommState *comm_state(const Ui *ui)
{
    return ui->own[SHOW_COMM];
}

static const Reshard *reshard_at(const Ui *ui, int row)
{
    return &ui_plan(ui)->moved->reshards[ui->comm->row[row].first];
}

/* ---- cells ---- */

/* "megatron.lua:33": the line behind it; `*` where it asks for the reshard. */
static Str cause_text(const Ui *ui, const Reshard *reshard)
{
    if (!reasons_ready(ui, ui_plan(ui)))
        return STR("..");
    const Decision *pin = comm_cause(ui->frame, ui->session, reshard);
    const char *asked = comm_is_asked(ui_plan(ui), reshard) ? "*" : "";

    if (!pin)
        return STR("-");
    return str_from(arena_printf(ui->frame, "%.*s%s", STR_ARG(label_pin(ui->frame, pin)), asked));
}

/* The line, and where there is room who needs it so and what the line says. */
static Str long_cause(const Ui *ui, const Reshard *reshard, int width)
{
    enum { SOURCE_LEAST = 24 };
    Str line = cause_text(ui, reshard);
    int32_t op = reshard->n_uses > 0 ? ui_plan(ui)->moved->reshard_uses[reshard->use] : -1;
    if (op < 0)
        return line;
    const char *name = label_operator(ui_graph(ui), op);
    Str reader = str_from(arena_printf(ui->frame, "%.*s for %s", STR_ARG(line), name));
    int need = text_columns(reader);
    bool roomy = need + SOURCE_LEAST <= width && reasons_ready(ui, ui_plan(ui));
    const Decision *pin = roomy ? comm_cause(ui->frame, ui->session, reshard) : NULL;
    if (!pin || pin->origin.kind != ORIGIN_POLICY)
        return need <= width ? reader : line;
    Buf text = buf_marked(ui->frame);
    buf_printf(&text, "%.*s  ", STR_ARG(reader));
    origin_put_lua(ui->session->mesh, str_from(pin->origin.text), &text);
    return buf_str(&text);
}

static Text change_text(const Ui *ui, const Reshard *reshard)
{
    Buf text = buf_marked(ui->frame);

    comm_format_change(ui->session, reshard, ui->look.ascii ? "+" : sum_mark, arrow, &text);
    return buf_text(&text);
}

static Text kind_text(const Ui *ui, const Reshard *reshard)
{
    Buf text = buf_marked(ui->frame);

    comm_format_steps(ui->session, reshard->path, &text);
    return buf_text(&text);
}

static Text cell_text(const Ui *ui, int at, CommColumn column)
{
    const CommRow *row = &ui->comm->row[at];
    const Reshard *reshard = reshard_at(ui, at);

    switch (column) {
    case COL_TIMES:
        return text_from(arena_printf(ui->frame, "%.10g", row->times));
    case COL_PASS:
        return text_from(comm_pass_name(row->pass));
    case COL_STEP:
        return text_of(label_us(ui, row->step_us));
    case COL_KIND:
        return kind_text(ui, reshard);
    case COL_TENSOR:
        return text_from(row->label);
    case COL_CHANGE:
        return change_text(ui, reshard);
    case COL_FROM:
        return label_sharding(ui, reshard->from);
    case COL_TO:
        return label_sharding(ui, reshard->to);
    case COL_IN:
        return text_of(label_bytes(ui, comm_payload(reshard)));
    case COL_WIRE:
        return text_of(label_bytes(ui, reshard->path->wire_bytes));
    case COL_EACH:
        return text_of(label_us(ui, reshard->path->us));
    case COL_TOTAL:
        return text_of(label_us(ui, row->us));
    case COL_EXPOSED:
        return text_of(label_us(ui, row->exposed_us));
    case COL_CAUSE:
        return text_of(cause_text(ui, reshard));
    case COL_SHARE:
    case COL_COUNT:
        break;
    }
    return text_from("");
}

/* ---- fitting ---- */

static int all_columns(const CommWidths *widths)
{
    int sum = EDGE;

    for (int c = 0; c < COL_COUNT; c++)
        sum += widths->width[c] + (widths->width[c] > 0 && c > 0);
    return sum;
}

/* Of a training step the time of a step says more than that of a micro-batch. */
static int drop_of(const Ui *ui, int column)
{
    bool trains = graph_has_phases(ui_graph(ui));
    return column == COL_TOTAL && trains ? columns[COL_EACH].drop
           : column == COL_STEP          ? 0
                                         : columns[column].drop;
}

static void measure(const Ui *ui, int first, int n, CommWidths *widths)
{
    for (int c = 0; c < COL_COUNT; c++) {
        bool of_training = c == COL_PASS || c == COL_STEP;
        if ((comm_state(ui)->hidden >> c & 1) || (of_training && !graph_has_phases(ui_graph(ui))))
            continue;
        int w = columns[c].least;
        int head = text_columns(str_from(columns[c].head));
        w = head > w ? head : w;
        for (int i = 0; i < n && c != COL_SHARE && columns[c].most > columns[c].least; i++) {
            int need = text_columns(cell_text(ui, first + i, (CommColumn)c).str);
            w = need > w ? need : w;
        }
        widths->width[c] = w < columns[c].most ? w : columns[c].most;
    }
}

/* Tensors give way first, down to their least; then columns go, the least wanted first. Both
 * ends in full are instead of the change. */
static CommWidths widths_for(const Ui *ui, int first, int n, int w)
{
    CommWidths widths = {0};

    measure(ui, first, n, &widths);
    int tensor = widths.width[COL_TENSOR];
    for (int drop = 9; drop > 0; drop--) {
        widths.width[COL_TENSOR] = columns[COL_TENSOR].least;
        if (all_columns(&widths) <= w)
            break;
        for (int c = 0; c < COL_COUNT; c++)
            if (drop_of(ui, c) == drop)
                widths.width[c] = 0;
    }
    if (widths.width[COL_FROM] && widths.width[COL_TO])
        widths.width[COL_CHANGE] = 0;
    widths.width[COL_TENSOR] = columns[COL_TENSOR].least;
    int left = w - all_columns(&widths);
    widths.width[COL_TENSOR] += left;
    if (widths.width[COL_CAUSE] > 0 && widths.width[COL_TENSOR] > tensor) {
        widths.width[COL_CAUSE] += widths.width[COL_TENSOR] - tensor;
        widths.width[COL_TENSOR] = tensor;
    }
    if (widths.width[COL_TENSOR] < 4)
        widths.width[COL_TENSOR] = 4;
    return widths;
}

/* ---- drawing ---- */

static CommColumn sorted_by(const Ui *ui, CommSort sort)
{
    /* ORDER COMM_SORT */
    static const CommColumn by[COMM_SORT_COUNT] = {COL_TOTAL, COL_EACH, COL_WIRE, COL_TENSOR,
                                                   COL_COUNT};
    return sort == COMM_BY_TOTAL && graph_has_phases(ui_graph(ui)) ? COL_STEP : by[sort];
}

static void draw_headings(const Ui *ui, const CommWidths *widths, Pen *pen)
{
    pen_tab(pen, EDGE);
    for (int c = 0; c < COL_COUNT; c++) {
        if (widths->width[c] == 0)
            continue;
        if (c > 0)
            pen_rune(pen, ROLE_HEAD, ' ');
        const char *mark = sorted_by(ui, ui->comm_sort) != (CommColumn)c ? ""
                           : ui->comm_reversed                           ? "▴"
                                                                         : "▾";
        Str head = str_from(arena_printf(ui->frame, "%s%s", columns[c].head, mark));
        if (columns[c].right)
            pen_right(pen, ROLE_HEAD, head, widths->width[c]);
        else
            pen_fit(pen, ROLE_HEAD, head, widths->width[c]);
    }
    pen_line(pen);
}

static void draw_cell(const Ui *ui, int row, CommColumn column, int width, Pen *pen)
{
    const CommRow *line = &ui->comm->row[row];
    bool dear = line->us > ui_plan(ui)->priced->totals.step_us * 0.05;
    Style style = column == COL_TOTAL && dear ? ROLE_DEAR : ROLE_TEXT;

    if (column == COL_SHARE)
        pen_bar(pen, dear ? ROLE_DEAR : ROLE_TEXT, line->us, ui_plan(ui)->priced->totals.comm_us,
                width);
    else if (columns[column].right)
        pen_right(pen, style, cell_text(ui, row, column).str, width);
    else if (column == COL_TENSOR)
        pen_fit_name(pen, style, cell_text(ui, row, column).str, width);
    else if (column == COL_CAUSE)
        pen_fit(pen, style, long_cause(ui, reshard_at(ui, row), width), width);
    else
        pen_text(pen, cell_text(ui, row, column), -1, width);
}

static void draw_row(const Ui *ui, int row, const CommWidths *widths, Pen *pen)
{
    pen_tab(pen, EDGE);
    for (int c = 0; c < COL_COUNT; c++) {
        if (widths->width[c] == 0)
            continue;
        if (c > 0)
            pen_rune(pen, ROLE_TEXT, ' ');
        draw_cell(ui, row, (CommColumn)c, widths->width[c], pen);
    }
}

/* How long ops wait: of a training step by its streams, else at best (core/cost/exposed.h). */
static const char *exposed_part(const Ui *ui)
{
    const Plan *plan = ui_plan(ui);
    const Totals *totals = &plan->priced->totals;
    if (!exposed_by_streams(plan))
        return arena_printf(ui->frame, ", exposed at best %.*s",
                            STR_ARG(label_us(ui, totals->overlap_us - totals->compute_us)));
    const StepParts *parts = comm_parts(ui->comm);
    double us = 0;
    for (int i = 0; i < parts->n_exposed; i++)
        us += parts->exposed[i].exposed_us;
    return arena_printf(ui->frame, ", exposed %.*s a step", STR_ARG(label_us(ui, us)));
}

/* "26 reshards  1.95 ms  each rank sends 216.0 MiB  exposed at best 1.61 ms"; the last parts
 * where there is room. */
static void draw_headline(const Ui *ui, Pen *pen)
{
    const Totals *totals = &ui_plan(ui)->priced->totals;
    const Comm *comm = ui->comm;
    Buf text = buf_new(ui->frame);
    const char *parts[5];
    int n = 0, n_asked = 0, n_shown = 0;
    double us = 0, step_us = 0;

    for (int i = 0; i < comm->n_rows; i++) {
        n_shown += comm->row[i].n;
        us += comm->row[i].us;
        step_us += comm->row[i].step_us;
        n_asked += comm_is_asked(ui_plan(ui), reshard_at(ui, i)) ? comm->row[i].n : 0;
    }
    if (comm->n_rows < comm->n_all)
        buf_printf(&text, " %d of %d reshards, filter: %s", n_shown, ui_plan(ui)->moved->n_reshards,
                   comm->kept_by);
    else
        buf_printf(&text, " %d reshard%s", n_shown, n_shown == 1 ? "" : "s");
    if (comm->n_rows < comm->n_all)
        parts[n++] = arena_printf(ui->frame, ": %.*s of %.*s a %s", STR_ARG(label_us(ui, us)),
                                  STR_ARG(label_us(ui, totals->comm_us)), label_pass(ui_plan(ui)));
    else
        parts[n++] = arena_printf(ui->frame, ": %.*s a %s", STR_ARG(label_us(ui, totals->comm_us)),
                                  label_pass(ui_plan(ui)));
    if (ui_graph(ui)->phase && plan_micro_batches(ui_plan(ui)) > 1)
        parts[n++] = arena_printf(ui->frame, ", %.*s a step", STR_ARG(label_us(ui, step_us)));
    if (comm->n_rows == comm->n_all) {
        parts[n++] =
            arena_printf(ui->frame,
                         ui_plan(ui)->decided->stages ? ", %.*s sent per device of each stage"
                                                      : ", each rank sends %.*s",
                         STR_ARG(label_bytes(ui, totals->comm_bytes)));
        parts[n++] = exposed_part(ui);
    }
    parts[n++] = arena_printf(ui->frame, "; a pin asks for %d of %d (*)", n_asked, n_shown);
    for (int i = 0; i < n; i++)
        if (text_columns(buf_str(&text)) + text_columns(str_from(parts[i])) < pen->area.w)
            buf_puts(&text, parts[i]);
    pen_fit(pen, ROLE_TEXT, buf_str(&text), pen->area.w);
    pen_line(pen);
}

/* ---- sums ---- */

enum { SUMS_MAX = 12 };

typedef struct {
    const char *name;
    AtomSet atoms;
    double us;
} CommSum;

static void add_sum(CommSum *sums, int *n, const char *name, AtomSet atoms, double us)
{
    for (int i = 0; i < *n; i++)
        if (sums[i].atoms == atoms && (atoms || sums[i].name == name)) {
            sums[i].us += us;
            return;
        }
    if (*n < SUMS_MAX && us > 0)
        sums[(*n)++] = (CommSum){name, atoms, us};
}

static void draw_sums(const Ui *ui, CommSum *sums, int n, const char *title, Pen *pen)
{
    double whole = ui_plan(ui)->priced->totals.comm_us;

    pen_printf(pen, ROLE_HEAD, " %s", title);
    for (int i = 0; i < n; i++) {
        Buf name = buf_marked(ui->frame);
        if (sums[i].atoms)
            mesh_format_set(ui->session->mesh, sums[i].atoms, ".", &name);
        else
            buf_puts(&name, sums[i].name);
        pen_rune(pen, ROLE_TEXT, ' ');
        pen_text(pen, buf_text(&name), -1, -1);
        pen_rune(pen, ROLE_TEXT, ' ');
        if (pen->area.w >= 120)
            pen_bar(pen, ROLE_TEXT, sums[i].us, whole,
                    1 + (int)(SHARE_COLUMNS * sums[i].us / (whole > 0 ? whole : 1)));
        pen_printf(pen, ROLE_TEXT, " %.*s ", STR_ARG(label_us(ui, sums[i].us)));
    }
}

/* " forward 39.1 ms ×16  backward 39.3 ms ×16  update 26.3 ms ×1  = 1.28 s a step" */
static void draw_passes(const Ui *ui, Pen *pen)
{
    const CommPasses *passes = &ui->comm->passes;
    for (CommPass pass = 0; pass < COMM_PASS_COUNT; pass++) {
        pen_printf(pen, ROLE_HEAD, " %s", comm_pass_name(pass));
        pen_printf(pen, ROLE_TEXT, " %.*s ×%d ", STR_ARG(label_us(ui, passes->us[pass])),
                   pass == COMM_UPDATE ? 1 : passes->micro_batches);
    }
    pen_printf(pen, ROLE_TEXT, "= %.*s a step", STR_ARG(label_us(ui, passes->step_us)));
    pen_line(pen);
}

/* Time by the axes of groups, and by kind of collective: of all steps of all reshards. */
static void draw_sum_line(const Ui *ui, Pen *pen)
{
    const Comm *comm = ui->comm;
    CommSum axes[SUMS_MAX], kinds[SUMS_MAX];
    int n_axes = 0, n_kinds = 0;

    for (int i = 0; i < comm->n_all; i++) {
        const ReshardPath *path = reshard_at(ui, i)->path;
        for (int s = 0; s < path->n_steps; s++) {
            double us = comm->row[i].times * path->step[s].us;
            add_sum(axes, &n_axes, "", path->step[s].atoms, us);
            add_sum(kinds, &n_kinds, step_kind_mark(path->step[s].kind), 0, us);
        }
    }
    draw_sums(ui, axes, n_axes, "by axis", pen);
    draw_sums(ui, kinds, n_kinds, " by kind", pen);
    if (pen->area.w >= 150)
        pen_puts(
            pen, ROLE_DIM,
            exposed_by_streams(ui_plan(ui))
                ? "  IN payload of the largest step  WIRE bytes that a rank sends  EXPOSED time "
                  "ops "
                  "wait"
                : "  IN payload of the largest step  WIRE bytes that a rank sends  EXPOSED time "
                  "ops wait, at best");
    pen_line(pen);
}

/* ---- the table of a large plan ---- */

/* Where nothing moves: how many ops each axis shards; the others compute the same on all its ranks.
 */
static void draw_axes(const Ui *ui, Pen *pen)
{
    enum { AXIS_W = 12, COUNT_W = 13 };
    const Mesh *mesh = ui->session->mesh;
    const Graph *graph = ui_graph(ui);

    pen_line(pen);
    pen_fit(pen, ROLE_HEAD, STR(" AXIS"), AXIS_W);
    pen_right(pen, ROLE_HEAD, STR("OPS SHARDED"), COUNT_W);
    pen_right(pen, ROLE_HEAD, STR("NOT SHARDED"), COUNT_W);
    pen_puts(pen, ROLE_DIM, "   all its ranks run these in full");
    pen_line(pen);
    for (int axis = 0; axis < mesh->n_axes && !pen_full(pen); axis++) {
        int n_sharded = 0, n_other = 0;
        for (int32_t op = 0; op < graph->n_ops; op++) {
            const OpSpace *space = inferred_space(ui->session->inferred, op);
            const OpCut *cuts = space ? plan_cut(ui_plan(ui), op) : NULL;
            bool sharded =
                cuts && cuts_used(cuts->index, space->n_index, -1) & mesh_axis_atoms(mesh, axis);
            n_sharded += sharded;
            n_other += cuts && !sharded;
        }
        pen_rune(pen, ROLE_TEXT, ' ');
        pen_fit(pen, ROLE_TEXT,
                str_from(arena_printf(ui->frame, "%s=%" PRId64, mesh->axes[axis].name,
                                      mesh->axes[axis].size)),
                AXIS_W - 1);
        pen_right(pen, ROLE_TEXT, str_from(arena_printf(ui->frame, "%d", n_sharded)), COUNT_W);
        pen_right(pen, ROLE_TEXT, str_from(arena_printf(ui->frame, "%d", n_other)), COUNT_W);
        pen_line(pen);
    }
    pen_line(pen);
    if (!graph->phase)
        pen_puts(
            pen, ROLE_DIM,
            " :train adds the backward pass, which reduces the gradients of replicated parameters");
    pen_line(pen);
    pen_puts(pen, ROLE_DIM,
             " d compares with another policy or mesh: what it moves, and what it saves");
}

static void draw(Ui *ui, Pen *pen)
{
    Comm *comm = comm_arranged(ui);
    enum { SUMS_FROM = 7, BOTH_FROM = 12, BESIDE_ROWS = 4 };
    bool passes = graph_has_phases(ui_graph(ui)) && pen->area.h >= SUMS_FROM;
    bool sums = pen->area.h >= (passes ? BOTH_FROM : SUMS_FROM);

    if (comm->n_rows < 0) {
        pen_printf(pen, ROLE_NOTE, " %s", comm_waiting);
        return;
    }

    ui->list[SHOW_COMM].n = comm->n_rows;
    if (comm->n_all == 0) {
        pen_puts(pen, ROLE_DIM, " no reshards: nothing moves between devices");
        pen_line(pen);
        draw_axes(ui, pen);
        return;
    }
    int least = graph_has_phases(ui_graph(ui)) ? BOTH_FROM : SUMS_FROM;
    int wants = comm->n_rows + BESIDE_ROWS;
    ui->list[SHOW_COMM].wants = wants > least ? wants : least;
    draw_headline(ui, pen);
    int h = pen->area.h - pen->y - 1 - sums - passes;
    h = h < 1 ? 1 : h;
    list_show(&ui->list[SHOW_COMM], ui->at.reshard, comm->n_rows, h);
    int first = (int)ui->list[SHOW_COMM].top,
        n = comm->n_rows - first < h ? comm->n_rows - first : h;
    CommWidths widths = comm_state(ui)->drawn = widths_for(ui, first, n, pen->area.w);
    draw_headings(ui, &widths, pen);
    for (int i = 0; i < n; i++) {
        draw_row(ui, first + i, &widths, pen);
        rows_end(ui, SHOW_COMM, first + i == ui->at.reshard, pen);
    }
    pen_to(pen, 0, pen->area.h - sums - passes);
    if (passes)
        draw_passes(ui, pen);
    if (sums)
        draw_sum_line(ui, pen);
}

/* ---- acting ---- */

/* The other panes follow: the tensor that is moved, and the op it is shown at. */
static void select_row(Ui *ui, int row)
{
    ui->at.reshard = row;
    const Reshard *reshard = reshard_at(ui, row);
    int32_t op = comm_op(ui->session, reshard);
    if (op >= 0)
        ui_select_op(ui, op);
    ui_select_tensor(ui, reshard->tensor);
}

static void go(Ui *ui, int64_t row)
{
    if (row >= 0 && row < comm_arranged(ui)->n_rows)
        select_row(ui, (int)row);
}

static void sort_rows(Ui *ui, CommSort sort, bool reversed)
{
    if (comm_arranged(ui)->n_rows <= 0)
        return;
    int32_t reshard = ui->comm->row[ui->at.reshard].first;

    ui->comm_sort = sort;
    ui->comm_reversed = reversed;
    select_row(ui, comm_arranged(ui)->row_of[reshard]);
}

static void sort_chosen(Ui *ui, int sort)
{
    sort_rows(ui, (CommSort)sort, false);
}

static bool head(Ui *ui, int x)
{
    int end = EDGE;

    for (int c = 0; c < COL_COUNT; c++) {
        int width = comm_state(ui)->drawn.width[c];
        if (width == 0)
            continue;
        end += (c > 0) + width;
        for (int sort = 0; x < end && sort < COMM_SORT_COUNT; sort++)
            if (sorted_by(ui, (CommSort)sort) == (CommColumn)c) {
                sort_rows(ui, (CommSort)sort,
                          ui->comm_sort == (CommSort)sort && !ui->comm_reversed);
                return true;
            }
        if (x < end)
            return false;
    }
    return false;
}

static void sort_menu(Ui *ui)
{
    /* ORDER COMM_SORT */
    static const char *const names[] = {"total", "each", "bytes on the wire", "name",
                                        "program order"};

    menu_open(ui, "sort reshards by", sort_chosen);
    for (int i = 0; i < COMM_SORT_COUNT; i++)
        menu_add(ui, names[i][0], str_from(names[i]), i);
    ui->menu.at = (int)ui->comm_sort;
}

static void columns_menu(Ui *ui);

static void column_chosen(Ui *ui, int column)
{
    comm_state(ui)->hidden ^= 1u << column;
    columns_menu(ui);
    ui->menu.at = column - COL_CHANGE;
}

static void columns_menu(Ui *ui)
{
    menu_open(ui, "columns, if there is room", column_chosen);
    for (int c = COL_CHANGE; c < COL_COUNT; c++)
        menu_add(ui, 0,
                 str_from(arena_printf(ui->frame, "%s\t%s", columns[c].name,
                                       comm_state(ui)->hidden >> c & 1 ? "-" : "shown")),
                 c);
}

static bool open_op(Ui *ui)
{
    const Reshard *reshard = reshard_at(ui, ui->at.reshard);
    int32_t op = comm_op(ui->session, reshard), tensor = reshard->tensor;

    if (op < 0)
        return false;
    places_remember(ui);
    ui_go_op(ui, op);
    ui_select_tensor(ui, tensor);
    ui->at.show = SHOW_OP;
    return true;
}

static bool act(Ui *ui, ActId act)
{
    int64_t at = ui->at.reshard;
    int n = comm_arranged(ui)->n_rows;

    if (n <= 0)
        return n < 0 && act == ACT_SHOW_COMM;
    if (act == ACT_SHOW_COMM)
        select_row(ui, ui->at.reshard < n ? ui->at.reshard : 0);
    else if (list_move(&at, n, ui->list[SHOW_COMM].height, act))
        select_row(ui, (int)at);
    else if (act == ACT_WHAT_IF)
        whatif_reshard(ui);
    else if (act == ACT_SORT)
        sort_menu(ui);
    else if (act == ACT_COLUMNS)
        columns_menu(ui);
    else
        return act == ACT_OPEN && open_op(ui);
    return true;
}

/* What the marks in the table stand for. */
static void note(Ui *ui, Buf *out)
{
    const Comm *comm = comm_arranged(ui);
    unsigned named = 0; /* kinds, by bit */

    if (comm->n_rows <= 0)
        return;
    buf_printf(out, "row %d of %d", ui->at.reshard + 1, comm->n_rows);
    for (int i = 0; i < comm->n_rows && named + 1 < 1u << STEP_KIND_COUNT; i++) {
        const ReshardPath *path = reshard_at(ui, i)->path;
        for (int s = 0; s < path->n_steps; s++) {
            StepKind kind = path->step[s].kind;
            if (!(named & 1u << kind))
                buf_printf(out, "%s%s %s", named ? ", " : "   ", step_kind_mark(kind),
                           step_kind_name(kind));
            named |= 1u << kind;
        }
    }
}

static void table(Ui *ui, Sheet *out)
{
    comm_table(ui->comm, NULL);
    sheet_columns(out, sheet_comm_columns);
    sheet_comm_rows(comm_arranged(ui), ui->look.ascii ? VIEW_OURS_ASCII : VIEW_OURS, out);
}

static const Hint hints[] = {
    {ACT_DOWN, "move"},       {ACT_WHAT_IF, "options"},  {ACT_OPEN, "op"},
    {ACT_WHY, "why"},         {ACT_SHOW_MESH, "groups"}, {ACT_SORT, "sort"},
    {ACT_COLUMNS, "columns"}, {ACT_FILTER, "filter"},    {ACT_UNDO, "undo"},
    {ACT_HELP, "help"},       {ACT_CLOSE, "close"},      {0},
};

const View view_comm = {
    .name = "Comm",
    .draw = draw,
    .act = act,
    .note = note,
    .go = go,
    .head = head,
    .list_at = 2,
    .hints = hints,
    .table = table,
    .enter_act = ACT_SHOW_COMM,
    .own_size = sizeof(CommState),
};
