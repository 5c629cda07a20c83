/* schedule.c - the schedule of a step along time: a row per lane of devices, a box per block, as
 * wide as it takes, and between blocks why the lane waits; behind it what a step does once. Below
 * each lane what it communicates, in the colours of axes: high where ops wait for it, low beside
 * them. */
#include "viz/draw/canvas.h"

#include "core/base/units.h"
#include "core/cost/pipeline_idle.h"
#include "viz/draw/holding.h"
#include "viz/draw/schedule.h"

#include <math.h>

enum { LANES_DRAWN = 24, LANES_FIRST = 12, LANES_LAST = 8, BLOCKS_DRAWN = 1 << 13, GAP = 2 };

/* ORDER BLOCK_PASS, then the update: its name, its tint. */
static const struct {
    const char *name;
    int shade;
} passes[] = {{"forward", 1},
              {"backward", 2},
              {"input gradient", 2},
              {"weight gradient", 3},
              {"once a step", 5}};
enum { ONCE = N_BLOCK_PASSES };

/* ORDER IDLE: tints of waiting. */
static const int idle_shades[N_IDLE_CAUSES] = {8, 4, 7, 6, 6};

typedef struct {
    Canvas canvas;
    const Plan *plan;
    const Schedule *table;
    const StageComm *comm; /* per stage */
    ScheduleIdle idle;
    Shown lanes;
    double row, below;           /* heights of a lane, and of its communication */
    double left, top, us, scale; /* us: of the page's width; scale: points per us */
    bool used[ONCE + 1], waits[N_IDLE_CAUSES];
    AtomSet moved; /* over any of these something is moved */
    bool beside;
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
    return chart->top + row * (chart->row + chart->below + 2 * GAP);
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

/* ---- communication ---- */

static void put_bar(Chart *chart, int row, double start, const CommTime *time)
{
    static const double LEAST = 0.25; /* points */
    const Mesh *mesh = chart->plan->mesh;
    Arena *arena = chart->canvas.draw->arena;
    uint8_t atom[ATOMS_MAX];
    Buf why = buf_new(arena);
    double h = time->beside ? chart->below / 3 : chart->below;
    int axis = mesh_list_set(mesh, time->atoms, atom) > 0 ? mesh->atoms[atom[0]].axis : -1;
    DiagramPlace place = {chart->left + start * chart->scale, lane_y(chart, row) + chart->row,
                          time->us * chart->scale, h};

    if (place.w < LEAST)
        return;
    mesh_format_set(mesh, time->atoms, ".", &why);
    buf_puts(&why, time->atoms ? ": " : "inside an op: ");
    units_format_us(time->us, &why);
    buf_puts(&why, time->beside ? " beside ops" : " that ops wait");
    canvas_fill(&chart->canvas, place, axis < 0 ? 8 : 0, axis, why.s);
    chart->moved |= time->atoms;
    chart->beside |= time->beside;
}

/* One after the other: what ops wait for from a time on, and what runs beside them. */
static void put_bars(Chart *chart, int row, const CommTimes *times, double start, double beside)
{
    for (int i = 0; i < times->n; i++) {
        double *at = times->at[i].beside ? &beside : &start;
        if (times->at[i].gathers)
            continue;
        put_bar(chart, row, *at, &times->at[i]);
        *at += times->at[i].us;
    }
}

/* What is sent when a block has ended, below the lane that gets it. */
static void put_send(Chart *chart, const Block *block)
{
    int to = block->stage + (block->backward ? -1 : 1);
    const StagePrice *stage = chart->plan->priced->pipeline->stage;
    const Lanes *lanes = chart->table->lanes;

    if (to < 0 || to >= chart->table->n_stages || block->pass == BLOCK_WEIGHT)
        return;
    const StageComm *comm = &chart->comm[block->backward ? block->stage : to];
    CommTime time = {.atoms = block->backward ? comm->returned : comm->received, .beside = true};
    time.us = block->backward ? stage_return_us(&stage[block->stage]) : stage[to].receive_us;
    for (int32_t i = lanes->first[to]; time.atoms && i < lanes->first[to + 1]; i++) {
        int row = shown_find(&chart->lanes, lanes->lane[i]);
        if (row >= 0)
            put_bar(chart, row, block->end_us, &time);
    }
}

/* ---- blocks ---- */

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
            if (row < 0)
                continue;
            put_block(chart, row, block->start_us, block->end_us, block->pass,
                      arena_printf(arena, "%d", block->micro_batch), why.s);
            put_bars(chart, row, &chart->comm[block->stage].pass[block->pass], block->start_us,
                     block->start_us);
        }
        put_send(chart, block);
    }
}

/* Between blocks, before and behind them, in the tint of why the lane waits. */
static void put_gaps(Chart *chart)
{
    for (int i = 0; i < chart->idle.n; i++) {
        const IdleGap *gap = &chart->idle.gap[i];
        int row = shown_find(&chart->lanes, gap->lane);
        double us = gap->end_us - gap->start_us;
        if (row < 0 || us < IDLE_SHOWN * chart->us)
            continue;
        DiagramPlace place = {chart->left + gap->start_us * chart->scale, lane_y(chart, row),
                              us * chart->scale, chart->row};
        Buf why = buf_new(chart->canvas.draw->arena);
        buf_printf(&why, "waits: %s, ", idle_cause_name(gap->cause));
        units_format_us(us, &why);
        int at = canvas_fill(&chart->canvas, place, idle_shades[gap->cause], -1, why.s);
        chart->canvas.draw->boxes.at[at].look = BOX_AREA;
        chart->waits[gap->cause] = true;
    }
}

/* When the last backward of a stage ends, under which reductions run. */
static double last_end(const Chart *chart, int stage)
{
    double end = 0;

    for (int b = 0; b < chart->table->n_blocks; b++)
        if (chart->table->block[b].stage == stage)
            end = fmax(end, chart->table->block[b].end_us);
    return end;
}

static void put_once_moves(Chart *chart, int stage, int row)
{
    const CommTimes *once = &chart->comm[stage].once;
    double beside = 0, gathered = 0;

    for (int i = 0; i < once->n; i++)
        if (once->at[i].gathers) { /* under the first forward */
            put_bar(chart, row, gathered, &once->at[i]);
            gathered += once->at[i].us;
        } else if (once->at[i].beside) {
            beside += once->at[i].us;
        }
    put_bars(chart, row, once, chart->table->us, fmax(0, last_end(chart, stage) - beside));
}

/* What is done once: gradients are reduced and parameters updated, on each stage's devices. */
static void put_once(Chart *chart)
{
    const Lanes *lanes = chart->table->lanes;

    for (int s = 0; s < chart->table->n_stages; s++) {
        double us = chart->plan->priced->pipeline->stage[s].once_us;
        for (int32_t i = lanes->first[s]; us > 0 && i < lanes->first[s + 1]; i++) {
            int row = shown_find(&chart->lanes, lanes->lane[i]);
            if (row < 0)
                continue;
            put_block(chart, row, chart->table->us, chart->table->us + us, ONCE, "",
                      "gradients reduced, parameters updated");
            put_once_moves(chart, s, row);
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
    const Mesh *mesh = chart->plan->mesh;
    Arena *arena = chart->canvas.draw->arena;

    for (int pass = 0; pass <= ONCE; pass++)
        if (chart->used[pass])
            canvas_key(&chart->canvas, &key, passes[pass].shade, -1, text_from(passes[pass].name));
    for (int cause = 0; cause < N_IDLE_CAUSES; cause++)
        if (chart->waits[cause])
            canvas_key(
                &chart->canvas, &key, idle_shades[cause], -1,
                text_from(arena_printf(arena, "waits: %s", idle_cause_name((IdleCause)cause))));
    mesh_each_axis (axis, mesh) {
        int at = (int)(axis - mesh->axes);
        Buf name = buf_marked(arena);
        if (!(chart->moved & mesh_axis_atoms(mesh, at)))
            continue;
        mesh_put_axis(mesh, at, &name);
        buf_puts(&name, " moves");
        canvas_key(&chart->canvas, &key, 0, at, buf_text(&name));
    }
}

static void put_caption(const Chart *chart)
{
    Buf caption = buf_marked(chart->canvas.draw->arena);

    pipeline_explain(chart->plan, &caption);
    buf_puts(&caption, "; numbers are micro-batches");
    if (chart->moved)
        buf_puts(&caption, "; below a lane its communication by axis, high where ops wait for it, "
                           "summed at the start of a block");
    if (chart->beside)
        buf_puts(&caption, ", low where it runs beside ops");
    chart->canvas.draw->diagram->caption = buf_text(&caption);
}

bool draw_schedule(Draw *draw, Error *err)
{
    Chart chart = {
        .canvas = canvas_new(draw), .plan = draw->plan, .table = plan_schedule(draw->plan)};
    double once = 0;

    if (!chart.table) {
        error_kind(err, ERROR_UNSUPPORTED, "this plan has no schedule of micro-batches");
        error_hint(err, "a plan with pipeline stages has: -m pp=2,dp=2,tp=2 -p hybrid3d");
        return false;
    }
    if (chart.table->n_blocks > BLOCKS_DRAWN) {
        error_kind(err, ERROR_UNSUPPORTED, "%d blocks are too many to draw (at most %d)",
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
    chart.below = 0.5 * chart.canvas.points;
    chart.comm = schedule_comm(draw->arena, draw->plan);
    chart.idle = pipeline_idle(draw->arena, draw->plan);
    chart.left += 4;
    chart.us = chart.table->us + once;
    chart.scale = (chart.canvas.width - chart.left - 2) / chart.us;
    put_lanes(&chart);
    put_gaps(&chart);
    put_blocks(&chart);
    put_once(&chart);
    canvas_axis(&chart.canvas, chart.left, lane_y(&chart, chart.lanes.n), chart.us * chart.scale,
                chart.us);
    put_key(&chart, lane_y(&chart, chart.lanes.n) + 2.2 * chart.row);
    put_caption(&chart);
    draw->diagram->title =
        arena_printf(draw->arena, "%s: schedule of a step", draw->diagram->title);
    return true;
}
