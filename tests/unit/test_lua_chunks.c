/* test_lua_chunks.c - what was compiled of an included file does what its text does, and names the
 * same lines. */
#include "scripts/sandbox/lua_chunks.h"

#include "tests/unit/unit.h"

#include <lauxlib.h>
#include <pthread.h>

/* What the text returns for an argument, or its error. */
static const char *run(Arena *arena, Chunks *chunks, const char *text, int argument)
{
    lua_State *L = luaL_newstate();
    if (chunks_load(chunks, L, str_from(text), "=[lib x]") == LUA_OK) {
        lua_pushinteger(L, argument);
        lua_pcall(L, 1, 1, 0);
    }
    const char *got = arena_str(arena, str_from(lua_tostring(L, -1)));
    lua_close(L);
    return got;
}

static const char doubled[] = "local n = ...\n\nreturn n < 9 and n + n or nil + n\n";

static void test_same_as_text(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Chunks *chunks = chunks_new();
    for (int i = 0; i < 3; i++)
        for (int n = 7; n < 11; n++)
            assert_string_equal(run(arena, chunks, doubled, n), run(arena, NULL, doubled, n));
    assert_string_equal(run(arena, chunks, doubled, 8), "16");
    assert_non_null(strstr(run(arena, chunks, doubled, 9), "[lib x]:3:"));
    chunks_free(chunks);
    arena_free(arena);
}

static void test_text_changed(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Chunks *chunks = chunks_new();
    assert_string_equal(run(arena, chunks, "return ... + 1", 1), "2");
    assert_string_equal(run(arena, chunks, "return ... + 2", 1), "3");
    assert_string_equal(run(arena, chunks, "return ... + 1", 1), "2");
    chunks_free(chunks);
    arena_free(arena);
}

/* Of what a script gives only text is read, and what does not compile is an error each time. */
static void test_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"return +", "\x1bLua", "return '"};
    Arena *arena = arena_new();
    Chunks *chunks = chunks_new();
    for (int i = 0; i < 6; i++) {
        const char *got = run(arena, chunks, bad[i % 3], 1);
        assert_string_equal(got, run(arena, NULL, bad[i % 3], 1));
        assert_true(strlen(got) > 8);
    }
    chunks_free(chunks);
    arena_free(arena);
}

static void *run_often(void *chunks)
{
    enum { TEXTS = 5, TIMES = 40 };
    Arena *arena = arena_new();
    for (int i = 0; i < TIMES; i++) {
        const char *text = arena_printf(arena, "return ... * %d", i % TEXTS);
        assert_string_equal(run(arena, chunks, text, 3), arena_printf(arena, "%d", i % TEXTS * 3));
    }
    arena_free(arena);
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    Chunks *chunks = chunks_new();
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_often, chunks), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    chunks_free(chunks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_as_text),
        cmocka_unit_test(test_text_changed),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
