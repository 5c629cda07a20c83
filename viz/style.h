/* style.h - the look of drawings: each mark has one meaning, the same as on screens, and a grey
 * print is still readable. */
#ifndef VIZ_STYLE_H
#define VIZ_STYLE_H

#include "core/layout/mesh.h"
#include "core/reshard/price.h"

/* The colour of the i-th mesh axis on white, "#0072B2"; from the fifth on all share a neutral
 * colour and only their names distinguish them. */
const char *style_axis_colour(int axis);

/* A light fill, from 1 on; they differ in grey too, and repeat after a few. */
const char *style_shade(int shade);

/* The look of a moved value's line: Graphviz's arrowhead, dir and style. */
typedef struct {
    const char *name; /* "all-reduce" */
    const char *head, *direction, *style;
    bool doubled;
    const char *sign; /* a text that looks like it, for the legend */
} StyleMove;

const StyleMove *style_move(StepKind kind);

/* One monospaced font for all texts, so that they fit their boxes on every system. */
#define STYLE_FONT "monospace"
#define STYLE_FONTS "'DejaVu Sans Mono',Menlo,Consolas,'Liberation Mono',monospace"
#define STYLE_NEUTRAL "#5F6368"
#define STYLE_TEXT "#202124"
#define STYLE_GROUP "#F1F3F4"
#define STYLE_LINE "#9AA0A6"

#endif
