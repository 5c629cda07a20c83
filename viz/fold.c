#include "viz/fold.h"

#include "core/base/text.h"

int fold_columns(Str text)
{
    int most = 0;

    while (text.n > 0) {
        int n = text_columns(str_take(&text, '\n'));
        most = n > most ? n : most;
    }
    return most;
}

/* Whether the word at i is a unit, as of the number before it: both stay on one line. */
static bool is_unit(Str line, size_t i)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "us", "ms", "s", "GB/s"};
    Str rest = {line.s + i, line.n - i};
    Str word = str_take(&rest, ' ');

    while (word.n > 0 && (word.s[word.n - 1] == ',' || word.s[word.n - 1] == ':'))
        word.n--;
    for (size_t u = 0; u < sizeof units / sizeof *units; u++)
        if (str_eq(word, str_from(units[u])))
            return true;
    return false;
}

/* Whether a line may end behind its character i: not inside of "0..11". */
static bool breaks_after(Str line, size_t i, bool in_names)
{
    char c = line.s[i], before = i > 0 ? line.s[i - 1] : ' ';

    if (c == ' ')
        return before < '0' || before > '9' || !is_unit(line, i + 1);
    if (c == '.')
        return in_names && before != '.' && (i + 1 == line.n || line.s[i + 1] != '.');
    return c == ',' || c == '+' || (in_names && c == '_');
}

/* How many bytes of a line are taken up to the last place to break it that fits, or the first one;
 * 0 if there is none. */
static size_t break_at(Str line, int columns, bool in_names)
{
    size_t last = 0;

    for (size_t i = 0; i < line.n; i++) {
        if (!breaks_after(line, i, in_names))
            continue;
        size_t end = i + (line.s[i] != ' ');
        if (last > 0 && text_columns((Str){line.s, end}) > columns)
            break;
        last = i + 1;
    }
    return last;
}

/* How many bytes of a line to take: to its end, or to the last blank, comma or plus that fits; a
 * word that is longer than the line is broken where parts of a name end. */
static size_t take_fitting(Str line, int columns)
{
    if (text_columns(line) <= columns)
        return line.n;
    size_t n = break_at(line, columns, false);
    Str taken = str_trim((Str){line.s, n > 0 ? n : line.n});
    if (text_columns(taken) > columns && break_at(taken, columns, true) > 0)
        n = break_at(line, columns, true);
    return n > 0 ? n : line.n;
}

Text fold_text(Arena *arena, Text text, int columns)
{
    static const char ARROW[] = " \xe2\x86\x92 ";
    Buf out = buf_marked(arena);

    if (fold_columns(text.str) <= columns)
        return text;
    while (text.str.n > 0) {
        Text line = text_take(&text, '\n');
        int64_t arrow = text_columns(line.str) > columns ? str_find(line.str, str_from(ARROW)) : -1;
        if (arrow > 0) {
            buf_puts(&out, out.n > 0 ? "\n" : "");
            buf_add_text(&out, text_part(line, 0, (size_t)arrow));
            line = text_part(line, (size_t)arrow + 1, line.str.n - (size_t)arrow - 1);
        }
        while (line.str.n > 0) {
            size_t n = take_fitting(line.str, columns);
            buf_puts(&out, out.n > 0 ? "\n" : "");
            buf_add_text(&out, text_trim(text_part(line, 0, n)));
            line = text_part(line, n, line.str.n - n);
        }
    }
    return buf_text(&out);
}
