/* strategy_check.h - proves the strategies of an operator by executing every row on simulated
 * ranks.
 *
 * On axes of 2 and 3 ranks, each row that the operator allows for these sizes, with plain shards,
 * must be correct. For operators without rows (views, composed operators, users' rules) the answers
 * to all placements of the inputs must be correct. MaskP is run as a sum: a rank holds its own rows
 * and zeros. NormP is not tried.
 */
#ifndef CORE_PEERS_TORCH_STRATEGY_CHECK_H
#define CORE_PEERS_TORCH_STRATEGY_CHECK_H

#include "core/peers/torch/strategy.h"
#include "core/prove/layout_check.h"

/* ERROR_UNSUPPORTED if no kernel runs the op, there is no row for the call, or the operator is
 * composed of others. */
bool strategy_check(Arena *arena, const Registry *registry, const Strategies *strategies,
                    StrategyProfile profile, const SystemCall *call, RuleProof *out, Error *err);

#endif
