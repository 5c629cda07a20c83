/* eval_anno.h - the verbs anno.parse, anno.infer and anno.partition of the eval protocol. */
#ifndef CORE_PEERS_NNSCALER_EVAL_ANNO_H
#define CORE_PEERS_NNSCALER_EVAL_ANNO_H

#include "core/base/eval.h"

/* Candidates come from `annos` or from the operator's name: nnScaler's own for "system":
 * "nnscaler", else those of the registry. After a refusal `answer` may be half filled. */
EvalFn eval_anno;

#endif
