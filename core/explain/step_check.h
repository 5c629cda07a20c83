/* step_check.h - findings about assumptions that ops contradict, and about reductions that a
 * training step repeats.
 *
 * An assumption (core/plan/assume.h) is compared with what the op computes, axis by axis. `norm` is
 * a sum of squares of gradients.
 *
 * code                       level     when
 * gradient-unsummed          error     the gradient of a parameter is partial, taken to be reduced:
 *                                      ops that the axis shards use the parameter, and nobody sums
 * gradient-partial           error     another gradient is partial, taken to be reduced
 * value-partial              error     a value of the forward pass likewise
 * gradient-doubled           error     a gradient is complete, taken to be partial: summed again
 * value-doubled              error     a value of the forward pass likewise
 * gradient-averaged-twice    error     a gradient is partial, taken to be a mean: the loss is one
 *                                      already
 * norm-misses-shards         error     a norm is partial, taken to be reduced
 * norm-counts-replicas       error     a norm is complete, taken to be partial
 * wrong-reduction            error     addends of another reduction than the one assumed
 * drawn-apart                error     ranks with the same elements draw other numbers: dropout by
 *                                      rank where the value is replicated
 * drawn-repeated             error     ranks with other elements draw the same numbers: dropout
 * with equal seeds where the value is sharded draws-nothing              note      the op draws no
 * numbers: the assumption changes nothing averaged-needlessly        warning   a complete value is
 * averaged assumed-sharded            note      the axis shards the value: the assumption changes
 * nothing reduced-each-micro-batch   warning   gradients of parameters are reduced in the backward
 * pass of each micro-batch, where once a step would do
 *
 * What one decision makes of values of a kind is one finding, with a count.
 */
#ifndef CORE_EXPLAIN_STEP_CHECK_H
#define CORE_EXPLAIN_STEP_CHECK_H

#include "core/plan/plan.h"

/* Needs plan->moved. */
void step_check(Plan *plan);

#endif
