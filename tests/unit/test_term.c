/* The explorer on a real terminal: a child on a pseudo terminal, its screen read by libvterm. Waits
 * are for conditions, never for a time. */
#include "tests/unit/unit.h"

#include "scripts/hooks.h"
#include "tui/app/app.h"

#include <errno.h>
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

static int note_property(VTermProp property, VTermValue *value, void *user)
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

static void send_output(const char *bytes, size_t n, void *user)
{
    (void)user;
    ssize_t unused = write(t.fd, bytes, n);
    (void)unused;
}

static Session *open_tiny_gpt(void *context, Progress *progress, Error *err)
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
static int explore(void)
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

static void set_environment(const char *term, const char *extra)
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

static void start_with(const char *term, const char *extra, int (*child)(void))
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

static void start(const char *term, const char *extra)
{
    start_with(term, extra, explore);
}

static const char *screen_text(void)
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
static bool take(int ms)
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

static int64_t now_ms(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1000 + at.tv_nsec / 1000000;
}

static void wait_for(const char *text)
{
    int64_t end = now_ms() + LIMIT_MS;
    while (!strstr(screen_text(), text)) {
        if (now_ms() > end)
            fail_msg("'%s' never came:\n%s", text, screen_text());
        take(20);
    }
}

static void wait_for_end_of(const char *text)
{
    int64_t end = now_ms() + LIMIT_MS;
    while (strstr(screen_text(), text)) {
        if (now_ms() > end)
            fail_msg("'%s' never went:\n%s", text, screen_text());
        take(20);
    }
}

static void press(const char *bytes)
{
    assert_int_equal(write(t.fd, bytes, strlen(bytes)), strlen(bytes));
}

static void resize(int columns, int rows)
{
    struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};
    t.rows = rows;
    t.columns = columns;
    vterm_set_size(t.vterm, rows, columns);
    ioctl(t.fd, TIOCSWINSZ, &size);
}

/* Waits for the child's end; answers its wait status. */
static int end_of_child(void)
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

static void assert_restored(void)
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

static void stop(void)
{
    vterm_free(t.vterm);
    close(t.fd);
}

static void leave(void)
{
    press("Q");
    assert_int_equal(WEXITSTATUS(end_of_child()), 0);
    assert_restored();
    stop();
}

/* ---- terminals ---- */

typedef struct {
    const char *name, *term, *extra;
    bool color;
    const char *fact; /* on its first screen, or the refusal; NULL: does not start */
} TermRow;

static TermRow term_rows[] = {
    {"xterm", "xterm-256color", "", true, "│ ●"},
    {"tmux", "tmux-256color", "", true, "│ ●"},
    {"screen", "screen", "", true, "│ ●"},
    {"linux console", "linux", "", true, "│ ●"},
    {"vt100 has no colour", "vt100", "", false, "│ ●"},
    {"no colour asked for", "xterm-256color", "NO_COLOR=1", false, "│ ●"},
    {"direct colours", "xterm-direct", "", true, "│ ●"},
    {"a locale without utf-8", "xterm", "LC_ALL=C", true, "| *"},
};

static bool has_color(void)
{
    for (int y = 0; y < t.rows; y++) {
        for (int x = 0; x < t.columns; x++) {
            VTermScreenCell cell;
            vterm_screen_get_cell(t.screen, (VTermPos){y, x}, &cell);
            if (!VTERM_COLOR_IS_DEFAULT_FG(&cell.fg))
                return true;
        }
    }
    return false;
}

static void a_terminal_shows_it_and_is_restored(void **state)
{
    const TermRow *row = *state;
    start(row->term, row->extra);
    wait_for("[1 Graph]");
    wait_for(row->fact);
    wait_for("q quit");
    assert_int_equal(has_color(), row->color);
    assert_false(t.repeats); /* many terminals that say they can cannot */
    press("q");
    int status = end_of_child();
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_restored();
    stop();
}

static TermRow refused_rows[] = {
    {"dumb", "dumb", "", false, "'dumb' cannot place its cursor"},
    {"unknown", "no-such-terminal", "", false, "'no-such-terminal' cannot place its cursor"},
};

static void a_terminal_that_cannot_is_refused(void **state)
{
    const TermRow *row = *state;
    start(row->term, row->extra);
    int status = end_of_child();
    assert_int_equal(WEXITSTATUS(status), 2);
    assert_non_null(strstr(screen_text(), row->fact));
    assert_non_null(strstr(screen_text(), "set TERM"));
    stop();
}

/* ---- signals ---- */

typedef struct {
    const char *name;
    int number;
} SignalRow;

static SignalRow signal_rows[] = {
    {"hup", SIGHUP},   {"int", SIGINT}, {"quit", SIGQUIT}, {"term", SIGTERM}, {"segv", SIGSEGV},
    {"bus", SIGBUS},   {"fpe", SIGFPE}, {"abrt", SIGABRT}, {"usr1", SIGUSR1}, {"usr2", SIGUSR2},
    {"alrm", SIGALRM}, {"ill", SIGILL}, {"sys", SIGSYS},   {"xcpu", SIGXCPU}, {"io", SIGIO},
};

static void a_fatal_signal_restores_the_terminal(void **state)
{
    const SignalRow *row = *state;
#if defined(__SANITIZE_ADDRESS__)
    if (row->number == SIGSEGV)
        skip(); /* the sanitizer keeps it for itself */
#endif
    start("xterm-256color", "");
    wait_for("q quit");
    assert_true(t.alternate);
    kill(t.child, row->number);
    int status = end_of_child();
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), row->number);
    assert_restored();
    stop();
}

/* ---- the rest ---- */

static void keys_move_and_open(void **state)
{
    (void)state;
    start("xterm-256color", "");
    wait_for("q quit");
    press("5");
    wait_for("[5 Comm]");
    press("\033[B"); /* the other form of an arrow key */
    press("\033OA");
    press("q");
    wait_for("[1 Graph]");
    press("/lm_head\r");
    wait_for("1/1");
    press("?");
    wait_for("[Help]");
    press("\033");
    wait_for("[1 Graph]");
    press(":rank 5\r3");
    wait_for("d5 (dp 1, tp 1) holds");
    leave();
}

/* Open, fold, search, why, pin, take back, compare, export, quit. */
static void a_day_of_a_user(void **state)
{
    char folder[] = "/tmp/dimscope-day-XXXXXX", line[80], path[64];
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/plan.svg", folder);
    snprintf(line, sizeof line, ":export %s\r", path);
    start("xterm-256color", "");
    wait_for("h[0..1] ×2");
    press("zM");
    wait_for("95 ops");
    press("zR");
    wait_for("Cast_1");
    press("/mlp.c_proj\r");
    wait_for("1/");
    press("w");
    wait_for("megatron.lua:");
    press("q");
    wait_for("[1 Graph]");
    press("p");
    wait_for("═ pin ");
    press("w");
    wait_for("pinned to whole: step");
    press("u");
    wait_for("undone: step");
    press("df\r");
    wait_for("[7 Diff]");
    wait_for("fsdp");
    resize(160, 50);
    wait_for("═ Diff ═");
    press(line);
    wait_for("plan.svg");
    press("Q");
    assert_int_equal(WEXITSTATUS(end_of_child()), 0);
    assert_restored();
    assert_int_equal(unlink(path), 0);
    rmdir(folder);
    stop();
}

static void a_resize_is_followed(void **state)
{
    (void)state;
    start("xterm-256color", "");
    wait_for("q quit");
    resize(160, 50);
    wait_for("─ Tensor ─");
    resize(30, 8);
    wait_for("too small");
    resize(80, 24);
    wait_for("q quit");
    press("q");
    assert_int_equal(WEXITSTATUS(end_of_child()), 0);
    stop();
}

/* Every view without colour: what is selected is reversed, and all is said by words and marks. */
static void views_without_colour_say_the_same(void **state)
{
    static const char *const walk[][2] = {
        {"2", "[2 Op]"},      {"3", "shape/axis"},  {"4", "d0"},       {"5", "AR tp"},
        {"6", "P parameter"}, {"7", "plan"},        {"8", "megatron"}, {"9", "predicted"},
        {"w", "[Why]"},       {"gf", "[Findings]"}, {"?", ":down"},    {"1x", "as now"}};
    (void)state;
    start("xterm-256color", "NO_COLOR=1");
    wait_for("q quit");
    for (size_t i = 0; i < COUNT_OF(walk); i++) {
        press(walk[i][0]);
        wait_for(walk[i][1]);
        assert_false(has_color());
    }
    VTermPos at;
    VTermScreenCell cell;
    while (take(100)) /* the cursor comes last */
        ;
    vterm_state_get_cursorpos(vterm_obtain_state(t.vterm), &at);
    vterm_screen_get_cell(t.screen, at, &cell);
    assert_true(cell.attrs.reverse); /* the menu's first row */
    press("\033\033Q");
    assert_int_equal(WEXITSTATUS(end_of_child()), 0);
    assert_restored();
    stop();
}

static void start_a_job(void)
{
    start("xterm-256color", "");
    wait_for("q quit");
    press("9:run fast repeat 10000\r");
    wait_for("C-c stops");
    if (strstr(screen_text(), "run it; C-c stops it")) { /* where it takes long the explorer asks */
        press("r");
        wait_for_end_of("run it; C-c stops it");
        wait_for("C-c stops");
    }
}

/* While the plan runs the screen goes on: other views, other sizes, and the way to stop it. */
static void a_job_leaves_the_screen_alive(void **state)
{
    (void)state;
    start_a_job();
    resize(160, 50);
    wait_for("─ Console ─");
    wait_for("C-c stops");
    resize(5, 3);
    wait_for("too …");
    press("j/x\r?w5zz"); /* nothing to act on is seen */
    resize(80, 24);
    wait_for("C-c stops");
    press("1");
    wait_for("[1 Graph]");
    wait_for("C-c stops");
    press("5");
    wait_for("[5 Comm]");
    press("\003");
    wait_for("stopped: ");
    press("1");
    wait_for("[1 Graph]");
    leave();
}

static void leaving_ends_a_job(void **state)
{
    (void)state;
    start_a_job();
    leave();
}

/* A policy of which each instruction takes long, which is the worst that a script can do. */
static void start_a_slow_policy(char path[])
{
    close(mkstemp(path));
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("function PAS(graph, resource)\n  local a = (\"\\0\"):rep((1 << 20) - 1)\n"
          "  local b = a .. \"y\"\n  while true do local z = a < b end\nend\n",
          file);
    fclose(file);
    char line[80];
    snprintf(line, sizeof line, ":policy %s\r", path);
    start("xterm-256color", "");
    wait_for("q quit");
    press(line);
    wait_for("C-c stops");
}

typedef struct {
    const char *name, *keys; /* pressed; NULL: a signal */
    int number;
} EndRow;

static EndRow end_rows[] = {
    {"c_c", "\003", 0}, {"q", "Q", 0}, {"term", NULL, SIGTERM}, {"usr1", NULL, SIGUSR1}};

static void a_slow_policy_is_ended(void **state)
{
    const EndRow *row = *state;
    char path[] = "/tmp/dimscope-slow-XXXXXX";
    start_a_slow_policy(path);
    if (row->keys)
        press(row->keys);
    else
        kill(t.child, row->number);
    if (row->keys && row->keys[0] == '\003') {
        wait_for("stopped: the plan");
        press("Q");
    }
    int status = end_of_child();
    if (row->keys)
        assert_int_equal(WEXITSTATUS(status), 0);
    else
        assert_int_equal(WTERMSIG(status), row->number);
    assert_restored();
    unlink(path);
    stop();
}

static _Noreturn Session *never_open(void *context, Progress *progress, Error *err)
{
    (void)context, (void)progress, (void)err;
    for (;;)
        pause();
}

static int explore_stuck(void)
{
    AppOpener opener = {never_open, NULL, "tiny-gpt.onnx", "megatron.lua", "dp=2,tp=4"};
    app_run(&opener, &(AppOptions){0}, &(Error){0});
    return 0;
}

/* Work that does not hear that it is to stop is cut off. */
static void what_hears_nothing_is_ended(void **state)
{
    static const int signals[] = {SIGALRM, SIGTERM}; /* what it dies of: q, and TERM */
    (void)state;
    for (int i = 0; i < 2; i++) {
        start_with("xterm-256color", "", explore_stuck);
        wait_for("C-c stops");
        if (i == 0)
            press("q");
        else
            kill(t.child, SIGTERM);
        assert_int_equal(WTERMSIG(end_of_child()), signals[i]);
        assert_restored();
        stop();
    }
}

/* As a shell does: the explorer is a job of its own; when it stops the terminal is ours, and a key
 * brings it back. */
static int explore_as_job(void)
{
    int status = 0;
    signal(SIGTTOU, SIG_IGN);
    pid_t job = fork();
    if (job == 0) {
        setpgid(0, 0);
        tcsetpgrp(STDIN_FILENO, getpid());
        signal(SIGTTOU, SIG_DFL);
        _exit(explore());
    }
    setpgid(job, job);
    while (waitpid(job, &status, WUNTRACED) == job && WIFSTOPPED(status)) {
        char key;
        tcsetpgrp(STDIN_FILENO, getpid());
        printf("job stopped\n");
        fflush(stdout);
        if (read(STDIN_FILENO, &key, 1) != 1)
            return 9;
        tcsetpgrp(STDIN_FILENO, job);
        kill(-job, SIGCONT);
    }
    return WEXITSTATUS(status);
}

static void a_stopped_explorer_gives_the_terminal_back(void **state)
{
    (void)state;
    start_with("xterm-256color", "", explore_as_job);
    wait_for("q quit");
    press("\032");
    wait_for("job stopped");
    assert_false(t.alternate);
    assert_true(t.cursor);
    press("\n");
    wait_for("q quit");
    assert_true(t.alternate);
    press("q");
    assert_int_equal(WEXITSTATUS(end_of_child()), 0);
    assert_restored();
    stop();
}

/* The other side goes away: the explorer ends, and does not ask the closed one for ever. */
static void close_terminal(void)
{
    close(t.fd);
    t.fd = -1;
    int64_t end = now_ms() + LIMIT_MS;
    pid_t done = 0;
    while (done == 0 && now_ms() < end) {
        done = waitpid(t.child, &t.status, WNOHANG);
        struct timespec pause = {.tv_nsec = 5000000};
        nanosleep(&pause, NULL);
    }
    assert_int_equal(done, t.child);
    vterm_free(t.vterm);
}

static void a_closed_terminal_ends_it(void **state)
{
    (void)state;
    start("xterm-256color", "");
    wait_for("q quit");
    close_terminal();
}

static void a_closed_terminal_ends_it_and_its_job(void **state)
{
    (void)state;
    start_a_job();
    close_terminal();
}

static void an_editor_gets_the_terminal_and_gives_it_back(void **state)
{
    char path[] = "/tmp/dimscope-editor-XXXXXX", environment[64];
    (void)state;
    int file = mkstemp(path);
    assert_true(file >= 0);
    dprintf(file, "echo editing \"$@\"; read unused\n");
    close(file);
    snprintf(environment, sizeof environment, "EDITOR=sh %s", path);
    start("xterm-256color", environment);
    wait_for("q quit");
    press("5e");
    wait_for("editing +");
    wait_for("megatron.lua");
    press("\r");
    wait_for("[5 Comm]");
    press("Q");
    assert_int_equal(WEXITSTATUS(end_of_child()), 0);
    assert_restored();
    unlink(path);
    stop();
}

static void write_policy(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* Edited in another window: the new plan comes by itself, a failing policy leaves the last one. */
static void an_edited_policy_is_run_again(void **state)
{
    char path[] = "/tmp/dimscope-policy-XXXXXX", environment[64];
    (void)state;
    close(mkstemp(path));
    write_policy(path, "function PAS(graph, resource) return graph end\n");
    snprintf(environment, sizeof environment, "POLICY=%s", path);
    start("xterm-256color", environment);
    wait_for("comm 0.0%");
    press("/ln_f"); /* the prompt is open when it comes */
    wait_for("1/1");
    write_policy(path, "function PAS(graph, resource)\n"
                       "  graph:shard(\"lm_head.weight\", {[1] = \"tp\"})\n  return graph\nend\n");
    wait_for("policy run");
    press("\r");
    write_policy(path, "function PAS(graph, resource)\n  oops()\nend\n");
    wait_for("oops");
    wait_for(":2:");
    wait_for("FAILED line 2");
    press("qQ");
    assert_int_equal(WEXITSTATUS(end_of_child()), 0);
    unlink(path);
    stop();
}

static void the_mouse_selects_rows_and_views(void **state)
{
    (void)state;
    start("tmux-256color", ""); /* its terminfo knows the old reports only */
    wait_for("q quit");
    press("\033[<0;34;2M\033[<0;34;2m"); /* the tab of Comm: SGR reports, from 1 */
    wait_for("[5 Comm]");
    press("\033[<0;10;7M\033[<0;10;7m");
    wait_for(">    2 AR tp …rmer.h.*.mlp.c_proj.out");
    press("\033[<65;10;7M");
    wait_for(">    1 SL");
    press("\033[<0;99999999999999999999;1M\033[<x\033[<66;1;1M\033[<2;1;1M"); /* no harm */
    press("1");
    wait_for("[1 Graph]");
    leave();
}

static void names_cannot_write_on_the_terminal(void **state)
{
    (void)state;
    start("xterm-256color", "");
    wait_for("q quit");
    press(":\x01\x1b"); /* neither may end up on the screen as it is */
    press("/\xff\xfe\r");
    press("q");
    press("Q");
    end_of_child();
    assert_restored();
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_move_and_open),
        cmocka_unit_test(a_day_of_a_user),
        cmocka_unit_test(a_resize_is_followed),
        cmocka_unit_test(a_stopped_explorer_gives_the_terminal_back),
        cmocka_unit_test(a_closed_terminal_ends_it),
        cmocka_unit_test(a_closed_terminal_ends_it_and_its_job),
        cmocka_unit_test(a_job_leaves_the_screen_alive),
        cmocka_unit_test(leaving_ends_a_job),
        cmocka_unit_test(what_hears_nothing_is_ended),
        cmocka_unit_test(views_without_colour_say_the_same),
        cmocka_unit_test(an_editor_gets_the_terminal_and_gives_it_back),
        cmocka_unit_test(an_edited_policy_is_run_again),
        cmocka_unit_test(the_mouse_selects_rows_and_views),
        cmocka_unit_test(names_cannot_write_on_the_terminal),
    };
    return run_rows("terminals", term_rows, a_terminal_shows_it_and_is_restored) +
           run_rows("refused", refused_rows, a_terminal_that_cannot_is_refused) +
           run_rows("slow", end_rows, a_slow_policy_is_ended) +
           run_rows("signals", signal_rows, a_fatal_signal_restores_the_terminal) +
           cmocka_run_group_tests_name("term", tests, NULL, NULL);
}
