#include "tui/views/step/loss_curve.h"

#include <math.h>

enum { LABEL = 9 };

/* The mean of the losses in a column of w; NAN where no step has one. */
static double mean_in(const RunReport *report, int column, int w)
{
    int first = (int)((int64_t)column * report->n_steps / w);
    int end = (int)((int64_t)(column + 1) * report->n_steps / w), n = 0;
    double sum = 0;
    for (int i = first; i < end || i == first; i++) {
        sum += report->steps[i].loss;
        n++;
    }
    return sum / n;
}

static void draw_words(const RunReport *report, bool verified, Pen *pen)
{
    const RunStep *first = &report->steps[0], *last = &report->steps[report->n_steps - 1];
    double drift = 0;
    for (int i = 0; i < report->n_steps; i++)
        drift = fmax(drift, report->steps[i].drift);
    pen_printf(pen, ROLE_TEXT, " loss %.5g at step 1, ", first->loss);
    pen_printf(pen, ROLE_HEAD, "%.5g", last->loss);
    pen_printf(pen, ROLE_TEXT, " at step %d", report->n_steps);
    if (verified)
        pen_printf(pen, ROLE_NOTE, "; on one device %.5g, parameters and states drift by %.2g",
                   last->one_device, drift);
    pen_line(pen);
}

void loss_curve_draw(const RunReport *report, bool verified, int h, Pen *pen)
{
    int w = pen->area.w - LABEL - 1;
    double least = INFINITY, most = -INFINITY;
    draw_words(report, verified, pen);
    w = w < report->n_steps ? w : report->n_steps;
    for (int c = 0; c < w; c++) {
        least = fmin(least, mean_in(report, c, w));
        most = fmax(most, mean_in(report, c, w));
    }
    if (w < 1 || !isfinite(least) || !isfinite(most))
        return;
    for (int y = 0; y < h; y++) {
        if (y == 0 || y == h - 1)
            pen_printf(pen, ROLE_DIM, "%*.4g ", LABEL - 1, y == 0 ? most : least);
        else
            pen_printf(pen, ROLE_DIM, "%*s", LABEL, "");
        for (int c = 0; c < w; c++) {
            double part = most > least ? (most - mean_in(report, c, w)) / (most - least) : 0;
            pen_puts(pen, ROLE_TEXT, (int)lround(part * (h - 1)) == y ? "*" : " ");
        }
        pen_line(pen);
    }
}
