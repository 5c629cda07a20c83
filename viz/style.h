/* style.h - what drawings look like: one meaning each, the same marks as on the screen, so that a
 * grey print still reads. */
#ifndef VIZ_STYLE_H
#define VIZ_STYLE_H

#include "core/plan/mesh.h"

/* The colour of the i-th mesh axis on white, "#0072B2"; the fifth and later share the neutral one:
 * from there on only the name carries it. */
const char *style_axis_colour(int axis);

#define STYLE_NEUTRAL "#5F6368"
#define STYLE_TEXT "#202124"
#define STYLE_GROUP "#F1F3F4"

#endif
