/* strategy_check.h - the strategies of an operator proven: every row, executed.
 *
 * A row says how all tensors of an op may lie along one mesh axis. On axes of 2 and of 3 ranks,
 * each row that the operator allows for these sizes must hold, its shards being plain ones. What
 * has no rows - views, operators made of others, users' rules - is asked instead how it answers
 * inputs that lie in every way, and what it answers must hold. A tensor in MaskP holds the rows
 * that are its own and zeros: a sum. What is NormP is not tried: ranks hold no such addends.
 */
#ifndef CORE_PEERS_TORCH_STRATEGY_CHECK_H
#define CORE_PEERS_TORCH_STRATEGY_CHECK_H

#include "core/peers/torch/strategy.h"
#include "core/prove/layout_check.h"

/* ERROR_UNSUPPORTED: nothing runs the op, or there is no row for the call, as of a function of a
 * script that fails; or the operator is made of others. */
bool strategy_check(Arena *arena, const Registry *registry, const Strategies *strategies,
                    StrategyProfile profile, const SystemCall *call, RuleProof *out, Error *err);

#endif
