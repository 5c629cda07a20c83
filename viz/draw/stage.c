/* stage.c - pipeline stages, a frame each, and the transfers between them. */
#include "viz/draw/stage.h"

#include "viz/draw/moves.h"

#include "core/cost/cost.h"
#include "core/summary/label.h"
#include "core/cost/pipeline.h"

#include <math.h>

enum {
    ALIKE_LEAST = 3, /* so many consecutive equal stages are drawn as one */
    ROWS_DRAWN =
        8, /* of more rows the first and the last few are drawn, with a placeholder between */
    ROWS_FIRST = 4,
    ROWS_LAST = 2
};

/* ---- stages that are drawn as one ---- */

static RunList runs_of_stage(const StagePicture *picture, int stage)
{
    Draw *draw = picture->draw;
    bool *member = arena_array(draw->arena, bool, draw->graph->n_ops);

    for (int op = 0; op < draw->graph->n_ops; op++)
        member[op] = plan_cut(picture->plan, op) && picture->stages->of_op[op] == stage;
    return runs_of(draw, member);
}

/* Returns whether both have the same number of layers of one structure, and take equally long. */
static bool stages_alike(const StagePicture *picture, int a, int b)
{
    double x = stage_forward_us(&picture->plan->priced->pipeline->stage[a]);
    double y = stage_forward_us(&picture->plan->priced->pipeline->stage[b]);

    return fabs(x - y) <= 1e-3 * fmax(x, y) &&
           runs_alike(picture->draw, &picture->runs[a], &picture->runs[b]);
}

static void add_row(StagePicture *picture, int first, int end, bool alike)
{
    StageRow row = {first, end, alike};
    vec_push(picture->draw->arena, &picture->rows, row);
}

static void list_rows(StagePicture *picture)
{
    int n = picture->stages->n;

    for (int s = 0, end; s < n; s = end) {
        end = s + 1;
        while (end < n && stages_alike(picture, s, end))
            end++;
        bool alike = end - s >= ALIKE_LEAST;
        end = alike ? end : s + 1;
        add_row(picture, s, end, alike);
    }
    if (picture->rows.n <= ROWS_DRAWN)
        return;
    StageRow *rows = picture->rows.at, *last = &rows[picture->rows.n - ROWS_LAST];
    rows[ROWS_FIRST] = (StageRow){rows[ROWS_FIRST].first, last->first, false};
    for (int i = 0; i < ROWS_LAST; i++)
        rows[ROWS_FIRST + 1 + i] = last[i];
    picture->rows.n = ROWS_FIRST + 1 + ROWS_LAST;
}

/* ---- a stage ---- */

/* Collectives of one micro-batch on the stage's own devices. */
static Text collectives_text(const StagePicture *picture, int stage)
{
    const Plan *plan = picture->plan;
    Moves moves = moves_new(picture->draw->arena, plan->mesh);

    for (int32_t r = 0; r < plan->moved->n_reshards; r++) {
        const Reshard *reshard = &plan->moved->reshards[r];
        int from, to;
        stage_ends(plan, reshard, &from, &to);
        for (int s = 0, at = from; s < reshard->path->n_steps && to >= 0; s++) {
            const Step *step = &reshard->path->step[s];
            bool sends = kind_sends(step->kind);
            at = sends ? to : at;
            if (!sends && at == stage)
                moves_add(&moves, r, step->kind, step->atoms, step->bytes, step->us,
                          reshard_repeat(plan, reshard));
        }
    }
    moves_sort(&moves);
    return moves_format(picture->draw, &moves);
}

static const char *forward_text(const StagePicture *picture, int s)
{
    Draw *draw = picture->draw;
    const StagePrice *price = &picture->plan->priced->pipeline->stage[s];
    const char *text = draw_us(draw, stage_forward_us(price));

    if (s == picture->slowest)
        text = arena_printf(draw->arena, "%s, the slowest", text);
    if (price->comm_us > 0)
        text = arena_printf(draw->arena, "%s\n%s of it collectives", text,
                            draw_us(draw, price->comm_us));
    return text;
}

/* The slowest stage; -1 if all take equally long, within 1%. */
static int slowest_of(const Plan *plan)
{
    int slowest = 0;
    double least = INFINITY, most = 0;

    for (int s = 0; s < plan->decided->stages->n; s++) {
        double us = stage_forward_us(&plan->priced->pipeline->stage[s]);
        least = us < least ? us : least;
        if (us > most) {
            slowest = s;
            most = us;
        }
    }
    return most > 1.01 * least ? slowest : -1;
}

static const char *in_flight_text(const StagePicture *picture, const StageRow *row)
{
    const Schedule *table = plan_schedule(picture->plan);

    if (!table)
        return "";
    int first = table->in_flight[row->first], last = table->in_flight[row->end - 1];
    if (first == last)
        return count_text(picture->draw, first, "micro-batch");
    return arena_printf(picture->draw->arena, "%d to %s", first,
                        count_text(picture->draw, last, "micro-batch"));
}

static const char *holds_text(const StagePicture *picture, const Stage *stage)
{
    SubMesh part = picture->plan->decided->submeshes[stage->devices];
    const RankMemory *memory = &picture->ranks.at[picture->ranks.of_rank[part.first]];

    return arena_printf(picture->draw->arena, "%s of parameters\npeak %s",
                        draw_bytes(picture->draw, memory->by_class[MEMORY_PARAMETER]),
                        peak_text(picture->draw, memory->use.peak_bytes));
}

static const char *origin_text(const StagePicture *picture, const Stage *stage)
{
    Buf text = buf_new(picture->draw->arena);
    const Decision *decision = stage->decision ? stage->decision : stage->placed;

    if (!decision)
        return NULL;
    label_origin(picture->plan->mesh, &decision->origin, &text);
    return text.s;
}

static const char *title_text(const StagePicture *picture, const StageRow *row)
{
    const Draw *draw = picture->draw;
    const char *first = part_name_text(draw, picture->stages->at[row->first].devices);
    const char *last = part_name_text(draw, picture->stages->at[row->end - 1].devices);

    if (row->end - row->first == 1)
        return arena_printf(draw->arena, "stage %d on %s", row->first, first);
    return arena_printf(draw->arena, "stages %d to %d on %s .. %s%s", row->first, row->end - 1,
                        first, last, row->alike ? ", alike" : "");
}

/* The facts of each stage of the row; of several that differ, what the first runs. */
static void put_facts(const StagePicture *picture, const StageRow *row, Cells *cells)
{
    const Draw *draw = picture->draw;
    int s = row->first;
    const Stage *stage = &picture->stages->at[s];
    const StagePrice *price = &picture->plan->priced->pipeline->stage[s];
    const Schedule *table = plan_schedule(picture->plan);
    bool same = row->alike || row->end == row->first + 1;
    Buf runs = buf_new(draw->arena);

    runs_format(&picture->runs[s], 0, picture->runs[s].n, &runs);
    if (row->end > row->first + 1)
        buf_puts(&runs, "\n..");
    cells_put_fact(cells, "runs", text_from(runs.s));
    if (same) {
        cells_put_fact(cells, "holds", text_from(holds_text(picture, stage)));
        cells_put_fact(cells, "forward", text_from(forward_text(picture, s)));
        if (table && table->trains)
            cells_put_fact(cells, "backward", text_from(draw_us(draw, stage_backward_us(price))));
    }
    cells_put_fact(cells, "in flight", text_from(in_flight_text(picture, row)));
    if (same)
        cells_put_fact(cells, "moves", collectives_text(picture, s));
    if (same && stage->relay && s > 0)
        cells_put_fact(cells, "relays", text_from("for later stages"));
}

static void draw_row(StagePicture *picture, const StageRow *row)
{
    Draw *draw = picture->draw;
    const Stage *stage = &picture->stages->at[row->first];
    SubMesh part = picture->plan->decided->submeshes[stage->devices];
    Cells cells = cells_new(draw->arena, 2);
    DiagramFrame frame =
        draw_new_frame(FRAME_STAGE, title_text(picture, row), origin_text(picture, stage), -1);
    bool alone = row->end == row->first + 1;
    DiagramBox box = diagram_box(alone ? BOX_DEVICE : BOX_GROUP, part_text(draw, part));

    box.subtitle = count_text(draw, submesh_size(picture->plan->mesh, part), "device");
    if (!alone) {
        box.title = arena_printf(draw->arena, "%d stages", row->end - row->first);
        box.subtitle = arena_printf(draw->arena, "%s each", box.subtitle);
    }
    box.frame = draw_frame(draw, frame);
    box.why = frame.why;
    box.link = arena_printf(draw->arena, "#op-%d", picture->plan->inferred->program[stage->first]);
    box.marked = row->first <= picture->slowest && picture->slowest < row->end;
    put_facts(picture, row, &cells);
    cells_give(&cells, &box);
    int at = draw_box(draw, box);
    for (int s = row->first; s < row->end; s++)
        picture->box[s] = at;
}

/* ---- what is sent ---- */

/* "2 P2P", their time and their bytes. */
static const char *sent_text(const Draw *draw, const Moves *sent)
{
    double n = 0, bytes = 0;

    for (int i = 0; i < sent->at.n; i++) {
        n += sent->at.at[i].n;
        bytes += sent->at.at[i].bytes;
    }
    return arena_printf(draw->arena, "%.10g %s\n%s\n%s", n, step_kind_mark(sent->at.at[0].kind),
                        draw_bytes(draw, (int64_t)bytes), draw_us(draw, moves_us(sent)));
}

/* The transfers between stages that share one box. */
static void draw_among(Draw *draw, int at, const Moves *sent)
{
    DiagramBox *box = &draw->boxes.at[at];
    Cells cells = cells_new(draw->arena, 2);

    for (int i = 0; i < box->n_cells; i++)
        cells_put_cell(&cells, box->cells[i]);
    cells_put_fact(&cells, "between them", text_from(sent_text(draw, sent)));
    cells_give(&cells, box);
}

/* One line for all transfers from one box to another. */
static void draw_sends(StagePicture *picture)
{
    Draw *draw = picture->draw;
    const Plan *plan = picture->plan;
    Intern *pairs = intern_new(draw->arena);
    Vec(Moves) sent = {0};

    for (int32_t r = 0; r < plan->moved->n_reshards; r++) {
        const Reshard *reshard = &plan->moved->reshards[r];
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
            if (kind_sends(step->kind))
                moves_add(&sent.at[id], r, step->kind, step->atoms, step->bytes, step->us,
                          reshard_repeat(plan, reshard));
        }
    }
    for (int id = 0; id < sent.n; id++) {
        const int32_t *pair = intern_key(pairs, id, NULL);
        if (sent.at[id].at.n == 0)
            continue;
        if (pair[0] == pair[1]) {
            draw_among(draw, pair[0], &sent.at[id]);
            continue;
        }
        DiagramLine line = moves_line(draw, &sent.at[id], pair[0], pair[1]);
        line.label = text_from(sent_text(draw, &sent.at[id]));
        draw_line(draw, line);
    }
}

/* ---- the whole drawing ---- */

static void draw_all(StagePicture *picture)
{
    Draw *draw = picture->draw;
    const Stages *stages = picture->stages;
    Buf caption = buf_marked(draw->arena);

    picture->box = arena_array(draw->arena, int, stages->n);
    picture->runs = arena_array(draw->arena, RunList, stages->n);
    for (int s = 0; s < stages->n; s++)
        picture->runs[s] = runs_of_stage(picture, s);
    picture->slowest = slowest_of(picture->plan);
    list_rows(picture);
    for (int i = 0; i < picture->rows.n; i++)
        draw_row(picture, &picture->rows.at[i]);
    for (int i = 1; i < picture->rows.n; i++)
        draw_below(draw, picture->box[picture->rows.at[i - 1].first],
                   picture->box[picture->rows.at[i].first]);
    draw_sends(picture);
    pipeline_explain(picture->plan, &caption);
    draw->diagram->caption = buf_text(&caption);
    draw->diagram->sideways = true;
    draw->diagram->title = arena_printf(draw->arena, "%s: pipeline of %s", draw->diagram->title,
                                        count_text(draw, stages->n, "stage"));
}

bool draw_stages(Draw *draw, Error *err)
{
    StagePicture picture = {
        .draw = draw, .plan = draw->plan, .stages = draw->plan->decided->stages};

    if (!picture.stages || picture.stages->n == 0) {
        error_kind(err, ERROR_UNSUPPORTED, "this plan has no pipeline stages");
        error_hint(err, "-m pp=2,dp=2,tp=2 -p hybrid3d has two; a policy makes them with "
                        "graph:staging{node, ..} or graph:assign(nodes, {pp = 0})");
        return false;
    }
    MemoryAccount *account = memory_account_new(draw->plan);
    picture.ranks = memory_ranks(draw->arena, account, NULL);
    draw_all(&picture);
    memory_account_free(account);
    return true;
}
