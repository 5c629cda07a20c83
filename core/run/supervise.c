#include "core/run/supervise.h"

#include "core/cost/cost.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TICK_MS = 20, GRACE_MS = 1000 };

#define SLOWEST_FLOPS_PER_S 50e6
#define SLOWEST_BYTES_PER_S 20e6

/* ---- in the child ---- */

/* State for signal handlers: the team whose ranks run here. Set only in the child. */
static Results *supervised;

static int thread_id(void)
{
    return (int)syscall(SYS_gettid);
}

/* Reports the crashed rank and raises the signal again. core/base/memory.h aborts with errno set.
 */
static void on_crash(int number)
{
    int thread = thread_id();
    if (supervised && number == SIGABRT && errno == ENOMEM)
        atomic_store(&supervised->outcome->no_memory, true);
    for (int r = 0; supervised && r < supervised->n_ranks; r++)
        if (atomic_load(&supervised->rank[r].head->thread) == thread)
            atomic_store(&supervised->outcome->crashed, r + 1);
    signal(number, SIG_DFL);
    raise(number);
}

static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

static void watch_crashes(void)
{
    struct sigaction action = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK};
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        sigaction(crashes[i], &action, NULL);
}

void supervise_thread(Rank *rank)
{
    atomic_store(&rank->result->head->thread, thread_id());
    stack_t stack = {.ss_size = (size_t)SIGSTKSZ}, old;
    bool has_one = sigaltstack(NULL, &old) != 0 || !(old.ss_flags & SS_DISABLE);
    if (!supervised || has_one)
        return;
    stack.ss_sp = arena_alloc(rank->arena, stack.ss_size);
    sigaltstack(&stack, NULL);
}

/* Ctrl-C is handled by the parent; the child ends with it. */
static void run_child(Team *team, SupervisedRun *run, pid_t parent)
{
    RunOptions options = *team->options;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    signal(SIGINT, SIG_IGN);
    signal(SIGTSTP, SIG_IGN);
    supervised = team->results;
    watch_crashes();
    options.progress = NULL;
    /* cppcheck-suppress autoVariables ; the process ends before this function does */
    team->options = &options;
    run(team);
    atomic_store(&team->results->outcome->ended, true);
    _exit(0);
}

/* ---- in the parent ---- */

typedef struct {
    Team *team;
    pid_t child;
    double since_us, allowed_us;     /* time of the last progress; how long the next may take */
    double queued_us[RUN_RANKS_MAX]; /* queued_us() of each rank at the last progress */
    int64_t seen;                    /* instructions begun, in all */
} Supervision;

static double work_us(double flops, double bytes)
{
    return (flops / SLOWEST_FLOPS_PER_S + bytes / SLOWEST_BYTES_PER_S) * 1e6;
}

double supervise_instr_us(const Team *team, int at)
{
    const Program *program = team->program;
    const Plan *plan = team->plan;
    if (at < 0 || at >= program->n_instrs)
        return 0;
    const Instr *instr = &program->instrs[at];
    if (instr->kind == INSTR_OP) {
        OpCost cost = op_cost(plan, instr->op);
        return work_us(cost.flops, (double)cost.bytes) *
               (team->options->verify ? team->n_ranks + 4 : 1);
    }
    int32_t slot = instr->slot >= 0 ? instr->slot : instr->from;
    int32_t tensor = slot < 0 ? -1 : program->slots[slot].tensor;
    const Shape *shape = tensor < 0 ? NULL : inferred_shape(plan->inferred, tensor);
    if (!shape) /* only the run ends */
        return 0;
    int64_t n = shape_elements(shape);
    return work_us(0, (double)(n * element_bytes((Dtype)plan->inferred->dtype[tensor])));
}

static int64_t count_begun(const Team *team)
{
    int64_t n = 0;
    for (int r = 0; r < team->n_ranks; r++)
        n += atomic_load(&team->results->rank[r].head->n_begun) +
             atomic_load(&team->results->rank[r].head->n_beats) +
             atomic_load(&team->results->rank[r].head->state);
    return n;
}

/* Time that the rank's thread could have run but waited for a core: the second number of schedstat,
 * in ns. 0 if the system does not count it. */
static double queued_us(const Supervision *watch, int rank)
{
    int thread = atomic_load(&watch->team->results->rank[rank].head->thread);
    char path[64], text[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)watch->child,
             thread > 0 ? thread : (int)watch->child);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    text[n > 0 ? n : 0] = '\0';
    const char *queued = strchr(text, ' ');
    return queued ? strtod(queued, NULL) * 1e-3 : 0;
}

/* The longest time that a rank with work to do waited for a core since the last progress. Ranks
 * that wait for others poll and give their core away, so they always wait for one. */
static double starved_us(const Supervision *watch)
{
    double longest = 0;
    for (int r = 0; r < watch->team->n_ranks; r++) {
        int state = atomic_load(&watch->team->results->rank[r].head->state);
        if (state == RANK_WAITING || state == RANK_DONE)
            continue;
        double us = queued_us(watch, r) - watch->queued_us[r];
        longest = us > longest ? us : longest;
    }
    return longest;
}

static void renew(Supervision *watch)
{
    const Team *team = watch->team;
    double stall_s = team->options->stall_s > 0 ? team->options->stall_s : RUN_STALL_S, longest = 0;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    for (int r = 0; r < team->n_ranks; r++) {
        double us = supervise_instr_us(team, atomic_load(&team->results->rank[r].head->at));
        longest = us > longest ? us : longest;
        watch->queued_us[r] = watch->child > 0 ? queued_us(watch, r) : 0;
    }
    double share = cores > 0 && team->n_ranks > cores ? (double)team->n_ranks / (double)cores : 1;
    watch->since_us = run_now_us();
    watch->allowed_us = stall_s * 1e6 + longest * share;
}

/* "rank 2 in MatMul 'x'"; the ranks in a state, possibly none. */
static int name_ranks(const Team *team, bool (*wanted)(int state), Buf *out)
{
    enum { NAMED = 3 };
    int n = 0;
    for (int r = 0; r < team->n_ranks; r++) {
        const RankHead *head = team->results->rank[r].head;
        if (!wanted(atomic_load(&head->state)) || n++ >= NAMED)
            continue;
        buf_printf(out, "%srank %d ", n > 1 ? ", " : "", r);
        rank_place(team->plan, team->program, head, out);
    }
    if (n > NAMED)
        buf_printf(out, " and %d more", n - NAMED);
    return n;
}

static bool is_busy(int state)
{
    return state == RANK_WORKING;
}

static bool is_waiting(int state)
{
    return state == RANK_WAITING;
}

static bool report_stalled(const Supervision *watch, double us, Error *err)
{
    Arena *arena = arena_new();
    Buf busy = buf_new(arena), waiting = buf_new(arena);
    if (name_ranks(watch->team, is_busy, &busy) == 0)
        buf_puts(&busy, "the run");
    int n_waiting = name_ranks(watch->team, is_waiting, &waiting);
    error_kind(err, ERROR_RUN, "%.*s: nothing has happened for %.1f s%s%.*s",
               STR_ARG(buf_str(&busy)), us * 1e-6, n_waiting > 0 ? "; waiting: " : "",
               STR_ARG(buf_str(&waiting)));
    error_hint(err, "--stall 60 waits longer");
    arena_free(arena);
    return false;
}

static bool report_death(const Supervision *watch, int status, Error *err)
{
    const Team *team = watch->team;
    const RunOutcome *outcome = team->results->outcome;
    if (atomic_load(&outcome->ended))
        return true;
    Arena *arena = arena_new();
    Buf who = buf_new(arena), how = buf_new(arena);
    int rank = atomic_load(&outcome->crashed) - 1;
    if (rank >= 0) {
        buf_printf(&who, "rank %d ", rank);
        rank_place(team->plan, team->program, team->results->rank[rank].head, &who);
    } else if (name_ranks(team, is_busy, &who) == 0 && name_ranks(team, is_waiting, &who) == 0) {
        buf_puts(&who, "the run");
    }
    if (atomic_load(&outcome->no_memory))
        buf_puts(&how, "out of memory");
    else if (WIFSIGNALED(status))
        buf_printf(&how, "died of signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        buf_printf(&how, "ended with code %d", WEXITSTATUS(status));
    error_kind(err, ERROR_RUN, "%.*s: %.*s", STR_ARG(buf_str(&who)), STR_ARG(buf_str(&how)));
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        error_hint(err, "the system does this to a process that uses too much memory");
    arena_free(arena);
    return false;
}

/* Returns false when the child must be ended. */
static bool goes_on(Supervision *watch, Error *err)
{
    const Team *team = watch->team;
    const RunOptions *options = team->options;
    int64_t seen = count_begun(team);
    if (seen != watch->seen) {
        watch->seen = seen;
        renew(watch);
    }
    int begun = atomic_load(&team->results->rank[0].head->n_begun);
    if (options->progress && !options->progress(options->context, begun > 0 ? begun - 1 : 0,
                                                program_length(team->program, team->n_passes)))
        atomic_store(&team->results->outcome->stop, true);
    double us = run_now_us() - watch->since_us;
    if (us >= watch->allowed_us)
        us -= starved_us(watch);
    return us < watch->allowed_us || report_stalled(watch, us, err);
}

static bool has_ended(Supervision *watch, int *status)
{
    pid_t got;
    do
        got = waitpid(watch->child, status, WNOHANG);
    while (got < 0 && errno == EINTR);
    return got != 0;
}

/* Polls until the child has closed its end of the pipe. */
static bool watch_child(Supervision *watch, int ended, Error *err)
{
    struct pollfd poll_ended = {.fd = ended, .events = POLLIN};
    RunOutcome *outcome = watch->team->results->outcome;
    int status = 0;
    double stopped_us = 0;
    bool ok = true;
    while (!has_ended(watch, &status)) {
        poll(&poll_ended, 1, TICK_MS);
        ok = goes_on(watch, err);
        if (atomic_load(&outcome->stop) && stopped_us == 0)
            stopped_us = run_now_us();
        bool late = stopped_us > 0 && run_now_us() - stopped_us > GRACE_MS * 1e3;
        if (ok && !late)
            continue;
        kill(watch->child, SIGKILL);
        while (waitpid(watch->child, &status, 0) < 0 && errno == EINTR)
            continue;
        if (!late)
            return false;
        outcome->cancelled = true;
        return error_kind(err, ERROR_CANCELLED, "cancelled");
    }
    return report_death(watch, status, err);
}

bool supervise(Team *team, SupervisedRun *run, Error *err)
{
    int ended[2];
    if (pipe2(ended, O_CLOEXEC) != 0)
        return error_kind(err, ERROR_RUN, "no pipe: %s", strerror(errno));
    Supervision watch = {.team = team};
    pid_t parent = getpid();
    renew(&watch);
    watch.child = fork();
    if (watch.child == 0) {
        close(ended[0]);
        run_child(team, run, parent);
    }
    close(ended[1]);
    bool ok = watch.child > 0 ? watch_child(&watch, ended[0], err)
                              : error_kind(err, ERROR_RUN, "no process: %s", strerror(errno));
    close(ended[0]);
    return ok;
}
