/* rank.h - one rank of the host runner: a thread that does the program on its own parts.
 *
 * Ranks share a Team. A rank writes only its own Rank; others read its slots in a step, between two
 * meetings: after the first all sources are filled, before the second none is freed. A rank that
 * fails says why in its err and sets `failed`, and every meeting then ends with false, so that all
 * stop. Rank 0 runs on the thread of the caller, asks `progress`, and does the reference's ops.
 */
#ifndef CORE_RUN_RANK_H
#define CORE_RUN_RANK_H

#include "core/run/run.h"
#include "core/run/verify.h"

#include <stdatomic.h>

typedef struct Team Team;

typedef struct {
    Team *team;
    int64_t position;
    Arena *arena; /* of what is below */
    Local **slot; /* by slot of the program; NULL: empty */
    int64_t live_bytes, peak_bytes;
    double *op_us, *reshard_us; /* per pass, then per op of the graph and per reshard of the plan */
    double *pass_us;            /* per pass: ops and steps, waiting for others included */
    TraceSpan *span, *last_span; /* by instruction, of this pass and the last; NULL: not traced */
    int n_done;                  /* passes */
    Difference *output;          /* per graph output */
    int first_bad;               /* the first instruction that makes a value which differs, or -1 */
    int32_t bad_tensor;          /* that value */
    RunWrong wrong;              /* an element of it */
    int n_checked;               /* values compared, by the first rank that has them */
    Error err;
} Rank;

struct Team {
    const Plan *plan;
    const Program *program;
    const RunOptions *options;
    int n_ranks, n_passes;
    Rank *ranks; /* by position */
    Feeds feeds;
    Reference reference; /* when options->verify; only in the first pass */
    Local **expected;    /* per tensor: what an output must be, or NULL; NULL: nothing is given */
    bool *stays;         /* per slot: loaded once */
    pthread_mutex_t lock, *blas; /* blas: the lock, or NULL for plain loops */
    atomic_int waiting;
    atomic_uint round;
    atomic_bool failed;
    bool cancelled; /* by rank 0 */
};

/* Makes the rank's arrays; ends with rank_close(). */
void rank_open(Rank *rank, Team *team, int64_t position);
void rank_close(Rank *rank);

/* All of the program, n_passes times. False: failed here or elsewhere; rank->err is set where it
 * failed here. Every rank of the team must be in it at the same time. */
bool rank_run(Rank *rank);

/* The tolerance options ask for, or that of the value. */
Tolerance team_tolerance(const Team *team, Tolerance of_value);

#endif
