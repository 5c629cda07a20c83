/* schedule.c - the schedule of a step along time: a row per lane of devices, a box per block, as
 * wide as it takes; behind it what a step does once. */
#include "viz/draw/canvas.h"

#include "core/base/units.h"
#include "core/cost/pipeline.h"
#include "viz/draw/holding.h"

#include <math.h>

enum { LANES_DRAWN = 24, LANES_FIRST = 12, LANES_LAST = 8, BLOCKS_DRAWN = 1 << 13, GAP = 2 };

/* ORDER BLOCK_PASS, then the update: its letter in the key, its name, its tint. */
static const struct {
    const char *name;
    int shade;
} passes[] = {{"forward", 1},
              {"backward", 2},
              {"input gradient", 2},
              {"weight gradient", 3},
              {"once a step", 5}};
enum { ONCE = N_BLOCK_PASSES };

typedef struct {
    Canvas canvas;
    const Plan *plan;
    const Schedule *table;
    Shown lanes;
    double row;                  /* its height */
    double left, top, us, scale; /* us: of the page's width; scale: points per us */
    bool used[ONCE + 1];
} Chart;

/* ---- lanes ---- */

/* The stages of a lane: "stage 0", "stages 0, 2". */
static const char *lane_name(const Chart *chart, int lane)
{
    const Lanes *lanes = chart->table->lanes;
    Arena *arena = chart->canvas.draw->arena;
    const char *name = NULL;

    for (int s = 0; s < chart->table->n_stages; s++)
        for (int32_t i = lanes->first[s]; i < lanes->first[s + 1]; i++)
            if (lanes->lane[i] == lane)
                name = name ? arena_printf(arena, "%s,%d", name, s)
                            : arena_printf(arena, "stage %d", s);
    return name ? name : arena_printf(arena, "lane %d", lane);
}

static double lane_y(const Chart *chart, int row)
{
    return chart->top + row * (chart->row + GAP);
}

static void put_block(Chart *chart, int row, double start, double end, int pass, const char *text,
                      const char *why)
{
    Canvas *canvas = &chart->canvas;
    DiagramPlace place = {chart->left + start * chart->scale, lane_y(chart, row),
                          (end - start) * chart->scale, chart->row};
    int at = canvas_fill(canvas, place, passes[pass].shade, -1, why);

    chart->used[pass] = true;
    if (canvas_text_width(canvas, str_from(text)) <= place.w)
        canvas->draw->boxes.at[at].flow = text_from(text);
}

static void put_blocks(Chart *chart)
{
    const Lanes *lanes = chart->table->lanes;
    Arena *arena = chart->canvas.draw->arena;

    for (int b = 0; b < chart->table->n_blocks; b++) {
        const Block *block = &chart->table->block[b];
        Buf why = buf_new(arena);
        buf_printf(&why,
                   "%s of micro-batch %d, stage %d: ", schedule_pass_name((BlockPass)block->pass),
                   block->micro_batch, block->stage);
        units_format_us(block->start_us, &why);
        buf_puts(&why, " to ");
        units_format_us(block->end_us, &why);
        for (int32_t i = lanes->first[block->stage]; i < lanes->first[block->stage + 1]; i++) {
            int row = shown_find(&chart->lanes, lanes->lane[i]);
            if (row >= 0)
                put_block(chart, row, block->start_us, block->end_us, block->pass,
                          arena_printf(arena, "%d", block->micro_batch), why.s);
        }
    }
}

/* What is done once: gradients are reduced and parameters updated, on each stage's devices. */
static void put_once(Chart *chart)
{
    const Lanes *lanes = chart->table->lanes;

    for (int s = 0; s < chart->table->n_stages; s++) {
        double us = chart->plan->priced->pipeline->stage[s].once_us;
        for (int32_t i = lanes->first[s]; us > 0 && i < lanes->first[s + 1]; i++) {
            int row = shown_find(&chart->lanes, lanes->lane[i]);
            if (row >= 0)
                put_block(chart, row, chart->table->us, chart->table->us + us, ONCE, "",
                          "gradients reduced, parameters updated");
        }
    }
}

static void put_lanes(Chart *chart)
{
    Canvas *canvas = &chart->canvas;

    for (int row = 0; row < chart->lanes.n; row++) {
        int64_t lane = shown_at(&chart->lanes, row);
        double y = lane_y(chart, row) + chart->row / 2.0;
        canvas_text(canvas, chart->left - 3, y, ALIGN_RIGHT,
                    text_from(lane < 0 ? ".." : lane_name(chart, (int)lane)));
        if (lane < 0)
            continue;
        int from = canvas_corner(canvas, chart->left, lane_y(chart, row) + chart->row);
        int to = canvas_corner(canvas, chart->left + chart->us * chart->scale,
                               lane_y(chart, row) + chart->row);
        canvas_line(canvas, from, to, false);
    }
}

static void put_key(Chart *chart, double y)
{
    CanvasKey key = {chart->left, chart->left, y};

    for (int pass = 0; pass <= ONCE; pass++)
        if (chart->used[pass])
            canvas_key(&chart->canvas, &key, passes[pass].shade, passes[pass].name);
}

bool draw_schedule(Draw *draw, Error *err)
{
    Chart chart = {
        .canvas = canvas_new(draw), .plan = draw->plan, .table = plan_schedule(draw->plan)};
    Buf caption = buf_marked(draw->arena);
    double once = 0;

    if (!chart.table) {
        error_kind(err, ERROR_UNSUPPORTED, "this plan has no schedule of micro-batches");
        error_hint(err, "a plan with pipeline stages has: -m pp=2,dp=2,tp=2 -p hybrid3d");
        return false;
    }
    if (chart.table->n_blocks > BLOCKS_DRAWN) {
        error_kind(err, ERROR_UNSUPPORTED, "%d blocks are too many to draw (%d)",
                   chart.table->n_blocks, BLOCKS_DRAWN);
        error_hint(err, "--table schedule with --csv has them all");
        return false;
    }
    for (int s = 0; s < chart.table->n_stages; s++)
        once = fmax(once, draw->plan->priced->pipeline->stage[s].once_us);
    chart.lanes = shown_of(chart.table->lanes->n, LANES_DRAWN, LANES_FIRST, LANES_LAST);
    for (int row = 0; row < chart.lanes.n; row++) {
        int64_t lane = shown_at(&chart.lanes, row);
        if (lane >= 0)
            chart.left =
                fmax(chart.left,
                     canvas_text_width(&chart.canvas, str_from(lane_name(&chart, (int)lane))));
    }
    chart.row = 1.6 * chart.canvas.points;
    chart.left += 4;
    chart.us = chart.table->us + once;
    chart.scale = (chart.canvas.width - chart.left - 2) / chart.us;
    put_lanes(&chart);
    put_blocks(&chart);
    put_once(&chart);
    canvas_axis(&chart.canvas, chart.left, lane_y(&chart, chart.lanes.n), chart.us * chart.scale,
                chart.us);
    put_key(&chart, lane_y(&chart, chart.lanes.n) + 2.2 * chart.row);
    pipeline_explain(draw->plan, &caption);
    buf_puts(&caption, "; numbers are micro-batches");
    draw->diagram->caption = buf_text(&caption);
    draw->diagram->title =
        arena_printf(draw->arena, "%s: schedule of a step", draw->diagram->title);
    return true;
}
