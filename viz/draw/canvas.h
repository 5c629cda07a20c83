/* canvas.h - drawings placed here instead of by dot: charts, and the figure of a layer.
 *
 * Lengths are points of the printed page; x grows to the right, y downwards. Everything consists of
 * boxes and straight lines between their borders; a corner is a box of size 0 where a line turns.
 */
#ifndef VIZ_DRAW_CANVAS_H
#define VIZ_DRAW_CANVAS_H

#include "viz/draw/draw.h"

typedef enum { ALIGN_LEFT, ALIGN_CENTRE, ALIGN_RIGHT } CanvasAlign;

typedef struct {
    Draw *draw;
    double width;  /* of the page */
    double points; /* size of the type */
} Canvas;

/* Makes the diagram a placed one; its page has the requested width, or the width for a screen. */
Canvas canvas_new(Draw *draw);

double canvas_text_width(const Canvas *canvas, Str text); /* of its longest line */
double canvas_line_height(const Canvas *canvas);
/* The number of characters that fit into a width. */
int canvas_columns(const Canvas *canvas, double width);
/* The text, with its middle left out if it does not fit. */
const char *canvas_fit(const Canvas *canvas, const char *text, double width);

/* Return the number of the box, for lines. x, y: the top left corner. */
int canvas_box(Canvas *canvas, BoxLook look, DiagramPlace place, Text text);
int canvas_corner(Canvas *canvas, double x, double y);
/* A text without a border; x: its left end, middle or right end; y: its middle. */
int canvas_text(Canvas *canvas, double x, double y, CanvasAlign align, Text text);
/* A filled box: shade as of a cell. ink: the mesh axis whose colour fills it, -1 for the shade. */
int canvas_fill(Canvas *canvas, DiagramPlace place, int shade, int ink, const char *why);
/* A straight line. Returns it, for the caller to mark. */
DiagramLine *canvas_line(Canvas *canvas, int from, int to, bool arrow);
/* Lines from one box to another by way of corners. */
void canvas_path(Canvas *canvas, int from, const DiagramPlace *corner, int n, int to);

/* A row of squares (tints or colours of axes) with their meanings, in as many lines as needed. */
typedef struct {
    double left, x, y; /* the left end of lines; the place of the next item, y being its middle */
} CanvasKey;
void canvas_key(Canvas *canvas, CanvasKey *key, int shade, int ink, Text name);
/* An axis of time below y, with a tick at every round number. */
void canvas_axis(Canvas *canvas, double x, double y, double width, double us);
/* 1, 2 or 5 times a power of ten, such that about `ticks` of them make `most`. */
double canvas_nice_step(double most, int ticks);

#endif
