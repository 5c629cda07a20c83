/* plan_shardy.h - the `shardy` profiles of the propagator `factor`: plans propagated as Shardy
 * does.
 *
 * The program is the model's ops with the factors of their op spaces. Pins are initial shardings:
 * closed unless marked open, with their priority; everything else is open, parameters too. A pin of
 * an index dim pins the dims of the op's operands that follow it. A group has one sharding, a
 * barrier is between a tensor and its readers, and an edge ties the values that a loop carries.
 * Constants are copied for each use. The class of an op (flow.h) follows from its factors:
 * elementwise if all pass through and every dim has the factor of the result's dim at the same
 * position; a view if both sides have the same factors; a broadcast if the result has more.
 *
 * The cut of an op comes from Shardy's choice of axes (choose.h); partial results are summed at
 * once.
 *
 * code               level     when
 * shardy-pin         warning   a pin that no list of axes can express (interleaved), or whose axis
 *                              another dim of the tensor has: the pin is ignored
 * shardy-group       warning   a member of a group has a different pin or shape
 * shardy-sub-axis    note      a part of an axis that atoms cannot express: left out
 * shardy-lost        note      axes of a factor that no cut of the op's index dims can express
 */
#ifndef CORE_PEERS_SHARDY_PLAN_SHARDY_H
#define CORE_PEERS_SHARDY_PLAN_SHARDY_H

#include "core/propagate/propagators.h"

extern const Propagator propagator_shardy, propagator_shardy_basic, propagator_shardy_both;

#endif
