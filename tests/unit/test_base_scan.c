#include "tests/unit/unit.h"

#include "core/base/scan.h"

#include <inttypes.h>

/* Reads "name=int, name=int" and prints it back without blanks, as the readers of meshes do. */
static bool copy_pairs(const Source *source, Buf *out, Error *err)
{
    Scan scan = scan_begin(source, err);
    do {
        Str name;
        int64_t value;
        if (!scan_name(&scan, &name) || !scan_char(&scan, '=') || !scan_int(&scan, &value))
            return false;
        buf_printf(out, "%.*s=%" PRId64 ";", STR_ARG(name), value);
    } while (scan_accept(&scan, ','));
    return scan_end(&scan);
}

typedef struct {
    const char *name, *text, *want;
} Row;

static Row rows[] = {
    {"one", "a=1", "a=1;"},
    {"blanks", " _x9 =\t-3 ,\n b = 0 ", "_x9=-3;b=0;"},
    {"largest", "a=9223372036854775807", "a=9223372036854775807;"},
    {"nothing", "", "1:1 syntax: expected a name, found the end"},
    {"no name", " 7=1", "1:2 syntax: expected a name, found '7'"},
    {"no sign", "a 1", "1:3 syntax: expected '=', found '1'"},
    {"no number", "a=x", "1:3 syntax: expected a number, found 'x'"},
    {"only a minus", "a=-", "1:3 syntax: expected a number, found '-'"},
    {"too large", "a=1,\nb=9223372036854775808",
     "2:3 out_of_range: the number 9223372036854775808 is too large"},
    {"too much", "a=1 b", "1:5 syntax: expected the end, found 'b'"},
    {"second line", "a=1,\n  ,", "2:3 syntax: expected a name, found ','"},
    {"control byte", "a=\x1B", "1:3 syntax: expected a number, found '\\x1B'"},
};

static void reads(void **state)
{
    const Row *row = *state;
    Arena *arena = arena_new();
    Source source = {"--mesh", str_from(row->text)};
    Error err = {0};
    Buf out = buf_new(arena);
    if (!copy_pairs(&source, &out, &err)) {
        out = buf_new(arena);
        buf_printf(&out, "%d:%d %s: %s", err.line, err.column, error_kind_name(err.kind), err.text);
    }
    assert_string_equal(out.s, row->want);
    arena_free(arena);
}

static void accepting_takes_only_what_is_there(void **state)
{
    (void)state;
    Source source = {"x", STR("  -> b")};
    Error err = {0};
    Scan scan = scan_begin(&source, &err);
    assert_false(scan_accept(&scan, '>'));
    assert_false(scan_accept_text(&scan, STR("->>")));
    assert_true(scan_accept_text(&scan, STR("->")));
    assert_int_equal(scan_peek(&scan), 'b');
    assert_false(error_is_set(&err));
    assert_false(scan_end(&scan));
    assert_int_equal(err.column, 6);
}

static void blame_puts_the_place_on_the_token(void **state)
{
    (void)state;
    Source source = {"x", STR("dp=2, dp=4")};
    Error err = {0};
    Scan scan = scan_begin(&source, &err);
    error_set(&err, "twice");
    scan_blame(&scan, (Str){source.text.s + 6, 2});
    assert_int_equal(err.column, 7);
    assert_string_equal(err.file, "x");
}

static void a_text_of_nothing_has_an_end(void **state)
{
    (void)state;
    Source source = {"x", {NULL, 0}};
    Error err = {0};
    Scan scan = scan_begin(&source, &err);
    assert_int_equal(scan_peek(&scan), '\0');
    assert_true(scan_end(&scan));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepting_takes_only_what_is_there),
        cmocka_unit_test(blame_puts_the_place_on_the_token),
        cmocka_unit_test(a_text_of_nothing_has_an_end),
    };
    return cmocka_run_group_tests_name("scan", tests, NULL, NULL) + run_rows("pairs", rows, reads);
}
