/* control.h - how often a Loop runs. */
#ifndef CORE_RULES_OPERATORS_CONTROL_H
#define CORE_RULES_OPERATORS_CONTROL_H

#include "core/rules/value.h"

/* The number of iterations: at most `most`, as long as the condition is true (`begins` before the
 * first iteration, `goes_on` after each). A value is NULL if it is absent or known only at run
 * time; -1 if the answer is known only at run time. */
int64_t loop_trips(const Value *most, const Value *begins, const Value *goes_on);

#endif
