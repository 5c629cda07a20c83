/* torus.c - the mesh as a torus: the last two axes across and down, a frame for each coordinate on
 * the others, and along each axis links between neighbours and from the last back to the first, as
 * rings of collectives use them. Devices of a node have one tint. */
#include "viz/draw/canvas.h"
#include "viz/draw/holding.h"
#include "viz/draw/moves.h"

#include "viz/fold.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    GAP = 14, /* points between devices: for links that go back */
    BACK = 4, /* of these, from a device to such a link */
    ROWS_MOST = 8,
    PANELS_MOST = 4,
    TINTS = 8
};

typedef struct {
    Canvas canvas;
    const Mesh *mesh;
    int across, down, other; /* axes; -1: none. other: of frames, if there is one alone */
    int64_t n_columns, n_rows, n_panels, per_node;
    Shown columns, rows, panels;
    double w, h; /* of a device */
    double top;
} Torus;

/* ---- the shape ---- */

static Torus torus_new(Draw *draw)
{
    const Mesh *mesh = draw->plan->mesh;
    Torus torus = {.canvas = canvas_new(draw), .mesh = mesh, .across = -1, .down = -1, .other = -1};
    int64_t last = 0;
    int n_others = 0;

    for (int axis = 0; axis < mesh->n_axes; axis++) {
        if (mesh->axes[axis].size == 1)
            continue;
        n_others += torus.down >= 0;
        torus.other = torus.down;
        torus.down = torus.across;
        torus.across = axis;
    }
    if (n_others != 1)
        torus.other = -1;
    for (int64_t position = 0; position < mesh->n_devices; position++)
        last = mesh_device(mesh, position) > last ? mesh_device(mesh, position) : last;
    torus.n_columns = torus.across >= 0 ? mesh->axes[torus.across].size : 1;
    torus.n_rows = torus.down >= 0 ? mesh->axes[torus.down].size : 1;
    torus.n_panels = mesh->n_devices / (torus.n_columns * torus.n_rows);
    torus.per_node = draw->session->machine->devices_per_node;
    const char *longest = arena_printf(draw->arena, "d%" PRId64, last);
    torus.w = canvas_text_width(&torus.canvas, str_from(longest)) + 6;
    torus.h = 1.4 * canvas_line_height(&torus.canvas);
    int most = (int)((torus.canvas.width - 3 * GAP) / (torus.w + GAP));
    most = most < 4 ? 4 : most;
    torus.columns = shown_of(torus.n_columns, most, most - 2, 1);
    torus.rows = shown_of(torus.n_rows, ROWS_MOST, ROWS_MOST - 3, 2);
    torus.panels = shown_of(torus.n_panels, PANELS_MOST, 2, 1);
    return torus;
}

/* ---- links ---- */

static void link_along(Torus *torus, int axis, const DiagramPlace *corner, int n)
{
    int from = canvas_corner(&torus->canvas, corner[0].x, corner[0].y);

    for (int i = 1; i < n; i++) {
        int to = canvas_corner(&torus->canvas, corner[i].x, corner[i].y);
        DiagramLine *line = canvas_line(&torus->canvas, from, to, false);
        line->look = LINE_DIM;
        line->axis = axis;
        from = to;
    }
}

/* Of a row of devices: to the next, and from the last above all of them to the first. */
static void link_row(Torus *torus, const DiagramPlace *place)
{
    int n = torus->columns.n;
    double y = place[0].y + torus->h / 2, over = place[0].y - BACK;
    double first = place[0].x, last = place[n - 1].x + torus->w;

    for (int c = 0; c + 1 < n; c++)
        link_along(torus, torus->across,
                   (DiagramPlace[]){{place[c].x + torus->w, y, 0, 0}, {place[c + 1].x, y, 0, 0}},
                   2);
    if (torus->n_columns > 2)
        link_along(torus, torus->across,
                   (DiagramPlace[]){{last, y, 0, 0},
                                    {last + BACK, y, 0, 0},
                                    {last + BACK, over, 0, 0},
                                    {first - BACK, over, 0, 0},
                                    {first - BACK, y, 0, 0},
                                    {first, y, 0, 0}},
                   6);
}

/* Of the devices of a column, which are `step` apart in the list. */
static void link_column(Torus *torus, const DiagramPlace *place, int step)
{
    int n = torus->rows.n;
    double x = place[0].x + torus->w / 2, beside = place[0].x + torus->w + 2 * BACK;
    double first = place[0].y, last = place[(n - 1) * step].y + torus->h;

    for (int r = 0; r + 1 < n; r++)
        link_along(torus, torus->down,
                   (DiagramPlace[]){{x, place[r * step].y + torus->h, 0, 0},
                                    {x, place[(r + 1) * step].y, 0, 0}},
                   2);
    if (torus->n_rows > 2)
        link_along(torus, torus->down,
                   (DiagramPlace[]){{x, last, 0, 0},
                                    {x, last + BACK, 0, 0},
                                    {beside, last + BACK, 0, 0},
                                    {beside, first - 2 * BACK, 0, 0},
                                    {x, first - 2 * BACK, 0, 0},
                                    {x, first, 0, 0}},
                   6);
}

/* ---- devices ---- */

static void put_device(Torus *torus, DiagramPlace place, int64_t position)
{
    Arena *arena = torus->canvas.draw->arena;

    if (position < 0) {
        canvas_text(&torus->canvas, place.x + place.w / 2, place.y + place.h / 2, ALIGN_CENTRE,
                    text_from(".."));
        return;
    }
    int64_t device = mesh_device(torus->mesh, position);
    int64_t node = device / torus->per_node;
    int at = canvas_fill(&torus->canvas, place, 1 + (int)(node % TINTS), -1,
                         arena_printf(arena, "device %" PRId64 " on node %" PRId64, device, node));
    torus->canvas.draw->boxes.at[at].flow = text_from(arena_printf(arena, "d%" PRId64, device));
}

/* Returns the place of its frame. */
static DiagramPlace put_panel(Torus *torus, int64_t panel)
{
    Canvas *canvas = &torus->canvas;
    int n = torus->columns.n;
    double line = canvas_line_height(canvas), top = torus->top;
    DiagramPlace *place = arena_array(canvas->draw->arena, DiagramPlace, n * torus->rows.n);
    DiagramPlace frame = {0, top, 2 * GAP + n * (torus->w + GAP), 0};
    double inside = torus->n_panels > 1 ? line + GAP : GAP;

    for (int r = 0; r < torus->rows.n; r++)
        for (int c = 0; c < n; c++) {
            int64_t row = shown_at(&torus->rows, r), column = shown_at(&torus->columns, c);
            int64_t first = (panel * torus->n_rows + row) * torus->n_columns;
            place[r * n + c] =
                (DiagramPlace){GAP + c * (torus->w + GAP), top + inside + r * (torus->h + GAP),
                               torus->w, torus->h};
            put_device(torus, place[r * n + c], row < 0 || column < 0 ? -1 : first + column);
        }
    for (int r = 0; r < torus->rows.n && torus->across >= 0; r++)
        link_row(torus, place + (ptrdiff_t)r * n);
    for (int c = 0; c < n && torus->down >= 0; c++)
        link_column(torus, place + c, n);
    frame.h = inside + torus->rows.n * (torus->h + GAP);
    torus->top += frame.h;
    if (torus->n_panels == 1)
        return frame;
    uint32_t axes = 0;
    for (int axis = 0; axis < torus->mesh->n_axes; axis++)
        if (torus->mesh->axes[axis].size > 1 && axis != torus->across && axis != torus->down)
            axes |= 1u << axis;
    Buf title = buf_new(canvas->draw->arena);
    mesh_format_coords(torus->mesh, axes, panel * torus->n_rows * torus->n_columns, " ", ", ",
                       &title);
    canvas_box(canvas, BOX_OUTLINE, frame, text_from(""));
    canvas_text(canvas, 3, frame.y + line / 2 + 1, ALIGN_LEFT, text_from(title.s));
    return frame;
}

/* Between frames one link stands for those of all of their devices. */
static void put_panels(Torus *torus)
{
    DiagramPlace before = {0}, first = {0};
    int axis = torus->other;

    for (int p = 0; p < torus->panels.n; p++) {
        int64_t panel = shown_at(&torus->panels, p);
        DiagramPlace frame = {0, torus->top, 0, canvas_line_height(&torus->canvas)};
        if (panel >= 0) {
            frame = put_panel(torus, panel);
        } else {
            frame.w = before.w;
            canvas_text(&torus->canvas, frame.w / 2, frame.y + frame.h / 2, ALIGN_CENTRE,
                        text_from(".."));
            torus->top += frame.h;
        }
        double x = frame.w / 2;
        if (p > 0 && axis >= 0)
            link_along(torus, axis,
                       (DiagramPlace[]){{x, before.y + before.h, 0, 0}, {x, frame.y, 0, 0}}, 2);
        first = p == 0 ? frame : first;
        before = frame;
        torus->top += torus->n_panels > 1 ? GAP : 0;
    }
    double right = before.w + 2 * BACK;
    if (axis >= 0 && torus->n_panels > 2)
        link_along(torus, axis,
                   (DiagramPlace[]){{before.w, before.y + before.h / 2, 0, 0},
                                    {right, before.y + before.h / 2, 0, 0},
                                    {right, first.y + first.h / 2, 0, 0},
                                    {first.w, first.y + first.h / 2, 0, 0}},
                   4);
}

/* ---- what goes over an axis ---- */

static void put_axes(Torus *torus)
{
    enum { SIDE = 6, BESIDE = 3 };
    Canvas *canvas = &torus->canvas;
    Draw *draw = canvas->draw;
    Moves moves = moves_of_plan(draw->arena, draw->plan);
    double line = canvas_line_height(canvas), y = torus->top + line;

    mesh_each_axis (axis, torus->mesh) {
        int at = (int)(axis - torus->mesh->axes);
        AtomSet atoms = mesh_axis_atoms(torus->mesh, at);
        if (axis->size == 1)
            continue;
        const Link *link = machine_link(draw->session->machine, torus->mesh, atoms);
        Buf out = buf_marked(draw->arena);
        mesh_put_axis(torus->mesh, at, &out);
        buf_printf(&out, "=%" PRId64 ": %s; ", axis->size, link_text(draw, link));
        buf_add_text(&out, moves_over_text(draw, &moves, atoms));
        Text text = fold_text(draw->arena, buf_text(&out),
                              canvas_columns(canvas, canvas->width - SIDE - BESIDE));
        int lines = 1;
        for (size_t i = 0; i < text.str.n; i++)
            lines += text.str.s[i] == '\n';
        canvas_fill(canvas, (DiagramPlace){0, y - SIDE / 2.0, SIDE, SIDE}, 0, at,
                    arena_printf(draw->arena, "axis %s", axis->name));
        int box = canvas_text(canvas, SIDE + BESIDE, y + (lines - 1) * line / 2, ALIGN_LEFT, text);
        draw->boxes.at[box].left = true;
        y += lines * line;
    }
}

static void set_caption(const Torus *torus)
{
    Draw *draw = torus->canvas.draw;
    const Machine *machine = draw->session->machine;
    int64_t n_nodes = (torus->mesh->n_devices + torus->per_node - 1) / torus->per_node;
    Buf text = buf_new(draw->arena), name = buf_new(draw->arena);

    mesh_format(torus->mesh, &name);
    draw->diagram->title = arena_printf(draw->arena, "mesh %s as a torus", name.s);
    buf_printf(&text, "%s on %s of %s; each axis is a ring: its links are in its colour",
               count_text(draw, torus->mesh->n_devices, "device"),
               count_text(draw, n_nodes, "node"), machine->name);
    if (torus->other >= 0)
        buf_printf(&text, ", those of %s drawn once between frames",
                   torus->mesh->axes[torus->other].name);
    else if (torus->n_panels > 1)
        buf_puts(&text, ", those between frames are not drawn");
    if (n_nodes > 1)
        buf_puts(&text, "; tints are nodes");
    draw->diagram->caption = text_from(text.s);
}

bool draw_torus(Draw *draw, Error *err)
{
    Torus torus = torus_new(draw);

    if (torus.mesh->n_devices < 2) {
        error_kind(err, ERROR_UNSUPPORTED, "a mesh of one device has no links");
        error_hint(err, "for example -m dp=4,tp=4");
        return false;
    }
    put_panels(&torus);
    put_axes(&torus);
    set_caption(&torus);
    return true;
}
