#include "tui/views/schedule_state.h"

#include "core/cost/pipeline.h"

void schedule_state_forget(ScheduleState *state)
{
    arena_free(state->arena);
    arena_free(state->facts);
    state->arena = state->facts = NULL;
    state->table = NULL;
}

/* Rows of a block: its stage, or the lanes of its stage. */
static int32_t row_first(const ScheduleState *state, int stage)
{
    return state->by_lane ? state->table->lanes->first[stage] : stage;
}

static int32_t row_end(const ScheduleState *state, int stage)
{
    return state->by_lane ? state->table->lanes->first[stage + 1] : stage + 1;
}

static int32_t row_at(const ScheduleState *state, int32_t i)
{
    return state->by_lane ? state->table->lanes->lane[i] : i;
}

/* Blocks of a table come by step, so those of a row come in order. */
static void list_rows(ScheduleState *state)
{
    const Schedule *table = state->table;
    int32_t *next = arena_array(state->arena, int32_t, state->n_rows + 1);
    state->first = arena_array(state->arena, int32_t, state->n_rows + 1);
    for (int i = 0; i < table->n_blocks; i++)
        for (int32_t r = row_first(state, table->block[i].stage);
             r < row_end(state, table->block[i].stage); r++)
            state->first[row_at(state, r) + 1]++;
    for (int row = 0; row < state->n_rows; row++) {
        state->first[row + 1] += state->first[row];
        next[row] = state->first[row];
    }
    state->block = arena_array(state->arena, int32_t, state->first[state->n_rows]);
    for (int i = 0; i < table->n_blocks; i++)
        for (int32_t r = row_first(state, table->block[i].stage);
             r < row_end(state, table->block[i].stage); r++)
            state->block[next[row_at(state, r)]++] = i;
}

void schedule_set_rows(ScheduleState *state, bool by_lane)
{
    arena_free(state->arena);
    state->arena = arena_new();
    state->by_lane = by_lane;
    state->n_rows = by_lane ? state->table->lanes->n : state->table->n_stages;
    list_rows(state);
    state->row = row_at(state, row_first(state, state->table->block[state->at].stage));
}

ScheduleState *schedule_state(Ui *ui)
{
    ScheduleState *state = ui->own[SHOW_SCHEDULE];
    const Schedule *table = plan_schedule(ui_plan(ui));

    if (state->table || !table)
        return state;
    state->table = table;
    state->at = 0;
    state->from = state->len = 0;
    state->facts = arena_new();
    state->idle = pipeline_idle(state->facts, ui_plan(ui));
    state->streams = arena_array(state->facts, struct StageStreams *, table->n_stages);
    schedule_set_rows(state, state->by_lane);
    return state;
}

int32_t schedule_find(const ScheduleState *state, int row, double where)
{
    int32_t low = state->first[row], high = state->first[row + 1] - 1;

    while (low < high) {
        int32_t middle = low + (high - low + 1) / 2;
        if (schedule_from(state, &state->table->block[state->block[middle]]) <= where)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}
