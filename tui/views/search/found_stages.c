#include "tui/views/search/found_stages.h"

#include "core/cost/layers.h"
#include "core/cost/pipeline.h"
#include "core/plan/stage.h"
#include "tui/state/format.h"

/* Layers of the model in each stage, by their first op of the forward pass. */
static int *layers_of(const Ui *ui, const Plan *plan)
{
    const Inferred *model = plan->inferred->forward ? plan->inferred->forward : plan->inferred;
    int32_t *part = arena_array(ui->frame, int32_t, model->graph->n_ops);
    int *out = arena_array(ui->frame, int, plan->decided->stages->n), last = 0;
    int n = layers_of_ops(ui->frame, model, part);

    for (int i = 0; i < model->n_program; i++) {
        int32_t op = model->program[i];
        int s = plan->decided->stages->of_op[op];
        if (s < 0 || part[op] <= last || part[op] > n)
            continue;
        last = part[op];
        out[s]++;
    }
    return out;
}

static double blocks_us(const StagePrice *stage)
{
    return stage_forward_us(stage) + stage_backward_us(stage);
}

static void draw_stage(const Ui *ui, const Plan *plan, int s, int n_layers, bool slowest, Pen *pen)
{
    const StagePrice *stage = &plan->priced->pipeline->stage[s];
    double busy = blocks_us(stage) * plan->decided->stages->n_micro_batches + stage->once_us;

    pen_printf(pen, ROLE_TEXT, " %c%4d %6d", slowest ? '*' : ' ', s, n_layers);
    pen_right(pen, ROLE_TEXT, label_us(ui, stage_forward_us(stage)), 10);
    pen_right(pen, ROLE_TEXT, label_us(ui, stage_backward_us(stage)), 10);
    pen_right(pen, ROLE_TEXT, label_us(ui, stage->comm_us), 10);
    pen_right(pen, ROLE_TEXT, label_us(ui, stage->once_us), 10);
    pen_printf(pen, ROLE_TEXT, " %5.1f%% ", 100 * busy / plan_step_us(plan));
    pen_bar(pen, ROLE_RAIL, busy, plan_step_us(plan), 14);
    pen_line(pen);
}

void found_stages_draw(const Ui *ui, int h, Pen *pen)
{
    const Plan *plan = ui_plan(ui);

    if (!plan_schedule(plan) || h < 3)
        return;
    const Stages *stages = plan->decided->stages;
    const StagePrice *stage = plan->priced->pipeline->stage;
    const int *layers = layers_of(ui, plan);
    int slowest = 0;
    for (int s = 1; s < stages->n; s++)
        slowest = blocks_us(&stage[s]) > blocks_us(&stage[slowest]) ? s : slowest;
    pen_puts(pen, ROLE_HEAD, " STAGE LAYERS   FORWARD  BACKWARD COLLECT.    UPDATE   BUSY");
    const char *order = arena_printf(ui->frame, "  %s, %d micro-batches", stages->schedule,
                                     stages->n_micro_batches);
    int room = pen->area.w - pen->x;
    pen_printf(pen, ROLE_DIM, "%s",
               text_columns(str_from(order)) <= room
                   ? order
                   : arena_printf(ui->frame, "  %s", stages->schedule));
    pen_line(pen);
    int from = slowest < h - 1 ? 0 : slowest - (h - 2);
    for (int s = from; s < stages->n && s - from < h - 1; s++)
        draw_stage(ui, plan, s, layers[s], s == slowest, pen);
}
