#include "tui/views/label.h"

#include "core/base/units.h"
#include "core/plan/stage.h"

#include <ctype.h>

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The word at the start of text, and its style: an axis has its colour. */
static Str word_at(const Ui *ui, Str text, bool in_word, Style *style)
{
    Str word = {text.s, 1};

    *style = ROLE_TEXT;
    if (in_word || !is_name(text.s[0]))
        return word;
    while (word.n < text.n && is_name(text.s[word.n]))
        word.n++;
    int axis = mesh_find_axis(ui->session->mesh, word);
    if (axis >= 0)
        *style = style_axis(axis);
    return word;
}

static const char sigma[] = "Σ";

static void draw_words(const Ui *ui, Pen *pen, Str text, int dim)
{
    int at_dim = 0, depth = 0;

    for (size_t i = 0; i < text.n;) {
        Str rest = {text.s + i, text.n - i};
        Style style;
        if (str_starts(rest, str_from(sigma))) {
            word_at(ui, (Str){rest.s + 2, rest.n - 2}, rest.n == 2, &style);
            pen_put(pen, style, (Str){rest.s, 2});
            i += 2;
            continue;
        }
        Str word = word_at(ui, rest, false, &style);
        uint32_t rune;
        size_t n = str_rune(rest, &rune);
        word.n = n > word.n ? n : word.n;
        depth += rest.s[0] == '(' || rest.s[0] == '[' ? 1 : 0;
        depth -= rest.s[0] == ')' || rest.s[0] == ']' ? 1 : 0;
        if (depth == 0 && (rest.s[0] == ',' || rest.s[0] == ' '))
            at_dim++;
        else if (at_dim == dim)
            style |= STYLE_UNDERLINE;
        pen_put(pen, style, word);
        i += word.n;
    }
}

void draw_sharding(const Ui *ui, Pen *pen, Str text, int dim, int columns)
{
    int end = pen->x + columns;

    if (columns < 0) {
        draw_words(ui, pen, text, dim);
        return;
    }
    Pen inner = *pen;
    if (inner.area.w > end)
        inner.area.w = end;
    draw_words(ui, &inner, text, dim);
    pen->x = inner.x < end ? inner.x : end;
    if (inner.x > end && columns > 0) {
        pen->x = end - 1;
        pen_rune(pen, ROLE_TEXT, 0x2026);
    }
    pen_tab(pen, end);
}

void draw_field(Pen *pen, const char *label, int columns)
{
    pen_fit(pen, ROLE_HEAD, str_from(label), columns);
}
