#include "tui/screen/folded.h"

#include "core/base/text.h"

void pen_put_folded(Pen *pen, Style style, Str text, int indent)
{
    while (text.n > 0 && !pen_full(pen)) {
        pen_tab(pen, indent);
        pen_put(pen, style, text_take_line(&text, pen->area.w - pen->x));
        if (text.n > 0)
            pen_line(pen);
    }
}
