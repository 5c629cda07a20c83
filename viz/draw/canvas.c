#include "viz/draw/canvas.h"

#include "core/base/text.h"

#include <math.h>

/* Of a monospaced font: the width of a character, and of a line with its leading, in ems. */
static const double ADVANCE = 0.603, LEADING = 1.2;

Canvas canvas_new(Draw *draw)
{
    bool paper = draw->request->width > 0;
    Canvas canvas = {.draw = draw, .points = paper ? PAPER_POINTS : SCREEN_POINTS};

    canvas.width = paper ? draw->request->width : SCREEN_WIDTH;
    draw->diagram->placed = true;
    draw->diagram->points = canvas.points;
    return canvas;
}

double canvas_text_width(const Canvas *canvas, Str text)
{
    int most = 0;

    while (text.n > 0) {
        int n = text_columns(str_take(&text, '\n'));
        most = n > most ? n : most;
    }
    return most * ADVANCE * canvas->points;
}

double canvas_line_height(const Canvas *canvas)
{
    return LEADING * canvas->points;
}

int canvas_columns(const Canvas *canvas, double width)
{
    int n = (int)(width / (ADVANCE * canvas->points));
    return n > 0 ? n : 0;
}

const char *canvas_fit(const Canvas *canvas, const char *text, double width)
{
    Buf out = buf_new(canvas->draw->arena);
    text_put_name(str_from(text), canvas_columns(canvas, width), &out);
    return buf_str(&out).n > 0 ? out.s : "";
}

int canvas_box(Canvas *canvas, BoxLook look, DiagramPlace place, Text text)
{
    DiagramBox box = diagram_box(look, "");

    box.flow = text;
    box.place = place;
    return draw_box(canvas->draw, box);
}

int canvas_corner(Canvas *canvas, double x, double y)
{
    return canvas_box(canvas, BOX_CORNER, (DiagramPlace){x, y, 0, 0}, text_from(""));
}

int canvas_text(Canvas *canvas, double x, double y, CanvasAlign align, Text text)
{
    double w = canvas_text_width(canvas, text.str), h = canvas_line_height(canvas);
    int lines = 1;

    for (size_t i = 0; i < text.str.n; i++)
        lines += text.str.s[i] == '\n';
    h *= lines;
    x -= align == ALIGN_LEFT ? 0 : align == ALIGN_CENTRE ? w / 2 : w;
    return canvas_box(canvas, BOX_TEXT, (DiagramPlace){x, y - h / 2, w, h}, text);
}

int canvas_fill(Canvas *canvas, DiagramPlace place, int shade, int ink, const char *why)
{
    int at = canvas_box(canvas, BOX_FILL, place, text_from(""));

    canvas->draw->boxes.at[at].shade = shade;
    canvas->draw->boxes.at[at].ink = ink;
    canvas->draw->boxes.at[at].why = why;
    return at;
}

DiagramLine *canvas_line(Canvas *canvas, int from, int to, bool arrow)
{
    DiagramLine line = draw_new_line(LINE_VALUE, from, to);

    line.open = !arrow;
    draw_line(canvas->draw, line);
    return &canvas->draw->lines.at[canvas->draw->lines.n - 1];
}

void canvas_path(Canvas *canvas, int from, const DiagramPlace *corner, int n, int to)
{
    for (int i = 0; i < n; i++) {
        int at = canvas_corner(canvas, corner[i].x, corner[i].y);
        canvas_line(canvas, from, at, false);
        from = at;
    }
    canvas_line(canvas, from, to, true);
}

void canvas_key(Canvas *canvas, CanvasKey *key, int shade, int ink, Text name)
{
    enum { SIDE = 6, GAP = 3 };
    double w = SIDE + GAP + canvas_text_width(canvas, name.str);

    if (key->x > key->left && key->x + w > canvas->width) {
        key->x = key->left;
        key->y += canvas_line_height(canvas) + 1;
    }
    canvas_fill(canvas, (DiagramPlace){key->x, key->y - SIDE / 2.0, SIDE, SIDE}, shade, ink,
                arena_str(canvas->draw->arena, name.str));
    canvas_text(canvas, key->x + SIDE + GAP, key->y, ALIGN_LEFT, name);
    key->x += w + 2 * GAP;
}

/* ---- axes ---- */

double canvas_nice_step(double most, int ticks)
{
    double raw = most / ticks, power = pow(10, floor(log10(raw)));

    for (int i = 0; i < 3; i++) {
        static const double nice[] = {1, 2, 5};
        if (nice[i] * power >= raw)
            return nice[i] * power;
    }
    return 10 * power;
}

void canvas_axis(Canvas *canvas, double x, double y, double width, double us)
{
    enum { TICK = 3, TICKS = 5 };
    bool seconds = us >= 1e6, millis = us >= 1e3;
    double unit = seconds ? 1e6 : millis ? 1e3 : 1, step = canvas_nice_step(us / unit, TICKS);
    Arena *arena = canvas->draw->arena;

    canvas_line(canvas, canvas_corner(canvas, x, y), canvas_corner(canvas, x + width, y), false);
    for (int i = 0; i * step <= us / unit; i++) {
        double at = x + i * step * unit / us * width;
        const char *text = arena_printf(arena, "%g", i * step);
        if (i == 0)
            text = arena_printf(arena, "0 %s", seconds ? "s" : millis ? "ms" : "us");
        double half = canvas_text_width(canvas, str_from(text)) / 2;
        canvas_line(canvas, canvas_corner(canvas, at, y), canvas_corner(canvas, at, y + TICK),
                    false);
        bool fits = at + half <= canvas->width;
        canvas_text(canvas, fits ? at : canvas->width, y + TICK + canvas_line_height(canvas) / 2,
                    fits ? ALIGN_CENTRE : ALIGN_RIGHT, text_from(text));
    }
}
