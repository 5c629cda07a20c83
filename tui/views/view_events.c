/* How the plan came: every event of propagation in its order. Moving the cursor steps through them;
 * below the list stands the op of the event, with what its operands were at that moment. */
#include "tui/state/ui.h"

#include "core/explain/events.h"
#include "core/explain/sites.h"
#include "core/propagate/engine.h"
#include "tui/views/label.h"
#include "tui/views/rows.h"

#include <inttypes.h>

enum { HEAD_LINES = 2, DETAIL_LINES = 9, NUMBER_COLUMNS = 8, TURN_COLUMNS = 26, OP_COLUMNS = 34 };

static const PlanEvent *events_of(Ui *ui)
{
    const PlanEvent **events = ui->own[SHOW_EVENTS];

    if (!*events)
        *events = plan_events(ui->comm->arena, ui_plan(ui));
    return *events;
}

/* What changed, and to what: "out 8/dp,1024,768"; an input by its name. */
static Text change_text(const Ui *ui, const PlanEvent *event)
{
    const Plan *plan = ui_plan(ui);
    Buf text = buf_marked(ui->frame);
    if (event->tensor >= 0) {
        bool out = event->op >= 0 && ui_graph(ui)->ops[event->op].n_outputs == 1 &&
                   ui_graph(ui)->tensors[event->tensor].maker == event->op;
        buf_add(&text, out ? STR("out") : label_tensor(ui->session, ui->frame, event->tensor));
        buf_puts(&text, "  ");
        label_put_sharding(ui, event->to, &text);
        return buf_text(&text);
    }
    if (event->op < 0) {
        buf_puts(&text, "the values that a loop carries");
        return buf_text(&text);
    }
    const OpSpace *space = program_space(plan->inferred, event->op);
    const char *comma = "index dim ";
    for (int i = 0; i < event->cut[1]->n; i++) {
        Cut whole = cut_whole(space->index[i].size);
        if (cut_equal(event->cut[0] ? &event->cut[0]->index[i] : &whole, &event->cut[1]->index[i]))
            continue;
        buf_printf(&text, "%s%s ", comma, space->index[i].name);
        cut_format(&event->cut[1]->index[i], plan->mesh, &text);
        comma = ", ";
    }
    return buf_text(&text);
}

static void draw_event(Ui *ui, Pen *pen, int at)
{
    const PlanEvent *event = &events_of(ui)[at];
    Buf turn = buf_new(ui->frame), number = buf_new(ui->frame);
    bool wide = pen->area.w >= 110;
    buf_printf(&number, "%d", at + 1);
    plan_turn_format(ui_plan(ui), event->turn, &turn);
    pen_right(pen, ROLE_DIM, buf_str(&number), NUMBER_COLUMNS - 1);
    pen_puts(pen, ROLE_TEXT, " ");
    if (wide)
        pen_fit(pen, ROLE_DIM, buf_str(&turn), TURN_COLUMNS);
    Str op = event->op < 0 ? STR("") : label_op(ui->session, ui->frame, event->op);
    pen_fit_name(pen, ROLE_TEXT, op, OP_COLUMNS - (wide ? 0 : 10));
    pen_puts(pen, ROLE_TEXT, " ");
    pen_text(pen, change_text(ui, event), -1, pen->area.w - pen->x - 1);
}

/* A tensor's sharding just before an event. */
static int32_t sharding_before(Ui *ui, int32_t tensor, int event)
{
    const PlanEvent *events = events_of(ui);
    for (int i = event - 1; i >= 0; i--)
        if (events[i].tensor == tensor)
            return events[i].to;
    const PlanLog *log = &ui_plan(ui)->propagated->log;
    return log->sharding_of(log->context, ui_plan(ui)->shardings, log->flow->start[tensor]);
}

static void draw_operands(Ui *ui, Pen *pen, int at)
{
    const PlanEvent *event = &events_of(ui)[at];
    const Graph *graph = ui_graph(ui);
    const OpSpace *space = program_space(ui_plan(ui)->inferred, event->op);
    for (int o = 0; o < space->n_inputs + space->n_outputs && !pen_full(pen); o++) {
        int32_t tensor = op_operand(graph, event->op, o);
        if (tensor < 0 || plan_reached(ui_plan(ui), tensor) < 0)
            continue;
        Str name = label_tensor(ui->session, ui->frame, tensor);
        pen_puts(pen, ROLE_DIM, o < space->n_inputs ? "   reads  " : "   makes  ");
        pen_fit_name(pen, ROLE_TEXT, name, OP_COLUMNS);
        pen_puts(pen, ROLE_TEXT, " ");
        pen_text(pen, label_sharding(ui, sharding_before(ui, tensor, at)), -1, -1);
        if (tensor == event->tensor) {
            pen_puts(pen, ROLE_HEAD, " -> ");
            pen_text(pen, label_sharding(ui, event->to), -1, -1);
        }
        pen_line(pen);
    }
}

static void draw_selected(Ui *ui, Pen *pen, int at)
{
    const PlanEvent *event = &events_of(ui)[at];
    Buf turn = buf_new(ui->frame);
    plan_turn_format(ui_plan(ui), event->turn, &turn);
    draw_field(pen, " STEP", 10);
    pen_printf(pen, ROLE_TEXT, "%d of %d: %s", at + 1, plan_n_events(ui_plan(ui)), turn.s);
    if (event->op >= 0)
        pen_printf(pen, ROLE_TEXT, ", at %s", op_operator(ui_graph(ui), event->op));
    pen_line(pen);
    if (event->op >= 0) {
        draw_operands(ui, pen, at);
        return;
    }
    pen_puts(pen, ROLE_DIM, "   ");
    pen_text(pen, change_text(ui, event), -1, -1);
}

static void draw(Ui *ui, Pen *pen)
{
    int n = plan_n_events(ui_plan(ui));
    int64_t *at = &ui->list[SHOW_EVENTS].at, *top = &ui->list[SHOW_EVENTS].top;
    ui->list[SHOW_EVENTS].n = n;
    if (job_changes_plan(ui)) {
        pen_printf(pen, ROLE_TEXT, " %s", job_waiting);
        return;
    }
    if (n == 0) {
        pen_printf(pen, ROLE_TEXT,
                   " no events: the propagator %s records none, or nothing is pinned",
                   ui_plan(ui)->propagator->profile);
        return;
    }
    *at = *at < n ? *at : n - 1;
    pen_printf(pen, ROLE_TEXT, " %d events, from the pins to the plan", n);
    pen_line(pen);
    int h = pen->area.h - HEAD_LINES - DETAIL_LINES;
    h = h < 2 ? 2 : h > n ? n : h;
    ui->list[SHOW_EVENTS].height = h;
    *top = list_scroll(*top, *at, n, h);
    for (int i = 0; i < h && *top + i < n; i++) {
        draw_event(ui, pen, (int)*top + i);
        rows_end(ui, SHOW_EVENTS, *top + i == *at, pen);
    }
    pen_line(pen);
    draw_selected(ui, pen, (int)*at);
}

/* The last event of what is selected: how it came to be as it is. */
static void find_selected(Ui *ui)
{
    const PlanEvent *events = events_of(ui);
    for (int i = plan_n_events(ui_plan(ui)) - 1; i >= 0; i--)
        if (events[i].tensor >= 0 && events[i].tensor == ui->at.tensor) {
            ui->list[SHOW_EVENTS].at = i;
            return;
        }
}

static void go(Ui *ui, int64_t row)
{
    if (row >= 0 && row < plan_n_events(ui_plan(ui)))
        ui->list[SHOW_EVENTS].at = row;
}

/* Enter goes to what changed, w says why. */
static void select_changed(Ui *ui)
{
    const PlanEvent *event = &events_of(ui)[ui->list[SHOW_EVENTS].at];
    if (event->op >= 0)
        ui_go_op(ui, event->op);
    if (event->tensor >= 0)
        ui_select_tensor(ui, event->tensor);
}

static bool act(Ui *ui, ActId act)
{
    int n = plan_n_events(ui_plan(ui));
    if (n == 0 || job_changes_plan(ui))
        return false;
    if (act == ACT_EVENTS) {
        find_selected(ui);
        return true;
    }
    if (list_move(&ui->list[SHOW_EVENTS].at, n, ui->list[SHOW_EVENTS].height, act))
        return true;
    if (act != ACT_OPEN)
        return false;
    const PlanEvent *event = &events_of(ui)[ui->list[SHOW_EVENTS].at];
    places_remember(ui);
    select_changed(ui);
    ui->at.show = event->tensor >= 0 ? SHOW_TENSOR : SHOW_OP;
    return true;
}

static void note(Ui *ui, Buf *out)
{
    int n = plan_n_events(ui_plan(ui));
    if (n > 0)
        buf_printf(out, "event %" PRId64 "/%d", ui->list[SHOW_EVENTS].at + 1, n);
}

static const Hint hints[] = {
    {ACT_DOWN, "step"}, {ACT_OPEN, "go to it"}, {ACT_BACK, "back"},
    {ACT_HELP, "help"}, {ACT_CLOSE, "close"},   {0},
};

static void table(Ui *ui, Sheet *out)
{
    const PlanEvent *events = events_of(ui);

    sheet_head(out, "event# step op change");
    for (int i = 0; i < plan_n_events(ui_plan(ui)); i++) {
        Buf turn = buf_new(out->arena);
        plan_turn_format(ui_plan(ui), events[i].turn, &turn);
        sheet_number(out, i + 1);
        sheet_put(out, buf_str(&turn));
        sheet_put(out,
                  events[i].op < 0 ? STR("") : label_op(ui->session, out->arena, events[i].op));
        sheet_put(out, str_from(arena_str(out->arena, change_text(ui, &events[i]).str)));
    }
}

static void forget(Ui *ui)
{
    *(const PlanEvent **)ui->own[SHOW_EVENTS] = NULL;
}

const View view_events = {
    .name = "Events",
    .draw = draw,
    .act = act,
    .note = note,
    .go = go,
    .list_at = 1,
    .hints = hints,
    .table = table,
    .enter_act = ACT_EVENTS,
    .own_size = sizeof(const PlanEvent *),
    .forget = forget,
};
