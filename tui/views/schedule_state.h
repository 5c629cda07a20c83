/* schedule_state.h - the Schedule view's state: blocks in rows along time, and the window shown.
 *
 * A row is a stage, or a lane of devices (schedule.h). Positions along it are microseconds, or
 * steps of the table. The cursor is a block; the window follows it.
 */
#ifndef TUI_VIEWS_SCHEDULE_STATE_H
#define TUI_VIEWS_SCHEDULE_STATE_H

#include "core/cost/pipeline_idle.h"
#include "core/plan/stage.h"
#include "tui/state/ui.h"

typedef struct {
    const Schedule *table; /* of the session's plan; NULL: it has none */
    bool by_lane, by_step;
    Arena *arena; /* of the rows */
    int n_rows;
    int32_t *first, *block; /* per row, and one more: its range of `block`, in order of time */
    int row;
    int32_t at;                    /* block under the cursor */
    double from, len;              /* the window; len 0: to be chosen */
    Arena *facts;                  /* of the next two, for the table */
    ScheduleIdle idle;             /* why lanes wait */
    struct StageStreams **streams; /* per stage (stage_streams.h); NULL: not made yet */
} ScheduleState;

void schedule_state_forget(ScheduleState *state); /* the plan goes */

/* Of the session's plan. */
ScheduleState *schedule_state(Ui *ui);

void schedule_set_rows(ScheduleState *state, bool by_lane);

/* The index in its row of the last block that begins at or before `where`; of the first one if none
 * does. */
int32_t schedule_find(const ScheduleState *state, int row, double where);

static inline double schedule_from(const ScheduleState *state, const Block *block)
{
    return state->by_step ? block->step : block->start_us;
}

static inline double schedule_to(const ScheduleState *state, const Block *block)
{
    return state->by_step ? block->step + block->span : block->end_us;
}

static inline double schedule_whole(const ScheduleState *state)
{
    return state->by_step ? state->table->n_steps : state->table->us;
}

#endif
