#include "tui/views/label.h"

void draw_field(Pen *pen, const char *label, int columns)
{
    pen_fit(pen, ROLE_HEAD, str_from(label), columns);
}

Style partial_style(const Slices *slices)
{
    for (int atom = 0; atom < slices->mesh->n_atoms; atom++)
        if (slices->partials >> atom & 1)
            return style_axis(slices->mesh->atoms[atom].axis);
    return ROLE_TEXT;
}
