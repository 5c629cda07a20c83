/* canvas.h - drawings that are placed by themselves instead of by dot: charts, and the figure of a
 * layer.
 *
 * Lengths are points of the printed page; x grows to the right, y downwards. Everything is boxes
 * and straight lines between their borders; a corner is a box without a size, where a line turns.
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

/* The diagram becomes one that is placed; its page has the width that was asked for, or one for
 * a screen. */
Canvas canvas_new(Draw *draw);

double canvas_text_width(const Canvas *canvas, Str text); /* of its longest line */
double canvas_line_height(const Canvas *canvas);
/* How many characters fit into a width. */
int canvas_columns(const Canvas *canvas, double width);
/* The text, or what fits of it with its middle left out. */
const char *canvas_fit(const Canvas *canvas, const char *text, double width);

/* Return the number of the box, for lines. x, y: the left top corner. */
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

/* A row of squares, tints or colours of axes, and their meanings, in as many lines as it takes. */
typedef struct {
    double left, x, y; /* where a line begins, where the next one goes; y: its middle */
} CanvasKey;
void canvas_key(Canvas *canvas, CanvasKey *key, int shade, int ink, Text name);
/* An axis of time below y, with a tick at every round number. */
void canvas_axis(Canvas *canvas, double x, double y, double width, double us);
/* 1, 2 or 5 times a power of ten, so that about that many make `most`. */
double canvas_nice_step(double most, int ticks);

#endif
