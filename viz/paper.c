#include "viz/paper.h"

#include "core/base/text.h"
#include "core/base/vec.h"
#include "viz/fold.h"
#include "viz/ids.h"
#include "viz/paper_table.h"

#include <stdlib.h>

enum { WAY_SIDEWAYS, WAY_DOWN, WAY_FOLDED, WAY_STACKED };

typedef struct {
    Arena *arena;
    int way;
    double width;
    int columns, page; /* characters that a box may be wide, and that the page is */
} Paper;

/* ---- texts ---- */

static const char *fold_plain(const Paper *paper, const char *text, int columns)
{
    return arena_str(paper->arena, fold_text(paper->arena, text_from(text), columns).str);
}

/* A name keeps its end, and in short the pass that it begins with: "bwd …layers[14..0]" is not
 * "…layers[0..15]" of the forward pass. */
static const char *cut(const Paper *paper, const char *name, int columns)
{
    static const struct {
        const char *start, *brief;
    } passes[] = {{"backward.", "bwd "}, {"update.", "upd "}};
    Buf out = buf_new(paper->arena);
    Str rest = str_from(name);

    for (size_t i = 0; i < sizeof passes / sizeof *passes && text_columns(rest) > columns; i++) {
        size_t n = strlen(passes[i].start);
        if (!str_starts(rest, str_from(passes[i].start)))
            continue;
        buf_puts(&out, passes[i].brief);
        columns -= (int)out.n;
        rest = (Str){rest.s + n, rest.n - n};
    }
    if (out.n > 0 && text_columns(text_name_end(rest)) == columns) /* without room for a mark */
        rest = text_name_end(rest);
    text_put_name(rest, columns > 1 ? columns : 1, &out);
    return out.n > 0 ? out.s : "";
}

/* ---- boxes ---- */

static void fold_box(const Paper *paper, DiagramBox *box)
{
    enum { TITLE_LEAST = 12, BETWEEN = 2 };
    int room = paper->columns - TITLE_LEAST - BETWEEN;

    if (text_columns(str_from(box->title)) < TITLE_LEAST)
        room = paper->columns - text_columns(str_from(box->title)) - BETWEEN;
    box->subtitle = cut(paper, box->subtitle, room);
    room = paper->columns - text_columns(str_from(box->subtitle)) - BETWEEN;
    box->title = cut(paper, box->title, room);
    box->flow = fold_text(paper->arena, box->flow, paper->columns);
    box->figures = fold_plain(paper, box->figures, paper->columns);
    if (box->n_cells > 0)
        paper_fold_cells(paper->arena, box,
                         paper->way == WAY_FOLDED ? paper->page : paper->columns);
}

/* ---- the whole drawing ---- */

/* Lines between cells as lines between their boxes, each once: where boxes are below each other,
 * the cells say what belongs together. */
static void join_boxes(const Paper *paper, Diagram *diagram)
{
    Intern *known = intern_new(paper->arena);
    DiagramLine *lines = arena_array(paper->arena, DiagramLine, diagram->n_lines + 1);
    int n = 0;

    for (int i = 0; i < diagram->n_lines; i++) {
        DiagramLine line = diagram->lines[i];
        int32_t key[2] = {line.from, line.to};
        bool ported = line.from_port || line.to_port;
        line.from_port = line.to_port = NULL;
        if (ported && line.look == LINE_DIM) {
            line.look = LINE_VALUE;
            int n_known = intern_count(known);
            if (intern_put(known, key, sizeof key) < n_known)
                continue;
        }
        lines[n++] = line;
    }
    diagram->lines = lines;
    diagram->n_lines = n;
}

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

Diagram *paper_diagram(Arena *arena, const Diagram *diagram, int way, double width,
                       const double *room)
{
    static const double ADVANCE = 0.603, MARGIN = 25, DOUBLE = 8;
    Diagram *copy = arena_make(arena, Diagram);
    int all = (int)((width - MARGIN) / (ADVANCE * PAPER_POINTS));
    Paper paper = {arena, way, width, way == WAY_FOLDED ? all / 2 - 2 : all, all};

    *copy = *diagram;
    copy->bare = true;
    copy->points = PAPER_POINTS;
    if (diagram->placed)
        return copy;
    copy->sideways = diagram->sideways && way == WAY_SIDEWAYS;
    DiagramBox *boxes = arena_array(arena, DiagramBox, diagram->n_boxes + 1);
    for (int i = 0; i < diagram->n_boxes; i++) {
        boxes[i] = diagram->boxes[i];
        if (way == WAY_STACKED)
            boxes[i].level = -1;
        double border = boxes[i].look == BOX_GROUP ? DOUBLE : 0;
        if (room)
            paper.columns = (int)((room[i] - MARGIN - border) / (ADVANCE * PAPER_POINTS));
        fold_box(&paper, &boxes[i]);
    }
    copy->boxes = boxes;
    if (way == WAY_STACKED) {
        join_boxes(&paper, copy);
        stack(&paper, copy);
    }
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
    error_kind(err, ERROR_USAGE, "'%.*s' is not the width of a page", STR_ARG(text));
    return error_hint(err, "give a length from 1in to 100in, such as 3.25in, 8.25cm or 234pt");
}
