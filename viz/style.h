/* style.h - what drawings look like: one meaning each, the same marks as on the screen, so that a
 * grey print still reads. */
#ifndef VIZ_STYLE_H
#define VIZ_STYLE_H

#include "core/layout/mesh.h"
#include "core/reshard/price.h"

/* The colour of the i-th mesh axis on white, "#0072B2"; the fifth and later share the neutral one:
 * from there on only the name carries it. */
const char *style_axis_colour(int axis);

/* A light ground, from 1 on; they differ in grey as well, and come again after a few. */
const char *style_shade(int shade);

/* How a line of what is moved looks: Graphviz's arrowhead, dir and style. */
typedef struct {
    const char *name; /* "all-reduce" */
    const char *head, *direction, *style;
    bool doubled;
    const char *sign; /* that looks like it, for the legend */
} StyleMove;

const StyleMove *style_move(StepKind kind);

/* One font for all: its characters are equally wide, so texts fit their boxes wherever they are
 * shown. */
#define STYLE_FONT "monospace"
#define STYLE_FONTS "'DejaVu Sans Mono',Menlo,Consolas,'Liberation Mono',monospace"
#define STYLE_NEUTRAL "#5F6368"
#define STYLE_TEXT "#202124"
#define STYLE_GROUP "#F1F3F4"
#define STYLE_LINE "#9AA0A6"

#endif
