/* eval_anno.h - anno.parse, anno.infer and anno.partition of the eval protocol. */
#ifndef CORE_PEERS_NNSCALER_EVAL_ANNO_H
#define CORE_PEERS_NNSCALER_EVAL_ANNO_H

#include "core/base/eval.h"

/* Answers one request: fills `answer`, an object. False, with the kind of the protocol in *err, for
 * a refusal; `answer` may then be half filled. Candidates come from `annos`, or from the operator
 * named: nnScaler's own ones for "system": "nnscaler", else those of the registry. */
EvalFn eval_anno;

#endif
