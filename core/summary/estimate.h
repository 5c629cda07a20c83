/* estimate.h - what other settings of a policy would change: each is planned; none is estimated by
 * a formula.
 *
 * A change is one setting of the policy, or two that belong together. The settings tried are those
 * in a table that the policy declares, if they are not in use: recomputation, ZeRO, sequence
 * parallelism, overlap of the traffic of parameters and gradients, schedules, larger and smaller
 * micro-batches with the same number of samples a step. A change helps if the step then fits into
 * memory but did not before; if a step that fits still fits and is faster; or if the peak of one
 * that does not fit becomes smaller.
 */
#ifndef CORE_SUMMARY_ESTIMATE_H
#define CORE_SUMMARY_ESTIMATE_H

#include "core/session/session.h"

enum { ESTIMATE_SETTINGS = 2 };

typedef struct {
    const char *setting[ESTIMATE_SETTINGS]; /* "zero=1"; the second may be NULL */
    const char *failed;                     /* why there is no plan; NULL */
    double step_us;
    int64_t peak_bytes;
    bool legal, fits, helps;
    bool same; /* step and peak are as without it */
} EstimateChange;

typedef struct {
    int n;
    EstimateChange *change; /* changes that help come first, the best one first; those that change
                               nothing and those that failed come last */
} EstimateChanges;

/* Whether the peak of a plan fits into a device's memory. */
bool estimate_fits(const Plan *plan);

/* The session with other settings of its policy, "zero=1", one per line. It shares the model with
 * this one if possible; the caller closes it. lender: a plan whose reshards it may reuse; NULL.
 * Returns NULL with the reason if there is none. */
Session *estimate_session(const Session *session, const char *settings, const Plan *lender,
                          Error *err);

/* Plans each change of the session's settings, with the session's decisions. In the arena.
 * progress: NULL if nobody else reads the session meanwhile. Returns false with ERROR_CANCELLED if
 * it was stopped. */
bool estimate_changes(Arena *arena, const Session *session, Progress *progress,
                      EstimateChanges *out, Error *err);

#endif
