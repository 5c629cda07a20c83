#include "tests/unit/unit.h"

#include "core/base/arena.h"
#include "core/base/vec.h"

#include <stdlib.h>
#include <string.h>

static void pieces_are_zero_aligned_and_apart(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    unsigned char *last = NULL;
    size_t last_bytes = 0;
    for (size_t n = 0; n < 3000; n += 7) {
        unsigned char *piece = arena_alloc(arena, n);
        assert_int_equal((uintptr_t)piece % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(piece[i], 0);
        memset(piece, 0xAB, n);
        if (last)
            assert_true(piece >= last + last_bytes || piece < last);
        last = piece;
        last_bytes = n;
    }
    arena_free(arena);
}

static void a_large_piece_leaves_the_open_block_open(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    char *before = arena_alloc(arena, 16);
    memset(arena_alloc(arena, 10 << 20), 1, 10 << 20);
    char *after = arena_alloc(arena, 16);
    assert_true(after > before && after < before + 4096);
    assert_true(arena_bytes(arena) >= 10 << 20);
    assert_true(arena_bytes(arena) < 11 << 20);
    arena_free(arena);
}

static void room_that_a_large_array_does_not_need_is_given_back(void **state)
{
    (void)state;
    enum { ITEMS = 1 << 20 };
    Arena *arena = arena_new();
    struct {
        int64_t *at;
        int n, room;
    } column = {arena_array(arena, int64_t, 4 * ITEMS), 0, 4 * ITEMS};
    for (int i = 0; i < ITEMS; i++)
        vec_push_own(arena, &column, i);
    size_t n_bytes = arena_bytes(arena);
    vec_trim(arena, &column);
    assert_int_equal(column.room, ITEMS);
    assert_int_equal(n_bytes - arena_bytes(arena), 3 * ITEMS * sizeof *column.at);
    for (int i = 0; i < ITEMS; i++)
        assert_int_equal(column.at[i], i);
    vec_push_own(arena, &column, ITEMS);
    assert_int_equal(column.at[ITEMS], ITEMS);
    arena_free(arena);
}

static void freeing_nothing_is_fine(void **state)
{
    (void)state;
    arena_free(NULL);
}

static void texts_are_ended_copies(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    char text[] = "attention";
    const char *copy = arena_str(arena, (Str){text, 4});
    text[0] = 'X';
    assert_string_equal(copy, "atte");
    assert_string_equal(arena_str(arena, (Str){NULL, 0}), "");
    assert_string_equal(arena_printf(arena, "%s.%d", copy, 7), "atte.7");
    const char *wide = arena_printf(arena, "%9000d", 1);
    assert_int_equal(strlen(wide), 9000);
    arena_free(arena);
}

static void a_size_that_overflows_is_no_size(void **state)
{
    (void)state;
    assert_int_equal(arena_array_bytes(3, 8), 24);
    assert_true(arena_array_bytes(SIZE_MAX / 2, 3) == SIZE_MAX);
}

static void a_vec_keeps_what_was_pushed(void **state)
{
    Arena *arena = *state ? arena_new() : NULL;
    Vec(int64_t) squares = {0};
    for (int64_t i = 0; i < 1000; i++)
        vec_push(arena, &squares, i * i);
    assert_int_equal(squares.n, 1000);
    assert_true(squares.room >= 1000);
    for (int i = 0; i < squares.n; i++)
        assert_int_equal(squares.at[i], (int64_t)i * i);
    if (!arena)
        free(squares.at);
    arena_free(arena);
}

int main(void)
{
    static int in_arena = 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_zero_aligned_and_apart),
        cmocka_unit_test(a_large_piece_leaves_the_open_block_open),
        cmocka_unit_test(room_that_a_large_array_does_not_need_is_given_back),
        cmocka_unit_test(freeing_nothing_is_fine),
        cmocka_unit_test(texts_are_ended_copies),
        cmocka_unit_test(a_size_that_overflows_is_no_size),
        cmocka_unit_test_prestate(a_vec_keeps_what_was_pushed, &in_arena),
        cmocka_unit_test_prestate(a_vec_keeps_what_was_pushed, NULL),
    };
    return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
