/* eval_insert.h - the verb reshard.insert of the eval protocol.
 *
 * The request: `mesh` or `meshes`, and `graph` with all shardings (factor_graph.h). The answer:
 * `steps`, each with `kind`, the `value` of the request it acts on, `to`, and `axes` where some are
 * summed or made partial; `shardings` of the values as the ops then make them; `n_reshards`.
 */
#ifndef CORE_PEERS_SHARDY_EVAL_INSERT_H
#define CORE_PEERS_SHARDY_EVAL_INSERT_H

#include "core/base/eval.h"

EvalFn eval_insert;

#endif
