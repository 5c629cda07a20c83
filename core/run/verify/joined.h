/* joined.h - the whole value put together from the parts of all ranks, which verification checks
 * each part against.
 *
 * Written for verification alone and shares nothing with the collectives it checks: pieces go to
 * their places in the whole, addends are reduced in double (integers in int64_t).
 */
#ifndef CORE_RUN_VERIFY_JOINED_H
#define CORE_RUN_VERIFY_JOINED_H

#include "core/run/rank.h"

typedef struct {
    Local *whole; /* the caller frees it. NULL: no rank of this process has a part, or unknown */
    double *size; /* per element: the sum of its addends' magnitudes; NULL: there are no addends, or
                   * they reduce without rounding */
    const double *bound; /* set by the caller, or NULL */
    int64_t n_addends;
    bool of_addends;
    bool unknown; /* the parts cannot be joined: they are partial by several reductions, or addends
                   * that a loop collects */
} Joined;

/* One per process. */
typedef struct {
    Team *team;
    Arena *scratch;       /* of Joined.size */
    const Local **posted; /* per rank of this process: its part of what is being joined, or NULL */
} Joiner;

bool slot_is_partial(const Team *team, int32_t slot);

/* The number of replicas: sets of parts that each make up the whole value and should be equal. */
int64_t slot_replicas(const Team *team, int32_t slot);

/* Joins one of these sets. All ranks call it at once with the same *out; the first rank of the
 * process sets it before any call returns. Returns false after rank_failed(), or when another rank
 * failed. */
bool slot_join_replica(Rank *rank, int32_t slot, int64_t replica, Joiner *joiner, Joined *out);

/* Joins the first set. */
bool slot_join(Rank *rank, int32_t slot, Joiner *joiner, Joined *out);

#endif
