#include "tests/unit/unit.h"

#include "core/base/intern.h"
#include "core/base/names_more.h"

#include <stdio.h>

static void equal_names_have_equal_ids(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Names *names = names_new(arena);
    assert_int_equal(names_intern(names, STR("")), 0);
    int32_t wte = names_intern(names, STR("wte"));
    int32_t wpe = names_intern(names, STR("wpe"));
    assert_int_equal(wte, 1);
    assert_int_equal(wpe, 2);
    assert_int_equal(names_intern(names, str_from("wte")), wte);
    assert_int_equal(names_find(names, STR("wpe")), wpe);
    assert_int_equal(names_find(names, STR("wp")), -1);
    assert_int_equal(names_count(names), 3);
    assert_string_equal(names_text(names, wte), "wte");
    assert_string_equal(names_text(names, 0), "");
    assert_true(str_eq(names_str(names, wpe), STR("wpe")));
    arena_free(arena);
}

enum { MANY = 100000 };

static void many_names_keep_text_and_id(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Names *names = names_new(arena);
    const char *first = names_text(names, names_intern(names, STR("first")));
    char text[64];
    for (int i = 0; i < MANY; i++) {
        snprintf(text, sizeof text, "transformer.h.%d.mlp", i);
        assert_int_equal(names_intern(names, str_from(text)), i + 2);
    }
    for (int i = 0; i < MANY; i++) {
        snprintf(text, sizeof text, "transformer.h.%d.mlp", i);
        assert_int_equal(names_find(names, str_from(text)), i + 2);
        assert_string_equal(names_text(names, i + 2), text);
    }
    assert_ptr_equal(first, names_text(names, 1));
    arena_free(arena);
}

/* Names with ends have the ids and texts that names of joined texts have, whoever comes first. */
static void names_with_ends_are_the_joined_names(void **state)
{
    (void)state;
    Arena *arena = arena_new(), *other = arena_new();
    Names *names = names_new(arena);
    int32_t stem = names_intern(names, STR("w")), given = names_intern(names, STR("w~m"));
    int32_t step = names_intern(names, STR("late~v~next")), own = names_intern(names, STR("x~"));
    assert_int_equal(names_intern_with(names, stem, STR("~m")), given);
    int32_t gradient = names_intern_with(names, stem, STR("~grad"));
    assert_int_equal(names_intern_with(names, stem, STR("~grad")), gradient);
    assert_int_equal(names_find(names, STR("w~grad")), gradient);
    assert_int_equal(names_intern(names, STR("w~grad")), gradient);
    assert_string_equal(names_text(names, gradient), "w~grad");
    assert_ptr_equal(names_text(names, gradient), names_text(names, gradient));
    assert_int_equal(names_find(names, STR("w~gra")), -1);
    assert_int_equal(names_find(names, STR("v~grad")), -1);
    assert_int_equal(names_find(names, STR("~grad")), -1);
    int32_t twice = names_intern_with(names, gradient, STR("~cast"));
    assert_int_equal(names_intern(names, STR("w~grad~cast")), twice);
    assert_int_equal(names_intern_with(names, stem, STR("~grad~cast")), twice);
    assert_int_equal(names_intern_with(names, stem, STR("")), stem);
    int32_t late = names_intern(names, STR("late"));
    assert_int_equal(
        names_intern_with(names, names_intern_with(names, late, STR("~v")), STR("~next")), step);
    assert_int_equal(names_intern_with(names, names_intern(names, STR("x")), STR("~")), own);
    int32_t plain = names_intern_with(names, stem, STR("_1"));
    assert_int_equal(names_find(names, STR("w_1")), plain);
    Names *copy = names_copy(other, names);
    assert_int_equal(names_intern(copy, STR("w~grad~cast")), twice);
    assert_int_equal(names_count(copy), names_count(names));
    arena_free(other);
    arena_free(arena);
}

static void many_names_with_ends(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Names *names = names_new(arena);
    char text[64];
    for (int i = 0; i < MANY; i++) {
        snprintf(text, sizeof text, "h.%d", i);
        names_intern(names, str_from(text));
    }
    for (int e = 0; e < 20; e++) { /* more than have a bit of their own */
        snprintf(text, sizeof text, "~d%d", e);
        for (int i = 0; i < MANY; i += 1 + e * 100)
            names_intern_with(names, i + 1, str_from(text));
    }
    int n = names_count(names);
    for (int id = 0; id < n; id++) {
        Str own = names_str(names, id);
        assert_int_equal(own.n, strlen(own.s));
        assert_int_equal(names_find(names, own), id);
    }
    assert_int_equal(names_count(names), n);
    arena_free(arena);
}

static void a_name_with_a_head_is_its_text(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Names *names = names_new(arena);
    int32_t stem = names_intern(names, STR("h.0")), own = names_intern(names, STR("backward.h.1"));
    int32_t with = names_intern_after(names, STR("backward."), stem);
    assert_int_equal(names_intern_after(names, STR("backward."), stem), with);
    assert_int_equal(names_intern(names, STR("backward.h.0")), with);
    assert_string_equal(names_text(names, with), "backward.h.0");
    int32_t other = names_intern(names, STR("h.1"));
    assert_int_equal(names_intern_after(names, STR("backward."), other), own);
    int32_t end = names_intern_with(names, with, STR("~d0"));
    assert_int_equal(names_find(names, STR("backward.h.0~d0")), end);
    int32_t inner = names_intern_with(names, stem, STR("~d0"));
    assert_int_equal(names_intern_after(names, STR("backward."), inner), end);
    assert_int_equal(names_intern_after(names, STR(""), stem), stem);
    arena_free(arena);
}

/* Each of many random joins has the id that its text had before, or is a new text. */
static void random_joins_are_their_texts(void **state)
{
    (void)state;
    static const char *const parts[] = {"a.", "b.", "a.b.", "x", "y", "~m", "~v", "~m~v", "a", ""};
    enum { PARTS = sizeof parts / sizeof *parts, LONGEST = 14, JOINS = 20000 };
    Arena *arena = arena_new();
    Names *names = names_new(arena);
    for (int i = 0; i < JOINS; i++) {
        uint64_t draw = hash_bytes(&i, sizeof i);
        const char *part = parts[draw % PARTS];
        int32_t stem = (int32_t)((draw >> 8 & 0xffffff) % (uint64_t)names_count(names));
        const char *text = names_text(names, stem);
        int how = (int)((draw >> 40) % 3);
        if (strlen(text) > LONGEST)
            continue;
        Str joined = str_from(arena_join(arena, how == 0 ? part : text, how == 0 ? text : part));
        int32_t before = names_find(names, joined), n = names_count(names);
        int32_t id = how == 0   ? names_intern_after(names, str_from(part), stem)
                     : how == 1 ? names_intern_with(names, stem, str_from(part))
                                : names_intern(names, joined);
        assert_true(str_eq(names_str(names, id), joined));
        assert_int_equal(id, before >= 0 ? before : n);
        assert_int_equal(names_find(names, joined), id);
    }
    arena_free(arena);
}

static void keys_are_compared_as_bytes_of_any_length(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Intern *shapes = intern_new(arena);
    int64_t dims[64] = {0}; /* all zero: only the length tells the keys apart */
    for (int32_t n = 0; n <= 64; n++)
        assert_int_equal(intern_put(shapes, dims, sizeof *dims * (size_t)n), n);
    assert_int_equal(intern_find(shapes, dims, sizeof *dims * 3), 3);
    assert_int_equal(intern_find(shapes, NULL, 0), 0);
    assert_int_equal(intern_find(shapes, dims, 5), -1);
    size_t n_bytes;
    const void *key = intern_key(shapes, 64, &n_bytes);
    assert_int_equal(n_bytes, sizeof dims);
    assert_memory_equal(key, dims, sizeof dims);
    assert_int_equal(intern_count(shapes), 65);
    arena_free(arena);
}

static void interning_many_is_stable(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Intern *pairs = intern_new(arena);
    for (int64_t i = 0; i < MANY; i++) {
        int64_t key[2] = {i / 2, -i / 2}; /* each pair twice */
        int32_t id = intern_put(pairs, key, sizeof key);
        assert_int_equal(intern_find(pairs, key, sizeof key), id);
        const int64_t *kept = intern_key(pairs, id, NULL);
        assert_memory_equal(kept, key, sizeof key);
    }
    assert_int_equal(intern_count(pairs), MANY / 2);
    arena_free(arena);
}

static void one_bit_changes_the_hash(void **state)
{
    (void)state;
    unsigned char bytes[40] = {0};
    for (size_t n = 1; n <= sizeof bytes; n++) {
        uint64_t zero = hash_bytes(bytes, n);
        assert_true(zero != hash_bytes(bytes, n - 1));
        for (size_t bit = 0; bit < 8 * n; bit++) {
            bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
            assert_true(hash_bytes(bytes, n) != zero);
            bytes[bit / 8] = 0;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_names_have_equal_ids),
        cmocka_unit_test(many_names_keep_text_and_id),
        cmocka_unit_test(names_with_ends_are_the_joined_names),
        cmocka_unit_test(many_names_with_ends),
        cmocka_unit_test(a_name_with_a_head_is_its_text),
        cmocka_unit_test(random_joins_are_their_texts),
        cmocka_unit_test(keys_are_compared_as_bytes_of_any_length),
        cmocka_unit_test(interning_many_is_stable),
        cmocka_unit_test(one_bit_changes_the_hash),
    };
    return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
