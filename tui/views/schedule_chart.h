/* schedule_chart.h - the blocks of a schedule, drawn in rows along time or steps.
 *
 * A column shows what takes most of it. A block begins with the number of its micro-batch where it
 * has room, then a rule, double where it is a backward, and of a training step shaded at its end
 * for the time of the weights' gradients; the blocks of the cursor's micro-batch are
 * underlined. On rows of lanes a letter says which of the lane's stages it is.
 */
#ifndef TUI_VIEWS_SCHEDULE_CHART_H
#define TUI_VIEWS_SCHEDULE_CHART_H

#include "tui/views/schedule_state.h"

/* Columns of the names of rows, of w. */
int chart_label_columns(const Ui *ui, const ScheduleState *state, int w);

/* Puts the window where the cursor is, choosing it first if it is not chosen, for w columns.
 * Answers how many of them are drawn on: steps have one width each. */
int chart_hold(ScheduleState *state, int w);
void chart_zoom(ScheduleState *state, double factor);

void chart_draw_scale(const Ui *ui, const ScheduleState *state, int label, int w, Pen *pen);
void chart_draw_rows(Ui *ui, const ScheduleState *state, int h, int label, int w, Pen *pen);
void chart_draw_legend(const Ui *ui, const ScheduleState *state, Pen *pen);

/* "pp=0", "all" */
void chart_put_devices(const Ui *ui, int stage, Buf *out);

#endif
