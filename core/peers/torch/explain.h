/* explain.h - why a strategy was chosen: what each candidate moves, why one is none, and at what
 * size another would have been cheaper.
 */
#ifndef CORE_PEERS_TORCH_EXPLAIN_H
#define CORE_PEERS_TORCH_EXPLAIN_H

#include "core/peers/torch/redistribute.h"
#include "core/peers/torch/strategy.h"

/* "S(1),S(0) -> P(sum)"; with more axes "[S(0),R],[R,S(1)] -> [S(0),S(1)]"; no arrow without
 * outputs. */
void strategy_format(const Placement *const *inputs, int n_inputs, const Placement *const *outputs,
                     int n_outputs, int n_axes, Buf *out);

/* The steps that bring one input to what it is fed with; false: no way. */
bool strategy_input_moves(const StrategyCall *call, int input, const Placement *fed, Moves *out);

/* "gather input 1 over x"; nothing when nothing moves, slices included. */
void strategy_format_moves(const StrategyCall *call, const Placement *const *fed, Buf *out);

const char *strategy_why(CandidateWhy why); /* "a dim has fewer elements than shards" */

/* The least factor, above 1, by which all inputs must grow in bytes for another candidate to be
 * cheaper than the chosen one. Prices are latencies plus bytes, so the candidates' order changes
 * with size alone. False: none does, or the choice was not by price. */
typedef struct {
    double factor;
    int candidate;
} StrategyFlip;
bool strategy_flip(const StrategyCall *call, const StrategyAnswer *answer, StrategyFlip *out);

#endif
