/* placed.h - where dot has placed the boxes, frames and lines of a drawing, read from its JSON.
 *
 * All lengths are points; x grows to the right and y upwards. Used for choices that do not change
 * the layout, such as the corner of a frame's title, and to measure drawings.
 */
#ifndef VIZ_PLACED_H
#define VIZ_PLACED_H

#include "viz/diagram.h"

typedef struct {
    double x0, y0, x1, y1;
} PlacedRect;

typedef struct {
    double x, y;
} PlacedPoint;

typedef struct {
    int n;
    const PlacedPoint *at; /* points on the curve, close together */
} PlacedLine;

typedef struct {
    PlacedRect page;
    const PlacedRect *box, *frame; /* per box and frame of the diagram */
    const PlacedPoint *title;      /* per frame: width and height of its title */
    const PlacedLine *line;        /* per line; n is 0 if it is not drawn */
} Placed;

/* json: the output of `dot -Tjson0` for the DOT text of dot_write(diagram). Returns false with
 * ERROR_RUN if it is not that. */
bool placed_read(Arena *arena, Str json, const Diagram *diagram, Placed *out, Error *err);

/* The number of lines that cross the title of a frame on that side: 'l', 'c' or 'r'. */
int placed_crossings(const Placed *placed, const Diagram *diagram, int frame, char side);

/* Chooses for the title of each frame the side on which the fewest lines cross it, left if several
 * are equal. */
void placed_choose_sides(const Placed *placed, Diagram *diagram);

#endif
