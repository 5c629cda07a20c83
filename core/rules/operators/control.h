/* control.h - how often a Loop runs. */
#ifndef CORE_RULES_OPERATORS_CONTROL_H
#define CORE_RULES_OPERATORS_CONTROL_H

#include "core/rules/value.h"

/* At most `most` times, while the condition is true: `begins` before the first iteration, `goes_on`
 * after every one. A value is NULL if it is known only at run time, or not given; -1: so it is
 * with the answer. */
int64_t loop_trips(const Value *most, const Value *begins, const Value *goes_on);

#endif
