#include "tui/views/step/loss_curve.h"

#include <math.h>

enum { LABEL = 9 };

/* Losses over the columns of a curve: of the plan, and of one device where it ran too. */
typedef struct {
    const RunReport *report;
    int w;
    double least, most;
} Curve;

static double loss_of(const RunStep *step, bool one_device)
{
    return one_device ? step->one_device : step->loss;
}

/* The mean of the losses in a column; between steps that are wider than one, on the line through
 * them. NAN where no step has one. */
static double loss_in(const Curve *curve, int column, bool one_device)
{
    const RunStep *steps = curve->report->steps;
    int n = curve->report->n_steps, w = curve->w;
    if (n < w) {
        double at = (double)column * (n - 1) / (w - 1);
        int i = at < n - 2 ? (int)at : n - 2;
        double from = loss_of(&steps[i], one_device), to = loss_of(&steps[i + 1], one_device);
        return from + (to - from) * (at - i);
    }
    int first = (int)((int64_t)column * n / w), end = (int)((int64_t)(column + 1) * n / w);
    double sum = 0;
    for (int i = first; i < end; i++)
        sum += loss_of(&steps[i], one_device);
    return sum / (end - first);
}

/* Whether a step stands in the column, not only the line between two. */
static bool has_step(const Curve *curve, int column)
{
    int n = curve->report->n_steps, w = curve->w;
    int step = (int)lround((double)column * (n - 1) / (w - 1));
    return n >= w || (int)lround((double)step * (w - 1) / (n - 1)) == column;
}

/* -1: the loss is not a number */
static int row_of(const Curve *curve, double loss, int h)
{
    bool flat = curve->most <= curve->least;
    if (!isfinite(loss))
        return -1;
    return flat ? 0 : (int)lround((curve->most - loss) / (curve->most - curve->least) * (h - 1));
}

static void draw_words(const RunReport *report, bool verified, Pen *pen)
{
    const RunStep *first = &report->steps[0], *last = &report->steps[report->n_steps - 1];
    double drift = 0;
    for (int i = 0; i < report->n_steps; i++)
        drift = fmax(drift, report->steps[i].drift);
    pen_printf(pen, ROLE_TEXT, " loss %.5g, after %d steps ", first->loss, report->n_steps);
    pen_printf(pen, ROLE_HEAD, "%.5g", last->loss);
    enum { DRIFT_W = 29 };
    if (verified)
        pen_printf(pen, ROLE_NOTE, "; o one device %.5g", last->one_device);
    if (verified && pen->area.w - pen->x >= DRIFT_W)
        pen_printf(pen, ROLE_NOTE, ", states differ by %.2g", drift);
    pen_line(pen);
}

/* The plan's loss as `*`, that of one device as `o` where it stands in another row. */
static void draw_row(const Curve *curve, int y, int h, bool verified, Pen *pen)
{
    for (int c = 0; c < curve->w; c++) {
        bool step = has_step(curve, c);
        if (row_of(curve, loss_in(curve, c, false), h) == y)
            pen_rune(pen, step ? ROLE_TEXT : ROLE_DIM, step ? '*' : 0xb7);
        else if (verified && step && row_of(curve, loss_in(curve, c, true), h) == y)
            pen_rune(pen, ROLE_NOTE, 'o');
        else
            pen_rune(pen, ROLE_TEXT, ' ');
    }
}

void loss_curve_draw(const RunReport *report, bool verified, int h, Pen *pen)
{
    Curve curve = {report, pen->area.w - LABEL - 1, INFINITY, -INFINITY};
    draw_words(report, verified, pen);
    if (curve.w < 2 || report->n_steps < 2)
        return;
    for (int c = 0; c < 2 * curve.w; c++) {
        double loss = loss_in(&curve, c / 2, verified && c % 2);
        curve.least = fmin(curve.least, loss);
        curve.most = fmax(curve.most, loss);
    }
    if (!isfinite(curve.least) || !isfinite(curve.most))
        return;
    for (int y = 0; y < h; y++) {
        if (y == 0 || y == h - 1)
            pen_printf(pen, ROLE_DIM, "%*.4g ", LABEL - 1, y == 0 ? curve.most : curve.least);
        else
            pen_printf(pen, ROLE_DIM, "%*s", LABEL, "");
        draw_row(&curve, y, h, verified, pen);
        pen_line(pen);
    }
}
