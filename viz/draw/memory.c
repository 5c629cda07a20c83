/* memory.c - what fills a device: a bar of classes for each group of equal devices at its peak, and
 * the same along the time of a step for one device. */
#include "viz/draw/canvas.h"

#include "core/base/units.h"
#include "core/cost/memory.h"
#include "core/cost/memory_moments.h"
#include "core/cost/pipeline.h"
#include "core/plan/stage.h"
#include "core/summary/estimate.h"
#include "core/summary/label.h"
#include "viz/draw/holding.h"
#include "core/plan/plan_machine.h"

#include <math.h>
#include <stdlib.h>

/* From left to right, and from the bottom up: what is always there first. */
static const struct {
    const char *name;
    MemoryClass class;
    int shade;
} layers[] = {
    {"parameters", MEMORY_PARAMETER, 1}, {"gradients", MEMORY_GRADIENT, 2},
    {"optimizer", MEMORY_OPTIMIZER, 3},  {"activations", MEMORY_ACTIVATION, 4},
    {"buffers", MEMORY_BUFFER, 6},       {"inputs", MEMORY_INPUT, 5},
    {"constants", MEMORY_CONSTANT, 8},
};
enum { N_LAYERS = sizeof layers / sizeof *layers };

/* The memory of a plan's devices, and of the same ones under other settings of its policy. */
typedef struct {
    const char *label; /* "zero=1"; "" of the plan as it is */
    RankMemories ranks;
} MemorySet;

enum { SETS_MOST = 8 };

typedef struct {
    Canvas canvas;
    int n_sets;
    MemorySet set[SETS_MOST];
    double row, left, top;
    double full; /* x at which a device is full; 0: beyond the bars */
    bool used[N_LAYERS];
} MemoryPicture;

/* A part too thin to be seen has no box. */
static void put_part(MemoryPicture *picture, BoxLook look, int layer, DiagramPlace place,
                     int64_t bytes)
{
    static const double LEAST = 0.3;
    Arena *arena = picture->canvas.draw->arena;

    if (place.w < LEAST || place.h < LEAST)
        return;
    picture->used[layer] = true;
    int at =
        canvas_fill(&picture->canvas, place, layers[layer].shade, -1,
                    arena_printf(arena, "%s: %s", layers[layer].name, text_bytes(arena, bytes)));
    picture->canvas.draw->boxes.at[at].look = look;
}

static void put_key(MemoryPicture *picture, double y)
{
    CanvasKey key = {picture->left, picture->left, y};

    for (int i = 0; i < N_LAYERS; i++)
        if (picture->used[i])
            canvas_key(&picture->canvas, &key, layers[i].shade, -1, text_from(layers[i].name));
}

/* ---- bars ---- */

enum { BARS_MOST = 32 };

static const char *devices_name(const MemoryPicture *picture, const RankMemory *memory)
{
    const Draw *draw = picture->canvas.draw;
    int stage = -1, n_same = 0;
    const Stages *stages = draw->plan->decided->stages;

    for (int s = 0; stages && s < stages->n; s++)
        if (submesh_has(draw->plan->mesh, draw->plan->decided->submeshes[stages->at[s].devices],
                        memory->rank)) {
            stage = n_same == 0 ? s : stage;
            n_same++;
        }
    const char *devices =
        arena_printf(draw->arena, "d%lld", (long long)mesh_device(draw->plan->mesh, memory->rank));
    if (memory->n_ranks > 1)
        devices = arena_printf(draw->arena, "%s \xc3\x97%lld", devices, (long long)memory->n_ranks);
    if (stage < 0 || stages->n < 2 || n_same > 1)
        return devices;
    return arena_printf(draw->arena, "stage %d, %s", stage, devices);
}

static int by_rank(const void *a, const void *b)
{
    const RankMemory *x = *(const RankMemory *const *)a, *y = *(const RankMemory *const *)b;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Groups of equal devices in the order of devices, which is that of stages. */
static const RankMemory **groups_of(const MemoryPicture *picture, int *n)
{
    const RankMemories *ranks = &picture->set[0].ranks;
    const RankMemory **group =
        arena_array(picture->canvas.draw->arena, const RankMemory *, ranks->n);
    for (int i = 0; i < ranks->n; i++)
        group[i] = &ranks->at[i];
    qsort(group, (size_t)ranks->n, sizeof *group, by_rank);
    *n = ranks->n * picture->n_sets < BARS_MOST ? ranks->n : BARS_MOST / picture->n_sets;
    return group;
}

static void put_bar(MemoryPicture *picture, const RankMemory *memory, const char *name, double y,
                    double scale)
{
    Canvas *canvas = &picture->canvas;
    double x = picture->left;

    canvas_text(canvas, picture->left - 3, y + picture->row / 2, ALIGN_RIGHT, text_from(name));
    for (int i = 0; i < N_LAYERS; i++) {
        int64_t bytes = memory->by_class[layers[i].class];
        put_part(picture, BOX_FILL, i, (DiagramPlace){x, y, (double)bytes * scale, picture->row},
                 bytes);
        x += (double)bytes * scale;
    }
    const char *peak = draw_bytes(canvas->draw, memory->use.peak_bytes);
    double end = x + 3 + canvas_text_width(canvas, str_from(peak));
    if (x < picture->full && picture->full < end + 1)
        x = picture->full; /* the line does not cross the text */
    canvas_text(canvas, x + 3, y + picture->row / 2, ALIGN_LEFT, text_from(peak));
}

/* A line where a device is full, and how much that is above it. */
static void put_capacity(MemoryPicture *picture, double bottom)
{
    Canvas *canvas = &picture->canvas;
    int64_t bytes = plan_memory(canvas->draw->plan);

    canvas_text(canvas, picture->full, picture->top - picture->row / 2, ALIGN_CENTRE,
                text_from(draw_bytes(canvas->draw, bytes)));
    canvas_line(canvas, canvas_corner(canvas, picture->full, picture->top),
                canvas_corner(canvas, picture->full, bottom), false);
}

/* The bars of a group: one, with its name before it, or its name above one for each setting. */
static double put_group(MemoryPicture *picture, const RankMemory *group, double y, double scale)
{
    if (picture->n_sets == 1) {
        put_bar(picture, group, devices_name(picture, group), y, scale);
        return y + 1.3 * picture->row;
    }
    canvas_text(&picture->canvas, picture->left, y + picture->row / 2, ALIGN_LEFT,
                text_from(devices_name(picture, group)));
    y += picture->row;
    for (int s = 0; s < picture->n_sets; s++) {
        const MemorySet *set = &picture->set[s];
        put_bar(picture, &set->ranks.at[set->ranks.of_rank[group->rank]], set->label, y, scale);
        y += 1.1 * picture->row;
    }
    return y + 0.4 * picture->row;
}

static void put_bars(MemoryPicture *picture)
{
    Canvas *canvas = &picture->canvas;
    int n;
    const RankMemory **group = groups_of(picture, &n);
    double right = canvas_text_width(canvas, STR("1024.0 GiB")) + 6, most = 1;

    for (int s = 0; s < picture->n_sets; s++) {
        const MemorySet *set = &picture->set[s];
        picture->left = fmax(picture->left, canvas_text_width(canvas, str_from(set->label)) + 4);
        most = fmax(most, (double)set->ranks.at[0].use.peak_bytes);
    }
    for (int i = 0; i < n && picture->n_sets == 1; i++)
        picture->left =
            fmax(picture->left,
                 canvas_text_width(canvas, str_from(devices_name(picture, group[i]))) + 4);
    double scale = (canvas->width - picture->left - right) / most;
    double full = (double)plan_memory(canvas->draw->plan);
    if (full > 0 && full <= most) {
        picture->full = picture->left + full * scale;
        picture->top = picture->row;
    }
    double y = picture->top;
    for (int i = 0; i < n; i++)
        y = put_group(picture, group[i], y, scale);
    if (picture->full > 0)
        put_capacity(picture, y - 0.3 * picture->row);
    if (n < picture->set[0].ranks.n) {
        canvas_text(canvas, picture->left, y + 0.5 * picture->row, ALIGN_LEFT,
                    text_from(arena_printf(canvas->draw->arena, "%d more groups of equal devices",
                                           picture->set[0].ranks.n - n)));
        y += picture->row;
    }
    put_key(picture, y + 0.6 * picture->row);
}

static MemoryPicture picture_new(Draw *draw, const MemoryAccount *account)
{
    MemoryPicture picture = {.canvas = canvas_new(draw), .n_sets = 1};

    picture.set[0] = (MemorySet){"", memory_ranks(draw->arena, account, NULL)};
    picture.row = 1.6 * picture.canvas.points;
    return picture;
}

/* Plans a setting, "zero=1", and keeps what its devices need. */
static bool add_setting(MemoryPicture *picture, const char *setting, Error *err)
{
    Draw *draw = picture->canvas.draw;
    if (picture->n_sets == SETS_MOST)
        return error_kind(err, ERROR_USAGE, "a drawing has at most %d settings", SETS_MOST);
    Session *session = estimate_session(draw->session, setting, draw->plan, err);
    if (!session)
        return false;
    MemoryAccount *account = memory_account_new(session->plan);
    picture->set[picture->n_sets++] =
        (MemorySet){setting, memory_ranks(draw->arena, account, NULL)};
    memory_account_free(account);
    session_close(session);
    return true;
}

/* "zero=0,1,2,3": bars of each value, in place of those of the plan. */
static bool read_settings(MemoryPicture *picture, const char *of, Error *err)
{
    Str rest = str_from(of), name = str_take(&rest, '=');
    if (rest.n == 0) {
        error_kind(err, ERROR_USAGE, "'%s' is not a setting with values", of);
        error_hint(
            err,
            "--kind memory zero=0,1,2,3 draws the plan with each value of the policy's option");
        return false;
    }
    picture->n_sets = 0;
    while (rest.n > 0) {
        Str value = str_take(&rest, ',');
        if (!add_setting(picture,
                         arena_printf(picture->canvas.draw->arena, "%.*s=%.*s", STR_ARG(name),
                                      STR_ARG(value)),
                         err))
            return false;
    }
    return true;
}

bool draw_memory(Draw *draw, Error *err)
{
    MemoryAccount *account = memory_account_new(draw->plan);
    MemoryPicture picture = picture_new(draw, account);

    memory_account_free(account);
    if (draw->request->of && !read_settings(&picture, draw->request->of, err))
        return false;
    put_bars(&picture);
    draw->diagram->title =
        arena_printf(draw->arena, "%s: memory of a device at its peak", draw->diagram->title);
    draw->diagram->caption =
        text_from(arena_printf(draw->arena, "at the peak of a %s; a device has %s",
                               label_pass(draw->plan), draw_bytes(draw, plan_memory(draw->plan))));
    return true;
}

/* ---- along the step ---- */

enum { COLUMNS = 220 };

typedef struct {
    int64_t of[N_LAYERS], sum;
} MemoryColumn;

/* Live bytes from one time to another, in columns of `all` us: those with the most bytes stay. */
static void put_moment(const ClassBytes *bytes, double from_us, double to_us, double all,
                       MemoryColumn *column)
{
    int from = all > 0 ? (int)(from_us / all * COLUMNS) : 0;
    int to = all > 0 ? (int)(to_us / all * COLUMNS) : 0;
    MemoryColumn now = {0};

    for (int k = 0; k < N_LAYERS; k++)
        now.sum += now.of[k] = bytes->of[layers[k].class];
    for (int c = from; c <= to && c < COLUMNS; c++)
        if (now.sum > column[c].sum)
            column[c] = now;
}

/* Of a forward plan, each op with its time. Returns the time of all ops. */
static double fill_from_ops(const Draw *draw, const ClassBytes *bytes, MemoryColumn *column)
{
    const Plan *plan = draw->plan;
    int n = plan->inferred->n_program;
    double all = 0, before = 0;

    for (int i = 0; i < n; i++)
        all += plan->priced->op_us[plan->inferred->program[i]];
    for (int i = 0; i < n; i++) {
        double us = plan->priced->op_us[plan->inferred->program[i]];
        put_moment(&bytes[i], before, before + us, all, column);
        before += us;
    }
    return all;
}

/* Of a training step, all its micro-batches. Returns the step's time; 0 for a forward plan. */
static double fill_from_step(const Draw *draw, const MemoryAccount *account, int64_t rank,
                             MemoryColumn *column)
{
    MemoryMoments step = memory_moments(draw->arena, account, rank);

    for (int i = 0; i < step.n; i++)
        put_moment(&step.at[i].live, step.at[i].from_us, step.at[i].to_us, step.us, column);
    return step.n > 0 ? step.us : 0;
}

static const char *step_caption(const Draw *draw, const RankMemory *worst, bool whole)
{
    const Schedule *schedule = whole ? plan_schedule(draw->plan) : NULL;
    Buf text = buf_new(draw->arena);

    buf_printf(&text, "device d%lld, which needs most: %s at its peak; ",
               (long long)mesh_device(draw->plan->mesh, worst->rank),
               peak_text(draw, worst->use.peak_bytes));
    if (schedule)
        buf_printf(&text, "%d micro-batches of %s, then the update", schedule->n_micro_batches,
                   schedule->name);
    else
        buf_puts(&text, whole ? "the whole step" : "time is that of its ops");
    return text.s;
}

/* Neighbouring columns of one layer at one height, as far as that can be seen, are one box. */
static void put_layer(MemoryPicture *picture, const MemoryColumn *column, int layer, double scale,
                      double width, double bottom)
{
    static const double SEEN = 0.1; /* points */
    double below[COLUMNS + 1] = {0};

    for (int c = 0; c < COLUMNS; c++)
        for (int k = 0; k < layer; k++)
            below[c] += (double)column[c].of[k];
    for (int c = 0, end; c < COLUMNS; c = end) {
        end = c + 1;
        while (end < COLUMNS && fabs(below[end] - below[c]) * scale < SEEN &&
               fabs((double)(column[end].of[layer] - column[c].of[layer])) * scale < SEEN)
            end++;
        double h = (double)column[c].of[layer] * scale;
        put_part(picture, BOX_AREA, layer,
                 (DiagramPlace){picture->left + c * width, bottom - below[c] * scale - h,
                                (end - c) * width, h},
                 column[c].of[layer]);
    }
}

/* Bytes at the left: ticks of 1, 2 or 5 GiB or MiB. */
static void put_scale(MemoryPicture *picture, double most, double scale, double bottom)
{
    static const double UNITS[] = {1, 1024.0, 1024.0 * 1024, 1024.0 * 1024 * 1024};
    static const char *const NAMES[] = {"B", "KiB", "MiB", "GiB"};
    Canvas *canvas = &picture->canvas;
    int unit = 3;

    while (unit > 0 && most < 2 * UNITS[unit])
        unit--;
    double step = canvas_nice_step(most / UNITS[unit], 4);
    for (int i = 0; i * step * UNITS[unit] <= most; i++) {
        double y = bottom - i * step * UNITS[unit] * scale;
        const char *text = arena_printf(canvas->draw->arena, "%g", i * step);
        if (i == 0)
            text = arena_printf(canvas->draw->arena, "0 %s", NAMES[unit]);
        canvas_text(canvas, picture->left - 5, y, ALIGN_RIGHT, text_from(text));
        canvas_line(canvas, canvas_corner(canvas, picture->left - 3, y),
                    canvas_corner(canvas, picture->left, y), false);
    }
    canvas_line(canvas, canvas_corner(canvas, picture->left, bottom),
                canvas_corner(canvas, picture->left, bottom - most * scale), false);
}

bool draw_step_memory(Draw *draw, Error *err)
{
    MemoryAccount *account = memory_account_new(draw->plan);
    MemoryPicture picture = picture_new(draw, account);
    Canvas *canvas = &picture.canvas;
    const RankMemory *worst = &picture.set[0].ranks.at[0];
    MemoryColumn column[COLUMNS] = {{{0}, 0}};
    double most = (double)worst->use.peak_bytes, high = canvas->width * 0.32;

    (void)err;
    picture.left = canvas_text_width(canvas, STR("0 GiB")) + 7;
    picture.top = picture.row / 2;
    double us = fill_from_step(draw, account, worst->rank, column);
    bool whole = us > 0;
    if (!whole)
        us = fill_from_ops(draw, memory_classes_of(draw->arena, account, worst->rank), column);
    double bottom = picture.top + high, width = (canvas->width - picture.left - 1) / COLUMNS;
    for (int i = 0; i < N_LAYERS && most > 0; i++)
        put_layer(&picture, column, i, high / most, width, bottom);
    if (most > 0)
        put_scale(&picture, most, high / most, bottom);
    if (us > 0)
        canvas_axis(canvas, picture.left, bottom + 1, width * COLUMNS, us);
    put_key(&picture, bottom + 2.4 * picture.row);
    draw->diagram->title = arena_printf(draw->arena, "%s: memory along a %s", draw->diagram->title,
                                        whole ? "step" : label_pass(draw->plan));
    draw->diagram->caption = text_from(step_caption(draw, worst, whole));
    memory_account_free(account);
    return true;
}
