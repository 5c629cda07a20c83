/* eval.h - the eval verb of the StableHLO reader. */
#ifndef CORE_PEERS_STABLEHLO_EVAL_H
#define CORE_PEERS_STABLEHLO_EVAL_H

#include "core/base/eval.h"

EvalFn eval_mlir_values;

#endif
