/* eval_rvd.h - the verb `rvd.reshard` of the eval protocol (conformance README).
 *
 * If no steps along the path put the parts on the right devices, the answer also has `direct` false
 * and `steps_cost`, the cost of steps through full replication.
 */
#ifndef CORE_PEERS_NNSCALER_EVAL_RVD_H
#define CORE_PEERS_NNSCALER_EVAL_RVD_H

#include "core/base/eval.h"

EvalFn eval_rvd;

#endif
