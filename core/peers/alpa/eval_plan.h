/* eval_plan.h - the verb plan.solve: the cheapest shardings of a graph in Alpa's model. */
#ifndef CORE_PEERS_ALPA_EVAL_PLAN_H
#define CORE_PEERS_ALPA_EVAL_PLAN_H

#include "core/base/eval.h"

EvalFn eval_plan_solve;

#endif
