#include "viz/style.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

const char *style_axis_colour(int axis)
{
    /* Contrast on white of 5.2:1 or more, safe for four axes with any colour vision. */
    static const char *const colours[] = {"#0072B2", "#8A5A00", "#00694D", "#9A3E73"};
    return axis >= 0 && axis < COUNT(colours) ? colours[axis] : STYLE_NEUTRAL;
}

const char *style_shade(int shade)
{
    static const char *const shades[] = {"#D6E6F5", "#FBEBC8", "#CDE8DD", "#F3D9E6",
                                         "#E4E4F7", "#F7E1D0", "#DDEBC9", "#E3E3E3"};
    return shade <= 0 ? "#FFFFFF" : shades[(shade - 1) % COUNT(shades)];
}

const StyleMove *style_move(StepKind kind)
{
    /* ORDER STEP_KIND */
    static const StyleMove moves[] = {
        {"slice", "normal", "forward", "solid", false, "\xe2\x94\x80\xe2\x94\x80\xe2\x96\xb6"},
        {"all-gather", "crow", "forward", "solid", false, "\xe2\x94\x81\xe2\x94\x81<"},
        {"all-reduce", "normal", "both", "bold", false, "\xe2\x97\x80\xe2\x94\x81\xe2\x96\xb6"},
        {"reduce-scatter", "inv", "forward", "dashed", false,
         "\xe2\x95\x8c\xe2\x95\x8c\xe2\x97\x81"},
        {"all-to-all", "normal", "forward", "solid", true, "\xe2\x95\x90\xe2\x95\x90\xe2\x96\xb6"},
        {"permute", "dot", "forward", "dotted", false, "\xe2\x94\x88\xe2\x94\x88\xe2\x97\x8f"},
        {"send", "dot", "forward", "dotted", false, "\xe2\x94\x88\xe2\x94\x88\xe2\x97\x8f"},
        {"broadcast", "dot", "forward", "dotted", false, "\xe2\x94\x88\xe2\x94\x88\xe2\x97\x8f"},
        {"halo exchange", "dot", "both", "solid", false, "\xe2\x97\x8f\xe2\x94\x80\xe2\x97\x8f"},
        {"scan", "vee", "forward", "dashed", false, "\xe2\x95\x8c\xe2\x95\x8c\xe2\x96\xb6"},
        {"ring", "dot", "forward", "solid", true, "\xe2\x97\x8f\xe2\x94\x80\xe2\x96\xb6"},
    };
    return &moves[kind];
}
