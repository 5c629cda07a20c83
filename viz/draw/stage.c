/* stage.c - pipeline stages: a frame each, what is sent between, and the schedule as a table. */
#include "viz/draw/holding.h"
#include "viz/draw/moves.h"
#include "viz/draw/runs.h"

#include "core/plan/comm.h"
#include "core/plan/cost.h"
#include "core/plan/label.h"
#include "core/plan/stage.h"

#include <math.h>

enum {
    STAGES_DRAWN = 16, /* of more the first and the last few, and one box for those between */
    FIRST_DRAWN = 6,
    LAST_DRAWN = 3
};

typedef struct {
    Draw *draw;
    const Plan *plan;
    const Stages *stages;
    RankMemories ranks;
    int *box;    /* per stage */
    int n_drawn; /* stages so far */
    int level;   /* of the last of them */
    int slowest; /* stage; -1: all take alike */
} Picture;

/* ---- a stage ---- */

/* So many stand beside each other. */
static int next_level(Picture *picture)
{
    enum { BESIDE = 4 };
    picture->level = picture->n_drawn++ / BESIDE;
    return picture->level;
}

/* The titles of what a stage runs, a line an item. */
static const char *say_runs(const Picture *picture, int stage)
{
    Draw *draw = picture->draw;
    bool *member = arena_array(draw->arena, bool, draw->graph->n_ops);
    Buf text = buf_new(draw->arena);

    for (int op = 0; op < draw->graph->n_ops; op++)
        member[op] = plan_cut(picture->plan, op) && picture->stages->of_op[op] == stage;
    RunList runs = runs_of(draw, member);
    runs_format(&runs, 0, runs.n, &text);
    return text.s;
}

/* Collectives of one micro-batch on the stage's own devices. */
static const char *say_collectives(const Picture *picture, int stage)
{
    const Plan *plan = picture->plan;
    Moves moves = moves_new(picture->draw->arena, plan->mesh);

    for (int32_t r = 0; r < plan->n_reshards; r++) {
        const Reshard *reshard = &plan->reshards[r];
        int from, to;
        stage_ends(plan, reshard, &from, &to);
        for (int s = 0, at = from; s < reshard->path->n_steps && to >= 0; s++) {
            const Step *step = &reshard->path->step[s];
            bool sends = step->kind == STEP_SEND || step->kind == STEP_BROADCAST;
            at = sends ? to : at;
            if (!sends && at == stage)
                moves_add(&moves, r, step->kind, step->atoms, step->bytes, step->us,
                          reshard_repeat(plan, reshard));
        }
    }
    moves_sort(&moves);
    return moves_format(picture->draw, &moves);
}

static const char *say_forward(const Picture *picture, int s)
{
    Draw *draw = picture->draw;
    const Stage *stage = &picture->stages->at[s];
    const char *text = say_us(draw, stage_forward_us(stage));

    if (s == picture->slowest)
        text = arena_printf(draw->arena, "%s, the slowest", text);
    if (stage->comm_us > 0)
        text = arena_printf(draw->arena, "%s\n%s of it collectives", text,
                            say_us(draw, stage->comm_us));
    return text;
}

/* The stage that others wait for; -1: they take as long, to the hundredth part. */
static int slowest_of(const Stages *stages)
{
    int slowest = 0;
    double least = INFINITY, most = 0;

    for (int s = 0; s < stages->n; s++) {
        double us = stage_forward_us(&stages->at[s]);
        least = us < least ? us : least;
        if (us > most) {
            slowest = s;
            most = us;
        }
    }
    return most > 1.01 * least ? slowest : -1;
}

static const char *say_in_flight(const Picture *picture, int stage)
{
    const Schedule *table = picture->stages->table;
    return table ? say_count(picture->draw, table->in_flight[stage], "micro-batch") : "";
}

static const char *say_holds(const Picture *picture, const Stage *stage)
{
    SubMesh part = picture->plan->submeshes[stage->devices];
    const RankMemory *memory = &picture->ranks.at[picture->ranks.of_rank[part.first]];

    return arena_printf(picture->draw->arena, "%s of parameters\npeak %s",
                        say_bytes(picture->draw, memory->by_class[MEMORY_PARAMETER]),
                        say_peak(picture->draw, memory->use.peak_bytes));
}

static const char *say_origin(const Picture *picture, const Stage *stage)
{
    Buf text = buf_new(picture->draw->arena);
    const Decision *decision = stage->decision ? stage->decision : stage->placed;

    if (!decision)
        return NULL;
    label_origin(&decision->origin, &text);
    return text.s;
}

static void draw_stage(Picture *picture, int s)
{
    Draw *draw = picture->draw;
    const Stage *stage = &picture->stages->at[s];
    SubMesh part = picture->plan->submeshes[stage->devices];
    const Schedule *table = picture->stages->table;
    Cells cells = cells_new(draw->arena, 2);
    DiagramFrame frame = {.look = FRAME_STAGE, .why = say_origin(picture, stage), .parent = -1};

    frame.title =
        arena_printf(draw->arena, "stage %d on %s", s, say_part_name(draw, stage->devices));
    DiagramBox box = draw_new_box(BOX_DEVICE, say_part(draw, part));
    box.operator= say_count(draw, submesh_size(picture->plan->mesh, part), "device");
    box.frame = draw_frame(draw, frame);
    box.why = frame.why;
    box.link = arena_printf(draw->arena, "#op-%d", picture->plan->inferred->program[stage->first]);
    box.level = next_level(picture);
    cells_put_fact(&cells, "runs", say_runs(picture, s));
    cells_put_fact(&cells, "holds", say_holds(picture, stage));
    cells_put_fact(&cells, "forward", say_forward(picture, s));
    if (table && table->trains)
        cells_put_fact(&cells, "backward", say_us(draw, stage_backward_us(stage)));
    cells_put_fact(&cells, "in flight", say_in_flight(picture, s));
    cells_put_fact(&cells, "moves", say_collectives(picture, s));
    if (stage->relay && s > 0)
        cells_put_fact(&cells, "relays", "what later stages need");
    cells_give(&cells, &box);
    box.marked = s == picture->slowest;
    picture->box[s] = draw_box(draw, box);
}

/* One box for stages first..end. */
static void draw_between(Picture *picture, int first, int end)
{
    Draw *draw = picture->draw;
    double least = INFINITY, most = 0;
    Cells cells = cells_new(draw->arena, 2);
    DiagramFrame frame = {.look = FRAME_STAGE, .parent = -1};

    frame.title = arena_printf(draw->arena, "stages %d to %d", first, end - 1);
    DiagramBox box = draw_new_box(BOX_GROUP, frame.title);
    box.operator= say_count(draw, end - first, "stage");
    box.frame = draw_frame(draw, frame);
    box.level = next_level(picture);
    int at = draw_box(draw, box);
    for (int s = first; s < end; s++) {
        double us = stage_forward_us(&picture->stages->at[s]);
        least = us < least ? us : least;
        most = us > most ? us : most;
        picture->box[s] = at;
    }
    const char *runs = say_runs(picture, first);
    cells_put_fact(&cells, "runs", arena_printf(draw->arena, "%s\n..", runs));
    cells_put_fact(&cells, "forward",
                   arena_printf(draw->arena, "%s to %s", say_us(draw, least), say_us(draw, most)));
    cells_give(&cells, &draw->boxes.at[at]);
}

/* ---- what is sent ---- */

/* "2 P2P", what they take together, and how long. */
static const char *say_sent(const Draw *draw, const Moves *sent)
{
    double n = 0, bytes = 0;

    for (int i = 0; i < sent->at.n; i++) {
        n += sent->at.at[i].n;
        bytes += sent->at.at[i].bytes;
    }
    return arena_printf(draw->arena, "%.10g %s\n%s\n%s", n, step_kind_mark(sent->at.at[0].kind),
                        say_bytes(draw, (int64_t)bytes), say_us(draw, moves_us(sent)));
}

/* A line for all that goes from one box to another. */
static void draw_sends(Picture *picture)
{
    Draw *draw = picture->draw;
    const Plan *plan = picture->plan;
    Intern *pairs = intern_new(draw->arena);
    Vec(Moves) sent = {0};

    for (int32_t r = 0; r < plan->n_reshards; r++) {
        const Reshard *reshard = &plan->reshards[r];
        int from, to;
        stage_ends(plan, reshard, &from, &to);
        if (from < 0 || to < 0 || from == to)
            continue;
        int32_t key[2] = {picture->box[from], picture->box[to]};
        int32_t id = intern_put(pairs, key, sizeof key);
        if (id == sent.n)
            vec_push(draw->arena, &sent, moves_new(draw->arena, draw->plan->mesh));
        for (int s = 0; s < reshard->path->n_steps; s++) {
            const Step *step = &reshard->path->step[s];
            if (step->kind == STEP_SEND || step->kind == STEP_BROADCAST)
                moves_add(&sent.at[id], r, step->kind, step->atoms, step->bytes, step->us,
                          reshard_repeat(plan, reshard));
        }
    }
    for (int id = 0; id < sent.n; id++) {
        const int32_t *pair = intern_key(pairs, id, NULL);
        if (sent.at[id].at.n == 0)
            continue;
        DiagramLine line = moves_line(draw, &sent.at[id], pair[0], pair[1]);
        line.label = say_sent(draw, &sent.at[id]);
        line.loose = pair[0] == pair[1];
        draw_line(draw, line);
    }
}

/* ---- the schedule ---- */

enum {
    STEPS_DRAWN = 24, /* of more the first and the last, and a column of dots between */
    STEPS_FIRST = 14,
    STEPS_LAST = 8,
    LANES_DRAWN = 16,
    LANES_FIRST = 9,
    LANES_LAST = 4
};

static bool lane_has_several(const Lanes *lanes, int n_stages, int lane)
{
    int n = 0;

    for (int s = 0; s < n_stages; s++)
        for (int32_t i = lanes->first[s]; i < lanes->first[s + 1]; i++)
            n += lanes->lane[i] == lane;
    return n > 1;
}

static const char *say_lane(const Picture *picture, int lane)
{
    const Lanes *lanes = picture->stages->lanes;

    for (int s = 0; s < picture->stages->n; s++)
        if (lanes->first[s + 1] - lanes->first[s] == 1 && lanes->lane[lanes->first[s]] == lane)
            return say_part_name(picture->draw, picture->stages->at[s].devices);
    return arena_printf(picture->draw->arena, "lane %d", lane);
}

/* The cells of one block, on all lanes it keeps busy. */
static void mark_block(const Picture *picture, const Block *block, const Shown *rows,
                       const Shown *columns, DiagramCell *cells)
{
    const Lanes *lanes = picture->stages->lanes;
    const Draw *draw = picture->draw;

    for (int32_t l = lanes->first[block->stage]; l < lanes->first[block->stage + 1]; l++) {
        int row = shown_find(rows, lanes->lane[l]);
        bool several = lane_has_several(lanes, picture->stages->n, lanes->lane[l]);
        for (int step = block->step; row >= 0 && step < block->step + block->span; step++) {
            int column = shown_find(columns, step);
            if (column < 0)
                continue;
            DiagramCell *cell = &cells[(row + 1) * (columns->n + 1) + column + 1];
            cell->shade = block->backward ? 2 : 1;
            cell->look = CELL_PLAIN;
            cell->text =
                arena_printf(draw->arena, "%c%d", block->backward ? 'B' : 'F', block->micro_batch);
            if (several)
                cell->text = arena_printf(draw->arena, "%s s%d", cell->text, block->stage);
            if (step > block->step)
                cell->text = block->backward ? "B" : "F";
        }
    }
}

static DiagramCell *new_chart(const Picture *picture, const Shown *rows, const Shown *columns)
{
    Draw *draw = picture->draw;
    int width = columns->n + 1;
    DiagramCell *cells = arena_array(draw->arena, DiagramCell, width * (rows->n + 1));

    for (int row = -1; row < rows->n; row++)
        for (int column = -1; column < columns->n; column++) {
            DiagramCell *cell = &cells[(row + 1) * width + column + 1];
            int lane = row < 0 ? 0 : (int)shown_at(rows, row);
            int step = column < 0 ? 0 : (int)shown_at(columns, column);
            bool head = row < 0 || column < 0;
            cell->look = head ? CELL_HEAD : CELL_FAINT;
            cell->text = lane < 0 || step < 0     ? ".."
                         : row >= 0 && column < 0 ? say_lane(picture, lane)
                         : row < 0 && column < 0  ? "step"
                         : row < 0                ? arena_printf(draw->arena, "%d", step)
                                                  : "";
        }
    return cells;
}

static void draw_schedule(Picture *picture)
{
    Draw *draw = picture->draw;
    const Schedule *table = picture->stages->table;
    Shown rows = shown_of(table->lanes->n, LANES_DRAWN, LANES_FIRST, LANES_LAST);
    Shown columns = shown_of(table->n_steps, STEPS_DRAWN, STEPS_FIRST, STEPS_LAST);
    DiagramCell *cells = new_chart(picture, &rows, &columns);
    DiagramBox box = draw_new_box(BOX_TABLE, arena_printf(draw->arena, "schedule %s", table->name));

    for (int i = 0; i < table->n_blocks; i++)
        mark_block(picture, &table->block[i], &rows, &columns, cells);
    box.operator= say_count(draw, table->n_micro_batches, "micro-batch");
    box.figures = table->trains ? "F0: forward of micro-batch 0, B0: its backward"
                                : "F0: forward of micro-batch 0";
    box.level = picture->level + 1;
    box.n_columns = columns.n + 1;
    box.n_cells = box.n_columns * (rows.n + 1);
    box.cells = cells;
    int at = draw_box(draw, box);
    for (int s = 0; s < picture->stages->n; s++)
        if (draw->boxes.at[picture->box[s]].level == picture->level)
            draw_below(draw, picture->box[s], at);
}

/* ---- the whole ---- */

static void draw_all(Picture *picture)
{
    Draw *draw = picture->draw;
    const Stages *stages = picture->stages;
    Buf says = buf_new(draw->arena);
    bool folded = stages->n > STAGES_DRAWN;
    int first = folded ? FIRST_DRAWN : stages->n, last = folded ? stages->n - LAST_DRAWN : first;

    picture->box = arena_array(draw->arena, int, stages->n);
    picture->slowest = slowest_of(stages);
    for (int s = 0; s < first; s++)
        draw_stage(picture, s);
    if (folded)
        draw_between(picture, first, last);
    for (int s = last; s < stages->n; s++)
        draw_stage(picture, s);
    draw_sends(picture);
    if (stages->table)
        draw_schedule(picture);
    stages_explain(picture->plan, &says);
    draw->diagram->says = says.s;
    draw->diagram->title = arena_printf(draw->arena, "%s: pipeline of %s", draw->diagram->title,
                                        say_count(draw, stages->n, "stage"));
}

bool draw_stages(Draw *draw, Error *err)
{
    Picture picture = {.draw = draw, .plan = draw->plan, .stages = draw->plan->stages};

    if (!picture.stages || picture.stages->n == 0) {
        error_kind(err, ERROR_UNSUPPORTED, "this plan has no pipeline stages");
        error_hint(err, "-m pp=2,dp=2,tp=2 -p hybrid3d has two; in a policy graph:staging{..} "
                        "makes them");
        return false;
    }
    MemoryAccount *account = memory_account_new(draw->plan);
    picture.ranks = memory_ranks(draw->arena, account, NULL);
    draw_all(&picture);
    memory_account_free(account);
    return true;
}
