/* explain.h - explains why a strategy was chosen: what each candidate moves, why one is not legal,
 * and at what size another one is cheaper.
 */
#ifndef CORE_PEERS_TORCH_EXPLAIN_H
#define CORE_PEERS_TORCH_EXPLAIN_H

#include "core/peers/torch/redistribute.h"
#include "core/peers/torch/strategy.h"

/* "S(1),S(0) -> P(sum)"; with more axes "[S(0),R],[R,S(1)] -> [S(0),S(1)]"; without outputs there
 * is no arrow. */
void strategy_format(const Placement *const *inputs, int n_inputs, const Placement *const *outputs,
                     int n_outputs, int n_axes, Buf *out);

/* The steps that redistribute one input to what the op needs; false if there is no way. */
bool strategy_input_moves(const StrategyCall *call, int input, const Placement *fed,
                          TorchMoves *out);

/* "gather input 1 over x"; empty if nothing moves or inputs are only sliced. */
void strategy_format_moves(const StrategyCall *call, const Placement *const *fed, Buf *out);

const char *strategy_why(CandidateWhy why); /* "a dim has fewer elements than shards" */

/* The smallest factor above 1 by which all inputs must grow for another candidate to become cheaper
 * than the chosen one. Prices are latency plus bytes, so their order changes with size. Returns
 * false if there is no such factor or the choice was not made by price. */
typedef struct {
    double factor;
    int candidate;
} StrategyFlip;
bool strategy_flip(const StrategyCall *call, const StrategyAnswer *answer, StrategyFlip *out);

#endif
