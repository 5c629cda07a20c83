/* eval_template.h - template.*, ipf.* and range.* of the eval protocol. */
#ifndef CORE_PEERS_TAPESTRY_EVAL_TEMPLATE_H
#define CORE_PEERS_TAPESTRY_EVAL_TEMPLATE_H

#include "core/base/eval.h"
#include "core/peers/tapestry/template.h"

/* Each answers one request of its family: fills `answer`, an object. False, with the kind of the
 * protocol in *err, for a refusal; `answer` may then be half filled. */
EvalFn eval_template;
EvalFn eval_ipf;
EvalFn eval_range;

/* template.apply. The template was read from the request's text, by who knows Lua; NULL: the
 * request names a built-in generator by `op`. */
bool eval_template_apply(Arena *arena, const Template *template, const Json *request, Json *answer,
                         Error *err);

#endif
