/* step_state.h - checks on the tensors of a step; internal to step.c and stops.c. */
#ifndef CORE_PEERS_SHARDY_STEP_STATE_H
#define CORE_PEERS_SHARDY_STEP_STATE_H

#include "core/peers/shardy/step.h"

typedef struct {
    Stop stop;
    int other; /* STOP_TAKEN: the factor; -1 */
} StepStop;

Pass step_direction(const FactorStep *step, int factor);

/* Shortens *axis to the part that the tensor may have on the factor, after axes of total size
 * `before`; returns false if nothing is left. *why: the last reason. */
bool step_within(const FactorStep *step, const TensorFactors *tensor, int factor, int64_t before,
                 AxisRef *axis, StepStop *why);
/* The same for the tensor's other factors. */
bool step_across(const FactorStep *step, const TensorFactors *tensor, int factor, AxisRef *axis,
                 StepStop *why);

#endif
