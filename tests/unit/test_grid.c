#include "tests/unit/unit.h"

#include "tui/screen/grid.h"
#include "tui/screen/theme.h"

#include <stdio.h>
#include <string.h>

static Arena *arena;

static const char *screen(const Grid *grid)
{
    Buf text = buf_new(arena);
    grid_format(grid, &text);
    return text.s;
}

/* ---- what a text looks like on a screen of 8 columns ---- */

typedef struct {
    const char *name, *text, *want, *want_ascii;
} TextRow;

static TextRow text_rows[] = {
    {"plain", "h.0", "h.0", "h.0"},
    {"what is cut says so", "transformer", "transfo…", "transfo~"},
    {"blanks are not missed", "12345678  ", "12345678", "12345678"},
    {"escape cannot act", "a\x1b[m", "a\\x1b[m", "a\\x1b[m"},
    {"c1 control cannot act", "a\xc2\x9bm", "a\\xc2\\x…", "a\\xc2\\x~"},
    {"newline and tab", "a\n\tb", "a\\x0a\\x…", "a\\x0a\\x~"},
    {"broken utf-8", "a\xffz", "a\\xffz", "a\\xffz"},
    {"cut utf-8", "a\xe2\x94", "a\\xe2\\x…", "a\\xe2\\x~"},
    {"overlong utf-8", "\xc0\xaf", "\\xc0\\xaf", "\\xc0\\xaf"},
    {"surrogate", "\xed\xa0\x80.", "\\xed\\xa…", "\\xed\\xa~"},
    {"glyphs", "├─●▸×Σ…▒", "├─●▸×Σ…▒", "+-*>x+~%"},
    {"arrows and blocks", "→█▌▏µ÷Δ·", "→█▌▏µ÷Δ·", ">##-u/d."},
    {"unknown glyph", "aЖb", "aЖb", "a?b"},
    {"combining mark takes its place", "e\xcc\x81x", "e?x", "e?x"},
    {"direction mark is shown",
     "a\xe2\x80\xae"
     "b",
     "a\\xe2\\x…", "a\\xe2\\x~"},
    {"wide characters take two", "層0", "層0", "??0"},
    {"wide at the edge", "1234567層", "1234567…", "1234567~"},
};

static void text_on_a_screen(void **state)
{
    const TextRow *row = *state;
    arena = arena_new();
    for (int ascii = 0; ascii < 2; ascii++) {
        Grid *grid = grid_new(arena, 8, 1, ascii);
        Pen pen = pen_new(grid, (Rect){0, 0, 8, 1});
        pen_puts(&pen, ROLE_TEXT, row->text);
        const char *want = ascii ? row->want_ascii : row->want;
        assert_string_equal(screen(grid), arena_printf(arena, "%s\n", want));
    }
    arena_free(arena);
}

/* ---- text in a column of given width ---- */

typedef struct {
    const char *name;
    void (*put)(Pen *pen, Style style, Str text, int columns);
    int columns;
    const char *text, *want;
} FitRow;

static FitRow fit_rows[] = {
    {"fits", pen_fit, 5, "c_fc", "c_fc |"},
    {"cut with an ellipsis", pen_fit, 5, "c_proj", "c_pr…|"},
    {"exactly", pen_fit, 4, "c_fc", "c_fc|"},
    {"no room", pen_fit, 0, "c_fc", "|"},
    {"tail kept", pen_fit_tail, 5, "h.0.mlp", "….mlp|"},
    {"tail fits", pen_fit_tail, 9, "h.0.mlp", "h.0.mlp  |"},
    {"right", pen_right, 6, "1.0", "   1.0|"},
    {"right too long", pen_right, 4, "1024.0", "102…|"},
    {"wide cut whole", pen_fit, 4, "層層層", "層… |"},
};

static void text_in_a_column(void **state)
{
    const FitRow *row = *state;
    arena = arena_new();
    Grid *grid = grid_new(arena, 20, 1, false);
    Pen pen = pen_new(grid, (Rect){0, 0, 20, 1});
    row->put(&pen, ROLE_TEXT, str_from(row->text), row->columns);
    pen_puts(&pen, ROLE_TEXT, "|");
    assert_string_equal(screen(grid), arena_printf(arena, "%s\n", row->want));
    arena_free(arena);
}

/* ---- the rest ---- */

static void pen_stays_in_its_area(void **state)
{
    (void)state;
    Grid *grid = grid_new(arena, 6, 3, false);
    Pen pen = pen_new(grid, (Rect){2, 1, 3, 1});
    pen_to(&pen, -1, 0);
    pen_puts(&pen, ROLE_TEXT, "abcdefgh");
    pen_line(&pen);
    pen_puts(&pen, ROLE_TEXT, "below");
    assert_string_equal(screen(grid), "\n  bc…\n\n");
}

static void area_outside_the_grid_is_cut(void **state)
{
    (void)state;
    Grid *grid = grid_new(arena, 4, 2, false);
    Pen pen = pen_new(grid, (Rect){2, 1, 9, 9});
    pen_puts(&pen, ROLE_TEXT, "abcdef");
    grid_mark(grid, (Rect){-5, -5, 100, 100}, STYLE_SELECTED);
    assert_string_equal(screen(grid), "\n  a…\n");
    assert_true(grid->cells[7].style & STYLE_SELECTED);
}

/* A coloured bar stays what it is, the blanks after it are of the row. */
static void bars_of_a_selected_row_read_as_bars(void **state)
{
    (void)state;
    Grid *grid = grid_new(arena, 8, 1, false);
    Pen pen = pen_new(grid, (Rect){0, 0, 8, 1});
    pen_puts(&pen, ROLE_DEAR, "1 s█ ");
    pen_bar(&pen, ROLE_TEXT, 1, 2, 2);
    grid_mark(grid, (Rect){0, 0, 8, 1}, STYLE_SELECTED);
    const Style want[] = {ROLE_DEAR | STYLE_SELECTED, ROLE_DEAR | STYLE_SELECTED,
                          ROLE_DEAR | STYLE_SELECTED, ROLE_DEAR,
                          ROLE_TEXT | STYLE_SELECTED, ROLE_TEXT | STYLE_SELECTED,
                          ROLE_TEXT | STYLE_SELECTED, ROLE_TEXT | STYLE_SELECTED};
    for (int x = 0; x < 8; x++)
        assert_int_equal(grid->cells[x].style, want[x]);
}

static void half_of_a_wide_character_is_never_left(void **state)
{
    (void)state;
    Grid *grid = grid_new(arena, 4, 1, false);
    Pen pen = pen_new(grid, (Rect){0, 0, 4, 1});
    pen_puts(&pen, ROLE_TEXT, "層層");
    pen_to(&pen, 1, 0);
    pen_puts(&pen, ROLE_TEXT, "ab");
    assert_string_equal(screen(grid), " ab\n");
    for (int x = 0; x < 4; x++)
        assert_int_equal(grid->cells[x].width, 1);
}

static void bar_fills_in_eighths(void **state)
{
    (void)state;
    Grid *grid = grid_new(arena, 4, 3, false);
    Pen pen = pen_new(grid, (Rect){0, 0, 4, 3});
    pen_bar(&pen, ROLE_TEXT, 3, 8, 4);
    pen_line(&pen);
    pen_bar(&pen, ROLE_TEXT, 20, 10, 4);
    pen_line(&pen);
    pen_bar(&pen, ROLE_TEXT, 1, 0, 4);
    assert_string_equal(screen(grid), "█▌\n████\n\n");
}

static void box_has_its_title(void **state)
{
    (void)state;
    Grid *grid = grid_new(arena, 9, 3, false);
    grid_box(grid, (Rect){0, 0, 9, 3}, false, "Op");
    assert_string_equal(screen(grid), "┌─ Op ──┐\n│       │\n└───────┘\n");
    grid = grid_new(arena, 9, 3, true);
    grid_box(grid, (Rect){0, 0, 9, 3}, true, "Op");
    assert_string_equal(screen(grid), "+= Op ==+\n|       |\n+=======+\n");
}

/* No two axes of a mesh look alike, and each is told from plain text, on every kind of terminal. */
static void axes_have_their_own_colours(void **state)
{
    static const int terminals[] = {16, 256, 1 << 24};
    Theme theme;
    (void)state;
    assert_true(theme_find(STR("default"), &theme));
    for (size_t t = 0; t < COUNT_OF(terminals); t++)
        for (int a = 0; a < STYLE_AXES; a++)
            for (int b = 0; b < a; b++)
                assert_int_not_equal(
                    theme_colour(&theme, style_role(style_axis(a)), terminals[t], false),
                    theme_colour(&theme, style_role(style_axis(b)), terminals[t], false));
    assert_int_equal(style_axis(STYLE_AXES), style_axis(0));
}

static int open_arena(void **state)
{
    (void)state;
    arena = arena_new();
    return 0;
}

static int close_arena(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pen_stays_in_its_area, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(area_outside_the_grid_is_cut, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(bars_of_a_selected_row_read_as_bars, open_arena,
                                        close_arena),
        cmocka_unit_test_setup_teardown(half_of_a_wide_character_is_never_left, open_arena,
                                        close_arena),
        cmocka_unit_test_setup_teardown(bar_fills_in_eighths, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(box_has_its_title, open_arena, close_arena),
        cmocka_unit_test(axes_have_their_own_colours),
    };
    return run_rows("text", text_rows, text_on_a_screen) +
           run_rows("fit", fit_rows, text_in_a_column) +
           cmocka_run_group_tests_name("grid", tests, NULL, NULL);
}
