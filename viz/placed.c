#include "viz/placed.h"

#include "core/base/json.h"
#include "core/base/vec.h"
#include "viz/ids.h"

#include <stdlib.h>

/* ---- reading ---- */

static bool take_number(Str *rest, double *out)
{
    char word[64];
    size_t n = 0;

    while (rest->n > 0 && (*rest->s == ',' || *rest->s == ' '))
        *rest = (Str){rest->s + 1, rest->n - 1};
    while (n < rest->n && n + 1 < sizeof word && rest->s[n] != ',' && rest->s[n] != ' ')
        n++;
    memcpy(word, rest->s, n);
    word[n] = '\0';
    *rest = (Str){rest->s + n, rest->n - n};
    char *end;
    *out = strtod(word, &end);
    return n > 0 && *end == '\0';
}

static PlacedRect rect_of(const Json *object)
{
    Str text = json_str(json_get(object, "bb"), "");
    PlacedRect rect = {0};

    if (!take_number(&text, &rect.x0) || !take_number(&text, &rect.y0) ||
        !take_number(&text, &rect.x1) || !take_number(&text, &rect.y1))
        return (PlacedRect){0};
    return rect;
}

/* A number that JSON has as a string. */
static double number_of(const Json *object, const char *key)
{
    Str text = json_str(json_get(object, key), "");
    double value;
    return take_number(&text, &value) ? value : 0;
}

static PlacedRect box_of(const Json *object)
{
    Str text = json_str(json_get(object, "pos"), "");
    double x = 0, y = 0, w = 36 * number_of(object, "width"), h = 36 * number_of(object, "height");

    if (!take_number(&text, &x) || !take_number(&text, &y))
        return (PlacedRect){0};
    return (PlacedRect){x - w, y - h, x + w, y + h};
}

static void add_curve(Arena *arena, const PlacedPoint p[4], PlacedLine *line)
{
    enum { PIECES = 12 };
    Vec(PlacedPoint) points = {0};

    for (int i = 0; i < line->n; i++)
        vec_push(arena, &points, line->at[i]);
    for (int i = 0; i <= PIECES; i++) {
        double t = (double)i / PIECES, s = 1 - t;
        double a = s * s * s, b = 3 * s * s * t, c = 3 * s * t * t, d = t * t * t;
        vec_push(arena, &points,
                 ((PlacedPoint){a * p[0].x + b * p[1].x + c * p[2].x + d * p[3].x,
                                a * p[0].y + b * p[1].y + c * p[2].y + d * p[3].y}));
    }
    line->at = points.at;
    line->n = points.n;
}

/* "s,x,y e,x,y x,y x,y ..": the first points are of arrowheads, the others of a Bezier curve. */
static PlacedLine line_of(Arena *arena, const Json *object)
{
    Str rest = json_str(json_get(object, "pos"), "");
    Vec(PlacedPoint) points = {0};
    PlacedLine line = {0};

    while (rest.n > 0) {
        Str word = str_take(&rest, ' ');
        bool head = word.n > 1 && (word.s[0] == 's' || word.s[0] == 'e');
        PlacedPoint point;
        if (head)
            word = (Str){word.s + 1, word.n - 1};
        if (take_number(&word, &point.x) && take_number(&word, &point.y) && !head)
            vec_push(arena, &points, point);
    }
    for (int i = 0; i + 3 < points.n; i += 3)
        add_curve(arena, points.at + i, &line);
    return line;
}

/* The number of an object's id among all of the diagram; -1 if none has it. */
static int number_of_id(const Intern *ids, const Json *object)
{
    Str id = json_str(json_get(object, "id"), "");
    return id.n > 0 ? intern_find(ids, id.s, id.n) : -1;
}

bool placed_read(Arena *arena, Str json, const Diagram *diagram, Placed *out, Error *err)
{
    Source source = {.name = "dot", .text = json};
    Json *root = json_parse(&source, err);
    PlacedRect *box = arena_array(arena, PlacedRect, diagram->n_boxes + 1);
    PlacedRect *frame = arena_array(arena, PlacedRect, diagram->n_frames + 1);
    PlacedPoint *title = arena_array(arena, PlacedPoint, diagram->n_frames + 1);
    PlacedLine *line = arena_array(arena, PlacedLine, diagram->n_lines + 1);

    if (!root)
        return false;
    const Intern *ids = diagram_ids(arena, diagram);
    const Json *objects = json_get(root, "objects"), *edges = json_get(root, "edges");
    for (int i = 0; i < json_size(objects); i++) {
        const Json *object = json_at(objects, i);
        int at = number_of_id(ids, object), of = at - diagram->n_boxes;
        if (at >= 0 && of < 0)
            box[at] = box_of(object);
        if (at < 0 || of < 0)
            continue;
        frame[of] = rect_of(object);
        title[of] =
            (PlacedPoint){72 * number_of(object, "lwidth"), 72 * number_of(object, "lheight")};
    }
    for (int i = 0; i < json_size(edges); i++) {
        const Json *edge = json_at(edges, i);
        int at = number_of_id(ids, edge) - diagram->n_boxes - diagram->n_frames;
        if (at >= 0 && diagram->lines[at].look != LINE_ORDER)
            line[at] = line_of(arena, edge);
    }
    *out = (Placed){rect_of(root), box, frame, title, line};
    json_free(root);
    return true;
}

/* ---- titles of frames ---- */

static bool is_in(PlacedRect rect, PlacedPoint point)
{
    return rect.x0 <= point.x && point.x <= rect.x1 && rect.y0 <= point.y && point.y <= rect.y1;
}

static PlacedRect title_rect(const Placed *placed, int frame, char side)
{
    enum { MARGIN = 4 };
    PlacedRect around = placed->frame[frame];
    PlacedPoint size = placed->title[frame];
    double room = around.x1 - around.x0 - size.x;
    double x0 = around.x0 + (side == 'l' ? 0 : side == 'r' ? room : room / 2);

    return (PlacedRect){x0, around.y1 - size.y - 2 * MARGIN, x0 + size.x, around.y1 - MARGIN};
}

int placed_crossings(const Placed *placed, const Diagram *diagram, int frame, char side)
{
    PlacedRect title = title_rect(placed, frame, side);
    int n = 0;

    for (int i = 0; i < diagram->n_lines; i++) {
        const PlacedLine *line = &placed->line[i];
        bool crosses = false;
        for (int k = 0; k < line->n && !crosses; k++)
            crosses = is_in(title, line->at[k]);
        n += crosses;
    }
    return n;
}

void placed_choose_sides(const Placed *placed, Diagram *diagram)
{
    static const char sides[] = {'l', 'r', 'c'};

    for (int i = 0; i < diagram->n_frames; i++) {
        int least = -1;
        for (size_t s = 0; s < sizeof sides && least != 0; s++) {
            int n = placed_crossings(placed, diagram, i, sides[s]);
            if (least >= 0 && n >= least)
                continue;
            least = n;
            diagram->frames[i].side = sides[s];
        }
    }
}
