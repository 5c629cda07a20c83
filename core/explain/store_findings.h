/* store_findings.h - findings about the values that a training step stores sharded
 * (Decision.store).
 *
 * code             level     when
 * store-axis       warning   gradients are equal along the axis that they or the states are stored
 *                            by: ZeRO over an axis that does not shard the batch
 * held-on-parts    note      several parts of the mesh hold a parameter, as a tied embedding of a
 *                            pipeline: each has states, and gradients are summed between them
 * states-differ    warning   states of one parameter are stored differently
 * store-no-step    note      states or gradients are stored sharded, but without --train a plan has
 *                            none
 */
#ifndef CORE_EXPLAIN_STORE_FINDINGS_H
#define CORE_EXPLAIN_STORE_FINDINGS_H

#include "core/plan/plan.h"

/* Needs plan->moved. */
void store_find(Plan *plan);

#endif
