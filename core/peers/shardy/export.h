/* export.h - what Shardy's pipeline does to shardings after it propagated.
 *
 * Of what goes into the function and comes out of it, axes that do not divide a dim are taken off,
 * and in dims still open sub-axes and what stands behind them. Then every dim is closed, which says
 * all that replicated axes say. Source: Shardy's export passes up to resharding.
 */
#ifndef CORE_PEERS_SHARDY_EXPORT_H
#define CORE_PEERS_SHARDY_EXPORT_H

#include "core/peers/shardy/import.h"

/* An op that says the sharding of one of its results says that of all: also without the pipeline.
 */
void export_results(ShardyFlow *flow, const ImportedGraph *imported, ShardyProgram *program);

void export_shardings(ShardyFlow *flow, const ImportedGraph *imported, ShardyProgram *program);

/* Then the ops are made otherwise that its reduced reshard insertion looks at, where tensors
 * disagree: a concatenate as its reshards settle on (choose.h), a dot as its operands are. */
void export_conflicts(ShardyFlow *flow, const ImportedGraph *imported, ShardyProgram *program,
                      const int *op_of);

#endif
