/* plan_shardy.h - the profile `shardy` of the propagator `factor`: a plan's cuts as Shardy's.
 *
 * The program is the model's ops with the factors of their op spaces. Pins are given shardings:
 * closed unless open, with their priority; what is not pinned is open, parameters too. A pin of an
 * index dim is one of the dims of the op's operands that go along it. Groups have one sharding, a
 * barrier stands between a tensor and its readers, and what a loop carries is tied by an edge.
 * Known tensors are split: one for each use. Classes of ops (flow.h) are told from the factors: all
 * pass through and every dim has one that the result has at the same place - elementwise; the same
 * factors on both sides - a view; more in the result - a broadcast.
 *
 * An op is cut as Shardy's resharding settles on (choose.h); partial results are summed at once.
 *
 * code               level     when
 * shardy-pin         warning   a pin that no list of axes says (interleaved), or whose axis another
 *                              dim of the tensor has: it does nothing
 * shardy-group       warning   members of a group are pinned otherwise, or of another shape
 * shardy-sub-axis    note      a part of an axis that is not of prime parts: left out
 * shardy-lost        note      axes of a factor that no cut of the op's index dims says
 */
#ifndef CORE_PEERS_SHARDY_PLAN_SHARDY_H
#define CORE_PEERS_SHARDY_PLAN_SHARDY_H

#include "core/propagate/propagators.h"

extern const Propagator propagator_shardy, propagator_shardy_basic, propagator_shardy_both;

#endif
