/* eval_shardy.h - the verbs factor.propagate and factor.origins of the eval protocol.
 *
 * The request: `mesh` or `meshes`, `graph` (factor_graph.h), `strategy`, `conservative`. The
 * answer: `shardings` of all values and `outputs` of the function at the fixed point; or `origins`
 * of every axis that a value has, and `edges`, the visits that moved them.
 */
#ifndef CORE_PEERS_SHARDY_EVAL_SHARDY_H
#define CORE_PEERS_SHARDY_EVAL_SHARDY_H

#include "core/base/eval.h"

EvalFn eval_factor_propagate;
EvalFn eval_factor_origins;

#endif
