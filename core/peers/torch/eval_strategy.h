/* eval_strategy.h - the verb `strategy` of the eval protocol (conformance README). */
#ifndef CORE_PEERS_TORCH_EVAL_STRATEGY_H
#define CORE_PEERS_TORCH_EVAL_STRATEGY_H

#include "core/base/eval.h"
#include "core/peers/torch/strategy.h"

EvalFn eval_strategy;

/* [{"placements":["S(0)"]}, null]: null for an output that is no tensor. */
Json *json_of_layouts(const Placement *const *tensor, int n, const Mesh *mesh);

#endif
