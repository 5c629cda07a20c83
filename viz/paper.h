/* paper.h - lays out a drawing for the width of a printed page, where its type is never smaller
 * than PAPER_POINTS.
 *
 * Nothing is scaled. What is too wide at that size is laid out differently: from top to bottom,
 * with texts wrapped and boxes below each other. Title, caption and legend are not in the picture;
 * they are texts for the page around it.
 */
#ifndef VIZ_PAPER_H
#define VIZ_PAPER_H

#include "viz/legend.h"
#include "viz/placed.h"

/* The ways in which dot can lay out a diagram, from the one most like the screen's to the
 * narrowest. */
enum { PAPER_WAYS = 4 };

/* A copy of the diagram, laid out in that way for a page of that many points. room: per box the
 * width in points that it may have; NULL: that of the page. */
Diagram *paper_diagram(Arena *arena, const Diagram *diagram, int way, double width,
                       const double *room);

/* In points: the height of a page, how much higher a drawing may be before it is divided, and the
 * gap between columns. */
enum { PAPER_HEIGHT = 9 * 72, PAPER_SLACK = 36, PAPER_GUTTER = 18 };

/* paper_beside(): the number of columns side by side on a page of that width; paper_column(): the
 * width of each. */
int paper_beside(double width);
double paper_column(double width);

typedef struct {
    int n;
    Diagram *at;
} PaperPages;

/* Per box of a stack the width in points that its lines and frames leave for it. */
const double *paper_room(Arena *arena, const Diagram *diagram, const Placed *order, double width);

/* The boxes in columns: in the order from the top of one layout, in the sizes of another one, that
 * of the diagram. Lines that pass other boxes are at the left; a line for which there is no room,
 * or that leads to another column, is replaced by words above the box that it leads to. height: of
 * a page; INFINITY for one page. Returns no page if a box is too wide. */
PaperPages paper_stack(Arena *arena, const Diagram *diagram, const Placed *order,
                       const Placed *sizes, double width, double height);

/* A placed diagram as wide as one of those columns, cut into columns from top to bottom. */
PaperPages paper_cut(Arena *arena, const Diagram *diagram, double width, double height);

/* The texts that are not in the picture: "gpt2.onnx: transformer.h.0. one of 12 equal blocks: ..";
 * and its legend in one line. */
const char *paper_caption(Arena *arena, const Diagram *diagram);
const char *paper_legend(Arena *arena, const Diagram *diagram, const Mesh *mesh);

/* "3.25in", "82.5mm", "8.25cm", "234pt", "234": a length in points, of one to a hundred inches. */
bool paper_parse_length(Str text, double *points, Error *err);

#endif
