/* The explorer on a real terminal while work runs beside it: stopped, left, its terminal closed. */
#include "tests/unit/terminal.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stopped_explorer_gives_the_terminal_back),
        cmocka_unit_test(a_closed_terminal_ends_it),
        cmocka_unit_test(a_closed_terminal_ends_it_and_its_job),
        cmocka_unit_test(a_job_leaves_the_screen_alive),
        cmocka_unit_test(leaving_ends_a_job),
        cmocka_unit_test(what_hears_nothing_is_ended),
    };
    return run_rows("slow", end_rows, a_slow_policy_is_ended) +
           cmocka_run_group_tests_name("jobs", tests, NULL, NULL);
}
