/* paper_cut.c - a drawing that is placed, such as a layer, cut across into columns: where no box
 * is, and as few lines as can be. A line that is cut goes out of one column below, and at the same
 * place into the next one above. */
#include "viz/paper.h"

#include "core/base/vec.h"
#include "viz/dot_label.h"
#include "viz/ids.h"

#include <math.h>

typedef struct {
    Arena *arena;
    const Diagram *diagram;
    double width, from, to; /* of a column; what is of it, from the top of the drawing */
    double x;               /* of the column, on the page */
    int *box_at;            /* per box: 1 + where it is on the page; 0 if it is not */
    Vec(DiagramBox) boxes;
    Vec(DiagramLine) lines;
} Cutting;

static bool is_border(const DiagramBox *box)
{
    return box->look == BOX_OUTLINE || box->look == BOX_DASHES || box->look == BOX_DOUBLE ||
           box->look == BOX_AREA;
}

static double middle_x(const DiagramBox *box)
{
    return box->place.x + box->place.w / 2;
}

static double middle_y(const DiagramBox *box)
{
    return box->place.y + box->place.h / 2;
}

/* How many lines a cut goes through; INFINITY if it goes through a box. */
static double price_of(const Diagram *diagram, double y)
{
    double n = 0;

    for (int i = 0; i < diagram->n_boxes; i++) {
        DiagramPlace at = diagram->boxes[i].place;
        if (!is_border(&diagram->boxes[i]) && at.y - 1 < y && y < at.y + at.h + 1)
            return INFINITY;
    }
    for (int i = 0; i < diagram->n_lines; i++) {
        double a = middle_y(&diagram->boxes[diagram->lines[i].from]);
        double b = middle_y(&diagram->boxes[diagram->lines[i].to]);
        n += (a < y) != (b < y);
    }
    return n;
}

/* The best place for a cut between two heights; the lower one if there is none. */
static double cut_between(const Diagram *diagram, double from, double to)
{
    double best = to, least = INFINITY;

    for (int i = 0; i < (int)(to - from); i++) {
        double y = to - i, price = price_of(diagram, y);
        if (price < least) {
            least = price;
            best = y;
        }
    }
    return best;
}

static int put_box(Cutting *cut, DiagramBox box)
{
    double top = fmax(box.place.y, cut->from), end = fmin(box.place.y + box.place.h, cut->to);

    box.place.y = top - cut->from;
    box.place.h = end > top ? end - top : 0;
    box.place.x += cut->x;
    vec_push(cut->arena, &cut->boxes, box);
    return cut->boxes.n - 1;
}

static void put_boxes(Cutting *cut)
{
    const Diagram *diagram = cut->diagram;

    for (int i = 0; i < diagram->n_boxes; i++) {
        const DiagramBox *box = &diagram->boxes[i];
        double y = middle_y(box);
        bool inside = is_border(box)
                          ? box->place.y < cut->to && box->place.y + box->place.h > cut->from
                          : cut->from <= y && y < cut->to;
        cut->box_at[i] = inside ? 1 + put_box(cut, *box) : 0;
    }
}

/* Where a line passes a cut. */
static int put_end(Cutting *cut, const DiagramLine *line, double y)
{
    const DiagramBox *from = &cut->diagram->boxes[line->from];
    const DiagramBox *to = &cut->diagram->boxes[line->to];
    DiagramBox corner = diagram_box(BOX_CORNER, "");
    double share = (y - middle_y(from)) / (middle_y(to) - middle_y(from));

    corner.place.x = middle_x(from) + share * (middle_x(to) - middle_x(from));
    if (from->look != BOX_CORNER && to->look == BOX_CORNER)
        corner.place.x = middle_x(to);
    if (from->look == BOX_CORNER && to->look != BOX_CORNER)
        corner.place.x = middle_x(from);
    corner.place.y = y;
    return put_box(cut, corner);
}

static void put_line(Cutting *cut, const DiagramLine *line)
{
    double a = middle_y(&cut->diagram->boxes[line->from]);
    double b = middle_y(&cut->diagram->boxes[line->to]);
    int from = cut->box_at[line->from], to = cut->box_at[line->to];
    DiagramLine part = *line;

    if (fmax(a, b) < cut->from || fmin(a, b) >= cut->to)
        return;
    part.from = from > 0 ? from - 1 : put_end(cut, line, a < cut->from ? cut->from : cut->to);
    part.to = to > 0 ? to - 1 : put_end(cut, line, b < cut->from ? cut->from : cut->to);
    part.from_port = from > 0 ? line->from_port : NULL;
    part.to_port = to > 0 ? line->to_port : NULL;
    part.open = line->open || to == 0;
    part.label = to > 0 ? line->label : text_from("");
    vec_push(cut->arena, &cut->lines, part);
}

static Diagram cut_page(Cutting *cut, const double *at, int first, int n_beside)
{
    Diagram page = *cut->diagram;

    memset(&cut->boxes, 0, sizeof cut->boxes);
    memset(&cut->lines, 0, sizeof cut->lines);
    for (int i = 0; i < n_beside; i++) {
        cut->from = at[first + i];
        cut->to = at[first + i + 1];
        cut->x = i * cut->width;
        put_boxes(cut);
        for (int k = 0; k < page.n_lines; k++)
            put_line(cut, &cut->diagram->lines[k]);
    }
    page.boxes = cut->boxes.at;
    page.n_boxes = cut->boxes.n;
    page.lines = cut->lines.at;
    page.n_lines = cut->lines.n;
    diagram_name_all(cut->arena, &page);
    return page;
}

/* Cuts a drawing into n columns of about one height. Returns the height of the highest. */
static double choose_cuts(const Diagram *diagram, double height, int n, double *at)
{
    static const double LONGER = 1.15, SHORTER = 0.75; /* than a column on average */
    double end = diagram_page(diagram).h + 1, highest = 0;

    at[0] = -1;
    for (int i = 0; i < n; i++) {
        double each = (end - at[i]) / (n - i), most = fmin(height, LONGER * each);
        at[i + 1] = i + 1 == n ? end : cut_between(diagram, at[i] + SHORTER * each, at[i] + most);
        highest = fmax(highest, at[i + 1] - at[i]);
    }
    return highest;
}

PaperPages paper_cut(Arena *arena, const Diagram *diagram, double width, double height)
{
    enum { COLUMNS_MOST = 64 };
    int n_beside = paper_beside(width), n = 0;
    double at[COLUMNS_MOST + 1];
    Cutting cut = {.arena = arena, .diagram = diagram, .width = paper_column(width) + PAPER_GUTTER};

    do
        n += n_beside;
    while (choose_cuts(diagram, height, n, at) > height && n + n_beside <= COLUMNS_MOST);
    cut.box_at = arena_array(arena, int, diagram->n_boxes + 1);
    PaperPages pages = {n / n_beside, arena_array(arena, Diagram, n / n_beside)};
    for (int page = 0; page < pages.n; page++)
        pages.at[page] = cut_page(&cut, at, page * n_beside, n_beside);
    return pages;
}
