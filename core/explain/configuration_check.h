/* configuration_check.h - findings about combinations of stages, micro-batches and stored
 * parameters of a training step, and about how groups of devices lie on nodes.
 *
 * - straddled-nodes, a warning: groups of devices that would fit on one node lie on two, since
 *   their size does not divide a node's. It has how many of the largest such groups do.
 * - few-micro-batches, a warning: a pipeline that trains has fewer micro-batches than devices in a
 *   row. It has the bubble, and that of four times as many micro-batches as devices, both of the
 *   schedule as it is timed.
 * - schedule-without-backward, an error: the schedule of a training step runs forwards alone.
 * - uneven-rounds, a note: 1f1b_interleaved with micro-batches that are no multiple of the devices
 *   in a row.
 * - gathered-each-micro-batch, a warning: stages gather stored parameters (ZeRO-3) again for each
 *   micro-batch. It has what a step sends and takes beyond once.
 */
#ifndef CORE_EXPLAIN_CONFIGURATION_CHECK_H
#define CORE_EXPLAIN_CONFIGURATION_CHECK_H

#include "core/plan/plan.h"

/* plan->priced must contain its pipeline. */
void configuration_check(Plan *plan);

#endif
