#include "tui/views/search/search_chart.h"

#include "core/summary/label.h"
#include "tui/state/jobs/whatif.h"
#include "tui/views/label.h"

#include <math.h>

enum { LABEL_W = 8, LETTERS = 26, STEPS_SHOWN = 12 };

typedef struct {
    double least_us, most_us, least_bytes, most_bytes;
    int w, h;
} Chart;

char search_letter(int i)
{
    return (char)(i < LETTERS ? 'a' + i : 'A' + (i - LETTERS) % LETTERS);
}

/* Memory from 0 on, but where that would leave most of the chart blank. */
static Chart chart_of(const ChartPoint *point, int n, int w, int h)
{
    Chart chart = {INFINITY, 0, INFINITY, 0, w, h};

    for (int i = 0; i < n; i++) {
        if (point[i].outside)
            continue;
        chart.least_us = fmin(chart.least_us, point[i].us);
        chart.most_us = fmax(chart.most_us, point[i].us);
        chart.least_bytes = fmin(chart.least_bytes, (double)point[i].bytes);
        chart.most_bytes = fmax(chart.most_bytes, (double)point[i].bytes * 1.02);
    }
    double span = chart.most_bytes - chart.least_bytes;
    chart.least_bytes = chart.least_bytes > span ? chart.least_bytes - span / 5 : 0;
    if (chart.most_us <= chart.least_us)
        chart.most_us = chart.least_us * 1.01 + 1e-9;
    return chart;
}

static int column_of(const Chart *chart, int64_t bytes)
{
    double part =
        ((double)bytes - chart->least_bytes) / fmax(chart->most_bytes - chart->least_bytes, 1);
    int x = (int)(part * chart->w);
    return x < 0 ? 0 : x < chart->w ? x : chart->w - 1;
}

static int row_of(const Chart *chart, double us)
{
    double part = (chart->most_us - us) / (chart->most_us - chart->least_us);
    int y = (int)lround(fmin(fmax(part, 0), 1) * (chart->h - 1));
    return y < chart->h ? y : chart->h - 1;
}

static void draw_axis(const Ui *ui, const Chart *chart, Pen *pen)
{
    enum { TICK_W = 14 };

    pen_printf(pen, ROLE_DIM, "%*s", LABEL_W + 2, "peak ");
    int from = pen->x;
    int64_t step = 1;
    while ((chart->most_bytes - chart->least_bytes) / (double)step > (double)chart->w / TICK_W)
        step *= 2;
    int64_t bytes = (int64_t)ceil(chart->least_bytes / (double)step) * step;
    for (; (double)bytes < chart->most_bytes; bytes += step) {
        Str label = bytes == 0 ? STR("0") : label_bytes(ui, bytes);
        int x = from + column_of(chart, bytes);
        if (x + 1 + text_columns(label) > pen->area.w)
            break;
        pen_tab(pen, x);
        pen_puts(pen, ROLE_DIM, ui->look.ascii ? "+" : "┴");
        pen_put(pen, ROLE_DIM, label);
    }
    pen_line(pen);
}

/* Times that the digits would not tell apart are written as what they are more than the least. */
static Str time_label(const Ui *ui, const Chart *chart, double us)
{
    bool near = chart->most_us - chart->least_us < chart->least_us / 20;
    return near && us > chart->least_us ? whatif_us(ui, chart->least_us, us) : label_us(ui, us);
}

static void draw_frame(const Ui *ui, const Chart *chart, int64_t limit_bytes, Pen *pen)
{
    int top = pen->y, limit = column_of(chart, limit_bytes);

    for (int y = 0; y < chart->h; y++) {
        bool label = y == 0 || y == chart->h - 1 || y == chart->h / 2;
        double us = chart->most_us - (chart->most_us - chart->least_us) * y / fmax(1, chart->h - 1);
        pen_right(pen, ROLE_DIM, label ? time_label(ui, chart, us) : STR(""), LABEL_W + 1);
        pen_puts(pen, ROLE_DIM, ui->look.ascii ? "|" : "│");
        if ((double)limit_bytes >= chart->least_bytes && (double)limit_bytes <= chart->most_bytes) {
            pen_to(pen, LABEL_W + 2 + limit, top + y);
            pen_puts(pen, ROLE_DIM, ui->look.ascii ? ":" : "┆");
        }
        pen_line(pen);
    }
}

void search_chart(const Ui *ui, const ChartPoint *point, int n, int64_t limit_bytes, int h,
                  Pen *pen)
{
    Chart chart = chart_of(point, n, pen->area.w - LABEL_W - 2, h - 1);
    int top = pen->y;

    draw_frame(ui, &chart, limit_bytes, pen);
    for (int i = 0; i < n; i++) {
        pen_to(pen, LABEL_W + 2 + column_of(&chart, point[i].bytes),
               top + row_of(&chart, point[i].us));
        pen_rune(pen, point[i].style, point[i].mark);
    }
    pen_to(pen, 0, top + chart.h);
    draw_axis(ui, &chart, pen);
}

void search_steps(const Ui *ui, const SearchWatch *watch, int h, Pen *pen)
{
    int n = atomic_load(&watch->n_steps), rows = h - 1 < STEPS_SHOWN ? h - 1 : STEPS_SHOWN;

    if (n == 0 || rows < 1)
        return;
    pen_puts(pen, ROLE_HEAD, "     AFTER          BEST         BOUND");
    pen_line(pen);
    for (int i = n > rows ? n - rows : 0; i < n; i++) {
        const SearchStep *step = &watch->step[i];
        pen_printf(pen, ROLE_TEXT, " %7.3f s", step->seconds);
        pen_right(pen, ROLE_TEXT,
                  step->cost_us < INFINITY ? label_us(ui, step->cost_us) : STR("none yet"), 14);
        pen_right(pen, ROLE_TEXT,
                  step->bound_us > 0 ? label_us(ui, step->bound_us) : STR("none yet"), 14);
        pen_line(pen);
    }
}
