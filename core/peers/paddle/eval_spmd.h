/* eval_spmd.h - the verbs spmd.forward and spmd.backward of the eval protocol.
 *
 * The request has op, mesh, inputs, attrs, mode and, for backward (and rules that need output
 * shapes), outputs; a tensor is {"shape", "dims_mapping", "partial"} or null. The answer has inputs
 * and outputs with dims_mapping and partial. Answers are always exact: they include Paddle's
 * oversights.
 */
#ifndef CORE_PEERS_PADDLE_EVAL_SPMD_H
#define CORE_PEERS_PADDLE_EVAL_SPMD_H

#include "core/base/eval.h"
#include "core/peers/paddle/spmd.h"

EvalFn eval_spmd;

/* A mapping and its partial axes in the form of the protocol: [-1,0], or [[],[0,1]] if `lists` is
 * set or a dim has several axes; {"1": "sum"}. */
Json *json_of_spmd_mapping(const SpmdTensor *tensor, bool lists);
Json *json_of_spmd_partial(const SpmdTensor *tensor);

#endif
