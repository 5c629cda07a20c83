/* value_split.h - a finding about a user's op whose sum is sharded while an operand lacks the
 * summed dim. Every rank then uses all of that operand, so an addend such as a bias is added on
 * each of them.
 *
 * A rule of the op can say which is meant (core/rules/user_op.h): V is added once, R is a factor of
 * each addend.
 */
#ifndef CORE_PLAN_VALUE_SPLIT_H
#define CORE_PLAN_VALUE_SPLIT_H

#include "core/plan/plan.h"

void value_split_find(Plan *plan); /* call it when the cuts of ops are known */

#endif
