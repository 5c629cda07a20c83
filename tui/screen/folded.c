#include "tui/screen/folded.h"

#include "core/base/str.h"

/* Bytes of the first line: up to the last blank before which it fits. */
static size_t line_bytes(Str text, int room)
{
    size_t n = text.n;

    if (text_columns(text) <= room)
        return n;
    while (n > 1 && (text.s[n - 1] != ' ' || text_columns((Str){text.s, n - 1}) > room))
        n--;
    return n > 1 ? n : text.n;
}

void pen_put_folded(Pen *pen, Style style, Str text, int indent)
{
    for (size_t n; (n = line_bytes(text, pen->area.w - pen->x)) < text.n;) {
        pen_put(pen, style, (Str){text.s, n - 1});
        pen_line(pen);
        if (pen_full(pen))
            return;
        pen_tab(pen, indent);
        text = (Str){text.s + n, text.n - n};
    }
    pen_fit(pen, style, text, pen->area.w - pen->x);
}
