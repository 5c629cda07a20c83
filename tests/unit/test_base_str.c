#include "tests/unit/unit.h"

#include "core/base/str.h"

#include <stdlib.h>

typedef struct {
    const char *name, *pattern, *text;
    bool want;
} GlobRow;

static GlobRow glob_rows[] = {
    {"itself", "h.0.mlp", "h.0.mlp", true},
    {"a dot is no wildcard", "h.0", "hx0", false},
    {"empty", "", "", true},
    {"empty wants empty", "", "a", false},
    {"star over dots", "transformer.*.mlp", "transformer.h.0.mlp", true},
    {"star over nothing", "a*b", "ab", true},
    {"star at the end", "wte*", "wte", true},
    {"stars", "*.h.*.c_fc*", "transformer.h.11.mlp.c_fc.weight", true},
    {"star turns back", "*ab", "aab", true},
    {"the whole name", "*.mlp", "h.0.mlp.c_fc", false},
    {"question is one", "h.?", "h.1", true},
    {"question is not two", "h.?", "h.11", false},
    {"question is not none", "h.?", "h.", false},
    {"one of", "*.{q,k,v}_proj", "layers.0.k_proj", true},
    {"none of", "*.{q,k,v}_proj", "layers.0.o_proj", false},
    {"alternatives may be empty", "wte{,.weight}", "wte", true},
    {"star in braces", "{h.*,wte}.w", "h.3.ln.w", true},
    {"braces in braces", "{a{1,2},b}c", "a2c", true},
    {"braces in braces, outer", "{a{1,2},b}c", "bc", true},
    {"braces in braces, mixed", "{a{1,2},b}c", "b2c", false},
    {"star between braces", "{a,b}*{c,d}", "bxxcxd", true},
    {"an open brace is itself", "a{b", "a{b", true},
    {"an open brace with a comma", "a{b,c", "a{b,c", true},
    {"an open brace around a group", "a{b{c,d}", "a{bd", true},
    {"a comma outside is itself", "a,b{c,d}", "a,bd", true},
    {"a closing brace alone", "a}{b,c}", "a}c", true},
};

static void globs(void **state)
{
    const GlobRow *row = *state;
    assert_int_equal(str_glob(str_from(row->pattern), str_from(row->text)), row->want);
}

static void parts_are_taken_one_by_one(void **state)
{
    (void)state;
    Str rest = STR("a,,bc,");
    assert_true(str_eq(str_take(&rest, ','), STR("a")));
    assert_true(str_eq(str_take(&rest, ','), STR("")));
    assert_true(str_eq(str_take(&rest, ','), STR("bc")));
    assert_int_equal(rest.n, 0);
    assert_int_equal(str_take(&rest, ',').n, 0);
    rest = (Str){0};
    assert_int_equal(str_take(&rest, ',').n, 0);
}

static void a_word_is_whole(void **state)
{
    (void)state;
    assert_true(str_has_word(STR("conv conv2d"), STR("conv2d")));
    assert_true(str_has_word(STR("conv conv2d"), STR("conv")));
    assert_false(str_has_word(STR("conv1d conv2d"), STR("conv")));
    assert_false(str_has_word(STR(""), STR("conv")));
}

static void no_pattern_takes_long(void **state)
{
    (void)state;
    char pattern[1000], text[1000];
    memset(text, 'a', sizeof text);
    for (size_t i = 0; i + 5 <= sizeof pattern; i += 5)
        memcpy(pattern + i, "{a,*}", 5);
    assert_true(str_glob((Str){pattern, sizeof pattern}, (Str){text, sizeof text}));
    pattern[sizeof pattern - 1] = 'x';
    assert_false(str_glob((Str){pattern, sizeof pattern}, (Str){text, sizeof text}));
    memset(pattern, '{', sizeof pattern);
    assert_false(str_glob((Str){pattern, sizeof pattern}, (Str){text, sizeof text}));
    assert_true(str_glob((Str){pattern, sizeof pattern}, (Str){pattern, sizeof pattern}));
}

typedef struct {
    const char *name, *text;
    bool ok;
    int64_t want;
} IntRow;

static IntRow int_rows[] = {
    {"zero", "0", true, 0},
    {"leading zeros", "007", true, 7},
    {"plus", "+12", true, 12},
    {"largest", "9223372036854775807", true, INT64_MAX},
    {"smallest", "-9223372036854775808", true, INT64_MIN},
    {"too large", "9223372036854775808", false, 0},
    {"too small", "-9223372036854775809", false, 0},
    {"far too large", "99999999999999999999999", false, 0},
    {"nothing", "", false, 0},
    {"only a sign", "-", false, 0},
    {"two signs", "--1", false, 0},
    {"blank before", " 1", false, 0},
    {"letters behind", "1a", false, 0},
};

static void reads_integers(void **state)
{
    const IntRow *row = *state;
    int64_t value = 0;
    assert_int_equal(str_to_int(str_from(row->text), &value), row->ok);
    assert_true(value == row->want);
}

typedef struct {
    const char *name, *a, *b;
    int want;
} DistanceRow;

static DistanceRow distance_rows[] = {
    {"equal", "MatMul", "MatMul", 0},   {"one more", "Matmul", "Matmull", 1},
    {"one less", "Gemm", "Gem", 1},     {"one other", "Relu", "Rely", 1},
    {"kitten", "kitten", "sitting", 3}, {"empty", "", "abc", 3},
};

static void counts_edits(void **state)
{
    const DistanceRow *row = *state;
    assert_int_equal(str_distance(str_from(row->a), str_from(row->b)), row->want);
    assert_int_equal(str_distance(str_from(row->b), str_from(row->a)), row->want);
}

static void long_texts_are_far_apart(void **state)
{
    (void)state;
    static char text[500];
    assert_true(str_distance((Str){text, sizeof text}, STR("a")) > 100);
}

static void parts_are_found(void **state)
{
    (void)state;
    assert_true(str_starts(STR("h.0.mlp"), STR("h.")));
    assert_false(str_starts(STR("h"), STR("h.")));
    assert_true(str_ends(STR("c_fc.weight"), STR(".weight")));
    assert_false(str_ends(STR("weight"), STR(".weight")));
    assert_int_equal(str_find(STR("a->b->c"), STR("->")), 1);
    assert_int_equal(str_find(STR("abc"), STR("x")), -1);
    assert_int_equal(str_find((Str){NULL, 0}, STR("x")), -1);
    assert_int_equal(str_find(STR("abc"), STR("")), 0);
    assert_true(str_eq(str_trim(STR(" \t a b\n")), STR("a b")));
    assert_int_equal(str_trim(STR("  \n")).n, 0);
}

static void code_points_are_written_and_read(void **state)
{
    (void)state;
    const uint32_t runes[] = {'a',    0x7f,   0x80,   0x7ff,   0x800,   0xd7ff,
                              0xe000, 0xfffd, 0xffff, 0x10000, 0x10ffff};
    for (size_t i = 0; i < sizeof runes / sizeof *runes; i++) {
        char bytes[4];
        uint32_t rune = 0;
        size_t n = rune_format(runes[i], bytes);
        assert_int_equal(str_rune((Str){bytes, n}, &rune), n);
        assert_int_equal(rune, runes[i]);
        for (size_t part = n > 1 ? 1 : n; part < n; part++)
            assert_int_equal(str_rune((Str){bytes, part}, &rune), 0);
    }
}

static void bytes_that_are_no_text_are_taken_one_by_one(void **state)
{
    (void)state;
    const char *none[] = {"\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                          "\xff",     "\x80",         "\xe2\x82"};
    uint32_t rune;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        Str text = str_from(none[i]);
        assert_int_equal(str_rune(text, &rune), 0);
        assert_int_equal(str_take_rune(&text), (unsigned char)none[i][0]);
        assert_ptr_equal(text.s, none[i] + 1);
    }
    assert_int_equal(str_rune(STR(""), &rune), 0);
    Str text = STR("é!");
    assert_int_equal(str_take_rune(&text), 0xe9);
    assert_int_equal(str_take_rune(&text), '!');
}

static void a_buf_is_always_ended(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Buf buf = buf_new(arena);
    assert_string_equal(buf.s, "");
    for (int i = 0; i < 2000; i++) {
        buf_putc(&buf, 'x');
        assert_int_equal(buf.s[buf.n], '\0');
    }
    assert_int_equal(strlen(buf.s), 2000);
    arena_free(arena);
}

static void a_buf_grows_while_printing(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    for (int n_before = 50; n_before < 80; n_before++) {
        Buf buf = buf_new(arena);
        buf_printf(&buf, "%*s", n_before, "");
        buf_printf(&buf, "%s=%d", "tp", 4);
        buf_puts(&buf, "!");
        buf_add(&buf, (Str){NULL, 0});
        assert_int_equal(buf.n, n_before + 5);
        assert_string_equal(buf.s + n_before, "tp=4!");
    }
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_pattern_takes_long),
        cmocka_unit_test(parts_are_taken_one_by_one),
        cmocka_unit_test(a_word_is_whole),
        cmocka_unit_test(long_texts_are_far_apart),
        cmocka_unit_test(parts_are_found),
        cmocka_unit_test(code_points_are_written_and_read),
        cmocka_unit_test(bytes_that_are_no_text_are_taken_one_by_one),
        cmocka_unit_test(a_buf_is_always_ended),
        cmocka_unit_test(a_buf_grows_while_printing),
    };
    return cmocka_run_group_tests_name("str", tests, NULL, NULL) +
           run_rows("str_glob", glob_rows, globs) +
           run_rows("str_to_int", int_rows, reads_integers) +
           run_rows("str_distance", distance_rows, counts_edits);
}
