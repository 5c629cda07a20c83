/* eval.h - verbs of the eval protocol (conformance README), and the reports of torch's strategies
 * for `rule`. */
#ifndef CORE_PEERS_TORCH_EVAL_H
#define CORE_PEERS_TORCH_EVAL_H

#include "core/base/eval.h"
#include "core/peers/torch/strategy.h"
#include "core/prove/rule_report.h"

EvalFn eval_redistribute, eval_strategy;

/* [{"placements":["S(0)"]}, null]: null for an output that is no tensor. */
Json *json_of_layouts(const Placement *const *tensor, int n, const Mesh *mesh);

extern const RuleReport torch_reports[];

#endif
