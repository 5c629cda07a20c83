/* graph_facts.c - what a row of the graph sums up to. */
#include "tui/views/graph/graph_row.h"

#include "core/cost/cost.h"
#include "core/cost/memory.h"
#include "core/cost/pipeline.h"

enum { LOOK_MAX = 4096, VIEWS_MAX = 4, SAVED_OPS_MAX = 200000 };

static double reshard_us(const Ui *ui, int32_t reshard)
{
    return ui_plan(ui)->moved->reshards[reshard].path->us;
}

/* How often what lies in the row's first..first+n is done: other folds around it. */
static double row_folds(const OutlineRow *row)
{
    return (double)row->times / row->fold_n;
}

const Control *graph_control(const Ui *ui)
{
    GraphState *state = graph_state(ui);

    if (!state->control.session)
        state->control = control_new(ui->comm->arena, ui->session);
    return &state->control;
}

RowFacts graph_row_facts(const Ui *ui, const OutlineRow *row)
{
    const Groups *groups = ui->session->groups;
    const Comm *comm = ui->comm;
    RowFacts facts = {.tensor = row->id, .reshard = -1};

    if (!row_has_ops(row))
        return facts;
    int32_t end = row->first + row->n, member = row->n / row->fold_n;
    double folds = row_folds(row);
    facts.n_ops = row->n;
    CommSums sum = comm_sum(comm, row->first, end);
    facts.us = sum.us * folds;
    facts.comm_us = sum.comm_us * folds;
    facts.n_reshards = sum.count * folds;
    facts.tensor = op_first_output(ui_graph(ui), groups->order[row->first + member - 1]);
    if (row->mixed)
        member = row->n;
    for (int32_t at = row->first; at < row->first + member && at < row->first + LOOK_MAX; at++)
        for (int32_t r = comm->of_op[groups->order[at]]; r >= 0; r = comm->next[r])
            if (facts.reshard < 0 || reshard_us(ui, r) > reshard_us(ui, facts.reshard))
                facts.reshard = r;
    return facts;
}

/* Lists the backward ops of each op, in the order of the program. */
static void make_back(const Ui *ui)
{
    GraphState *state = graph_state(ui);
    const Graph *graph = ui_graph(ui);
    int32_t *first = arena_array(ui->comm->arena, int32_t, graph->n_ops + 1);
    int32_t *next = arena_array(ui->comm->arena, int32_t, graph->n_ops + 1);

    memset(first, 0xff, sizeof *first * (size_t)(graph->n_ops + 1));
    for (int i = ui->session->inferred->n_program - 1; graph->phase && i >= 0; i--) {
        int32_t op = ui->session->inferred->program[i], of = graph->of[op];
        if (of < 0 || graph->phase[op] != PHASE_BACKWARD)
            continue;
        next[op] = first[of];
        first[of] = op;
    }
    state->back_first = first;
    state->back_next = next;
}

BackFacts graph_row_back(const Ui *ui, const OutlineRow *row)
{
    BackFacts back = {.reshard = -1};
    if (!row_has_ops(row) || !ui_graph(ui)->phase)
        return back;
    if (!graph_state(ui)->back_first)
        make_back(ui);
    const GraphState *state = graph_state(ui);
    const Groups *groups = ui->session->groups;
    const Comm *comm = ui->comm;
    for (int32_t at = row->first; at < row->first + row->n && at < row->first + LOOK_MAX; at++)
        for (int32_t b = state->back_first[groups->order[at]]; b >= 0; b = state->back_next[b])
            for (int32_t r = comm->of_op[b]; r >= 0; r = comm->next[r]) {
                if (reshard_us(ui, r) <= 0)
                    continue;
                back.n +=
                    row_folds(row) * reshard_repeat(ui_plan(ui), &ui_plan(ui)->moved->reshards[r]);
                if (back.reshard < 0 || reshard_us(ui, r) > reshard_us(ui, back.reshard))
                    back.reshard = r;
            }
    return back;
}

static double op_params(const Session *session, int32_t op)
{
    const Graph *graph = session->graph;
    double n = 0;

    for (int i = 0; i < graph->ops[op].n_inputs; i++) {
        int32_t tensor = op_inputs(graph, op)[i];
        if (tensor < 0 || !tensor_is_parameter(session->inferred, tensor) ||
            graph->uses[graph->tensors[tensor].use] != op)
            continue;
        const Shape *shape = inferred_shape(session->inferred, tensor);
        n += shape ? (double)shape_elements(shape) : 0;
    }
    return n;
}

/* Per op of the model, the time of the ops that come of it in the backward pass; of the weights:
 * of those alone that make gradients of parameters. */
static const double *backward_times(const Ui *ui, bool weights)
{
    const Graph *graph = ui_graph(ui);
    double *us = arena_array(ui->comm->arena, double, graph->n_ops + 1);

    for (int i = 0; graph->phase && i < ui->session->inferred->n_program; i++) {
        int32_t op = ui->session->inferred->program[i], of = graph->of[op];
        bool behind =
            of >= 0 && (graph->phase[op] == PHASE_BACKWARD || graph->phase[op] == PHASE_AGAIN);
        if (behind && (!weights || op_makes_weights(ui_plan(ui), op)))
            us[of] += ui_plan(ui)->priced->op_us[op];
    }
    return us;
}

/* Per op, the bytes that rank keeps of what it makes. */
static const double *saved_bytes(const Ui *ui)
{
    int n = ui_graph(ui)->n_ops;
    int64_t *bytes = arena_array(ui->comm->arena, int64_t, n + 1);
    double *saved = arena_array(ui->comm->arena, double, n + 1);

    if (n > SAVED_OPS_MAX)
        return saved;
    MemoryAccount *account = memory_account_new(ui_plan(ui));
    memory_saved(account, ui->rank, bytes);
    memory_account_free(account);
    for (int op = 0; op < n; op++)
        saved[op] = (double)bytes[op];
    return saved;
}

/* Sums of all places before each in the order, made when they are first asked for. */
void graph_sums(Ui *ui, GraphSum of)
{
    const Groups *groups = ui->session->groups;
    const double **known = &graph_state(ui)->before[of];

    if (*known)
        return;
    double *sum = arena_array(ui->comm->arena, double, groups->n_order + 1);
    const double *each = of == SUM_BACKWARD  ? backward_times(ui, false)
                         : of == SUM_WEIGHTS ? backward_times(ui, true)
                         : of == SUM_SAVED   ? saved_bytes(ui)
                                             : NULL;
    for (int32_t i = 0; i < groups->n_order; i++) {
        int32_t op = groups->order[i];
        sum[i + 1] = sum[i] + (each               ? each[op]
                               : of == SUM_PARAMS ? op_params(ui->session, op)
                                                  : inferred_repeat(ui->session->inferred, op) *
                                                        op_flops_local(ui_plan(ui), op));
    }
    *known = sum;
}

/* Elements of the parameters that a row lists; of all, those that ops are counted with. */
static double row_parameters(const Ui *ui, const OutlineRow *row)
{
    const Shape *shape =
        row->kind == ROW_PARAMETER ? inferred_shape(ui->session->inferred, row->id) : NULL;

    return shape ? (double)shape_elements(shape) * row->fold_n : 0;
}

/* Parameters are counted once where they are first read, so those of all members count. */
double graph_row_sum(const Ui *ui, const OutlineRow *row, GraphSum of)
{
    const double *sum = graph_state(ui)->before[of];

    if (!row_has_ops(row))
        return of == SUM_PARAMS ? row_parameters(ui, row) : 0;
    if (!sum)
        return 0;
    return (sum[row->first + row->n] - sum[row->first]) * row_folds(row);
}

/* The decision on a tensor's dim, on it or on the parameter it is a view of. */
static const Decision *pin_of(const Ui *ui, int32_t tensor)
{
    const Graph *graph = ui_graph(ui);
    const Plan *plan = ui_plan(ui);

    for (int i = 0; tensor >= 0 && plan_pinned(plan, tensor) && i < VIEWS_MAX; i++) {
        for (int d = 0; d < DIMS_MAX; d++) {
            const Decision *pin = plan_pin_of(plan, PIN_TENSOR_DIM, tensor, d);
            if (pin)
                return pin;
        }
        int32_t maker = graph->tensors[tensor].maker;
        tensor = maker < 0 || graph->ops[maker].n_inputs == 0 ? -1 : op_inputs(graph, maker)[0];
    }
    return NULL;
}

const Decision *graph_row_pin(const Ui *ui, const OutlineRow *row)
{
    const Graph *graph = ui_graph(ui);
    const Decision *pin = NULL;

    if (row->kind == ROW_INPUT || row->kind == ROW_PARAMETER)
        return pin_of(ui, row->id);
    if (row->kind != ROW_OP)
        return NULL;
    for (int i = 0; !pin && i < graph->ops[row->id].n_inputs; i++)
        pin = pin_of(ui, op_inputs(graph, row->id)[i]);
    for (int o = 0; !pin && o < graph->ops[row->id].n_outputs; o++)
        pin = pin_of(ui, op_outputs(graph, row->id)[o]);
    return pin;
}

/* Of a parameter as it is stored. */
