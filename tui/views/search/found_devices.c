#include "tui/views/search/found_devices.h"

#include "core/base/units.h"
#include "tui/screen/folded.h"
#include "tui/state/format.h"
#include "tui/state/jobs/whatif.h"
#include "tui/views/rows.h"
#include "tui/views/search/search_chart.h"

#include <math.h>

enum { WIDE = 130, CHART_H = 18, PARTS_H = 5, WHAT_W = 24 };

static int64_t cursor(const Ui *ui, const DevicesFound *found)
{
    int64_t at = ui->list[SHOW_SEARCH].at;
    return at < found->n ? at : found->n - 1;
}

static const ConfigPlan *best_of(const DevicesFound *found)
{
    return found->found.answer.best;
}

/* ---- how it was found ---- */

static void put_count(const Ui *ui, int64_t n, const char *what, Pen *pen)
{
    Buf text = buf_new(ui->frame);

    if (n == 0)
        return;
    units_format_count(n, &text);
    pen_printf(pen, ROLE_DIM, ", %s %s", text.s, what);
}

static void put_proof(const Ui *ui, const ConfigAnswer *answer, Pen *pen)
{
    if (answer->proven) {
        pen_puts(pen, ROLE_NOTE, ", PROVEN optimal");
    } else if (answer->best && answer->bound > 0 && isfinite(answer->bound)) {
        pen_puts(pen, ROLE_TEXT, ", bound ");
        pen_put(pen, ROLE_HEAD, label_us(ui, answer->bound));
        pen_printf(pen, ROLE_TEXT, ", gap %.2f%%",
                   100 * fmax(0, 1 - answer->bound / answer->best->step_us));
    }
}

static void draw_head(const Ui *ui, const DevicesFound *found, Pen *pen)
{
    const ConfigAnswer *answer = &found->found.answer;
    const ConfigCounts *counts = &answer->counts;
    Buf text = buf_new(ui->frame);

    units_format_count(found->space.n_devices, &text);
    buf_printf(&text, " device%s, ", found->space.n_devices == 1 ? "" : "s");
    units_format_count(found->space.samples, &text);
    pen_printf(pen, ROLE_TEXT, " %s samples a step, limit ", text.s);
    pen_put(pen, ROLE_HEAD, label_bytes(ui, found->asked.question.max_peak_bytes));
    if (!found->asked.frontier)
        put_proof(ui, answer, pen);
    else if (!found->stopped && found->asked.question.gap > 0)
        pen_printf(pen, ROLE_TEXT, ", each within %g%% of the fastest",
                   100 * found->asked.question.gap);
    else if (!found->stopped)
        pen_puts(pen, ROLE_NOTE, ", each PROVEN");
    if (found->stopped && found->asked.frontier)
        pen_puts(pen, ROLE_ERROR, "; cancelled");
    pen_line(pen);
    if (found->asked.frontier)
        return;
    pen_printf(pen, ROLE_DIM, " %.1f s", answer->seconds);
    if (found->stopped)
        pen_puts(pen, ROLE_ERROR, ", cancelled");
    put_count(ui, counts->all, "configurations", pen);
    put_count(ui, counts->guessed, "planned as a first guess", pen);
    put_count(ui, counts->planned, "planned", pen);
    put_count(ui, counts->by_time, "too slow", pen);
    put_count(ui, counts->by_memory, "too large", pen);
    put_count(ui, counts->by_schedule, "without such a schedule", pen);
    put_count(ui, counts->same, "like another", pen);
    put_count(ui, counts->left, "not looked at", pen);
    for (int i = 0; i < LEFT_COUNT; i++)
        put_count(ui, counts->left_out[i], config_left_text((ConfigLeft)i), pen);
    pen_line(pen);
}

/* ---- the rows ---- */

static double us_of(const DevicesRow *row)
{
    return row->plan ? row->plan->step_us : row->change->bound_us;
}

static int64_t bytes_of(const DevicesRow *row)
{
    return row->plan ? row->plan->peak_bytes : row->change->bound_bytes;
}

static bool fits(const DevicesFound *found, const DevicesRow *row)
{
    return bytes_of(row) <= found->asked.question.max_peak_bytes;
}

/* Of a change what it changes, else the whole configuration. */
static void put_what(const Ui *ui, const DevicesFound *found, const DevicesRow *row, Pen *pen)
{
    Buf text = buf_new(ui->frame);

    if (row->what)
        buf_puts(&text, row->what);
    if (row->what && !row->change)
        buf_puts(&text, ": ");
    if (!row->change)
        buf_printf(&text, "%s  %s", row->plan->mesh, row->plan->text);
    if (row->change && !fits(found, row))
        buf_puts(&text, ", does not fit");
    else if (!row->plan)
        buf_puts(&text, ", at least");
    pen_fit(pen, row->plan ? ROLE_TEXT : ROLE_DIM, buf_str(&text), pen->area.w - pen->x);
}

static void draw_row(Ui *ui, const DevicesFound *found, int i, Pen *pen)
{
    const DevicesRow *row = &found->row[i];
    const ConfigPlan *best = best_of(found);

    pen_printf(pen, ROLE_TEXT, "  %c ", row->plan ? search_letter(i) : ' ');
    pen_right(pen, ROLE_TEXT, label_us(ui, us_of(row)), 10);
    pen_right(pen, ROLE_TEXT, i > 0 && best ? whatif_us(ui, best->step_us, us_of(row)) : STR(""),
              11);
    pen_right(pen, fits(found, row) ? ROLE_TEXT : ROLE_ERROR, label_bytes(ui, bytes_of(row)), 11);
    pen_puts(pen, ROLE_TEXT, "  ");
    put_what(ui, found, row, pen);
    rows_end(ui, SHOW_SEARCH, i == cursor(ui, found), pen);
}

static void draw_rows(Ui *ui, const DevicesFound *found, int h, Pen *pen)
{
    List *list = &ui->list[SHOW_SEARCH];

    pen_printf(pen, ROLE_HEAD, "          STEP     CHANGE       PEAK  %s",
               found->asked.frontier ? "CONFIGURATION" : "CONFIGURATION, then one choice INSTEAD");
    pen_line(pen);
    h = h - 1 < found->n ? h - 1 : found->n;
    list_show(list, cursor(ui, found), found->n, h);
    for (int y = 0; y < h && list->top + y < found->n; y++)
        draw_row(ui, found, (int)list->top + y, pen);
}

/* ---- the row under the cursor ---- */

static void draw_bar(const Ui *ui, const char *name, double us, double whole_us, Pen *pen)
{
    enum { NAME_W = 26, BAR = 24 };

    pen_puts(pen, ROLE_TEXT, "  ");
    pen_fit(pen, ROLE_TEXT, str_from(name), NAME_W);
    pen_right(pen, ROLE_TEXT, label_us(ui, us), 10);
    pen_printf(pen, ROLE_DIM, " %5.1f%% ", 100 * us / whole_us);
    pen_bar(pen, ROLE_RAIL, us, whole_us, BAR);
    pen_line(pen);
}

/* What a change adds and takes away; of another plan, what its time goes to. */
static void draw_parts(const Ui *ui, const DevicesRow *row, int h, Pen *pen)
{
    const ConfigChange *change = row->change;

    if (h < 2 || !row->plan)
        return;
    pen_printf(pen, ROLE_HEAD, "  %s",
               change ? "BECAUSE, against the best" : "WHERE THE STEP'S TIME GOES");
    pen_line(pen);
    for (int i = 0; change && i < change->n_deltas && i < h - 1; i++) {
        pen_puts(pen, ROLE_TEXT, "  ");
        pen_fit(pen, ROLE_TEXT, str_from(change->delta[i].name), 26);
        pen_right(pen, ROLE_TEXT, whatif_us(ui, 0, change->delta[i].us), 10);
        pen_line(pen);
    }
    for (int i = 0; !change && i < row->plan->n_parts && i < h - 1; i++)
        draw_bar(ui, row->plan->part[i].name, row->plan->part[i].us, row->plan->step_us, pen);
}

/* As the command line and a policy have it. */
static void draw_settings(const Ui *ui, const DevicesRow *row, Pen *pen)
{
    Buf text = buf_new(ui->frame);

    if (pen_full(pen) || !row->plan)
        return;
    buf_printf(&text, "  -m %s -p hybrid3d", row->plan->mesh);
    for (int i = 0; i < row->plan->settings.n; i++)
        buf_printf(&text, " --set %s=%s", row->plan->settings.at[i].name,
                   row->plan->settings.at[i].value);
    pen_put_folded(pen, ROLE_DIM, buf_str(&text), 4);
    pen_line(pen);
}

static void draw_pins(const Ui *ui, const DevicesFound *found, Pen *pen)
{
    const ConfigPlan *best = best_of(found);

    if (found->n_pins == 0 || pen->area.h - pen->y < 2)
        return;
    pen_puts(pen, ROLE_HEAD, "          STEP     CHANGE       PEAK  WITHOUT THE PIN, THEN");
    pen_line(pen);
    for (int i = 0; i < found->n_pins && !pen_full(pen); i++) {
        const ConfigPlan *plan = found->pin[i].answer.best;
        pen_right(pen, ROLE_TEXT, plan ? label_us(ui, plan->step_us) : STR("no plan"), 14);
        pen_right(pen, ROLE_TEXT,
                  plan && best ? whatif_us(ui, best->step_us, plan->step_us) : STR(""), 11);
        pen_right(pen, ROLE_TEXT, plan ? label_bytes(ui, plan->peak_bytes) : STR(""), 11);
        pen_printf(pen, found->pin[i].conflict ? ROLE_ERROR : ROLE_TEXT, "  %s%s",
                   found->pin[i].pin ? found->pin[i].pin : "all of them",
                   found->pin[i].conflict ? ", which conflicts" : "");
        if (plan)
            pen_printf(pen, ROLE_DIM, "  %s  %s", plan->mesh, plan->text);
        pen_line(pen);
    }
}

/* ---- the chart ---- */

/* Every plan that was made as a dot, those of rows by their letter. */
static void draw_chart(const Ui *ui, const DevicesFound *found, int h, Pen *pen)
{
    ChartPoint *point = arena_array(ui->frame, ChartPoint, found->n_planned + found->n);
    const ConfigPlan *best = best_of(found);
    int n = 0;

    for (int i = 0; i < found->n_planned; i++)
        if (!found->planned[i]->failed && found->planned[i]->legal)
            point[n++] = (ChartPoint){found->planned[i]->step_us, found->planned[i]->peak_bytes,
                                      ui->look.ascii ? '.' : 0xb7, ROLE_DIM,
                                      best && found->planned[i]->step_us > 2 * best->step_us};
    for (int64_t i = found->n - 1; i >= 0; i--)
        if (found->row[i].plan)
            point[n++] = (ChartPoint){
                us_of(&found->row[i]), bytes_of(&found->row[i]), (uint32_t)search_letter((int)i),
                i == cursor(ui, found) ? ROLE_FOCUS | STYLE_BOLD : ROLE_HEAD, false};
    search_chart(ui, point, n, found->asked.question.max_peak_bytes, h, pen);
}

/* ---- the whole ---- */

static void draw_none(const Ui *ui, const DevicesFound *found, Pen *pen)
{
    (void)ui;
    pen_puts(pen, ROLE_ERROR,
             found->found.answer.outcome == SEARCH_INFEASIBLE ||
                     (found->asked.frontier && !found->stopped)
                 ? " no configuration fits"
                 : " none that fits was found before it stopped");
    pen_line(pen);
}

static void draw_detail(const Ui *ui, const DevicesFound *found, Pen *pen)
{
    const DevicesRow *row = &found->row[cursor(ui, found)];

    draw_settings(ui, row, pen);
    draw_parts(ui, row, pen->area.h - pen->y, pen);
}

static void draw_wide(Ui *ui, const DevicesFound *found, Pen *pen)
{
    Rect area = pen->area;
    int h = area.h - pen->y, w = area.w / 2 - 10, chart = h / 2 < CHART_H ? h / 2 : CHART_H;
    Pen left = pen_new(pen->grid, (Rect){area.x, area.y + pen->y, w, h});
    Pen right = pen_new(pen->grid, (Rect){area.x + w + 1, area.y + pen->y, area.w - w - 1, h});

    draw_chart(ui, found, chart, &left);
    pen_line(&left);
    draw_detail(ui, found, &left);
    draw_rows(ui, found, h * 2 / 3, &right);
    pen_line(&right);
    draw_pins(ui, found, &right);
    pen_line(&right);
    search_steps(ui, &ui->plan_search->watch, h - right.y, &right);
}

/* Below the rows what is known of pins, then of the row under the cursor. */
static void draw_narrow(Ui *ui, const DevicesFound *found, Pen *pen)
{
    int room = pen->area.h - pen->y, pins = found->n_pins > 0 ? found->n_pins + 1 : 0;
    int chart = found->asked.frontier && room >= 16 ? room / 2 : 0;

    if (chart > 0)
        draw_chart(ui, found, chart, pen);
    room -= chart;
    int most = room - PARTS_H - (pins < room / 3 ? pins : room / 3);
    draw_rows(ui, found, most < 3 ? 3 : most, pen);
    draw_pins(ui, found, pen);
    draw_detail(ui, found, pen);
}

void found_devices_draw(Ui *ui, const DevicesFound *found, Pen *pen)
{
    draw_head(ui, found, pen);
    if (!best_of(found))
        draw_none(ui, found, pen);
    if (found->n == 0)
        draw_pins(ui, found, pen);
    else if (pen->area.w >= WIDE)
        draw_wide(ui, found, pen);
    else
        draw_narrow(ui, found, pen);
}

void found_devices_table(const DevicesFound *found, Sheet *out)
{
    sheet_head(out, "plan step_us# peak_bytes# planned# instead mesh settings");
    for (int i = 0; i < found->n; i++) {
        const DevicesRow *row = &found->row[i];
        sheet_put(out, str_from(arena_printf(out->arena, "%c", search_letter(i))));
        sheet_number(out, us_of(row));
        sheet_number(out, (double)bytes_of(row));
        sheet_number(out, row->plan != NULL);
        sheet_put(out, str_from(row->what ? row->what : ""));
        sheet_put(out, str_from(row->plan ? row->plan->mesh : ""));
        sheet_put(out, str_from(row->plan ? row->plan->text : ""));
    }
}
