/* learning_rate.h - learning rates that follow a schedule, as torch.optim.lr_scheduler's do.
 *
 *     warmup_cosine   from start_factor * lr to lr in `warmup` steps, then by a cosine to min_lr
 */
#ifndef CORE_STEP_LEARNING_RATE_H
#define CORE_STEP_LEARNING_RATE_H

#include "core/base/error.h"

enum { RATE_PARAMS_MAX = 6, RATE_MILESTONES_MAX = 64 };

typedef struct {
    double lr;                     /* the rate before scheduling */
    double param[RATE_PARAMS_MAX]; /* in the order of the kind's row */
    bool linear;                   /* onecycle anneals linearly instead of by a cosine */
    int n_milestones;              /* of multistep, ascending */
    int64_t milestone[RATE_MILESTONES_MAX];
} RateParams;

typedef struct {
    const char *name;
    double (*rate)(const RateParams *params, double step);
    struct {
        const char *names; /* the first name is ours, others mean the same; NULL ends the table */
        double fallback;
        bool positive; /* a number of steps, which must not be 0 */
    } param[RATE_PARAMS_MAX];
} RateKind;

/* NULL with *err, whose hint is the nearest name. */
const RateKind *rate_kind(Str name, Error *err);

/* The rate of step 0, 1, .. */
double rate_at(const RateKind *kind, const RateParams *params, int64_t step);

#endif
