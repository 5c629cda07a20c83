/* terminal.h - the explorer on a real terminal: a child on a pseudo terminal, its screen read by
 * libvterm. Waits are for conditions, never for a time. */
#ifndef TESTS_UNIT_TERMINAL_H
#define TESTS_UNIT_TERMINAL_H

#include "tests/unit/unit.h"

#include "scripts/hooks.h"
#include "tui/app/app.h"

#include <locale.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include <utmp.h>
#include <vterm.h>

enum { LIMIT_MS = 20000, SCREEN_MAX = 40000 };

typedef struct {
    int fd;
    pid_t child;
    VTerm *vterm;
    VTermScreen *screen;
    struct termios before;
    bool alternate, cursor;
    int mouse;
    int rows, columns;
    bool repeats; /* the terminal was asked to repeat a character */
    bool ended;
    int status;
} Terminal;

static Terminal t;

static inline int note_property(VTermProp property, VTermValue *value, void *user)
{
    (void)user;
    if (property == VTERM_PROP_ALTSCREEN)
        t.alternate = value->boolean;
    if (property == VTERM_PROP_CURSORVISIBLE)
        t.cursor = value->boolean;
    if (property == VTERM_PROP_MOUSE)
        t.mouse = value->number;
    return 1;
}

static inline void send_output(const char *bytes, size_t n, void *user)
{
    (void)user;
    ssize_t unused = write(t.fd, bytes, n);
    (void)unused;
}

static inline Session *open_tiny_gpt(void *context, Progress *progress, Error *err)
{
    const char *policy = getenv("POLICY");
    SessionOptions options = {.model = "samples/models/tiny-gpt.onnx",
                              .mesh = "dp=2,tp=4",
                              .policy = policy ? policy : "scripts/policies/megatron.lua",
                              .progress = progress};
    const SessionHooks *hooks = context;
    return session_open(&options, hooks, err);
}

/* In the child: the explorer on tiny-gpt; its exit code says what happened. */
static inline int explore(void)
{
    AppOptions options = {.watch = true};
    Arena *arena = arena_new();
    Scripts *scripts = scripts_new(arena, ".");
    SessionHooks hooks = scripts_hooks(scripts);
    Error err = {0};
    AppOpener opener = {open_tiny_gpt, &hooks, "tiny-gpt.onnx", "megatron.lua", "dp=2,tp=4"};
    bool ok = app_run(&opener, &options, &err);
    if (!ok)
        fprintf(stderr, "%s (%s)\n", err.text, err.hint);
    scripts_free(scripts);
    arena_free(arena);
    return ok ? 0 : 2;
}

static inline void set_environment(const char *term, const char *extra)
{
    setenv("TERM", term, 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    unsetenv("NO_COLOR");
    unsetenv("COLORFGBG");
    unsetenv("LINES");
    unsetenv("COLUMNS");
    char pair[128];
    snprintf(pair, sizeof pair, "%s", extra);
    char *equals = strchr(pair, '=');
    if (equals) {
        *equals = '\0';
        setenv(pair, equals + 1, 1);
    }
    setlocale(LC_CTYPE, "");
}

static inline void start_with(const char *term, const char *extra, int (*child)(void))
{
    static const VTermScreenCallbacks callbacks = {.settermprop = note_property};
    struct winsize size = {.ws_row = 24, .ws_col = 80};

    t = (Terminal){.rows = 24, .columns = 80, .cursor = true};
    int slave;
    assert_int_equal(openpty(&t.fd, &slave, NULL, NULL, &size), 0);
    tcgetattr(slave, &t.before);
    t.child = fork();
    if (t.child == 0) {
        close(t.fd);
        login_tty(slave);
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        alarm(60);
        set_environment(term, extra);
        _exit(child());
    }
    assert_true(t.child > 0);
    close(slave);
    t.vterm = vterm_new(24, 80);
    vterm_set_utf8(t.vterm, 1);
    vterm_output_set_callback(t.vterm, send_output, NULL);
    t.screen = vterm_obtain_screen(t.vterm);
    vterm_screen_enable_altscreen(t.screen, 1);
    vterm_screen_set_callbacks(t.screen, &callbacks, NULL);
    vterm_screen_reset(t.screen, 1);
}

static inline void start(const char *term, const char *extra)
{
    start_with(term, extra, explore);
}

static inline const char *screen_text(void)
{
    static char text[SCREEN_MAX];
    size_t n = 0;
    for (int y = 0; y < t.rows; y++) {
        VTermRect line = {y, y + 1, 0, t.columns};
        n += vterm_screen_get_text(t.screen, text + n, sizeof text - n - 2, line);
        text[n++] = '\n';
    }
    text[n] = '\0';
    return text;
}

/* Takes what the child writes for at most that long; false when nothing came. */
static inline bool take(int ms)
{
    char bytes[4096];
    struct pollfd out = {.fd = t.fd, .events = POLLIN};
    if (poll(&out, 1, ms) <= 0)
        return false;
    ssize_t n = read(t.fd, bytes, sizeof bytes);
    if (n <= 0)
        return false;
    for (ssize_t i = 1; i < n; i++)
        t.repeats = t.repeats || (bytes[i] == 'b' && bytes[i - 1] >= '0' && bytes[i - 1] <= '9');
    vterm_input_write(t.vterm, bytes, (size_t)n);
    return true;
}

static inline int64_t now_ms(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1000 + at.tv_nsec / 1000000;
}

static inline void wait_for(const char *text)
{
    int64_t end = now_ms() + LIMIT_MS;
    while (!strstr(screen_text(), text)) {
        if (now_ms() > end)
            fail_msg("'%s' never came:\n%s", text, screen_text());
        take(20);
    }
}

static inline void wait_for_end_of(const char *text)
{
    int64_t end = now_ms() + LIMIT_MS;
    while (strstr(screen_text(), text)) {
        if (now_ms() > end)
            fail_msg("'%s' never went:\n%s", text, screen_text());
        take(20);
    }
}

static inline void press(const char *bytes)
{
    assert_int_equal(write(t.fd, bytes, strlen(bytes)), strlen(bytes));
}

static inline void resize(int columns, int rows)
{
    struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};
    t.rows = rows;
    t.columns = columns;
    vterm_set_size(t.vterm, rows, columns);
    ioctl(t.fd, TIOCSWINSZ, &size);
}

/* Waits for the child's end; answers its wait status. */
static inline int end_of_child(void)
{
    int64_t end = now_ms() + LIMIT_MS;
    while (waitpid(t.child, &t.status, WNOHANG) == 0) {
        if (now_ms() > end)
            fail_msg("the explorer did not end:\n%s", screen_text());
        take(10);
    }
    while (take(20))
        ;
    return t.status;
}

static inline void assert_restored(void)
{
    struct termios after;
    assert_false(t.alternate);
    assert_true(t.cursor);
    assert_int_equal(t.mouse, VTERM_PROP_MOUSE_NONE);
    if (tcgetattr(t.fd, &after) != 0)
        return; /* the other side is closed: its modes are gone with it */
    assert_int_equal(after.c_lflag, t.before.c_lflag);
    assert_int_equal(after.c_iflag, t.before.c_iflag);
    assert_int_equal(after.c_oflag, t.before.c_oflag);
}

static inline void stop(void)
{
    vterm_free(t.vterm);
    close(t.fd);
}

static inline void leave(void)
{
    press("Q");
    assert_int_equal(WEXITSTATUS(end_of_child()), 0);
    assert_restored();
    stop();
}

#endif
