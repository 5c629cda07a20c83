#include "tui/screen/clipboard.h"

#include "core/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { POLL_MS = 5, NOT_FOUND = 127 };

bool clipboard_sequence(Str text, Buf *out, Error *err)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    if (text.n > OSC52_MAX)
        return error_set(err, "%zu bytes are too many for a terminal's clipboard (at most %d)",
                         text.n, OSC52_MAX);
    buf_puts(out, "\033]52;c;");
    for (size_t i = 0; i < text.n; i += 3) {
        size_t left = text.n - i;
        unsigned bits = (unsigned)(unsigned char)text.s[i] << 16;
        bits |= left > 1 ? (unsigned)(unsigned char)text.s[i + 1] << 8 : 0;
        bits |= left > 2 ? (unsigned char)text.s[i + 2] : 0;
        buf_putc(out, digits[bits >> 18]);
        buf_putc(out, digits[bits >> 12 & 63]);
        buf_putc(out, left > 1 ? digits[bits >> 6 & 63] : '=');
        buf_putc(out, left > 2 ? digits[bits & 63] : '=');
    }
    buf_putc(out, '\a');
    return true;
}

/* In the child: its own session, the pipe as stdin, nothing on the screen. */
static void become(const char *const *argv, int input)
{
    enum { ARGV_MAX = 7 };
    char *own[ARGV_MAX + 1] = {0};
    int nowhere = open("/dev/null", O_RDWR);

    setsid();
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    dup2(input, STDIN_FILENO);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    for (int i = 0; i < ARGV_MAX && argv[i]; i++)
        own[i] = strdup(argv[i]);
    if (own[0])
        execvp(own[0], own);
    _exit(NOT_FOUND);
}

/* Hands the text over; a helper that goes away or does not read is seen by its end. */
static void feed(int out, Str text, int64_t until)
{
    fcntl(out, F_SETFL, O_NONBLOCK);
    while (text.n > 0 && clock_ms() < until) {
        struct pollfd ready = {.fd = out, .events = POLLOUT};
        ssize_t n = write(out, text.s, text.n);
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return;
        if (n > 0)
            text = (Str){text.s + n, text.n - (size_t)n};
        else
            poll(&ready, 1, POLL_MS);
    }
}

/* The status of the child, or -1 when it took too long and was killed. */
static int wait_until(pid_t child, int64_t until)
{
    int status = 0;

    while (waitpid(child, &status, WNOHANG) == 0) {
        if (clock_ms() >= until) {
            kill(-child, SIGKILL);
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            return -1;
        }
        poll(NULL, 0, POLL_MS);
    }
    return status;
}

bool clipboard_run(const char *const *argv, Str text, Error *err)
{
    int ends[2];
    int64_t until = clock_ms() + CLIPBOARD_MS;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return error_set(err, "%s: %s", argv[0], strerror(errno));
    pid_t child = fork();
    if (child == 0)
        become(argv, ends[0]);
    close(ends[0]);
    if (child > 0)
        feed(ends[1], text, until);
    close(ends[1]);
    if (child < 0)
        return error_set(err, "%s: %s", argv[0], strerror(errno));
    int status = wait_until(child, until);
    if (status == -1)
        return error_set(err, "%s did not answer within %d ms", argv[0], CLIPBOARD_MS);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND)
        return error_kind(err, ERROR_UNREADABLE, "%s is not installed", argv[0]);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return error_set(err, "%s failed", argv[0]);
    return true;
}

static bool is_set(const char *name)
{
    const char *value = getenv(name);

    return value && *value;
}

bool clipboard_prefers_terminal(void)
{
    return !is_set("TMUX") && (is_set("SSH_TTY") || is_set("SSH_CONNECTION"));
}

typedef struct {
    const char *needs; /* an environment variable */
    const char *argv[5];
} Helper;

static const Helper helpers[] = {
    {"TMUX", {"tmux", "load-buffer", "-w", "-"}},
    {"WAYLAND_DISPLAY", {"wl-copy"}},
    {"DISPLAY", {"xclip", "-selection", "clipboard"}},
    {"DISPLAY", {"xsel", "--input", "--clipboard"}},
    {"PATH", {"pbcopy"}},
};

const char *clipboard_program(Str text, Error *err)
{
    for (size_t i = 0; i < sizeof helpers / sizeof helpers[0]; i++) {
        Error own = {0};
        if (!is_set(helpers[i].needs))
            continue;
        if (clipboard_run(helpers[i].argv, text, &own))
            return helpers[i].argv[0];
        if (own.kind != ERROR_UNREADABLE)
            error_set(err, "%s", own.text);
    }
    error_set(err, "no clipboard program was found");
    error_hint(err, "install wl-copy, xclip, xsel or pbcopy, or use :set clipboard=terminal");
    return NULL;
}
