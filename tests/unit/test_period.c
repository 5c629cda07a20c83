#include "tests/unit/unit.h"

#include "core/model/period.h"

#include "core/base/str.h"

typedef struct {
    const char *name, *text;
    const char *want; /* start, word, how often, and what the start may move by */
} Row;

static Row rows[] = {
    {"nothing", "", "none"},
    {"one", "a", "none"},
    {"no repetition", "abcdef", "none"},
    {"two equal", "aa", "0: a x2 +0"},
    {"layers", "xabcabcabcy", "1: abc x3 +0"},
    {"a part of a word more", "xabcabcaby", "1: abc x2 +2"},
    {"words with repetition inside", "aabaabaab", "0: aab x3 +0"},
    {"the longer stretch wins", "ababababcdefcdefcdefx", "8: cdef x3 +0"},
    {"the shorter word wins", "xababababy", "1: ab x4 +0"},
    {"all equal", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "0: a x40 +0"},
    {"nested", "abbabbcabbabbcabbabbc", "0: abbabbc x3 +0"},
    {"falling symbols", "zyxzyxzyx", "0: zyx x3 +0"},
};

static Period find(const char *text)
{
    Arena *arena = arena_new();
    int32_t symbols[1024], n = 0;
    for (; text[n]; n++)
        symbols[n] = (unsigned char)text[n];
    Period period = period_find(arena, symbols, n);
    arena_free(arena);
    return period;
}

static void stretch_is_found(void **state)
{
    const Row *row = *state;
    Arena *arena = arena_new();
    Buf out = buf_new(arena);
    Period period = find(row->text);
    if (period.count == 0)
        buf_puts(&out, "none");
    else
        buf_printf(&out, "%d: %.*s x%d +%d", period.start, period.size, row->text + period.start,
                   period.count, period.spare);
    assert_string_equal(out.s, row->want);
    arena_free(arena);
}

/* The most symbols that whole words of one size cover, by trying every start and size. */
static int32_t most_covered(const char *text, int32_t n)
{
    int32_t most = 0;
    for (int32_t size = 1; 2 * size <= n; size++)
        for (int32_t start = 0; start + 2 * size <= n; start++) {
            int32_t end = start + size;
            while (end < n && text[end] == text[end - size])
                end++;
            int32_t covered = (end - start) / size * size;
            if (covered >= 2 * size && covered > most)
                most = covered;
        }
    return most;
}

static void nothing_longer_exists(void **state)
{
    (void)state;
    uint32_t random = 12345;
    for (int round = 0; round < 4000; round++) {
        char text[64] = "";
        int32_t n = 1 + round % 60, n_symbols = 1 + round % 3;
        for (int32_t i = 0; i < n; i++) {
            random = random * 1664525 + 1013904223;
            text[i] = (char)('a' + (random >> 24) % (uint32_t)n_symbols);
        }
        Period period = find(text);
        assert_int_equal(period.size * period.count, most_covered(text, n));
        for (int32_t i = 0; i + period.size < period.size * period.count + period.spare; i++)
            assert_int_equal(text[period.start + i], text[period.start + i + period.size]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_longer_exists)};
    return run_rows("period: rows", rows, stretch_is_found) +
           cmocka_run_group_tests_name("period", tests, NULL, NULL);
}
