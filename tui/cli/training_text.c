#include "tui/cli/training_text.h"

#include "core/model/stated.h"
#include "core/base/table.h"
#include "core/base/units.h"

#include <math.h>

void training_text_memory(Arena *scratch, const TrainingCost *cost, Buf *out)
{
    static const TableColumn columns[] = {
        {"MEMORY OF A STEP", 0}, {"RANK 0", -99}, {"LAST RANK", -99}, {"FULLEST", -99}};
#define ROW(name, field)                                                                           \
    {                                                                                              \
        name,                                                                                      \
        {                                                                                          \
            cost->rank0.field, cost->last.field, cost->most.field                                  \
        }                                                                                          \
    }
    const struct {
        const char *name;
        int64_t bytes[3];
    } rows[] = {
        ROW("parameters", parameter),
        ROW("gradients", gradient),
        ROW("optimizer states, masters", optimizer),
        ROW("kept for the backward pass", activation),
        ROW("gathered parameters", gathered),
        ROW("buffers of collectives", buffer),
        ROW("inputs", input),
        ROW("peak of all together", peak),
    };
#undef ROW
    Table *table = table_new(scratch, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].bytes[0] + rows[i].bytes[1] + rows[i].bytes[2] == 0)
            continue;
        table_cell(table, str_from(rows[i].name));
        for (int k = 0; k < 3; k++) {
            Buf text = buf_new(scratch);
            units_format_bytes(rows[i].bytes[k], &text);
            table_cell(table, buf_str(&text));
        }
    }
    table_format(table, "", out);
}

static void put_time(const char *before, double us, Buf *out)
{
    buf_puts(out, before);
    units_format_us(us, out);
}

static void put_rates(const TrainingCost *cost, Buf *out)
{
    buf_puts(out, "rates    ");
    units_format_flops(cost->model_flops, out);
    buf_printf(out, " of the model, MFU %.1f%%; ", 100 * cost->mfu);
    units_format_flops(cost->hardware_flops, out);
    buf_printf(out, " computed, HFU %.1f%%", 100 * cost->hfu);
    if (!isnan(cost->tokens_per_s_device)) {
        buf_puts(out, "; ");
        units_format_count((int64_t)(cost->tokens_per_s_device + 0.5), out);
        buf_puts(out, " labels/s a device");
    }
    buf_putc(out, '\n');
}

/* Of a step that the file holds. */
static void put_stated(const Session *session, Buf *out)
{
    const struct StatedStep *stated = session->graph->stated;
    PhaseTimes times = phase_times(session->plan);
    buf_printf(out, "trains   a step of the file: gradients of %d tensors, phases by %s\n",
               stated->n_gradients, stated->by_flow ? "the flow of data" : "its names");
    put_time("phases   forward ", times.forward_us, out);
    put_time(", backward ", times.backward_us, out);
    put_time(", update ", times.update_us, out);
    buf_puts(out, "\n\n");
}

void training_text_format(const Session *session, Buf *out)
{
    if (session->graph->stated)
        put_stated(session, out);
    if (!session->graph->phase)
        return;
    Arena *scratch = arena_new();
    TrainingCost cost = training_cost(scratch, session->plan, session->groups);
    buf_puts(out, "trains   ");
    units_format_count(cost.parameters, out);
    buf_printf(out, " parameters, %d micro-batch%s a step; %d reduction%s of gradients\n",
               cost.micro_batches, cost.micro_batches == 1 ? "" : "es", cost.gradient_reductions,
               cost.gradient_reductions == 1 ? "" : "s");
    put_time("phases   forward ", cost.forward_us, out);
    put_time(", backward ", cost.backward_us, out);
    buf_puts(out, session->plan->decided->stages ? " of a micro-batch on the slowest stage" : "");
    put_time(", once a step ", cost.update_us, out);
    buf_puts(out, " to reduce gradients and update parameters\n");
    put_rates(&cost, out);
    if (cost.layer.path) {
        buf_printf(out, "layer    %s, one of %d equal ones: ", cost.layer.path, cost.layer.n);
        units_format_bytes(cost.layer.activation_bytes, out);
        put_time(" kept a micro-batch, forward ", cost.layer.forward_us, out);
        put_time(", backward ", cost.layer.backward_us, out);
        buf_putc(out, '\n');
    }
    buf_putc(out, '\n');
    training_text_memory(scratch, &cost, out);
    arena_free(scratch);
}
