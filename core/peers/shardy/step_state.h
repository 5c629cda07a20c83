/* step_state.h - what a step asks of its tensors; for step.c and stops.c. */
#ifndef CORE_PEERS_SHARDY_STEP_STATE_H
#define CORE_PEERS_SHARDY_STEP_STATE_H

#include "core/peers/shardy/step.h"

typedef struct {
    Stop stop;
    int other; /* STOP_TAKEN: the factor; -1 */
} StepStop;

Pass step_direction(const FactorStep *step, int factor);

/* How much of an axis a tensor may have on its factor, of which axes of `before` parts stand more
 * major: shortens *axis; false, none of it. *why: what shortened it last. */
bool step_within(const FactorStep *step, const TensorFactors *tensor, int factor, int64_t before,
                 AxisRef *axis, StepStop *why);
/* The same for the tensor's other factors. */
bool step_across(const FactorStep *step, const TensorFactors *tensor, int factor, AxisRef *axis,
                 StepStop *why);

#endif
