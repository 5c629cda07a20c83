/* stage_chart.c - a schedule as a table: a row per step, a column per lane of devices. */
#include "viz/draw/stage.h"

#include "core/cost/pipeline.h"
enum {
    STEPS_DRAWN =
        24, /* of more steps the first and the last are drawn, with a row of dots between */
    STEPS_FIRST = 14,
    STEPS_LAST = 8,
    LANES_DRAWN = 16,
    LANES_FIRST = 9,
    LANES_LAST = 4
};

typedef struct {
    const StagePicture *picture;
    Shown steps, lanes;
    const int *n_stages; /* per lane: the number of its stages */
    DiagramCell *cells;
} Chart;

static DiagramCell *cell_at(const Chart *chart, int row, int column)
{
    return &chart->cells[(row + 1) * (chart->lanes.n + 1) + column + 1];
}

static const int *count_stages(const StagePicture *picture)
{
    const Lanes *lanes = picture->plan->priced->pipeline->lanes;
    int *n = arena_array(picture->draw->arena, int, lanes->n);

    for (int s = 0; s < picture->stages->n; s++)
        for (int32_t i = lanes->first[s]; i < lanes->first[s + 1]; i++)
            n[lanes->lane[i]]++;
    return n;
}

/* The devices of a lane: those of its only stage. */
static const char *lane_text(const StagePicture *picture, int lane)
{
    const Lanes *lanes = picture->plan->priced->pipeline->lanes;

    for (int s = 0; s < picture->stages->n; s++)
        if (lanes->first[s + 1] - lanes->first[s] == 1 && lanes->lane[lanes->first[s]] == lane)
            return part_name_text(picture->draw, picture->stages->at[s].devices);
    return arena_printf(picture->draw->arena, "lane %d", lane);
}

/* "F0", "F0 s4" on a lane of several stages. */
static const char *block_text(const Chart *chart, const Block *block, int lane)
{
    Arena *arena = chart->picture->draw->arena;
    char pass = (char)(schedule_pass_letter((BlockPass)block->pass) - 'a' + 'A');
    return chart->n_stages[lane] > 1
               ? arena_printf(arena, "%c%d s%d", pass, block->micro_batch, block->stage)
               : arena_printf(arena, "%c%d", pass, block->micro_batch);
}

static void mark_cell(const Chart *chart, const Block *block, int step, int lane)
{
    Arena *arena = chart->picture->draw->arena;
    const Schedule *table = plan_schedule(chart->picture->plan);
    int row = shown_find(&chart->steps, step), column = shown_find(&chart->lanes, lane);

    if (row < 0 || column < 0)
        return;
    DiagramCell *cell = cell_at(chart, row, column);
    const char *text = block_text(chart, block, lane);
    if (block->pair >= 0 && &table->block[block->pair] < block)
        text = arena_printf(arena, "%s, %s", block_text(chart, &table->block[block->pair], lane),
                            text);
    cell->shade = block->backward ? 2 : 1;
    cell->look = CELL_PLAIN;
    cell->text = text_from(step > block->step ? arena_printf(arena, "%.1s", text) : text);
}

/* Fills the cells of a block, on all lanes that it occupies. */
static void mark_block(const Chart *chart, const Block *block)
{
    const Lanes *lanes = chart->picture->plan->priced->pipeline->lanes;

    for (int32_t i = lanes->first[block->stage]; i < lanes->first[block->stage + 1]; i++)
        for (int step = block->step; step < block->step + block->span; step++)
            mark_cell(chart, block, step, lanes->lane[i]);
}

static void make_cells(Chart *chart)
{
    Arena *arena = chart->picture->draw->arena;

    chart->cells = arena_array(arena, DiagramCell, (chart->steps.n + 1) * (chart->lanes.n + 1));
    for (int row = -1; row < chart->steps.n; row++)
        for (int column = -1; column < chart->lanes.n; column++) {
            DiagramCell *cell = cell_at(chart, row, column);
            int step = row < 0 ? 0 : (int)shown_at(&chart->steps, row);
            int lane = column < 0 ? 0 : (int)shown_at(&chart->lanes, column);
            cell->look = row < 0 || column < 0 ? CELL_HEAD : CELL_FAINT;
            cell->text = text_from(step < 0 || lane < 0    ? ".."
                                   : row < 0 && column < 0 ? "step"
                                   : row < 0               ? lane_text(chart->picture, lane)
                                   : column < 0            ? arena_printf(arena, "%d", step)
                                                           : "");
        }
}

int stage_draw_schedule(const StagePicture *picture)
{
    Draw *draw = picture->draw;
    const Schedule *table = plan_schedule(picture->plan);
    Chart chart = {.picture = picture, .n_stages = count_stages(picture)};
    DiagramBox box =
        draw_new_box(BOX_DEVICE, arena_printf(draw->arena, "schedule %s", table->name));

    chart.steps = shown_of(table->n_steps, STEPS_DRAWN, STEPS_FIRST, STEPS_LAST);
    chart.lanes = shown_of(table->lanes->n, LANES_DRAWN, LANES_FIRST, LANES_LAST);
    make_cells(&chart);
    for (int i = 0; i < table->n_blocks; i++)
        mark_block(&chart, &table->block[i]);
    box.subtitle = count_text(draw, table->n_micro_batches, "micro-batch");
    box.figures = table->trains ? "F0: forward of micro-batch 0\nB0: its backward; empty: idle"
                                : "F0: forward of micro-batch 0\nempty: idle";
    box.n_columns = chart.lanes.n + 1;
    box.n_cells = box.n_columns * (chart.steps.n + 1);
    box.cells = chart.cells;
    return draw_box(draw, box);
}
