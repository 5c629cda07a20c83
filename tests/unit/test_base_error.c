#include "tests/unit/unit.h"

#include "core/base/error.h"

typedef struct {
    const char *name, *text;
    size_t at;
    const char *want;
} PlaceRow;

static PlaceRow place_rows[] = {
    {"first", "a=2", 0, "m:1:1: error: bad\n  a=2\n  ^\n"},
    {"inside", "a=2, b", 5, "m:1:6: error: bad\n  a=2, b\n       ^\n"},
    {"third line", "a\nbb\nccc\nd", 6, "m:3:2: error: bad\n  ccc\n   ^\n"},
    {"at the newline", "ab\ncd", 2, "m:1:3: error: bad\n  ab\n    ^\n"},
    {"dos lines", "ab\r\ncd\r\n", 5, "m:2:2: error: bad\n  cd\n   ^\n"},
    {"at the end", "a=", 2, "m:1:3: error: bad\n  a=\n    ^\n"},
    {"behind the end", "a=", 99, "m:1:3: error: bad\n  a=\n    ^\n"},
    {"nothing there", "", 0, "m:1:1: error: bad\n"},
    {"columns are characters", "\xC3\xA9\xC3\xA9=x", 5,
     "m:1:4: error: bad\n  \xC3\xA9\xC3\xA9=x\n     ^\n"},
    {"control bytes", "\x1B[2Jx", 4, "m:1:5: error: bad\n  \\x1B[2Jx\n         ^\n"},
};

static void names_the_place(void **state)
{
    const PlaceRow *row = *state;
    Arena *arena = arena_new();
    Source source = {"m", str_from(row->text)};
    Error err = {0};
    assert_false(error_set(&err, "bad"));
    error_at(&err, &source, row->at);
    Buf out = buf_new(arena);
    error_format(&err, &out);
    assert_string_equal(out.s, row->want);
    arena_free(arena);
}

typedef struct {
    const char *name, *text, *want;
} PrintRow;

static PrintRow print_rows[] = {
    {"plain", "onnx::MatMul_2861", "onnx::MatMul_2861"},
    {"well-formed UTF-8", "\xCE\xA3tp \xE2\x94\x80 \xF0\x9F\x8E\x89",
     "\xCE\xA3tp \xE2\x94\x80 \xF0\x9F\x8E\x89"},
    {"escape", "\x1B]0;x\x07", "\\x1B]0;x\\x07"},
    {"newline and tab", "a\n\tb", "a\\x0A\\x09b"},
    {"DEL", "a\x7F", "a\\x7F"},
    {"C1 in UTF-8",
     "\xC2\x9B"
     "2J",
     "\\xC2\\x9B2J"},
    {"first after C1", "\xC2\xA0", "\xC2\xA0"},
    {"lone continuation", "\x9B", "\\x9B"},
    {"cut short", "\xE2\x94", "\\xE2\\x94"},
    {"overlong", "\xC0\xAF \xE0\x80\xAF", "\\xC0\\xAF \\xE0\\x80\\xAF"},
    {"surrogate", "\xED\xA0\x80", "\\xED\\xA0\\x80"},
    {"beyond Unicode", "\xF4\x90\x80\x80", "\\xF4\\x90\\x80\\x80"},
    {"last of Unicode", "\xF4\x8F\xBF\xBF", "\xF4\x8F\xBF\xBF"},
    {"a direction mark", "\xE2\x80\xAE", "\\xE2\\x80\\xAE"},
    {"a line separator", "\xE2\x80\xA8", "\\xE2\\x80\\xA8"},
    {"no UTF-8 lead", "\xFF\xFE", "\\xFF\\xFE"},
};

static void shows_only_what_prints(void **state)
{
    const PrintRow *row = *state;
    Arena *arena = arena_new();
    Buf out = buf_new(arena);
    text_printable(str_from(row->text), &out);
    assert_string_equal(out.s, row->want);
    Error err = {0};
    error_set(&err, "%s", row->text);
    assert_string_equal(err.text, row->want);
    arena_free(arena);
}

static void the_first_error_stays(void **state)
{
    (void)state;
    Error err = {0};
    assert_false(error_is_set(&err));
    error_kind(&err, ERROR_FROZEN, "first %d", 1);
    error_set(&err, "second");
    error_hint(&err, "try this");
    error_hint(&err, "or that");
    Source a = {"a", STR("x")}, b = {"b", STR("y")};
    error_at(&err, &a, 0);
    error_at(&err, &b, 0);
    error_in_file(&err, "c");
    assert_true(error_is_set(&err));
    assert_int_equal(err.kind, ERROR_FROZEN);
    assert_string_equal(err.text, "first 1");
    assert_string_equal(err.hint, "try this");
    assert_string_equal(err.file, "a");
}

static void nobody_needs_to_listen(void **state)
{
    (void)state;
    Source source = {"a", STR("x")};
    assert_false(error_set(NULL, "x"));
    assert_false(error_kind(NULL, ERROR_RANK, "x"));
    error_hint(NULL, "x");
    error_at(NULL, &source, 0);
    error_in_file(NULL, "x");
}

static void a_file_without_a_line(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Error err = {0};
    error_set(&err, "is a directory");
    Buf out = buf_new(arena);
    error_format(&err, &out);
    assert_string_equal(out.s, "error: is a directory\n");
    error_in_file(&err, "mo\x1B"
                        "del");
    error_hint(&err, "name a file");
    out = buf_new(arena);
    error_format(&err, &out);
    assert_string_equal(out.s, "mo\\x1Bdel: error: is a directory\nhint: name a file\n");
    arena_free(arena);
}

static void long_texts_are_cut_at_a_character(void **state)
{
    (void)state;
    char text[1500];
    for (size_t shift = 0; shift < 4; shift++) {
        memset(text, 'a', shift);
        for (size_t i = shift; i + 2 < sizeof text; i += 2)
            memcpy(text + i, "\xC3\xA9", 2);
        Error err = {0};
        error_set(&err, "%.*s", (int)sizeof text - 4, text);
        size_t n = strlen(err.text);
        assert_true(n < sizeof err.text && n > sizeof err.text - 8);
        assert_string_equal(err.text + n - 3, "...");
        assert_null(strstr(err.text, "\\x"));
    }
}

static void a_long_line_is_shown_around_the_place(void **state)
{
    (void)state;
    static char text[100000];
    memset(text, '.', sizeof text);
    memcpy(text + 50000, "HERE", 4);
    Source source = {"m", {text, sizeof text}};
    Error err = {0};
    error_set(&err, "bad");
    error_at(&err, &source, 50000);
    assert_int_equal(err.column, 50001);
    assert_true(strlen(err.source_line) < sizeof err.source_line);
    assert_memory_equal(err.source_line + err.caret, "HERE", 4);
}

static void every_kind_has_a_name(void **state)
{
    (void)state;
    for (int kind = 0; kind < ERROR_KIND_COUNT; kind++)
        assert_non_null(error_kind_name((ErrorKind)kind));
    assert_string_equal(error_kind_name(ERROR_NOT_DIVISIBLE), "not_divisible");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_error_stays),
        cmocka_unit_test(nobody_needs_to_listen),
        cmocka_unit_test(a_file_without_a_line),
        cmocka_unit_test(long_texts_are_cut_at_a_character),
        cmocka_unit_test(a_long_line_is_shown_around_the_place),
        cmocka_unit_test(every_kind_has_a_name),
    };
    return cmocka_run_group_tests_name("error", tests, NULL, NULL) +
           run_rows("error_at", place_rows, names_the_place) +
           run_rows("text_printable", print_rows, shows_only_what_prints);
}
