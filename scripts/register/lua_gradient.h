/* lua_gradient.h - gradients of registered operators, built from ops by a Lua function.
 *
 *     gradient = function(model, x, y, dy) return model:op("MatMul", {dy[1], x[2]}) .. end
 *
 * The function gets the same model object as model files, and adds ops to it (lua_model.h).
 */
#ifndef SCRIPTS_REGISTER_LUA_GRADIENT_H
#define SCRIPTS_REGISTER_LUA_GRADIENT_H

#include "core/rules/user_op.h"

/* UserOp.gradient; the context is an AskedFunctions with the stored function. */
bool gradient_by_function(void *context, const GradientBuild *build, Error *err);

#endif
