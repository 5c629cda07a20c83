#include "viz/style.h"

/* Contrast on white of 5.2:1 or more, safe for four axes with any colour vision. */
static const char *const axis_colours[] = {"#0072B2", "#8A5A00", "#00694D", "#9A3E73"};

enum { N_COLOURS = sizeof axis_colours / sizeof *axis_colours };

const char *style_axis_colour(int axis)
{
    return axis >= 0 && axis < N_COLOURS ? axis_colours[axis] : STYLE_NEUTRAL;
}
