/* frontier.c - time against memory: the points that a search found, from its JSON, and among them
 * the plan. */
#include "viz/draw/canvas.h"
#include "viz/draw/holding.h"

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/cost/memory.h"
#include "core/cost/pipeline.h"

#include <math.h>

enum { POINTS_MOST = 1000, SIDE = 5 };

typedef struct {
    double us, bytes;
    const char *name; /* "pp=2,dp=2"; "" if all are of one mesh */
} Point;

/* A side of the chart: a range, in units. */
typedef struct {
    double from, to, unit;
    const char *name;
} Range;

typedef struct {
    Canvas canvas;
    Vec(Point) points; /* from the fastest to the smallest */
    Point own;
    Range us, bytes;
    double left, top, w, h; /* of the area of points */
} Chart;

/* ---- reading ---- */

static bool read_points(Chart *chart, const Json *root, const char *path, Error *err)
{
    Arena *arena = chart->canvas.draw->arena;
    const Json *list = json_get(root, "frontier");

    for (int i = 0; i < json_size(list) && i < POINTS_MOST; i++) {
        const Json *at = json_at(list, i);
        Point point = {.us = json_real(json_get(at, "step_us"), 0),
                       .bytes = (double)json_int(json_get(at, "peak_bytes"), 0),
                       .name = arena_str(arena, json_str(json_get(at, "mesh"), ""))};
        if (point.us > 0 && point.bytes > 0)
            vec_push(arena, &chart->points, point);
    }
    if (chart->points.n > 0)
        return true;
    error_kind(err, ERROR_USAGE, "'%s' contains no frontier", path);
    return error_hint(err, "write one with dimscope search MODEL .. --frontier --json -o %s", path);
}

static bool read_file(Chart *chart, const char *path, Error *err)
{
    enum { LIMIT = 64 << 20 };
    Source source;

    if (!path) {
        error_kind(err, ERROR_USAGE, "--kind frontier needs the file of a search");
        return error_hint(err, "dimscope search MODEL .. --frontier --json -o frontier.json, then "
                               "--kind frontier frontier.json");
    }
    if (!file_read(chart->canvas.draw->arena, path, LIMIT, &source, err))
        return false;
    Json *root = json_parse(&source, err);
    bool ok = root && read_points(chart, root, path, err);
    json_free(root);
    return ok;
}

static Point own_point(const Draw *draw)
{
    MemoryAccount *account = memory_account_new(draw->plan);
    RankMemories ranks = memory_ranks(draw->arena, account, NULL);
    Point own = {.us = plan_step_us(draw->plan),
                 .bytes = (double)ranks.at[0].use.peak_bytes,
                 .name = "this plan"};

    memory_account_free(account);
    return own;
}

/* ---- the chart ---- */

static void widen(Range *range, double value)
{
    range->from = fmin(range->from, value);
    range->to = fmax(range->to, value);
}

/* The largest unit of which the range has two or more, and a margin of a twentieth. */
static void finish(Range *range, const double *unit, const char *const *name, int n)
{
    double margin = fmax((range->to - range->from) / 20, range->to / 1000);

    range->from = fmax(0, range->from - margin);
    range->to += margin;
    for (int i = 0; i < n; i++)
        if (i == 0 || range->to >= 2 * unit[i]) {
            range->unit = unit[i];
            range->name = name[i];
        }
}

static void find_ranges(Chart *chart)
{
    static const double us[] = {1, 1e3, 1e6}, bytes[] = {1, 1024, 1048576, 1073741824};
    static const char *const us_names[] = {"us", "ms", "s"};
    static const char *const byte_names[] = {"B", "KiB", "MiB", "GiB"};

    chart->us = (Range){.from = chart->own.us, .to = chart->own.us};
    chart->bytes = (Range){.from = chart->own.bytes, .to = chart->own.bytes};
    for (int i = 0; i < chart->points.n; i++) {
        widen(&chart->us, chart->points.at[i].us);
        widen(&chart->bytes, chart->points.at[i].bytes);
    }
    finish(&chart->us, us, us_names, 3);
    finish(&chart->bytes, bytes, byte_names, 4);
}

static double x_of(const Chart *chart, double us)
{
    return chart->left + (us - chart->us.from) / (chart->us.to - chart->us.from) * chart->w;
}

static double y_of(const Chart *chart, double bytes)
{
    return chart->top + chart->h -
           (bytes - chart->bytes.from) / (chart->bytes.to - chart->bytes.from) * chart->h;
}

/* Ticks at round numbers of the unit; its name is at the last. */
static void put_ticks(Chart *chart, const Range *range, bool down)
{
    enum { TICK = 3, TICKS = 4 };
    Canvas *canvas = &chart->canvas;
    double step = canvas_nice_step((range->to - range->from) / range->unit, TICKS);
    double bottom = chart->top + chart->h, line = canvas_line_height(canvas);

    for (double i = ceil(range->from / range->unit / step); i * step * range->unit <= range->to;
         i++) {
        double value = i * step * range->unit;
        bool last = (i + 1) * step * range->unit > range->to;
        double x = down ? chart->left : x_of(chart, value);
        double y = down ? y_of(chart, value) : bottom;
        const char *text =
            arena_printf(canvas->draw->arena, last ? "%g %s" : "%g", i * step, range->name);
        canvas_line(canvas, canvas_corner(canvas, x, y),
                    canvas_corner(canvas, down ? x - TICK : x, down ? y : y + TICK), false);
        double half = canvas_text_width(canvas, str_from(text)) / 2;
        if (down)
            canvas_text(canvas, x - TICK - 2, y, ALIGN_RIGHT, text_from(text));
        else
            canvas_text(canvas, fmin(x, canvas->width - half), y + TICK + line / 2, ALIGN_CENTRE,
                        text_from(text));
    }
}

static void put_axes(Chart *chart)
{
    Canvas *canvas = &chart->canvas;
    int origin = canvas_corner(canvas, chart->left, chart->top + chart->h);

    canvas_line(canvas, origin, canvas_corner(canvas, chart->left, chart->top), false);
    canvas_line(canvas, origin,
                canvas_corner(canvas, chart->left + chart->w, chart->top + chart->h), false);
    put_ticks(chart, &chart->us, false);
    put_ticks(chart, &chart->bytes, true);
}

/* A name right of its point where it covers no other name, left of the page's end. */
static void put_name(Chart *chart, Point point, double *free_y)
{
    Canvas *canvas = &chart->canvas;
    double x = x_of(chart, point.us) + SIDE, y = y_of(chart, point.bytes) - SIDE;
    double w = canvas_text_width(canvas, str_from(point.name));

    if (!*point.name || y < *free_y + canvas_line_height(canvas) / 2)
        return;
    if (x + w > canvas->width)
        x -= w + 2 * SIDE;
    canvas_text(canvas, x, y, ALIGN_LEFT, text_from(point.name));
    *free_y = y + canvas_line_height(canvas) / 2;
}

/* With less memory than a point has, the fastest plan is the next point's. */
static void put_points(Chart *chart)
{
    Canvas *canvas = &chart->canvas;
    double free_y = -INFINITY;

    for (int i = 0; i + 1 < chart->points.n; i++) {
        Point a = chart->points.at[i], b = chart->points.at[i + 1];
        int turn = canvas_corner(canvas, x_of(chart, b.us), y_of(chart, a.bytes));
        canvas_line(canvas, canvas_corner(canvas, x_of(chart, a.us), y_of(chart, a.bytes)), turn,
                    false);
        canvas_line(canvas, turn, canvas_corner(canvas, x_of(chart, b.us), y_of(chart, b.bytes)),
                    false);
    }
    for (int i = 0; i < chart->points.n; i++) {
        Point at = chart->points.at[i];
        DiagramPlace place = {x_of(chart, at.us) - SIDE / 2.0, y_of(chart, at.bytes) - SIDE / 2.0,
                              SIDE, SIDE};
        canvas_fill(canvas, place, 0, 0,
                    arena_printf(canvas->draw->arena, "%s, %s %s", draw_us(canvas->draw, at.us),
                                 draw_bytes(canvas->draw, (int64_t)at.bytes), at.name));
        put_name(chart, at, &free_y);
    }
    DiagramPlace own = {x_of(chart, chart->own.us) - SIDE / 2.0,
                        y_of(chart, chart->own.bytes) - SIDE / 2.0, SIDE, SIDE};
    canvas_box(canvas, BOX_CIRCLE, own, text_from(""));
}

static void put_key(Chart *chart, double y)
{
    Canvas *canvas = &chart->canvas;
    CanvasKey key = {chart->left, chart->left, y};

    canvas_key(canvas, &key, 0, 0, text_from("fastest within that memory"));
    DiagramPlace own = {key.x, y - SIDE / 2.0, SIDE, SIDE};
    canvas_box(canvas, BOX_CIRCLE, own, text_from(""));
    canvas_text(canvas, key.x + SIDE + 3, y, ALIGN_LEFT, text_from(chart->own.name));
}

bool draw_frontier(Draw *draw, Error *err)
{
    Chart chart = {.canvas = canvas_new(draw)};
    Canvas *canvas = &chart.canvas;
    double line = canvas_line_height(canvas);

    if (!read_file(&chart, draw->request->of, err))
        return false;
    chart.own = own_point(draw);
    find_ranges(&chart);
    chart.left = canvas_text_width(canvas, STR("000.0 MiB")) + 6;
    chart.top = line;
    chart.w = canvas->width - chart.left - SIDE;
    chart.h = 0.5 * canvas->width;
    put_axes(&chart);
    put_points(&chart);
    put_key(&chart, chart.top + chart.h + 3 * line);
    draw->diagram->title =
        arena_printf(draw->arena, "%s: time against memory", draw->diagram->title);
    draw->diagram->caption = text_from(
        arena_printf(draw->arena,
                     "x: step time, y: peak memory of a device; %s of %s, each the fastest within "
                     "its memory; this plan: %s, %s",
                     count_text(draw, chart.points.n, "point"), path_base(draw->request->of),
                     draw_us(draw, chart.own.us), draw_bytes(draw, (int64_t)chart.own.bytes)));
    return true;
}
