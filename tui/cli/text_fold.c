#include "tui/cli/text_fold.h"

#include "core/base/text.h"

enum { FURTHER_INDENT = 4 };

static Str head(Str line, size_t n)
{
    return (Str){line.s, n};
}

static Str tail(Str line, size_t from)
{
    return (Str){line.s + from, line.n - from};
}

static int indent_of(Str line)
{
    size_t n = 0;
    while (n < line.n && line.s[n] == ' ')
        n++;
    return (int)n;
}

/* Bytes before the last run of so many blanks that starts within the columns; 0: there is none. */
static size_t last_gap(Str line, int columns, size_t blanks)
{
    size_t found = 0, run = 0;
    for (size_t i = (size_t)indent_of(line); i < line.n; i++) {
        run = line.s[i] == ' ' ? run + 1 : 0;
        if (run != blanks)
            continue;
        if (text_columns(head(line, i + 1 - blanks)) > columns)
            break;
        found = i + 1 - blanks;
    }
    return found;
}

static Str without_blanks(Str text)
{
    return tail(text, (size_t)indent_of(text));
}

/* A row of a table: true when its last cells go below, to the right. */
static bool fold_row(Str line, int columns, Buf *out)
{
    size_t gap = last_gap(line, columns, 2);
    Str rest = without_blanks(tail(line, gap));
    int width = text_columns(rest), indent = indent_of(line);
    if (gap == 0 || text_columns(head(line, gap)) < columns / 2 || width > columns - indent)
        return false;
    buf_add(out, head(line, gap));
    buf_putc(out, '\n');
    buf_blanks(out, columns - width);
    buf_add(out, rest);
    return true;
}

void text_fold(Str line, int columns, Buf *out)
{
    int indent = indent_of(line), further = indent + FURTHER_INDENT;
    if (further > columns / 2)
        further = columns / 2;
    if (text_columns(line) <= columns || columns < FURTHER_INDENT) {
        buf_add(out, line);
        return;
    }
    if (fold_row(line, columns, out))
        return;
    for (int before = 0; text_columns(line) > columns - before; before = further) {
        size_t n = last_gap(line, columns - before, 1);
        if (n == 0)
            n = text_head(line, columns - before).n;
        n = n > 0 ? n : 1; /* a byte shown as \xNN is wider than the line */
        buf_add(out, head(line, n));
        buf_putc(out, '\n');
        buf_blanks(out, further);
        line = without_blanks(tail(line, n));
    }
    buf_add(out, line);
}
