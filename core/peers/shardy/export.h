/* export.h - Shardy's export passes, which change shardings after propagation.
 *
 * For inputs and outputs of the function, axes that do not divide a dim are removed; in dims that
 * are still open, sub-axes and all axes after them are removed too. Then every dim is closed, which
 * makes lists of replicated axes redundant. Source: Shardy's export passes up to resharding.
 */
#ifndef CORE_PEERS_SHARDY_EXPORT_H
#define CORE_PEERS_SHARDY_EXPORT_H

#include "core/peers/shardy/import.h"

/* When one result of an op has a sharding, gives all its results one. Runs for every strategy.
 */
void export_results(ShardyFlow *flow, const ImportedGraph *imported, ShardyProgram *program);

void export_shardings(ShardyFlow *flow, const ImportedGraph *imported, ShardyProgram *program);

/* Then changes the result shardings of the ops that Shardy's minimal reshard insertion handles,
 * where their tensors disagree: a concatenate gets the axes that choose_axes() selects, a dot those
 * of its operands. */
void export_conflicts(ShardyFlow *flow, const ImportedGraph *imported, ShardyProgram *program,
                      const int *op_of);

#endif
