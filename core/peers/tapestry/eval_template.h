/* eval_template.h - template.*, ipf.* and range.* of the eval protocol. */
#ifndef CORE_PEERS_TAPESTRY_EVAL_TEMPLATE_H
#define CORE_PEERS_TAPESTRY_EVAL_TEMPLATE_H

#include "core/base/eval.h"
#include "core/peers/tapestry/template.h"

/* Each answers one request of its family by filling the object `answer`. Returns false with *err
 * set, kind included, if the request is refused; `answer` may then be incomplete. */
EvalFn eval_template;
EvalFn eval_ipf;
EvalFn eval_range;

/* Answers template.apply. `template` was read from the request's text (scripts/peers/tapestry.c);
 * NULL if the request names a built-in generator by `op`. */
bool eval_template_apply(Arena *arena, const Template *template, const Json *request, Json *answer,
                         Error *err);

#endif
