/* lua_register.h - register_op: a policy file adds operators, by annotation, as built-in ones are.
 *
 *     register_op('(h m) kd+, kd+ n -> h m n', {name = 'matmul_custom'})
 *     register_op({'a b -> a', 'a -> a'}, {name = 'candidates', flops_per_point = 2})
 *     register_op(function(inputs, kwargs) return '* -> *' end, {name = 'by_shapes'})
 *     register_op('m k+, k+ n -> m n', {name = 'my::matmul', kernel = 'MatMul'})
 *
 * name is what the node's operator is called ("domain::Name" outside of ai.onnx). A function gets
 * inputs[i].is_tensor, .shape and .dtype, and the node's attributes as kwargs; it is called
 * whenever a rule is made for a new combination of these. `kernel` runs it: a built-in operator's,
 * or a function (lua_kernel.h); `example` is what `rule --check` proves it on. It stands at the top
 * level of the file, which runs before shapes are inferred.
 */
#ifndef SCRIPTS_LUA_REGISTER_H
#define SCRIPTS_LUA_REGISTER_H

#include "core/session/session.h"
#include "scripts/lua_state.h"

/* Runs the file's top level in the sandbox, whose source has been read. What it registers goes to
 * the rules; what has a function calls into the sandbox as long as the rules are used. */
bool register_run(Sandbox *sandbox, const RuleBook *rules, Error *err);

#endif
