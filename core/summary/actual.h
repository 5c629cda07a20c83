/* actual.h - compares the collectives that a job really ran with those of its plan.
 *
 * It reads a trace of torch.profiler (Kineto's JSON, also gzipped) and a dump of NCCL's flight
 * recorder, as JSON or as the original pickle. For each collective these say some of: its kind, its
 * bytes, its group, its time. What is missing is ignored when collectives are matched.
 *
 * Both sides are compared within one kind and one group of ranks, as one rank saw them. The n-th
 * collective of a size is matched with the n-th planned one of that size. Of the rest, one
 * collective may match several parameters, as fully_shard and gradient buckets make them; what is
 * left after that is paired in order.
 */
#ifndef CORE_SUMMARY_ACTUAL_H
#define CORE_SUMMARY_ACTUAL_H

#include "core/session/session.h"

typedef struct {
    StepKind kind;
    int64_t bytes; /* of the whole value on one rank, as plans count it; -1: not given */
    double us;     /* -1: not said */
    int group;     /* index in ActualTrace.groups; -1: not given */
    bool hangs;    /* it began and did not end */
} ActualRan;

typedef struct {
    int n;
    const int32_t *rank; /* in ascending order */
} ActualGroup;

typedef struct {
    Vec(ActualRan) ran; /* in order of time */
    Vec(ActualGroup) groups;
    int64_t rank;      /* the rank that the file is from */
    bool knows_groups; /* for everything that ran */
} ActualTrace;

/* Returns NULL with *err if the file cannot be read, or is neither. */
ActualTrace *actual_read(Arena *arena, const char *path, Error *err);

typedef enum { ACTUAL_MATCHED, ACTUAL_MISSING, ACTUAL_UNPLANNED } ActualState;

/* A collective of the plan. */
typedef struct {
    int32_t reshard; /* the reshard that it is a step of; -1 */
    int32_t op;      /* the op that declares it inside itself; -1 */
    int step;        /* index of the step in the reshard, or in the op's collectives */
    StepKind kind;
    AtomSet atoms;
    int64_t bytes;
    double us;
    int next; /* the next planned one that the same collective covers; -1 */
} ActualPlanned;

typedef struct {
    ActualState state;
    int planned, n_planned; /* the first of them; -1 */
    int ran;                /* -1 */
    bool slow, other_bytes;
    double predicted_us; /* the sum of all of them */
} ActualRow;

typedef struct {
    const Session *session;
    const ActualTrace *trace;
    Vec(ActualPlanned) planned;
    /* Missing ones first, then unplanned ones, then matches in the plan's order. */
    Vec(ActualRow) rows;
    int n_missing, n_unplanned, n_slow, n_other_bytes, n_hanging;
} Actual;

/* slow: the ratio to the predicted time from which a collective counts as slow; steps: the trace
 * contains this many equal steps, of which the last is compared. */
Actual *actual_compare(Arena *arena, const Session *session, const ActualTrace *trace, double slow,
                       int steps);

/* Per reshard of the plan, its measured time: that of its collectives that ran; the time of a
 * collective that several share is divided equally. -1 if none ran. Per reshard of the plan. */
double *actual_reshard_us(Arena *arena, const Actual *actual);

void actual_format(const Actual *actual, Buf *out); /* the whole comparison, one line per row */
Json *actual_json(const Actual *actual);

#endif
