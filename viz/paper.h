/* paper.h - a drawing for the width of a printed page: its type is never smaller than PAPER_POINTS
 * there.
 *
 * Nothing is scaled. What is too wide at that size is laid out in another way: from top to bottom,
 * texts folded into lines, boxes one below the other. Title, caption and legend are not in the
 * picture; they are texts for the page around it.
 */
#ifndef VIZ_PAPER_H
#define VIZ_PAPER_H

#include "viz/legend.h"
#include "viz/placed.h"

/* The ways to lay out a diagram by dot, from the most like the screen's to the narrowest. */
enum { PAPER_WAYS = 4 };

/* A copy of the diagram, laid out in a way for a page of that many points. room: per box the points
 * that it may be wide; NULL: the page. */
Diagram *paper_diagram(Arena *arena, const Diagram *diagram, int way, double width,
                       const double *room);

/* The height of a page, what it may have more before it is divided, and what is between columns, in
 * points. */
enum { PAPER_HEIGHT = 9 * 72, PAPER_SLACK = 36, PAPER_GUTTER = 18 };

/* How many columns stand side by side on a page of that width, and how wide each is. */
int paper_beside(double width);
double paper_column(double width);

typedef struct {
    int n;
    Diagram *at;
} PaperPages;

/* Per box the points that are left for it in a stack, beside its lines and in its frames. */
const double *paper_room(Arena *arena, const Diagram *diagram, const Placed *order, double width);

/* The boxes in columns: in the order that they have from the top in one layout, in the sizes that
 * they have in another, that of the diagram. Lines that pass others are at the left; those for
 * which there is no room, or that lead to another column, are words above the box that they lead
 * to. height: of a page; INFINITY for one page. Returns no page if a box is too wide. */
PaperPages paper_stack(Arena *arena, const Diagram *diagram, const Placed *order,
                       const Placed *sizes, double width, double height);

/* A diagram that is placed, as wide as one of those columns, cut across into columns. */
PaperPages paper_cut(Arena *arena, const Diagram *diagram, double width, double height);

/* What the picture does not have: "gpt2.onnx: transformer.h.0. one of 12 equal blocks: .."; and its
 * legend in one line. */
const char *paper_caption(Arena *arena, const Diagram *diagram);
const char *paper_legend(Arena *arena, const Diagram *diagram, const Mesh *mesh);

/* "3.25in", "82.5mm", "8.25cm", "234pt", "234": a length in points, of one to a hundred inches. */
bool paper_parse_length(Str text, double *points, Error *err);

#endif
