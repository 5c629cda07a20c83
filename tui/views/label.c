#include "tui/views/label.h"

void draw_field(Pen *pen, const char *label, int columns)
{
    pen_fit(pen, ROLE_HEAD, str_from(label), columns);
}
