/* eval_factor.h - the verb factor.rule of the eval protocol.
 *
 * The request: `rule`, a text to read, or `op` with `attrs`, `conservative` and `sources`; the
 * shapes of `inputs` and `outputs`. The answer: `rule`, the canonical text, and `factors`. An op of
 * ours, or of another system, is answered from its op space.
 */
#ifndef CORE_PEERS_SHARDY_EVAL_FACTOR_H
#define CORE_PEERS_SHARDY_EVAL_FACTOR_H

#include "core/base/eval.h"

EvalFn eval_factor_rule;

#endif
