#include "viz/export.h"

#include "core/base/file.h"
#include "viz/dot.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LAYOUT_MS_MAX = 20000, PIPE_BYTES = 1 << 16 };

bool export_kind_from_name(Str name, DiagramKind *out)
{
    for (int kind = 0; kind < DIAGRAM_KIND_COUNT; kind++)
        if (str_eq(name, str_from(diagram_kind_name((DiagramKind)kind)))) {
            *out = (DiagramKind)kind;
            return true;
        }
    return false;
}

typedef struct {
    pid_t pid;
    int to, from; /* pipes: its input, its output */
} Child;

static bool start_dot(Child *child, Error *err)
{
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0)
        return error_set(err, "no pipe: %s", strerror(errno));
    if (pipe2(out, O_CLOEXEC) != 0) {
        close(in[0]);
        close(in[1]);
        return error_set(err, "no pipe: %s", strerror(errno));
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    char program[] = "dot", svg[] = "-Tsvg", limit[] = "-Gnslimit=2", limit1[] = "-Gnslimit1=2";
    char *arguments[] = {program, svg, limit, limit1, NULL};
    int rc = posix_spawnp(&child->pid, program, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    child->to = in[1];
    child->from = out[0];
    if (rc == 0)
        return true;
    close(child->to);
    close(child->from);
    error_kind(err, ERROR_USAGE, "the program 'dot' cannot be started: %s", strerror(rc));
    error_hint(err, "install graphviz, or export with --dot");
    return false;
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Writes the input and reads the output side by side, until the child closes or time is up. */
static bool talk(Child *child, Str input, Buf *out)
{
    int64_t deadline = now_ms() + LAYOUT_MS_MAX;
    if (fcntl(child->to, F_SETFL, O_NONBLOCK) != 0)
        return false;
    for (;;) {
        struct pollfd polls[2] = {{.fd = child->from, .events = POLLIN},
                                  {.fd = child->to, .events = POLLOUT}};
        int64_t left = deadline - now_ms();
        if (left <= 0 || poll(polls, child->to >= 0 ? 2 : 1, (int)left) == 0)
            return false;
        if (child->to >= 0 && polls[1].revents) {
            ssize_t n = write(child->to, input.s, input.n);
            if (n > 0)
                input = (Str){input.s + n, input.n - (size_t)n};
            if (input.n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
                close(child->to);
                child->to = -1;
            }
        }
        if (polls[0].revents) {
            char bytes[PIPE_BYTES];
            ssize_t n = read(child->from, bytes, sizeof bytes);
            if (n > 0)
                buf_add(out, (Str){bytes, (size_t)n});
            else if (n == 0 || (errno != EAGAIN && errno != EINTR))
                return n == 0;
        }
    }
}

static bool lay_out(Str dot, Buf *out, Error *err)
{
    Child child = {.to = -1, .from = -1};
    if (!start_dot(&child, err))
        return false;
    void (*old)(int) = signal(SIGPIPE, SIG_IGN);
    size_t before = out->n;
    bool finished = talk(&child, dot, out);
    signal(SIGPIPE, old);
    if (child.to >= 0)
        close(child.to);
    close(child.from);
    if (!finished)
        kill(child.pid, SIGKILL);
    int status = 0;
    while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!finished)
        error_kind(err, ERROR_RUN, "dot took more than %d seconds and was stopped",
                   LAYOUT_MS_MAX / 1000);
    else if (WIFSIGNALED(status))
        error_kind(err, ERROR_RUN, "dot was ended by signal %d", WTERMSIG(status));
    else if (WEXITSTATUS(status) != 0)
        error_kind(err, ERROR_RUN, "dot failed with exit status %d", WEXITSTATUS(status));
    else if (str_find((Str){out->s + before, out->n - before}, STR("</svg>")) < 0)
        error_kind(err, ERROR_RUN, "dot wrote no whole drawing");
    else
        return true;
    error_hint(err, "export with --dot, or --kind overview");
    out->n = before; /* half a drawing is none */
    return false;
}

bool export_drawing(const Session *session, DiagramKind kind, ExportFormat format, Buf *out,
                    Error *err)
{
    Diagram *diagram = diagram_make(out->arena, session, kind, err);
    if (!diagram)
        return false;
    if (format == EXPORT_DOT)
        return dot_write(diagram, session->mesh, out, err);
    Buf dot = buf_new(out->arena);
    return dot_write(diagram, session->mesh, &dot, err) && lay_out(buf_str(&dot), out, err);
}

bool export_file(const Session *session, DiagramKind kind, ExportFormat format, const char *path,
                 Error *err)
{
    Arena *scratch = arena_new();
    Buf text = buf_new(scratch);
    bool ok =
        export_drawing(session, kind, format, &text, err) && file_write(path, buf_str(&text), err);
    arena_free(scratch);
    return ok;
}
