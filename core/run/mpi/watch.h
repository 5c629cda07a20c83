/* watch.h - the ranks of one host, watched by each other.
 *
 * Processes under mpirun wait for each other without end: for one that died, hangs, or went another
 * way. So each keeps what it is doing in a line of memory that all processes of its host share, and
 * a thread in each looks at all lines. Whoever first sees that the run cannot go on says why, once
 * a host, and ends its process, after which mpirun ends the others:
 *
 *     dead      its process is gone, by a signal or without a word
 *     hung      in one instruction for longer than it may take (supervise.h), or its process does
 *               not run at all
 *     waiting   all ranks of the run, or one of a run on several hosts, for as long
 *
 * A rank that crashes says so itself before it ends. Exit code 5.
 */
#ifndef CORE_RUN_MPI_WATCH_H
#define CORE_RUN_MPI_WATCH_H

#include "core/run/rank.h"

#include <mpi.h>

/* A process as others of its host see it. Times are of the host's monotonic clock. */
typedef struct {
    atomic_int process; /* as the system numbers it */
    atomic_int rank;
    atomic_int state; /* RankState */
    atomic_int at, n_begun;
    atomic_llong alive_us, changed_us; /* last seen by its own thread; when `n_begun` or `state`
                                          became what they are */
    atomic_bool said;                  /* of the first line: why the run ends */
} HostLine;

typedef struct {
    MPI_Win window;
    HostLine *line; /* of the host's processes */
    int n, me;
    bool whole;       /* all processes of the world are on this host */
    bool sees_others; /* they have numbers that mean the same to all */
} Host;

bool host_open(MPI_Comm world, Host *out, Error *err);
void host_close(Host *host);

/* Writes the text on standard error, if nobody of this host has said why the run ends. */
void host_say(Host *host, Str text);

typedef struct {
    Host *host;
    const Team *team;
    const RankHead *head; /* of this process's rank */
    const char **place;   /* per instruction: "in MatMul 'x'", as a handler of signals can say it */
    double longest_us;    /* of any instruction */
    pthread_t thread;
    atomic_bool ends;
    void *stack; /* of the handlers */
} Watch;

/* From here on this process is watched, and watches; one at a time. */
bool watch_open(Arena *arena, Host *host, const Team *team, Watch *out, Error *err);
void watch_close(Watch *watch);

/* This rank came to what its head says. */
void watch_note(Watch *watch);

#endif
