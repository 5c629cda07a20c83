#include "viz/paper.h"

#include "core/base/text.h"
#include "core/base/vec.h"
#include "viz/fold.h"
#include "viz/ids.h"

#include <stdlib.h>

enum { WAY_SIDEWAYS, WAY_DOWN, WAY_FOLDED, WAY_STACKED };

typedef struct {
    Arena *arena;
    int way;
    double width;
    int columns; /* characters that a box may be wide */
} Paper;

/* ---- texts ---- */

static const char *fold_plain(const Paper *paper, const char *text, int columns)
{
    return arena_str(paper->arena, fold_text(paper->arena, text_from(text), columns).str);
}

static const char *cut(const Paper *paper, const char *name, int columns)
{
    Buf out = buf_new(paper->arena);

    text_put_name(str_from(name), columns > 1 ? columns : 1, &out);
    return out.n > 0 ? out.s : "";
}

/* ---- boxes ---- */

/* The widest text of each column, in characters; cells that span several do not count. */
static void widest(const DiagramBox *box, int *wide)
{
    for (int i = 0, column = 0; i < box->n_cells; i++) {
        int span = box->cells[i].columns > 1 ? box->cells[i].columns : 1;
        int n = fold_columns(box->cells[i].text.str);
        if (span == 1 && column < box->n_columns && n > wide[column])
            wide[column] = n;
        column += span;
        column = column >= box->n_columns ? 0 : column;
    }
}

/* Makes the widest columns narrower until all fit. */
static void fit_columns(const Paper *paper, const DiagramBox *box, int *wide)
{
    enum { LEAST = 6, BORDER = 2 }; /* BORDER: characters that borders and margins take */
    int room = paper->columns - BORDER * box->n_columns;

    for (;;) {
        int sum = 0, most = 0;
        for (int c = 0; c < box->n_columns; c++) {
            sum += wide[c];
            most = wide[c] > wide[most] ? c : most;
        }
        if (sum <= room || wide[most] <= LEAST)
            return;
        wide[most]--;
    }
}

static void fold_cells(const Paper *paper, DiagramBox *box)
{
    DiagramCell *cells = arena_array(paper->arena, DiagramCell, box->n_cells + 1);
    int *wide = arena_array(paper->arena, int, box->n_columns + 1);

    widest(box, wide);
    fit_columns(paper, box, wide);
    for (int i = 0, column = 0; i < box->n_cells; i++) {
        int span = box->cells[i].columns > 1 ? box->cells[i].columns : 1, room = 0;
        for (int c = column; c < column + span && c < box->n_columns; c++)
            room += wide[c] + (c > column ? 2 : 0);
        cells[i] = box->cells[i];
        cells[i].text = fold_text(paper->arena, cells[i].text, room);
        if (cells[i].text.n_spans == 0 && fold_columns(cells[i].text.str) > room)
            cells[i].text = text_from(cut(paper, arena_str(paper->arena, cells[i].text.str), room));
        column += span;
        column = column >= box->n_columns ? 0 : column;
    }
    box->cells = cells;
}

static void fold_box(const Paper *paper, DiagramBox *box)
{
    int beside = text_columns(str_from(box->subtitle)), room = paper->columns - beside - 1;

    box->title = cut(paper, box->title, room > 12 ? room : 12);
    box->flow = fold_text(paper->arena, box->flow, paper->columns);
    box->figures = fold_plain(paper, box->figures, paper->columns);
    if (box->n_cells > 0)
        fold_cells(paper, box);
}

/* ---- the whole drawing ---- */

/* A line that is not drawn from each box to the next one in the list. */
static void stack(const Paper *paper, Diagram *diagram)
{
    DiagramLine *lines =
        arena_array(paper->arena, DiagramLine, diagram->n_lines + diagram->n_boxes);
    int n = 0;

    for (int i = 0; i < diagram->n_lines; i++)
        lines[n++] = diagram->lines[i];
    for (int i = 0; i + 1 < diagram->n_boxes; i++)
        lines[n++] = (DiagramLine){.from = i,
                                   .to = i + 1,
                                   .look = LINE_ORDER,
                                   .axis = -1,
                                   .label = text_from(""),
                                   .straight = true};
    diagram->lines = lines;
    diagram->n_lines = n;
}

Diagram *paper_diagram(Arena *arena, const Diagram *diagram, int way, double width)
{
    static const double ADVANCE = 0.603, MARGIN = 18, LANES = 26;
    Diagram *copy = arena_make(arena, Diagram);
    int all = (int)((width - MARGIN) / (ADVANCE * PAPER_POINTS));
    int beside = (int)((width - MARGIN - LANES) / (ADVANCE * PAPER_POINTS));
    Paper paper = {arena, way, width,
                   way == WAY_FOLDED    ? all / 2 - 2
                   : way == WAY_STACKED ? beside
                                        : all};

    *copy = *diagram;
    copy->bare = true;
    copy->points = PAPER_POINTS;
    if (diagram->placed)
        return copy;
    copy->sideways = diagram->sideways && way == WAY_SIDEWAYS;
    DiagramBox *boxes = arena_array(arena, DiagramBox, diagram->n_boxes + 1);
    for (int i = 0; i < diagram->n_boxes; i++) {
        boxes[i] = diagram->boxes[i];
        fold_box(&paper, &boxes[i]);
        if (way == WAY_STACKED)
            boxes[i].level = -1;
    }
    copy->boxes = boxes;
    if (way == WAY_STACKED)
        stack(&paper, copy);
    diagram_name_all(arena, copy);
    return copy;
}

/* ---- texts for the page ---- */

const char *paper_caption(Arena *arena, const Diagram *diagram)
{
    Buf out = buf_new(arena);

    buf_puts(&out, diagram->title);
    buf_puts(&out, diagram->caption.str.n > 0 ? ". " : "");
    for (size_t i = 0; i < diagram->caption.str.n; i++)
        buf_putc(&out, diagram->caption.str.s[i] == '\n' ? ' ' : diagram->caption.str.s[i]);
    return out.s;
}

const char *paper_legend(Arena *arena, const Diagram *diagram, const Mesh *mesh)
{
    Legend legend = legend_of(arena, diagram, mesh);
    Buf out = buf_new(arena);

    for (int i = 0; i < legend.rows.n; i++)
        buf_printf(&out, "%s%.*s %.*s", i > 0 ? "; " : "", STR_ARG(legend.rows.at[i].sign.str),
                   STR_ARG(legend.rows.at[i].meaning.str));
    return out.s;
}

bool paper_parse_length(Str text, double *points, Error *err)
{
    static const struct {
        const char *unit;
        double points;
    } units[] = {{"in", 72}, {"cm", 72 / 2.54}, {"mm", 72 / 25.4}, {"pt", 1}, {"", 1}};
    enum { LEAST = 72, MOST = 7200 };
    char number[32] = {0}, *unit;

    memcpy(number, text.s, text.n < sizeof number - 1 ? text.n : sizeof number - 1);
    double value = strtod(number, &unit);
    for (size_t i = 0; i < sizeof units / sizeof *units && unit > number; i++) {
        *points = value * units[i].points;
        if (strcmp(unit, units[i].unit) == 0 && LEAST <= *points && *points <= MOST)
            return true;
    }
    error_kind(err, ERROR_USAGE, "'%.*s' is no width of a page", STR_ARG(text));
    return error_hint(err, "a length from 1in to 100in: 3.25in, 8.25cm, 234pt");
}
