/* watch.h - ranks of one host supervise each other.
 *
 * Processes under mpirun wait forever for one that died, hangs or took another path. So each
 * publishes its state in memory that all processes of its host share, and a thread in each checks
 * all states. The first to see that the run cannot continue prints the reason, once per host, and
 * exits, after which mpirun ends the others:
 *
 *     dead      its process is gone, by a signal or without a word
 *     hung      in one instruction for longer than it may take (supervise.h), or its process does
 *               not run at all
 *     waiting   all ranks of the run, or one of a run on several hosts, for as long
 *
 * A crashing rank prints the reason itself. Exit code 5.
 */
#ifndef CORE_RUN_MPI_WATCH_H
#define CORE_RUN_MPI_WATCH_H

#include "core/run/rank.h"

#include <mpi.h>

/* Published state of a process. Times are of the host's monotonic clock. */
typedef struct {
    atomic_int process; /* process id */
    atomic_int rank;
    atomic_int state; /* RankState */
    atomic_int at, n_begun;
    atomic_llong alive_us, changed_us; /* last sign of its own thread; last change of `n_begun` or
                                        * `state` */
    atomic_bool reported;              /* this process has printed the reason */
} HostLine;

typedef struct {
    MPI_Win window;
    HostLine *line; /* of the host's processes */
    int n, me;
    bool whole;      /* all processes of the world are on this host */
    bool shares_ids; /* process ids mean the same to all (not in containers of their own) */
} MpiHost;

bool host_open(MPI_Comm world, MpiHost *out, Error *err);
void host_close(MpiHost *host);

/* Prints the text on standard error unless a process of this host has printed a reason. */
void host_say(MpiHost *host, Str text);

typedef struct {
    MpiHost *host;
    const Team *team;
    const RankHead *head; /* of this process's rank */
    const char **place;   /* per instruction: "in MatMul 'x'", for signal handlers */
    double longest_us;    /* most of any */
    pthread_t thread;
    atomic_bool ends;
    void *stack; /* signal stack */
} RankWatch;

/* Starts supervision of and by this process; one at a time. */
bool watch_open(Arena *arena, MpiHost *host, const Team *team, RankWatch *out, Error *err);
void watch_close(RankWatch *watch);

/* Publishes the state in the rank's head. */
void watch_note(RankWatch *watch);

#endif
