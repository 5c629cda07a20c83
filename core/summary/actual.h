/* actual.h - collectives that a job really ran, beside those of its plan.
 *
 * Read are a trace of torch.profiler (Kineto's JSON, also packed by gzip) and a dump of NCCL's
 * flight recorder, as JSON or as the pickle that it is. Of each collective they say what it is, how
 * many bytes, in which group, and how long it took, or some of these: what is not said does not
 * decide what it is matched with.
 *
 * Both sides are compared within one kind and group of ranks, as one rank saw them. The n-th of a
 * size is the n-th planned of that size; what is left over may be one collective for several
 * parameters, which fully_shard and buckets of gradients make; what is left then is paired in
 * order.
 */
#ifndef CORE_SUMMARY_ACTUAL_H
#define CORE_SUMMARY_ACTUAL_H

#include "core/session/session.h"

typedef struct {
    StepKind kind;
    int64_t bytes; /* the whole value's on one rank, as plans count it; -1: not said */
    double us;     /* -1: not said */
    int group;     /* in ActualTrace.groups; -1: not said */
    bool hangs;    /* it began and did not end */
} ActualRan;

typedef struct {
    int n;
    const int32_t *rank; /* in ascending order */
} ActualGroup;

typedef struct {
    Vec(ActualRan) ran; /* in order of time */
    Vec(ActualGroup) groups;
    int64_t rank;      /* that the file is of */
    bool knows_groups; /* of all that ran */
} ActualTrace;

/* NULL with *err: the file cannot be read, or is neither. */
ActualTrace *actual_read(Arena *arena, const char *path, Error *err);

typedef enum { ACTUAL_MATCHED, ACTUAL_MISSING, ACTUAL_UNPLANNED } ActualState;

/* A collective of the plan. */
typedef struct {
    int32_t reshard; /* that it is a step of; -1 */
    int32_t op;      /* that declares it inside of itself; -1 */
    int step;        /* of the reshard; of the op's collectives */
    StepKind kind;
    AtomSet atoms;
    int64_t bytes;
    double us;
    int next; /* planned too, by the same collective that ran; -1 */
} ActualPlanned;

typedef struct {
    ActualState state;
    int planned, n_planned; /* the first of them; -1 */
    int ran;                /* -1 */
    bool slow, other_bytes;
    double predicted_us; /* of all of them */
} ActualRow;

typedef struct {
    const Session *session;
    const ActualTrace *trace;
    Vec(ActualPlanned) planned;
    Vec(ActualRow) rows; /* missing first, then unplanned, then matched in order of the plan */
    int n_missing, n_unplanned, n_slow, n_other_bytes, n_hanging;
} Actual;

/* slow: how many times the predicted time counts as slow; steps: of so many equal ones in the trace
 * the last is compared. */
Actual *actual_compare(Arena *arena, const Session *session, const ActualTrace *trace, double slow,
                       int steps);

/* The measured time of a reshard: of its collectives that ran, in equal parts of what several were
 * moved by; -1 if none did. Per reshard of the plan. */
double *actual_reshard_us(Arena *arena, const Actual *actual);

void actual_format(const Actual *actual, Buf *out); /* all of it, a line each */
Json *actual_json(const Actual *actual);

#endif
