#include "viz/dot_layout.h"

#include "core/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PIPE_BYTES = 1 << 16, LOOK_MS = 50 };

typedef struct {
    pid_t pid;
    int to, from; /* pipes to its input and from its output; -1 once closed */
} Child;

/* Runs in the forked child: executes dot, or reports why it cannot. The child is killed if this
 * process ends, however that happens. */
static void become_dot(char **arguments, char **variables, pid_t parent, int in, int out, int why)
{
    sigset_t none;
    int devnull = open("/dev/null", O_WRONLY | O_CLOEXEC);

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGPIPE, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (getppid() == parent && dup2(in, 0) >= 0 && dup2(out, 1) >= 0 && dup2(devnull, 2) >= 0)
        execvpe(arguments[0], arguments, variables);
    int cause = errno;
    ssize_t unused = write(why, &cause, sizeof cause);
    (void)unused;
    _exit(127);
}

/* Returns 0, or the errno that kept dot from starting. */
static int fork_dot(Child *child, char **arguments, char **variables, int in, int out)
{
    int why[2], cause = 0;
    pid_t parent = getpid();

    if (pipe2(why, O_CLOEXEC) != 0)
        return errno;
    child->pid = fork();
    if (child->pid == 0)
        become_dot(arguments, variables, parent, in, out, why[1]);
    if (child->pid < 0)
        cause = errno;
    close(why[1]);
    ssize_t n = child->pid < 0 ? 0 : read(why[0], &cause, sizeof cause);
    close(why[0]);
    if (n > 0)
        waitpid(child->pid, NULL, 0);
    return cause;
}

/* Our environment with TZ=UTC0, since a PDF contains the time zone. */
static char **variables_of_dot(Arena *arena)
{
    static char zone[] = "TZ=UTC0";
    int n = 0, kept = 0;

    while (environ[n])
        n++;
    char **variables = arena_array(arena, char *, n + 2);
    for (int i = 0; i < n; i++)
        if (strncmp(environ[i], "TZ=", 3) != 0)
            variables[kept++] = environ[i];
    variables[kept] = zone;
    return variables;
}

static bool start_dot(Child *child, const char *format, Arena *arena, bool *absent, Error *err)
{
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0)
        return error_set(err, "no pipe: %s", strerror(errno));
    if (pipe2(out, O_CLOEXEC) != 0) {
        close(in[0]);
        close(in[1]);
        return error_set(err, "no pipe: %s", strerror(errno));
    }
    char program[] = "dot", limit[] = "-Gnslimit=2", limit1[] = "-Gnslimit1=2", as[16];
    snprintf(as, sizeof as, "-T%s", format);
    char *arguments[] = {program, as, limit, limit1, NULL};
    int rc = fork_dot(child, arguments, variables_of_dot(arena), in[0], out[1]);
    close(in[0]);
    close(out[1]);
    child->to = in[1];
    child->from = out[0];
    if (absent)
        *absent = rc == ENOENT;
    if (rc == 0)
        return true;
    close(child->to);
    close(child->from);
    error_kind(err, ERROR_USAGE, "the program 'dot' cannot be started: %s", strerror(rc));
    error_hint(err, "install graphviz, or export with --dot");
    return false;
}

static void close_input(Child *child)
{
    if (child->to >= 0)
        close(child->to);
    child->to = -1;
}

/* Sends input; closes the pipe when all is sent or the child stops reading. */
static void feed(Child *child, Str *input)
{
    ssize_t n = write(child->to, input->s, input->n);
    if (n > 0)
        *input = (Str){input->s + n, input->n - (size_t)n};
    if (input->n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        close_input(child);
}

typedef enum { TALK_DONE, TALK_LATE, TALK_STOPPED, TALK_MUCH, TALK_FAILED } Talk;

/* Writes the input and reads the output concurrently, until the child closes its output or the
 * deadline has passed. */
static Talk talk(Child *child, Str input, int64_t deadline, Progress *progress, Buf *out)
{
    size_t before = out->n;
    if (fcntl(child->to, F_SETFL, O_NONBLOCK) != 0)
        return TALK_FAILED;
    for (;;) {
        struct pollfd polls[2] = {{.fd = child->from, .events = POLLIN},
                                  {.fd = child->to, .events = POLLOUT}};
        if (progress_stopped(progress))
            return TALK_STOPPED;
        if (clock_ms() >= deadline)
            return TALK_LATE;
        if (poll(polls, 2, LOOK_MS) < 0 && errno != EINTR)
            return TALK_FAILED;
        if (polls[1].revents)
            feed(child, &input);
        if (!polls[0].revents)
            continue;
        char bytes[PIPE_BYTES];
        ssize_t n = read(child->from, bytes, sizeof bytes);
        if (n > 0)
            buf_add(out, (Str){bytes, (size_t)n});
        if (out->n - before > LAYOUT_BYTES_MAX)
            return TALK_MUCH;
        if (n == 0)
            return TALK_DONE;
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return TALK_FAILED;
    }
}

/* A child may still run after it closed its output; the same deadline applies to it. */
static Talk await_end(pid_t pid, int64_t deadline, Progress *progress, int *status)
{
    for (;;) {
        pid_t ended = waitpid(pid, status, WNOHANG);
        if (ended == pid)
            return TALK_DONE;
        if (ended < 0 && errno != EINTR)
            return TALK_FAILED;
        if (progress_stopped(progress))
            return TALK_STOPPED;
        if (clock_ms() >= deadline)
            return TALK_LATE;
        poll(NULL, 0, 1);
    }
}

static void end_child(pid_t pid)
{
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* Recognises a complete drawing by the last bytes of its format. */
static bool is_whole(Str drawing, const char *format)
{
    static const char *const ends[][2] = {
        {"svg", "</svg>"}, {"pdf", "%%EOF"}, {"png", "IEND\xae\x42\x60\x82"}};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strcmp(format, ends[i][0]) == 0)
            return str_ends(str_trim(drawing), str_from(ends[i][1]));
    return drawing.n > 0;
}

bool layout_dot(Str dot, const char *format, Progress *progress, Buf *out, bool *absent, Error *err)
{
    Child child = {.to = -1, .from = -1};
    if (!start_dot(&child, format, out->arena, absent, err))
        return false;
    void (*old)(int) = signal(SIGPIPE, SIG_IGN);
    size_t before = out->n;
    int status = 0;
    int64_t deadline = clock_ms() + (int64_t)LAYOUT_SECONDS_MAX * 1000;
    Talk how = talk(&child, dot, deadline, progress, out);
    signal(SIGPIPE, old);
    close_input(&child);
    close(child.from);
    if (how == TALK_DONE)
        how = await_end(child.pid, deadline, progress, &status);
    if (how != TALK_DONE)
        end_child(child.pid);
    if (how == TALK_STOPPED)
        error_kind(err, ERROR_CANCELLED, "stopped");
    else if (how == TALK_LATE)
        error_kind(err, ERROR_RUN, "dot took more than %d seconds and was stopped",
                   LAYOUT_SECONDS_MAX);
    else if (how == TALK_MUCH)
        error_kind(err, ERROR_RUN, "dot wrote more than %d MiB and was stopped",
                   LAYOUT_BYTES_MAX >> 20);
    else if (how == TALK_FAILED)
        error_kind(err, ERROR_RUN, "cannot exchange data with dot: %s", strerror(errno));
    else if (WIFSIGNALED(status))
        error_kind(err, ERROR_RUN, "dot was killed by signal %d", WTERMSIG(status));
    else if (WEXITSTATUS(status) != 0)
        error_kind(err, ERROR_RUN, "dot failed with exit status %d", WEXITSTATUS(status));
    else if (!is_whole((Str){out->s + before, out->n - before}, format))
        error_kind(err, ERROR_RUN, "dot wrote an incomplete drawing");
    else
        return true;
    if (how != TALK_STOPPED)
        error_hint(err, "export with --dot, or --kind overview");
    out->n = before; /* drop an incomplete drawing */
    return false;
}
