#include "core/run/mpi/world.h"

#include "core/run/mpi/types.h"

#include <stdlib.h>
#include <unistd.h>

enum { PIECE_BYTES = 1 << 30, EXIT_USAGE = 2, EXIT_RUN = 5 };

/* ---- in the world ---- */

static Str text_in(const char *bytes, size_t n)
{
    return (Str){bytes, strnlen(bytes, n)};
}

/* Sets an error that was received, of whatever bytes; *err is set when this process failed itself.
 */
static void set_received(const Error *received, Error *err)
{
    unsigned kind = (unsigned)received->kind < ERROR_KIND_COUNT ? received->kind : ERROR_RUN;
    char file[sizeof received->file + 1] = "";
    Str text = text_in(received->text, sizeof received->text);
    Str hint = text_in(received->hint, sizeof received->hint);
    if (!err || error_is_set(err))
        return;
    memcpy(file, received->file, sizeof received->file);
    error_kind(err, (ErrorKind)kind, "%.*s", STR_ARG(text));
    if (hint.n > 0)
        error_hint(err, "%.*s", STR_ARG(hint));
    if (file[0])
        error_in_file(err, file);
}

/* The lowest failed process broadcasts its error; each process keeps its own. */
static bool meet(World *world, bool failed, Error *err)
{
    MpiWorld *own = world->own;
    int mine = failed ? world->me : world->n, first = world->n;
    Error shared = {0};
    if (!MPI_CALL(err, MPI_Allreduce, &mine, &first, 1, MPI_INT, MPI_MIN, own->comm))
        return false;
    if (first == world->n)
        return true;
    if (first == world->me && err)
        shared = *err;
    if (first < 0 || first >= world->n)
        return error_kind(err, ERROR_RUN, "process %d failed, of %d", first, world->n);
    if (MPI_CALL(err, MPI_Bcast, &shared, (int)sizeof shared, MPI_BYTE, first, own->comm))
        set_received(&shared, err);
    if (err && !error_is_set(err))
        error_kind(err, ERROR_RUN, "process %d failed and does not say why", first);
    return false;
}

static bool share(World *world, void *data, int64_t n_bytes, int from, Error *err)
{
    MpiWorld *own = world->own;
    for (int64_t at = 0; at < n_bytes; at += PIECE_BYTES) {
        int n = (int)(n_bytes - at < PIECE_BYTES ? n_bytes - at : PIECE_BYTES);
        if (!MPI_CALL(err, MPI_Bcast, (char *)data + at, n, MPI_BYTE, from, own->comm))
            return false;
    }
    return true;
}

/* A message in pieces within MPI's counts. */
static bool move(MpiWorld *own, bool sends, int other, char *data, int64_t n_bytes, Error *err)
{
    for (int64_t at = 0; at < n_bytes; at += PIECE_BYTES) {
        int n = (int)(n_bytes - at < PIECE_BYTES ? n_bytes - at : PIECE_BYTES);
        bool ok = sends ? MPI_CALL(err, MPI_Send, data + at, n, MPI_BYTE, other, 0, own->comm)
                        : MPI_CALL(err, MPI_Recv, data + at, n, MPI_BYTE, other, 0, own->comm,
                                   MPI_STATUS_IGNORE);
        if (!ok)
            return false;
    }
    return true;
}

static bool gather(World *world, const void *mine, int64_t n_bytes, void *all, Error *err)
{
    union {
        const void *in;
        char *out;
    } own_part = {.in = mine};
    if (world->me > 0)
        return move(world->own, true, 0, own_part.out, n_bytes, err);
    if (all != mine)
        memmove(all, mine, (size_t)n_bytes);
    for (int p = 1; p < world->n; p++)
        if (!move(world->own, false, p, (char *)all + n_bytes * p, n_bytes, err))
            return false;
    return true;
}

/* Several processes may report the same error; one per host prints it. */
static void stop(World *world, const Error *why)
{
    MpiWorld *own = world->own;
    if (world->n == 1)
        return;
    Arena *arena = arena_new();
    Buf text = buf_new(arena);
    error_format(why, &text);
    host_say(&own->host, buf_str(&text));
    MPI_Abort(own->comm, why->kind == ERROR_USAGE ? EXIT_USAGE : EXIT_RUN);
    _exit(EXIT_RUN);
}

static void close_world(World *world)
{
    MpiWorld *own = world->own;
    host_close(&own->host);
    MPI_Comm_free(&own->comm);
    MPI_Finalize();
    free(own);
}

/* ---- clocks ---- */

enum { QUESTIONS = 20 };

static bool answer_clock(MPI_Comm comm, int other, Error *err)
{
    for (int i = 0; i < QUESTIONS; i++) {
        double now = 0;
        if (!MPI_CALL(err, MPI_Recv, &now, 1, MPI_DOUBLE, other, 0, comm, MPI_STATUS_IGNORE))
            return false;
        now = run_now_us();
        if (!MPI_CALL(err, MPI_Send, &now, 1, MPI_DOUBLE, other, 0, comm))
            return false;
    }
    return true;
}

static bool ask_clock(MPI_Comm comm, double *ahead_us, Error *err)
{
    double least_us = 0;
    for (int i = 0; i < QUESTIONS; i++) {
        double sent = run_now_us(), there = sent;
        if (!MPI_CALL(err, MPI_Sendrecv_replace, &there, 1, MPI_DOUBLE, 0, 0, 0, 0, comm,
                      MPI_STATUS_IGNORE))
            return false;
        double us = run_now_us() - sent;
        if (i == 0 || us < least_us) {
            least_us = us;
            *ahead_us = there - (sent + us / 2);
        }
    }
    return true;
}

bool mpi_clock_ahead(MPI_Comm comm, double *ahead_us, Error *err)
{
    int n = 0, me = 0;
    *ahead_us = 0;
    MPI_Comm_size(comm, &n);
    MPI_Comm_rank(comm, &me);
    if (me > 0)
        return ask_clock(comm, ahead_us, err);
    for (int other = 1; other < n; other++)
        if (!answer_clock(comm, other, err))
            return false;
    return true;
}

/* ---- begin ---- */

/* With more processes than cores, a waiting process must yield; Open MPI reads this setting when it
 * starts. */
static void yield_while_waiting(void)
{
    const char *here = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    if (here && atol(here) > sysconf(_SC_NPROCESSORS_ONLN))
        setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
}

bool mpi_world_open(World *out, Error *err)
{
    int is_open = 0, got = 0;
    MPI_Initialized(&is_open);
    if (is_open)
        return error_kind(err, ERROR_RUN, "MPI is in use already");
    yield_while_waiting();
    if (!MPI_CALL(err, MPI_Init_thread, NULL, NULL, MPI_THREAD_FUNNELED, &got))
        return false;
    MpiWorld *own = calloc(1, sizeof *own);
    if (!own)
        return error_kind(err, ERROR_RUN, "out of memory");
    *out = (World){.own = own, .meet = meet, .share = share, .gather = gather};
    out->stop = stop;
    out->close = close_world;
    MPI_Comm_dup(MPI_COMM_WORLD, &own->comm);
    MPI_Comm_set_errhandler(own->comm, MPI_ERRORS_RETURN);
    MPI_Comm_size(own->comm, &out->n);
    MPI_Comm_rank(own->comm, &out->me);
    return host_open(own->comm, &own->host, err) &&
           (own->host.whole || mpi_clock_ahead(own->comm, &own->ahead_us, err));
}

MpiWorld *mpi_world_of(const World *world)
{
    return world->meet == meet ? world->own : NULL;
}
