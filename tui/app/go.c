#include "tui/app/go.h"

#include "core/summary/label.h"
#include "tui/state/comm_table.h"
#include "tui/state/format.h"
#include "tui/state/menu.h"
#include "tui/views/step/tensor_training.h"

#include <stdio.h>

enum { HANDED_ON_MAX = 64 };

/* ---- going along values ---- */

static void go_chosen(Ui *ui, int op)
{
    places_remember(ui);
    ui_go_op(ui, op);
    if (ui->at.show != SHOW_GRAPH && ui->at.show != SHOW_OP)
        ui->at.show = SHOW_OP;
}

/* Goes to the only op, or asks which. */
static void go_one_of(Ui *ui, const char *title, const int32_t *ops, int n)
{
    if (n == 1) {
        go_chosen(ui, ops[0]);
        return;
    }
    menu_open(ui, title, go_chosen);
    for (int i = 0; i < n; i++)
        menu_add(ui, 0, label_op(ui->session, ui->frame, ops[i]), ops[i]);
}

static int add_once(int32_t *ops, int n, int most, int32_t op)
{
    for (int i = 0; i < n; i++)
        if (ops[i] == op)
            return n;
    if (n < most)
        ops[n++] = op;
    return n;
}

void go_consumer(Ui *ui)
{
    const Graph *graph = ui_graph(ui);
    int32_t tensor = ui->at.tensor, ops[MENU_MAX];
    int n = 0;

    for (int u = 0; tensor >= 0 && u < tensor_n_uses(graph, tensor); u++) {
        int32_t op = graph->uses[graph->tensors[tensor].use + u];
        if (!inferred_is_host(ui->session->inferred, op))
            n = add_once(ops, n, MENU_MAX, op);
    }
    if (n == 0)
        ui_say(ui, "nothing reads this value");
    else
        go_one_of(ui, "read by", ops, n);
}

/* Ops that make the inputs of an op, parameters left out. */
static int makers_of_inputs(const Ui *ui, int32_t op, int32_t *ops)
{
    const Graph *graph = ui_graph(ui);
    const Inferred *inferred = ui->session->inferred;
    int n = 0;

    for (int i = 0; i < graph->ops[op].n_inputs; i++) {
        int32_t input = op_inputs(graph, op)[i],
                maker = input < 0 ? -1 : graph->tensors[input].maker;
        if (maker >= 0 && !inferred_is_host(inferred, maker) && !inferred->on_parameters[maker])
            n = add_once(ops, n, MENU_MAX, maker);
    }
    return n;
}

void go_producer(Ui *ui)
{
    int32_t op = ui->at.op, tensor = ui->at.tensor, ops[MENU_MAX];
    int32_t maker = tensor < 0 ? -1 : ui_graph(ui)->tensors[tensor].maker;
    int n = 0;

    if (maker >= 0 && maker == op && ui->at.show < SHOW_TENSOR)
        n = makers_of_inputs(ui, op, ops);
    else if (maker >= 0 && !inferred_is_host(ui->session->inferred, maker))
        ops[n++] = maker;
    if (n == 0)
        ui_say(ui, "no op produces this: it is an input or a parameter");
    else
        go_one_of(ui, "made by", ops, n);
}

static int32_t reshard_of(const Plan *plan, int32_t tensor)
{
    for (int32_t r = 0; r < plan->moved->n_reshards; r++)
        if (plan->moved->reshards[r].tensor == tensor)
            return r;
    return -1;
}

/* A partial value that is not reduced here is handed on by its only reader: the next value. */
static int32_t handed_on(const Ui *ui, int32_t tensor)
{
    const Graph *graph = ui_graph(ui);
    const Plan *plan = ui_plan(ui);
    int32_t op = tensor_n_uses(graph, tensor) == 1 ? graph->uses[graph->tensors[tensor].use] : -1;

    for (int o = 0; op >= 0 && o < graph->ops[op].n_outputs; o++) {
        int32_t output = op_outputs(graph, op)[o];
        if (output >= 0 && plan->moved->made[output] >= 0 &&
            sharding_partials(shardings_at(plan->shardings, plan->moved->made[output])))
            return output;
    }
    return -1;
}

void go_reshard(Ui *ui)
{
    const Plan *plan = ui_plan(ui);
    int32_t found = -1;

    for (int32_t tensor = ui->at.tensor, i = 0; tensor >= 0 && i < HANDED_ON_MAX && found < 0;
         tensor = handed_on(ui, tensor), i++)
        found = reshard_of(plan, tensor);
    if (found < 0 && ui->at.op >= 0)
        found = ui->comm->of_op[ui->at.op];
    if (found < 0 && ui_graph(ui)->phase && ui->at.tensor >= 0)
        found = tensor_reduction(ui, ui->at.tensor);
    if (found < 0) {
        ui_say(ui, "no reshard: every op reads it in the sharding it has");
        return;
    }
    if (comm_arranged(ui)->n_rows < 0) {
        comm_follow(ui);
        ui_say(ui, "%s", comm_waiting);
        return;
    }
    if (ui->comm->row_of[found] >= ui->comm->n_rows) {
        ui_say(ui, "the filter hides its reshard: F drops the filter");
        return;
    }
    ui_show(ui, SHOW_COMM);
    ui->at.reshard = ui->comm->row_of[found];
}

/* ---- between the passes of a training step ---- */

static void go_to_value(Ui *ui, int32_t tensor)
{
    const GraphTensor *row = &ui_graph(ui)->tensors[tensor];
    int32_t op = row->maker;

    if (op < 0 && tensor_n_uses(ui_graph(ui), tensor) > 0)
        op = ui_graph(ui)->uses[row->use];
    if (op >= 0 && !inferred_is_host(ui->session->inferred, op))
        ui_go_op(ui, op);
    ui_select_tensor(ui, tensor);
}

/* The op of the update that reads a parameter as the value that it changes; -1: none. */
static int32_t update_of(const Graph *graph, int32_t parameter)
{
    for (int u = 0; u < tensor_n_uses(graph, parameter); u++) {
        int32_t op = graph->uses[graph->tensors[parameter].use + u];
        if (graph->phase[op] == PHASE_UPDATE)
            return op;
    }
    return -1;
}

/* The value whose gradient this is, the gradient of this, or the update of this parameter. */
static void go_gradient_of_value(Ui *ui, int32_t tensor)
{
    const Graph *graph = ui_graph(ui);
    int32_t of = graph->gradient_of ? graph->gradient_of[tensor] : -1;
    int32_t gradient = plan_gradient(ui_plan(ui), tensor);

    if (of < 0 && gradient < 0) {
        ui_say(ui, "it has no gradient: no trained parameter depends on it");
        return;
    }
    places_remember(ui);
    if (of >= 0) {
        int32_t update = tensor_is_parameter(ui->session->inferred, of) ? update_of(graph, of) : -1;
        if (update >= 0 && ui->at.op != update) {
            ui_go_op(ui, update);
            ui_say(ui, "the update of %.*s; press gb again to go on",
                   STR_ARG(label_tensor(ui->session, ui->frame, of)));
            ui_select_tensor(ui, of);
            return;
        }
        go_to_value(ui, of);
        return;
    }
    go_to_value(ui, gradient);
}

void go_gradient(Ui *ui)
{
    const Graph *graph = ui_graph(ui);
    int32_t op = ui->at.op, ops[MENU_MAX];
    int n = 0;

    if (!graph->phase) {
        ui_say(ui, "this plan has no backward pass: :train adds it");
        return;
    }
    bool of_value = ui->at.tensor >= 0 && (ui->at.show >= SHOW_TENSOR || op < 0);
    if (of_value) {
        go_gradient_of_value(ui, ui->at.tensor);
        return;
    }
    if (op >= 0 && graph->phase[op] != PHASE_FORWARD && graph->of[op] >= 0) {
        go_chosen(ui, graph->of[op]);
        return;
    }
    for (int i = 0; op >= 0 && i < ui->session->inferred->n_program; i++)
        if (graph->of[ui->session->inferred->program[i]] == op &&
            graph->phase[ui->session->inferred->program[i]] != PHASE_FORWARD)
            n = add_once(ops, n, MENU_MAX, ui->session->inferred->program[i]);
    if (n == 0)
        ui_say(ui, "this op has no backward ops");
    else
        go_one_of(ui, "its backward ops", ops, n);
}

/* Inputs, then outputs; -1: an optional one that is absent. */
static int32_t operand_of(const Graph *graph, int32_t op, int i)
{
    int n_inputs = graph->ops[op].n_inputs;
    return i < n_inputs ? op_inputs(graph, op)[i] : op_outputs(graph, op)[i - n_inputs];
}

/* The reshard that an op reads a value through; -1: none. */
static int32_t reshard_into(const Plan *plan, int32_t op)
{
    for (int32_t r = 0; r < plan->moved->n_reshards; r++)
        for (int32_t u = 0; u < plan->moved->reshards[r].n_uses; u++)
            if (plan->moved->reshard_uses[plan->moved->reshards[r].use + u] == op)
                return r;
    return -1;
}

void go_other_end(Ui *ui)
{
    const Plan *plan = ui_plan(ui);
    int32_t op = ui->at.op, out = op < 0 ? -1 : ui->comm->of_op[op];
    int32_t in = op < 0 ? -1 : reshard_into(plan, op), ops[MENU_MAX];
    int32_t maker = in < 0 ? -1 : ui_graph(ui)->tensors[plan->moved->reshards[in].tensor].maker;
    int n = 0;

    for (int32_t r = out; r >= 0; r = ui->comm->next[r])
        for (int32_t u = 0; u < plan->moved->reshards[r].n_uses; u++)
            if (plan->moved->reshard_uses[plan->moved->reshards[r].use + u] != op)
                n = add_once(ops, n, MENU_MAX,
                             plan->moved->reshard_uses[plan->moved->reshards[r].use + u]);
    if (n > 0)
        go_one_of(ui, "reshard read by", ops, n);
    else if (maker >= 0 && !inferred_is_host(ui->session->inferred, maker))
        go_chosen(ui, maker);
    else
        ui_say(ui, in < 0 ? "no reshard here" : "its other end is a parameter or an input");
}

void go_next_tensor(Ui *ui, int by)
{
    const Graph *graph = ui_graph(ui);
    int32_t op = ui->at.op;

    if (op < 0)
        return;
    int n = graph->ops[op].n_inputs + graph->ops[op].n_outputs, at = 0;
    for (int i = 0; i < n; i++)
        if (operand_of(graph, op, i) == ui->at.tensor)
            at = i;
    for (int i = 0; i < n; i++) {
        at = (at + by + n) % n;
        int32_t tensor = operand_of(graph, op, at);
        if (tensor >= 0) {
            const OpSpace *space = inferred_space(ui->session->inferred, op);
            ui_select_tensor(ui, tensor);
            ui->at.item = (space ? space->n_index : 0) + at;
            return;
        }
    }
}

static void tensor_chosen(Ui *ui, int operand)
{
    const OpSpace *space = inferred_space(ui->session->inferred, ui->at.op);

    ui_select_tensor(ui, operand_of(ui_graph(ui), ui->at.op, operand));
    ui->at.item = (space ? space->n_index : 0) + operand;
}

void go_pick_tensor(Ui *ui)
{
    const Graph *graph = ui_graph(ui);
    int n = ui->at.op < 0 ? 0 : graph->ops[ui->at.op].n_inputs + graph->ops[ui->at.op].n_outputs;

    menu_open(ui, "show", tensor_chosen);
    for (int i = 0; i < n; i++) {
        int32_t tensor = operand_of(graph, ui->at.op, i);
        if (tensor < 0)
            continue;
        Buf text = buf_marked(ui->frame);
        buf_puts(&text, i < graph->ops[ui->at.op].n_inputs ? "in  " : "out ");
        buf_add(&text, label_tensor(ui->session, ui->frame, tensor));
        buf_puts(&text, "  ");
        label_put_value(ui, tensor, ui_plan(ui)->moved->made[tensor], &text);
        menu_add_text(ui, 0, buf_text(&text), i);
    }
    if (ui->menu.n == 0) {
        ui->menu.open = false;
        ui_say(ui, "it has no tensors");
    }
}

void go_next_dim(Ui *ui, int by)
{
    const Shape *shape =
        ui->at.tensor < 0 ? NULL : inferred_sizes(ui->session->inferred, ui->at.tensor);

    if (!shape || shape->n_dims == 0)
        return;
    ui->at.dim = (ui->at.dim + by + (int)shape->n_dims) % (int)shape->n_dims;
    ui_say(ui, "dim %d of %.*s", ui->at.dim,
           STR_ARG(label_tensor(ui->session, ui->frame, ui->at.tensor)));
}

void go_next_change(Ui *ui, int by)
{
    int64_t n = outline_n_rows(ui->outline);
    OutlineRow row;

    for (int64_t i = ui->row_at + by; ui->changes.before && i >= 0 && i < n; i += by) {
        if (!outline_at(ui->outline, i, &row) || (row.kind == ROW_GROUP && row.open) ||
            !ui_row_changed(ui, &row))
            continue;
        places_remember(ui);
        ui->at.show = SHOW_GRAPH;
        ui_select_row(ui, i);
        return;
    }
    ui_say(ui, ui->changes.before ? "no other row has changed"
                                  : "no op has changed: this is the first plan");
}

bool go_tensor(Ui *ui, Str name, int *dim, Error *err)
{
    int32_t tensor = naming_find_dim(ui->session->naming, name, dim, err);

    if (tensor < 0)
        return false;
    const GraphTensor *row = &ui_graph(ui)->tensors[tensor];
    int32_t op = row->maker;
    if (op < 0 && tensor_n_uses(ui_graph(ui), tensor) > 0)
        op = ui_graph(ui)->uses[row->use];
    places_remember(ui);
    if (op >= 0 && !inferred_is_host(ui->session->inferred, op))
        ui_go_op(ui, op);
    ui_select_tensor(ui, tensor);
    if (*dim >= 0)
        ui->at.dim = *dim;
    return true;
}

bool go_op(Ui *ui, Str name, Error *err)
{
    int32_t op = graph_find_op(ui_graph(ui), name);

    for (int i = 0; op < 0 && i < ui->session->inferred->n_program; i++)
        if (str_eq(str_from(op_path(ui_graph(ui), ui->session->inferred->program[i])), name))
            op = ui->session->inferred->program[i];
    if (op < 0)
        return error_set(err, "no op '%.*s'", STR_ARG(name));
    places_remember(ui);
    ui_go_op(ui, op);
    ui->at.show = SHOW_OP;
    return true;
}

/* ---- groups ---- */

void go_select_group(Ui *ui, int32_t id)
{
    const Groups *groups = ui->session->groups;
    OutlineRow row = {.kind = ROW_GROUP,
                      .id = id,
                      .op = groups->order[groups->groups[id].first],
                      .depth = groups->groups[id].depth};

    outline_reveal_group(ui->outline, id);
    ui_select_row(ui, outline_find_row(ui->outline, &row));
}

void go_group(Ui *ui, int32_t group)
{
    places_remember(ui);
    ui->at.show = SHOW_GRAPH;
    go_select_group(ui, group);
}
