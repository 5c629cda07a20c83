#include "tui/screen/grid_write.h"

/* In hundredths of a pixel, which stay exact. */
enum { CELL_W = 843, CELL_H = 1800, BASELINE = 1350, MARGIN = 1000 };

/* Cells x to end - 1 of a line look alike. */
typedef struct {
    const Cell *cells;
    int x, y, end;
    Style style;
} CellRun;

static int line_end(const Grid *grid, int y)
{
    const Cell *row = grid->cells + y * grid->w;
    int end = grid->w;

    while (end > 0 && row[end - 1].rune == ' ' && !(row[end - 1].style & STYLE_SELECTED))
        end--;
    return end;
}

/* The run that begins where the last one ended. */
static bool next_run(const Grid *grid, CellRun *run)
{
    int last = line_end(grid, run->y);

    run->cells = grid->cells + run->y * grid->w;
    run->x = run->end;
    if (run->x >= last)
        return false;
    run->style = run->cells[run->x].style;
    while (run->end < last && run->cells[run->end].style == run->style)
        run->end++;
    return true;
}

/* A character in a file of markup. */
static void add_escaped(Buf *out, uint32_t rune)
{
    if (rune == '<')
        buf_puts(out, "&lt;");
    else if (rune == '>')
        buf_puts(out, "&gt;");
    else if (rune == '&')
        buf_puts(out, "&amp;");
    else if (rune == '"')
        buf_puts(out, "&quot;");
    else
        buf_put_rune(out, rune);
}

static void add_run(const CellRun *run, void (*add)(Buf *out, uint32_t rune), Buf *out)
{
    for (int x = run->x; x < run->end; x++)
        if (run->cells[x].width > 0)
            add(out, run->cells[x].rune);
}

static void add_text(Str text, Buf *out)
{
    Buf safe = buf_new(out->arena);

    text_printable(text, &safe);
    for (size_t i = 0; i < safe.n; i++) {
        if (strchr("<>&\"", safe.s[i]))
            add_escaped(out, (unsigned char)safe.s[i]);
        else
            buf_putc(out, safe.s[i]);
    }
}

static unsigned marks_of(const Theme *theme, Style style)
{
    return (unsigned)(style & STYLE_MARKS) | theme_marks(theme, style_role(style));
}

void grid_write_ansi(const Grid *grid, const Theme *theme, Buf *out)
{
    for (int y = 0; y < grid->h; y++) {
        for (CellRun run = {.y = y}; next_run(grid, &run);) {
            int rgb = theme_colour(theme, style_role(run.style), 1 << 24, false);
            unsigned marks = marks_of(theme, run.style);
            bool styled = rgb >= 0 || marks;
            if (styled)
                buf_puts(out, "\033[0");
            buf_puts(out, marks & STYLE_BOLD ? ";1" : "");
            buf_puts(out, marks & STYLE_UNDERLINE ? ";4" : "");
            buf_puts(out, marks & STYLE_SELECTED ? ";7" : "");
            if (rgb >= 0)
                buf_printf(out, ";38;2;%d;%d;%d", rgb >> 16, rgb >> 8 & 0xff, rgb & 0xff);
            buf_puts(out, styled ? "m" : "");
            add_run(&run, buf_put_rune, out);
            buf_puts(out, styled ? "\033[0m" : "");
        }
        buf_putc(out, '\n');
    }
}

/* ---- markup ---- */

/* A class a role: its colour on paper, and on a dark page. */
static void add_css(const Theme *theme, const char *property, bool light, Buf *out)
{
    for (int role = 0; role < ROLE_COUNT; role++) {
        int rgb = theme_colour(theme, (Role)role, 1 << 24, light);
        if (rgb >= 0)
            buf_printf(out, ".r%d{%s:#%06x}", role, property, (unsigned)rgb);
    }
    buf_putc(out, '\n');
}

static void add_class(const Theme *theme, Style style, Buf *out)
{
    unsigned marks = marks_of(theme, style);

    buf_printf(out, "class=\"r%d%s%s%s\"", style_role(style), marks & STYLE_BOLD ? " b" : "",
               marks & STYLE_UNDERLINE ? " u" : "", marks & STYLE_SELECTED ? " s" : "");
}

static void add_px(int hundredths, Buf *out)
{
    buf_printf(out, "%d.%02d", hundredths / 100, hundredths % 100);
}

static void add_attribute(const char *name, int hundredths, Buf *out)
{
    buf_printf(out, " %s=\"", name);
    add_px(hundredths, out);
    buf_putc(out, '"');
}

/* textLength keeps columns where the reader's font is wider or narrower. */
static void svg_run(const Theme *theme, const CellRun *run, Buf *out)
{
    int x = MARGIN + run->x * CELL_W, y = MARGIN + run->y * CELL_H;
    int width = (run->end - run->x) * CELL_W;

    if (run->style & STYLE_SELECTED) {
        buf_puts(out, "<rect");
        add_attribute("x", x, out);
        add_attribute("y", y, out);
        add_attribute("width", width, out);
        add_attribute("height", CELL_H, out);
        buf_puts(out, " fill=\"#dddddd\"/>");
    }
    buf_puts(out, "<text ");
    add_class(theme, run->style, out);
    add_attribute("x", x, out);
    add_attribute("y", y + BASELINE, out);
    add_attribute("textLength", width, out);
    buf_putc(out, '>');
    add_run(run, add_escaped, out);
    buf_puts(out, "</text>\n");
}

void grid_write_svg(const Grid *grid, const Theme *theme, Str title, Buf *out)
{
    int w = 2 * MARGIN + grid->w * CELL_W, h = 2 * MARGIN + grid->h * CELL_H;

    buf_puts(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" xml:space=\"preserve\"");
    add_attribute("width", w, out);
    add_attribute("height", h, out);
    buf_puts(out, ">\n<title>");
    add_text(title, out);
    buf_puts(out, "</title>\n<style>text{font:14px monospace;white-space:pre;fill:#000000}"
                  ".b{font-weight:bold}.u{text-decoration:underline}\n");
    add_css(theme, "fill", true, out);
    buf_puts(out, "</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n");
    for (int y = 0; y < grid->h; y++)
        for (CellRun run = {.y = y}; next_run(grid, &run);)
            svg_run(theme, &run, out);
    buf_puts(out, "</svg>\n");
}

void grid_write_html(const Grid *grid, const Theme *theme, Str title, Buf *out)
{
    buf_puts(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>");
    add_text(title, out);
    buf_puts(out, "</title>\n<style>\nbody{color:#000;background:#fff}pre{line-height:1.25}"
                  ".b{font-weight:bold}.u{text-decoration:underline}.s{background:#ddd}\n");
    add_css(theme, "color", true, out);
    buf_puts(out, "@media (prefers-color-scheme: dark){"
                  "body{color:#ddd;background:#111}.s{background:#444}\n");
    add_css(theme, "color", false, out);
    buf_puts(out, "}\n</style>\n</head>\n<body>\n<pre>\n");
    for (int y = 0; y < grid->h; y++) {
        for (CellRun run = {.y = y}; next_run(grid, &run);) {
            bool styled = run.style != ROLE_TEXT;
            if (styled) {
                buf_puts(out, "<span ");
                add_class(theme, run.style, out);
                buf_putc(out, '>');
            }
            add_run(&run, add_escaped, out);
            buf_puts(out, styled ? "</span>" : "");
        }
        buf_putc(out, '\n');
    }
    buf_puts(out, "</pre>\n</body>\n</html>\n");
}
