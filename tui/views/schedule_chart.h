/* schedule_chart.h - the blocks of a schedule, drawn in rows along time or steps.
 *
 * A column shows what takes most of its time. A block begins with the number of its micro-batch if
 * there is room, followed by a rule, which is double for a backward and, in a training step, shaded
 * at its end for the time of the weights' gradients; blocks of the cursor's micro-batch are
 * underlined. In rows of lanes a letter names the stage of the lane.
 */
#ifndef TUI_VIEWS_SCHEDULE_CHART_H
#define TUI_VIEWS_SCHEDULE_CHART_H

#include "tui/views/schedule_state.h"

/* The columns for names of rows, out of w. */
int chart_label_columns(const Ui *ui, const ScheduleState *state, int w);

/* Moves the window to the cursor, choosing its length first if needed, for w columns. Returns how
 * many columns are used: steps all have the same width. */
int chart_hold(ScheduleState *state, int w);
void chart_zoom(ScheduleState *state, double factor);

void chart_draw_scale(const Ui *ui, const ScheduleState *state, int label, int w, Pen *pen);
void chart_draw_rows(Ui *ui, const ScheduleState *state, int h, int label, int w, Pen *pen);
void chart_draw_legend(const Ui *ui, const ScheduleState *state, Pen *pen);

/* "pp=0", "all" */
void chart_put_devices(const Ui *ui, int stage, Buf *out);

#endif
