#include "core/base/text.h"

enum { ESCAPE_COLUMNS = 4 }; /* \xNN */

typedef struct {
    uint32_t first, last;
    int width;
} WidthRange;

/* Blocks, not single characters: a character drawn in one column too many is seen at once, and
 * names in these scripts are rare. */
static const WidthRange widths[] = {
    {0x0300, 0x036f, 0},   {0x0483, 0x0489, 0},   {0x0591, 0x05bd, 0},   {0x0610, 0x061c, 0},
    {0x064b, 0x065f, 0},   {0x0e34, 0x0e3a, 0},   {0x0e47, 0x0e4e, 0},   {0x1100, 0x115f, 2},
    {0x1160, 0x11ff, 0},   {0x1ab0, 0x1aff, 0},   {0x1dc0, 0x1dff, 0},   {0x200b, 0x200f, 0},
    {0x202a, 0x202e, 0},   {0x2060, 0x206f, 0},   {0x20d0, 0x20ff, 0},   {0x231a, 0x231b, 2},
    {0x2e80, 0x303e, 2},   {0x3041, 0xa4cf, 2},   {0xa960, 0xa97f, 2},   {0xac00, 0xd7a3, 2},
    {0xd800, 0xdfff, 0},   {0xf900, 0xfaff, 2},   {0xfe00, 0xfe0f, 0},   {0xfe20, 0xfe2f, 0},
    {0xfe30, 0xfe6f, 2},   {0xfeff, 0xfeff, 0},   {0xff00, 0xff60, 2},   {0xffe0, 0xffe6, 2},
    {0xfff9, 0xfffb, 0},   {0x1f300, 0x1f64f, 2}, {0x1f680, 0x1f6ff, 2}, {0x1f900, 0x1faff, 2},
    {0x20000, 0x3fffd, 2}, {0xe0000, 0xe0fff, 0},
};

int rune_width(uint32_t rune)
{
    if (rune < widths[0].first)
        return 1;
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++)
        if (rune >= widths[i].first && rune <= widths[i].last)
            return widths[i].width;
    return 1;
}

/* Controls, C1 among them; direction marks, joiners, line separators, the byte order mark and what
 * is no character: terminals obey them, they move other text, or nobody sees them. */
bool rune_is_shown(uint32_t rune)
{
    if (rune < 0xa0)
        return rune >= 0x20 && rune < 0x7f;
    return !((rune >= 0x200b && rune <= 0x200f) || (rune >= 0x2028 && rune <= 0x202e) ||
             (rune >= 0x2060 && rune <= 0x206f) || (rune >= 0xfff9 && rune <= 0xfffb) ||
             (rune >= 0xe0000 && rune <= 0xe007f) || rune == 0x061c || rune == 0xfeff ||
             rune == 0xfffe || rune == 0xffff);
}

bool text_rune(Str text, uint32_t *rune, size_t *n)
{
    *n = str_rune(text, rune);
    if (*n > 0 && rune_is_shown(*rune))
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

/* Whether parts of a name end there; the dots of "h[0..11]" are inside of one. */
static bool separates(Str name, size_t at)
{
    bool in_range = (at > 0 && name.s[at - 1] == '.') || (at + 1 < name.n && name.s[at + 1] == '.');
    return name.s[at] == '/' || (name.s[at] == '.' && !in_range);
}

/* Where the last n parts of a name begin, behind the separator before them. */
static size_t last_parts(Str name, int n)
{
    size_t at = name.n;

    while (at > 0 && (!separates(name, at - 1) || --n > 0))
        at--;
    return at;
}

/* The longest end of the name that fits and begins with a part; with a piece of one where a '*',
 * which says nothing alone, would be first. */
static Str whole_parts(Str name, int columns)
{
    Str tail = text_tail(name, columns);
    size_t at = name.n - tail.n;
    while (at > 0 && at < name.n && !separates(name, at - 1))
        at++;
    return name.s[at] == '*' ? tail : (Str){name.s + at, name.n - at};
}

Str text_name_end(Str name)
{
    size_t at = last_parts(name, 1);
    if (!memchr(name.s + at, '[', name.n - at)) /* "layers[0..15]" says enough alone */
        at = last_parts(name, 2);
    return (Str){name.s + at, name.n - at};
}

bool text_cut_name(Str name, int columns, Str *head, Str *tail)
{
    Str end = text_name_end(name);
    int room = columns > 0 ? columns - 1 : 0;

    *head = *tail = (Str){name.s, 0};
    if (text_columns(name) <= columns) {
        *head = name;
        return false;
    }
    if (text_columns(end) <= room) {
        *tail = whole_parts(name, room);
        return true;
    }
    size_t at = last_parts(end, 1);
    at -= at > 0; /* with its separator */
    *tail = (Str){end.s + at, end.n - at};
    if (3 * text_columns(*tail) > 2 * room)
        *tail = text_tail(*tail, room / 2);
    *head = text_head(end, room - text_columns(*tail));
    return true;
}

void text_put_name(Str name, int columns, Buf *out)
{
    Str head, tail;
    bool cut = text_cut_name(name, columns, &head, &tail);

    buf_printf(out, "%.*s%s%.*s", STR_ARG(head), cut && columns > 0 ? "…" : "", STR_ARG(tail));
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
