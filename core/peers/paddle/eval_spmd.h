/* eval_spmd.h - the verbs spmd.forward and spmd.backward of the eval protocol.
 *
 * The request: op, mesh, inputs, attrs, mode, for backward (and where shapes of outputs are asked)
 * outputs; a tensor is {"shape", "dims_mapping", "partial"} or null. The answer: inputs and outputs
 * with dims_mapping and partial. Always exact: upstream oversights included.
 */
#ifndef CORE_PEERS_PADDLE_EVAL_SPMD_H
#define CORE_PEERS_PADDLE_EVAL_SPMD_H

#include "core/base/eval.h"
#include "core/peers/paddle/spmd.h"

EvalFn eval_spmd;

/* The forms of the protocol, for whoever prints a mapping: [-1,0], where `lists` or a dim is split
 * by several axes [[],[0,1]]; {"1": "sum"}. */
Json *json_of_spmd_mapping(const SpmdTensor *tensor, bool lists);
Json *json_of_spmd_partial(const SpmdTensor *tensor);

#endif
