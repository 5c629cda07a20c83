#include "tui/views/step/tensor_training.h"

#include "core/cost/pipeline.h"
#include "core/summary/comm.h"
#include "tui/state/format.h"

static int64_t local_bytes(const Ui *ui, int32_t tensor, int32_t sharding)
{
    return plan_local_bytes(ui_plan(ui), tensor, sharding);
}

/* "4096/tp,4096 Σdp  f32  16.0 MiB". */
static void put_value(const Ui *ui, int32_t tensor, int32_t sharding, Buf *out)
{
    buf_add_text(out, label_sharding(ui, sharding));
    buf_printf(out, "  %s  %.*s", dtype_name((Dtype)ui->session->inferred->dtype[tensor]),
               STR_ARG(label_bytes(ui, local_bytes(ui, tensor, sharding))));
}

int32_t tensor_reduction(const Ui *ui, int32_t value)
{
    const Plan *plan = ui_plan(ui);
    int32_t best = -1;

    for (int32_t r = 0; r < plan->moved->n_reshards; r++) {
        const Reshard *reshard = &plan->moved->reshards[r];
        if (ui_graph(ui)->gradient_of[reshard->tensor] == value &&
            (best < 0 || reshard->path->us > plan->moved->reshards[best].path->us))
            best = r;
    }
    return best;
}

static void see_when(void *context, const PricedStep *step)
{
    bool *once = context;
    *once |= step->when == WHEN_ONCE;
}

/* Of that reshard; -1: of none. */
static Text reduction_text(const Ui *ui, int32_t at)
{
    const Plan *plan = ui_plan(ui);
    Buf out = buf_marked(ui->frame);

    if (at < 0)
        return text_from("none: no rank holds only a partial sum");
    const Reshard *reshard = &plan->moved->reshards[at];
    bool once = false;
    pipeline_visit_steps(plan, reshard, see_when, &once);
    comm_format_steps(ui->session, reshard->path, &out);
    buf_printf(&out, " %.*s  %.*s  %s", STR_ARG(label_bytes(ui, comm_payload(reshard))),
               STR_ARG(label_us(ui, reshard->path->us)), once ? "once a step" : "each micro-batch");
    return buf_text(&out);
}

/* An optimizer's state, or a master copy: given, with dims. */
static bool is_state(const Ui *ui, int32_t tensor, int32_t parameter)
{
    const Graph *graph = ui_graph(ui);
    const Shape *shape = tensor < 0 ? NULL : inferred_shape(ui->session->inferred, tensor);

    return shape && shape->n_dims > 0 && tensor != parameter && graph->tensors[tensor].maker < 0;
}

/* The op that updates a parameter: the first one behind its gradient, or behind a cast of that,
 * that reads a state; -1: none. */
static int32_t update_of(const Ui *ui, int32_t parameter)
{
    const Graph *graph = ui_graph(ui);
    int32_t tensor = plan_gradient(ui_plan(ui), parameter);

    while (tensor >= 0) {
        int32_t next = -1;
        for (int u = 0; u < tensor_n_uses(graph, tensor) && next < 0; u++) {
            int32_t op = graph->uses[graph->tensors[tensor].use + u];
            bool updates = stored_updated(graph, op) == parameter;
            for (int i = 0; updates && i < graph->ops[op].n_inputs; i++)
                if (is_state(ui, op_inputs(graph, op)[i], parameter))
                    return op;
            int32_t made = op_first_output(graph, op);
            next = made >= 0 && graph->gradient_of[made] == parameter ? made : -1;
        }
        tensor = next;
    }
    return -1;
}

static void add_state_line(const Ui *ui, const Buf *names, int32_t state, TrainingLine *out)
{
    Buf text = buf_marked(ui->frame);

    buf_printf(&text, "%s  ", names->s);
    put_value(ui, state, ui_plan(ui)->moved->sharding[state], &text);
    buf_puts(&text, strchr(names->s, ',') ? " each" : "");
    *out = (TrainingLine){"states", buf_text(&text)};
}

/* "m, v  4096/tp.dp,4096  f32  8.0 MiB each": states that are stored alike are on one line. */
static int add_states(const Ui *ui, int32_t parameter, TrainingLine *out, int n)
{
    const Graph *graph = ui_graph(ui);
    const int32_t *stored = ui_plan(ui)->moved->sharding;
    int32_t op = update_of(ui, parameter), last = -1;
    Buf names = buf_new(ui->frame);

    for (int i = 0; op >= 0 && i < graph->ops[op].n_inputs; i++) {
        int32_t t = op_inputs(graph, op)[i];
        if (!is_state(ui, t, parameter))
            continue;
        if (last >= 0 && stored[t] != stored[last] && n < TRAINING_LINES_MAX) {
            add_state_line(ui, &names, last, &out[n++]);
            names = buf_new(ui->frame);
        }
        const char *name = strrchr(tensor_name(graph, t), '~');
        buf_printf(&names, "%s%s", names.n > 0 ? ", " : "",
                   name ? name + 1 : tensor_name(graph, t));
        last = t;
    }
    if (last >= 0 && n < TRAINING_LINES_MAX)
        add_state_line(ui, &names, last, &out[n++]);
    return n;
}

int32_t tensor_counterpart(const Ui *ui, int32_t tensor)
{
    const Graph *graph = ui_graph(ui);
    if (!graph->phase || tensor < 0)
        return -1;
    int32_t value = graph->gradient_of[tensor];
    int32_t other = value >= 0 ? value : plan_gradient(ui_plan(ui), tensor);
    return other >= 0 && ui_plan(ui)->moved->made[other] >= 0 ? other : -1;
}

int tensor_training(const Ui *ui, int32_t tensor, TrainingLine *out)
{
    const Graph *graph = ui_graph(ui);
    const Plan *plan = ui_plan(ui);
    int n = 0;

    if (!graph->phase || tensor < 0)
        return 0;
    int32_t value = graph->gradient_of[tensor] >= 0 ? graph->gradient_of[tensor] : tensor;
    int32_t gradient = plan_gradient(plan, value);
    if (gradient < 0 || plan->moved->made[gradient] < 0)
        return 0;
    bool parameter = tensor_is_parameter(ui->session->inferred, value);
    int32_t other = tensor == value ? gradient : value;
    Buf text = buf_marked(ui->frame);
    put_value(ui, other,
              other == value && parameter ? plan->moved->sharding[value] : plan->moved->made[other],
              &text);
    out[n++] = (TrainingLine){tensor == value ? "gradient" : "value", buf_text(&text)};
    int32_t reduction = tensor_reduction(ui, value); /* it goes through all reshards */
    if (reduction >= 0 || parameter)
        out[n++] = (TrainingLine){"reduced by", reduction_text(ui, reduction)};
    return parameter ? add_states(ui, value, out, n) : n;
}
