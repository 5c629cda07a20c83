/* Views as files: data that programs read back, drawings and pages that are well formed, whatever
 * stands in a cell. */
#include "tests/unit/unit.h"

#include "core/base/json.h"
#include "tui/screen/grid_write.h"
#include "core/base/sheet_write.h"

#include <stdio.h>
#include <stdlib.h>

static Arena *arena;

/* One text column and one number column, one row. */
typedef struct {
    const char *name, *text, *number;
    const char *csv, *md, *json;
} CellRow;

static CellRow cells[] = {
    {"plain", "h.0", "1.5", "h.0,1.5\n", "| h.0 | 1.5 |\n", "{\"name\":\"h.0\",\"us\":1.5}"},
    {"comma", "8/dp,4", "2", "\"8/dp,4\",2\n", "| 8/dp,4 | 2 |\n",
     "{\"name\":\"8/dp,4\",\"us\":2}"},
    {"quote", "a\"b", "2", "\"a\"\"b\",2\n", "| a\"b | 2 |\n", "{\"name\":\"a\\\"b\",\"us\":2}"},
    {"pipe", "a|b", "2", "a|b,2\n", "| a\\|b | 2 |\n", "{\"name\":\"a|b\",\"us\":2}"},
    {"line end", "a\nb", "2", "\"a\nb\",2\n", "| a<br>b | 2 |\n", "{\"name\":\"a\\nb\",\"us\":2}"},
    {"markup", "<b>*x*", "2", "<b>*x*,2\n", "| &lt;b>\\*x\\* | 2 |\n",
     "{\"name\":\"<b>*x*\",\"us\":2}"},
    {"control byte", "a\x1b[2J", "2", "a\x1b[2J,2\n", "| a\\\\x1B\\[2J | 2 |\n",
     "{\"name\":\"a\\u001B[2J\",\"us\":2}"},
    {"empty", "", "", ",\n", "|  |  |\n", "{\"name\":\"\",\"us\":null}"},
    {"not a number", "a", "nan", "a,nan\n", "| a | nan |\n", "{\"name\":\"a\",\"us\":null}"},
    {"a large whole number", "a", "9007199254740993", "a,9007199254740993\n",
     "| a | 9007199254740993 |\n", "{\"name\":\"a\",\"us\":9007199254740993}"},
};

static void cell_is_written(void **state)
{
    const CellRow *row = *state;
    arena = arena_new();
    Sheet sheet = {.arena = arena};
    sheet_column(&sheet, "name", false);
    sheet_column(&sheet, "us", true);
    sheet_put(&sheet, str_from(row->text));
    sheet_put(&sheet, str_from(row->number));
    Buf csv = buf_new(arena), md = buf_new(arena), json = buf_new(arena);
    sheet_write_csv(&sheet, &csv);
    sheet_write_md(&sheet, &md);
    sheet_write_json(&sheet, "Comm", &json);
    assert_string_equal(csv.s, arena_printf(arena, "name,us\n%s", row->csv));
    assert_string_equal(md.s, arena_printf(arena, "| name | us |\n| --- | ---: |\n%s", row->md));
    assert_string_equal(json.s,
                        arena_printf(arena,
                                     "{\"schema\":\"dimscope.sheet\",\"version\":1,\"view\":"
                                     "\"Comm\",\"columns\":[\"name\",\"us\"],\"rows\":[%s]}"
                                     "\n",
                                     row->json));
    Source source = {.name = "json", .text = buf_str(&json)};
    Json *root = json_parse(&source, &(Error){0});
    assert_non_null(root);
    assert_int_equal(json_size(json_get(root, "rows")), 1);
    json_free(root);
    arena_free(arena);
}

/* ---- looks ---- */

enum { TAGS_MAX = 16 };

/* Every tag is closed by its own end, all of the text is between tags, no stray < or &. */
static bool is_well_formed(const char *text, const char *const *lone)
{
    char open[TAGS_MAX][32];
    int n = 0;
    for (const char *s = strchr(text, '<'); s; s = strchr(s, '<')) {
        bool closing = s[1] == '/', skip = s[1] == '?' || s[1] == '!';
        const char *name = s + 1 + closing, *end = strchr(s, '>');
        size_t length = strcspn(name, " />\n");
        if (!end || length >= sizeof open[0])
            return false;
        skip = skip || end[-1] == '/';
        for (int i = 0; lone[i]; i++)
            skip = skip || (strlen(lone[i]) == length && strncmp(name, lone[i], length) == 0);
        s = end;
        if (skip)
            continue;
        if (closing &&
            (n == 0 || strncmp(open[n - 1], name, length) != 0 || open[n - 1][length] != '\0'))
            return false;
        if (closing)
            n--;
        else if (n < TAGS_MAX)
            snprintf(open[n++], sizeof open[0], "%.*s", (int)length, name);
        else
            return false;
    }
    for (const char *s = strchr(text, '&'); s; s = strchr(s + 1, '&'))
        if (strncmp(s, "&lt;", 4) != 0 && strncmp(s, "&gt;", 4) != 0 &&
            strncmp(s, "&amp;", 5) != 0 && strncmp(s, "&quot;", 6) != 0)
            return false;
    return n == 0;
}

/* "A tp<&>" with an axis in its colour, a selected line, a wide character, control bytes. */
static Grid *sample(void)
{
    Grid *grid = grid_new(arena, 12, 3, false);
    Pen pen = pen_new(grid, (Rect){0, 0, 12, 3});
    grid_clear(grid);
    pen_puts(&pen, ROLE_HEAD, "A ");
    pen_puts(&pen, style_axis(0), "tp");
    pen_puts(&pen, ROLE_TEXT, "<&>");
    pen_line(&pen);
    pen_puts(&pen, ROLE_TEXT, "表\x1b\"");
    grid_mark(grid, (Rect){0, 1, 12, 1}, STYLE_SELECTED);
    return grid;
}

static void looks_are_escaped_and_coloured(void **state)
{
    static const char *const none[] = {NULL}, *const lone[] = {"meta", NULL};
    (void)state;
    arena = arena_new();
    Theme theme;
    Buf svg = buf_new(arena), html = buf_new(arena), ansi = buf_new(arena);
    assert_true(theme_find(STR("default"), &theme));
    grid_write_svg(sample(), &theme, STR("a<b>\x1b"), &svg);
    grid_write_html(sample(), &theme, STR("a<b>\x1b"), &html);
    grid_write_ansi(sample(), &theme, &ansi);
    assert_true(is_well_formed(svg.s, none));
    assert_true(is_well_formed(html.s, lone));
    assert_null(strchr(svg.s, '\x1b'));
    assert_null(strchr(html.s, '\x1b'));
    assert_non_null(strstr(svg.s, "<title>a&lt;b&gt;\\x1B</title>"));
    assert_non_null(strstr(svg.s, "&lt;&amp;&gt;"));
    assert_non_null(strstr(svg.s, ".r12{fill:#0072b2}"));
    assert_non_null(strstr(html.s, "<span class=\"r12\">tp</span>&lt;&amp;&gt;\n"));
    assert_non_null(strstr(html.s, "表\\x1b"));
    assert_string_equal(ansi.s, "\033[0;1mA \033[0m\033[0;38;2;86;180;233mtp\033[0m<&>\n"
                                "\033[0;7m表\\x1b\"     \033[0m\n\n");
    arena_free(arena);
}

static void markup_that_is_broken_is_seen(void **state)
{
    static const char *const none[] = {NULL};
    (void)state;
    assert_true(is_well_formed("<a><b x=\"1\"/>t</a>", none));
    assert_false(is_well_formed("<a><b></a>", none));
    assert_false(is_well_formed("<a>&</a>", none));
    assert_false(is_well_formed("<a>", none));
}

static void numbers_have_the_digits_that_tell(void **state)
{
    (void)state;
    arena = arena_new();
    Sheet sheet = {.arena = arena};
    sheet_column(&sheet, "us", true);
    sheet_number(&sheet, 974.74559999999985);
    sheet_number(&sheet, 9007199254740991.0);
    sheet_number(&sheet, -0.5);
    Buf csv = buf_new(arena);
    sheet_write_csv(&sheet, &csv);
    assert_string_equal(csv.s, "us\n974.7456\n9007199254740991\n-0.5\n");
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looks_are_escaped_and_coloured),
        cmocka_unit_test(numbers_have_the_digits_that_tell),
        cmocka_unit_test(markup_that_is_broken_is_seen),
    };
    return run_rows("cells", cells, cell_is_written) +
           cmocka_run_group_tests_name("looks", tests, NULL, NULL);
}
