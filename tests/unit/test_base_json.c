#include "tests/unit/unit.h"

#include "core/base/json.h"

#include <math.h>

typedef struct {
    const char *name, *text, *want;
} Row;

static Row rows[] = {
    {"order is kept", " { \"z\" : 1 , \"a\" : [ true , false, null ] } ",
     "{\"z\":1,\"a\":[true,false,null]}"},
    {"exact integers", "[9007199254740993,-9223372036854775808]",
     "[9007199254740993,-9223372036854775808]"},
    {"short reals", "[0.1,515.2,1e300]", "[0.1,515.2,1e300]"},
    {"a scalar", "3", "3"},
    {"escapes", "\"a\\u0000\\n\\u03a3\"", "\"a\\u0000\\n\xCE\xA3\""},
    {"nothing", "", "1:1 syntax"},
    {"cut short", "{\"a\":", "1:5 syntax"},
    {"a stray letter", "{\"a\": x}", "1:7 syntax"},
    {"second line", "[1,\n2,\n  3 4]", "3:5 syntax"},
    {"too much", "{} {}", "1:4 syntax"},
    {"twice the key", "{\"a\":1,\"a\":2}", "1:10 duplicate"},
    {"integer too large", "[9223372036854775808]", "1:20 out_of_range"},
    {"real too large", "[1e999]", "1:6 out_of_range"},
    {"broken UTF-8", "[\"\xFF\"]", "1:2 syntax"},
};

static void reads_and_prints(void **state)
{
    const Row *row = *state;
    Arena *arena = arena_new();
    Source source = {"x.json", str_from(row->text)};
    Error err = {0};
    Buf out = buf_new(arena);
    Json *root = json_parse(&source, &err);
    if (root)
        json_write(root, &out);
    else
        buf_printf(&out, "%d:%d %s", err.line, err.column, error_kind_name(err.kind));
    assert_string_equal(out.s, row->want);
    json_free(root);
    arena_free(arena);
}

static void depth_is_limited(void **state)
{
    (void)state;
    static char text[1000000];
    memset(text, '[', sizeof text);
    Source source = {"deep", {text, sizeof text}};
    Error err = {0};
    assert_null(json_parse(&source, &err));
    assert_true(error_is_set(&err));
}

static void readers_fall_back(void **state)
{
    (void)state;
    Source source = {"x", STR("{\"i\":7,\"r\":2.5,\"s\":\"tp\",\"b\":true,\"n\":null,\"l\":[4]}")};
    Error err = {0};
    Json *root = json_parse(&source, &err);
    assert_int_equal(json_int(json_get(root, "i"), -1), 7);
    assert_int_equal(json_int(json_get(root, "r"), -1), -1);
    assert_int_equal(json_int(json_get(root, "none"), -1), -1);
    assert_true(json_real(json_get(root, "r"), 0) == 2.5);
    assert_true(json_real(json_get(root, "i"), 0) == 7);
    assert_true(json_real(json_get(root, "s"), 9) == 9);
    assert_true(str_eq(json_str(json_get(root, "s"), "-"), STR("tp")));
    assert_true(str_eq(json_str(json_get(root, "i"), "-"), STR("-")));
    assert_null(json_str(NULL, NULL).s);
    assert_true(json_bool(json_get(root, "b"), false));
    assert_true(json_bool(json_get(root, "none"), true));
    assert_true(json_is_null(json_get(root, "n")) && !json_is_null(json_get(root, "none")));
    assert_true(json_is_object(root) && !json_is_array(root));
    assert_true(json_is_int(json_get(root, "i")) && !json_is_int(json_get(root, "r")));
    assert_true(json_is_number(json_get(root, "i")) && json_is_number(json_get(root, "r")));
    assert_true(json_is_string(json_get(root, "s")) && json_is_bool(json_get(root, "b")));
    assert_int_equal(json_size(root), 6);
    assert_int_equal(json_size(json_get(root, "l")), 1);
    assert_int_equal(json_size(json_get(root, "i")), 0);
    assert_int_equal(json_int(json_at(json_get(root, "l"), 0), -1), 4);
    assert_null(json_at(json_get(root, "l"), 1));
    assert_null(json_at(json_get(root, "l"), -1));
    assert_null(json_at(root, 0));
    assert_string_equal(json_key_at(root, 1), "r");
    assert_null(json_key_at(root, 6));
    json_free(root);
}

static void what_is_built_is_written(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Json *root = json_object();
    json_set_int(root, "ranks", 8);
    json_set_real(root, "us", 0.25);
    json_set_real(root, "gap", NAN);
    json_set_bool(root, "ok", true);
    json_set_str(root, "name", "a\xFF\"");
    json_set(root, "mesh", json_array());
    json_add(json_get(root, "mesh"), json_ints((int64_t[]){2, 4}, 2));
    json_add(json_get(root, "mesh"), json_null());
    json_set(root, "k\xFF", json_from_int(1));
    json_set_int(root, "ranks", 4); /* the later value, at the place of the earlier */

    Json *copy = json_copy(root);
    json_set_int(json_get(root, "mesh"), "not an object", 1);
    json_free(root);
    Buf out = buf_new(arena);
    json_write(copy, &out);
    assert_string_equal(out.s, "{\"ranks\":4,\"us\":0.25,\"gap\":null,\"ok\":true,"
                               "\"name\":\"a\\\\xFF\\\"\",\"mesh\":[[2,4],null],\"k\\\\xFF\":1}");
    json_free(copy);
    arena_free(arena);
}

static void pretty_is_two_spaces(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Json *root = json_object();
    json_set(root, "a", json_ints((int64_t[]){1}, 1));
    Buf out = buf_new(arena);
    json_write_pretty(root, &out);
    assert_string_equal(out.s, "{\n  \"a\": [\n    1\n  ]\n}\n");
    json_free(root);
    json_free(NULL);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(readers_fall_back),
        cmocka_unit_test(what_is_built_is_written),
        cmocka_unit_test(pretty_is_two_spaces),
    };
    return cmocka_run_group_tests_name("json", tests, NULL, NULL) +
           run_rows("json_parse", rows, reads_and_prints);
}
