#include "tui/screen/text.h"

#include "tui/screen/style.h"

enum { ESCAPE_COLUMNS = 4 }; /* \xNN */

bool text_rune(Str text, uint32_t *rune, size_t *n)
{
    *n = str_rune(text, rune);
    if (*n > 0 && *rune >= 0x20 && (*rune < 0x7f || *rune >= 0xa0))
        return true;
    *n = 1;
    return false;
}

/* Columns of one step of pen_put(), and its bytes. */
static int step_columns(Str text, size_t *n)
{
    uint32_t rune;

    if (!text_rune(text, &rune, n))
        return ESCAPE_COLUMNS;
    int width = rune_width(rune);
    return width == 0 ? 1 : width;
}

int text_columns(Str text)
{
    int columns = 0;

    for (size_t at = 0, n; at < text.n; at += n)
        columns += step_columns((Str){text.s + at, text.n - at}, &n);
    return columns;
}

Str text_head(Str text, int columns)
{
    size_t at = 0;

    for (size_t n; at < text.n; at += n) {
        columns -= step_columns((Str){text.s + at, text.n - at}, &n);
        if (columns < 0)
            break;
    }
    return (Str){text.s, at};
}

Str text_tail(Str text, int columns)
{
    int over = text_columns(text) - columns;

    for (size_t n; over > 0 && text.n > 0; text = (Str){text.s + n, text.n - n})
        over -= step_columns(text, &n);
    return text;
}

Str text_take_line(Str *text, int columns)
{
    size_t at = 0, end = 0;

    while (at < text->n && text->s[at] == ' ')
        at++;
    columns -= (int)at;
    for (size_t n; at < text->n; at += n) {
        if (text->s[at] == ' ' && text->s[at - 1] != ' ')
            end = at;
        columns -= step_columns((Str){text->s + at, text->n - at}, &n);
        if (columns < 0 && end > 0)
            break;
    }
    if (at == text->n)
        end = at;
    Str line = {text->s, end};
    while (end < text->n && text->s[end] == ' ')
        end++;
    *text = (Str){text->s + end, text->n - end};
    return line;
}

void text_put_pair(Str term, int at, const char *meaning, Buf *out)
{
    Str rest = str_from(meaning);
    int used = text_columns(term);
    buf_add(out, term);
    if (rest.n > 0 && used + 2 > at) {
        buf_putc(out, '\n');
        used = 0;
    }
    while (rest.n > 0) {
        buf_blanks(out, at - used);
        buf_add(out, text_take_line(&rest, TEXT_COLUMNS - at));
        buf_puts(out, rest.n > 0 ? "\n" : "");
        used = 0;
    }
    buf_putc(out, '\n');
}
