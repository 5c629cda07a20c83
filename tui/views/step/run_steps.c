#include "tui/views/step/run_steps.h"

#include "core/summary/label.h"

#include <math.h>
#include <stdlib.h>

enum { STEP_W = 6, LOSS_W = 12, DRIFT_W = 10, DIFFER_W = 12, WORST_W = 9 };

/* How far states are from those of one device, where a name fits beside it. */
static bool has_drift(const Pen *pen)
{
    enum { NAME_LEAST = 12 };
    return pen->area.w >= 1 + STEP_W + 2 * LOSS_W + DIFFER_W + DRIFT_W + NAME_LEAST;
}

static void draw_step(const Ui *ui, const RunReport *report, int at, Pen *pen)
{
    const RunStep *step = &report->steps[at];
    pen_printf(pen, ROLE_TEXT, " %*d", STEP_W - 1, at + 1);
    if (step->has_loss)
        pen_printf(pen, ROLE_TEXT, "%*.6g%*.6g%*.2g", LOSS_W, step->loss, LOSS_W, step->one_device,
                   DIFFER_W, fabs(step->loss - step->one_device));
    else
        pen_printf(pen, ROLE_DIM, "%*s%*s%*s", LOSS_W, "-", LOSS_W, "-", DIFFER_W, "-");
    if (!has_drift(pen)) {
        pen_line(pen);
        return;
    }
    pen_printf(pen, ROLE_TEXT, "%*.2g  ", DRIFT_W, step->drift);
    Str name =
        step->drifts < 0 ? STR("all equal") : label_tensor(ui->session, ui->frame, step->drifts);
    pen_fit_name(pen, ROLE_DIM, name, pen->area.w - pen->x);
    pen_line(pen);
}

/* Where not all have room, the first ones and the last. */
static void draw_steps(const Ui *ui, const RunReport *report, int h, Pen *pen)
{
    pen_printf(pen, ROLE_HEAD, " %*s%*s%*s%*s", STEP_W - 1, "STEP", LOSS_W, "LOSS", LOSS_W,
               "ONE DEVICE", DIFFER_W, "DIFFERENCE");
    if (has_drift(pen))
        pen_printf(pen, ROLE_HEAD, "%*s  %s", DRIFT_W, "DRIFT", "MOST OF");
    pen_line(pen);
    for (int i = 0; i < h - 1 && i < report->n_steps; i++)
        draw_step(ui, report, i == h - 2 ? report->n_steps - 1 : i, pen);
}

static int more_first(const void *left, const void *right)
{
    const RunOutput *a = left, *b = right;
    if (a->ok != b->ok)
        return a->ok ? 1 : -1;
    if (a->max_abs != b->max_abs)
        return a->max_abs > b->max_abs ? -1 : 1;
    return (a->tensor > b->tensor) - (a->tensor < b->tensor);
}

static void draw_outputs(const Ui *ui, const RunReport *report, int h, Pen *pen)
{
    RunOutput *all = arena_array(ui->frame, RunOutput, report->n_outputs);
    memcpy(all, report->outputs, sizeof *all * (size_t)report->n_outputs);
    qsort(all, (size_t)report->n_outputs, sizeof *all, more_first);
    int wrong = 0;
    for (int i = 0; i < report->n_outputs; i++)
        wrong += !all[i].ok;
    int name_w = pen->area.w - 3 - WORST_W;
    Buf head = buf_new(ui->frame);
    buf_printf(&head, "AGAINST ONE DEVICE, %d of %d differ", wrong, report->n_outputs);
    pen_puts(pen, ROLE_HEAD, "   ");
    pen_fit(pen, ROLE_HEAD, buf_str(&head), name_w);
    pen_printf(pen, ROLE_HEAD, "%*s", WORST_W, "WORST");
    pen_line(pen);
    for (int i = 0; i < h - 1 && i < report->n_outputs; i++) {
        Style style = all[i].ok ? ROLE_TEXT : ROLE_ERROR;
        pen_puts(pen, style, all[i].ok ? "   " : " ! ");
        pen_fit_name(pen, style, label_tensor(ui->session, ui->frame, all[i].tensor), name_w);
        pen_printf(pen, style, "%*.2g", WORST_W, all[i].max_abs);
        pen_line(pen);
    }
}

/* One line: how the loss went, and how far it is from that of one device at the end. */
static void draw_loss_line(const RunReport *report, Pen *pen)
{
    enum { BARS_MOST = 24, HEIGHTS = 8, FIRST_BAR = 0x2581 };
    const RunStep *last = &report->steps[report->n_steps - 1];
    int n = report->n_steps < BARS_MOST ? report->n_steps : BARS_MOST;
    double least = last->loss, most = last->loss;

    for (int i = 0; i < report->n_steps; i++) {
        least = fmin(least, report->steps[i].loss);
        most = fmax(most, report->steps[i].loss);
    }
    pen_puts(pen, ROLE_HEAD, " LOSS ");
    for (int i = 0; i < n; i++) {
        double loss = report->steps[n > 1 ? i * (report->n_steps - 1) / (n - 1) : 0].loss;
        double part = most > least ? (loss - least) / (most - least) : 0;
        pen_rune(pen, ROLE_TEXT, FIRST_BAR + (uint32_t)((HEIGHTS - 1) * fmin(fmax(part, 0), 1)));
    }
    pen_printf(pen, ROLE_TEXT, " %.6g to %.6g in %d step%s, one device %.6g", report->steps[0].loss,
               last->loss, report->n_steps, report->n_steps == 1 ? "" : "s", last->one_device);
    pen_line(pen);
}

void run_steps_draw_brief(const Ui *ui, const RunReport *report, Pen *pen)
{
    const RunOutput *worst = NULL;
    int wrong = 0;

    if (report->n_steps > 0 && report->steps[report->n_steps - 1].has_loss)
        draw_loss_line(report, pen);
    for (int i = 0; i < report->n_outputs; i++) {
        wrong += !report->outputs[i].ok;
        if (!worst || more_first(&report->outputs[i], worst) < 0)
            worst = &report->outputs[i];
    }
    if (report->n_steps == 0 || !worst)
        return;
    Style style = wrong > 0 ? ROLE_ERROR : ROLE_TEXT;
    pen_printf(pen, style, " %d of %d values wrong, largest difference %.2g: ", wrong,
               report->n_outputs, worst->max_abs);
    pen_fit_name(pen, style, label_tensor(ui->session, ui->frame, worst->tensor),
                 pen->area.w - pen->x);
    pen_line(pen);
}

void run_steps_draw(const Ui *ui, const RunReport *report, int h, Pen *pen)
{
    enum { LEAST = 3 };
    if (report->n_steps == 0 || h < LEAST)
        return;
    int steps = report->n_steps + 1 < h / 2 ? report->n_steps + 1 : h / 2;
    steps = report->n_outputs == 0 || h < 2 * LEAST ? h : steps;
    draw_steps(ui, report, steps, pen);
    if (report->n_outputs > 0 && h - steps >= LEAST)
        draw_outputs(ui, report, h - steps, pen);
}
