/* lua_gradient.h - gradients of registered operators, built of ops by a function in Lua.
 *
 *     gradient = function(model, x, y, dy) return model:op("MatMul", {dy[1], x[2]}) .. end
 *
 * The function gets the model that model files get, to which it adds ops (lua_model.h).
 */
#ifndef SCRIPTS_REGISTER_LUA_GRADIENT_H
#define SCRIPTS_REGISTER_LUA_GRADIENT_H

#include "core/rules/user_op.h"

/* UserOp.gradient; the context is an AskedFunctions that has kept the function. */
bool gradient_by_function(void *context, const GradientBuild *build, Error *err);

#endif
