#include "core/summary/label.h"
#include "tui/state/format.h"
#include "tui/state/ui.h"
#include "tui/views/graph/rail.h"

#include <stdlib.h>

typedef struct {
    int32_t op; /* that boxes are drawn around; -1: the selected one */
    int w, h;   /* of the pane when it was last drawn */
} NearState;

static NearState *near_state(const Ui *ui)
{
    return ui->own[SHOW_NEAR];
}

enum {
    HOPS_MAX = 3,
    LEVELS = 2 * HOPS_MAX + 1,
    BOXES_MAX = 30,
    BOX_H = 3,
    LEVEL_H = 4,
    BOX_W = 14
};
enum { WIDEST = 44 };

/* Ops within some hops of one, in levels: its makers above it, its readers below. */
typedef struct {
    int32_t op;
    int level; /* 0 to n_levels - 1 */
    int at;    /* from left to right in it */
} OpBox;

typedef struct {
    int hops, n_levels, n, n_left_out;
    OpBox box[BOXES_MAX + 1];
    int n_at[LEVELS];
} Near;

/* ---- which boxes ---- */

static int find_box(const Near *near, int32_t op)
{
    for (int i = 0; i < near->n; i++)
        if (near->box[i].op == op)
            return i;
    return -1;
}

static void add_box(Near *near, int32_t op, int level, int most)
{
    if (find_box(near, op) >= 0)
        return;
    if (near->n >= BOXES_MAX || near->n_at[level] >= most) {
        near->n_left_out++;
        return;
    }
    near->box[near->n++] = (OpBox){op, level, near->n_at[level]++};
}

static void add_makers(const Ui *ui, Near *near, const OpBox *box, int most)
{
    const Graph *graph = ui_graph(ui);

    for (int i = 0; i < graph->ops[box->op].n_inputs; i++) {
        int32_t tensor = op_inputs(graph, box->op)[i];
        int32_t maker = tensor < 0 ? -1 : graph->tensors[tensor].maker;
        if (maker >= 0 && !inferred_is_host(ui->session->inferred, maker))
            add_box(near, maker, box->level - 1, most);
    }
}

static void add_readers(const Ui *ui, Near *near, const OpBox *box, int most)
{
    const Graph *graph = ui_graph(ui);

    for (int o = 0; o < graph->ops[box->op].n_outputs; o++) {
        int32_t tensor = op_outputs(graph, box->op)[o];
        for (int u = 0; tensor >= 0 && u < tensor_n_uses(graph, tensor); u++) {
            int32_t op = graph->uses[graph->tensors[tensor].use + u];
            if (!inferred_is_host(ui->session->inferred, op))
                add_box(near, op, box->level + 1, most);
        }
    }
}

static void collect(const Ui *ui, Near *near, int32_t center, int up, int down, int most)
{
    *near = (Near){.hops = up > down ? up : down, .n_levels = up + down + 1};
    add_box(near, center, up, most);
    for (int hop = 0; hop < near->hops; hop++)
        for (int i = 0, n = near->n; i < n; i++) {
            OpBox box = near->box[i];
            if (hop < up && box.level == up - hop)
                add_makers(ui, near, &box, most);
            if (hop < down && box.level == up + hop)
                add_readers(ui, near, &box, most);
        }
}

/* As many hops up and down as there is room for without leaving a box out; one at least where one
 * level fits above and one below. */
static bool collect_fitting(const Ui *ui, Near *near, int w, int h)
{
    int32_t center = near_state(ui)->op < 0 ? ui->at.op : near_state(ui)->op;
    int most = w / (BOX_W + 1) > 0 ? w / (BOX_W + 1) : 1, hops[2] = {0, 0};
    bool more = 3 * LEVEL_H - 1 <= h;

    if (center < 0)
        return false;
    collect(ui, near, center, 0, 0, most);
    while (more) {
        more = false;
        for (int side = 0; side < 2; side++) {
            int up = hops[0] + (side == 0), down = hops[1] + (side == 1);
            if (hops[side] == HOPS_MAX || (up + down + 1) * LEVEL_H - 1 > h)
                continue;
            Near wider;
            collect(ui, &wider, center, up, down, most);
            if (wider.n == near->n || (hops[side] > 0 && wider.n_left_out > near->n_left_out))
                continue;
            *near = wider;
            hops[side]++;
            more = true;
        }
    }
    return true;
}

/* ---- drawing ---- */

static Rect box_rect(const Near *near, const OpBox *box, int w)
{
    int n = near->n_at[box->level], each = w / n;
    int wide = each - 1 < WIDEST ? each - 1 : WIDEST;

    return (Rect){box->at * each + (each - wide) / 2, box->level * LEVEL_H, wide, BOX_H};
}

/* The reshard that a value of `from` goes through on its way into `to`; NULL: none. */
static const Reshard *reshard_between(const Ui *ui, int32_t from, int32_t to)
{
    const Plan *plan = ui_plan(ui);

    for (int32_t r = ui->comm->of_op[from]; r >= 0; r = ui->comm->next[r])
        for (int32_t u = 0; u < plan->moved->reshards[r].n_uses; u++)
            if (plan->moved->reshard_uses[plan->moved->reshards[r].use + u] == to)
                return &plan->moved->reshards[r];
    return NULL;
}

static bool reads(const Ui *ui, int32_t op, int32_t maker)
{
    const Graph *graph = ui_graph(ui);

    for (int i = 0; i < graph->ops[op].n_inputs; i++) {
        int32_t tensor = op_inputs(graph, op)[i];
        if (tensor >= 0 && graph->tensors[tensor].maker == maker)
            return true;
    }
    return false;
}

static int32_t output_of(const Ui *ui, int32_t op)
{
    const Graph *graph = ui_graph(ui);
    return graph->ops[op].n_outputs > 0 ? op_outputs(graph, op)[0] : -1;
}

/* On the lower border: how the value leaves; on the upper one of its readers: what moves it. */
static void draw_borders(const Ui *ui, const Near *near, const OpBox *box, Rect area, Pen *pen)
{
    int32_t tensor = output_of(ui, box->op);
    int32_t made = tensor < 0 ? -1 : ui_plan(ui)->moved->made[tensor];
    Text text = label_value(ui, tensor, made);
    int columns = text_columns(text.str), room = area.w - 4;
    Buf steps = buf_marked(ui->frame);

    pen_to(pen, area.x + 1, area.y + BOX_H - 1);
    pen_rune(pen, ROLE_TEXT, ' ');
    pen_text(pen, text, -1, columns < room ? columns : room);
    pen_rune(pen, ROLE_TEXT, ' ');
    for (int i = 0; i < near->n; i++) {
        const Reshard *reshard =
            near->box[i].level < box->level ? reshard_between(ui, near->box[i].op, box->op) : NULL;
        if (reshard && reshard->path->n_steps > 0) {
            buf_puts(&steps, steps.n > 0 ? ", " : " ");
            comm_format_steps(ui->session, reshard->path, &steps);
        }
    }
    if (steps.n == 0)
        return;
    buf_putc(&steps, ' ');
    columns = text_columns(buf_str(&steps));
    room = area.w - 2;
    pen_to(pen, area.x + area.w - 1 - (columns < room ? columns : room), area.y);
    pen_text(pen, buf_text(&steps), -1, columns < room ? columns : room);
}

static void draw_box(const Ui *ui, const Near *near, const OpBox *box, Pen *pen)
{
    Rect area = box_rect(near, box, pen->area.w);
    Rect screen = {pen->area.x + area.x, pen->area.y + area.y, area.w, area.h};
    bool selected = box->op == ui->at.op;
    Str name = label_op(ui->session, ui->frame, box->op);
    Buf text = buf_new(ui->frame);
    int columns = text_columns(name), room = area.w - 2;

    grid_box(pen->grid, rect_clip(screen, pen->area), selected, "");
    buf_printf(&text, "%s", label_operator(ui_graph(ui), box->op));
    if (ui_plan(ui)->priced->op_us[box->op] > 0)
        buf_printf(&text, "  %.*s", STR_ARG(label_us(ui, ui_plan(ui)->priced->op_us[box->op])));
    for (int i = 0; i < near->n; i++)
        if (near->box[i].level != box->level - 1 && reads(ui, box->op, near->box[i].op))
            buf_printf(&text, "  ◂ %.*s",
                       STR_ARG(label_op(ui->session, ui->frame, near->box[i].op)));
    pen_to(pen, area.x + 1, area.y);
    pen_fit_name(pen, selected ? ROLE_FOCUS : ROLE_HEAD, name, columns < room ? columns : room);
    pen_to(pen, area.x + 1, area.y + 1);
    pen_fit(pen, ROLE_TEXT, buf_str(&text), room);
    draw_borders(ui, near, box, area, pen);
    if (!selected)
        return;
    pen_to(pen, area.x, area.y + 1);
    pen_cursor(pen);
}

/* The row of lines between two levels; those of the selected op stand out. */
static void draw_edges(const Ui *ui, const Near *near, int level, Pen *pen)
{
    int w = pen->area.w;
    uint8_t *joins = arena_array(ui->frame, uint8_t, w), *ours = arena_array(ui->frame, uint8_t, w);

    for (int i = 0; i < near->n; i++)
        for (int j = 0; j < near->n; j++) {
            const OpBox *from = &near->box[i], *to = &near->box[j];
            if (from->level != level || to->level != level + 1 || !reads(ui, to->op, from->op))
                continue;
            Rect a = box_rect(near, from, w), b = box_rect(near, to, w);
            int x = a.x + a.w / 2, end = b.x + b.w / 2, low = x < end ? x : end;
            int high = x < end ? end : x;
            bool own = from->op == ui->at.op || to->op == ui->at.op;
            joins[x] |= 1;
            joins[end] |= 2;
            for (int c = low; c <= high; c++) {
                joins[c] |= (uint8_t)((c > low ? 4 : 0) | (c < high ? 8 : 0));
                ours[c] |= own;
            }
        }
    for (int c = 0; c < w; c++) {
        if (!joins[c])
            continue;
        pen_to(pen, c, level * LEVEL_H + BOX_H);
        pen_rune(pen, ours[c] ? ROLE_FOCUS : ROLE_RAIL, rail_piece(joins[c]));
    }
}

/* Where there is room for one box only: who makes what it reads, who reads what it makes. */
static void draw_names(const Ui *ui, const OpBox *box, Pen *pen)
{
    Near makers = {0}, readers = {0};

    add_makers(ui, &makers, &(OpBox){box->op, 1, 0}, BOXES_MAX);
    add_readers(ui, &readers, &(OpBox){box->op, 0, 0}, BOXES_MAX);
    pen_to(pen, 0, BOX_H);
    for (int side = 0; side < 2; side++) {
        const Near *near = side ? &readers : &makers;
        for (int i = 0; i < near->n; i++) {
            pen_puts(pen, ROLE_RAIL, side ? " ▸ " : " ◂ ");
            pen_put(pen, ROLE_TEXT, label_op(ui->session, ui->frame, near->box[i].op));
        }
        pen_line(pen);
    }
}

static void draw(Ui *ui, Pen *pen)
{
    Near near;

    if (!collect_fitting(ui, &near, pen->area.w, pen->area.h)) {
        pen_puts(pen, ROLE_DIM, "no op is selected");
        return;
    }
    for (int level = 0; level + 1 < near.n_levels; level++)
        draw_edges(ui, &near, level, pen);
    for (int i = 0; i < near.n; i++)
        draw_box(ui, &near, &near.box[i], pen);
    if (near.hops == 0)
        draw_names(ui, &near.box[0], pen);
    if (near.hops > 0)
        ui->list[SHOW_NEAR].wants = near.n_levels * LEVEL_H;
    near_state(ui)->h = pen->area.h;
    near_state(ui)->w = pen->area.w;
}

/* ---- moving ---- */

static const OpBox *box_at(const Near *near, int level, int at)
{
    for (int i = 0; i < near->n; i++)
        if (near->box[i].level == level && near->box[i].at == at)
            return &near->box[i];
    return NULL;
}

/* The box beside the selected one, or the nearest in the level above or below. */
static const OpBox *box_towards(const Ui *ui, const Near *near, int dx, int dy)
{
    int w = near_state(ui)->w, here = find_box(near, ui->at.op);

    if (here < 0 || w < 1)
        return &near->box[0];
    const OpBox *box = &near->box[here], *best = NULL, *other;
    if (dx)
        return box_at(near, box->level, box->at + dx);
    Rect from = box_rect(near, box, w);
    int level = box->level + dy;
    for (int at = 0; (other = box_at(near, level, at)) != NULL; at++) {
        Rect to = box_rect(near, other, w), found = best ? box_rect(near, best, w) : to;
        if (!best || abs(to.x + to.w / 2 - from.x - from.w / 2) <
                         abs(found.x + found.w / 2 - from.x - from.w / 2))
            best = other;
    }
    return best;
}

static void enter(Ui *ui, ShowId from)
{
    (void)from;
    near_state(ui)->op = ui->at.op;
}

static bool act(Ui *ui, ActId act)
{
    Near near;
    int dx = act == ACT_RIGHT ? 1 : act == ACT_LEFT ? -1 : 0;
    int dy = act == ACT_DOWN ? 1 : act == ACT_UP ? -1 : 0;

    if (act == ACT_OPEN || act == ACT_NEAR) {
        enter(ui, SHOW_NEAR);
        return true;
    }
    if ((!dx && !dy) || !collect_fitting(ui, &near, near_state(ui)->w, near_state(ui)->h))
        return false;
    const OpBox *box = box_towards(ui, &near, dx, dy);
    if (box)
        ui_select_op(ui, box->op);
    return true;
}

static void note(Ui *ui, Buf *out)
{
    Near near;

    if (ui->at.op < 0)
        return;
    if (collect_fitting(ui, &near, near_state(ui)->w, near_state(ui)->h) && near.hops > 0) {
        buf_printf(out, "%d op%s, %d hop%s", near.n, near.n == 1 ? "" : "s", near.hops,
                   near.hops == 1 ? "" : "s");
        if (near.n_left_out > 0)
            buf_printf(out, ", %d more not shown", near.n_left_out);
        buf_puts(out, ": ");
    }
    buf_add(out, label_op(ui->session, ui->frame, ui->at.op));
    buf_printf(out, "  %s", label_operator(ui_graph(ui), ui->at.op));
    if (ui->at.tensor < 0)
        return;
    buf_puts(out, "  out ");
    label_put_value(ui, ui->at.tensor, ui_plan(ui)->moved->made[ui->at.tensor], out);
}

static const Hint hints[] = {
    {ACT_RIGHT, "move"},
    {ACT_OPEN, "centre"},
    {ACT_SHOW_OP, "op"},
    {ACT_WHY, "why"},
    {ACT_HELP, "help"},
    {ACT_CLOSE, "close"},
    {0},
};

static void open_state(Ui *ui)
{
    near_state(ui)->op = -1;
}

const View view_near = {
    .name = "Near",
    .draw = draw,
    .act = act,
    .note = note,
    .list_at = -1,
    .hints = hints,
    .enter = enter,
    .own_size = sizeof(NearState),
    .open = open_state,
};
