/* eval_redistribute.h - the verb `redistribute` of the eval protocol (conformance README). */
#ifndef CORE_PEERS_TORCH_EVAL_REDISTRIBUTE_H
#define CORE_PEERS_TORCH_EVAL_REDISTRIBUTE_H

#include "core/base/json.h"

bool eval_redistribute(Arena *arena, const Json *request, Json *answer, Error *err);

#endif
