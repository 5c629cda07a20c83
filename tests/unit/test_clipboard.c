/* The clipboard: what the terminal is sent, and helpers that work, fail, hang or are not there. */
#include "tests/unit/unit.h"

#include "core/base/file.h"
#include "tui/screen/clipboard.h"

#include <stdio.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static Arena *arena;

typedef struct {
    const char *name, *text, *want;
} SequenceRow;

static SequenceRow sequences[] = {
    {"empty", "", "\033]52;c;\a"},
    {"one", "a", "\033]52;c;YQ==\a"},
    {"two", "ab", "\033]52;c;YWI=\a"},
    {"three", "abc", "\033]52;c;YWJj\a"},
    {"utf-8", "Σtp", "\033]52;c;zqN0cA==\a"},
};

static void terminal_is_sent(void **state)
{
    const SequenceRow *row = *state;
    arena = arena_new();
    Buf out = buf_new(arena);
    assert_true(clipboard_sequence(str_from(row->text), &out, NULL));
    assert_string_equal(out.s, row->want);
    arena_free(arena);
}

static void what_is_too_long_is_refused(void **state)
{
    (void)state;
    arena = arena_new();
    Buf out = buf_new(arena);
    Error err = {0};
    char *text = arena_array(arena, char, OSC52_MAX + 1);
    memset(text, 'x', OSC52_MAX + 1);
    assert_true(clipboard_sequence((Str){text, OSC52_MAX}, &out, &err));
    assert_false(clipboard_sequence((Str){text, OSC52_MAX + 1}, &out, &err));
    assert_non_null(strstr(err.text, "too many"));
    arena_free(arena);
}

static bool run(const char *script, Str text, Error *err)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    return clipboard_run(argv, text, err);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void a_helper_gets_the_text(void **state)
{
    (void)state;
    arena = arena_new();
    char path[] = "/tmp/dimscope-clip-XXXXXX";
    close(mkstemp(path));
    Source got;
    assert_true(run(arena_printf(arena, "cat >%s; echo noise; echo noise >&2", path),
                    STR("8/dp,4 Σtp\n"), &(Error){0}));
    assert_true(file_read(arena, path, 1 << 10, &got, NULL));
    assert_string_equal(got.text.s, "8/dp,4 Σtp\n");
    unlink(path);
    arena_free(arena);
}

static void a_helper_that_fails_is_said(void **state)
{
    (void)state;
    Error err = {0};
    assert_false(run("exit 3", STR("x"), &err));
    assert_string_equal(err.text, "sh failed");
    err = (Error){0};
    assert_false(clipboard_run((const char *const[]){"no-such-helper", NULL}, STR("x"), &err));
    assert_int_equal(err.kind, ERROR_UNREADABLE);
}

/* Neither one that does not read nor one that does not end holds the screen. */
static void a_helper_that_hangs_is_ended(void **state)
{
    (void)state;
    arena = arena_new();
    enum { MANY = 1 << 20 };
    char *text = arena_array(arena, char, MANY);
    memset(text, 'x', MANY);
    double before = seconds();
    Error err = {0};
    assert_false(run("exec sleep 30", (Str){text, MANY}, &err));
    assert_non_null(strstr(err.text, "did not answer"));
    assert_true(seconds() - before < 3);
    arena_free(arena);
}

/* A folder with one program of that name and script, which is all of PATH. */
static void fake_helper(const char *name, const char *script, const char *folder)
{
    const char *path = arena_printf(arena, "%s/%s", folder, name);
    const char *text = arena_printf(arena, "#!/bin/sh\n%s\n", script);
    assert_true(file_write(path, str_from(text), NULL));
    assert_int_equal(chmod(path, 0755), 0);
}

static void the_first_helper_that_works_is_named(void **state)
{
    (void)state;
    arena = arena_new();
    char folder[] = "/tmp/dimscope-helpers-XXXXXX";
    assert_non_null(mkdtemp(folder));
    const char *before = arena_printf(arena, "%s", getenv("PATH"));
    unsetenv("TMUX");
    setenv("WAYLAND_DISPLAY", "w", 1);
    setenv("DISPLAY", ":0", 1);
    setenv("PATH", folder, 1);
    Error err = {0};
    assert_null(clipboard_program(STR("x"), &err));
    assert_string_equal(err.text, "no clipboard program was found");
    fake_helper("wl-copy", "exit 1", folder);
    err = (Error){0};
    assert_null(clipboard_program(STR("x"), &err));
    assert_string_equal(err.text, "wl-copy failed");
    fake_helper("xsel", "exit 0", folder);
    assert_string_equal(clipboard_program(STR("x"), &err), "xsel");
    unsetenv("DISPLAY");
    assert_null(clipboard_program(STR("x"), &err));
    setenv("PATH", before, 1);
    unlink(arena_printf(arena, "%s/wl-copy", folder));
    unlink(arena_printf(arena, "%s/xsel", folder));
    rmdir(folder);
    arena_free(arena);
}

static void over_ssh_the_terminal_is_asked_first(void **state)
{
    (void)state;
    unsetenv("TMUX");
    unsetenv("SSH_TTY");
    unsetenv("SSH_CONNECTION");
    assert_false(clipboard_prefers_terminal());
    setenv("SSH_CONNECTION", "a 1 b 2", 1);
    assert_true(clipboard_prefers_terminal());
    setenv("TMUX", "/tmp/tmux,1,0", 1); /* it hands on to its own terminal */
    assert_false(clipboard_prefers_terminal());
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN); /* as the program does: a helper may not read all of it */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_too_long_is_refused),
        cmocka_unit_test(a_helper_gets_the_text),
        cmocka_unit_test(a_helper_that_fails_is_said),
        cmocka_unit_test(a_helper_that_hangs_is_ended),
        cmocka_unit_test(the_first_helper_that_works_is_named),
        cmocka_unit_test(over_ssh_the_terminal_is_asked_first),
    };
    return run_rows("osc 52", sequences, terminal_is_sent) +
           cmocka_run_group_tests_name("helpers", tests, NULL, NULL);
}
