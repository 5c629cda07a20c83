/* eval_redistribute.h - the verb `redistribute` of the eval protocol (conformance README). */
#ifndef CORE_PEERS_TORCH_EVAL_REDISTRIBUTE_H
#define CORE_PEERS_TORCH_EVAL_REDISTRIBUTE_H

#include "core/base/eval.h"

EvalFn eval_redistribute;

#endif
