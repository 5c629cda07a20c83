/* screen.h - the explorer without a terminal: keys in, facts on the screen out.
 *
 *     static ScreenRow rows[] = {{"its bytes", 80, 24, "5", 1, {"12.0 MiB"}}, ...};
 *     open_scripts(NULL); int failed = run_rows("comm", rows, screen_has); close_scripts(NULL);
 */
#ifndef TESTS_UNIT_SCREEN_H
#define TESTS_UNIT_SCREEN_H

#include "tests/unit/keys_text.h"
#include "tests/unit/unit.h"

#include "scripts/hooks.h"
#include "tui/app/app.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { FACTS_MAX = 8 };

typedef struct {
    const char *name;
    int w, h;
    const char *keys;
    int n_keys; /* the budget; -1: none */
    const char *facts[FACTS_MAX];
} ScreenRow;

static SessionHooks hooks;
static Scripts *scripts;
static Arena *shared;

static inline int open_scripts(void **state)
{
    (void)state;
    char *top = getcwd(NULL, 0);
    shared = arena_new();
    scripts = scripts_new(shared, arena_str(shared, str_from(top)));
    free(top);
    hooks = scripts_hooks(scripts);
    return 0;
}

static inline int close_scripts(void **state)
{
    (void)state;
    scripts_free(scripts);
    arena_free(shared);
    return 0;
}

static inline Session *open_gpt2(void)
{
    SessionOptions options = {.model = "samples/models/gpt2.onnx",
                              .mesh = "dp=2,tp=4",
                              .policy = "tests/policies/megatron.lua"};
    Error err = {0};
    Session *session = session_open(&options, &hooks, &err);
    if (!session)
        fail_msg("%s", err.text);
    return session;
}

static inline Session *open_tiny(void)
{
    SessionOptions options = {
        .model = "samples/models/tiny-gpt.onnx", .mesh = "dp=2,tp=2", .policy = "megatron"};
    Error err = {0};
    Session *session = session_open(&options, &hooks, &err);
    if (!session)
        fail_msg("%s", err.text);
    return session;
}

static inline const char *screen_after(Arena *arena, Session *session, int w, int h,
                                       const char *keys)
{
    AppOptions options = {.width = w};
    App *app = app_new(session, &options, NULL, w, h);
    Buf text = buf_new(arena);
    app_type(app, str_from(keys));
    grid_format(app_draw(app), &text);
    app_free(app);
    return text.s;
}

/* Said whole: a message of cmocka's ends after a part of a screen. */
static inline void screen_lacks(const char *screen, const char *fact)
{
    fputs(screen, stderr);
    fail_msg("'%s' is not on the screen", fact);
}

static inline void screen_says(App *app, const char *const *facts)
{
    Arena *arena = arena_new();
    Buf text = buf_new(arena);
    grid_format(app_draw(app), &text);
    for (; *facts; facts++)
        if (!strstr(text.s, *facts))
            screen_lacks(text.s, *facts);
    arena_free(arena);
}

static inline void screen_has(void **state)
{
    const ScreenRow *row = *state;
    Arena *arena = arena_new();
    Session *session = open_gpt2();
    const char *text = screen_after(arena, session, row->w, row->h, row->keys);
    for (int i = 0; i < FACTS_MAX && row->facts[i]; i++)
        if (!strstr(text, row->facts[i]))
            screen_lacks(text, row->facts[i]);
    if (row->n_keys >= 0)
        assert_in_range(count_keys(row->keys), 0, row->n_keys);
    session_close(session);
    arena_free(arena);
}

#endif
