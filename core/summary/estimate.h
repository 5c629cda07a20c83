/* estimate.h - what other settings of a policy would change: each is planned, none is a formula.
 *
 * A change is one setting of the policy, or two that go together. Tried are those of a table that
 * the policy declares and that are not in use: what is made again, ZeRO, sequence parallelism,
 * traffic of parameters and gradients under the passes, schedules, larger and smaller micro-batches
 * with as many samples a step. A change helps if the step then fits into memory where it did not;
 * of a step that fits, if it still fits and is faster; of one that does not, if its peak is
 * smaller.
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
} EstimateChange;

typedef struct {
    int n;
    EstimateChange *change; /* those that help first, the best first; those that failed last */
} EstimateChanges;

/* Whether the peak of a plan fits into a device's memory. */
bool estimate_fits(const Plan *plan);

/* The session with other settings of its policy, "zero=1", a line each; it shares the model with
 * this one if it can, and the caller closes it. lender: a plan whose reshards it may use; NULL.
 * Returns NULL with the reason if there is none. */
Session *estimate_session(const Session *session, const char *settings, const Plan *lender,
                          Error *err);

/* Plans each change of the session's settings, under its decisions. In the arena. progress: NULL if
 * nobody else reads the session meanwhile. Returns false with ERROR_CANCELLED if it was stopped. */
bool estimate_changes(Arena *arena, const Session *session, Progress *progress,
                      EstimateChanges *out, Error *err);

#endif
