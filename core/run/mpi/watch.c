#include "core/run/mpi/watch.h"

#include "core/base/file.h"
#include "core/run/mpi/types.h"
#include "core/run/supervise.h"

#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { TICK_MS = 20, EXIT_RUN = 5 };

/* ---- a host ---- */

static long long now_us(void)
{
    return (long long)run_now_us();
}

static bool share_process_ids(const MpiHost *host)
{
    for (int i = 0; i < host->n; i++)
        if (kill(atomic_load(&host->line[i].process), 0) != 0)
            return false;
    return true;
}

bool host_open(MPI_Comm world, MpiHost *out, Error *err)
{
    MPI_Comm comm;
    int n_world = 0, rank = 0, unit = 0;
    MPI_Aint n_bytes = 0;
    HostLine *mine = NULL;
    *out = (MpiHost){.window = MPI_WIN_NULL};
    MPI_Comm_size(world, &n_world);
    MPI_Comm_rank(world, &rank);
    if (!MPI_CALL(err, MPI_Comm_split_type, world, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL,
                  &comm))
        return false;
    MPI_Comm_size(comm, &out->n);
    MPI_Comm_rank(comm, &out->me);
    out->whole = out->n == n_world;
    bool ok = MPI_CALL(err, MPI_Win_allocate_shared, sizeof *mine, (int)sizeof *mine, MPI_INFO_NULL,
                       comm, &mine, &out->window) &&
              MPI_CALL(err, MPI_Win_shared_query, out->window, 0, &n_bytes, &unit, &out->line);
    if (ok) {
        memset(mine, 0, sizeof *mine);
        atomic_store(&mine->process, getpid());
        atomic_store(&mine->rank, rank);
        MPI_Barrier(comm);
        out->shares_ids = share_process_ids(out);
        MPI_Barrier(comm);
    }
    MPI_Comm_free(&comm);
    return ok;
}

void host_close(MpiHost *host)
{
    if (host->window != MPI_WIN_NULL)
        MPI_Win_free(&host->window);
}

void host_say(MpiHost *host, Str text)
{
    if (!atomic_exchange(&host->line[0].reported, true))
        (void)file_write_all(STDERR_FILENO, text);
}

/* ---- messages, async-signal-safe ---- */

typedef struct {
    char s[2000];
    size_t n;
} Line;

static void line_puts(Line *line, const char *text)
{
    size_t n = strlen(text), room = sizeof line->s - line->n;
    n = n < room ? n : room;
    memcpy(line->s + line->n, text, n);
    line->n += n;
}

static void line_number(Line *line, long long number)
{
    char digits[24];
    size_t at = sizeof digits - 1;
    digits[at] = '\0';
    do
        digits[--at] = (char)('0' + number % 10);
    while ((number /= 10) > 0 && at > 0);
    line_puts(line, digits + at);
}

/* "rank 3 in MatMul 'x'" */
static void line_rank(Line *line, const RankWatch *watch, const HostLine *rank)
{
    int at = atomic_load(&rank->at), state = atomic_load(&rank->state);
    line_puts(line, "rank ");
    line_number(line, atomic_load(&rank->rank));
    line_puts(line, " ");
    bool inside = state != RANK_IDLE && at >= 0 && at < watch->team->program->n_instrs;
    line_puts(line, inside ? watch->place[at] : "before the first instruction");
}

static void line_waiting(Line *line, const RankWatch *watch)
{
    enum { NAMED = 3 };
    int n = 0;
    for (int i = 0; i < watch->host->n; i++) {
        const HostLine *rank = &watch->host->line[i];
        if (atomic_load(&rank->state) != RANK_WAITING || n++ >= NAMED)
            continue;
        line_puts(line, n > 1 ? ", " : "; waiting: ");
        line_rank(line, watch, rank);
    }
    if (n > NAMED) {
        line_puts(line, " and ");
        line_number(line, n - NAMED);
        line_puts(line, " more");
    }
}

/* Prints it and exits, which ends the run. */
static _Noreturn void end_run(RankWatch *watch, Line *line, const char *hint)
{
    line_puts(line, "\n");
    line_puts(line, hint);
    host_say(watch->host, (Str){line->s, line->n});
    _exit(EXIT_RUN);
}

/* ---- signals ---- */

/* State for the signal handlers while a team runs. */
static RankWatch *watched;

/* A running rank whose process is gone; NULL: none. */
static const HostLine *find_dead(const RankWatch *watch)
{
    const MpiHost *host = watch->host;
    for (int i = 0; host->shares_ids && i < host->n; i++) {
        const HostLine *rank = &host->line[i];
        int state = atomic_load(&rank->state);
        if ((state == RANK_WORKING || state == RANK_WAITING) &&
            kill(atomic_load(&rank->process), 0) != 0 && errno == ESRCH)
            return rank;
    }
    return NULL;
}

static _Noreturn void report_dead(RankWatch *watch, const HostLine *dead)
{
    Line line = {.n = 0};
    line_puts(&line, "error: ");
    line_rank(&line, watch, dead);
    line_puts(&line, ": its process has ended");
    line_waiting(&line, watch);
    end_run(watch, &line, "");
}

/* core/base/memory.h aborts with errno set. */
static void on_crash(int number)
{
    bool no_memory = number == SIGABRT && errno == ENOMEM;
    signal(number, SIG_DFL);
    if (!watched) {
        raise(number);
        return;
    }
    Line line = {.n = 0};
    watch_note(watched);
    line_puts(&line, "error: ");
    line_rank(&line, watched, &watched->host->line[watched->host->me]);
    line_puts(&line, no_memory ? ": out of memory" : ": died of signal ");
    if (!no_memory)
        line_number(&line, number);
    end_run(watched, &line, "");
}

/* mpirun then ends the others. */
static void on_end(int number)
{
    const HostLine *dead = watched ? find_dead(watched) : NULL;
    if (dead)
        report_dead(watched, dead);
    _exit(128 + number);
}

static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

static void catch_signals(RankWatch *watch)
{
    stack_t stack = {.ss_sp = watch->stack, .ss_size = (size_t)SIGSTKSZ};
    struct sigaction crash = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK};
    struct sigaction end = {.sa_handler = on_end};
    sigaltstack(&stack, NULL);
    watched = watch;
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        sigaction(crashes[i], &crash, NULL);
    sigaction(SIGTERM, &end, NULL);
}

static void leave_signals(void)
{
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        signal(crashes[i], SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    stack_t none = {.ss_flags = SS_DISABLE};
    sigaltstack(&none, NULL);
    watched = NULL;
}

/* ---- the thread ---- */

void watch_note(RankWatch *watch)
{
    HostLine *line = &watch->host->line[watch->host->me];
    int state = atomic_load(&watch->head->state), n_begun = atomic_load(&watch->head->n_begun);
    if (state == atomic_load(&line->state) && n_begun == atomic_load(&line->n_begun))
        return;
    atomic_store(&line->at, atomic_load(&watch->head->at));
    atomic_store(&line->state, state);
    atomic_store(&line->n_begun, n_begun);
    atomic_store(&line->changed_us, now_us());
}

static double stall_us(const RankWatch *watch)
{
    double stall_s = watch->team->options->stall_s;
    return (stall_s > 0 ? stall_s : RUN_STALL_S) * 1e6;
}

/* Ranks may outnumber cores. */
static double turns(const RankWatch *watch)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores > 0 && watch->host->n > cores ? (double)watch->host->n / (double)cores : 1;
}

static double allowed_us(const RankWatch *watch, const HostLine *rank)
{
    double us = supervise_instr_us(watch->team, atomic_load(&rank->at));
    if (atomic_load(&rank->state) == RANK_WAITING && !watch->host->whole)
        us = watch->longest_us;
    return stall_us(watch) + us * turns(watch);
}

static _Noreturn void report_stalled(RankWatch *watch, const HostLine *rank, long long us,
                                     const char *what)
{
    Line line = {.n = 0};
    line_puts(&line, "error: ");
    line_rank(&line, watch, rank);
    line_puts(&line, what);
    line_number(&line, us / 1000000);
    line_puts(&line, ".");
    line_number(&line, us / 100000 % 10);
    line_puts(&line, " s");
    line_waiting(&line, watch);
    end_run(watch, &line, "hint: --stall 60 waits longer\n");
}

/* Checks every rank of the host. */
static void check_ranks(RankWatch *watch)
{
    const MpiHost *host = watch->host;
    const HostLine *dead = find_dead(watch), *first_waiting = NULL;
    long long now = now_us();
    int n_waiting = 0;
    if (dead)
        report_dead(watch, dead);
    for (int i = 0; i < host->n; i++) {
        const HostLine *rank = &host->line[i];
        int state = atomic_load(&rank->state);
        if (state != RANK_WORKING && state != RANK_WAITING)
            continue;
        long long since = now - atomic_load(&rank->changed_us);
        long long silent = now - atomic_load(&rank->alive_us);
        bool late = (double)since > allowed_us(watch, rank);
        if ((double)silent > stall_us(watch))
            report_stalled(watch, rank, silent, ": its process has not run for ");
        if (late && (state == RANK_WORKING || !host->whole))
            report_stalled(watch, rank, since, ": nothing has happened for ");
        n_waiting += late;
        first_waiting = late ? rank : first_waiting;
    }
    if (n_waiting == host->n && host->whole)
        report_stalled(watch, first_waiting, now - atomic_load(&first_waiting->changed_us),
                       ": all ranks have waited for ");
}

static void *watch_main(void *data)
{
    RankWatch *watch = data;
    HostLine *line = &watch->host->line[watch->host->me];
    const struct timespec tick = {.tv_nsec = TICK_MS * 1000000L};
    while (!atomic_load(&watch->ends)) {
        watch_note(watch);
        atomic_store(&line->alive_us, now_us());
        check_ranks(watch);
        nanosleep(&tick, NULL);
    }
    return NULL;
}

static const char *place_of(Arena *arena, const Team *team, int at)
{
    Buf text = buf_new(arena);
    RankHead head = {.at = at, .state = RANK_WORKING};
    rank_place(team->plan, team->program, &head, &text);
    return text.s;
}

bool watch_open(Arena *arena, MpiHost *host, const Team *team, RankWatch *out, Error *err)
{
    *out = (RankWatch){.host = host, .team = team};
    out->head = team->results->rank[team->first_rank].head;
    out->place = arena_array(arena, const char *, team->program->n_instrs);
    out->stack = arena_alloc(arena, (size_t)SIGSTKSZ);
    for (int at = 0; at < team->program->n_instrs; at++) {
        double us = supervise_instr_us(team, at);
        out->longest_us = us > out->longest_us ? us : out->longest_us;
        out->place[at] = place_of(arena, team, at);
    }
    HostLine *line = &host->line[host->me];
    atomic_store(&line->alive_us, now_us());
    atomic_store(&line->changed_us, now_us());
    if (pthread_create(&out->thread, NULL, watch_main, out) != 0)
        return error_kind(err, ERROR_RUN, "no thread to watch the ranks");
    catch_signals(out);
    return true;
}

void watch_close(RankWatch *watch)
{
    atomic_store(&watch->ends, true);
    pthread_join(watch->thread, NULL);
    leave_signals();
    atomic_store(&watch->host->line[watch->host->me].state, RANK_DONE);
}
