/* eval_rvd.h - the verb `rvd.reshard` of the eval protocol (conformance README).
 *
 * Where nothing on the path ends on the right devices the answer has, besides, `direct` false and
 * `steps_cost`: what the steps through full replication cost.
 */
#ifndef CORE_PEERS_NNSCALER_EVAL_RVD_H
#define CORE_PEERS_NNSCALER_EVAL_RVD_H

#include "core/base/eval.h"

EvalFn eval_rvd;

#endif
