/* stage_streams.h - draws what a stage's devices do under the blocks of the schedule: ops,
 * collectives by axis, and why they wait.
 *
 * The height of a column is the share of its time that the row is busy. Only collectives that ops
 * wait for are included (core/cost/slot_pieces.h); waits are split by cause
 * (core/plan/schedule_idle.h).
 */
#ifndef TUI_VIEWS_STEP_STAGE_STREAMS_H
#define TUI_VIEWS_STEP_STAGE_STREAMS_H

#include "tui/views/schedule_state.h"

/* The number of lines; 0 if rows are lanes or positions are steps, and for a forward plan. */
int stage_streams_lines(Ui *ui, ScheduleState *state);

/* For the stage under the cursor, below the rows of the chart and in their window of w columns. */
void stage_streams_draw(Ui *ui, ScheduleState *state, int label, int w, Pen *pen);

/* "uneven stages 486 ms, drain 100 ms": how long the devices of a stage wait in a step. Returns
 * false if they never do. */
bool stage_waits_format(const Ui *ui, const ScheduleState *state, int stage, Buf *out);

/* The waits of a stage with one cause, in microseconds per step. */
double stage_waits_us(const ScheduleState *state, int stage, IdleCause cause);

#endif
